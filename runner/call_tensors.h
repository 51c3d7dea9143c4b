/* The tensors of one call when it has been judged, for whoever looks at more than the verdicts: the
 * files of -save_error_data, the search for the smallest failing call. */
#ifndef PROBE_RUNNER_CALL_TENSORS_H
#define PROBE_RUNNER_CALL_TENSORS_H

#include "bench/bench.h"
#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"
#include "runner/devices/device.h"
#include "runner/precision.h"

struct call_tensors {
    const struct api_case *c;
    struct bench *bench;
    const struct device_result *got;
    const struct bench_output *gradients; /* of the reference; NULL when there are none */
    size_t n_gradients;
    const struct bench_precision *precision;
};

/* The reference of an output or gradient and the tensor that the device returned for it, of as many
 * components. False when it is no comparison of tensors. */
bool call_tensors_row(const struct reference **want, const struct tensor **got,
                      const struct call_tensors *tensors, bool backward, size_t index);

/* Who is shown the tensors of every call that the device answered. They are gone when it returns;
 * `arena` is scratch and goes with them. A failure ends the run. */
struct call_watch {
    struct status (*look)(void *context, struct arena *arena, const struct call_tensors *tensors);
    void *context;
};

#endif
