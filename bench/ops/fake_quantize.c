/* Fake quantization behind an observer, as training with quantization has it (aten's _fused_moving_avg_obs_fq_helper).
 *
 * The observer keeps moving averages of the smallest and the largest element, of the whole tensor or for each channel; they
 * give a scale and a zero point (fbgemm's ChooseQuantizationParams, which the kernels of all devices copy), and
 *
 *     y = (clamp(round(x / scale) + zero, quant_min, quant_max) - zero) scale,   mask = "was not clamped",
 *
 * whose gradient passes where the mask is. A kernel rounds its own x / scale, a few roundings of float32 off, and its own zero
 * point: where more than one integer is right, the device's is taken. */
#include <math.h>

#include "bench/call/device_answer.h"
#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"

/* Smaller scales are raised to this by some of the kernels. */
static const double least_scale = 6.1e-5;

/* Roundings between an element, or an end of the range, and what is rounded to an integer. */
enum { ROUNDINGS = 16 };

/* The grid of one channel: steps from the zero point, and one less or more where the zero point is open. */
struct grid {
    double scale, zero;
    bool open;
};

struct quantized {
    struct call *call;
    struct node *x, *scale; /* scale: broadcast over x */
    double low, high;
    int64_t channels, inner; /* element i belongs to channel i / inner % channels */
    struct grid *grids;
};

static const struct grid *grid_of(const struct quantized *q, size_t i)
{
    return q->grids + (int64_t)i / q->inner % q->channels;
}

/* The larger (sign 1) or smaller of an end and 0. */
static struct node *within_zero(struct tape *tape, struct node *end, int sign)
{
    struct node *zero = node_scalar(tape, 0);
    struct node *within = node_compare(tape, sign > 0 ? COMPARE_GT : COMPARE_LT, end, zero);
    return node_select(tape, within, end, zero);
}

static bool is_on(struct call *call, const char *name)
{
    struct node *flag = node_to_real(call->tape, call_tensor(call, name));
    const double *value = node_values(call->tape, flag);
    return !tape_failed(call->tape) && flag->n == 1 && value[0] != 0;
}

/* An end of the observed range: of x where nothing was observed before, a moving average otherwise, or while the observer is off what was
 * observed before; 0 lies within. */
static struct node *observed_end(struct quantized *q, const char *name, uint32_t dims, int sign)
{
    struct call *call = q->call;
    struct tape *tape = call->tape;
    struct node *now = node_extremum(tape, q->x, dims, true, sign), *zero = node_scalar(tape, 0);
    struct node *before = node_to_real(tape, call_tensor(call, name));
    if (!call_require(call, (int64_t)before->n == q->channels,
                      "%s has %zu elements for %lld channels", name, before->n,
                      (long long)q->channels))
        return now;
    before = node_reshape(tape, before, now->rank, now->shape);
    struct node *infinite = node_compare(tape, COMPARE_EQ, node_apply(tape, "abs", before),
                                         node_scalar(tape, INFINITY));
    struct node *start = node_select(tape, infinite, zero, before);
    if (!is_on(call, "observer_on")) return within_zero(tape, before, sign);
    struct node *step =
        node_scale(tape, node_subtract(tape, now, start), call_real(call, "averaging_const"));
    struct node *end = node_select(tape, infinite, now,
                                   node_add(tape, start, node_model_error(tape, step, step, 1)));
    return within_zero(tape, end, sign);
}

/* A symmetric range: as far as the larger of both sides in steps, -(levels / 2 + 1) and levels / 2 of them. */
static struct node *symmetric_scale(struct tape *tape, struct node *least, struct node *most,
                                    double levels)
{
    struct node *below = node_scale(tape, least, -1 / (floor(levels / 2) + 1));
    struct node *above = node_scale(tape, most, 1 / floor(levels / 2));
    struct node *larger =
        node_select(tape, node_compare(tape, COMPARE_GT, above, below), above, below);
    return node_scale(tape, larger, (2 * floor(levels / 2) + 1) / levels);
}

/* The zero point, rounded and within the integers. Kernels take it from the end whose quotient is the smaller: both give the same. */
static void find_zero(struct grid *grid, const struct quantized *q, double least, bool centred)
{
    double zero = centred ? (q->low + q->high) / 2 : q->low - least / grid->scale;
    double room = ROUNDINGS * 0x1p-24 * (fabs(zero) + fabs(q->low) + fabs(q->high));
    grid->zero = fmin(fmax(rint(zero), q->low), q->high);
    grid->open = !centred && fabs(fabs(zero - rint(zero)) - 0.5) <= room;
}

/* Scale and zero point by what is observed; false after a failure. */
static bool observe(struct quantized *q, uint32_t dims)
{
    struct call *call = q->call;
    struct tape *tape = call->tape;
    bool symmetric = call_bool(call, "symmetric_quant");
    struct node *least = observed_end(q, "running_min", dims, -1);
    struct node *most = observed_end(q, "running_max", dims, 1);
    double levels = q->high - q->low;
    q->scale = node_scale(tape, node_subtract(tape, most, least), 1 / levels);
    if (symmetric) {
        struct node *zero = node_scalar(tape, 0);
        struct node *sides = symmetric_scale(tape, least, most, levels);
        struct node *both = node_compare(tape, COMPARE_LT, node_multiply(tape, most, least), zero);
        q->scale = node_select(tape, both, sides, q->scale);
    }
    const double *scale = node_values(tape, q->scale), *a = node_values(tape, least),
                 *b = node_values(tape, most);
    for (int64_t c = 0; !tape_failed(tape) && c < q->channels; c++) {
        if (!call_require(call, scale[c] >= least_scale && isfinite(scale[c]),
                          "a scale of %g is raised by some kernels and not by others", scale[c]))
            return false;
        q->grids[c] = (struct grid){ .scale = scale[c] };
        find_zero(q->grids + c, q, a[c], symmetric && a[c] < 0 && b[c] > 0);
    }
    return !tape_failed(tape);
}

/* Steps from the zero point: may a kernel have k of them for an element at `at`, with this zero point? */
static bool may_have(const struct quantized *q, double at, double k, double zero)
{
    double room = 0.5 + ROUNDINGS * 0x1p-24 * (fabs(at) + 1);
    return fabs(k - fmin(fmax(at, q->low - zero), q->high - zero)) <= room;
}

/* Is k right, and if it is not clamped (or is), the mask of it? */
static bool is_right(const struct quantized *q, size_t i, double at, double k, bool kept)
{
    const struct grid *grid = grid_of(q, i);
    double room = 0.5 + ROUNDINGS * 0x1p-24 * (fabs(at) + 1);
    for (int shift = grid->open ? -1 : 0; shift <= grid->open; shift++) {
        double zero = grid->zero + shift, low = q->low - zero, high = q->high - zero;
        bool inside = kept ? at >= low - room && at <= high + room
                           : at <= low - 1 + room || at >= high + 1 - room;
        if (may_have(q, at, k, zero) && inside) return true;
    }
    return false;
}

/* The integers, as real numbers, and which elements were not clamped. */
static struct node *steps_of(struct quantized *q, struct node **mask)
{
    struct call *call = q->call;
    struct tape *tape = call->tape;
    struct node *steps = node_new_real(tape, DT_NONE, q->x->rank, q->x->shape);
    struct node *got = call_device_numbers(call, 0, q->x->n),
                *kept = call_device_numbers(call, 1, q->x->n);
    const double *x = node_values(tape, q->x);
    *mask = node_new_integer(tape, DT_BOOL, q->x->rank, q->x->shape);
    call->device_answer.consulted = true;
    if (tape_failed(tape)) return steps;
    for (size_t i = 0; i < q->x->n; i++) {
        const struct grid *grid = grid_of(q, i);
        double at = x[i] / grid->scale, low = q->low - grid->zero, high = q->high - grid->zero;
        steps->value[i] = fmin(fmax(rint(at), low), high);
        (*mask)->integer[i] = rint(at) >= low && rint(at) <= high;
        if (!got || got->integer || (call->op->detail && (!kept || !kept->integer))) continue;
        double k = rint(got->value[i] / grid->scale);
        for (int inside = 0; inside < 2; inside++) {
            if (call->op->detail && inside != (kept->integer[i] != 0)) continue;
            if (!is_right(q, i, at, k, inside)) continue;
            steps->value[i] = k;
            (*mask)->integer[i] = inside;
        }
    }
    return steps;
}

static void observed_fake_quantize(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_to_real(tape, call_tensor(call, "input")), *mask;
    bool by_channel = call_bool(call, "per_row_fake_quant");
    struct quantized q = { .call = call,
                           .x = x,
                           .low = (double)call_int(call, "quant_min"),
                           .high = (double)call_int(call, "quant_max"),
                           .channels = 1,
                           .inner = 1 };
    uint32_t dims = x->rank ? (1u << x->rank) - 1 : 0;
    if (!call_require(call, x->rank && x->n && q.high > q.low, "an empty tensor is observed"))
        return;
    if (by_channel) {
        int axis = call_dim(call, "ch_axis", x->rank);
        if (tape_failed(tape)) return;
        q.channels = x->shape[axis];
        for (int d = axis + 1; d < x->rank; d++) q.inner *= x->shape[d];
        dims &= ~(1u << axis);
    } else {
        q.inner = (int64_t)x->n;
    }
    if (!is_on(call, "fake_quant_on")) { /* nothing is done to x */
        struct node *all = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
        for (size_t i = 0; !tape_failed(tape) && i < all->n; i++) all->integer[i] = 1;
        call_return_typed(call, node_alias(tape, x, x->dtype), x->dtype);
        if (call->op->detail) call_return(call, all);
        return;
    }
    q.grids = tape_allocate(tape, (size_t)q.channels, sizeof *q.grids);
    if (!q.grids || !observe(&q, dims)) return;
    struct node *steps = steps_of(&q, &mask);
    struct node *y = node_multiply(tape, steps, q.scale);
    struct node *through = node_select(tape, mask, x, node_scalar(tape, 0));
    call_return_typed(call, node_straight_through(tape, y, through), x->dtype);
    if (call->op->detail) call_return(call, mask);
}

/* clang-format off */
#define OBSERVED "(Tensor input, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False)"
const struct op ops_fake_quantize[] = {
    { "_fused_moving_avg_obs_fq_helper", ATEN, OBSERVED, observed_fake_quantize, OP_ONE_NODE, 1, NULL },
    { "fused_moving_avg_obs_fake_quant", TORCH, OBSERVED, observed_fake_quantize, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(fake_quantize);
