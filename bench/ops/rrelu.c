/* rrelu, a leaky relu whose slope is random in training: a property of the slopes that were drawn, and values by those that the device's
 * output shows. */
#include <math.h>
#include <stdio.h>

#include "bench/call/op.h"
#include "bench/ops/activation.h"
#include "bench/ops/properties.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"

struct slopes {
    double low, high;
    const struct node *x;
};

/* Positive inputs stay; others are multiplied by draws from the uniform distribution: each in its
 * range, their mean within 6.2 sigma (1e-9). */
static bool slopes_hold(const struct bench_property *property, const struct tensor *got,
                        char *reason, size_t reason_bytes)
{
    const struct slopes *slopes = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    double margin = 4 * dtype_ulp(got->dtype, 1), sum = 0, count = 0;
    double *drawn = arena_allocate_array(&arena, 2 * slopes->x->n, sizeof *drawn);
    bool holds = false;
    if (!drawn || tensor_densify(&dense, &arena, got).code) {
        (void)snprintf(reason, reason_bytes, "there is no memory to test the distribution");
        goto done;
    }
    dtype_to_double(drawn, dense.data, dense.dtype, slopes->x->n);
    for (size_t i = 0; i < slopes->x->n; i++) {
        double x = slopes->x->value[i], y = drawn[i];
        double a = x > 0 ? x : x * slopes->low, b = x > 0 ? x : x * slopes->high;
        double slack = margin * (fabs(a) + fabs(b)) + dtype_ulp(got->dtype, 0);
        if (isinf(x) && isinf(y)) continue;
        if (isnan(x) ? !isnan(y) : !(y >= fmin(a, b) - slack && y <= fmax(a, b) + slack)) {
            (void)snprintf(reason, reason_bytes,
                           "element %zu is %g for input %g: no slope in [%g, %g]", i, y, x,
                           slopes->low, slopes->high);
            goto done;
        }
        if (!(x < 0) || slack > 0x1p-6 * fabs(x)) continue;
        sum += y / x;
        count++;
    }
    double middle = (slopes->low + slopes->high) / 2,
           sigma = (slopes->high - slopes->low) / sqrt(12 * fmax(count, 1));
    holds = fabs(sum - count * middle) <= count * (6.2 * sigma + margin * slopes->high) + 1e-9;
    if (!holds)
        (void)snprintf(reason, reason_bytes, "the mean of %g slopes is %g; it should be near %g",
                       count, sum / count, middle);
done:
    arena_release(&arena);
    return holds;
}

/* The slopes drawn: native ones by us, the device's as its output shows them, a product that was rounded. At 0 and beyond all
 * numbers it shows none: the one in the middle, which a model lets be any. NULL: not known. */
static struct node *drawn_slopes(struct call *call, struct node *x, double low, double high)
{
    struct tape *tape = call->tape;
    const struct tensor *got = tape_is_reference(tape) ? call_device_output(call, 0) : NULL;
    struct node *y = got ? node_leaf(tape, got, false) : NULL;
    if (tape_is_reference(tape) && (!y || y->n != x->n || y->integer)) return NULL;
    struct node *slopes = node_new_real(tape, DT_NONE, x->rank, x->shape);
    struct node *unseen = node_new_real(tape, DT_NONE, x->rank, x->shape);
    const double *from = node_values(tape, x), *to = y ? node_values(tape, y) : NULL;
    double unit = got ? ldexp(1, -dtype_info(got->dtype)->significand_bits) : 0;
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++) {
        bool shown = to && from[i] != 0 && isfinite(from[i]);
        slopes->value[i] = shown ? to[i] / from[i]
                           : to  ? (low + high) / 2
                                 : low + (high - low) * random_uniform(call, i);
        unseen->value[i] = shown ? fabs(slopes->value[i]) * unit : (high - low) / 2;
    }
    return node_model_error(tape, slopes, unseen, (tape_is_typical(tape) ? 4 : 1) / tape->unit);
}

static void rrelu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = activation_piecewise_input(call);
    double low = call_real(call, "lower"), high = call_real(call, "upper");
    if (!call_bool(call, "training")) {
        call_return(call, leaky_part(tape, x, (low + high) / 2));
        return;
    }
    struct slopes *slopes = tape_allocate(tape, 1, sizeof *slopes);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    (void)node_values(tape, x);
    struct node *drawn = drawn_slopes(call, x, low, high), *y = NULL;
    if (tape_failed(tape)) return;
    *slopes = (struct slopes){ low, high, x };
    *property =
        (struct bench_property){ "slopes within the limits, their mean within 6.2 sigma (1e-9)",
                                 slopes_hold, slopes };
    if (drawn)
        y = node_select(tape, node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0)), x,
                        node_multiply(tape, x, drawn));
    call_return_random(call, y, x->dtype, x->rank, x->shape, property);
}

/* By the slopes drawn in training, which stand in `noise`. */
static void rrelu_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_tracked(tape, activation_input(call)), *y;
    double low = call_real(call, "lower"), high = call_real(call, "upper");
    if (call_bool(call, "training") && high - low > 1e-6)
        y = node_multiply(tape, x, call_tensor(call, "noise"));
    else y = leaky_part(tape, x, (low + high) / 2);
    call_return(call, call_gradient(call, y, call_tensor(call, "grad_output"), x));
}

/* clang-format off */
const struct op ops_rrelu[] = {
    { "rrelu", FUNCTIONAL | TORCH, "(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool inplace=False)", rrelu, OP_ONE_NODE, 0, NULL },
    { "rrelu_with_noise", ATEN, "(Tensor input, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None)", rrelu, OP_ONE_NODE, 0, NULL },
    { "rrelu_with_noise_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result)", rrelu_backward, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(rrelu);
