/* Attention as training steps of torch_npu and MindSpeed call it, with dropout (op-plugin, docs/zh and docs/context;
 * aclnnFlashAttentionScore and aclnnFlashAttentionVarLenScore, versions 1 to 5). */
#include <math.h>
#include <string.h>

#include "bench/ops/attention_layout.h"
#include "bench/ops/dropped_attention.h"
#include "bench/ops/npu_attention.h"
#include "bench/ops/npu_fusion_attention.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/view.h"

bool read_fusion(struct call *call, struct attention *a, int64_t heads)
{
    static const char *const scales[] = { "d_scale_q", "d_scale_k", "d_scale_v" };
    intptr_t form = call->op->detail;
    bool second = form == FUSION_SECOND;
    if (!read_attention(call, a, second ? "pre_tokens" : "pre_tockens",
                        second ? "next_tokens" : "next_tockens"))
        return false;
    a->sink = call_optional_tensor(call, "sink");
    if (!call_require(call, !a->sink || (!a->sink->integer && (int64_t)a->sink->n == heads),
                      "sink does not have a number for each head"))
        return false;
    if (!second) return true;
    int64_t kind = call_int(call, "pse_type");
    a->pse_first = kind != 0;
    for (int i = 0; i < 3; i++)
        if (!call_require(call, call_is_none(call, scales[i]), "'%s' is not followed here",
                          scales[i]))
            return false;
    return call_require(
               call, kind == 0 || kind == 1 || !a->pse,
               "pse_type %lld, slopes that the kernel makes positions of, is not followed here",
               (long long)kind) &&
           call_require(call, call_is_none(call, "query_rope") == call_is_none(call, "key_rope"),
                        "query_rope and key_rope belong together");
}

struct node *whole_mask(struct call *call, const struct attention *a, int64_t batches, int64_t rows,
                        int64_t columns)
{
    struct tape *tape = call->tape;
    if (!call_require(call, a->mode < 7, "sparse_mode %lld is for packed sequences",
                      (long long)a->mode))
        return NULL;
    if (a->mode != 6 || batches < 2) return block_mask(call, a, a->mode, 0, rows, columns);
    struct node **parts = tape_allocate(tape, (size_t)batches, sizeof *parts);
    for (int64_t b = 0; !tape_failed(tape) && b < batches; b++) {
        parts[b] = block_mask(call, a, 6, b, rows, columns);
        if (!parts[b]) return NULL;
        parts[b] = node_reshape(tape, parts[b], 4, (int64_t[]){ 1, 1, rows, columns });
    }
    return tape_failed(tape) ? NULL : node_concatenate(tape, parts, (int)batches, 0);
}

/* The result with dropout, by its law. Ropes are the last channels of query and key. */
static void return_dropped(struct call *call, const struct attention *a,
                           const struct packed *attended, struct node *const *qkv,
                           const char *layout, enum dtype dtype)
{
    struct tape *tape = call->tape;
    bool roped = call->op->detail == FUSION_SECOND && !call_is_none(call, "query_rope");
    struct node *y = from_bnsd(tape, attended->y, layout);
    if (tape_failed(tape)) return;
    struct dropped_attention dropped = {
        .p = a->drops,
        .scale = a->scale,
        .heads = qkv[0]->shape[1],
        .key_heads = qkv[1]->shape[1],
        .width = qkv[0]->shape[3],
        .value_width = qkv[2]->shape[3],
        .blocks = attended->blocks,
        .count = attended->count,
        .rest_rows = attended->rest_rows,
        .rest_columns = attended->rest_columns,
        .leaves = { { call_tensor(call, "query"), 0, 0, 0 },
                    { call_tensor(call, "key"), 1, 0, 0 },
                    { call_tensor(call, "value"), 2, 0, 0 } },
        .arrange = from_bnsd,
        .layout = layout,
        .dtype = dtype,
    };
    for (int i = 0; roped && i < 2; i++) {
        struct node *rope = call_tensor(call, i ? "key_rope" : "query_rope");
        int64_t all = (int64_t)qkv[i]->n, positions = all / dropped.width,
                turned = (int64_t)rope->n / positions;
        dropped.leaves[i].width = dropped.width - turned;
        dropped.leaves[3 + i] = (struct dropped_leaf){ rope, i, dropped.width - turned, turned };
    }
    call_return_dropped_attention(call, &dropped,
                                  tape_is_reference(tape) ? NULL : node_with_dtype(tape, y, dtype),
                                  y->rank, y->shape);
}

/* The maxima, the sums and what dropout needs are the kernel's. */
static void fusion_attention(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value");
    const char *layout = call_string(call, "input_layout");
    int64_t heads = call_int(call, "head_num"), key_heads = heads_of_keys(q, k, heads);
    enum dtype dtype = q->dtype;
    struct attention a;
    if (!read_fusion(call, &a, heads)) return;
    q = to_bnsd(call, q, layout, heads);
    k = to_bnsd(call, k, layout, key_heads);
    v = to_bnsd(call, v, layout, key_heads);
    if (call->op->detail == FUSION_SECOND && !tape_failed(tape)) {
        q = with_rope(call, q, "query_rope", layout, heads);
        k = with_rope(call, k, "key_rope", layout, key_heads);
    }
    if (tape_failed(tape) || !has_heads(call, q, heads)) return;
    /* The first form is msprobe's reference where a call leaves out scale or mask, the later ones are the operators' own. */
    a.wants_mask = call->op->detail != FUSION_FIRST;
    a.scale = call_is_none(call, "scale") ? 1 / sqrt((double)q->shape[3])
                                          : call_real(call, "scale");
    a.drops = 1 - call_real(call, "keep_prob");
    struct packed y = { .count = 1 };
    if (!strcmp(layout, "TND")) {
        y = attend_packed(call, &a, q, k, v, "actual_seq_qlen", "actual_seq_kvlen", false);
    } else {
        struct node *mask = whole_mask(call, &a, q->shape[0], q->shape[2], k->shape[2]);
        struct block block = attend(call, &a, q, k, v, mask, false);
        y.y = block.y;
        y.blocks = tape_allocate(tape, 1, sizeof *y.blocks);
        if (tape_failed(tape)) return;
        y.blocks[0] = (struct dropped_block){ q->shape[0],  q->shape[2], k->shape[2], block.weights,
                                              block.scores, q,           k,           v };
    }
    if (a.drops > 0 && !tape_failed(tape))
        return_dropped(call, &a, &y, (struct node *[]){ q, k, v }, layout, dtype);
    else call_return_typed(call, from_bnsd(tape, y.y, layout), dtype);
}

/* ---- the older form ------------------------------------------------------------------------------------------------------ */

/* (B, N, S, D) as (B S, N D) */
static struct node *folded(struct tape *tape, struct node *x, const char *layout)
{
    (void)layout;
    int64_t shape[2] = { x->shape[0] * x->shape[2], x->shape[1] * x->shape[3] };
    return node_reshape(tape, node_transpose(tape, x, 1, 2), 2, shape);
}

/* One block in (B, N, S, D) whose weights are dropped. */
static void return_folded(struct call *call, struct node *const *qkv, struct node *scores,
                          struct node *weights, double p)
{
    struct tape *tape = call->tape;
    struct node *q = qkv[0], *k = qkv[1], *v = qkv[2];
    bool native = !tape_is_reference(tape);
    struct dropped_block *block = tape_allocate(tape, 1, sizeof *block);
    if (!block) return;
    *block =
        (struct dropped_block){ q->shape[0], q->shape[2], k->shape[2], weights, scores, q, k, v };
    struct dropped_attention dropped = {
        .p = p,
        .scale = call_real(call, "scale"),
        .heads = q->shape[1],
        .key_heads = q->shape[1],
        .width = q->shape[3],
        .value_width = v->shape[3],
        .blocks = block,
        .count = 1,
        .leaves = { { q, 0, 0, 0 }, { k, 1, 0, 0 }, { v, 2, 0, 0 } },
        .arrange = folded,
        .plain_arguments = true,
        .dtype = q->dtype,
    };
    struct node *drawn = native ? dropped_weights(call, weights, p, 0) : weights;
    struct node *y = compose_matmul(tape, drawn, v);
    if (tape_failed(tape)) return;
    y = node_with_dtype(tape, folded(tape, y, NULL), q->dtype);
    if (!tape_failed(tape))
        call_return_dropped_attention(call, &dropped, native ? y : NULL, y->rank, y->shape);
}

/* softmax(scale q k^T + mask) v of tensors in (B, N, S, D), the mask added. */
static void fused_attention_score(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query_layer"), *k = call_tensor(call, "key_layer"),
                *v = call_tensor(call, "value_layer"), *mask = call_tensor(call, "attention_mask");
    static const char *const turned[] = { "query_transpose",       "key_transpose",
                                          "bmm_score_transpose_a", "bmm_score_transpose_b",
                                          "value_transpose",       "dx_transpose" };
    double p = 1 - call_real(call, "keep_prob");
    for (size_t i = 0; i < sizeof turned / sizeof *turned; i++)
        if (!call_require(call, !call_bool(call, turned[i]), "'%s' is not followed here",
                          turned[i]))
            return;
    if (!call_require(call, q->rank == 4 && k->rank == 4 && v->rank == 4 && !mask->integer,
                      "query, key and value have four dimensions"))
        return;
    struct node *scores = node_scale(tape, compose_matmul(tape, q, node_transpose(tape, k, 2, 3)),
                                     call_real(call, "scale"));
    scores = node_add(tape, scores, mask);
    if (!call_require(call, scores->rank == 4, "the mask has more dimensions than the scores"))
        return;
    struct node *weights = node_softmax(tape, scores, 3);
    if (p != 0) {
        return_folded(call, (struct node *[]){ q, k, v }, scores, weights, p);
        return;
    }
    struct node *y = compose_matmul(tape, weights, v);
    if (!tape_failed(tape)) call_return_typed(call, folded(tape, y, NULL), q->dtype);
}

/* clang-format off */
#define TRAIN "(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, "
#define LENGTHS "int inner_precise=0, Any prefix=None, Any actual_seq_qlen=None, Any actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False"
#define WINDOW1 "keep_prob=1.0, int pre_tockens=2147483647, int next_tockens=2147483647, "
#define WINDOW2 "float scale=1.0, float keep_prob=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, "
#define SOFTMAX ", str softmax_layout='', Tensor? sink=None, "
#define QUANTIZED "*, Tensor? d_scale_q=None, Tensor? d_scale_k=None, Tensor? d_scale_v=None, ...)"
const struct op ops_npu_fusion_attention[] = {
    { "npu_fusion_attention|npu_flash_attention", NPU, TRAIN "float? scale=None, float " WINDOW1 LENGTHS SOFTMAX "...)", fusion_attention, OP_ONE_NODE, FUSION_FIRST, NULL },
    { "npu_fusion_attention_v3", NPU, TRAIN "float scale=1.0, float " WINDOW1 LENGTHS SOFTMAX "...)", fusion_attention, OP_ONE_NODE, FUSION_THIRD, NULL },
    { "npu_fusion_attention_v2", NPU, TRAIN "Tensor? query_rope=None, Tensor? key_rope=None, " WINDOW2 LENGTHS ", int pse_type=1, Any q_start_idx=None, Any kv_start_idx=None" SOFTMAX QUANTIZED, fusion_attention, OP_ONE_NODE, FUSION_SECOND, NULL },
    { "fusion_attention_v2.npu_fusion_attention", MINDSPEED, TRAIN WINDOW2 LENGTHS ", int pse_type=1, Any q_start_idx=None, Any kv_start_idx=None, Tensor? query_rope=None, Tensor? key_rope=None" SOFTMAX QUANTIZED, fusion_attention, OP_ONE_NODE, FUSION_SECOND, NULL },
    { "npu_fused_attention_score", NPU, "(Tensor query_layer, Tensor key_layer, Tensor value_layer, Tensor attention_mask, Scalar scale, float keep_prob, bool query_transpose=False, bool key_transpose=False, bool bmm_score_transpose_a=False, bool bmm_score_transpose_b=False, bool value_transpose=False, bool dx_transpose=False)", fused_attention_score, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_fusion_attention);
