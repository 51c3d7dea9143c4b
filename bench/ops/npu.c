/* Fused operators of torch_npu, by their definitions, in full precision throughout.
 *
 * Where the bench functions users know from other tools deviate from the operator (weights left
 * out of layer_norm_eval, -40000 in place of a mask, float32 inside, gradients only for some
 * broadcast patterns), the operator's definition holds here; docs/peer-differences.md lists it.
 */
#include <math.h>
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/normalization.h"
#include "bench/ops/operands.h"
#include "bench/ops/settling.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/sorting.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- optimizers --------------------------------------------------------------------------- */

/* The three state tensors given as out=(var, m, v). */
static bool optimizer_state(struct call *call, struct node **state)
{
    const struct value *out = value_find(&call->api_case->kwargs, "out");
    if (!call_require(call, out && out->kind == VALUE_LIST && out->list.count == 3,
                      "%s needs out=(var, m, v)", call->api_case->api))
        return false;
    for (int k = 0; k < 3; k++) state[k] = call_node(call, &out->list.items[k]);
    return !tape_failed(call->tape);
}

static struct node *blend(struct tape *tape, struct node *state, struct node *fresh, double decay)
{
    return node_add(tape, node_scale(tape, state, decay), node_scale(tape, fresh, 1 - decay));
}

/* Decoupled weight decay. With amsgrad the given running maximum is used. */
static void apply_adam_w(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *state[3], *grad = call_tensor(call, "grad");
    if (!optimizer_state(call, state)) return;
    double beta1 = call_real(call, "beta1"), beta2 = call_real(call, "beta2");
    double power1 = call_real(call, "beta1_power") * beta1,
           power2 = call_real(call, "beta2_power") * beta2;
    double lr = call_real(call, "lr"), eps = call_real(call, "epsilon");
    if (call_bool(call, "maximize")) grad = node_negate(tape, grad);
    struct node *m = blend(tape, state[1], grad, beta1);
    struct node *v = blend(tape, state[2], node_multiply(tape, grad, grad), beta2);
    struct node *decayed = node_scale(tape, state[0], 1 - lr * call_real(call, "weight_decay"));
    struct node *second = v;
    if (call_bool(call, "amsgrad")) {
        struct node *most = call_tensor(call, "max_grad_norm");
        second = node_select(tape, node_compare(tape, COMPARE_GE, most, v), most, v);
    }
    double correction1 = 1 - power1 == 0 ? eps : 1 - power1,
           correction2 = 1 - power2 == 0 ? eps : 1 - power2;
    struct node *d = node_offset(
        tape, node_apply(tape, "sqrt", node_divide(tape, second, node_scalar(tape, correction2))),
        eps);
    struct node *step = node_divide(tape, node_scale(tape, m, -lr / correction1), d);
    call_return_typed(call, node_add(tape, decayed, step), state[0]->dtype);
    call_return_typed(call, m, state[1]->dtype);
    call_return_typed(call, v, state[2]->dtype);
}

static void apply_adam(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *state[3], *grad = call_tensor(call, "grad");
    if (!optimizer_state(call, state)) return;
    double beta1 = call_real(call, "beta1"), beta2 = call_real(call, "beta2");
    double lr = call_real(call, "lr") * sqrt(1 - call_real(call, "beta2_power")) /
                (1 - call_real(call, "beta1_power"));
    struct node *m = blend(tape, state[1], grad, beta1);
    struct node *v = blend(tape, state[2], node_multiply(tape, grad, grad), beta2);
    struct node *top = call_bool(call, "use_nesterov") ? blend(tape, m, grad, beta1) : m;
    struct node *d = node_offset(tape, node_apply(tape, "sqrt", v), call_real(call, "epsilon"));
    call_return_typed(
        call, node_subtract(tape, state[0], node_divide(tape, node_scale(tape, top, lr), d)),
        state[0]->dtype);
    call_return_typed(call, m, state[1]->dtype);
    call_return_typed(call, v, state[2]->dtype);
}

/* ---- elementwise, norms -------------------------------------------------------------------- */

/* x exp(0.851 (x - |x|)) / (1 + exp(-1.702 |x|)) = x sigmoid(1.702 x) */
static struct node *fast_gelu_of(struct tape *tape, struct node *x)
{
    return node_multiply(tape, x, node_apply(tape, "sigmoid", node_scale(tape, x, 1.702)));
}

static void fast_gelu(struct call *call)
{
    struct node *x = call_tensor(call, "self");
    call_return_typed(call, fast_gelu_of(call->tape, x), x->dtype);
}

static void mish(struct call *call)
{
    struct node *x = call_tensor(call, "self");
    call_return_typed(call, node_apply(call->tape, "mish", x), x->dtype);
}

static void layer_norm_eval(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    uint32_t dims = normalized_dims(call, x);
    struct node *y = compose_normalize(tape, x, dims, call_real(call, "eps"), NULL, NULL);
    call_return_typed(call,
                      scale_and_shift(tape, y, call_optional_tensor(call, "weight"),
                                      call_optional_tensor(call, "bias")),
                      x->dtype);
}

/* (x r gamma, r) with r = 1 / rms in float32. Differentiable through both outputs. */
static void rms_norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *gamma = call_tensor(call, "gamma");
    if (!call_require(call, x->rank && gamma->rank <= x->rank,
                      "gamma has more dimensions than the input"))
        return;
    uint32_t dims = last_dims(x, gamma->rank);
    struct node *square = node_mean(tape, node_multiply(tape, x, x), dims, true);
    struct node *r =
        node_apply(tape, "rsqrt", node_offset(tape, square, call_real(call, "epsilon")));
    call_return_typed(call, node_multiply(tape, node_multiply(tape, x, r), gamma), x->dtype);
    call_return_typed(call, r, DT_F32);
}

static void group_norm_silu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mean, *rstd;
    int64_t groups = call_int(call, "group"), stats[2] = { x->rank ? x->shape[0] : 1, groups };
    struct node *y = normalize_groups(call, x, groups, call_real(call, "eps"), &mean, &rstd);
    call_return_typed(call, node_apply(tape, "silu", y), x->dtype);
    call_return_typed(call, node_reshape(tape, mean, 2, stats), x->dtype);
    call_return_typed(call, node_reshape(tape, rstd, 2, stats), x->dtype);
}

/* ---- halves: rotary embedding and gated activations ------------------------------------------- */

static bool halves(struct call *call, struct node *x, int dim, struct node **first,
                   struct node **second)
{
    int64_t extent = x->rank ? x->shape[dim] : 1;
    if (!call_require(call, extent % 2 == 0, "dimension %d has odd extent %lld", dim,
                      (long long)extent))
        return false;
    *first = node_slice(call->tape, x, dim, 0, extent / 2, 1);
    *second = node_slice(call->tape, x, dim, extent / 2, extent / 2, 1);
    return true;
}

/* r1 x + r2 rotate(x); rotate gives [-b, a] of halves, or of neighbouring pairs. */
static void rotate(struct call *call, bool interleaved)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *r1 = call_tensor(call, "r1"),
                *r2 = call_tensor(call, "r2");
    struct node *a, *b, *turned;
    if (interleaved) {
        int64_t pairs[TENSOR_MAX_RANK];
        if (!call_require(call, x->rank >= 1 && x->rank != TENSOR_MAX_RANK,
                          "the input has %d dimensions", x->rank))
            return;
        memcpy(pairs, x->shape, sizeof pairs);
        pairs[x->rank - 1] = x->shape[x->rank - 1] / 2;
        pairs[x->rank] = 2;
        struct node *split = node_reshape(tape, x, x->rank + 1, pairs);
        a = node_slice(tape, split, x->rank, 0, 1, 1);
        b = node_slice(tape, split, x->rank, 1, 1, 1);
        struct node *parts[2] = { node_negate(tape, b), a };
        turned = node_reshape(tape, node_concatenate(tape, parts, 2, x->rank), x->rank, x->shape);
    } else {
        if (!halves(call, x, x->rank - 1, &a, &b)) return;
        struct node *parts[2] = { node_negate(tape, b), a };
        turned = node_concatenate(tape, parts, 2, x->rank - 1);
    }
    call_return_typed(call,
                      node_add(tape, node_multiply(tape, r1, x), node_multiply(tape, r2, turned)),
                      x->dtype);
}

static void rotary_mul(struct call *call)
{
    rotate(call, !strcmp(call_string(call, "rotary_mode"), "interleave"));
}

/* That of MindSpore; mode: 0 halves, 1 neighbouring pairs. */
static void rotary_position_embedding(struct call *call)
{
    int64_t mode = call_int(call, "mode");
    if (!call_require(call, mode == 0 || mode == 1, "the mode %lld is not known", (long long)mode))
        return;
    rotate(call, mode == 1);
}

static void swiglu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *a, *b;
    if (tape_failed(tape) || !halves(call, x, call_dim(call, "dim", x->rank), &a, &b)) return;
    call_return_typed(call, node_multiply(tape, node_apply(tape, "silu", a), b), x->dtype);
}

/* ---- layout, sorting, gating ----------------------------------------------------------------------- */

static struct node *confusion(struct call *call, struct node *x, bool transpose_first)
{
    struct tape *tape = call->tape;
    int64_t perm[TENSOR_MAX_RANK], shape[TENSOR_MAX_RANK];
    int order[TENSOR_MAX_RANK];
    int dims = call_ints(call, "perm", perm, TENSOR_MAX_RANK),
        rank = call_ints(call, "shape", shape, TENSOR_MAX_RANK);
    if (!transpose_first) x = node_reshape(tape, x, rank, shape);
    if (!call_require(call, dims == x->rank, "perm has %d entries for %d dimensions", dims,
                      x->rank))
        return x;
    uint32_t seen = 0;
    for (int d = 0; d < dims; d++) {
        order[d] = wrap_dim(call, perm[d], dims);
        if (seen >> order[d] & 1) call_fail(call, "perm names dimension %d twice", order[d]);
        seen |= 1u << order[d];
    }
    x = node_permute(tape, x, order);
    return transpose_first ? node_reshape(tape, x, rank, shape) : x;
}

static void confusion_transpose(struct call *call)
{
    struct node *x = call_tensor(call, "self");
    call_return(call, confusion(call, x, call_bool(call, "transpose_first")));
}

static void linear(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight");
    call_return(call, compose_linear(call->tape, x, w, call_optional_tensor(call, "bias")));
}

static void sort_v2(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self");
    if (!call_require(call, !x->imaginary, "complex numbers have no order")) return;
    int dim = call_dim(call, "dim", x->rank);
    struct node *positions = sort_positions(tape, x, dim, call_bool(call, "descending"));
    call_return(call, x->rank ? node_take_along(tape, x, dim, positions) : x);
}

/* Positions of the k largest experts of each row. Of equal ones the device's choice counts, which
 * its second output tells, but for finished rows: they report the expert number E. */
static struct node *chosen_experts(struct call *call, struct node *x, const struct node *finished,
                                   int64_t k)
{
    struct tape *tape = call->tape;
    int last = x->rank - 1;
    size_t experts = (size_t)x->shape[last];
    struct node *own = node_slice(tape, sort_positions(tape, x, last, true), last, 0, k, 1);
    struct node *theirs = call_device_integers(call, 1, own);
    if (!theirs) return own;
    for (size_t i = 0; finished && i < own->n; i++) {
        if (!finished->integer[i / (size_t)k]) continue;
        if (theirs->integer[i] != (int64_t)experts) return own;
        theirs->integer[i] = own->integer[i];
    }
    bool right = positions_tie(x, last, own, theirs) &&
                 positions_are_distinct(tape, theirs, last, experts);
    return right ? theirs : own;
}

/* Top k of a softmax, which keeps the order, over experts; the experts, and the number of each
 * choice counted column by column. */
static void moe_gating(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *finished = call_optional_tensor(call, "finished");
    int64_t k = call_int(call, "k"), experts = x->rank ? x->shape[x->rank - 1] : 0;
    int64_t rows = experts ? (int64_t)x->n / experts : 0;
    if (!call_require(call, k >= 1 && k <= experts, "k is %lld for %lld experts", (long long)k,
                      (long long)experts) ||
        !call_require(call, !finished || (finished->integer && finished->n == (size_t)rows),
                      "finished must tell true or false of each of the %lld rows", (long long)rows))
        return;
    struct node *index = chosen_experts(call, x, finished, k);
    struct node *reported = node_new_integer(tape, DT_I32, x->rank, index->shape),
                *choice = node_new_integer(tape, DT_I32, x->rank, index->shape);
    for (int64_t i = 0; !tape_failed(tape) && i < rows * k; i++) {
        bool is_finished = finished && finished->integer[i / k];
        reported->integer[i] = is_finished ? experts : index->integer[i];
        choice->integer[i] = i % k * rows + i / k;
    }
    struct node *p = node_softmax(tape, x, x->rank - 1);
    call_return_typed(call, node_take_along(tape, p, x->rank - 1, index), x->dtype);
    call_return(call, reported);
    call_return(call, choice);
}

/* ---- attention ---------------------------------------------------------------------------------------- */

/* True (masked) where column - row > above or row - column > below. */
static struct node *outside_band(struct tape *tape, int64_t rows, int64_t columns, int64_t above,
                                 int64_t below)
{
    return node_not(tape, node_band(tape, rows, columns, above, below));
}

/* softmax over the last dimension of scores with masked entries left out; a row with nothing
 * left is 0, as the fused operators define it. */
static struct node *masked_softmax(struct tape *tape, struct node *scores, struct node *mask)
{
    if (!mask) return node_softmax(tape, scores, scores->rank - 1);
    int last = scores->rank - 1;
    struct node *full = node_broadcast(tape, mask, scores->rank, scores->shape);
    if (tape_failed(tape)) return tape_failure(tape);
    struct node *open = node_new_integer(tape, DT_BOOL, scores->rank, scores->shape);
    int64_t width = scores->shape[last];
    struct node *dead = node_new_integer(tape, DT_BOOL, scores->rank, scores->shape);
    for (size_t first = 0; !tape_failed(tape) && first < scores->n; first += (size_t)width) {
        bool any = false;
        for (int64_t j = 0; j < width; j++) any = any || !full->integer[first + (size_t)j];
        for (int64_t j = 0; j < width; j++) {
            open->integer[first + (size_t)j] = !any || !full->integer[first + (size_t)j];
            dead->integer[first + (size_t)j] = !any;
        }
    }
    struct node *p =
        node_softmax(tape, node_select(tape, open, scores, node_scalar(tape, -INFINITY)), last);
    return node_select(tape, dead, node_scalar(tape, 0), p);
}

static void scaled_masked_softmax(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *mask = call_tensor(call, "mask");
    if (!call_require(call, x->rank >= 2, "scores have at least two dimensions")) return;
    if (call_bool(call, "fixed_triu_mask"))
        mask = outside_band(tape, x->shape[x->rank - 2], x->shape[x->rank - 1], 0, INT64_MAX);
    /* This operator adds nothing: masked scores are replaced by -10000. */
    struct node *z = node_select(tape, mask, node_scalar(tape, -10000),
                                 node_scale(tape, x, call_real(call, "scale")));
    call_return_typed(call, node_softmax(tape, z, z->rank - 1), x->dtype);
}

/* Bring a layout to (B, N, S, D). */
static struct node *to_bnsd(struct call *call, struct node *x, const char *layout, int64_t heads)
{
    struct tape *tape = call->tape;
    if (!strcmp(layout, "BNSD")) return x;
    if (!strcmp(layout, "BSND")) return node_transpose(tape, x, 1, 2);
    bool sbh = !strcmp(layout, "SBH");
    if (!call_require(call,
                      (sbh || strcmp(layout, "BSH") == 0) && x->rank == 3 && heads >= 1 &&
                          x->shape[2] % heads == 0,
                      "input_layout \"%s\" with these shapes is not in the catalogue", layout))
        return x;
    int64_t shape[4] = { x->shape[0], x->shape[1], heads, x->shape[2] / heads };
    struct node *split = node_reshape(tape, x, 4, shape);
    int order[4] = { sbh ? 1 : 0, 2, sbh ? 0 : 1, 3 };
    return node_permute(tape, split, order);
}

static struct node *from_bnsd(struct tape *tape, struct node *x, const char *layout)
{
    if (!strcmp(layout, "BNSD")) return x;
    if (!strcmp(layout, "BSND")) return node_transpose(tape, x, 1, 2);
    bool sbh = !strcmp(layout, "SBH");
    int order[4] = { sbh ? 2 : 0, sbh ? 0 : 2, 1, 3 };
    struct node *y = node_permute(tape, x, order);
    int64_t shape[3] = { y->shape[0], y->shape[1], y->shape[2] * y->shape[3] };
    return node_reshape(tape, y, 3, shape);
}

/* A number of tokens, no more than lets sums with lengths of sequences be formed. */
static int64_t token_window(struct call *call, const char *name)
{
    const int64_t most = INT64_C(1) << 60;
    int64_t tokens = call_int(call, name);
    return tokens > most ? most : tokens < -most ? -most : tokens;
}

/* The mask the operator works with: given, or implied by sparse_mode and the token window. The
 * compressed 2048 x 2048 masks of modes 2 to 4 stand for the triangles they are cut from. */
static struct node *attention_mask(struct call *call, int64_t rows, int64_t columns)
{
    struct tape *tape = call->tape;
    struct node *given = call_optional_tensor(call, "atten_mask");
    int64_t mode = call_int(call, "sparse_mode");
    int64_t before = token_window(call, "pre_tockens"), after = token_window(call, "next_tockens");
    switch (mode) {
    case 0:
        if (given) return given;
        return before >= columns && after >= columns
                   ? NULL
                   : outside_band(tape, rows, columns, after, before);
    case 1: return given;
    case 2: return outside_band(tape, rows, columns, 0, INT64_MAX);
    case 3: return outside_band(tape, rows, columns, columns - rows, INT64_MAX);
    case 4:
        return outside_band(tape, rows, columns, columns - rows + after, before - (columns - rows));
    default:
        call_fail(call, "sparse_mode %lld is not in the catalogue", (long long)mode);
        return NULL;
    }
}

/* Repeat key and value heads for grouped queries. */
static struct node *repeat_heads(struct tape *tape, struct node *x, int64_t heads)
{
    if (x->shape[1] == heads) return x;
    int64_t lone[5] = { x->shape[0], x->shape[1], 1, x->shape[2], x->shape[3] };
    int64_t wide[5] = { x->shape[0], x->shape[1], heads / x->shape[1], x->shape[2], x->shape[3] };
    int64_t joined[4] = { x->shape[0], heads, x->shape[2], x->shape[3] };
    return node_reshape(tape, node_broadcast(tape, node_reshape(tape, x, 5, lone), 5, wide), 4,
                        joined);
}

static void fusion_attention(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *q = call_tensor(call, "query"), *k = call_tensor(call, "key"),
                *v = call_tensor(call, "value");
    const char *layout = call_string(call, "input_layout");
    int64_t heads = call_int(call, "head_num");
    enum dtype dtype = q->dtype;
    if (!call_require(call, call_real(call, "keep_prob") == 1,
                      "attention with dropout draws random numbers: there is no value to compare"))
        return;
    /* Heads of key and value: from the head width where heads are folded into the last dimension. */
    bool folded = strlen(layout) == 3;
    int rank = folded ? 3 : 4;
    if (!call_require(call, q->rank == rank && k->rank == rank && v->rank == rank,
                      "input_layout \"%s\" with these shapes is not in the catalogue", layout))
        return;
    int64_t width = folded && heads > 0 ? q->shape[q->rank - 1] / heads : 1;
    int64_t key_heads = folded && width > 0 ? k->shape[k->rank - 1] / width : 0;
    q = to_bnsd(call, q, layout, heads);
    k = to_bnsd(call, k, layout, key_heads);
    v = to_bnsd(call, v, layout, key_heads);
    if (!call_require(call, k->shape[1] >= 1 && heads % k->shape[1] == 0,
                      "%lld query heads do not divide into %lld key heads", (long long)heads,
                      (long long)k->shape[1]))
        return;
    if (!call_require(call, v->shape[1] == k->shape[1], "%lld key heads and %lld value heads",
                      (long long)k->shape[1], (long long)v->shape[1]))
        return;
    k = repeat_heads(tape, k, heads);
    v = repeat_heads(tape, v, heads);
    double scale = call_is_none(call, "scale") ? 1 / sqrt((double)q->shape[3])
                                               : call_real(call, "scale");
    struct node *scores = compose_matmul(tape, q, node_transpose(tape, k, 2, 3)),
                *pse = call_optional_tensor(call, "pse");
    if (!call_require(call, !pse || pse->rank <= 4, "pse has %d dimensions", pse->rank)) return;
    if (pse) scores = node_add(tape, scores, pse);
    scores = node_scale(tape, scores, scale);
    struct node *mask = attention_mask(call, scores->shape[2], scores->shape[3]);
    if (!call_require(call, !mask || mask->integer,
                      "atten_mask must tell true or false of each score"))
        return;
    struct node *p = masked_softmax(tape, scores, mask);
    call_return_typed(call, from_bnsd(tape, compose_matmul(tape, p, v), layout), dtype);
}

/* ---- explicit backward functions ------------------------------------------------------------------------ */

/* The gradient of a forward composition at given inputs: seed it, walk back, and return the
 * cotangents of `inputs`. The inputs become tracked leaves of this tape. */
static void return_gradients(struct call *call, struct node *y, struct node *seed,
                             struct node *const *inputs, int count)
{
    struct tape *tape = call->tape;
    if (tape_failed(tape)) return;
    tape_accumulate(tape, y, node_reshape(tape, seed, y->rank, y->shape));
    tape_backward(tape);
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        struct node *d = inputs[i]->cotangent;
        if (!d) d = node_constant(tape, inputs[i]->dtype, 0, inputs[i]->rank, inputs[i]->shape);
        call_return_typed(call, d, inputs[i]->dtype);
    }
}

static struct node *tracked(struct call *call, const char *name)
{
    struct node *x = call_tensor(call, name);
    x->tracked = true;
    return x;
}

static void fast_gelu_backward(struct call *call)
{
    struct node *x = tracked(call, "self");
    return_gradients(call, fast_gelu_of(call->tape, x), call_tensor(call, "grad"), &x, 1);
}

static void linear_backward(struct call *call)
{
    struct node *in[2] = { tracked(call, "input"), tracked(call, "weight") };
    return_gradients(call, compose_linear(call->tape, in[0], in[1], NULL),
                     call_tensor(call, "grad"), in, 2);
}

static void swiglu_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = tracked(call, "self"), *a, *b;
    if (!halves(call, x, call_dim(call, "dim", x->rank), &a, &b)) return;
    return_gradients(call, node_multiply(tape, node_apply(tape, "silu", a), b),
                     call_tensor(call, "grad_output"), &x, 1);
}

/* dgamma is reduced to gamma's shape. */
static void rms_norm_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *in[2] = { tracked(call, "self"), tracked(call, "gamma") };
    struct node *r = call_tensor(call, "rstd"), *dy = call_tensor(call, "dy");
    if (!call_require(call, in[1]->rank <= in[0]->rank, "gamma has more dimensions than the input"))
        return;
    uint32_t dims = last_dims(in[0], in[1]->rank);
    struct node *scaled = node_multiply(tape, node_multiply(tape, dy, in[1]), r);
    struct node *mean = node_mean(tape, node_multiply(tape, scaled, in[0]), dims, true);
    struct node *turned =
        node_multiply(tape, node_multiply(tape, in[0], node_multiply(tape, r, r)), mean);
    call_return_typed(call, node_subtract(tape, scaled, turned), in[0]->dtype);
    struct node *dgamma = node_multiply(tape, node_multiply(tape, dy, in[0]), r);
    call_return_typed(call, node_sum_to_shape(tape, dgamma, in[1]->rank, in[1]->shape),
                      in[1]->dtype);
}

static void matmul_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *in[2] = { tracked(call, "self"), tracked(call, "other") };
    return_gradients(call, compose_matmul(tape, in[0], in[1]), call_tensor(call, "grad"), in, 2);
}

/* clang-format off */
#define AFFINE "Tensor? weight=None, Tensor? bias=None"
const struct op ops_npu[] = {
    { "npu_apply_adam_w", NPU, "(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar weight_decay, Scalar beta1, Scalar beta2, Scalar epsilon, Tensor grad, Tensor? max_grad_norm=None, bool? amsgrad=False, bool? maximize=False, ...)", apply_adam_w, OP_NO_GRADIENT, 0, NULL },
    { "npu_apply_adam", NPU, "(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar beta1, Scalar beta2, Scalar epsilon, Tensor grad, bool? use_locking=False, bool? use_nesterov=False, ...)", apply_adam, OP_NO_GRADIENT, 0, NULL },
    { "npu_fast_gelu|fast_gelu", NPU, "(Tensor self)", fast_gelu, OP_ONE_NODE, 0, NULL },
    { "npu_mish", NPU, "(Tensor self)", mish, OP_ONE_NODE, 0, NULL },
    { "npu_layer_norm_eval", NPU, "(Tensor input, int[] normalized_shape, " AFFINE ", float eps=1e-05)", layer_norm_eval, OP_ONE_NODE, 0, NULL },
    { "npu_rms_norm", NPU, "(Tensor self, Tensor gamma, float epsilon=1e-05)", rms_norm, OP_ONE_NODE, 0, NULL },
    { "npu_group_norm_silu", NPU, "(Tensor input, Tensor? weight, Tensor? bias, int group, float eps=1e-05)", group_norm_silu, 0, 0, NULL },
    { "rotary_position_embedding", MINDSPORE, "(Tensor self, Tensor r1, Tensor r2, int mode)", rotary_position_embedding, 0, 0, NULL },
    { "npu_rotary_mul", NPU, "(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half')", rotary_mul, OP_ONE_NODE, 0, NULL },
    { "npu_swiglu", NPU, "(Tensor self, int dim=-1)", swiglu, OP_ONE_NODE, 0, NULL },
    { "npu_confusion_transpose", NPU, "(Tensor self, int[] perm, int[] shape, bool transpose_first)", confusion_transpose, OP_ONE_NODE, 0, NULL },
    { "npu_linear", NPU, "(Tensor input, Tensor weight, Tensor? bias=None)", linear, OP_ONE_NODE, 0, NULL },
    { "npu_sort_v2", NPU, "(Tensor self, int dim=-1, bool descending=False, ...)", sort_v2, 0, 0, NULL },
    { "npu_moe_gating_top_k_softmax", NPU, "(Tensor x, Tensor? finished=None, int k=1)", moe_gating, 0, 0, NULL },
    { "npu_scaled_masked_softmax", NPU, "(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False)", scaled_masked_softmax, OP_ONE_NODE, 0, NULL },
    { "npu_fusion_attention", NPU, "(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, float? scale=None, float keep_prob=1.0, int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int[]? prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, ...)", fusion_attention, OP_ONE_NODE, 0, NULL },
    { "npu_fast_gelu_backward", NPU | ATEN, "(Tensor grad, Tensor self)", fast_gelu_backward, OP_NO_GRADIENT, 0, NULL },
    { "npu_linear_backward", NPU | ATEN, "(Tensor grad, Tensor input, Tensor weight)", linear_backward, OP_NO_GRADIENT, 0, NULL },
    { "npu_swiglu_backward", NPU | ATEN, "(Tensor grad_output, Tensor self, int dim=-1)", swiglu_backward, OP_NO_GRADIENT, 0, NULL },
    { "npu_rms_norm_backward", NPU | ATEN, "(Tensor dy, Tensor self, Tensor gamma, Tensor rstd)", rms_norm_backward, OP_NO_GRADIENT, 0, NULL },
    { "matmul_backward", ATEN, "(Tensor grad, Tensor self, Tensor other, Any mask=None)", matmul_backward, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu);
