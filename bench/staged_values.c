/* Two evaluations: one to find the last step, and one with all others rounded. */
#include "bench/staged_values.h"

enum { MOST_STEPS = 64 }; /* newest first: the last one is among them */

struct status staged_values(double **values, const struct bench *bench, struct what_result result,
                            const struct reference *r, bool numbers, struct arena *arena)
{
    const struct shape_of_result shape = { r->rank, r->shape, false };
    struct deviation deviation = { .steps = rounding_to(r->dtype) };
    const struct what_if change = { .deviation = &deviation };
    struct what_step steps[MOST_STEPS];
    size_t count;

    *values = NULL;
    struct status st = bench_what_steps(steps, &count, MOST_STEPS, bench, result, arena);
    if (st.code) return st.code == STATUS_NO_MEMORY ? st : status_ok();
    for (size_t k = 0; k < count; k++)
        if (steps[k].last) deviation.unrounded = steps[k].node;
    if (numbers) deviation.numbers = deviation.steps;
    st = bench_what_if(values, &shape, bench, result, &change, arena);
    if (!st.code) return st;
    *values = NULL;
    return st.code == STATUS_NO_MEMORY ? st : status_ok();
}
