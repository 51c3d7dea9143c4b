/* What normalizations share, PyTorch's and torch_npu's. */
#ifndef PROBE_BENCH_OPS_NORMALIZATION_H
#define PROBE_BENCH_OPS_NORMALIZATION_H

#include "bench/call/op.h"

/* A vector of per-channel parameters shaped to broadcast against x (channels at dimension 1). */
struct node *per_channel(struct tape *tape, struct node *vector, const struct node *x);

/* y weight + bias; either may be NULL. */
struct node *scale_and_shift(struct tape *tape, struct node *y, struct node *weight,
                             struct node *bias);

/* The last dimensions of x, named by the argument normalized_shape, as a mask. */
uint32_t normalized_dims(struct call *call, const struct node *x);

/* Groups of channels: (n, groups, everything else) normalized over the last, scaled and shifted by
 * the arguments weight and bias. mean and rstd are those of the groups. */
struct node *normalize_groups(struct call *call, struct node *x, int64_t groups, double eps,
                              struct node **mean, struct node **rstd);

#endif
