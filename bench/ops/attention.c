/* Attention: scaled_dot_product_attention and multi_head_attention_forward.
 *
 * A row whose scores are all -inf is 0/0 in a plain softmax: NaN, as PyTorch's math path gives.
 */
#include <math.h>
#include <string.h>

#include "bench/ops/attention_gradient.h"
#include "bench/ops/dropped_attention.h"
#include "bench/ops/dropped_heads.h"
#include "bench/ops/operands.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* Scores plus a mask: -inf where a bool mask is `blocked`, a float mask added. */
static struct node *apply_mask(struct tape *tape, struct node *scores, struct node *mask,
                               bool blocked)
{
    if (mask->dtype != DT_BOOL && !(blocked && mask->dtype == DT_U8))
        return node_add(tape, scores, mask);
    struct node *minus = node_scalar(tape, -INFINITY);
    return blocked ? node_select(tape, mask, minus, scores)
                   : node_select(tape, mask, scores, minus);
}

/* scale q k^T, the future out of sight if `is_causal`, and `mask` applied where there is one. */
static struct node *attention_scores(struct call *call, struct node *q, struct node *k,
                                     struct node *mask)
{
    struct tape *tape = call->tape;
    double scale = call_is_none(call, "scale") ? 1 / sqrt((double)q->shape[q->rank - 1])
                                               : call_real(call, "scale");
    struct node *scores = node_scale(
        tape, compose_matmul(tape, q, node_transpose(tape, k, k->rank - 2, k->rank - 1)), scale);
    if (call_bool(call, "is_causal"))
        scores = apply_mask(tape, scores,
                            node_band(tape, scores->shape[scores->rank - 2],
                                      scores->shape[scores->rank - 1], 0, INT64_MAX),
                            false);
    return mask ? apply_mask(tape, scores, mask, false) : scores;
}

/* The result with dropout, by its law. q, k and v as the call has them, heads of keys once. */
static void return_dropped(struct call *call, struct node *scores, struct node *weights,
                           struct node *const *qkv, struct node *repeated_v)
{
    struct tape *tape = call->tape;
    struct node *q = qkv[0], *k = qkv[1], *v = qkv[2], *native = NULL;
    int64_t shape[TENSOR_MAX_RANK];
    double p = call_real(call, "dropout_p");
    bool fits = k->rank == q->rank && v->rank == q->rank &&
                v->shape[v->rank - 2] == k->shape[k->rank - 2];
    for (int d = 0; fits && d < q->rank - 2; d++)
        fits = k->shape[d] == v->shape[d] && (d == q->rank - 3 || k->shape[d] == q->shape[d]);
    if (!call_require(call, fits && q->n && v->n,
                      "attention with dropout is followed where query, key and value have the same "
                      "batches"))
        return;
    struct dropped_block *block = tape_allocate(tape, 1, sizeof *block);
    if (!block) return;
    *block = (struct dropped_block){
        1, q->shape[q->rank - 2], k->shape[k->rank - 2], weights, scores, q, k, v
    };
    for (int d = 0; d < q->rank - 3; d++) block->batches *= q->shape[d];
    struct dropped_attention a = {
        .p = p,
        .scale = call_is_none(call, "scale") ? 1 / sqrt((double)q->shape[q->rank - 1])
                                             : call_real(call, "scale"),
        .heads = q->rank > 2 ? q->shape[q->rank - 3] : 1,
        .key_heads = k->rank > 2 ? k->shape[k->rank - 3] : 1,
        .width = q->shape[q->rank - 1],
        .value_width = v->shape[v->rank - 1],
        .blocks = block,
        .count = 1,
        .leaves = { { q, 0, 0, 0 }, { k, 1, 0, 0 }, { v, 2, 0, 0 } },
        .dtype = q->dtype,
    };
    memcpy(shape, q->shape, sizeof shape);
    shape[q->rank - 1] = a.value_width;
    if (!tape_is_reference(tape))
        native = node_with_dtype(
            tape, compose_matmul(tape, dropped_weights(call, weights, p, 0), repeated_v), q->dtype);
    call_return_dropped_attention(call, &a, native, q->rank, shape);
}

/* detail 1: an older one, which also returns the weights, wanted or not, or, from a fused kernel, nothing in their place. */
static void scaled_dot_product_attention(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value"), *const qkv[3] = { q, k, v };
    double p = call_real(call, "dropout_p");
    if (!call_require(call, q->rank >= 2 && k->rank >= 2 && v->rank >= 2,
                      "attention needs at least two dimensions"))
        return;
    if (!call->op->detail && call_bool(call, "enable_gqa") && q->rank > 2 && k->rank > 2 &&
        v->rank > 2 && k->shape[k->rank - 3]) {
        /* Each key and value head serves a group of query heads. */
        int64_t repeat = q->shape[q->rank - 3] / k->shape[k->rank - 3];
        struct node **heads[2] = { &k, &v };
        for (int i = 0; i < 2; i++) {
            struct node *x = *heads[i];
            int64_t wide[TENSOR_MAX_RANK], joined[TENSOR_MAX_RANK], lone[TENSOR_MAX_RANK];
            int at = x->rank - 2; /* a new dimension after the heads */
            if (!call_require(call, x->rank != TENSOR_MAX_RANK, "heads in %d dimensions", x->rank))
                return;
            for (int d = 0, e = 0; d <= x->rank; d++) {
                lone[d] = d == at ? 1 : x->shape[e];
                wide[d] = d == at ? repeat : x->shape[e++];
            }
            memcpy(joined, x->shape, sizeof joined);
            joined[at - 1] *= repeat;
            x = node_broadcast(tape, node_reshape(tape, x, x->rank + 1, lone), x->rank + 1, wide);
            *heads[i] = node_reshape(tape, x, (*heads[i])->rank, joined);
        }
    }
    struct node *scores = attention_scores(call, q, k, call_optional_tensor(call, "attn_mask"));
    struct node *weights = node_softmax(tape, scores, scores->rank - 1);
    if (!call_require(call, p == 0 || !call->op->detail,
                      "dropped weights that are returned have a gradient of their own"))
        return;
    if (p == 0) call_return_typed(call, compose_matmul(tape, weights, v), q->dtype);
    else if (!tape_failed(tape)) return_dropped(call, scores, weights, qkv, v);
    if (!call->op->detail) return;
    const struct tensor *given = call_device_output(call, 1);
    if (given && !tensor_elements(given)) call_return_none(call);
    else call_return_typed(call, weights, q->dtype);
}

/* ---- fused kernels of aten: (batch, heads, length, width) each --------------------------------------- */

/* What all of them need. text: the name of the mask, NULL without one. */
static bool is_fused_attention(struct call *call, const struct node *q, const struct node *k,
                               const struct node *v)
{
    if (!call_require(call, q->rank == 4 && k->rank == 4 && v->rank == 4,
                      "query, key and value have four dimensions"))
        return false;
    return call_require(call, !call_bool(call, "is_causal") || q->shape[2] == k->shape[2],
                        "a causal mask of %lld queries and %lld keys: kernels align its corners "
                        "differently",
                        (long long)q->shape[2], (long long)k->shape[2]);
}

static struct node *fused_mask(struct call *call)
{
    return call->op->text ? call_optional_tensor(call, call->op->text) : NULL;
}

/* The output and the logarithm of each row's sum (none where its length is the kernel's choice), then
 * detail % 10 results that a gradient's kernel needs: offsets, sizes, random state. */
static void fused_attention(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value");
    bool padded = call->op->detail >= 10;
    if (!is_fused_attention(call, q, k, v)) return;
    struct node *scores = attention_scores(call, q, k, fused_mask(call));
    struct node *weights = node_softmax(tape, scores, 3);
    if (tape_failed(tape)) return;
    if (call_real(call, "dropout_p") == 0)
        call_return_typed(call, compose_matmul(tape, weights, v), q->dtype);
    else return_dropped(call, scores, weights, (struct node *[]){ q, k, v }, v);
    struct node *sums = node_logsumexp(tape, scores, 3);
    if (padded) call_return_none(call);
    else
        call_return_typed(call, node_reshape(tape, sums, 3, sums->shape),
                          q->dtype == DT_F64 ? DT_F64 : DT_F32);
    for (intptr_t i = 0; i < call->op->detail % 10; i++) call_return_none(call);
}

/* P (c - D), D being the sum of c P by rows, which the kernels take from the output. */
static void weights_gradient(struct tape *tape, struct node *weights, struct node *cotangent,
                             const void *parameters)
{
    struct node *along = weights->inputs[2];
    (void)parameters;
    tape_accumulate(tape, weights->inputs[1],
                    node_multiply(tape, weights, node_subtract(tape, cotangent, along)));
}

/* With dropout, by the law that is left when the output is given. */
static void dropped_backward(struct call *call, struct node *const *qkv, struct node *mask,
                             struct node *scores, struct node *weights)
{
    struct tape *tape = call->tape;
    struct node *q = qkv[0];
    size_t drawn = 0;
    struct attention_parts parts = {
        .p = weights,
        .q = q,
        .k = qkv[1],
        .v = qkv[2],
        .cotangent = call_tensor(call, "grad_out"),
        .result = call_tensor(call, "out"),
        .scale = call_is_none(call, "scale") ? 1 / sqrt((double)q->shape[3])
                                             : call_real(call, "scale"),
        .drops = call_real(call, "dropout_p"),
        .drawn = &drawn,
    };
    if (!call_require(call, parts.drops > 0 && parts.drops < 1, "dropout_p %g", parts.drops))
        return;
    struct attention_gradients g = attention_gradients(call, &parts);
    struct dropped_block block = {
        .batches = q->shape[0], .rows = q->shape[2], .columns = qkv[1]->shape[2], .scores = scores
    };
    struct dropped_attention law = {
        .p = parts.drops, .width = q->shape[3], .blocks = &block, .count = 1
    };
    for (int i = 0; i < (int)call->op->detail && !tape_failed(tape); i++) {
        bool wanted = call_wants_output(call, (size_t)i) && (i < 3 || (mask && !mask->integer));
        if (!wanted) call_return_none(call);
        else if (i < 3) call_return_attention_gradient(call, &law, g.of[i], NULL, qkv[i]->dtype);
        else
            call_return_attention_gradient(
                call, &law, sums_to_shape(tape, g.of[OF_SCORES], mask->rank, mask->shape, 1), NULL,
                mask->dtype);
    }
}

/* By the output and the logarithms that the forward returned. detail: the number of gradients. */
static void fused_attention_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *gradient = call_tensor(call, "grad_out"), *out = call_tensor(call, "out");
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value"), *mask = fused_mask(call);
    struct node *sums = call_tensor(call, "logsumexp");
    if (!is_fused_attention(call, q, k, v)) return;
    if (!call_require(call, sums->rank == 3 && sums->shape[2] >= q->shape[2],
                      "logsumexp has an element for each query"))
        return;
    struct node *inputs[4] = { node_tracked(tape, q), node_tracked(tape, k), node_tracked(tape, v),
                               mask ? node_tracked(tape, mask) : NULL };
    struct node *scores = attention_scores(call, inputs[0], inputs[1], inputs[3]);
    int64_t rows[4] = { q->shape[0], q->shape[1], q->shape[2], 1 };
    sums = node_reshape(tape, node_slice(tape, sums, 2, 0, q->shape[2], 1), 4, rows);
    struct node *weights = node_apply(tape, "exp", node_subtract(tape, scores, sums));
    if (call_real(call, "dropout_p") != 0) {
        dropped_backward(call, (struct node *[]){ q, k, v }, mask, scores, weights);
        return;
    }
    struct node *along = node_sum(tape, node_multiply(tape, gradient, out), 8, true);
    weights = node_stated_gradient(tape, weights, 2, (struct node *[]){ scores, along },
                                   weights_gradient, NULL);
    int count = (int)call->op->detail;
    call_pull_back(call, compose_matmul(tape, weights, inputs[2]), gradient,
                   count == 4 && mask ? 4 : 3, inputs);
    for (int i = 0; i < count; i++)
        if (inputs[i] && call_wants_output(call, (size_t)i)) call_return(call, inputs[i]);
        else call_return_none(call);
}

/* ---- multi_head_attention_forward --------------------------------------------------------------- */

struct heads {
    int64_t batch, count, width, target, source;
};

/* (length, batch, heads * width) -> (batch * heads, length, width) */
static struct node *split_heads(struct tape *tape, struct node *x, int64_t length,
                                const struct heads *heads)
{
    int64_t shape[3] = { length, heads->batch * heads->count, heads->width };
    return node_transpose(tape, node_reshape(tape, x, 3, shape), 0, 1);
}

/* Rows [part * e, (part + 1) * e) of the joint projection. */
static struct node *third(struct tape *tape, struct node *x, int part, int64_t e)
{
    return x ? node_slice(tape, x, 0, part * e, e, 1) : NULL;
}

static const char *const own_projections[3] = { "q_proj_weight", "k_proj_weight", "v_proj_weight" };

static struct node *projection_of(struct call *call, int part, int64_t e)
{
    return call_bool(call, "use_separate_proj_weight")
               ? call_tensor(call, own_projections[part])
               : third(call->tape, call_tensor(call, "in_proj_weight"), part, e);
}

static struct node *projected(struct call *call, struct node *x, int part, int64_t e)
{
    struct tape *tape = call->tape;
    struct node *weight = projection_of(call, part, e);
    struct node *bias = third(tape, call_optional_tensor(call, "in_proj_bias"), part, e);
    return compose_linear(tape, x, weight, bias);
}

/* One more source position: a learned bias row, then a zero row, as asked. */
static struct node *extended(struct call *call, struct node *x, const char *bias_name,
                             const struct heads *heads, bool zero)
{
    struct tape *tape = call->tape;
    struct node *bias = call_optional_tensor(call, bias_name), *parts[3] = { x };
    int count = 1;
    if (bias) { /* (1, 1, e), repeated over the batch, split into heads */
        int64_t wide[3] = { 1, heads->batch, heads->count * heads->width };
        parts[count++] = split_heads(tape, node_broadcast(tape, bias, 3, wide), 1, heads);
    }
    if (zero) {
        int64_t shape[3] = { heads->batch * heads->count, 1, heads->width };
        parts[count++] = node_constant(tape, x->dtype, 0, 3, shape);
    }
    return count > 1 ? node_concatenate(tape, parts, count, 1) : x;
}

/* A mask widened by `extra` allowed source positions. */
static struct node *widened(struct tape *tape, struct node *mask, int64_t extra)
{
    if (!extra) return mask;
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, mask->shape, sizeof shape);
    shape[mask->rank - 1] = extra;
    struct node *more = mask->integer
                            ? node_integer_constant(tape, mask->dtype, 0, mask->rank, shape)
                            : node_constant(tape, mask->dtype, 0, mask->rank, shape);
    struct node *parts[2] = { mask, more };
    return node_concatenate(tape, parts, 2, mask->rank - 1);
}

static struct node *masked_scores(struct call *call, struct node *scores, const struct heads *heads,
                                  int64_t extra)
{
    struct tape *tape = call->tape;
    struct node *mask = call_optional_tensor(call, "attn_mask");
    struct node *padding = call_optional_tensor(call, "key_padding_mask");
    if (!call_require(call, (!mask || mask->rank >= 2) && (!padding || padding->rank >= 1),
                      "a mask of attention has a dimension of source positions"))
        return scores;
    if (mask) scores = apply_mask(tape, scores, widened(tape, mask, extra), true);
    if (!padding) return scores;
    padding = widened(tape, padding, extra);
    int64_t by_batch[4] = { heads->batch, heads->count, heads->target, -1 },
            row[4] = { heads->batch, 1, 1, -1 };
    int64_t flat[3] = { heads->batch * heads->count, heads->target, -1 };
    by_batch[3] = row[3] = flat[2] = scores->shape[2];
    struct node *wide = node_reshape(tape, scores, 4, by_batch);
    return node_reshape(tape, apply_mask(tape, wide, node_reshape(tape, padding, 4, row), true), 3,
                        flat);
}

/* As the call returns them: averaged over heads when it says so. */
static struct node *shown_weights(struct call *call, struct node *weights,
                                  const struct heads *heads, bool batched)
{
    struct tape *tape = call->tape;
    int64_t shape[4] = { heads->batch, heads->count, heads->target, weights->shape[2] };
    weights = node_reshape(tape, weights, 4, shape);
    if (call_bool(call, "average_attn_weights")) weights = node_mean(tape, weights, 2, false);
    if (!batched) weights = node_reshape(tape, weights, weights->rank - 1, weights->shape + 1);
    return node_with_dtype(tape, weights, call_tensor(call, "query")->dtype);
}

/* out (target * batch rows of heads) through the last projection. */
static struct node *projected_out(struct call *call, struct node *weights, struct node *v,
                                  const struct heads *heads, int64_t e, bool batched)
{
    struct tape *tape = call->tape;
    int64_t joined[3] = { heads->target, heads->batch, e };
    struct node *out = node_transpose(tape, node_matmul(tape, weights, false, v, false), 0, 1);
    out = compose_linear(tape, node_reshape(tape, out, 3, joined),
                         call_tensor(call, "out_proj_weight"),
                         call_optional_tensor(call, "out_proj_bias"));
    if (batched || tape_failed(tape)) return out;
    return node_reshape(tape, out, 2, (int64_t[]){ heads->target, out->shape[2] });
}

/* (batch, 1, target, e) as (target, batch, e). */
static struct node *target_first(struct tape *tape, struct node *x, const char *layout)
{
    (void)layout;
    return node_transpose(tape, x, 0, 2);
}

/* The law of its gradients. x: query, key and value as sequences of batches; qkv: their projected heads. */
static void follow_gradients(struct call *call, const struct heads *heads, int64_t e,
                             struct node *const *x, struct node *const *qkv, struct node *weights,
                             enum dtype dtype)
{
    static const char *const names[3] = { "query", "key", "value" };
    struct tape *tape = call->tape;
    bool separate = call_bool(call, "use_separate_proj_weight");
    struct dropped_heads *h = tape_allocate(tape, 1, sizeof *h);
    if (!h) return;
    *h = (struct dropped_heads){
        .p = call_real(call, "dropout_p"),
        .batch = heads->batch,
        .heads = heads->count,
        .width = heads->width,
        .target = heads->target,
        .source = weights->shape[2],
        .weights = weights,
        .q = qkv[0],
        .k = qkv[1],
        .v = qkv[2],
        .out = call_tensor(call, "out_proj_weight"),
        .joint_weight = separate ? NULL : call_tensor(call, "in_proj_weight"),
        .joint_bias = call_optional_tensor(call, "in_proj_bias"),
        .out_weight = call_tensor(call, "out_proj_weight"),
        .out_bias = call_optional_tensor(call, "out_proj_bias"),
        .dtype = dtype,
    };
    for (int k = 0; k < 3; k++) {
        h->x[k] = x[k];
        h->own[k] = call_tensor(call, names[k]);
        h->projection[k] = projection_of(call, k, e);
        h->own_projection[k] = separate ? h->projection[k] : NULL;
    }
    if (!tape_failed(tape)) call_gradients_of_dropped_heads(call, h);
}

/* With dropout each element is a sum over the source positions of all heads: their values, projected, are one long list. */
static void return_dropped_heads(struct call *call, struct node *scores, struct node *weights,
                                 struct node *v, const struct heads *heads, int64_t e, bool batched)
{
    struct tape *tape = call->tape;
    int64_t source = weights->shape[2],
            by_head[4] = { heads->batch, heads->count, heads->target, source },
            values[4] = { heads->batch, heads->count, source, heads->width };
    struct node *projection = call_tensor(call, "out_proj_weight");
    double p = call_real(call, "dropout_p");
    if (!call_require(call, projection->rank == 2 && projection->shape[1] == e && p < 1,
                      "out_proj_weight does not fit, or all is dropped"))
        return;
    int64_t slices[3] = { heads->count, heads->width, projection->shape[0] };
    struct node *w = node_transpose(tape, node_reshape(tape, weights, 4, by_head), 1, 2),
                *parts = node_reshape(tape, node_transpose(tape, projection, 0, 1), 3, slices);
    struct dropped_block *block = tape_allocate(tape, 1, sizeof *block);
    if (!block) return;
    *block =
        (struct dropped_block){ heads->batch,
                                heads->target,
                                heads->count * source,
                                w,
                                scores,
                                weights,
                                weights,
                                compose_matmul(tape, node_reshape(tape, v, 4, values), parts) };
    struct dropped_attention a = {
        .p = p,
        .heads = 1,
        .key_heads = 1,
        .width = heads->width,
        .value_width = projection->shape[0],
        .blocks = block,
        .count = 1,
        .shift = call_optional_tensor(call, "out_proj_bias"),
        .arrange = target_first,
        .dtype = call_recorded_dtype(call, call_tensor(call, "query")->dtype),
    };
    if (tape_failed(tape)) return;
    bool native = !tape_is_reference(tape);
    struct node *dropped = native ? dropped_weights(call, weights, p, 0) : weights;
    struct node *out =
        node_with_dtype(tape, projected_out(call, dropped, v, heads, e, batched), a.dtype);
    if (tape_failed(tape)) return;
    call_return_dropped_attention(call, &a, native ? out : NULL, out->rank, out->shape);
    if (!call_bool(call, "need_weights")) {
        call_return_none(call);
        return;
    }
    struct node *shown = shown_weights(call, dropped, heads, batched);
    struct dropped_block shown_block = *block;
    shown_block.columns = source;
    shown_block.weights = weights;
    a.blocks = &shown_block;
    a.heads = a.key_heads = heads->count;
    if (!tape_failed(tape))
        call_return_dropped_weights(call, &a, call_bool(call, "average_attn_weights"),
                                    native ? shown : NULL, shown->rank, shown->shape);
}

static void multi_head_attention_forward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value");
    if (!call_require(call, call_is_none(call, "static_k") && call_is_none(call, "static_v"),
                      "static keys and values are not in the catalogue"))
        return;
    enum dtype dtype = q->dtype;
    bool batched = q->rank == 3;
    struct node **inputs[3] = { &q, &k, &v };
    for (int i = 0; i < 3 && !batched; i++) {
        int64_t shape[3] = { (*inputs[i])->shape[0], 1, (*inputs[i])->shape[1] };
        *inputs[i] = node_reshape(tape, *inputs[i], 3, shape);
    }
    struct node *const arguments[3] = { q, k, v };
    int64_t e = q->shape[2];
    struct heads heads = { q->shape[1], call_int(call, "num_heads"), 0, q->shape[0], k->shape[0] };
    if (!call_require(call, heads.count >= 1 && e % heads.count == 0,
                      "%lld features do not divide into %lld heads", (long long)e,
                      (long long)heads.count))
        return;
    heads.width = e / heads.count;
    bool zero = call_bool(call, "add_zero_attn"), bias = !call_is_none(call, "bias_k");
    q = split_heads(tape, projected(call, q, 0, e), heads.target, &heads);
    k = extended(call, split_heads(tape, projected(call, k, 1, e), heads.source, &heads), "bias_k",
                 &heads, zero);
    v = extended(call, split_heads(tape, projected(call, v, 2, e), heads.source, &heads), "bias_v",
                 &heads, zero);
    q = node_scale(tape, q, 1 / sqrt((double)heads.width));
    struct node *scores = node_matmul(tape, q, false, k, true);
    scores = masked_scores(call, scores, &heads, (int64_t)bias + (int64_t)zero);
    struct node *weights = node_softmax(tape, scores, 2);
    if (tape_failed(tape)) return;
    if (call_bool(call, "training") && call_real(call, "dropout_p") > 0) {
        enum dtype inner =
            call_recorded_dtype(call, dtype); /* autocast computes in that of the result */
        return_dropped_heads(call, scores, weights, v, &heads, e, batched);
        follow_gradients(call, &heads, e, arguments, (struct node *[]){ q, k, v }, weights, inner);
        return;
    }
    call_return_typed(call, projected_out(call, weights, v, &heads, e, batched), dtype);
    if (call_bool(call, "need_weights"))
        call_return_typed(call, shown_weights(call, weights, &heads, batched), dtype);
    else call_return_none(call);
}

/* clang-format off */
#define QUERY_KEY_VALUE "(Tensor query, Tensor key, Tensor value"
#define FORWARD_RESULTS "Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp"
const struct op ops_attention[] = {
    { "scaled_dot_product_attention", FUNCTIONAL | TORCH, "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False)", scaled_dot_product_attention, 0, 0, NULL },
    { "_scaled_dot_product_attention", FUNCTIONAL | TORCH, "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool need_attn_weights=False, bool is_causal=False, *, float? scale=None, bool enable_gqa=False)", scaled_dot_product_attention, 0, 1, NULL },
    { "_scaled_dot_product_flash_attention", ATEN, QUERY_KEY_VALUE ", float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None)", fused_attention, OP_ONE_NODE, 7, NULL },
    { "_scaled_dot_product_flash_attention_for_cpu", ATEN, QUERY_KEY_VALUE ", float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None)", fused_attention, OP_ONE_NODE, 0, "attn_mask" },
    { "_scaled_dot_product_efficient_attention", ATEN, QUERY_KEY_VALUE ", Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, *, float? scale=None)", fused_attention, OP_ONE_NODE, 12, "attn_bias" },
    { "_scaled_dot_product_flash_attention_backward", ATEN, "(Tensor grad_out, " FORWARD_RESULTS ", Any cum_seq_q, Any cum_seq_k, Any max_q, Any max_k, float dropout_p, bool is_causal, Any philox_seed, Any philox_offset, *, float? scale=None)", fused_attention_backward, OP_NO_GRADIENT, 3, NULL },
    { "_scaled_dot_product_flash_attention_for_cpu_backward", ATEN, "(Tensor grad_out, " FORWARD_RESULTS ", float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None)", fused_attention_backward, OP_NO_GRADIENT, 3, "attn_mask" },
    { "_scaled_dot_product_efficient_attention_backward", ATEN, "(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor out, Tensor logsumexp, Any philox_seed, Any philox_offset, float dropout_p, bool[] output_mask, bool is_causal=False, *, float? scale=None)", fused_attention_backward, OP_NO_GRADIENT, 4, "attn_bias" },
    { "multi_head_attention_forward", FUNCTIONAL,
      "(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, Tensor? in_proj_weight, "
      "Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, float dropout_p, "
      "Tensor out_proj_weight, Tensor? out_proj_bias, bool training=True, Tensor? key_padding_mask=None, "
      "bool need_weights=True, Tensor? attn_mask=None, bool use_separate_proj_weight=False, "
      "Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, Tensor? v_proj_weight=None, "
      "Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, bool is_causal=False)",
      multi_head_attention_forward, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(attention);
