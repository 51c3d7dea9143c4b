/* References of kernels in the modes that a user allows (core/kernel_modes.h). */
#ifndef PROBE_BENCH_ALLOWED_MODEL_H
#define PROBE_BENCH_ALLOWED_MODEL_H

#include "bench/evaluation.h"

/* Let the reference of result i, or of the gradient of tensor argument i, be asked for modes (`allow` of
 * core/reference.h). */
struct status allowed_model_offer(struct reference *r, struct bench *bench, size_t i,
                                  bool gradient);

#endif
