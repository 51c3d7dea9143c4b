/* Steps of optimizers over lists of parameters: torch._fused_adam, _fused_adamw, _fused_sgd, and the scaling
 * of mixed precision.
 *
 * Their results are the new values of each list in turn: parameters, gradients, moments. A step is given a
 * scale of the gradients and whether one of them was infinite or NaN, and then does nothing. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/foreach.h"
#include "bench/ops/operands.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"

enum { MOST_LISTS = 6 };

/* The lists of a call: as long as the first, or empty. */
struct lists {
    int count;
    struct node **items[MOST_LISTS];
};

static bool read_lists(struct lists *lists, struct call *call, const char *const *names)
{
    if (!call_returns_lists(call)) return false;
    for (int k = 0; names[k]; k++) {
        int count;
        lists->items[k] = call_tensors(call, names[k], &count);
        if (k == 0) lists->count = count;
        if (!call_require(call, count == lists->count || count == 0,
                          "the list '%s' has %d items, the first %d", names[k], count,
                          lists->count))
            return false;
        if (!count) lists->items[k] = NULL;
    }
    return true;
}

static struct node *number(struct call *call, const char *name)
{
    return node_to_real(call->tape, call_node(call, call_value(call, name)));
}

/* Return list k: the new items, or the old ones where the gradients were not finite. */
static void return_list(struct call *call, const struct lists *lists, int k, struct node **fresh)
{
    struct tape *tape = call->tape;
    struct node *found = call_optional_tensor(call, "found_inf");
    for (int i = 0; lists->items[k] && i < lists->count && !tape_failed(tape); i++) {
        struct node *old = node_to_real(tape, lists->items[k][i]), *y = fresh[i];
        if (found) {
            struct node *skipped = node_compare(tape, COMPARE_EQ, found, node_scalar(tape, 1));
            y = node_select(tape, skipped, old, y);
        }
        call_return_typed(call, y, lists->items[k][i]->dtype);
    }
}

/* a state + (1 - a) fresh */
static struct node *blended(struct tape *tape, struct node *a, struct node *state,
                            struct node *fresh)
{
    struct node *rest = node_subtract(tape, node_scalar(tape, 1), a);
    return node_add(tape, node_multiply(tape, a, state), node_multiply(tape, rest, fresh));
}

/* 1 - beta^step */
static struct node *correction(struct tape *tape, struct node *beta, struct node *step)
{
    return node_subtract(tape, node_scalar(tape, 1), node_apply2(tape, "pow", beta, step));
}

enum {
    ADAM_PARAMETER,
    ADAM_GRADIENT,
    ADAM_FIRST,
    ADAM_SECOND,
    ADAM_LARGEST,
    ADAM_STEP,
    ADAM_LISTS
};

/* detail 1: AdamW, whose weight decay is no part of the gradient (Loshchilov and Hutter 2019). */
static void adam_step(struct call *call, const struct lists *lists, int i,
                      struct node *fresh[ADAM_LISTS])
{
    struct tape *tape = call->tape;
    struct node *p = lists->items[ADAM_PARAMETER][i], *g = lists->items[ADAM_GRADIENT][i];
    struct node *step = node_to_real(tape, lists->items[ADAM_STEP][i]);
    struct node *beta1 = number(call, "beta1"), *beta2 = number(call, "beta2"),
                *lr = number(call, "lr"), *decay = number(call, "weight_decay");
    struct node *scale = call_optional_tensor(call, "grad_scale");
    if (scale) g = node_divide(tape, g, scale);
    fresh[ADAM_GRADIENT] = g;
    if (call_bool(call, "maximize")) g = node_negate(tape, g);
    if (call->op->detail)
        p = node_subtract(tape, p, node_multiply(tape, node_multiply(tape, lr, decay), p));
    else if (call_real(call, "weight_decay") != 0)
        g = node_add(tape, g, node_multiply(tape, p, decay));
    struct node *m = blended(tape, beta1, lists->items[ADAM_FIRST][i], g);
    struct node *v = blended(tape, beta2, lists->items[ADAM_SECOND][i], node_multiply(tape, g, g));
    struct node *second = v;
    if (call_bool(call, "amsgrad") && call_require(call, lists->items[ADAM_LARGEST] != NULL,
                                                   "amsgrad needs the largest moments")) {
        struct node *most = lists->items[ADAM_LARGEST][i];
        second = node_select(tape, node_compare(tape, COMPARE_GE, most, v), most, v);
    }
    struct node *root = node_apply(tape, "sqrt", correction(tape, beta2, step));
    struct node *d = node_add(tape, node_divide(tape, node_apply(tape, "sqrt", second), root),
                              number(call, "eps"));
    struct node *size = node_divide(tape, lr, correction(tape, beta1, step));
    fresh[ADAM_PARAMETER] =
        node_subtract(tape, p, node_divide(tape, node_multiply(tape, size, m), d));
    fresh[ADAM_FIRST] = m;
    fresh[ADAM_SECOND] = v;
    fresh[ADAM_LARGEST] = second;
}

static void fused_adam(struct call *call)
{
    static const char *const names[] = { "input",       "grads",           "exp_avgs",
                                         "exp_avg_sqs", "max_exp_avg_sqs", "state_steps",
                                         NULL };
    struct lists lists;
    if (!read_lists(&lists, call, names)) return;
    struct node **fresh =
        tape_allocate(call->tape, (size_t)lists.count * ADAM_LISTS, sizeof *fresh);
    for (int k = 0; k < ADAM_LISTS; k++)
        if (!call_require(call, lists.items[k] || k == ADAM_LARGEST || !lists.count,
                          "the list '%s' is empty", names[k]))
            return;
    if (tape_failed(call->tape)) return;
    for (int i = 0; i < lists.count; i++) {
        struct node *own[ADAM_LISTS] = { NULL };
        adam_step(call, &lists, i, own);
        for (int k = 0; k < ADAM_LISTS; k++) fresh[k * lists.count + i] = own[k];
    }
    for (int k = 0; k < ADAM_STEP; k++)
        return_list(call, &lists, k, fresh + (ptrdiff_t)k * lists.count);
}

/* Of the first step the buffer is the gradient itself. */
static void fused_sgd(struct call *call)
{
    static const char *const names[] = { "input", "grads", "momentum_buffer_list", NULL };
    struct tape *tape = call->tape;
    struct lists lists;
    if (!read_lists(&lists, call, names)) return;
    struct node *momentum = number(call, "momentum"), *lr = number(call, "lr"),
                *scale = call_optional_tensor(call, "grad_scale"),
                *rest = node_subtract(tape, node_scalar(tape, 1), number(call, "dampening"));
    bool moves = call_real(call, "momentum") != 0;
    struct node **fresh = tape_allocate(tape, 3 * (size_t)lists.count, sizeof *fresh);
    if (!call_require(call, lists.items[1] || !lists.count, "the list 'grads' is empty") ||
        !call_require(call, lists.items[2] || !moves || !lists.count, "momentum needs buffers"))
        return;
    for (int i = 0; i < lists.count && !tape_failed(tape); i++) {
        struct node *p = lists.items[0][i], *g = lists.items[1][i], *buffer = NULL;
        if (scale) g = node_divide(tape, g, scale);
        fresh[lists.count + i] = g;
        if (call_bool(call, "maximize")) g = node_negate(tape, g);
        if (call_real(call, "weight_decay") != 0)
            g = node_add(tape, g, node_multiply(tape, p, number(call, "weight_decay")));
        if (moves) {
            buffer = call_bool(call, "is_first_step")
                         ? g
                         : node_add(tape, node_multiply(tape, momentum, lists.items[2][i]),
                                    node_multiply(tape, rest, g));
            g = call_bool(call, "nesterov")
                    ? node_add(tape, g, node_multiply(tape, momentum, buffer))
                    : buffer;
        }
        fresh[2 * lists.count + i] = buffer ? buffer : lists.items[2] ? lists.items[2][i] : NULL;
        fresh[i] = node_subtract(tape, p, node_multiply(tape, lr, g));
    }
    for (int k = 0; k < 3; k++) return_list(call, &lists, k, fresh + (ptrdiff_t)k * lists.count);
}

/* ---- mixed precision --------------------------------------------------------------------------------- */

/* Gradients times the inverse scale, and 1 if one of them is not finite, else what was found before. */
static void unscale(struct call *call)
{
    static const char *const names[] = { "input", NULL };
    struct tape *tape = call->tape;
    struct node *found = call_tensor(call, "found_inf"), *inverse = call_tensor(call, "inv_scale");
    struct lists lists;
    bool finite = true;
    if (!read_lists(&lists, call, names)) return;
    for (int i = 0; i < lists.count && !tape_failed(tape); i++) {
        struct node *x = lists.items[0][i];
        const double *value = node_values(tape, x);
        for (size_t e = 0; !tape_failed(tape) && e < x->n; e++)
            finite = finite && isfinite(value[e]);
        call_return_typed(call, node_multiply(tape, x, inverse), x->dtype);
    }
    call_return_typed(
        call, finite ? found : node_constant(tape, found->dtype, 1, found->rank, found->shape),
        found->dtype);
}

/* clang-format off */
#define MOMENTS "Tensor[] input, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps"
#define SCALING "Tensor? grad_scale=None, Tensor? found_inf=None)"
#define ADAM "(" MOMENTS ", *, Scalar lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, " SCALING
const struct op ops_optimizer[] = {
    { "_fused_adam", TORCH, ADAM, fused_adam, OP_NO_GRADIENT, 0, NULL },
    { "_fused_adamw", TORCH, ADAM, fused_adam, OP_NO_GRADIENT, 1, NULL },
    { "_fused_sgd", TORCH, "(Tensor[] input, Tensor[] grads, Tensor[] momentum_buffer_list, *, float weight_decay, float momentum, Scalar lr, float dampening, bool nesterov, bool maximize, bool is_first_step, " SCALING, fused_sgd, OP_NO_GRADIENT, 0, NULL },
    { "_amp_foreach_non_finite_check_and_unscale", TORCH, "(Tensor[] input, Tensor found_inf, Tensor inv_scale)", unscale, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(optimizer);
