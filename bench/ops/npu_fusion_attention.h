/* What fused attention of a training step and its gradient as an operator have in common. */
#ifndef PROBE_BENCH_OPS_NPU_FUSION_ATTENTION_H
#define PROBE_BENCH_OPS_NPU_FUSION_ATTENTION_H

#include "bench/ops/npu_attention.h"

/* The forms of the operators, as details of their rows. The second names the window in full, has ropes, and lets pse be added
 * after the scale (pse_type 1: before it; 0: after). */
enum { FUSION_FIRST, FUSION_SECOND, FUSION_THIRD };

/* The arguments that both have but scale and keep_prob. False after a failure. */
bool read_fusion(struct call *call, struct attention *a, int64_t heads);

/* The mask of a call that is no packed one, by batches where they have prefixes; NULL where nothing is masked. */
struct node *whole_mask(struct call *call, const struct attention *a, int64_t batches, int64_t rows,
                        int64_t columns);

#endif
