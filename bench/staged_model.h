/* The errors of a kernel that rounds to its dtype between the steps of the op's composition, as a sequence of
 * kernels for tensors of that dtype does: `stage` of references (core/reference.h). */
#ifndef PROBE_BENCH_STAGED_MODEL_H
#define PROBE_BENCH_STAGED_MODEL_H

#include "bench/evaluation.h"

/* Let the reference of result i, or of the gradient of tensor argument i, ask for its staged bounds; nothing for dtypes
 * that kernels compute in. */
struct status staged_model_offer(struct reference *r, struct bench *bench, size_t i, bool gradient);

#endif
