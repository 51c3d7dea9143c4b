/* What kernels that round to their dtype between their steps return, if nothing else goes wrong. */
#ifndef PROBE_BENCH_STAGED_VALUES_H
#define PROBE_BENCH_STAGED_VALUES_H

#include "bench/what_if.h"
#include "core/reference.h"

enum { STAGED_STEPS = 64 };

/* The steps before the last one at which a kernel may round, newest first. They are those of all choices with the same
 * formulas. */
struct staged_steps {
    struct what_step steps[STAGED_STEPS];
    size_t count;
    size_t last; /* id of the last step's node */
    size_t ids;  /* ids of nodes are below this */
};

/* STATUS_SKIP when the call cannot be evaluated so. */
struct status staged_steps_find(struct staged_steps *out, const struct bench *bench,
                                struct what_result result, const struct staged_choice *choice,
                                struct arena *arena);

/* The values before the last rounding to r->dtype of a kernel that rounds to r->stage_dtype as `choice` has it, sums in double. */
struct status staged_values(double **values, const struct bench *bench, struct what_result result,
                            const struct reference *r, const struct staged_steps *steps,
                            const struct staged_choice *choice, struct arena *arena);

#endif
