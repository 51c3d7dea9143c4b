/* The tables of hypotheses. A row tries one kind of mistake in all its variants and offers each to the
 * subject, which keeps the best. */
#ifndef PROBE_DIAGNOSIS_HYPOTHESIS_H
#define PROBE_DIAGNOSIS_HYPOTHESIS_H

#include "diagnosis/subject.h"

struct hypothesis {
    const char *class; /* of the mistake, as it is reported */
    /* How far-fetched it is, in bits: what a variant costs before its own parameters. */
    double bits;
    struct status (*try)(struct subject *subject, const struct hypothesis *hypothesis);
};

/* A table per subject of mistakes, ended by a row without a class. */
extern const struct hypothesis last_rounding_hypotheses[]; /* of the result: by_last_rounding.c */
extern const struct hypothesis value_hypotheses[];         /* of the result: by_value.c */
extern const struct hypothesis place_hypotheses[];         /* of the result: by_place.c */
extern const struct hypothesis factor_hypotheses[];        /* rounded factors: by_arithmetic.c */
extern const struct hypothesis other_factor_hypotheses[];  /* the less usual ones */
extern const struct hypothesis sum_hypotheses[];      /* narrow sums and steps: by_arithmetic.c */
extern const struct hypothesis step_hypotheses[];     /* within the composition: by_step.c */
extern const struct hypothesis function_hypotheses[]; /* by_function.c */
extern const struct hypothesis argument_hypotheses[]; /* by_argument.c */
extern const struct hypothesis padding_hypotheses[];  /* by_padding.c */
extern const struct hypothesis input_hypotheses[];    /* by_input.c */
extern const struct hypothesis index_hypotheses[];    /* one index at a time: by_input.c */
extern const struct hypothesis region_hypotheses[];   /* where alone, not what: by_region.c */

#endif
