/* When a bound is small enough: at most 2^-10 ulp of the tested dtype at the value. */
#ifndef PROBE_BENCH_ARITHMETIC_CERTIFICATE_H
#define PROBE_BENCH_ARITHMETIC_CERTIFICATE_H

#include <math.h>
#include <stdbool.h>

#include "core/dtype.h"

#define WANTED_ULP 0x1p-10

/* The test with the constants of a dtype at hand. The quick form needs no ulp of the value. */
struct certificate {
    enum dtype dtype;
    double relative,
        least;     /* a bound up to relative * |value|, or up to `least`, is small enough */
    double beyond; /* the dtype's largest value and a little more */
};

static inline struct certificate certificate_of(enum dtype dtype)
{
    const struct dtype_info *info = dtype_info(dtype);
    /* ulp(y) >= 2^-p |y|, and never below that of the subnormals. */
    return (struct certificate){ dtype, WANTED_ULP * ldexp(1, -info->significand_bits),
                                 WANTED_ULP *
                                     ldexp(1, info->exponent_min - info->significand_bits + 1),
                                 info->largest * (1 + 0x1p-8) };
}

static inline bool certificate_passes_quickly(const struct certificate *c, double value,
                                              double bound)
{
    return bound <= c->relative * fabs(value) || bound <= c->least;
}

static inline bool certificate_passes(const struct certificate *c, double value, double bound)
{
    if (certificate_passes_quickly(c, value, bound)) return true;
    /* Beyond the range of the dtype every device value is the same infinity. */
    if (fabs(value) - bound > c->beyond) return true;
    return bound <= WANTED_ULP * dtype_ulp(c->dtype, value);
}

#endif
