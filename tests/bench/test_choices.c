/* Where more than one answer is right, the device's is taken; where it is wrong, ours
 * stays.
 *
 * Each row is a call, what a device returned for it, and what the reference must be after
 * bench_settle: the device's answer (`taken`) or the one without a device.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/samples.h"
#include "support/suite.h"

struct row {
    const char *call;   /* in the notation of bench/samples.h */
    const char *device; /* "Any.outputs(...)": the device's flat outputs */
    bool taken;
};

/* clang-format off */
static const struct row rows[] = {
    /* Positions of equal values, in any order but each once. */
    { "Torch.sort(f32(4)[1 2 1 2])", "Any.outputs(f32(4)[1 1 2 2], i64(4)[2 0 3 1])",
      true },
    { "Torch.sort(f32(4)[1 2 1 2])", "Any.outputs(f32(4)[1 1 2 2], i64(4)[0 0 3 1])",
      false },
    { "Torch.sort(f32(4)[1 2 1 2])", "Any.outputs(f32(4)[1 1 2 2], i64(4)[1 0 3 2])",
      false },
    { "Torch.sort(f32(4)[1 2 1 2])", "Any.outputs(f32(4)[1 1 2 2], i64(4)[2 0 3 4])",
      false },
    { "Torch.sort(f32(3)[nan 1 nan])", "Any.outputs(f32(3)[1 nan nan], i64(3)[1 2 0])",
      true },
    { "Torch.sort(f32(4)[1 2 1 2], stable=True)",
      "Any.outputs(f32(4)[1 1 2 2], i64(4)[2 0 3 1])", false },
    { "Torch.argsort(i64(2,2)[3 3 1 2])", "Any.outputs(i64(2,2)[1 0 0 1])", true },
    { "Torch.argsort(i64(2,2)[3 3 1 2])", "Any.outputs(i64(2,2)[1 0 1 0])", false },
    { "Torch.topk(f32(4)[5 7 5 1], 2)", "Any.outputs(f32(2)[7 5], i64(2)[1 2])", true },
    { "Torch.topk(f32(4)[5 7 5 1], 2)", "Any.outputs(f32(2)[7 1], i64(2)[1 3])", false },
    { "Torch.topk(f32(4)[5 7 5 1], 2, sorted=False)",
      "Any.outputs(f32(2)[5 7], i64(2)[2 1])", true },
    { "Torch.topk(f32(4)[5 7 5 1], 2, sorted=False)",
      "Any.outputs(f32(2)[5 5], i64(2)[2 0])", false },
    { "Torch.kthvalue(f32(3)[2 2 1], 2)", "Any.outputs(f32()[2], i64()[1])", true },
    { "Torch.kthvalue(f32(3)[2 2 1], 2)", "Any.outputs(f32()[2], i64()[2])", false },
    { "Torch.kthvalue(i64(3)[2 2 1], 2)", "Any.outputs(i64()[2], i64()[1])", true },
    { "Torch.topk(f32(4)[nan 7 5 nan], 2, sorted=False)",
      "Any.outputs(f32(2)[nan nan], i64(2)[3 0])", true },
    { "Torch.topk(i64(4)[5 7 5 1], 2, sorted=False)", "Any.outputs(i64(2)[5 7], i64(2)[0 1])", true },
    { "Torch.topk(f32(4)[5 7 5 1], 2, sorted=False)", "Any.outputs(f32(2)[5 5], i64(2)[2 2])", false },
    { "Torch.topk(f32(4)[5 7 5 1], 2, sorted=False)", "Any.outputs(f32(2)[7 5], i64(2)[1 4])", false },
    { "Torch.topk(f32(4)[5 7 5 1], 2, sorted=False)", "Any.outputs(f32(2)[7 5], i64(2)[-1 1])", false },
    /* A singular value at the limit of those that count: of 1 and 2^-22 with the default tolerance, of 2 and 1. */
    { "Torch.linalg.matrix_rank(f32(2,2)[1 0 0 2.384185791015625e-07])", "Any.outputs(i64()[2])", true },
    { "Torch.linalg.matrix_rank(f32(2,2)[1 0 0 2.384185791015625e-07])", "Any.outputs(i64()[1])", true },
    { "Torch.linalg.matrix_rank(f32(2,2)[1 0 0 2.384185791015625e-07])", "Any.outputs(i64()[0])", false },
    { "Torch.linalg.matrix_rank(f32(2,2)[1 0 0 0])", "Any.outputs(i64()[2])", false },
    { "Torch.linalg.matrix_rank(f32(2,2)[2 0 0 1], atol=1.0)", "Any.outputs(i64()[2])", true },
    { "Torch.linalg.matrix_rank(f32(2,2)[2 0 0 1], atol=0.5)", "Any.outputs(i64()[1])", false },
    /* A pivot that is as large as the column's largest, of a square, of a tall one, and by its permutation; and one that is not. */
    { "Torch.linalg.lu_factor(f32(2,2)[1 2 -1 3])", "Any.outputs(f32(2,2)[-1 3 -1 5], i32(2)[2 2])", true },
    { "Torch.linalg.lu_factor(f32(3,2)[1 2 -1 3 0 5])", "Any.outputs(f32(3,2)[-1 3 -1 5 0 1], i32(2)[2 2])", true },
    { "Torch.linalg.lu_factor(c64(2,2)[1 0 2 0 0 1 3 0])", "Any.outputs(c64(2,2)[0 1 3 0 0 -1 2 3], i32(2)[2 2])", true },
    { "Torch.linalg.lu_factor(f32(2,2)[2 2 -1 3])", "Any.outputs(f32(2,2)[-1 3 -2 8], i32(2)[2 2])", false },
    { "Torch.linalg.lu_factor(f32(2,2)[1 2 -1 3])", "Any.outputs(f32(2,2)[-1 3 -1 5], i32(2)[3 2])", false },
    /* Behind a pivot of noise, what is left has any pivots; behind one that is none, it has not. */
    { "Torch.linalg.lu_factor(f32(3,3)[1 1 1 1 1 3 1 1 2])", "Any.outputs(f32(3,3)[1 1 1 1 0 2 1 0 1], i32(3)[1 2 3])", true },
    { "Torch.linalg.lu_factor(f32(3,3)[1 1 1 1 1 3 1 1 2])", "Any.outputs(f32(3,3)[1 1 1 1 0 1 1 0 2], i32(3)[1 3 3])", true },
    { "Torch.linalg.lu_factor(c64(3,3)[1 0 1 0 1 0 1 0 1 0 3 0 1 0 1 0 2 0])", "Any.outputs(c64(3,3)[1 0 1 0 1 0 1 0 0 0 1 0 1 0 0 0 2 0], i32(3)[1 3 3])", true },
    { "Torch.linalg.lu_factor(f32(4,4)[1 1 1 1 1 1 3 2 1 1 2 9 1 1 2 1])", "Any.outputs(f32(4,4)[1 1 1 1 1 0 2 1 1 0 1 0 1 0 1 8], i32(4)[1 2 4 4])", true },
    { "Torch.linalg.lu_factor(f32(3,3)[1 1 1 1 2 3 1 1.5 2])", "Any.outputs(f32(3,3)[1 1 1 1 0.5 1 1 2 0], i32(3)[1 3 3])", false },
    /* A cell that ends at 1 but for rounding, in either direction; and one pixel farther. */
    { "NPU.npu_ps_roi_pooling(f32(1,1,3,3)[1 2 3 4 5 6 7 8 9], f32(1,5,1)[0 0 0 9 9], 0.1, 1, 1)", "Any.outputs(f32(1,1,1,1)[2.5])", true },
    { "NPU.npu_ps_roi_pooling(f32(1,1,3,3)[1 2 3 4 5 6 7 8 9], f32(1,5,1)[0 0 0 9 9], 0.1, 1, 1)", "Any.outputs(f32(1,1,1,1)[3])", true },
    { "NPU.npu_ps_roi_pooling(f32(1,1,3,3)[1 2 3 4 5 6 7 8 9], f32(1,5,1)[0 0 0 9 9], 0.1, 1, 1)", "Any.outputs(f32(1,1,1,1)[2])", false },
    { "NPU.npu_ps_roi_pooling(f32(1,1,3,3)[1 2 3 4 5 6 7 8 9], f32(1,5,1)[0 0 0 8 8], 0.1, 1, 1)", "Any.outputs(f32(1,1,1,1)[2.5])", false },
    { "Torch.linalg.lu(f32(2,2)[1 2 -1 3])", "Any.outputs(f32(2,2)[0 1 1 0], f32(2,2)[1 0 -1 1], f32(2,2)[-1 3 0 5])", true },
    { "Torch.linalg.lu(f32(2,2)[2 2 -1 3])", "Any.outputs(f32(2,2)[0 1 1 0], f32(2,2)[1 0 -2 1], f32(2,2)[-1 3 0 8])", false },
    /* A quotient half-way between two integers is either; an end that rounding may clamp has either mask. */
    { "Torch.fused_moving_avg_obs_fake_quant(f32(3)[0 3.984375 0.0234375], i64(1)[1], i64(1)[1], f32(1)[inf], f32(1)[-inf], f32(1)[1], i32(1)[0], 0.01, 0, 255, -1)",
      "Any.outputs(f32(3)[0 3.984375 0.015625])", true },
    { "Torch.fused_moving_avg_obs_fake_quant(f32(3)[0 3.984375 0.0234375], i64(1)[1], i64(1)[1], f32(1)[inf], f32(1)[-inf], f32(1)[1], i32(1)[0], 0.01, 0, 255, -1)",
      "Any.outputs(f32(3)[0 3.984375 0.046875])", false },
    { "Aten._fused_moving_avg_obs_fq_helper(f32(2)[1 3.9921875], i64(1)[0], i64(1)[1], f32(1)[0], f32(1)[3.984375], f32(1)[1], i32(1)[0], 0.01, 0, 255, -1)",
      "Any.outputs(f32(2)[1 3.984375], bool(2)[1 0])", true },
    { "Aten._fused_moving_avg_obs_fq_helper(f32(2)[1 3.9921875], i64(1)[0], i64(1)[1], f32(1)[0], f32(1)[3.984375], f32(1)[1], i32(1)[0], 0.01, 0, 255, -1)",
      "Any.outputs(f32(2)[1 3.984375], bool(2)[1 1])", true },
    { "Aten._fused_moving_avg_obs_fq_helper(f32(2)[1 3.9921875], i64(1)[0], i64(1)[1], f32(1)[0], f32(1)[3.984375], f32(1)[1], i32(1)[0], 0.01, 0, 255, -1)",
      "Any.outputs(f32(2)[1 3.984375], bool(2)[0 1])", false },
    /* The place of an extremum, of the whole line or of what came so far. */
    { "Torch.max(f32(3)[2 1 2], 0)", "Any.outputs(f32()[2], i64()[2])", true },
    { "Torch.max(f32(3)[2 1 2], 0)", "Any.outputs(f32()[2], i64()[1])", false },
    { "Torch.max(f32(3)[2 1 2], 0)", "Any.outputs(f32()[2], i64()[3])", false },
    { "Torch.max(f32(3)[2 1 2], 0)", "Any.outputs(f32()[2], i64()[-1])", false },
    { "Torch.min(f32(2,2)[nan 1 nan 1], 0)", "Any.outputs(f32(2)[nan 1], i64(2)[1 1])", true },
    { "Torch.max(i64(3)[5 5 1], 0)", "Any.outputs(i64()[5], i64()[1])", true },
    { "Torch.max(i64(3)[5 5 1], 0)", "Any.outputs(i64()[5], i64()[2])", false },
    { "Torch.argmax(f32(2,2)[1 1 0 1], 1)", "Any.outputs(i64(2)[1 1])", true },
    { "Torch.argmin(f32(2,2)[1 1 0 1], 1)", "Any.outputs(i64(2)[1 1])", false },
    { "Torch.median(f32(3)[2 2 1], 0)", "Any.outputs(f32()[2], i64()[0])", true },
    { "Torch.cummax(f32(4)[1 1 0 nan], 0)", "Any.outputs(f32(4)[1 1 1 nan], i64(4)[0 0 0 3])", true },
    { "Torch.cummax(f32(4)[1 1 0 nan], 0)", "Any.outputs(f32(4)[1 1 1 nan], i64(4)[1 1 1 3])", false },
    { "Torch.cummax(f32(4)[1 1 0 nan], 0)", "Any.outputs(f32(4)[1 1 1 nan], i64(4)[0 1 2 3])", false },
    { "Torch.cummax(f32(4)[1 1 0 nan], 0)", "Any.outputs(f32(4)[1 1 1 nan], i64(4)[0 1 -1 3])", false },
    { "Torch.cummax(f32(3)[nan nan 1], 0)", "Any.outputs(f32(3)[nan nan nan], i64(3)[0 0 0])", true },
    { "Torch.cummin(i64(2,3)[1 1 2 3 4 3], 1)", "Any.outputs(i64(2,3)[1 1 1 3 3 3], i64(2,3)[0 0 0 0 0 0])", true },
    { "Torch.cummin(i64(2,3)[1 1 2 3 4 3], 1)", "Any.outputs(i64(2,3)[1 1 1 3 3 3], i64(2,3)[0 0 0 0 1 0])", false },
    /* Experts of equal weight; a finished row reports none of them (expert number 3). */
    { "NPU.npu_moe_gating_top_k_softmax(f32(1,3)[2 -inf 2], None, 2)",
      "Any.outputs(f32(1,2)[0.5 0.5], i32(1,2)[2 0], i32(1,2)[0 1])", true },
    { "NPU.npu_moe_gating_top_k_softmax(f32(1,3)[2 -inf 2], None, 2)",
      "Any.outputs(f32(1,2)[0.5 0.5], i32(1,2)[2 2], i32(1,2)[0 1])", false },
    { "NPU.npu_moe_gating_top_k_softmax(f32(1,3)[2 -inf 2], None, 2)",
      "Any.outputs(f32(1,2)[0.5 0], i32(1,2)[2 1], i32(1,2)[0 1])", false },
    { "NPU.npu_moe_gating_top_k_softmax(f32(2,3)[1 1 -inf 5 5 -inf], bool(2)[0 1], 1)",
      "Any.outputs(f32(2,1)[0.5 0.5], i32(2,1)[1 3], i32(2,1)[0 1])", true },
    { "NPU.npu_moe_gating_top_k_softmax(f32(2,3)[1 1 -inf 5 5 -inf], bool(2)[0 1], 1)",
      "Any.outputs(f32(2,1)[0.5 0.5], i32(2,1)[1 0], i32(2,1)[0 1])", false },
    /* The device decides nothing about the order of integers that are one double. */
    /* The keys with the largest scores 1, 2, 3, in any order, each once, and -1 where there are no more. */
    { "NPU.npu_lightning_indexer(f32(1,1,1,2)[1 0], f32(1,3,1,2)[1 0 2 0 3 0], f32(1,1,1)[1], sparse_count=2, sparse_mode=0)",
      "Any.outputs(i32(1,1,1,2)[1 2])", true },
    { "NPU.npu_lightning_indexer(f32(1,1,1,2)[1 0], f32(1,3,1,2)[1 0 2 0 3 0], f32(1,1,1)[1], sparse_count=2, sparse_mode=0)",
      "Any.outputs(i32(1,1,1,2)[2 0])", false },
    { "NPU.npu_lightning_indexer(f32(1,1,1,2)[1 0], f32(1,3,1,2)[1 0 2 0 3 0], f32(1,1,1)[1], sparse_count=2, sparse_mode=0)",
      "Any.outputs(i32(1,1,1,2)[2 2])", false },
    { "NPU.npu_lightning_indexer(f32(1,1,1,2)[1 0], f32(1,3,1,2)[1 0 2 0 3 0], f32(1,1,1)[1], sparse_count=2, sparse_mode=0)",
      "Any.outputs(i32(1,1,1,2)[2 3])", false },
    { "NPU.npu_lightning_indexer(f32(1,1,1,2)[1 0], f32(1,3,1,2)[1 0 2 0 3 0], f32(1,1,1)[1], sparse_count=2, sparse_mode=0)",
      "Any.outputs(i32(1,1,1,2)[2 -1])", false },
    { "NPU.npu_lightning_indexer(f32(1,1,1,2)[1 0], f32(1,3,1,2)[1 0 2 0 3 0], f32(1,1,1)[1], sparse_count=4, sparse_mode=0)",
      "Any.outputs(i32(1,1,1,4)[0 1 2 -1])", true },
    { "NPU.npu_lightning_indexer(f32(1,1,1,2)[1 0], f32(1,3,1,2)[1 0 2 0 3 0], f32(1,1,1)[1], sparse_count=4, sparse_mode=0)",
      "Any.outputs(i32(1,1,1,4)[2 1 0 0])", false },
    { "NPU.npu_quant_lightning_indexer(i8(1,1,1,2)[1 0], i8(1,3,1,2)[2 0 2 0 3 0], f32(1,1,1)[1], f32(1,1,1)[1], f32(1,3,1)[1 1 1], 0, 0, sparse_count=2, sparse_mode=0)",
      "Any.outputs(i32(1,1,1,2)[2 1])", true },
    { "NPU.npu_quant_lightning_indexer(i8(1,1,1,2)[1 0], i8(1,3,1,2)[2 0 2 0 3 0], f32(1,1,1)[1], f32(1,1,1)[1], f32(1,3,1)[1 1 1], 0, 0, sparse_count=2, sparse_mode=0)",
      "Any.outputs(i32(1,1,1,2)[0 1])", false },
    /* Boxes of equal scores in any order; of two whose overlap is the threshold within rounding either answer; nothing else. */
    { "NPU.npu_nms_v4(f32(2,4)[0 0 1 1 5 5 6 6], f32(2)[1 1], 2, f32()[0.4], f32()[0])", "Any.outputs(i32(2)[1 0], i32()[2])", true },
    { "NPU.npu_nms_v4(f32(2,4)[0 0 1 1 5 5 6 6], f32(2)[1 2], 2, f32()[0.4], f32()[0])", "Any.outputs(i32(2)[0 1], i32()[2])", false },
    { "NPU.npu_nms_v4(f32(2,4)[0 0 1 1 0 0 1 2], f32(2)[2 1], 2, f32()[0.5], f32()[0])", "Any.outputs(i32(1)[0], i32()[1])", true },
    { "NPU.npu_nms_v4(f32(2,4)[0 0 1 1 0 0 1 2], f32(2)[2 1], 2, f32()[0.5], f32()[0])", "Any.outputs(i32(2)[0 1], i32()[2])", true },
    { "NPU.npu_nms_v4(f32(2,4)[0 0 1 1 0 0 1 2], f32(2)[2 1], 2, f32()[0.4], f32()[0])", "Any.outputs(i32(2)[0 1], i32()[2])", false },
    { "NPU.npu_nms_v4(f32(2,4)[0 0 1 1 0 0 1 2], f32(2)[2 1], 2, f32()[0.6], f32()[0])", "Any.outputs(i32(1)[0], i32()[1])", false },
    /* in float16, to which boxes may be rounded; the order is the one given */
    { "NPU.npu_nms_with_mask(f32(2,5)[0 0 2 2 1 0 0 2 1 5], 0.5)", "Any.outputs(f32(2,5)[0 0 2 2 1 0 0 2 1 5], i32(2)[0 1], u8(2)[1 0])", true },
    { "NPU.npu_nms_with_mask(f32(2,5)[0 0 2 2 1 0 0 2 1 5], 0.5)", "Any.outputs(f32(2,5)[0 0 2 2 1 0 0 2 1 5], i32(2)[0 1], u8(2)[1 1])", true },
    { "NPU.npu_nms_with_mask(f32(2,5)[0 0 2 2 1 0 0 2 1 5], 0.4)", "Any.outputs(f32(2,5)[0 0 2 2 1 0 0 2 1 5], i32(2)[0 1], u8(2)[1 1])", false },
    { "NPU.npu_nms_with_mask(f32(2,5)[0 0 2 2 1 0 0 2 1 5], 0.6)", "Any.outputs(f32(2,5)[0 0 2 2 1 0 0 2 1 5], i32(2)[0 1], u8(2)[0 1])", false },
    { "NPU.npu_nms_with_mask(f16(2,5)[0 0 2 2 1 0 0 2 1 5], 0.5)", "Any.outputs(f16(2,5)[0 0 2 2 1 0 0 2 1 5], i32(2)[0 1], u8(2)[1 0])", true },
    { "NPU.npu_nms_with_mask(f32(1,5)[0.1 0 2 2 1], 0.6)", "Any.outputs(f32(1,5)[0.0999755859375 0 2 2 1], i32(1)[0], u8(1)[1])", true },
    { "NPU.npu_nms_with_mask(f32(1,5)[0.1 0 2 2 1], 0.6)", "Any.outputs(f32(1,5)[0.0998 0 2 2 1], i32(1)[0], u8(1)[1])", false },
    /* equal scores in either order, of one class and of two; an overlap at the threshold */
    { "NPU.npu_batch_nms(f32(1,2,1,4)[0 0 1 1 5 5 6 6], f32(1,2,1)[1 1], 0.0, 0.5, 2, 2)", "Any.outputs(f32(1,2,4)[5 5 6 6 0 0 1 1], f32(1,2)[1 1], f32(1,2)[0 0], i32(1)[2])", true },
    { "NPU.npu_batch_nms(f32(1,2,1,4)[0 0 1 1 5 5 6 6], f32(1,2,1)[1 2], 0.0, 0.5, 2, 2)", "Any.outputs(f32(1,2,4)[0 0 1 1 5 5 6 6], f32(1,2)[1 2], f32(1,2)[0 0], i32(1)[2])", false },
    { "NPU.npu_batch_nms(f32(1,1,1,4)[0 0 1 1], f32(1,1,2)[1 1], 0.0, 0.5, 2, 2)", "Any.outputs(f32(1,2,4)[0 0 1 1 0 0 1 1], f32(1,2)[1 1], f32(1,2)[1 0], i32(1)[2])", true },
    { "NPU.npu_batch_nms(f32(1,1,1,4)[0 0 1 1], f32(1,1,2)[1 1], 0.0, 0.5, 2, 2)", "Any.outputs(f32(1,2,4)[0 0 1 1 0 0 1 1], f32(1,2)[1 1], f32(1,2)[1 1], i32(1)[2])", false },
    { "NPU.npu_batch_nms(f32(1,2,1,4)[0 0 2 2 0 0 2 1], f32(1,2,1)[2 1], 0.0, 0.5, 2, 2)", "Any.outputs(f32(1,2,4)[0 0 2 2 0 0 0 0], f32(1,2)[2 0], f32(1,2)[0 0], i32(1)[1])", true },
    { "NPU.npu_batch_nms(f32(1,2,1,4)[0 0 2 2 0 0 2 1], f32(1,2,1)[2 1], 0.0, 0.5, 2, 2)", "Any.outputs(f32(1,2,4)[0 0 2 2 0 0 2 1], f32(1,2)[2 1], f32(1,2)[0 0], i32(1)[2])", true },
    { "NPU.npu_batch_nms(f32(1,2,1,4)[0 0 2 2 0 0 2 1], f32(1,2,1)[2 1], 0.0, 0.6, 2, 2)", "Any.outputs(f32(1,2,4)[0 0 2 2 0 0 0 0], f32(1,2)[2 0], f32(1,2)[0 0], i32(1)[1])", false },
    /* equal logits at the last place, a share at p, the rest -inf or 0 */
    { "NPU.npu_top_k_top_p_sample(f32(1,3)[1 2 1], i32(1)[2], f32(1)[1], None, 1e-08, True)", "Any.outputs(i64(1)[1], f32(1,3)[-inf 2 1])", true },
    { "NPU.npu_top_k_top_p_sample(f32(1,3)[1 2 1], i32(1)[2], f32(1)[1], None, 1e-08, True)", "Any.outputs(i64(1)[1], f32(1,3)[1 2 0])", true },
    { "NPU.npu_top_k_top_p_sample(f32(1,3)[1 2 1], i32(1)[2], f32(1)[1], None, 1e-08, True)", "Any.outputs(i64(1)[1], f32(1,3)[1 2 1])", false },
    { "NPU.npu_top_k_top_p_sample(f32(1,3)[1 2 1], i32(1)[2], f32(1)[1], None, 1e-08, True)", "Any.outputs(i64(1)[0], f32(1,3)[1 2 -inf])", false },
    { "NPU.npu_top_k_top_p_sample(f32(1,3)[2 2 1], i32(1)[2], f32(1)[1])", "Any.outputs(i64(1)[1], f32(0))", true },
    { "NPU.npu_top_k_top_p_sample(f32(1,3)[2 2 1], i32(1)[3], f32(1)[1], f32(1,3)[1 1 0.01])", "Any.outputs(i64(1)[2], f32(0))", true },
    { "NPU.npu_top_k_top_p_sample(f32(1,3)[2 2 1], i32(1)[3], f32(1)[1], f32(1,3)[1 1 0.01])", "Any.outputs(i64(1)[1], f32(0))", false },
    { "NPU.npu_top_k_top_p_sample(f32(1,2)[1 1], i32(1)[2], f32(1)[0.49999997], None, 1e-08, True)", "Any.outputs(i64(1)[0], f32(1,2)[1 1])", true },
    { "NPU.npu_top_k_top_p_sample(f32(1,2)[1 1], i32(1)[2], f32(1)[0.4], None, 1e-08, True)", "Any.outputs(i64(1)[0], f32(1,2)[1 1])", false },
    { "NPU.npu_nms_rotated(f32(2,5)[0 0 2 1 90 0 0 1 1 0], f32(2)[2 1], 0.5)", "Any.outputs(i32(1)[0], i32(1)[1])", true },
    { "NPU.npu_nms_rotated(f32(2,5)[0 0 2 1 90 0 0 1 1 0], f32(2)[2 1], 0.5)", "Any.outputs(i32(2)[0 1], i32(1)[2])", true },
    { "NPU.npu_nms_rotated(f32(2,5)[0 0 2 1 90 0 0 1 1 0], f32(2)[2 1], 0.45)", "Any.outputs(i32(2)[0 1], i32(1)[2])", false },
    /* Half of the probability lies at the second of four equal logits, which a sum in float32 may see either way. */
    { "NPU.npu_top_k_top_p(f32(1,4)[0 0 0 0], f32(1)[0.5], None)", "Any.outputs(f32(1,4)[-inf 0 0 0])", true },
    { "NPU.npu_top_k_top_p(f32(1,4)[0 0 0 0], f32(1)[0.5], None)", "Any.outputs(f32(1,4)[-inf -inf 0 0])", true },
    { "NPU.npu_top_k_top_p(f32(1,4)[0 0 0 0], f32(1)[0.5], None)", "Any.outputs(f32(1,4)[0 0 0 0])", false },
    { "NPU.npu_top_k_top_p(f32(1,4)[0 0 0 0], f32(1)[0.5], None)", "Any.outputs(f32(1,4)[-inf -inf -inf 0])", false },
    { "NPU.npu_sort_v2(i64(3)[9007199254740993 9007199254740992 7])",
      "Any.outputs(i64(3)[7 9007199254740992 9007199254740993])", true },
    { "NPU.npu_sort_v2(i64(3)[9007199254740993 9007199254740992 7])",
      "Any.outputs(i64(3)[7 9007199254740993 9007199254740992])", false },
    /* The place of a maximum. */
    { "Functional.max_pool1d(f32(1,1,4)[1 1 0 2], 2, return_indices=True)",
      "Any.outputs(f32(1,1,2)[1 2], i64(1,1,2)[1 3])", true },
    { "Functional.max_pool1d(f32(1,1,4)[1 1 0 2], 2, return_indices=True)",
      "Any.outputs(f32(1,1,2)[1 2], i64(1,1,2)[2 3])", false },
    { "Functional.max_pool1d(f32(1,1,4)[2 1 0 2], 2, return_indices=True)",
      "Any.outputs(f32(1,1,2)[2 2], i64(1,1,2)[3 3])",
      false }, /* as large, but of another window */
    { "Functional.adaptive_max_pool1d(f32(1,1,3)[4 4 4], 2, return_indices=True)",
      "Any.outputs(f32(1,1,2)[4 4], i64(1,1,2)[1 1])", true },
    { "Functional.max_pool1d(f32(1,1,3)[nan 1 nan], 3, return_indices=True)",
      "Any.outputs(f32(1,1,1)[nan], i64(1,1,1)[0])", true },
    { "Functional.max_pool1d(f32(1,1,3)[nan 1 nan], 3, return_indices=True)",
      "Any.outputs(f32(1,1,1)[nan], i64(1,1,1)[1])", false },
    { "Functional.max_pool1d(f32(1,1,3)[1 1 1], 3, return_indices=True)",
      "Any.outputs(f32(1,1,1)[1], i64(1,1,1)[3])", false },
    { "Functional.max_pool1d(f32(1,1,3)[1 1 1], 3, return_indices=True)",
      "Any.outputs(f32(1,1,1)[1], i64(1,1,1)[-1])", false },
    { "Functional.max_pool1d(f32(1,1,3)[1 1 1], 2, dilation=2, return_indices=True)",
      "Any.outputs(f32(1,1,1)[1], i64(1,1,1)[2])", true },
    { "Functional.max_pool1d(f32(1,1,3)[1 1 1], 2, dilation=2, return_indices=True)",
      "Any.outputs(f32(1,1,1)[1], i64(1,1,1)[1])", false }, /* between the taps */
    { "Functional.max_pool2d(f32(2,2,2)[1 1 1 1 2 2 2 2], 2, return_indices=True)",
      "Any.outputs(f32(2,1,1)[1 2], i64(2,1,1)[3 2])", true },
    { "Functional.fractional_max_pool2d(f32(1,2,2)[4 4 1 4], 2, 1, return_indices=True)",
      "Any.outputs(f32(1,1,1)[4], i64(1,1,1)[3])", true },
    { "Functional.fractional_max_pool2d(f32(1,2,2)[4 4 1 4], 2, 1, return_indices=True)",
      "Any.outputs(f32(1,1,1)[4], i64(1,1,1)[2])", false },
    { "Functional.fractional_max_pool2d(f32(1,2,2)[4 4 1 4], 2, 1, return_indices=True)",
      "Any.outputs(f32(1,1,1)[4], i64(1,1,1)[4])", false },
    { "Functional.fractional_max_pool2d(f32(1,2,2)[4 4 1 4], 2, 1, return_indices=True)",
      "Any.outputs(f32(1,1,1)[4], i64(1,1,1)[-1])", false },
    /* Several values written to one place. */
    { "Torch.scatter(f32(3)[0 0 0], 0, i64(3)[1 1 1], f32(3)[5 6 7])",
      "Any.outputs(f32(3)[0 6 0])", true },
    { "Torch.scatter(f32(3)[0 0 0], 0, i64(3)[1 1 1], f32(3)[5 6 7])",
      "Any.outputs(f32(3)[0 8 0])", false },
    { "Torch.index_copy(f32(2,2)[0 0 0 0], 0, i64(2)[1 1], f32(2,2)[1 2 3 4])",
      "Any.outputs(f32(2,2)[0 0 1 2])", true },
    { "Tensor.__setitem__(f32(2)[0 0], i64(2)[0 0], f32(2)[1 2])",
      "Any.outputs(f32(2)[1 0])", true },
    { "Torch.scatter(i64(3)[0 0 0], 0, i64(3)[1 1 1], i64(3)[5 6 7])", "Any.outputs(i64(3)[0 5 0])", true },
    { "Torch.scatter(i64(3)[0 0 0], 0, i64(3)[1 1 1], i64(3)[9007199254740993 9007199254740992 9007199254740994])",
      "Any.outputs(i64(3)[0 9007199254740993 0])", true }, /* of three that are one double */
    { "Torch.scatter(f32(3)[0 0 0], 0, i64(3)[1 1 1], f32(3)[5 nan 7])", "Any.outputs(f32(3)[0 nan 0])", true },
    { "Torch.scatter(f32(3)[0 0 0], 0, i64(3)[1 1 2], f32(3)[nan 6 7])", "Any.outputs(f32(3)[0 nan 7])", true },
    { "Torch.index_copy(f32(2,2)[0 0 0 0], 0, i64(2)[1 1], f32(2,2)[1 2 3 4])",
      "Any.outputs(f32(2,2)[0 0 1 4])", false }, /* half of each */
    /* An element on the edge of two bins. */
    { "Torch.histc(f32(3)[0 0.3 1]', 10, 0, 1)",
      "Any.outputs(f32(10)[1 0 1 0 0 0 0 0 0 1])", true },
    { "Torch.histc(f32(3)[0 0.3 1]', 10, 0, 1)",
      "Any.outputs(f32(10)[0 1 0 1 0 0 0 0 0 1])", false },
    { "Torch.histc(f32(3)[0 0.3 1]', 10, 0, 1)",
      "Any.outputs(f32(10)[1 0 1 1 0 0 0 0 0 1])", false },
    { "Torch.histogramdd(f32(2,2)[0.3 0.15 0.95 0.25]', [10,10], range=[0,1,0,1])",
      "Any.outputs(f32(10,10)[0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  0 1 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  "
      "0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0 0  "
      "0 0 1 0 0 0 0 0 0 0])", true },
    /* A source index that float and double round differently: 23 * (14 / 46). */
    { "Functional.interpolate(f32(1,1,14)[0 1 2 3 4 5 6 7 8 9 10 11 12 13], 46)",
      "Any.outputs(f32(1,1,46)[0 0 0 0 1 1 1 2 2 2 3 3 3 3 4 4 4 5 5 5 6 6 6 7 7 7 7 8 8 8 "
      "9 9 9 10 10 10 10 11 "
      "11 11 12 12 12 13 13 13])",
      true },
    { "Functional.interpolate(f32(1,1,14)[0 1 2 3 4 5 6 7 8 9 10 11 12 13], 46)",
      "Any.outputs(f32(1,1,46)[0 0 0 0 1 1 1 2 2 2 3 3 3 3 4 4 4 5 5 5 6 6 6 6 7 7 7 8 8 8 "
      "9 9 9 10 10 10 10 11 "
      "11 11 12 12 12 13 13 13])",
      true },
    /* Half-way between two inputs. */
    { "Functional.grid_sample(f32(1,1,1,4)[1 2 3 4], f32(1,1,1,2)[0 0], mode=\"nearest\", "
      "align_corners=True)",
      "Any.outputs(f32(1,1,1,1)[2])", true },
    { "Functional.grid_sample(f32(1,1,1,4)[1 2 3 4], f32(1,1,1,2)[0 0], mode=\"nearest\", "
      "align_corners=True)",
      "Any.outputs(f32(1,1,1,1)[4])", false },
    { "Functional.grid_sample(f32(1,1,1,4)[1 2 3 4], f32(1,1,1,2)[1 0], mode=\"nearest\")",
      "Any.outputs(f32(1,1,1,1)[0])", true }, /* the other one lies outside: zero padding */
    { "Functional.grid_sample(f32(1,1,1,4)[1 2 3 4], f32(1,1,1,2)[-1 0], mode=\"nearest\")",
      "Any.outputs(f32(1,1,1,1)[1])", true },
    /* Windows of a random sequence: 3 of 2 in 6 start at 0, 2 and 4 or at 0, 1 or 2 and 4.
     */
    { "Functional.fractional_max_pool2d(f32(1,1,6)[5 4 3 2 1 0], (1,2), (1,3))",
      "Any.outputs(f32(1,1,3)[5 3 1])", true },
    { "Functional.fractional_max_pool2d(f32(1,1,6)[5 4 3 2 1 0], (1,2), (1,3))",
      "Any.outputs(f32(1,1,3)[5 5 1])", false },
    /* Scores that rounding may exchange, and scores that it may not; experts named twice; groups of like scores. */
    { "NPU.npu_moe_gating_top_k(f32(1,4)[1 1.0000001 0 -1], 1, norm_type=1)", "Any.outputs(f32(1,1)[1], i32(1,1)[0])", true },
    { "NPU.npu_moe_gating_top_k(f32(1,4)[1 1.001 0 -1], 1, norm_type=1)", "Any.outputs(f32(1,1)[1], i32(1,1)[0])", false },
    { "NPU.npu_moe_gating_top_k(f32(1,4)[1 1.0000001 0 -1], 2, norm_type=1)", "Any.outputs(f32(1,2)[0.5 0.5], i32(1,2)[0 0])", false },
    { "NPU.npu_moe_gating_top_k(f32(1,4)[1 -1 1.0000001 -1], 1, k_group=1, group_count=2, norm_type=1)", "Any.outputs(f32(1,1)[1], i32(1,1)[0])", true },
    { "NPU.npu_moe_gating_top_k(f32(1,4)[1 -1 1.01 -1], 1, k_group=1, group_count=2, norm_type=1)", "Any.outputs(f32(1,1)[1], i32(1,1)[0])", false },
};
/* clang-format on */

static bool holds(const struct reference *r, const struct tensor *want)
{
    size_t n = tensor_elements(want), parts = dtype_is_complex(want->dtype) ? 2 : 1;
    if (r->n != n * parts) return false;
    for (size_t i = 0; i < n; i++) {
        const void *element = (const char *)want->data + i * dtype_info(want->dtype)->bytes;
        if (r->integer && dtype_is_integral(want->dtype)) {
            int64_t integer;
            dtype_to_int64(&integer, element, want->dtype, 1);
            if (r->integer[i] != integer) return false;
            continue;
        }
        double x[2];
        dtype_to_double(x, element, want->dtype, 1);
        for (size_t k = 0; k < parts; k++) {
            double own = r->integer ? (double)r->integer[i] : r->hi[i * parts + k];
            if (own != x[k] && !(own != own && x[k] != x[k])) return false;
        }
    }
    return true;
}

/* Outputs that no device can have meant change nothing: another dtype or size, none at all. */
static const struct {
    const char *call;
    int index; /* the output that holds positions, or -1 */
    /* clang-format off */
} deciding[] = {
    { "NPU.npu_quant_lightning_indexer(i8(1,1,1,2)[1 0], i8(1,3,1,2)[2 0 2 0 3 0], f32(1,1,1)[1], f32(1,1,1)[1], f32(1,3,1)[1 1 1], 0, 0, sparse_count=2, sparse_mode=0)", 0 },
    { "Torch.sort(f32(4)[1 2 1 2])", 1 },
    { "Torch.argsort(i64(2,2)[3 3 1 2])", 0 },
    { "Torch.topk(f32(4)[5 7 5 1], 2, sorted=False)", 1 },
    { "Torch.kthvalue(f32(3)[2 2 1], 2)", 1 },
    { "Torch.max(f32(3)[2 1 2], 0)", 1 },
    { "Torch.argmax(f32(3)[2 1 2])", 0 },
    { "Torch.cummax(f32(3)[1 1 0], 0)", 1 },
    { "Functional.max_pool1d(f32(1,1,4)[1 1 0 2], 2, return_indices=True)", 1 },
    { "Functional.fractional_max_pool2d(f32(1,2,2)[4 4 1 4], 2, 1, return_indices=True)", 1 },
    { "Functional.fractional_max_pool2d(f32(1,1,6)[5 4 3 2 1 0], (1,2), (1,3))", -1 },
    { "Torch.scatter(f32(3)[0 0 0], 0, i64(3)[1 1 1], f32(3)[5 6 7])", -1 },
    { "Torch.index_copy(f32(2,2)[0 0 0 0], 0, i64(2)[1 1], f32(2,2)[1 2 3 4])", -1 },
    { "Torch.histc(f32(3)[0 0.3 1]', 10, 0, 1)", -1 },
    { "Torch.histogramdd(f32(1,2)[0.3 0.15]', [10,10], range=[0,1,0,1])", -1 },
    { "Functional.interpolate(f32(1,1,14), 46)", -1 },
    { "Functional.grid_sample(f32(1,1,1,4)[1 2 3 4], f32(1,1,1,2)[0 0], mode=\"nearest\", align_corners=True)", -1 },
};
/* clang-format on */

enum malformed { NO_OUTPUTS, NO_TENSORS, NUMBERS, COMPLEX, ONE_MORE, FLOAT_INDEX, MALFORMED };

/* clang-format off */
static struct value malformed_outputs(struct bench *bench, enum malformed how, int index, struct arena *arena)
{
    struct value list = { .kind = VALUE_LIST };
    if (how == NO_OUTPUTS) return list;
    list.list.count = bench_output_count(bench);
    list.list.items = arena_allocate_zeroed(arena, list.list.count, sizeof *list.list.items);
    for (size_t k = 0; k < list.list.count; k++) {
        struct value *v = &list.list.items[k];
        const struct reference *r = &bench_output(bench, k)->reference;
        int64_t more[1] = { (int64_t)r->n + 1 };
        enum dtype dtype = how == COMPLEX ? DT_C64 : how == FLOAT_INDEX && (int)k == index ? DT_F32 : r->dtype;
        if (how == NO_TENSORS) continue;
        v->kind = how == NUMBERS ? VALUE_INT : VALUE_TENSOR;
        if (how == NUMBERS) continue;
        v->tensor.tensor = arena_allocate_zeroed(arena, 1, sizeof *v->tensor.tensor);
        bool longer = how == ONE_MORE;
        ck_assert_int_eq(tensor_create(v->tensor.tensor, arena, dtype, longer ? 1 : r->rank, longer ? more : r->shape).code, 0);
        memset(v->tensor.tensor->data, 0, (r->n + longer) * dtype_info(dtype)->bytes);
    }
    return list;
}
/* clang-format on */

START_TEST(malformed_outputs_decide_nothing)
{
    for (enum malformed how = 0; how < MALFORMED; how++) {
        struct arena arena = { 0 };
        struct sample call = { 0 };
        struct bench *plain, *settled;

        if (how == FLOAT_INDEX && deciding[_i].index < 0) continue;
        ck_assert(!sample_parse(&call, deciding[_i].call, &arena));
        ck_assert(!bench_open(&plain, &call.c, &arena, BENCH_REFERENCE).code);
        ck_assert(!bench_open(&settled, &call.c, &arena, BENCH_REFERENCE).code);
        struct value outputs = malformed_outputs(plain, how, deciding[_i].index, &arena);
        struct status st = bench_settle(settled, &outputs);
        ck_assert_msg(!st.code, "%s, %d: %s", deciding[_i].call, how, st.text);
        for (size_t k = 0; k < bench_output_count(plain); k++) {
            const struct reference *a = &bench_output(plain, k)->reference,
                                   *b = &bench_output(settled, k)->reference;
            ck_assert_uint_eq(a->n, b->n);
            if (how == FLOAT_INDEX && (int)k != deciding[_i].index)
                continue; /* zeros: not what was asked for */
            for (size_t i = 0; i < a->n; i++)
                ck_assert_msg(a->integer ? a->integer[i] == b->integer[i] : a->hi[i] == b->hi[i],
                              "%s, %d: element %zu of output %zu changed", deciding[_i].call, how,
                              i, k);
        }
        arena_release(&arena);
    }
}
END_TEST

START_TEST(the_device_decides_where_several_are_right)
{
    const struct row *row = &rows[_i];
    struct arena arena = { 0 };
    struct sample call = { 0 }, device = { 0 };
    struct bench *bench;

    ck_assert_msg(!sample_parse(&call, row->call, &arena), "%s", row->call);
    ck_assert_msg(!sample_parse(&device, row->device, &arena), "%s", row->device);
    struct status st = bench_open(&bench, &call.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", row->call, st.text);
    st = bench_settle(bench, &device.c.args);
    ck_assert_msg(!st.code, "%s: %s", row->call, st.text);
    bool all = true;
    for (size_t i = 0; i < device.c.args.list.count; i++)
        all = all &&
              holds(&bench_output(bench, i)->reference, device.c.args.list.items[i].tensor.tensor);
    ck_assert_msg(all == row->taken, "%s: the device's answer was%s taken", row->call,
                  all ? "" : " not");
    arena_release(&arena);
}
END_TEST

/* The gradient follows the choice: with the second of two equal maxima chosen, it goes
 * there. */
START_TEST(the_gradient_follows_the_device)
{
    struct arena arena = { 0 };
    struct sample call = { 0 }, device = { 0 }, cotangents = { 0 };
    struct bench *bench;
    struct bench_output *gradients;
    size_t count;

    ck_assert(!sample_parse(
        &call, "Functional.max_pool1d(f32(1,1,4)[1 1 0 2], 2, return_indices=True)", &arena));
    ck_assert(!sample_parse(&device, "Any.outputs(f32(1,1,2)[1 2], i64(1,1,2)[1 3])", &arena));
    ck_assert(!sample_parse(&cotangents, "Any.outputs(f32(1,1,2)[10 20])", &arena));
    ck_assert(!bench_open(&bench, &call.c, &arena, BENCH_REFERENCE).code);
    ck_assert(!bench_settle(bench, &device.c.args).code);
    ck_assert(!bench_backward(&gradients, &count, bench, &cotangents.c.args).code);
    ck_assert_uint_eq(count, 1);
    const double want[4] = { 0, 10, 0, 20 };
    for (int i = 0; i < 4; i++) ck_assert_double_eq(gradients[0].reference.hi[i], want[i]);
    arena_release(&arena);
}
END_TEST

/* Of an input of 0 no output tells which slope rrelu drew: a kernel's gradient may have any. */
START_TEST(a_draw_that_no_output_shows_is_open)
{
    struct arena arena = { 0 };
    struct sample call = { 0 }, device = { 0 }, cotangents = { 0 };
    struct bench *bench;
    struct bench_output *gradients;
    size_t count;

    ck_assert(!sample_parse(&call, "Functional.rrelu(f32(2)[0 -1], 0.0, 1.0, True)", &arena));
    ck_assert(!sample_parse(&device, "Any.outputs(f32(2)[0 -0.25])", &arena));
    ck_assert(!sample_parse(&cotangents, "Any.outputs(f32(2)[1 1])", &arena));
    ck_assert(!bench_open(&bench, &call.c, &arena, BENCH_REFERENCE).code);
    ck_assert(!bench_settle(bench, &device.c.args).code);
    ck_assert(!bench_model(bench).code);
    ck_assert(!bench_backward(&gradients, &count, bench, &cotangents.c.args).code);
    const struct reference *r = &gradients[0].reference;
    ck_assert_double_eq(r->hi[1], 0.25);
    ck_assert_double_ge(r->kernel_bound[0], 0.5);
    ck_assert_double_le(r->kernel_bound[1], 1e-6);
    arena_release(&arena);
}
END_TEST

/* Plain values. */
static const struct {
    const char *call;
    size_t count;
    enum value_kind kind;
    double values[4];
} questions[] = {
    { "Tensor.size(f32(2,3))", 2, VALUE_INT, { 2, 3 } },
    { "Tensor.size(f32(2,3), -1)", 1, VALUE_INT, { 3 } },
    { "Tensor.stride(f32(2,3,4))", 3, VALUE_INT, { 12, 4, 1 } },
    { "Tensor.dim(f32(2,3))", 1, VALUE_INT, { 2 } },
    { "Torch.numel(f32(2,0))", 1, VALUE_INT, { 0 } },
    { "Tensor.__len__(f32(5,2))", 1, VALUE_INT, { 5 } },
    { "Tensor.element_size(f16(2))", 1, VALUE_INT, { 2 } },
    { "Tensor.item(f32(1)[2.5])", 1, VALUE_FLOAT, { 2.5 } },
    { "Tensor.item(i64()[-7])", 1, VALUE_INT, { -7 } },
    { "Tensor.item(bool()[1])", 1, VALUE_BOOL, { 1 } },
    { "Tensor.__bool__(f32(1)[0])", 1, VALUE_BOOL, { 0 } },
    { "Tensor.__nonzero__(i64()[3])", 1, VALUE_BOOL, { 1 } },
    { "Tensor.tolist(i64(2,2)[1 2 3 4])", 4, VALUE_INT, { 1, 2, 3, 4 } },
    { "Torch.is_floating_point(bf16(1))", 1, VALUE_BOOL, { 1 } },
    { "Tensor.is_complex(f32(1))", 1, VALUE_BOOL, { 0 } },
    { "Tensor.is_signed(u8(1))", 1, VALUE_BOOL, { 0 } },
    { "Tensor.is_same_size(f32(2), f32(2,1))", 1, VALUE_BOOL, { 0 } },
    { "Tensor.is_same_size(f32(2), f32(3))", 1, VALUE_BOOL, { 0 } },
    { "Tensor.is_same_size(f32(2,0), f32(2,0))", 1, VALUE_BOOL, { 1 } },
    { "Torch.is_floating_point(i64(1))", 1, VALUE_BOOL, { 0 } },
    { "Torch.is_complex(c64(1))", 1, VALUE_BOOL, { 1 } },
    { "Torch.is_signed(bool(1))", 1, VALUE_BOOL, { 0 } },
    { "Torch.is_signed(i8(1))", 1, VALUE_BOOL, { 1 } },
    { "Tensor.is_contiguous(f32(2))", 1, VALUE_BOOL, { 1 } },
    { "Torch.is_conj(c64(2))", 1, VALUE_BOOL, { 0 } },
    { "Torch.is_nonzero(f32(1)[nan])", 1, VALUE_BOOL, { 1 } },
    { "Tensor.__int__(f32()[2.75])", 1, VALUE_INT, { 2 } },
    { "Tensor.__int__(i64()[-7])", 1, VALUE_INT, { -7 } },
    { "Tensor.__int__(c64(1)[2.75 0])", 1, VALUE_INT, { 2 } },
    { "Tensor.__float__(c64(1)[2.75 0])", 1, VALUE_FLOAT, { 2.75 } },
    { "Tensor.__float__(i64()[-7])", 1, VALUE_FLOAT, { -7 } },
    { "Tensor.__bool__(i64()[0])", 1, VALUE_BOOL, { 0 } },
    { "Tensor.tolist(f32(0))", 0, VALUE_INT, { 0 } },
    { "Tensor.tolist(f32()[1.5])", 1, VALUE_FLOAT, { 1.5 } },
    { "Tensor.stride(f32(2,3), 0)", 1, VALUE_INT, { 3 } },
    { "Tensor.size(f32())", 0, VALUE_INT, { 0 } },
    { "Torch.can_cast(torch.bool, torch.uint8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.uint8, torch.bool)", 1, VALUE_BOOL, { 0 } },
    { "Torch.can_cast(torch.uint8, torch.uint8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.uint8, torch.int8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.int8, torch.uint8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.int64, torch.int8)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.int64, torch.float16)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.float16, torch.int64)", 1, VALUE_BOOL, { 0 } },
    { "Torch.can_cast(torch.float64, torch.complex64)", 1, VALUE_BOOL, { 1 } },
    { "Torch.can_cast(torch.complex64, torch.float64)", 1, VALUE_BOOL, { 0 } },
};

START_TEST(questions_have_plain_answers)
{
    struct arena arena = { 0 };
    struct sample call = { 0 };
    struct bench *bench;

    ck_assert_msg(!sample_parse(&call, questions[_i].call, &arena), "%s", questions[_i].call);
    struct status st = bench_open(&bench, &call.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", questions[_i].call, st.text);
    ck_assert_uint_eq(bench_output_count(bench), questions[_i].count);
    for (size_t i = 0; i < questions[_i].count; i++) {
        const struct bench_output *output = bench_output(bench, i);
        ck_assert_int_eq(output->kind, BENCH_OUTPUT_VALUE);
        ck_assert_int_eq(output->value.kind, questions[_i].kind);
        double x = output->value.kind == VALUE_INT    ? (double)output->value.integer
                   : output->value.kind == VALUE_BOOL ? output->value.boolean
                                                      : output->value.real;
        ck_assert_double_eq(x, questions[_i].values[i]);
    }
    arena_release(&arena);
}
END_TEST

/* Calls whose results are known without a computer. */
static const struct {
    const char *call, *outputs;
    /* clang-format off */
} answers[] = {
    { "Torch.as_strided_scatter(f32(6)[0 0 0 0 0 0], f32(2,2)[1 2 3 4], (2,2), (4,1))", "Any.f(f32(6)[1 2 0 0 3 4])" },
    { "Torch.as_strided_scatter(f32(5)[9 9 9 9 9], f32(2)[1 2], (2,), (1,), 2)", "Any.f(f32(5)[9 9 1 2 9])" },
    { "Torch.slice_scatter(f32(4)[1 2 3 4], f32(2)[8 9], 0, 1, 3)", "Any.f(f32(4)[1 8 9 4])" },
    { "Torch.slice_scatter(f32(5)[1 2 3 4 5], f32(2)[8 9], 0, -4, -1, 2)", "Any.f(f32(5)[1 8 3 9 5])" },
    { "Torch.slice_scatter(f32(3)[1 2 3], f32(3)[7 8 9], 0, -9, 9)", "Any.f(f32(3)[7 8 9])" },
    { "Torch.slice_scatter(f32(3)[1 2 3], f32(0), 0, 2, 1)", "Any.f(f32(3)[1 2 3])" },
    { "Torch.slice_scatter(f32(3)[1 2 3], f32(1)[7], 0, 1, None, 9223372036854775807)", "Any.f(f32(3)[1 7 3])" },
    { "Torch.select_scatter(f32(2,2)[1 2 3 4], f32(2)[8 9], 1, -1)", "Any.f(f32(2,2)[1 8 3 9])" },
    { "Tensor.__getitem__(f32(5)[1 2 3 4 5], slice(i64()[1], i64(1)[4], None))", "Any.f(f32(3)[2 3 4])" },
    { "Tensor.__getitem__(f32(3)[1 2 3], [i64()[2], 0])", "Any.f(f32(2)[3 1])" },
    { "Tensor.unfold(f32(4)[1 2 3 4], 0, 2, 9223372036854775807)", "Any.f(f32(1,2)[1 2])" },
    { "Tensor.unfold(f32(4)[1 2 3 4], 0, 1, 3)", "Any.f(f32(2,1)[1 4])" },
    { "Torch.constant_pad_nd(i64(1)[5], (0,1), 9007199254740993)", "Any.f(i64(2)[5 9007199254740993])" },
    { "Torch.constant_pad_nd(bool(1)[0], (0,1), 5)", "Any.f(bool(2)[0 1])" },
    { "Torch.complex(f32(2,1)[1 2], f32(1,2)[3 4])", "Any.f(c64(2,2)[1 3 1 4 2 3 2 4])" },
    { "Torch.vdot(c64(2)[1 2 3 4], c64(2)[5 6 7 8])", "Any.f(c64()[70 -8])" },
    { "Torch.linalg.vecdot(c64(2)[1 2 3 4], c64(2)[5 6 7 8])", "Any.f(c64()[70 -8])" },
    { "Torch.cross(i64(2,3)[1 0 0 0 1 0], i64(2,3)[0 1 0 0 0 1])", "Any.f(i64(2,3)[0 0 1 1 0 0])" },
    { "Torch.linalg.cross(f32(3,3)[1 0 0 0 1 0 0 0 1], f32(3,3)[0 1 0 0 0 1 1 0 0])",
      "Any.f(f32(3,3)[0 0 1 1 0 0 0 1 0])" },
    { "Torch.einsum(\"ab\", f32(2,2)[1 2 3 4])", "Any.f(f32(2,2)[1 2 3 4])" },
    { "Torch.einsum(\"ba\", f32(2,2)[1 2 3 4])", "Any.f(f32(2,2)[1 3 2 4])" },
    { "Torch.einsum(\"aB\", f32(2,2)[1 2 3 4])", "Any.f(f32(2,2)[1 3 2 4])" }, /* capitals sort first */
    { "Torch.tensordot(f32(2,2)[1 2 3 4], f32(2)[1 1], [[1],[0]])", "Any.f(f32(2)[3 7])" },
    { "Functional.conv1d(f32(1,1,3)[1 2 3], f32(1,1,2)[1 1], padding=\"valid\")", "Any.f(f32(1,1,2)[3 5])" },
    { "Functional.conv1d(f32(1,1,3)[1 2 3], f32(1,1,2)[1 1], padding=\"same\")", "Any.f(f32(1,1,3)[3 5 3])" },
    { "Functional.conv1d(f32(1,1,3)[1 2 3], f32(1,1,3)[1 1 1], padding=\"same\")", "Any.f(f32(1,1,3)[3 6 5])" },
    { "Functional.pad(f32(1,2)[1 2], (0,0), mode=\"replicate\")", "Any.f(f32(1,2)[1 2])" },
    { "Functional.pad(f32(1,3)[1 2 3], (-1,2), mode=\"replicate\")", "Any.f(f32(1,4)[2 3 3 3])" },
    { "Functional.conv1d(u8(1,1,2)[200 100], u8(1,1,2)[1 1])", "Any.f(u8(1,1,1)[44])" },
    { "Torch.diff(f32(2)[1 3], 0, prepend=f32(1)[7])", "Any.f(f32(2)[1 3])" },
    { "Torch.isclose(f32(2)[1 2], c64(2)[1 0 2 1])", "Any.f(bool(2)[1 0])" },
    { "Torch.movedim(f32(1,2)[1 2], 0, 1)", "Any.f(f32(2,1)[1 2])" },
    { "Torch.matrix_power(f32(2,2)[1 1 0 1], 5)", "Any.f(f32(2,2)[1 5 0 1])" },
    { "Torch.matrix_power(f32(2,2)[1 1 0 1], 0)", "Any.f(f32(2,2)[1 0 0 1])" },
    { "Aten.embedding_dense_backward(f32(3,2)[1 2 3 4 5 6], i64(3)[1 0 1], 2, 0, False)", "Any.f(f32(2,2)[0 0 6 8])" },
    { "Aten.embedding_dense_backward(f32(3,2)[1 2 3 4 5 6], i64(3)[1 0 1], 2, -1, True)", "Any.f(f32(2,2)[3 4 3 4])" },
    { "Functional.embedding_bag(f32(3,2)[1 2 3 4 5 6], i64(3)[2 0 1], i64(2)[0 2], mode=\"sum\")",
      "Any.f(f32(2,2)[6 8 3 4])" }, /* weight and indices exchanged */
    { "Torch.bitwise_left_shift(i64(3)[1 1 1], i64(3)[-1 63 64])", "Any.f(i64(3)[0 -9223372036854775808 0])" },
    { "Torch.bitwise_right_shift(i64(3)[-8 -8 8], i64(3)[64 -1 64])", "Any.f(i64(3)[-1 -1 0])" },
    { "Tensor.type(f32(2)[1.5 -2.5], \"torch.LongTensor\")", "Any.f(i64(2)[1 -2])" },
    { "Tensor.type(i64(2)[3 0], \"torch.bool\")", "Any.f(bool(2)[1 0])" },
    { "Tensor.type(f32(1)[1.5], torch.float64)", "Any.f(f64(1)[1.5])" },
    /* Far below 0 by reflection, not by so many terms. */
    { "Torch.polygamma(1, f64(1)[-20000000.5])", "Any.f(f64(1)[9.869604351089361])" },
    { "Torch.polygamma(2, f64(1)[-20000000.25])", "Any.f(f64(1)[124.02510672119928])" },
    { "Tensor.type(bf16(1)[1.5])", "Any.f(\"torch.BFloat16Tensor\")" },
};
/* clang-format on */

START_TEST(small_calls_have_known_answers)
{
    struct arena arena = { 0 };
    struct sample call = { 0 }, want = { 0 };
    struct bench *bench;
    const char *problem = sample_parse(&call, answers[_i].call, &arena);
    ck_assert_msg(!problem, "%s: %s", answers[_i].call, problem);
    ck_assert_msg(!sample_parse(&want, answers[_i].outputs, &arena), "%s", answers[_i].outputs);
    struct status st = bench_open(&bench, &call.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", answers[_i].call, st.text);
    ck_assert_uint_eq(bench_output_count(bench), want.c.args.list.count);
    for (size_t k = 0; k < want.c.args.list.count; k++) {
        const struct reference *r = &bench_output(bench, k)->reference;
        if (want.c.args.list.items[k].kind == VALUE_STRING) {
            ck_assert_str_eq(bench_output(bench, k)->value.string,
                             want.c.args.list.items[k].string);
            continue;
        }
        const struct tensor *w = want.c.args.list.items[k].tensor.tensor;
        size_t n = tensor_elements(w) * (dtype_is_complex(w->dtype) ? 2 : 1);
        double *x = arena_allocate_array(&arena, n, sizeof *x);
        dtype_to_double(x, w->data, w->dtype, tensor_elements(w));
        ck_assert_int_eq(r->dtype, w->dtype);
        ck_assert_int_eq(r->rank, w->rank);
        for (int d = 0; d < r->rank; d++) ck_assert_int_eq(r->shape[d], w->shape[d]);
        for (size_t i = 0; i < n; i++) {
            double have = r->integer ? (double)r->integer[i] : r->hi[i];
            ck_assert_msg(have == x[i], "%s: element %zu is %.17g, not %.17g", answers[_i].call, i,
                          have, x[i]);
        }
    }
    arena_release(&arena);
}
END_TEST

/* Calls that must be refused, and the word that says why. */
static const struct {
    const char *call, *reason;
    /* clang-format off */
} refusals[] = {
    { "Tensor.resize_(f32(2,3), 3, 3)", "no defined value" },
    { "NPU.npu_scaled_masked_softmax(f32(4), bool(4), 1, True)", "two dimensions" },
    { "NPU.npu_fusion_attention(f32(), f32(), f32(), 2, \"BSH\")", "0 dimensions for the layout" },
    { "NPU.npu_fusion_attention(f32(2,4), f32(2,4), f32(2,4), 2, \"BNSD\")", "2 dimensions for the layout" },
    { "NPU.npu_fusion_attention(f32(1,2,5), f32(1,2,5), f32(1,2,5), 2, \"BSH\")", "do not divide into 2 heads" },
    { "NPU.npu_fusion_attention(f32(1,2,4), f32(1,2,4), f32(1,2,4), 2, \"TND\")", "actual_seq_qlen" },
    { "NPU.npu_fusion_attention(f32(1,2,4), f32(1,2,4), f32(1,2,4), 2, \"BSH\", sparse_mode=9)", "sparse_mode 9" },
    { "NPU.npu_swiglu(f32(4,3))", "" },
    { "NPU.npu_rms_norm(f32(4), f32(2,4))", "" },
    { "NPU.npu_group_norm_silu(f32(2,5,3), None, None, 2)", "" },
    { "NPU.npu_confusion_transpose(f32(2,3), [0], [6], True)", "" },
    { "NPU.npu_moe_gating_top_k_softmax(f32(4,3), None, 5)", "" },
    { "Functional.scaled_dot_product_attention(f32(4), f32(4), f32(4))", "two dimensions" },
    { "Torch.as_strided_scatter(f32(4), f32(2,2), (2,2), (1,1))", "twice" },
    { "Torch.as_strided(f32(4), (3,), (2,))", "outside" },
    { "Tensor.__getitem__(f32(3), 5)", "out of range" },
    { "Tensor.__getitem__(f32(3), slice(None,None,-1))", "step" },
    { "Tensor.__getitem__(f32(3), bool(2)[1 1])", "mask" },
    { "Torch.gather(f32(3), 0, i64(1)[3])", "out of range" },
    { "Functional.embedding(i64(1)[4], f32(4,2))", "out of range" },
    { "Functional.max_pool2d(f32(1,4,4), 5)", "larger than the input" },
    { "Functional.max_pool2d(f32(1,4,4), 2, padding=2)", "out of range" },
    { "Functional.interpolate(f32(1,1,4), 2, mode=\"bilinear\")", "spatial dimensions" },
    { "Functional.pad(f32(1,3), (3,0), mode=\"reflect\")", "this mode" },
    { "Torch.cat([f32(2,3), f32(3,2)])", "differ in shape" },
    { "Torch.split(f32(5), [2,2])", "add up" },
    { "Torch.arange(0, 5, -1)", "not a range" },
};
/* clang-format on */

START_TEST(wrong_calls_are_refused_with_a_reason)
{
    struct arena arena = { 0 };
    struct sample call = { 0 };
    struct bench *bench;
    ck_assert_msg(!sample_parse(&call, refusals[_i].call, &arena), "%s", refusals[_i].call);
    struct status st = bench_open(&bench, &call.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(st.code == STATUS_SKIP, "%s was not refused", refusals[_i].call);
    ck_assert_msg(strstr(st.text, refusals[_i].reason) != NULL, "%s: %s", refusals[_i].call,
                  st.text);
    arena_release(&arena);
}
END_TEST

/* An expanded self (stride 0) is not written to; read, it is fine. */
START_TEST(overlapping_writes_are_refused)
{
    static const char *const calls[] = { "Tensor.add_(f32(2,3), 1)",
                                         "Tensor.__setitem__(f32(2,3), 0, 1.0)",
                                         "Tensor.add(f32(2,3), 1)" };
    struct arena arena = { 0 };
    struct bench *bench;

    for (int k = 0; k < 3; k++) {
        struct sample call = { 0 };
        ck_assert(!sample_parse(&call, calls[k], &arena));
        call.c.args.list.items[0].tensor.tensor->stride[0] = 0;
        struct status st = bench_open(&bench, &call.c, &arena, BENCH_REFERENCE);
        ck_assert_int_eq(st.code, k < 2 ? STATUS_SKIP : STATUS_OK);
        if (k < 2) ck_assert(strstr(st.text, "share memory") != NULL);
    }
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choices");
    TCase *tests = tcase_create("choices");
    tcase_add_loop_test(tests, the_device_decides_where_several_are_right, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_loop_test(tests, malformed_outputs_decide_nothing, 0,
                        sizeof deciding / sizeof *deciding);
    tcase_add_test(tests, the_gradient_follows_the_device);
    tcase_add_test(tests, a_draw_that_no_output_shows_is_open);
    tcase_add_loop_test(tests, questions_have_plain_answers, 0,
                        sizeof questions / sizeof *questions);
    tcase_add_loop_test(tests, small_calls_have_known_answers, 0, sizeof answers / sizeof *answers);
    tcase_add_loop_test(tests, wrong_calls_are_refused_with_a_reason, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_test(tests, overlapping_writes_are_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
