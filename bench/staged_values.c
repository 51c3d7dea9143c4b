/* One evaluation to find the steps of a kernel, and one for each choice of those that round. */
#include "bench/staged_values.h"

static struct what_if change_of(struct deviation *deviation, const struct staged_choice *choice)
{
    *deviation = (struct deviation){ .other_formulas = choice->other_formulas,
                                     .composed_functions = choice->composed_functions };
    return (struct what_if){ .deviation = deviation, .from_outputs = choice->stored };
}

struct status staged_steps_find(struct staged_steps *out, const struct bench *bench,
                                struct what_result result, const struct staged_choice *choice,
                                struct arena *arena)
{
    struct deviation deviation;
    const struct what_if change = change_of(&deviation, choice);
    size_t count;
    *out = (struct staged_steps){ .count = 0 };
    TRY(bench_what_steps(out->steps, &count, STAGED_STEPS, bench, result, &change, arena));
    for (size_t k = 0; k < count; k++) {
        if (out->steps[k].node >= out->ids) out->ids = out->steps[k].node + 1;
        if (out->steps[k].last) out->last = out->steps[k].node;
        else out->steps[out->count++] = out->steps[k];
    }
    return status_ok();
}

struct status staged_values(double **values, const struct bench *bench, struct what_result result,
                            const struct reference *r, const struct staged_steps *steps,
                            const struct staged_choice *choice, struct arena *arena)
{
    const struct shape_of_result shape = { r->rank, r->shape, dtype_is_complex(r->dtype) };
    struct deviation deviation;
    const struct what_if change = change_of(&deviation, choice);
    bool *unrounded = arena_allocate_zeroed(arena, steps->ids, sizeof *unrounded);
    if (!unrounded) return status_no_memory(steps->ids);
    if (steps->ids) /* which the judge rounds, or, of a wide result, a step like others */
        unrounded[steps->last] = r->stage_dtype == r->dtype ||
                                 (steps->count < STAGED_STEPS && choice->kept >> steps->count & 1);
    for (size_t k = 0; k < steps->count; k++) {
        bool held = choice->whole && steps->steps[k].inner;
        unrounded[steps->steps[k].node] = held != (choice->kept >> k & 1);
    }
    deviation.steps = rounding_to(r->stage_dtype);
    if (choice->numbers) deviation.numbers = deviation.steps;
    deviation.unrounded = unrounded;
    deviation.unrounded_ids = steps->ids;
    return bench_what_if(values, &shape, bench, result, &change, arena);
}
