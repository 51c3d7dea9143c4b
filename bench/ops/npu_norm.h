/* What normalizations of torch_npu share with operators that they are part of. */
#ifndef PROBE_BENCH_OPS_NPU_NORM_H
#define PROBE_BENCH_OPS_NPU_NORM_H

#include "bench/call/op.h"

/* x r gamma with r = 1 / sqrt(mean(x^2) + epsilon) over the last dimensions, those of gamma. *rstd, unless NULL, is r
 * with these dimensions kept. */
struct node *rms_normalized(struct call *call, struct node *x, struct node *gamma, double epsilon,
                            struct node **rstd);

#endif
