/* Records are parsed once more for it, which takes some microseconds a call. */
#include "runner/call_estimates.h"

#include "runner/cost.h"

static struct status estimate(double *seconds, struct cost_estimator *estimator,
                              struct arena *arena, const struct run_inputs *inputs, size_t position)
{
    struct api_case c;
    enum row_cause cause;
    struct status status = dump_read_case(&c, arena, inputs->dump, position);
    *seconds = 0;
    if (status.code == STATUS_NO_MEMORY) return status;
    if (status.code || api_lists_admit(&cause, &inputs->lists, &c).code) return status_ok();
    c.framework = inputs->framework;
    *seconds = cost_call_seconds(estimator, &c);
    return status_ok();
}

struct status call_estimates(double *seconds, const struct run_inputs *inputs,
                             const size_t *positions, size_t count)
{
    const struct cost_model model = cost_model_built_in();
    struct cost_estimator estimator;
    struct arena arena = { 0 };
    struct status status = cost_estimator_open(&estimator, &model);
    for (size_t i = 0; !status.code && i < count; i++) {
        status = estimate(&seconds[i], &estimator, &arena, inputs, positions[i]);
        arena_reset(&arena);
    }
    cost_estimator_close(&estimator);
    arena_release(&arena);
    return status;
}
