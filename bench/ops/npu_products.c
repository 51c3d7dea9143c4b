/* Matrix products of torch_npu and MindSpeed: grouped by rows or by the inner dimension, batched with transposes, added
 * to; by their documentation (op-plugin, docs/context; MindSpeed, docs/ops). The quantized ones stand in
 * npu_quant_products.c.
 */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/activation.h"
#include "bench/ops/foreach.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/npu_quant_products.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- plain and batched ------------------------------------------------------------------------------ */

static void linear(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight");
    call_return(call, compose_linear(call->tape, x, w, call_optional_tensor(call, "bias")));
}

/* The product in another shape of as many elements. */
static void batched(struct call *call)
{
    struct node *y =
        compose_matmul(call->tape, call_tensor(call, "self"), call_tensor(call, "mat2"));
    int64_t shape[TENSOR_MAX_RANK];
    int rank = call_ints(call, "output_sizes", shape, TENSOR_MAX_RANK);
    call_return(call, rank ? node_reshape(call->tape, y, rank, shape) : y);
}

/* x with the dimensions in the order of the argument `name`; x itself without one. */
static struct node *permuted(struct call *call, struct node *x, const char *name)
{
    int64_t given[TENSOR_MAX_RANK];
    int order[TENSOR_MAX_RANK], count = call_ints(call, name, given, TENSOR_MAX_RANK);
    uint32_t seen = 0;
    if (!count) return x;
    if (!call_require(call, count == x->rank, "%s has %d entries for %d dimensions", name, count,
                      x->rank))
        return x;
    for (int d = 0; d < count; d++) {
        order[d] = wrap_dim(call, given[d], count);
        if (!call_require(call, !(seen >> order[d] & 1), "%s names dimension %d twice", name,
                          order[d]))
            return x;
        seen |= 1u << order[d];
    }
    return node_permute(call->tape, x, order);
}

/* A batched product of transposed factors, transposed. */
static void transposed_batches(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight"),
                *bias = call_optional_tensor(call, "bias");
    if (!call_require(call,
                      call_is_none(call, "scale") && call_int(call, "batch_split_factor") == 1,
                      "a quantized or split result is not followed here") ||
        !call_require(call, x->rank == 3 && w->rank == 3, "both factors have three dimensions"))
        return;
    struct node *y =
        compose_matmul(tape, permuted(call, x, "perm_x1"), permuted(call, w, "perm_x2"));
    if (bias) y = node_add(tape, y, bias);
    call_return_typed(call, permuted(call, y, "perm_y"), x->dtype);
}

/* A product and what follows it: a second operand added or multiplied, or an activation. */
static void fused_matmul(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x1"), *w = call_tensor(call, "x2"),
                *bias = call_optional_tensor(call, "bias"),
                *other = call_optional_tensor(call, "x3");
    const char *kind = call_string(call, "fused_op_type");
    struct node *y = compose_matmul(tape, x, w);
    if (bias) y = node_add(tape, y, bias);
    bool adds = !strcmp(kind, "add"), multiplies = !strcmp(kind, "mul");
    if (!call_require(call, adds || multiplies ? other != NULL : other == NULL,
                      "x3 belongs to the kinds add and mul"))
        return;
    if (adds) y = node_add(tape, y, other);
    else if (multiplies) y = node_multiply(tape, y, other);
    else if (!strcmp(kind, "relu")) y = node_activated(call, y, 1);
    else if (!strcmp(kind, "gelu_tanh")) y = node_activated(call, y, 2);
    else if (!strcmp(kind, "gelu_erf")) y = node_activated(call, y, 3);
    else if (!call_require(call, !*kind || !strcmp(kind, "16cast32"),
                           "the kind \"%s\" is not known", kind))
        return;
    call_return_typed(call, y, !strcmp(kind, "16cast32") ? DT_F32 : x->dtype);
}

/* C + x^T weight, in float32, written into C. */
static void matmul_add(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *w = call_tensor(call, "weight"),
                *c = call_tensor(call, "C");
    if (!call_require(call, x->rank >= 2 && w->rank >= 2 && x->shape[x->rank - 1],
                      "the factors are matrices"))
        return;
    int64_t flat_x[2] = { -1, x->shape[x->rank - 1] }, flat_w[2] = { -1, w->shape[w->rank - 1] };
    if (!call_require(call, x->n && w->n, "the factors are not empty")) return;
    struct node *product =
        compose_matmul(tape, node_transpose(tape, node_reshape(tape, x, 2, flat_x), 0, 1),
                       node_reshape(tape, w, 2, flat_w));
    call_return_typed(call, node_add(tape, c, product), DT_F32);
}

/* ---- groups ------------------------------------------------------------------------------------------- */

/* Rows of x by the matrix of their group, one after the other: the group's own, plus its row of the bias. */
static struct node *product_by_rows(struct call *call, struct node *x, struct node *weight,
                                    struct node *bias, const struct groups *groups)
{
    struct tape *tape = call->tape;
    struct node **parts = tape_allocate(tape, (size_t)groups->count + 1, sizeof *parts);
    if (!parts) return x;
    int used = 0;
    for (int i = 0; i < groups->count && !tape_failed(tape); i++) {
        int64_t rows = groups->end[i] - groups->start[i];
        if (!rows) continue;
        int64_t shape[2] = { weight->shape[1], weight->shape[2] };
        struct node *own = node_reshape(tape, node_slice(tape, weight, 0, i, 1, 1), 2, shape);
        struct node *y =
            compose_matmul(tape, node_slice(tape, x, 0, groups->start[i], rows, 1), own);
        if (bias) y = node_add(tape, y, node_slice(tape, bias, 0, i, 1, 1));
        parts[used++] = y;
    }
    int64_t none[2] = { x->shape[0] - groups->total, weight->shape[2] };
    if (none[0] > 0 || !used) parts[used++] = node_constant(tape, x->dtype, 0, 2, none);
    return node_concatenate(tape, parts, used, 0);
}

/* For each group the product of its columns of x and its rows of weight: (groups, m, n). */
static struct node *product_by_inner(struct call *call, struct node *x, struct node *weight,
                                     const struct groups *groups)
{
    struct tape *tape = call->tape;
    struct node **parts = tape_allocate(tape, (size_t)groups->count, sizeof *parts);
    if (!parts) return x;
    int64_t shape[3] = { 1, x->shape[0], weight->shape[1] };
    for (int i = 0; i < groups->count && !tape_failed(tape); i++) {
        int64_t start = groups->start[i], length = groups->end[i] - start;
        parts[i] = length
                       ? node_reshape(tape,
                                      compose_matmul(tape, node_slice(tape, x, 1, start, length, 1),
                                                     node_slice(tape, weight, 0, start, length, 1)),
                                      3, shape)
                       : node_constant(tape, x->dtype, 0, 3, shape);
    }
    return node_concatenate(tape, parts, groups->count, 0);
}

/* One matrix of rows in groups: by = 0 groups of rows with a (groups, k, n) weight, 2 groups of the inner dimension. */
static struct node *grouped(struct call *call, struct node *x, struct node *weight,
                            struct node *bias, int64_t by, bool cumulative)
{
    struct groups groups;
    if (!call_require(call,
                      x->rank == 2 && weight->rank == (by == 0 ? 3 : 2) && !x->integer &&
                          !weight->integer && (by == 0 || by == 2),
                      "groups of rows (0) take a weight of three dimensions, groups of the inner "
                      "dimension (2) one of two") ||
        !call_require(call, x->shape[1] == (by == 0 ? weight->shape[1] : weight->shape[0]),
                      "the factors of a grouped product do not fit") ||
        !call_require(call,
                      !bias || (by == 0 && bias->rank == 2 && bias->shape[0] == weight->shape[0]),
                      "the bias has a row for each group") ||
        !groups_read(call, &groups, "group_list", cumulative, x->shape[by == 0 ? 0 : 1]) ||
        !call_require(call, by != 0 || groups.count == weight->shape[0],
                      "%d groups for %lld matrices", groups.count, (long long)weight->shape[0]))
        return x;
    return by == 0 ? product_by_rows(call, x, weight, bias, &groups)
                   : product_by_inner(call, x, weight, &groups);
}

/* MindSpeed's; detail 1: group_list holds sizes rather than ends. */
static void gmm(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    struct node *y = grouped(call, x, call_tensor(call, "weight"),
                             call_optional_tensor(call, "bias"), call_int(call, "group_type"),
                             !call->op->detail);
    call_return_typed(call, y, x->dtype);
}

/* out + the product of each group, x being (rows, m), weight (rows, n) with the rows in groups; out holds the groups'
 * (m, n) one below the other. detail 1: MindSpeed's names. */
static void grouped_add(struct call *call)
{
    struct tape *tape = call->tape;
    bool own_names = call->op->detail;
    struct node *x = call_tensor(call, "x"), *w = call_tensor(call, own_names ? "dy" : "weight"),
                *out = call_tensor(call, own_names ? "grad" : "self");
    if (!call_require(call,
                      own_names ||
                          (call_bool(call, "transpose_x") && !call_bool(call, "transpose_weight") &&
                           call_int(call, "group_type") == 2),
                      "only x^T weight in groups of the inner dimension is followed here") ||
        !call_require(call, x->rank == 2 && w->rank == 2, "the factors are matrices"))
        return;
    struct node *y = grouped(call, node_transpose(tape, x, 0, 1), w, NULL, 2, true);
    if (!call_require(call, y->n == out->n, "%zu sums for %zu products", out->n, y->n)) return;
    call_return_typed(call, node_add(tape, out, node_reshape(tape, y, out->rank, out->shape)),
                      out->dtype);
}

static bool has_tensors(struct call *call, const char *name)
{
    const struct value *v = call_value(call, name);
    return v->kind != VALUE_NONE && !(v->kind == VALUE_LIST && !v->list.count);
}

/* x in one piece or in pieces, weight likewise: each piece by its own, or rows of the one x in groups. split_item 0 and
 * 1 return the pieces, 2 and 3 one tensor. */
static void grouped_matmul(struct call *call)
{
    struct tape *tape = call->tape;
    int xs, ws, biases = 0;
    struct node **x = call_tensors(call, "x", &xs), **w = call_tensors(call, "weight", &ws);
    struct node **bias = call_is_none(call, "bias") ? NULL : call_tensors(call, "bias", &biases);
    static const char *const quantized[] = { "offset", "antiquant_scale", "antiquant_offset",
                                             "activation_input", "per_token_scale" };
    int64_t item = call_is_none(call, "split_item") ? 0 : call_int(call, "split_item"),
            by = call_is_none(call, "group_type") ? -1 : call_int(call, "group_type"),
            act = call_is_none(call, "act_type") ? 0 : call_int(call, "act_type"),
            list = call_is_none(call, "group_list_type") ? 0 : call_int(call, "group_list_type");
    bool scaled = has_tensors(call, "scale");
    for (size_t k = 0; k < sizeof quantized / sizeof *quantized - scaled; k++)
        if (!call_require(call, !has_tensors(call, quantized[k]),
                          "quantized grouped products with '%s' are not followed here",
                          quantized[k]))
            return;
    if (!call_require(call, xs >= 1 && ws >= 1 && (list == 0 || list == 1),
                      "x and weight are lists of tensors; group_list_type is 0 or 1"))
        return;
    enum dtype dtype = call_dtype(call, "output_dtype");
    if (scaled) {
        return_grouped_quantized(call, dtype);
        return;
    }
    if (dtype == DT_NONE || !dtype_is_float(dtype)) dtype = x[0]->dtype;
    if (!biases) bias = NULL;
    if (xs == 1 && ws == 1 && by != -1) {
        struct node *y = grouped(call, x[0], w[0], bias ? bias[0] : NULL, by, list == 0);
        call_return_typed(call, node_activated(call, y, act), dtype);
        return;
    }
    struct node **parts = tape_allocate(tape, (size_t)ws + 1, sizeof *parts);
    struct groups groups;
    if (!parts ||
        !call_require(call, !bias || biases == ws, "%d biases for %d weights", biases, ws))
        return;
    if (xs == 1 && ws > 1) {
        if (!call_require(call, x[0]->rank == 2, "rows in groups are a matrix") ||
            !groups_read(call, &groups, "group_list", list == 0, x[0]->shape[0]) ||
            !call_require(call, groups.count == ws, "%d groups for %d matrices", groups.count, ws))
            return;
    } else if (!call_require(call, xs == ws, "%d matrices by %d matrices", xs, ws)) {
        return;
    }
    for (int i = 0; i < ws && !tape_failed(tape); i++) {
        struct node *own = xs == ws && xs > 1 ? x[i]
                           : xs == ws         ? x[0]
                                              : node_slice(tape, x[0], 0, groups.start[i],
                                                           groups.end[i] - groups.start[i], 1);
        if (!call_require(call, w[i]->rank == 2, "weight %d is no matrix", i)) return;
        parts[i] =
            compose_linear(tape, own, node_transpose(tape, w[i], 0, 1), bias ? bias[i] : NULL);
        parts[i] = node_activated(call, parts[i], act);
    }
    if (tape_failed(tape)) return;
    if (item < 2) {
        for (int i = 0; i < ws; i++) call_return_typed(call, parts[i], dtype);
        return;
    }
    call_return_typed(call, node_concatenate(tape, parts, ws, 0), dtype);
}

static bool is_quantized(struct call *call)
{
    static const char *const arguments[] = { "scale",
                                             "offset",
                                             "deq_scale1",
                                             "deq_scale2",
                                             "antiquant_scale1",
                                             "antiquant_scale2",
                                             "antiquant_offset1",
                                             "antiquant_offset2" };
    for (size_t k = 0; k < sizeof arguments / sizeof *arguments; k++)
        if (!call_require(call, call_is_none(call, arguments[k]),
                          "a quantized feed forward with '%s' is not followed here", arguments[k]))
            return true;
    return false;
}

/* Rows of tokens expert by expert, with a matrix and a bias for each. */
static bool read_experts(struct call *call, struct groups *groups, bool by_index, int64_t rows,
                         struct node *const weights[2], struct node *const biases[2])
{
    const struct node *b1 = biases[0], *b2 = biases[1];
    return groups_read(call, groups, by_index ? "expert_tokens_index" : "expert_tokens", by_index,
                       rows) &&
           call_require(
               call, groups->count == weights[0]->shape[0] && groups->count == weights[1]->shape[0],
               "%d experts for %lld matrices", groups->count, (long long)weights[0]->shape[0]) &&
           call_require(call,
                        (!b1 || (b1->rank == 2 && b1->shape[0] == groups->count)) &&
                            (!b2 || (b2->rank == 2 && b2->shape[0] == groups->count)),
                        "a bias has a row for each expert");
}

/* The activation that the call names, of y; of a gated one the first half's times the second. NULL when it is refused. */
static struct node *named_activation(struct call *call, struct node *y)
{
    static const char *const names[] = { "",     "relu",   "gelu",  "",     "fastgelu",
                                         "silu", "swiglu", "geglu", "reglu" };
    static const int64_t plain[] = { 5, 3, 1 }; /* of the gated ones: of their first half */
    struct tape *tape = call->tape;
    const char *activation = call_string(call, "activation");
    int64_t act = 0;
    for (int64_t k = 1; k < 9; k++)
        if (*names[k] && !strcmp(names[k], activation)) act = k;
    if (!call_require(call, act != 0, "the activation \"%s\" is not known", activation))
        return NULL;
    if (act < 6) return node_activated(call, y, act == 2 ? 3 : act);
    int64_t half = y->shape[1] / 2;
    if (!call_require(call, y->shape[1] % 2 == 0, "a gate has two halves")) return NULL;
    struct node *a = node_slice(tape, y, 1, 0, half, 1), *b = node_slice(tape, y, 1, half, half, 1);
    return node_multiply(tape, node_activated(call, a, plain[act - 6]), b);
}

/* activation(x W1 + b1) W2 + b2; with experts the rows in groups, each with its own weights. */
static void feed_forward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"),
                *weights[2] = { call_tensor(call, "weight1"), call_tensor(call, "weight2") },
                *biases[2] = { call_optional_tensor(call, "bias1"),
                               call_optional_tensor(call, "bias2") };
    if (is_quantized(call)) return;
    bool by_index = !call_is_none(call, "expert_tokens_index"),
         experts = by_index || !call_is_none(call, "expert_tokens");
    int64_t shape[TENSOR_MAX_RANK], flat[2] = { 1, 0 };
    if (!call_require(call,
                      x->rank >= 2 && !x->integer && weights[0]->rank == (experts ? 3 : 2) &&
                          weights[1]->rank == weights[0]->rank,
                      "weights are matrices, with experts one for each"))
        return;
    struct groups groups;
    memcpy(shape, x->shape, sizeof shape);
    flat[1] = shape[x->rank - 1];
    for (int d = 0; d < x->rank - 1; d++) flat[0] *= shape[d];
    struct node *y = node_reshape(tape, x, 2, flat);
    if (experts && !read_experts(call, &groups, by_index, flat[0], weights, biases)) return;
    for (int k = 0; k < 2; k++) {
        y = experts ? product_by_rows(call, y, weights[k], biases[k], &groups)
                    : compose_linear(tape, y, node_transpose(tape, weights[k], 0, 1), biases[k]);
        if (k == 0) y = named_activation(call, y);
        if (!y) return;
    }
    if (tape_failed(tape)) return;
    shape[x->rank - 1] = y->shape[1];
    call_return_typed(call, node_reshape(tape, y, x->rank, shape), x->dtype);
}

/* ---- causal convolution ------------------------------------------------------------------------------------ */

/* A call of the causal convolution: sequences, one after another (packed) or of one length, and the steps before each. */
struct causal {
    struct call *call;
    struct node *x, *taps, *states, *ends, *slots, *begins, *accepted;
    bool packed, adds;
    int64_t width, channels, batches;
};

static bool open_causal(struct causal *c, struct call *call)
{
    struct node *x = call_tensor(call, "x"), *taps = call_tensor(call, "weight"),
                *states = call_tensor(call, "conv_states"),
                *ends = call_optional_tensor(call, "query_start_loc"),
                *slots = call_optional_tensor(call, "cache_indices"),
                *begins = call_optional_tensor(call, "initial_state_mode"),
                *accepted = call_optional_tensor(call, "num_accepted_tokens");
    bool packed = call_int(call, "run_mode") == 0,
         adds = call_int(call, "residual_connection") == 1;
    const char *activation = call_string(call, "activation_mode");
    if (!call_require(call, !strcmp(activation, "None") && call_is_none(call, "bias"),
                      "an activation or a bias is not followed here") ||
        !call_require(call,
                      taps->rank == 2 && taps->shape[0] >= 2 && states->rank == 3 && !x->integer &&
                          !taps->integer && !states->integer && x->rank == (packed ? 2 : 3) &&
                          x->n && x->shape[x->rank - 1] == taps->shape[1] &&
                          states->shape[2] == taps->shape[1] && slots && slots->integer &&
                          slots->rank == 1,
                      "sequences, taps, states and their indices are needed"))
        return false;
    int64_t width = taps->shape[0], batches = slots->shape[0];
    *c = (struct causal){ call,     x,      taps, states, ends,           slots,  begins,
                          accepted, packed, adds, width,  taps->shape[1], batches };
    return call_require(
        call,
        packed
            ? ends && ends->integer && ends->n == (size_t)batches + 1 && begins &&
                  begins->integer && begins->n == (size_t)batches && states->shape[1] == width - 1
            : x->shape[0] == batches && states->shape[1] >= width - 1 &&
                  (!accepted || (accepted->integer && accepted->n == (size_t)batches)),
        "the lengths, modes and states do not fit the sequences");
}

/* Steps first .. last - 1 are those of a sequence, whose state begins at step `offset` of a slot. */
struct causal_sequence {
    int64_t slot, first, last, offset;
};

/* Of sequence b, which is the next one after step `at`. */
static bool read_causal_sequence(struct causal_sequence *s, const struct causal *c, int64_t b,
                                 int64_t at)
{
    struct call *call = c->call;
    bool packed = c->packed;
    *s = (struct causal_sequence){ c->slots->integer[b], packed ? c->ends->integer[b] : 0,
                                   packed ? c->ends->integer[b + 1] : c->x->shape[1],
                                   !packed && c->accepted ? c->accepted->integer[b] - 1 : 0 };
    return call_require(call, s->slot >= 0 && s->slot < c->states->shape[0], "state %lld of %lld",
                        (long long)s->slot, (long long)c->states->shape[0]) &&
           call_require(call,
                        !packed ||
                            (s->first == at && s->last >= s->first && s->last <= c->x->shape[0]),
                        "query_start_loc does not rise to the end") &&
           call_require(call, s->offset >= 0 && s->offset <= c->states->shape[1] - (c->width - 1),
                        "a state from step %lld on", (long long)s->offset) &&
           call_require(call, !packed || c->begins->integer[b] == 0 || c->begins->integer[b] == 1,
                        "initial_state_mode is 0 or 1");
}

/* The sum over taps of the steps of sequence b and of those before it. */
static struct node *convolved(const struct causal *c, const struct causal_sequence *s, int64_t b)
{
    struct tape *tape = c->call->tape;
    int64_t steps[2] = { s->last - s->first, c->channels }, none[2] = { c->width - 1, c->channels };
    struct node *own = c->packed ? node_slice(tape, c->x, 0, s->first, steps[0], 1)
                                 : node_reshape(tape, node_slice(tape, c->x, 0, b, 1, 1), 2, steps);
    struct node *state =
        c->packed && !c->begins->integer[b]
            ? node_constant(tape, c->x->dtype, 0, 2, none)
            : node_reshape(tape,
                           node_slice(tape, node_slice(tape, c->states, 0, s->slot, 1, 1), 1,
                                      s->offset, c->width - 1, 1),
                           2, none);
    struct node *whole = node_concatenate(tape, (struct node *[]){ state, own }, 2, 0), *y = NULL;
    for (int64_t w = 0; w < c->width; w++) {
        struct node *term = node_multiply(tape, node_slice(tape, whole, 0, w, steps[0], 1),
                                          node_slice(tape, c->taps, 0, w, 1, 1));
        y = y ? node_add(tape, y, term) : term;
    }
    return c->adds ? node_add(tape, y, own) : y;
}

/* Sequences (steps, channels) behind the states that precede them, each channel with its own taps, the last of which meets
 * the present; with residual_connection the input added. run_mode 0: packed sequences, whose state counts where
 * initial_state_mode is 1. run_mode 1: (batch, steps, channels), the state from the last accepted step on. */
static void causal_conv1d(struct call *call)
{
    struct tape *tape = call->tape;
    struct causal c;
    if (!open_causal(&c, call)) return;
    struct node **parts = tape_allocate(tape, (size_t)c.batches + 1, sizeof *parts);
    int64_t at = 0;
    int used = 0;
    for (int64_t b = 0; !tape_failed(tape) && b < c.batches; b++) {
        struct causal_sequence s;
        if (!read_causal_sequence(&s, &c, b, at)) return;
        at = s.last;
        if (s.last > s.first) parts[used++] = convolved(&c, &s, b);
    }
    if (!call_require(call, used >= 1 && (!c.packed || at == c.x->shape[0]),
                      "query_start_loc does not rise to the end"))
        return;
    call_return_typed(
        call, node_reshape(tape, node_concatenate(tape, parts, used, 0), c.x->rank, c.x->shape),
        c.x->dtype);
}

/* clang-format off */
#define GMM "(Tensor x, Tensor weight, *, Tensor? bias=None, Any group_list=None, int group_type=0, bool gemm_fusion=False, Any original_weight=None)"
#define FFN "(Tensor x, Tensor weight1, Tensor weight2, str activation, *, Any expert_tokens=None, Any expert_tokens_index=None, Tensor? bias1=None, Tensor? bias2=None, Tensor? scale=None, Tensor? offset=None, Tensor? deq_scale1=None, Tensor? deq_scale2=None, Tensor? antiquant_scale1=None, Tensor? antiquant_scale2=None, Tensor? antiquant_offset1=None, Tensor? antiquant_offset2=None, int? inner_precise=None, ScalarType? output_dtype=None)"
#define GROUPED "(Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None, Tensor[]? offset=None, Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None, Tensor[]? per_token_scale=None, Any group_list=None, Tensor[]? activation_input=None, Tensor[]? activation_quant_scale=None, Tensor[]? activation_quant_offset=None, int? split_item=0, int? group_type=-1, int? group_list_type=0, int? act_type=0, int[]? tuning_config=None, ScalarType? output_dtype=None, Any x_dtype=None, Any weight_dtype=None, Any scale_dtype=None, Any per_token_scale_dtype=None)"
const struct op ops_npu_products[] = {
    { "npu_linear", NPU, "(Tensor input, Tensor weight, Tensor? bias=None)", linear, OP_ONE_NODE, 0, NULL },
    { "npu_bmmV2", NPU, "(Tensor self, Tensor mat2, int[] output_sizes)", batched, OP_ONE_NODE, 0, NULL },
    { "npu_transpose_batchmatmul", NPU, "(Tensor input, Tensor weight, *, Tensor? bias=None, Tensor? scale=None, int[]? perm_x1=None, int[]? perm_x2=None, int[]? perm_y=None, int? batch_split_factor=1)", transposed_batches, OP_NO_GRADIENT, 0, NULL },
    { "npu_fused_matmul", NPU, "(Tensor x1, Tensor x2, *, Tensor? bias=None, Tensor? x3=None, str fused_op_type='')", fused_matmul, OP_NO_GRADIENT, 0, NULL },
    { "npu_matmul_add.npu_matmul_add_fp32", MINDSPEED, "(Tensor x, Tensor weight, Tensor C)", matmul_add, OP_NO_GRADIENT, 0, NULL },
    { "gmm.npu_gmm", MINDSPEED, GMM, gmm, OP_ONE_NODE, 0, NULL },
    { "gmm.npu_gmm_v2", MINDSPEED, GMM, gmm, OP_ONE_NODE, 1, NULL },
    { "npu_groupmatmul_add.npu_groupmatmul_add_fp32", MINDSPEED, "(Tensor x, Tensor dy, Tensor group_list, Tensor grad)", grouped_add, OP_NO_GRADIENT, 1, NULL },
    { "npu_grouped_matmul_add", NPU, "(Tensor self, Tensor x, Tensor weight, Tensor group_list, *, bool transpose_x=True, bool transpose_weight=False, int group_type=2, ...)", grouped_add, OP_NO_GRADIENT, 0, NULL },
    { "npu_grouped_matmul|npu_grouped_matmu", NPU, GROUPED, grouped_matmul, OP_ONE_NODE, 0, NULL },
    { "npu_fused_causal_conv1d", NPU, "(Tensor x, Tensor weight, Tensor conv_states, *, Tensor? query_start_loc=None, Tensor? cache_indices=None, Tensor? initial_state_mode=None, Tensor? bias=None, Tensor? num_accepted_tokens=None, str? activation_mode='None', int? pad_slot_id=-1, int? run_mode=0, int? residual_connection=0, ...)", causal_conv1d, OP_NO_GRADIENT, 0, NULL },
    { "npu_ffn", NPU, FFN, feed_forward, OP_NO_GRADIENT, 0, NULL },
    { "ffn.npu_ffn", MINDSPEED, FFN, feed_forward, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_products);
