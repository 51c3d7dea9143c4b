/* The two evaluations that bound a kernel's errors: the worst case, and the root mean square. */
#ifndef PROBE_BENCH_MODEL_PAIR_H
#define PROBE_BENCH_MODEL_PAIR_H

#include "bench/evaluation.h"

enum { MODEL_WORST, MODEL_TYPICAL };

/* Evaluate the call of a bench in one of them; in the typical one after the worst one.
 *
 *   stage  kernels round to this dtype between their steps; DT_NONE: they do not
 *   modes  that they may be in (core/kernel_modes.h), to stay as long as the models; or NULL
 */
struct status model_open(struct evaluation *models[2], int which, struct bench *bench,
                         enum dtype stage, const struct kernel_modes *modes);

/* The same of a float32 kernel, though the results are float64, with nothing taken from other evaluations. */
struct status model_open_narrow(struct evaluation *models[2], int which, struct bench *bench);

/* In both. */
struct status model_pair_open(struct evaluation *models[2], struct bench *bench, enum dtype stage,
                              const struct kernel_modes *modes);

#endif
