/* Rows in groups, integers that name rows, and the activations that fused products name by number. */
#ifndef PROBE_BENCH_OPS_NPU_GROUPS_H
#define PROBE_BENCH_OPS_NPU_GROUPS_H

#include "bench/call/op.h"

/* Group i has the positions start[i] ..< end[i] of an extent; together they have the first `total`. */
struct groups {
    int count;
    int64_t *start, *end, total;
};

/* From the argument `name`, a list or a tensor of integers: the ends of the groups (`cumulative`) or their sizes, within
 * `extent`. False after a failure. */
bool groups_read(struct call *call, struct groups *groups, const char *name, bool cumulative,
                 int64_t extent);

/* Does the argument `name` hold integers 0 <= k < limit alone? False fails the call. */
bool call_integers_below(struct call *call, const struct node *index, int64_t limit,
                         const char *name);

/* An activation by its number in torch_npu: 0 none, 1 relu, 2 gelu by tanh, 3 gelu by erf, 4 x sigmoid(1.702 x),
 * 5 silu. */
struct node *node_activated(struct call *call, struct node *x, int64_t kind);

#endif
