/* Formulas that are right on paper and lose in floating point what the usual ones keep, for tapes whose deviation names
 * them (bench/tape/deviation.h). */
#ifndef PROBE_BENCH_PRIMITIVES_OTHER_FORMS_H
#define PROBE_BENCH_PRIMITIVES_OTHER_FORMS_H

#include "bench/tape/deviation.h"
#include "bench/tape/tape.h"

/* Does the tape follow this form? */
static inline bool tape_has_form(const struct tape *tape, enum deviation_form form)
{
    return tape->deviation && tape->deviation->form == form;
}

/* sum (x - mean)^2 over `dims` as sum x^2 - n mean^2, not less than 0; dims are kept. */
struct node *one_pass_squares(struct tape *tape, struct node *x, struct node *mean, uint32_t dims);

/* softmax, log_softmax and logsumexp along `dim` without the maximum subtracted first. */
struct node *plain_softmax(struct tape *tape, struct node *x, int dim);
struct node *plain_log_softmax(struct tape *tape, struct node *x, int dim);
struct node *plain_logsumexp(struct tape *tape, struct node *x, int dim); /* dim is kept */

#endif
