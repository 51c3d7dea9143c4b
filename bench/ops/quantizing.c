/* Rounding to the integers of a quantized dtype. */
#include "bench/ops/quantizing.h"

#include <math.h>
#include <string.h>

#include "bench/ops/hifloat8.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"

enum dtype float8_named(struct call *call, const char *name)
{
    static const struct {
        int64_t number;
        enum dtype dtype;
    } known[] = { { 23, DT_F8E5M2 }, { 24, DT_F8E4M3 }, { 291, DT_F8E5M2 }, { 292, DT_F8E4M3 } };
    const struct value *value = call_value(call, name);
    enum dtype dtype = DT_NONE;
    if (value->kind == VALUE_INT)
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            dtype = known[i].number == value->integer ? known[i].dtype : dtype;
    else dtype = call_dtype(call, name);
    return dtype == DT_F8E4M3 || dtype == DT_F8E5M2 ? dtype : DT_NONE;
}

struct rounding {
    const struct node *y;
    double low, high, slack, shift;
    const struct node *scale;
    double underflow;
};

static double limited(const struct rounding *r, size_t i)
{
    double y = r->y->value[i];
    return isnan(y) ? 0 : fmin(fmax(y, r->low), r->high);
}

/* How far off what a kernel rounds may be. */
static double room_of(const struct rounding *r, size_t i)
{
    double size = fabs(r->y->value[i]) + r->shift, room = r->slack * size;
    if (r->scale) room += r->underflow * (size + 1) / r->scale->value[i / (r->y->n / r->scale->n)];
    return room;
}

static bool may_be(void *context, size_t i, int64_t k)
{
    const struct rounding *r = context;
    if (isnan(r->y->value[i])) return true; /* what a NaN is rounded to is open */
    double y = limited(r, i), room = room_of(r, i);
    if (isnan(room)) return true;
    return (double)k >= r->low && (double)k <= r->high &&
           fabs((double)k - y) <= 0.5 + fmin(room, 0x1p31);
}

static double unit_of(enum dtype dtype)
{
    return dtype == DT_F16 || dtype == DT_BF16 ? dtype_ulp(dtype, 1) / 2 : 0;
}

static struct rounding rounding_of(const struct node *y, const struct quantizing *how, double shift)
{
    return (struct rounding){ .y = y,
                              .slack = how->roundings * 0x1p-24 + unit_of(how->stored),
                              .shift = fabs(shift),
                              .scale = how->scale,
                              .underflow = how->roundings * 0x1p-149 };
}

void call_return_quantized(struct call *call, struct node *y, enum dtype dtype, double low,
                           double high, const struct quantizing *how, double shift)
{
    struct tape *tape = call->tape;
    if (!call_require(call, node_is_real(y) && !y->imaginary, "real numbers are quantized")) return;
    if (dtype_is_float(dtype)) {
        double most = dtype_info(dtype)->largest;
        struct node *top = node_scalar(tape, most), *bottom = node_scalar(tape, -most);
        y = node_select(tape, node_compare(tape, COMPARE_GT, y, top), top, y);
        y = node_select(tape, node_compare(tape, COMPARE_LT, y, bottom), bottom, y);
        call_return_typed(call, y, dtype);
        return;
    }
    (void)node_values(tape, y);
    struct node *own = node_new_integer(tape, dtype, y->rank, y->shape);
    if (tape_failed(tape)) return;
    struct rounding rounding = rounding_of(y, how, shift);
    rounding.low = low;
    rounding.high = high;
    for (size_t i = 0; i < y->n; i++) own->integer[i] = (int64_t)rint(limited(&rounding, i));
    call_return(call, call_settled_indices(call, call->results.count, own, may_be, &rounding));
}

void call_return_quantized_as(struct call *call, struct node *y, enum dtype dtype,
                              const struct quantizing *how, double shift)
{
    if (dtype == DT_NONE) dtype = DT_I8;
    const struct dtype_info *info = dtype_info(dtype);
    if (!call_require(call,
                      dtype == DT_I8 || dtype == DT_U8 || dtype == DT_I32 || dtype == DT_F8E4M3 ||
                          dtype == DT_F8E5M2,
                      "%s is no quantized dtype that is followed here", info->name))
        return;
    call_return_quantized(call, y, dtype, info->lowest, info->largest, how, shift);
}

static bool may_be_code(void *context, size_t i, int64_t code)
{
    const struct rounding *r = context;
    double y = r->y->value[i], room = room_of(r, i);
    return isnan(room) || hifloat8_may_be((unsigned)code & 0xff, y - room, y + room);
}

void call_return_hifloat8(struct call *call, struct node *y, const struct quantizing *how,
                          double shift)
{
    struct tape *tape = call->tape;
    if (!call_require(call, node_is_real(y) && !y->imaginary, "real numbers are quantized")) return;
    (void)node_values(tape, y);
    struct node *own = node_new_integer(tape, DT_U8, y->rank, y->shape);
    if (tape_failed(tape)) return;
    struct rounding rounding = rounding_of(y, how, shift);
    for (size_t i = 0; i < y->n; i++)
        own->integer[i] = hifloat8_code(hifloat8_rounded(y->value[i]));
    call_return(call, call_settled_indices(call, call->results.count, own, may_be_code, &rounding));
}

void call_return_quantized_named(struct call *call, struct node *y, const char *name,
                                 const struct quantizing *how, double shift)
{
    enum dtype dtype = float8_named(call, name);
    if (hifloat8_named(call, name)) {
        call_return_hifloat8(call, y, how, shift);
        return;
    }
    if (dtype == DT_NONE) dtype = call_dtype(call, name);
    if (call_require(call, dtype != DT_NONE || call_value(call, name)->kind != VALUE_INT,
                     "%s is the number of no quantized dtype that is followed here", name))
        call_return_quantized_as(call, y, dtype, how, shift);
}

struct node *int4_unpacked(struct call *call, struct node *x)
{
    int64_t shape[TENSOR_MAX_RANK];
    if (!call_require(call, x->dtype == DT_I32 && x->rank && x->shape[x->rank - 1] < INT32_MAX,
                      "numbers of four bits come in int32"))
        return x;
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] *= 8;
    struct node *y = node_new_integer(call->tape, DT_I8, x->rank, shape);
    for (size_t i = 0; !tape_failed(call->tape) && i < y->n; i++) {
        int64_t nibble = (int64_t)((uint64_t)x->integer[i / 8] >> 4 * (i % 8) & 15);
        y->integer[i] = nibble < 8 ? nibble : nibble - 16;
    }
    return y;
}
