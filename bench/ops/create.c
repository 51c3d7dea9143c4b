/* Creation: ranges, constants, windows, identity; fill and zero.
 *
 * Ranges are compositions (start + i step) and so carry bounds; windows evaluate in balls,
 * whose radius is the bound.
 */
#include <arb_hypgeom.h>
#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/call/op.h"
#include "bench/ops/integers.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/scan.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/promotion.h"

/* ---- constants ---------------------------------------------------------------------- */

/* The dtype PyTorch gives a Python number by itself. */
static enum dtype number_dtype(const struct value *value)
{
    switch (value->kind) {
    case VALUE_BOOL: return DT_BOOL;
    case VALUE_INT: return DT_I64;
    case VALUE_TENSOR: return value->tensor.tensor ? value->tensor.tensor->dtype : DT_F32;
    default: return DT_F32;
    }
}

/* `value` (a number or a one-element tensor) in every element. */
static struct node *filled(struct call *call, const struct value *value, enum dtype dtype, int rank,
                           const int64_t *shape)
{
    struct tape *tape = call->tape;
    struct node *number =
        node_reshape(tape, node_cast(tape, call_node(call, value), dtype), 0, NULL);
    return node_broadcast(tape, number, rank, shape);
}

static void return_filled(struct call *call, const struct value *value, enum dtype dtype, int rank,
                          const int64_t *shape)
{
    struct node *y = filled(call, value, dtype, rank, shape);
    call_return_typed(call, y, dtype);
}

/* The number `detail` of ones and zeros. */
static struct value detail_value(const struct call *call)
{
    return (struct value){ .kind = VALUE_INT, .integer = call->op->detail };
}

/* full(size, fill_value) */
static void full(struct call *call)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = call_ints(call, "size", shape, TENSOR_MAX_RANK);
    enum dtype dtype = call_dtype(call, "dtype");
    const struct value *value = call_value(call, "fill_value");
    return_filled(call, value, dtype == DT_NONE ? number_dtype(value) : dtype, rank, shape);
}

/* ones and zeros of a size: detail is the number. */
static void constant(struct call *call)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = call_ints(call, "size", shape, TENSOR_MAX_RANK);
    enum dtype dtype = call_dtype(call, "dtype");
    struct value value = detail_value(call);
    return_filled(call, &value, dtype == DT_NONE ? DT_F32 : dtype, rank, shape);
}

/* full_like; ones_like and zeros_like (text): detail is the number. */
static void constant_like(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_dtype(call, "dtype");
    struct value value = call->op->text ? detail_value(call) : *call_value(call, "fill_value");
    return_filled(call, &value, dtype == DT_NONE ? x->dtype : dtype, x->rank, x->shape);
}

/* new_full, new_ones, new_zeros: as above with a size of their own. */
static void constant_new(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK];
    int rank = call_ints(call, "size", shape, TENSOR_MAX_RANK);
    enum dtype dtype = call_dtype(call, "dtype");
    struct value value = call->op->text ? detail_value(call) : *call_value(call, "fill_value");
    return_filled(call, &value, dtype == DT_NONE ? x->dtype : dtype, rank, shape);
}

/* fill_ and zero_ (text): every element the value, nothing of self left, its
 * gradient zero. */
static void fill(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *value;
    if (call->op->text) value = node_integer_constant(tape, x->dtype, 0, 0, NULL);
    else value = node_cast(tape, call_tensor(call, "value"), x->dtype);
    if (!call_require(call, value->n == 1 && !value->rank,
                      "the value to fill with must be one number"))
        return;
    struct node *never = node_integer_constant(tape, DT_BOOL, 0, 0, NULL);
    call_return_typed(call, node_select(tape, never, x, value), x->dtype);
}

static void eye(struct call *call)
{
    int64_t shape[2] = { call_int(call, "n"), 0 };
    shape[1] = call_is_none(call, "m") ? shape[0] : call_int(call, "m");
    enum dtype dtype = call_dtype(call, "dtype");
    struct node *out = node_new_integer(call->tape, DT_BOOL, 2, shape);
    if (tape_failed(call->tape)) return;
    memset(out->integer, 0, out->n * sizeof *out->integer);
    for (int64_t i = 0; i < shape[0] && i < shape[1]; i++) out->integer[i * shape[1] + i] = 1;
    call_return_typed(call, out, dtype == DT_NONE ? DT_F32 : dtype);
}

/* ---- tensors of Python data --------------------------------------------------------- */

/* Shape, dtype and elements of nested lists; `out` is NULL in the first pass. */
struct literal {
    struct call *call;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    enum dtype dtype;
    double *real;
    int64_t *integer;
    size_t n;
};

static void literal_walk(struct literal *literal, const struct value *value, int depth)
{
    if (value->kind == VALUE_LIST || value->kind == VALUE_SIZE) {
        int64_t count = (int64_t)value->list.count;
        if (depth == literal->rank && literal->n == 0 && depth < TENSOR_MAX_RANK)
            literal->shape[literal->rank++] = count;
        if (depth >= literal->rank || literal->shape[depth] != count) {
            call_fail(literal->call, "the nested lists are ragged");
            return;
        }
        for (int64_t i = 0; i < count; i++) literal_walk(literal, &value->list.items[i], depth + 1);
        return;
    }
    struct node *item = call_node(literal->call, value);
    if (depth != literal->rank || item->n != 1)
        call_fail(literal->call, "the data is not an array of numbers");
    if (tape_failed(literal->call->tape)) return;
    literal->dtype = dtype_promote(literal->dtype, number_dtype(value));
    if (literal->real)
        literal->real[literal->n] = item->integer ? (double)item->integer[0]
                                                  : *node_values(literal->call->tape, item);
    if (literal->integer && item->integer) literal->integer[literal->n] = item->integer[0];
    literal->n++;
}

/* tensor, as_tensor, scalar_tensor, new_tensor: text is the parameter that has the data;
 * detail 1 takes the dtype of `input` by default, 2 float32. */
static void tensor(struct call *call)
{
    struct tape *tape = call->tape;
    const struct value *data = call_value(call, call->op->text);
    enum dtype dtype = call_dtype(call, "dtype");

    if (data->kind == VALUE_TENSOR) {
        struct node *x = call_node(call, data);
        call_return_typed(call, x, dtype == DT_NONE ? x->dtype : dtype);
        return;
    }
    struct literal literal = { .call = call };
    literal_walk(&literal, data, 0);
    if (dtype == DT_NONE && call->op->detail == 1) dtype = call_tensor(call, "input")->dtype;
    if (dtype == DT_NONE)
        dtype = call->op->detail == 2 || literal.dtype == DT_NONE ? DT_F32 : literal.dtype;
    bool integral = literal.dtype != DT_NONE && dtype_is_integral(literal.dtype);
    struct node *out = integral ? node_new_integer(tape, literal.dtype, literal.rank, literal.shape)
                                : node_new_real(tape, dtype_is_integral(dtype) ? DT_F64 : dtype,
                                                literal.rank, literal.shape);
    if (!call_require(call, out->n == literal.n, "the nested lists are ragged")) return;
    literal.n = 0;
    literal.real = out->integer ? NULL : out->value;
    literal.integer = out->integer;
    literal_walk(&literal, data, 0);
    if (!out->integer && dtype_info(dtype)->kind == KIND_FLOAT && dtype_info(dtype)->bytes < 8) {
        /* Python's doubles are stored rounded. */
        for (size_t i = 0; i < out->n; i++) {
            unsigned char narrow[8];
            dtype_from_double(narrow, dtype, &out->value[i], 1);
            dtype_to_double(&out->value[i], narrow, dtype, 1);
        }
    }
    call_return_typed(call, out, dtype);
}

/* ---- ranges ---------------------------------------------------------------------------- */

enum { MOST_STEPS = 1 << 28, MOST_OF_WINDOW = 1 << 20, MOST_OF_KAISER = 1 << 14, MOST_BETA = 1024 };

static bool is_countable(struct call *call, int64_t n)
{
    return call_require(call, n >= 0 && n <= MOST_STEPS, "a range of %lld elements", (long long)n);
}

/* 0, 1, ..., n - 1 as reals. */
static struct node *counting(struct call *call, int64_t n)
{
    if (!is_countable(call, n)) return node_scalar(call->tape, 0);
    struct node *i = node_new_real(call->tape, DT_NONE, 1, &n);
    for (size_t k = 0; !tape_failed(call->tape) && k < i->n; k++) i->value[k] = (double)k;
    return i;
}

static bool is_whole(struct call *call, const char *name)
{
    enum value_kind kind = call_value(call, name)->kind;
    return kind == VALUE_INT || kind == VALUE_BOOL;
}

/* How many steps lead from start to before end (inclusive: up to it). */
static uint64_t steps_between(int64_t start, int64_t end, int64_t step, bool inclusive)
{
    bool up = step > 0;
    uint64_t distance = up ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    uint64_t width = up ? (uint64_t)step : 0 - (uint64_t)step;
    return distance / width + (inclusive || distance % width);
}

/* Bounds and step of a range; only `end` is an argument of every row. */
struct range {
    bool from_zero, inclusive;
    double start, end, step;
};

/* PyTorch cuts the bounds to integers, but counts the steps of the narrow dtypes before. */
static void integer_range(struct call *call, const struct range *range, enum dtype dtype)
{
    int64_t start = range->from_zero ? 0 : call_int(call, "start"), end = call_int(call, "end");
    int64_t step = range->from_zero ? 1 : call_int(call, "step"), n = MOST_STEPS + 1;
    if (!call_require(call, step && (step > 0 ? start <= end : start >= end),
                      "from %lld to %lld by %lld is not a range", (long long)start, (long long)end,
                      (long long)step))
        return;
    uint64_t whole = steps_between(start, end, step, range->inclusive);
    double exact = ceil((range->end - range->start) / range->step);
    if (dtype == DT_I64 || range->inclusive) n = whole < MOST_STEPS ? (int64_t)whole : n;
    else n = exact < MOST_STEPS ? (int64_t)exact : n;
    if (!is_countable(call, n)) return;
    struct node *out = node_new_integer(call->tape, DT_I64, 1, &n);
    for (size_t i = 0; !tape_failed(call->tape) && i < out->n; i++)
        out->integer[i] = wrapping_add(start, wrapping_multiply((int64_t)i, step));
    call_return_typed(call, out, dtype);
}

/* arange; range (detail 1) includes its end and is float32 by default. text "end": one bound. */
static void arange(struct call *call)
{
    struct tape *tape = call->tape;
    struct range range = { call->op->text != NULL, call->op->detail != 0, 0, 0, 1 };
    range.end = call_real(call, "end");
    bool whole = is_whole(call, "end");
    if (!range.from_zero) {
        range.start = call_real(call, "start");
        range.step = call_real(call, "step");
        whole = whole && is_whole(call, "start") && is_whole(call, "step");
    }
    enum dtype dtype = call_dtype(call, "dtype");
    if (dtype == DT_NONE) dtype = whole && !range.inclusive ? DT_I64 : DT_F32;
    double start = range.start, end = range.end, step = range.step;
    if (!call_require(call,
                      step != 0 && isfinite(start) && isfinite(end) && !isnan(step) &&
                          (step > 0 ? start <= end : start >= end),
                      "from %g to %g by %g is not a range", start, end, step))
        return;
    if (dtype_is_integral(dtype)) {
        integer_range(call, &range, dtype);
        return;
    }
    double steps = (end - start) / step, count = range.inclusive ? floor(steps) + 1 : ceil(steps);
    struct node *i = counting(call, count > MOST_STEPS ? MOST_STEPS + 1 : (int64_t)count);
    call_return_typed(call, node_offset(tape, node_scale(tape, i, step), start), dtype);
}

/* start + i (end - start) / (steps - 1) */
static struct node *between(struct call *call, double start, double end, int64_t steps)
{
    struct tape *tape = call->tape;
    struct node *i = counting(call, steps);
    if (steps < 2) return node_offset(tape, i, start);
    struct node *width = node_subtract(tape, node_scalar(tape, end), node_scalar(tape, start));
    return node_offset(
        tape,
        node_divide(tape, node_multiply(tape, i, width), node_scalar(tape, (double)(steps - 1))),
        start);
}

static void linspace(struct call *call)
{
    double start = call_real(call, "start"), end = call_real(call, "end");
    int64_t steps = call_int(call, "steps");
    enum dtype dtype = call_dtype(call, "dtype");

    if (dtype == DT_NONE) dtype = DT_F32;
    if (!dtype_is_integral(dtype)) {
        call_return_typed(call, between(call, start, end, steps), dtype);
        return;
    }
    /* Integers: PyTorch counts in doubles from the nearer end and truncates. */
    start = trunc(start);
    end = trunc(end);
    struct node *y = counting(call, steps);
    double step = steps > 1 ? (end - start) / (double)(steps - 1) : 0;
    for (int64_t i = 0; i < steps && !tape_failed(call->tape); i++)
        y->value[i] = i < steps / 2 ? start + step * (double)i
                                    : end - step * (double)(steps - 1 - i);
    if (steps == 1 && !tape_failed(call->tape)) y->value[0] = start;
    call_return_typed(call, y, dtype);
}

static void logspace(struct call *call)
{
    struct tape *tape = call->tape;
    enum dtype dtype = call_dtype(call, "dtype");
    struct node *exponent =
        between(call, call_real(call, "start"), call_real(call, "end"), call_int(call, "steps"));
    struct node *y = node_apply2(tape, "pow", node_scalar(tape, call_real(call, "base")), exponent);
    call_return_typed(call, y, dtype == DT_NONE ? DT_F32 : dtype);
}

/* In a model: powers 1 to `count` of x, (..., 1), as a running product, whose gradient kernels divide by x and sum. */
static struct node *running_powers(struct tape *tape, struct node *x, int64_t count)
{
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = count;
    return node_cumulative_product(tape, node_broadcast(tape, x, x->rank, shape), x->rank - 1);
}

/* Columns 1, x, x^2, ...; torch.vander has them falling by default, linalg.vander (detail
 * 1) rising and over batches, of a number as of a vector of one. */
static void vander(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    bool rising = call->op->detail || call_bool(call, "increasing");
    int64_t shape[TENSOR_MAX_RANK + 1], columns;

    if (call->op->detail && !x->rank) x = node_reshape(tape, x, 1, (int64_t[]){ 1 });
    if (!call_require(call,
                      x->rank && x->rank < TENSOR_MAX_RANK && (call->op->detail || x->rank == 1),
                      "a vector is needed, not %d dimensions", x->rank))
        return;
    columns = call_is_none(call, "N") ? x->shape[x->rank - 1] : call_int(call, "N");
    if (!call_require(call, columns >= 0 && columns <= CALL_MOST_OUTPUTS, "%lld columns",
                      (long long)columns))
        return;
    memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
    shape[x->rank] = 1;
    enum dtype dtype = dtype_is_integral(x->dtype) ? DT_I64 : x->dtype;
    x = node_cast(tape, node_reshape(tape, x, x->rank + 1, shape), dtype);
    if (!columns) {
        call_return_typed(call, node_slice(tape, x, x->rank - 1, 0, 0, 1), dtype);
        return;
    }
    struct node **powers = tape_allocate(tape, (size_t)columns, sizeof *powers);
    if (!powers) return;
    struct node *power = x->integer ? node_integer_constant(tape, dtype, 1, x->rank, x->shape)
                                    : node_constant(tape, dtype, 1, x->rank, x->shape);
    bool runs = tape_is_model(tape) && !x->integer && !x->imaginary && columns > 2;
    struct node *running = runs ? running_powers(tape, x, columns - 1) : NULL;
    for (int64_t k = 0; k < columns && !tape_failed(tape); k++) {
        powers[rising ? k : columns - 1 - k] = power;
        if (k + 1 == columns) break;
        power = runs     ? node_slice(tape, running, x->rank - 1, k, 1, 1)
                : k == 0 ? x
                         : node_multiply_as(tape, dtype, power, x);
    }
    call_return_typed(call, node_concatenate(tape, powers, (int)columns, x->rank - 1), dtype);
}

/* ---- windows --------------------------------------------------------------------------- */

/* A generalised cosine window a0 - a1 cos(2 pi i / m) + a2 cos(4 pi i / m), the triangle
 * 1 - |2 i / m - 1|, or Kaiser's I0(beta sqrt(1 - (2 i / m - 1)^2)) / I0(beta). */
enum window_kind { WINDOW_COSINES, WINDOW_TRIANGLE, WINDOW_KAISER };

struct window {
    enum window_kind kind;
    double terms[3];
    double beta;
    int64_t m; /* number of steps from one end to the other */
};

static void cosine_sum(arb_t y, const struct window *window, const arb_t turns, slong precision)
{
    arb_t cosine, factor;
    arb_init(cosine);
    arb_init(factor);
    arb_set_d(y, window->terms[0]);
    for (int k = 1; k < 3; k++) {
        arb_mul_si(cosine, turns, k, precision);
        arb_cos_pi(cosine, cosine, precision);
        arb_set_d(factor, k == 1 ? -window->terms[1] : window->terms[2]);
        arb_addmul(y, cosine, factor, precision);
    }
    arb_clear(cosine);
    arb_clear(factor);
}

static void kaiser(arb_t y, const struct window *window, const arb_t x, slong precision)
{
    arb_t inside, beta, zero;
    arb_init(inside);
    arb_init(beta);
    arb_init(zero);
    arb_mul(inside, x, x, precision);
    arb_sub_si(inside, inside, 1, precision);
    arb_neg(inside, inside);
    arb_nonnegative_part(inside, inside);
    arb_sqrt(inside, inside, precision);
    arb_set_d(beta, window->beta);
    arb_mul(inside, inside, beta, precision);
    arb_hypgeom_bessel_i(y, zero, inside, precision);
    arb_hypgeom_bessel_i(inside, zero, beta, precision);
    arb_div(y, y, inside, precision);
    arb_clear(inside);
    arb_clear(beta);
    arb_clear(zero);
}

static void window_ball(arb_t y, const struct window *window, size_t i, slong precision)
{
    arb_t x;
    arb_init(x);
    arb_set_si(x, 2 * (slong)i); /* x = 2 i / m */
    arb_div_si(x, x, window->m, precision);
    if (window->kind == WINDOW_COSINES) {
        cosine_sum(y, window, x, precision);
    } else {
        arb_sub_si(x, x, 1, precision);
        if (window->kind == WINDOW_KAISER) {
            kaiser(y, window, x, precision);
        } else {
            arb_abs(x, x);
            arb_sub_si(x, x, 1, precision);
            arb_neg(y, x);
        }
    }
    arb_clear(x);
}

static void window_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    window_ball(ball, node->parameters, i, enclosure->precision);
}

static const struct primitive window_primitive = { "a window", NULL, window_enclose, NULL };

static void return_window(struct call *call, const struct window *kind, int64_t length,
                          bool periodic)
{
    struct tape *tape = call->tape;
    enum dtype dtype = call_dtype(call, "dtype");
    struct window *window = tape_allocate(tape, 1, sizeof *window);
    arb_t y;

    if (dtype == DT_NONE) dtype = DT_F32;
    if (!call_require(call, window && length >= 0 && length <= MOST_OF_WINDOW,
                      "a window of %lld elements", (long long)length))
        return;
    if (length <= 1) {
        call_return_typed(call, node_constant(tape, dtype, 1, 1, &length), dtype);
        return;
    }
    *window = *kind;
    window->m = periodic ? length : length - 1;
    struct node *node = node_new(tape, &window_primitive, dtype, 1, &length, 0, NULL, window);
    bool certify = node_need_errors(tape, node);
    if (tape_failed(tape)) return;
    arb_init(y);
    for (size_t i = 0; i < node->n; i++) {
        window_ball(y, window, i, 128);
        node->value[i] = arf_get_d(arb_midref(y), ARF_RND_NEAR);
        /* A kernel's own formula: an angle, a cosine or a series, a sum of terms up
         * to 1. */
        double kernel = tape_is_model(tape) ? 8 * tape->unit : 0;
        if (certify)
            node->error[i] = UNIT_ROUNDOFF * fabs(node->value[i]) + mag_get_d(arb_radref(y)) +
                             0x1p-1074 + kernel;
    }
    arb_clear(y);
    node_round(tape, node);
    /* Kernels take cosines of rounded angles, up to 4 pi, and add them up. */
    node = node_model_error(tape, node, node_constant(tape, DT_NONE, 1, 1, &length), 40);
    call_return_typed(call, node, dtype);
}

/* hann, hamming, blackman, bartlett, kaiser: detail is the index of the row. */
static void window(struct call *call)
{
    static const struct window kinds[] = {
        { WINDOW_COSINES, { 0.5, 0.5, 0 }, 0, 0 },
        { WINDOW_COSINES, { 0.54, 0.46, 0 }, 0, 0 },
        { WINDOW_COSINES, { 0.42, 0.5, 0.08 }, 0, 0 },
        { WINDOW_TRIANGLE, { 0 }, 0, 0 },
        { WINDOW_KAISER, { 0 }, 12, 0 },
    };
    struct window kind = kinds[call->op->detail];
    if (call->op->detail == 1) {
        kind.terms[0] = call_real(call, "alpha");
        kind.terms[1] = call_real(call, "beta");
    }
    if (kind.kind == WINDOW_KAISER) kind.beta = call_real(call, "beta");
    if (!call_require(
            call,
            fabs(kind.beta) <= MOST_BETA &&
                (kind.kind != WINDOW_KAISER || call_int(call, "window_length") <= MOST_OF_KAISER),
            "a Kaiser window of beta %g or of this length takes too long", kind.beta))
        return;
    return_window(call, &kind, call_int(call, "window_length"), call_bool(call, "periodic"));
}

/* clang-format off */
#define WINDOW_ROW(name, tail, index) \
    { name, TORCH, "(int window_length, bool periodic=True" tail ", *, ScalarType? dtype=None)", window, OP_NO_GRADIENT, index, NULL }

const struct op ops_create[] = {
    { "full", TORCH | ATEN, "(int[] size, Scalar fill_value, *, ScalarType? dtype=None)", full, OP_NO_GRADIENT, 0, NULL },
    { "ones", TORCH | ATEN, "(*int[] size, ScalarType? dtype=None)", constant, OP_NO_GRADIENT, 1, NULL },
    { "zeros", TORCH | ATEN, "(*int[] size, ScalarType? dtype=None)", constant, OP_NO_GRADIENT, 0, NULL },
    { "full_like", TORCH | ATEN, "(Tensor input, Scalar fill_value, *, ScalarType? dtype=None)", constant_like, OP_NO_GRADIENT, 0, NULL },
    { "ones_like", TORCH | ATEN, "(Tensor input, *, ScalarType? dtype=None)", constant_like, OP_NO_GRADIENT, 1, "ones" },
    { "zeros_like", TORCH | ATEN, "(Tensor input, *, ScalarType? dtype=None)", constant_like, OP_NO_GRADIENT, 0, "zeros" },
    { "new_full", TENSOR | ATEN, "(Tensor input, int[] size, Scalar fill_value, *, ScalarType? dtype=None)", constant_new, OP_NO_GRADIENT, 0, NULL },
    { "new_ones", TENSOR | ATEN, "(Tensor input, *int[] size, ScalarType? dtype=None)", constant_new, OP_NO_GRADIENT, 1, "ones" },
    { "new_zeros", TENSOR | ATEN, "(Tensor input, *int[] size, ScalarType? dtype=None)", constant_new, OP_NO_GRADIENT, 0, "zeros" },
    { "one", NPU, "(Tensor input, *, ScalarType? dtype=None)", constant_like, OP_NO_GRADIENT, 1, "ones" },
    { "fill", TENSOR | TORCH | ATEN, "(Tensor input, Tensor value)", fill, OP_ONE_NODE, 0, NULL },
    { "zero", TENSOR | TORCH | ATEN, "(Tensor input)", fill, OP_ONE_NODE, 0, "zero" },
    { "eye", TORCH | ATEN, "(int n, int? m=None, *, ScalarType? dtype=None)", eye, OP_NO_GRADIENT, 0, NULL },
    { "tensor|as_tensor|asarray|from_numpy", TORCH, "(Any data, *, ScalarType? dtype=None)", tensor, 0, 0, "data" },
    { "as_tensor", TORCH, "(Any data, ScalarType? dtype=None)", tensor, 0, 0, "data" },
    { "scalar_tensor", TORCH | ATEN, "(Scalar s, *, ScalarType? dtype=None)", tensor, OP_NO_GRADIENT, 2, "s" },
    { "new_tensor", TENSOR, "(Tensor input, Any data, *, ScalarType? dtype=None)", tensor, OP_NO_GRADIENT, 1, "data" },
    { "arange", TORCH | ATEN, "(Scalar end, *, ScalarType? dtype=None)", arange, OP_NO_GRADIENT, 0, "end" },
    { "arange", TORCH | ATEN, "(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None)", arange, OP_NO_GRADIENT, 0, NULL },
    { "range", TORCH, "(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None)", arange, OP_NO_GRADIENT, 1, NULL },
    { "linspace", TORCH | ATEN, "(Scalar start, Scalar end, int steps=100, *, ScalarType? dtype=None)", linspace, OP_NO_GRADIENT, 0, NULL },
    { "logspace", TORCH | ATEN, "(Scalar start, Scalar end, int steps=100, float base=10.0, *, ScalarType? dtype=None)", logspace, OP_NO_GRADIENT, 0, NULL },
    { "vander", TORCH, "(Tensor x, int? N=None, bool increasing=False)", vander, 0, 0, NULL },
    { "linalg.vander", TORCH, "(Tensor x, *, int? N=None)", vander, 0, 1, NULL },
    WINDOW_ROW("hann_window", "", 0),
    WINDOW_ROW("hamming_window", ", float alpha=0.54, float beta=0.46", 1),
    WINDOW_ROW("blackman_window", "", 2),
    WINDOW_ROW("bartlett_window", "", 3),
    WINDOW_ROW("kaiser_window", ", float beta=12.0", 4),
};
/* clang-format on */
OP_TABLE_END(create);
