/* The gradient of torch_npu's fused attention as an operator of its own, which sequence-parallel training calls by itself
 * (op-plugin, npu_fusion_attention_grad; aclnnFlashAttentionScoreGrad and aclnnFlashAttentionUnpaddingScoreGrad, versions 1 to 5).
 *
 * The weights are not made anew: they follow from the largest score m and the sum l of each row, which the forward call
 * returned, P = exp(S - m) / l. Of a block of a ring those are of the whole row, so P need not add up to 1. The rest is
 * attention_gradient.h; the gradient of a sink s, the score of a key without a value, is -sum(exp(s - m) / l D). */
#include <math.h>
#include <string.h>

#include "bench/ops/attention_gradient.h"
#include "bench/ops/attention_layout.h"
#include "bench/ops/dropped_attention.h"
#include "bench/ops/npu_fusion_attention.h"
#include "bench/ops/npu_groups.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* What the gradients of a block are made of, (B, N, S, D) and for each row (B, N, S, 1). */
struct differentiated {
    struct node *q, *k, *v, *cotangent, *result, *largest, *sum;
};

/* Sums of the law of each, of which without dropout, and where our own device drops, `mean` alone is there: the gradient. */
struct gradients {
    struct dropped_sums of[ATTENTION_GRADIENTS];
    struct node *of_sink; /* (heads) */
    struct dropped_block *blocks;
    int count;
};

/* (B, N, S, D) of repeated heads for each of (B, K, S, D): the sum or the largest. */
static struct dropped_sums joined_heads(struct tape *tape, struct dropped_sums sums, int64_t heads)
{
    struct node **list[DROPPED_SUMS];
    list_dropped_sums(list, &sums);
    for (int s = 0; s < DROPPED_SUMS && *list[s] && !tape_failed(tape); s++) {
        struct node *x = *list[s];
        if (x->shape[1] == heads) continue;
        int64_t split[5] = { x->shape[0], heads, x->shape[1] / heads, x->shape[2], x->shape[3] };
        x = node_reshape(tape, x, 5, split);
        *list[s] = list[s] == &sums.largest ? node_extremum(tape, x, 1u << 2, false, 1)
                                            : node_sum(tape, x, 1u << 2, false);
    }
    return sums;
}

/* Of a sequence without queries, or without keys. */
static struct gradients no_gradients(struct tape *tape, const struct attention *a,
                                     const struct differentiated *d)
{
    struct node *const like[3] = { d->q, d->k, d->v };
    struct gradients g = { 0 };
    for (int i = OF_QUERY; i <= OF_VALUE; i++) {
        struct node *zero = node_constant(tape, DT_F32, 0, 4, like[i]->shape);
        g.of[i].mean = zero;
        if (attention_follows_law(tape, a->drops))
            g.of[i].squares = g.of[i].size = g.of[i].largest = zero;
    }
    g.of_sink = node_constant(tape, DT_F32, 0, 1, d->q->shape + 1);
    return g;
}

/* -sum(exp(s - m) / l D), (heads) */
static struct node *gradient_of_sink(struct tape *tape, const struct attention *a,
                                     const struct differentiated *d, struct node *within)
{
    int64_t lone[4] = { 1, d->q->shape[1], 1, 1 };
    struct node *score = node_reshape(tape, a->sink, 4, lone);
    struct node *p =
        node_divide(tape, node_apply(tape, "exp", node_subtract(tape, score, d->largest)), d->sum);
    enum { ALL_BUT_HEADS = 1 | 4 | 8 };
    return node_scale(tape, node_sum(tape, node_multiply(tape, p, within), ALL_BUT_HEADS, false),
                      -1);
}

/* *scores: before the mask. */
static struct gradients differentiate(struct call *call, struct attention *a,
                                      const struct differentiated *d, struct node *mask,
                                      struct node **scores)
{
    struct tape *tape = call->tape;
    struct gradients g = { 0 };
    struct node *open = *scores = block_scores(call, a, d->q, d->k, d->v, mask),
                *zero = node_scalar(tape, 0);
    if (tape_failed(tape)) return g;
    int64_t heads = d->q->shape[1], key_heads = d->k->shape[1];
    struct node *k = repeat_heads(tape, d->k, heads), *v = repeat_heads(tape, d->v, heads);
    if (mask) open = node_select(tape, mask, node_scalar(tape, -INFINITY), open);
    struct node *p = node_apply(tape, "exp", node_subtract(tape, open, d->largest));
    p = node_divide(tape, p, d->sum);
    if (mask) p = node_select(tape, mask, zero, p); /* rows that see no key have a sum of 0 */
    struct attention_parts parts = {
        .p = p,
        .q = d->q,
        .k = k,
        .v = v,
        .cotangent = d->cotangent,
        .result = d->result,
        .scale = a->scale,
        .drops = a->drops,
        .drawn = &a->drawn,
    };
    struct attention_gradients own = attention_gradients(call, &parts);
    memcpy(g.of, own.of, sizeof g.of);
    for (int i = OF_KEY; i <= OF_VALUE; i++) g.of[i] = joined_heads(tape, g.of[i], key_heads);
    if (a->sink) g.of_sink = gradient_of_sink(tape, a, d, own.within);
    return g;
}

/* Statistics (B, N, S, 8), the same eight times, or (T, N, 8) of packed sequences, as (B, N, S, 1). Packed ones lie as their
 * shape says where softmax_layout is "same_as_input", which the Python interface calls "TND"; else sequence by sequence, the
 * heads of one behind each other (MindSpeed, flatten_softmax): `of_q` names these. */
static struct node *row_statistics(struct call *call, const char *name, const struct node *q,
                                   const struct groups *of_q)
{
    struct tape *tape = call->tape;
    struct node *x = call_optional_tensor(call, name);
    int64_t heads = q->shape[1];
    if (!call_require(call, x && x->rank == (of_q ? 3 : 4) && x->shape[x->rank - 1] >= 1,
                      "%s of the forward call is needed", name))
        return tape_failure(tape);
    x = node_slice(tape, x, x->rank - 1, 0, 1, 1);
    if (tape_failed(tape) || !call_require(call, (int64_t)x->n == q->shape[0] * heads * q->shape[2],
                                           "%s does not have a number for each query", name))
        return tape_failure(tape);
    const char *layout = call_string(call, "softmax_layout");
    bool as_shaped = !strcmp(layout, "same_as_input") || !strcmp(layout, "TND");
    if (!of_q || as_shaped) {
        if (of_q) x = node_transpose(tape, x, 0, 1);
        return node_reshape(tape, x, 4, (int64_t[]){ q->shape[0], heads, q->shape[2], 1 });
    }
    struct node **parts = tape_allocate(tape, (size_t)of_q->count, sizeof *parts);
    x = node_reshape(tape, x, 1, (int64_t[]){ (int64_t)x->n });
    for (int i = 0; i < of_q->count && !tape_failed(tape); i++) {
        int64_t rows = of_q->end[i] - of_q->start[i];
        parts[i] = node_slice(tape, x, 0, of_q->start[i] * heads, rows * heads, 1);
        parts[i] = node_reshape(tape, parts[i], 4, (int64_t[]){ 1, heads, rows, 1 });
    }
    return tape_failed(tape) ? tape_failure(tape) : node_concatenate(tape, parts, of_q->count, 2);
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

/* Sums of sequences, one behind the other. */
static struct dropped_sums joined_parts(struct tape *tape, struct gradients *parts, int count,
                                        int which)
{
    struct dropped_sums all = { 0 };
    struct node **list[DROPPED_SUMS], **own[DROPPED_SUMS],
        **joined = tape_allocate(tape, (size_t)count, sizeof *joined);
    list_dropped_sums(list, &all);
    for (int s = 0; s < DROPPED_SUMS && !tape_failed(tape); s++) {
        for (int i = 0; i < count; i++) {
            list_dropped_sums(own, &parts[i].of[which]);
            joined[i] = *own[s];
        }
        if (joined[0]) *list[s] = node_concatenate(tape, joined, count, 2);
    }
    return all;
}

enum { MOST_SEQUENCES = 4096 };

/* The sequences of packed tensors; all positions have to belong to one. */
static bool read_sequences(struct call *call, const struct attention *a,
                           const struct differentiated *d, struct groups *of_q, struct groups *of_k)
{
    return groups_read(call, of_q, "actual_seq_qlen", true, d->q->shape[2]) &&
           groups_read(call, of_k, "actual_seq_kvlen", true, d->k->shape[2]) &&
           call_require(call,
                        of_q->count == of_k->count && of_q->count &&
                            of_q->count <= MOST_SEQUENCES && of_q->total == d->q->shape[2] &&
                            of_k->total == d->k->shape[2],
                        "packed sequences need all positions, queries and keys of each") &&
           call_require(call, !a->pse && a->mode != 5,
                        "pse and sparse_mode %lld of packed sequences are not followed here",
                        (long long)a->mode);
}

/* Packed sequences, each by itself. */
static struct gradients differentiate_packed(struct call *call, struct attention *a,
                                             const struct differentiated *d,
                                             const struct groups *of_q, const struct groups *of_k)
{
    struct tape *tape = call->tape;
    int count = of_q->count;
    struct gradients all = { .count = count },
                     *parts = tape_allocate(tape, (size_t)count, sizeof *parts);
    all.blocks = tape_allocate(tape, (size_t)count, sizeof *all.blocks);
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        int64_t rows = of_q->end[i] - of_q->start[i], columns = of_k->end[i] - of_k->start[i];
        struct differentiated part =
            part_of(tape, d, of_q->start[i], rows, of_k->start[i], columns);
        struct dropped_block *block = &all.blocks[i];
        *block = (struct dropped_block){ .batches = 1, .rows = rows, .columns = columns };
        if (rows && columns) {
            struct node *mask = packed_mask(call, a, i, count, rows, columns);
            parts[i] = differentiate(call, a, &part, mask, &block->scores);
        } else {
            parts[i] = no_gradients(tape, a, &part);
        }
        if (i && a->sink && !tape_failed(tape))
            parts[i].of_sink = node_add(tape, parts[i - 1].of_sink, parts[i].of_sink);
    }
    if (tape_failed(tape)) return all;
    for (int k = OF_QUERY; k <= OF_VALUE; k++) all.of[k] = joined_parts(tape, parts, count, k);
    all.of_sink = parts[count - 1].of_sink;
    return all;
}

static struct gradients differentiate_whole(struct call *call, struct attention *a,
                                            const struct differentiated *d)
{
    int64_t rows = d->q->shape[2], columns = d->k->shape[2];
    struct dropped_block *block = tape_allocate(call->tape, 1, sizeof *block);
    struct gradients none = { 0 };
    if (!block) return none;
    *block = (struct dropped_block){ .batches = 1, .rows = rows, .columns = columns };
    struct node *mask = whole_mask(call, a, d->q->shape[0], rows, columns);
    struct gradients g = differentiate(call, a, d, mask, &block->scores);
    g.blocks = block;
    g.count = 1;
    return g;
}

/* What the gradients are taken of, (batch, heads, rows, width), with the parts that were turned; `plain`: the width without them. */
static bool open_differentiated(struct differentiated *d, int64_t *plain, struct call *call,
                                int64_t heads, bool roped)
{
    struct tape *tape = call->tape;
    const char *layout = call_string(call, "input_layout");
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value"), *y = call_tensor(call, "attention_in");
    int64_t key_heads = heads_of_keys(q, k, heads);
    *d =
        (struct differentiated){ .q = to_bnsd(call, q, layout, heads),
                                 .k = to_bnsd(call, k, layout, key_heads),
                                 .v = to_bnsd(call, v, layout, key_heads),
                                 .cotangent = to_bnsd(call, call_tensor(call, "dy"), layout, heads),
                                 .result = to_bnsd(call, y, layout, heads) };
    if (tape_failed(tape)) return false;
    *plain = d->q->shape[3];
    if (roped) {
        d->q = with_rope(call, d->q, "query_rope", layout, heads);
        d->k = with_rope(call, d->k, "key_rope", layout, key_heads);
    }
    return !tape_failed(tape) &&
           call_require(call, d->q->shape[1] == heads && d->cotangent->n == d->result->n,
                        "head_num, dy and attention_in do not belong to the query");
}

/* The results of the call. The last channels, from `plain` on, are those of the ropes, which are results of their own where there are any. */
static void return_gradients(struct call *call, const struct attention *a,
                             const struct gradients *g, int64_t width, int64_t plain, bool second)
{
    struct tape *tape = call->tape;
    const char *layout = call_string(call, "input_layout");
    bool roped = second && !call_is_none(call, "query_rope");
    int64_t turned = width - plain;
    struct dropped_attention law = {
        .p = a->drops, .width = width, .blocks = g->blocks, .count = g->count
    };
    struct dropped_sums dq = g->of[OF_QUERY], dk = g->of[OF_KEY];
    call_return_attention_gradient(call, &law, roped ? sums_of_channels(tape, dq, 0, plain) : dq,
                                   layout, call_tensor(call, "query")->dtype);
    call_return_attention_gradient(call, &law, roped ? sums_of_channels(tape, dk, 0, plain) : dk,
                                   layout, call_tensor(call, "key")->dtype);
    call_return_attention_gradient(call, &law, g->of[OF_VALUE], layout,
                                   call_tensor(call, "value")->dtype);
    if (a->pse)
        call_return_attention_gradient(call, &law,
                                       sums_to_shape(tape, g->of[OF_SCORES], a->pse->rank,
                                                     a->pse->shape, a->pse_first ? a->scale : 1),
                                       NULL, a->pse->dtype);
    else call_return_none(call);
    if (roped) {
        call_return_attention_gradient(call, &law, sums_of_channels(tape, dq, plain, turned),
                                       layout, call_tensor(call, "query_rope")->dtype);
        call_return_attention_gradient(call, &law, sums_of_channels(tape, dk, plain, turned),
                                       layout, call_tensor(call, "key_rope")->dtype);
    } else if (second && a->sink) {
        call_return_none(call);
        call_return_none(call);
    }
    if (a->sink) call_return_typed(call, g->of_sink, DT_F32);
}

/* Gradients of query, key, value and pse, of the second form of ropes too, and of a sink. */
static void fusion_attention_grad(struct call *call)
{
    struct tape *tape = call->tape;
    int64_t heads = call_int(call, "head_num"), plain;
    bool second = call->op->detail == FUSION_SECOND,
         packed = !strcmp(call_string(call, "input_layout"), "TND"),
         roped = second && !call_is_none(call, "query_rope");
    struct attention a;
    struct differentiated d;
    struct groups of_q, of_k;
    if (!read_fusion(call, &a, heads) ||
        !call_require(call, call_optional_tensor(call, "attention_in") != NULL,
                      "attention_in, the forward's result, is needed"))
        return;
    a.wants_mask = true;
    a.scale = call_real(call, "scale_value");
    a.drops = 1 - call_real(call, "keep_prob");
    if (!call_require(call, a.drops >= 0 && a.drops < 1, "keep_prob %g", 1 - a.drops) ||
        !open_differentiated(&d, &plain, call, heads, roped) ||
        (packed && !read_sequences(call, &a, &d, &of_q, &of_k)))
        return;
    d.largest = row_statistics(call, "softmax_max", d.q, packed ? &of_q : NULL);
    d.sum = row_statistics(call, "softmax_sum", d.q, packed ? &of_q : NULL);
    if (tape_failed(tape)) return;
    struct gradients g = packed ? differentiate_packed(call, &a, &d, &of_q, &of_k)
                                : differentiate_whole(call, &a, &d);
    if (tape_failed(tape)) return;
    return_gradients(call, &a, &g, d.q->shape[3], plain, second);
}

/* clang-format off */
#define GRAD "(Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str input_layout, *, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? softmax_max=None, Tensor? softmax_sum=None, Tensor? softmax_in=None, Tensor? attention_in=None, "
#define WINDOW "float scale_value=1.0, float keep_prob=1.0, int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, "
#define TAIL "Any prefix=None, Any actual_seq_qlen=None, Any actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, str softmax_layout='', Tensor? sink=None, "
const struct op ops_npu_attention_grad[] = {
    { "npu_fusion_attention_grad", NPU, GRAD WINDOW "int seed=0, int offset=0, int numels=0, " TAIL "...)", fusion_attention_grad, OP_NO_GRADIENT, FUSION_FIRST, NULL },
    { "npu_fusion_attention_grad_v2", NPU, GRAD "Tensor? query_rope=None, Tensor? key_rope=None, Tensor? d_scale_q=None, Tensor? d_scale_k=None, Tensor? d_scale_v=None, float scale_value=1.0, float keep_prob=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, int inner_precise=0, int seed=0, int offset=0, int numels=0, " TAIL "int pse_type=1, Any q_start_idx=None, Any kv_start_idx=None, ...)", fusion_attention_grad, OP_NO_GRADIENT, FUSION_SECOND, NULL },
    { "npu_fusion_attention_grad_v3", NPU, GRAD WINDOW "Any seed=None, Any offset=None, " TAIL "...)", fusion_attention_grad, OP_NO_GRADIENT, FUSION_THIRD, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_attention_grad);
