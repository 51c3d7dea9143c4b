/* HiFloat8: codes, numbers, rounding. */
#include "bench/ops/hifloat8.h"

#include <math.h>
#include <stdlib.h>

#include "bench/primitives/integral.h"

enum {
    NUMBER = 290, /* of the dtype in torch_npu */
    SIGN = 0x80,
    NOT_A_NUMBER = 0x80,
    INFINITE = 0x6f,
    TINY_BIAS = 23,   /* of the codes below the first prefix of an exponent */
    LEAST_TINY = -22, /* their exponents */
    LAST_TINY = -16,
};

/* Prefixes by the width of the exponent: the first code and the bits of the fraction. */
static const struct {
    unsigned first;
    int fraction;
} ranges[] = { { 0x08, 3 }, { 0x10, 3 }, { 0x20, 3 }, { 0x40, 2 }, { 0x60, 1 } };

bool hifloat8_named(struct call *call, const char *name)
{
    const struct value *value = call_value(call, name);
    return value->kind == VALUE_INT && value->integer == NUMBER;
}

double hifloat8_value(unsigned code)
{
    unsigned body = code & 0x7f;
    int width = 4, exponent = 0;
    if (code == NOT_A_NUMBER) return NAN;
    double sign = code & SIGN ? -1 : 1;
    if (body == 0) return 0;
    if (body == INFINITE) return sign * INFINITY;
    if (body < ranges[0].first) return sign * ldexp(1, (int)body - TINY_BIAS);
    while (body < ranges[width].first) width--;
    int fraction_bits = ranges[width].fraction;
    unsigned rest = body - ranges[width].first, field = rest >> fraction_bits,
             fraction = rest & ((1u << fraction_bits) - 1);
    if (width > 0) {
        unsigned leading = 1u << (width - 1), magnitude = leading | (field & (leading - 1));
        exponent = field & leading ? -(int)magnitude : (int)magnitude;
    }
    return sign * ldexp((double)((1u << fraction_bits) + fraction), exponent - fraction_bits);
}

/* How many bits the exponent takes beside its prefix: those of its magnitude. */
static int width_of(int exponent)
{
    int magnitude = exponent < 0 ? -exponent : exponent, width = 0;
    while (magnitude >> width) width++;
    return width;
}

double hifloat8_rounded(double v)
{
    double size = fabs(v);
    int exponent;
    if (isnan(v) || isinf(v)) return v;
    if (size < ldexp(1, LEAST_TINY - 1)) return 0;
    (void)frexp(size, &exponent);
    exponent--;
    if (exponent < LEAST_TINY) return copysign(ldexp(1, LEAST_TINY), v);
    if (exponent > 15) return copysign(INFINITY, v);
    int places = exponent <= LAST_TINY ? 0 : ranges[width_of(exponent)].fraction;
    double units = ldexp(size, places - exponent), below = floor(units);
    double rounded = ldexp(below + (units - below >= 0.5), exponent - places);
    return copysign(rounded > HIFLOAT8_LARGEST ? INFINITY : rounded, v);
}

unsigned hifloat8_code(double rounded)
{
    unsigned sign = rounded < 0 ? SIGN : 0, field = 0;
    int exponent;
    if (isnan(rounded)) return NOT_A_NUMBER;
    if (rounded == 0) return 0;
    if (isinf(rounded)) return sign | INFINITE;
    double part = frexp(fabs(rounded), &exponent) * 2;
    exponent--;
    if (exponent <= LAST_TINY) return sign | (unsigned)(exponent + TINY_BIAS);
    int width = width_of(exponent), places = ranges[width].fraction;
    if (width > 0) {
        unsigned leading = 1u << (width - 1), magnitude = (unsigned)abs(exponent);
        field = (magnitude & (leading - 1)) | (exponent < 0 ? leading : 0);
    }
    unsigned fraction = (unsigned)ldexp(part - 1, places);
    return sign | (ranges[width].first + (field << places) + fraction);
}

bool hifloat8_may_be(unsigned code, double low, double high)
{
    double value = hifloat8_value(code);
    if (isnan(low) || isnan(high)) return isnan(value) || code == 0;
    double least = hifloat8_rounded(low), most = hifloat8_rounded(high);
    if (value >= least && value <= most) return true;
    return (value == HIFLOAT8_LARGEST && most == INFINITY) ||
           (value == -HIFLOAT8_LARGEST && least == -INFINITY);
}

struct node *hifloat8_unpacked(struct call *call, const struct node *x)
{
    struct tape *tape = call->tape;
    if (!call_require(call, x->dtype == DT_U8 || x->dtype == DT_I8, "HiFloat8 comes in bytes"))
        return tape_failure(tape);
    struct node *y = node_new_real(tape, DT_F32, x->rank, x->shape);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++)
        y->value[i] = hifloat8_value((unsigned)x->integer[i] & 0xff);
    return y;
}
