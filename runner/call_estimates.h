/* How long the calls of a dump may take, for the order in which they are begun. */
#ifndef PROBE_RUNNER_CALL_ESTIMATES_H
#define PROBE_RUNNER_CALL_ESTIMATES_H

#include "runner/run_inputs.h"

/* Estimated seconds of calls (runner/cost.h): the same on every machine, 0 of a call that cannot be read.
 *
 *   positions  of `count` calls in the dump
 */
struct status call_estimates(double *seconds, const struct run_inputs *inputs,
                             const size_t *positions, size_t count);

#endif
