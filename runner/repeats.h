/* Does a device return the same bits every time? A call run several times, and its results compared with the first. */
#ifndef PROBE_RUNNER_REPEATS_H
#define PROBE_RUNNER_REPEATS_H

#include "core/arena.h"
#include "runner/devices/device.h"
#include "standards/judged.h"

/* Of every output and gradient, by direction. */
struct repeats {
    struct run_difference *of[2]; /* forward, backward; NULL when a call is not repeated */
    size_t count[2];
};

/* Run the call `runs - 1` times more.
 *
 *   first  what it returned; its tensors are copied, because a device may use their memory again
 *   out    all zeros for runs < 2
 *   errors what running reports: a device that fails the second time has failed
 */
struct status repeats_run(struct repeats *out, struct arena *arena, struct device *device,
                          const struct api_case *c, struct device_result *first, int64_t runs);

#endif
