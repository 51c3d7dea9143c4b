/* What operators that write into caches share. */
#ifndef PROBE_BENCH_OPS_NPU_LAYOUT_H
#define PROBE_BENCH_OPS_NPU_LAYOUT_H

#include "bench/call/op.h"

/* Where each element of `updates` goes in x: batch i along `axis` from position index[i] on. NULL, having failed, when it
 * does not fit. */
int64_t *batch_update_map(struct call *call, const struct node *x, const struct node *updates,
                          const struct node *index, int axis);

#endif
