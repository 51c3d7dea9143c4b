/* A sweep over bit patterns of a narrow type. */
#include "bench/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 8192, PRECISION = 80 };

static bool enclose(struct distance *d, const struct oracle *oracle, double x, double y,
                    double bound)
{
    bool told = false;
    arb_t in, exact;
    arb_init(in);
    arb_init(exact);
    arb_set_d(in, x);
    for (slong p = PRECISION; p <= 6144 && !told; p *= 4) {
        oracle->ball(exact, in, p);
        told = oracle_distance(d, exact, y) && (d->most <= bound || d->least > bound);
    }
    arb_clear(in);
    arb_clear(exact);
    return told;
}

static void check(struct sweep *sweep, const struct unary_function *f, const struct oracle *oracle,
                  enum dtype dtype, double x, double y)
{
    double bound = f->ulps * 0x1p-52 * fabs(y) + unary_underflow(f) * 0x1p-1074, ends[2];
    struct distance d = { 0, 0 };
    unsigned char rounded[8];

    sweep->inputs++;
    if (!isfinite(x) || !isfinite(y)) return; /* test_functions.c */
    if (!enclose(&d, oracle, x, y, bound) || d.least > bound) {
        if (sweep->wrong++ < 5)
            fprintf(stderr, "%s(%a) = %a +- %.3g, but off by %.17g\n", f->name, x, y, bound,
                    d.least);
        return;
    }
    if (d.least > sweep->worst_ulps * 0x1p-52 * fabs(y) && fabs(y) > 0x1p-1000)
        sweep->worst_ulps = d.least / (0x1p-52 * fabs(y));
    sweep->uncertified += bound > 0x1p-10 * dtype_ulp(dtype, y) && bound > 0;
    ends[0] = y - bound;
    ends[1] = y + bound;
    for (int k = 0; k < 2; k++) {
        dtype_from_double(rounded, dtype, &ends[k], 1);
        dtype_to_double(&ends[k], rounded, dtype, 1);
    }
    sweep->ambiguous += ends[0] != ends[1];
}

void sweep_patterns(struct sweep *sweep, const struct unary_function *f,
                    const struct oracle *oracle, enum dtype dtype, uint64_t first, uint64_t stride)
{
    size_t width = dtype_info(dtype)->bytes;
    uint64_t patterns = UINT64_C(1) << (8 * width);
    unsigned char raw[4 * CHUNK];
    static double x[CHUNK], y[CHUNK];

    for (uint64_t at = first; at < patterns;) {
        size_t count = 0;
        for (; count < CHUNK && at < patterns; at += stride, count++)
            memcpy(raw + count * width, &at, width); /* little-endian */
        dtype_to_double(x, raw, dtype, count);
        if (f->vector) f->vector(y, x, count);
        for (size_t i = 0; i < count; i++) {
            if (!f->vector) y[i] = f->scalar(x[i]);
            check(sweep, f, oracle, dtype, x[i], y[i]);
        }
    }
}
