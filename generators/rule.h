/* A rule that keeps a generated argument legal, and what rules share. Internal to generators/.
 *
 * A rule runs after all tensors of the case are drawn from their recorded ranges and
 * changes what was generated, never what was loaded, and only where the API would reject it
 * or where its result would not be defined. Whatever it changes it says in the notes of the
 * case.
 */
#ifndef PROBE_GENERATORS_RULE_H
#define PROBE_GENERATORS_RULE_H

#include "generators/generation.h"

struct rule;
typedef struct status rule_function(struct generation *generation, const struct rule *rule);

/* One rule for one parameter of an API. */
struct rule {
    rule_function *apply;
    const char *subject; /* the parameter that is made legal */
    const char *source;  /* the parameter whose shape or value sets the limits, or NULL */
    unsigned flags;
    double lo, hi;
};

enum rule_flags {
    /* Index rules: what the index runs over, one of these. */
    INDEX_ALONG_DIM = 1 << 0, /* extent of `source` along the argument "dim" */
    INDEX_OF_ROWS = 1 << 1,   /* extent of `source` along its first dimension */
    INDEX_OF_ALL = 1 << 2,    /* all elements of `source` */
    INDEX_OF_COUNT = 1 << 3,  /* the integer argument `source` */
    /* and how. */
    INDEX_WRAPS = 1 << 4,         /* negative indices count from the end */
    INDEX_UNIQUE = 1 << 5,        /* two equal ones would make the result depend on their order */
    INDEX_WRITES = 1 << 6,        /* unique unless the API accumulates or writes one scalar */
    INDEX_NONE_IS_SLICE = 1 << 7, /* None among the indices stands for a whole dimension */

    MATRIX_POSITIVE = 1 << 8, /* symmetric (Hermitian) positive definite */
    MATRIX_FOLDED = 1 << 9,   /* a tensor read as one square matrix */

    MASK_TRUE_IS_OPEN = 1 << 10, /* in an attention mask True means "attend" */

    LENGTHS_DESCEND = 1 << 11
};

/* Draw a generated integer input from the part of its range inside [lo, hi], or from all of
 * [lo, hi] when no part is inside, with a note when that is a change. */
void rule_limit_integers(struct generation *generation, struct input *input, int64_t lo,
                         int64_t hi);

/* The generated input called `name`, NULL when it was not passed, loaded, or is empty. */
struct input *rule_subject(const struct generation *generation, const char *name);

/* The extent of a tensor along `dim`, which may be negative; 1 for rank 0; -1 when there is
 * no such dimension. */
int64_t rule_extent(const struct tensor *tensor, int64_t dim);

/* What the dump says of forward output `i`, else of its cotangent; NULL when neither is
 * there. Its shape decides how much data-dependent APIs must select. */
const struct tensor_record *rule_output_record(const struct generation *generation, size_t i);

#endif
