/* The gradient of torch_npu's fused attention as an operator of its own, which sequence-parallel training calls by itself
 * (op-plugin, npu_fusion_attention_grad; the mathematics: Dao and others, FlashAttention, 2022, appendix B).
 *
 * The weights are not made anew: they follow from the largest score m and the sum l of each row, which the forward call
 * returned, P = exp(S - m) / l. Of a block of a ring those are of the whole row, so P need not add up to 1. With the
 * result O of the forward call and its cotangent dO
 *
 *     dV = P^T dO,   dS = P (dO V^T - sum(dO O)),   dQ = scale dS K,   dK = scale dS^T Q. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/attention_layout.h"
#include "bench/ops/npu_attention.h"
#include "bench/ops/npu_groups.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* What the gradients of a block are made of, (B, N, S, D) and for each row (B, N, S, 1), and they themselves. */
struct differentiated {
    struct node *q, *k, *v, *cotangent, *result, *largest, *sum;
    struct node *dq, *dk, *dv, *scores; /* of the scores: (B, N, S, S') */
};

/* (B, N, S, D) of repeated heads as the sum for each of (B, K, S, D). */
static struct node *summed_heads(struct tape *tape, struct node *x, int64_t heads)
{
    if (tape_failed(tape) || x->shape[1] == heads) return x;
    int64_t split[5] = { x->shape[0], heads, x->shape[1] / heads, x->shape[2], x->shape[3] };
    return node_sum(tape, node_reshape(tape, x, 5, split), 1u << 2, false);
}

static void differentiate(struct call *call, const struct attention *a, struct differentiated *d,
                          struct node *mask)
{
    struct tape *tape = call->tape;
    struct node *scores = block_scores(call, a, d->q, d->k, d->v, mask),
                *zero = node_scalar(tape, 0);
    if (tape_failed(tape)) return;
    int64_t heads = d->q->shape[1], key_heads = d->k->shape[1];
    struct node *k = repeat_heads(tape, d->k, heads), *v = repeat_heads(tape, d->v, heads);
    if (mask) scores = node_select(tape, mask, node_scalar(tape, -INFINITY), scores);
    struct node *p = node_apply(tape, "exp", node_subtract(tape, scores, d->largest));
    p = node_divide(tape, p, d->sum);
    if (mask) p = node_select(tape, mask, zero, p); /* rows that see no key have a sum of 0 */
    struct node *along = compose_matmul(tape, d->cotangent, node_transpose(tape, v, 2, 3));
    struct node *within =
        node_sum(tape, node_multiply(tape, d->cotangent, d->result), 1u << 3, true);
    d->scores = node_multiply(tape, p, node_subtract(tape, along, within));
    d->dq = node_scale(tape, compose_matmul(tape, d->scores, k), a->scale);
    d->dk = compose_matmul(tape, node_transpose(tape, d->scores, 2, 3), d->q);
    d->dk = summed_heads(tape, node_scale(tape, d->dk, a->scale), key_heads);
    d->dv = compose_matmul(tape, node_transpose(tape, p, 2, 3), d->cotangent);
    d->dv = summed_heads(tape, d->dv, key_heads);
}

/* Statistics (B, N, S, 8), the same eight times, or (T, N, 8) of packed sequences, as (B, N, S, 1). */
static struct node *row_statistics(struct call *call, const char *name, const struct node *q,
                                   bool packed)
{
    struct tape *tape = call->tape;
    struct node *x = call_optional_tensor(call, name);
    if (!call_require(call, x && x->rank == (packed ? 3 : 4) && x->shape[x->rank - 1] >= 1,
                      "%s of the forward call is needed", name))
        return NULL;
    x = node_slice(tape, x, x->rank - 1, 0, 1, 1);
    if (packed) x = node_transpose(tape, x, 0, 1);
    if (tape_failed(tape) ||
        !call_require(call, (int64_t)x->n == q->shape[0] * q->shape[1] * q->shape[2],
                      "%s does not have a number for each query", name))
        return NULL;
    return node_reshape(tape, x, 4, (int64_t[]){ q->shape[0], q->shape[1], q->shape[2], 1 });
}

/* Rows `start` .. start + count of the queries' side, and `from` .. of the keys'. */
static struct differentiated part_of(struct tape *tape, const struct differentiated *d,
                                     int64_t start, int64_t count, int64_t from, int64_t keys)
{
    struct differentiated part = *d;
    struct node **rows[] = { &part.q, &part.cotangent, &part.result, &part.largest, &part.sum };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = node_slice(tape, *rows[i], 2, start, count, 1);
    part.k = node_slice(tape, d->k, 2, from, keys, 1);
    part.v = node_slice(tape, d->v, 2, from, keys, 1);
    return part;
}

enum { MOST_SEQUENCES = 4096 };

/* Packed sequences, each by itself; all positions have to belong to one. */
static void differentiate_packed(struct call *call, const struct attention *a,
                                 struct differentiated *d)
{
    struct tape *tape = call->tape;
    struct groups of_q, of_k;
    struct node **parts[3];
    if (!groups_read(call, &of_q, "actual_seq_qlen", true, d->q->shape[2]) ||
        !groups_read(call, &of_k, "actual_seq_kvlen", true, d->k->shape[2]) ||
        !call_require(call,
                      of_q.count == of_k.count && of_q.count && of_q.count <= MOST_SEQUENCES &&
                          of_q.total == d->q->shape[2] && of_k.total == d->k->shape[2],
                      "packed sequences need all positions, queries and keys of each") ||
        !call_require(call, !a->pse && a->mode < 4,
                      "pse and sparse_mode %lld of packed sequences are not followed here",
                      (long long)a->mode))
        return;
    for (int k = 0; k < 3; k++)
        parts[k] = tape_allocate(tape, (size_t)of_q.count, sizeof *parts[k]);
    for (int i = 0; i < of_q.count && !tape_failed(tape); i++) {
        int64_t rows = of_q.end[i] - of_q.start[i], columns = of_k.end[i] - of_k.start[i];
        struct differentiated part = part_of(tape, d, of_q.start[i], rows, of_k.start[i], columns);
        struct node *mask = block_mask(call, a, a->mode, i, rows, columns);
        if (mask && a->mode < 2 && mask->rank == 2 && mask->shape[0] >= rows &&
            mask->shape[1] >= columns) /* all share one of the longest */
            mask = node_slice(tape, node_slice(tape, mask, 0, 0, rows, 1), 1, 0, columns, 1);
        differentiate(call, a, &part, mask);
        parts[0][i] = part.dq;
        parts[1][i] = part.dk;
        parts[2][i] = part.dv;
    }
    if (tape_failed(tape)) return;
    d->dq = node_concatenate(tape, parts[0], of_q.count, 2);
    d->dk = node_concatenate(tape, parts[1], of_q.count, 2);
    d->dv = node_concatenate(tape, parts[2], of_q.count, 2);
}

/* Gradients of query, key, value and pse. detail 1: of version 2, with its names of the window and pse_type. */
static void fusion_attention_grad(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value"), *y = call_optional_tensor(call, "attention_in");
    const char *layout = call_string(call, "input_layout");
    int64_t heads = call_int(call, "head_num"), key_heads = heads_of_keys(q, k, heads);
    bool second = call->op->detail == 1, packed = !strcmp(layout, "TND");
    enum dtype dtype = q->dtype;
    struct attention a;
    if (!read_attention(call, &a, second ? "pre_tokens" : "pre_tockens",
                        second ? "next_tokens" : "next_tockens") ||
        !call_require(call, call_real(call, "keep_prob") == 1,
                      "what was dropped follows from a seed by a kernel that is not published: "
                      "record the step with keep_prob 1") ||
        !call_require(call, y != NULL, "attention_in, the forward's result, is needed") ||
        !call_require(call,
                      !packed || !strcmp(call_string(call, "softmax_layout"), "same_as_input"),
                      "how the statistics of packed sequences lie is published for softmax_layout "
                      "'same_as_input' alone") ||
        !call_require(call, packed || a.mode < 5, "sparse_mode %lld is not followed here",
                      (long long)a.mode))
        return;
    if (second) {
        int64_t kind = call_int(call, "pse_type");
        if (!call_require(call, kind == 0 || kind == 1 || !a.pse,
                          "pse_type %lld is not followed here", (long long)kind) ||
            !call_require(call, call_is_none(call, "query_rope") && call_is_none(call, "key_rope"),
                          "ropes are not followed here"))
            return;
        a.pse_first = kind != 0;
    }
    a.wants_mask = true;
    a.scale = call_real(call, "scale_value");
    struct differentiated d = { .q = to_bnsd(call, q, layout, heads),
                                .k = to_bnsd(call, k, layout, key_heads),
                                .v = to_bnsd(call, v, layout, key_heads),
                                .cotangent = to_bnsd(call, call_tensor(call, "dy"), layout, heads),
                                .result = to_bnsd(call, y, layout, heads) };
    if (tape_failed(tape) ||
        !call_require(call, d.q->shape[1] == heads && d.cotangent->n == d.result->n,
                      "head_num, dy and attention_in do not belong to the query"))
        return;
    d.largest = row_statistics(call, "softmax_max", d.q, packed);
    d.sum = row_statistics(call, "softmax_sum", d.q, packed);
    if (tape_failed(tape)) return;
    if (packed) differentiate_packed(call, &a, &d);
    else differentiate(call, &a, &d, block_mask(call, &a, a.mode, 0, d.q->shape[2], d.k->shape[2]));
    if (tape_failed(tape)) return;
    call_return_typed(call, from_bnsd(tape, d.dq, layout), dtype);
    call_return_typed(call, from_bnsd(tape, d.dk, layout), k->dtype);
    call_return_typed(call, from_bnsd(tape, d.dv, layout), v->dtype);
    if (!a.pse) {
        call_return_none(call);
        return;
    }
    struct node *of_pse = node_sum_to_shape(tape, d.scores, a.pse->rank, a.pse->shape);
    if (a.pse_first) of_pse = node_scale(tape, of_pse, a.scale);
    call_return_typed(call, of_pse, a.pse->dtype);
}

/* clang-format off */
#define GRAD "(Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str input_layout, *, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? softmax_max=None, Tensor? softmax_sum=None, Tensor? softmax_in=None, Tensor? attention_in=None, "
#define TAIL "int inner_precise=0, int seed=0, int offset=0, int numels=0, Any prefix=None, Any actual_seq_qlen=None, Any actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, str softmax_layout='', "
const struct op ops_npu_attention_grad[] = {
    { "npu_fusion_attention_grad", NPU, GRAD "float scale_value=1.0, float keep_prob=1.0, int pre_tockens=2147483647, int next_tockens=2147483647, " TAIL "...)", fusion_attention_grad, OP_NO_GRADIENT, 0, NULL },
    { "npu_fusion_attention_grad_v2", NPU, GRAD "Tensor? query_rope=None, Tensor? key_rope=None, float scale_value=1.0, float keep_prob=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, " TAIL "int pse_type=1, Any q_start_idx=None, Any kv_start_idx=None, ...)", fusion_attention_grad, OP_NO_GRADIENT, 1, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_attention_grad);
