/* Losses and optimizer steps of torch_npu and MindSpeed, by their documentation (op-plugin, docs/context; MindSpeed,
 * docs/ops). npu_cross_entropy_loss stands with the losses over classes (loss_class.c). */
#include <math.h>

#include "bench/call/op.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"

/* ---- losses --------------------------------------------------------------------------------- */

/* softmax(x) - labels for each row, whatever the labels add up to: TensorFlow's, whose kernel it is. */
static void logits_gradient(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    struct node *x = node->inputs[1], *labels = node->inputs[2];
    int64_t column[2] = { (int64_t)cotangent->n, 1 };
    (void)parameters;
    struct node *slope = node_subtract(tape, node_softmax(tape, x, 1), labels);
    tape_accumulate(tape, x, node_multiply(tape, node_reshape(tape, cotangent, 2, column), slope));
}

/* -sum(labels log_softmax(x)) of each row. */
static void softmax_cross_entropy(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *labels = call_tensor(call, "labels");
    if (!call_require(call,
                      x->rank == 2 && labels->rank == 2 && labels->shape[0] == x->shape[0] &&
                          labels->shape[1] == x->shape[1] && !x->integer && !labels->integer,
                      "logits and labels are two matrices of one shape"))
        return;
    struct node *terms = node_multiply(tape, labels, node_log_softmax(tape, x, 1));
    struct node *loss = node_negate(tape, node_sum(tape, terms, 2, false));
    loss =
        node_stated_gradient(tape, loss, 2, (struct node *[]){ x, labels }, logits_gradient, NULL);
    call_return_typed(call, loss, x->dtype);
}

/* ---- optimizers ------------------------------------------------------------------------------- */

static struct node *blend(struct tape *tape, struct node *state, struct node *fresh, double decay)
{
    return node_add(tape, node_scale(tape, state, decay), node_scale(tape, fresh, 1 - decay));
}

/* Adam with decay in the gradient (mode 0) or in the step (mode 1), and a moving average of the weights. */
static void fused_ema_adamw(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *grad = call_tensor(call, "grad"), *var = call_tensor(call, "var"),
                *m = call_tensor(call, "m"), *v = call_tensor(call, "v"),
                *s = call_tensor(call, "s");
    double step = call_real(call, "step"), lr = call_real(call, "lr"),
           beta1 = call_real(call, "beta1"), beta2 = call_real(call, "beta2"),
           decay = call_real(call, "weight_decay");
    int64_t mode = call_int(call, "mode");
    bool corrected = call_bool(call, "bias_correction");
    if (!call_require(call, mode == 0 || mode == 1, "the mode is 0 or 1")) return;
    const struct node *states[4] = { var, m, v, s };
    for (int k = 0; k < 4; k++)
        if (!call_require(call, states[k]->n == grad->n && !states[k]->integer && !grad->integer,
                          "the gradient and the state have one shape"))
            return;
    double correction1 = corrected ? 1 - pow(beta1, step) : 1,
           correction2 = corrected ? 1 - pow(beta2, step) : 1;
    struct node *decayed = node_scale(tape, var, decay);
    if (mode == 0) grad = node_add(tape, grad, decayed);
    m = blend(tape, m, grad, beta1);
    v = blend(tape, v, node_multiply(tape, grad, grad), beta2);
    struct node *root =
        node_apply(tape, "sqrt", node_divide(tape, v, node_scalar(tape, correction2)));
    struct node *update = node_divide(tape, node_divide(tape, m, node_scalar(tape, correction1)),
                                      node_offset(tape, root, call_real(call, "eps")));
    if (mode == 1) update = node_add(tape, update, decayed);
    struct node *next = node_subtract(tape, var, node_scale(tape, update, lr));
    call_return_typed(call, next, var->dtype);
    call_return_typed(call, m, states[1]->dtype);
    call_return_typed(call, v, states[2]->dtype);
    call_return_typed(call, blend(tape, s, next, call_real(call, "ema_decay")), s->dtype);
}

/* clang-format off */
const struct op ops_npu_loss[] = {
    { "npu_softmax_cross_entropy_with_logits", NPU, "(Tensor self, Tensor labels)", softmax_cross_entropy, OP_ONE_NODE, 0, NULL },
    { "npu_apply_fused_ema_adamw.npu_apply_fused_ema_adamw", MINDSPEED, "(Tensor grad, Tensor var, Tensor m, Tensor v, Tensor s, Scalar step, float lr=0.001, float ema_decay=0.9999, float beta1=0.9, float beta2=0.999, float eps=1e-08, int mode=1, bool bias_correction=True, float weight_decay=0.0)", fused_ema_adamw, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_loss);
