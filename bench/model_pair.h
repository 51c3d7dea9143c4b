/* The two evaluations that bound a kernel's errors: the worst case, and the root mean square. */
#ifndef PROBE_BENCH_MODEL_PAIR_H
#define PROBE_BENCH_MODEL_PAIR_H

#include "bench/evaluation.h"

enum { MODEL_WORST, MODEL_TYPICAL };

enum bench_arithmetic model_arithmetic(int which);

/* Evaluate the call of a bench in one of them; in the typical one after the worst one.
 *
 *   stage  kernels round to this dtype between their steps; DT_NONE: they do not
 *   modes  that they may be in (core/kernel_modes.h), to stay as long as the models; or NULL
 */
struct status model_open(struct evaluation *models[2], int which, struct bench *bench,
                         enum dtype stage, const struct kernel_modes *modes);

/* In both. */
struct status model_pair_open(struct evaluation *models[2], struct bench *bench, enum dtype stage,
                              const struct kernel_modes *modes);

#endif
