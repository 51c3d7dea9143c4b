/* Where more than one answer is right, the device's is taken; where it is wrong, ours
 * stays.
 *
 * Each row is a call, what a device returned for it, and what the reference must be after
 * bench_settle: the device's answer (`taken`) or the one without a device.
 */
#include <check.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/holds.h"
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
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
