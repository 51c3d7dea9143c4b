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

/* Decoupled weight decay without a correction of the averages. The operator's two published kernels divide a gradient
 * by its norm where that exceeds 1, or by its norm over the greatest one: what both do is followed. */
static void bert_apply_adam(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *state[3], *grad = call_tensor(call, "grad");
    if (!optimizer_state(call, state)) return;
    double most = call_real(call, "max_grad_norm"), norm = call_real(call, "global_grad_norm");
    int64_t mode = call_int(call, "adam_mode");
    bool clips = most > 0 && norm > 1;
    if (!call_require(call, mode == 0 || mode == 1, "adam_mode is 0 or 1") ||
        !call_require(call, !(most > 0) || most == 1 || norm <= fmin(most, 1),
                      "how far a gradient of norm %g is clipped to %g is not published", norm,
                      most))
        return;
    if (clips) grad = node_scale(tape, grad, 1 / norm);
    double lr = call_real(call, "lr");
    double step = mode == 0 || call_is_none(call, "step_size") ? lr : call_real(call, "step_size");
    struct node *m = blend(tape, state[1], grad, call_real(call, "beta1"));
    struct node *v =
        blend(tape, state[2], node_multiply(tape, grad, grad), call_real(call, "beta2"));
    struct node *d = node_offset(tape, node_apply(tape, "sqrt", v), call_real(call, "epsilon"));
    struct node *decayed = node_scale(tape, state[0], 1 - lr * call_real(call, "weight_decay"));
    struct node *moved = node_scale(tape, node_divide(tape, m, d), step);
    call_return_typed(call, node_subtract(tape, decayed, moved), state[0]->dtype);
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

/* ---- sorting, gating ----------------------------------------------------------------------- */

static void sort_v2(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self");
    if (!call_require(call, !x->imaginary, "complex numbers have no order")) return;
    int dim = call_dim(call, "dim", x->rank);
    struct node *positions = sort_positions(tape, x, dim, call_bool(call, "descending"));
    call_return(call, x->rank ? node_take_along(tape, x, dim, positions) : x);
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
    { "npu_bert_apply_adam", NPU, "(Scalar lr, Scalar beta1, Scalar beta2, Scalar epsilon, Tensor grad, Scalar max_grad_norm, Scalar global_grad_norm, Scalar weight_decay, Scalar? step_size=None, int adam_mode=0, ...)", bert_apply_adam, OP_NO_GRADIENT, 0, NULL },
    { "npu_fast_gelu|fast_gelu", NPU, "(Tensor self)", fast_gelu, OP_ONE_NODE, 0, NULL },
    { "npu_mish", NPU, "(Tensor self)", mish, OP_ONE_NODE, 0, NULL },
    { "npu_layer_norm_eval", NPU, "(Tensor input, int[] normalized_shape, " AFFINE ", float eps=1e-05)", layer_norm_eval, OP_ONE_NODE, 0, NULL },
    { "npu_sort_v2", NPU, "(Tensor self, int dim=-1, bool descending=False, ...)", sort_v2, 0, 0, NULL },
    { "npu_fast_gelu_backward", NPU | ATEN, "(Tensor grad, Tensor self)", fast_gelu_backward, OP_NO_GRADIENT, 0, NULL },
    { "npu_linear_backward", NPU | ATEN, "(Tensor grad, Tensor input, Tensor weight)", linear_backward, OP_NO_GRADIENT, 0, NULL },
    { "npu_rms_norm_backward", NPU | ATEN, "(Tensor dy, Tensor self, Tensor gamma, Tensor rstd)", rms_norm_backward, OP_NO_GRADIENT, 0, NULL },
    { "matmul_backward", ATEN, "(Tensor grad, Tensor self, Tensor other, Any mask=None)", matmul_backward, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu);
