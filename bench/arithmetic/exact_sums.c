/* One pass over the significands: where their lowest and highest bits are says whether any sum of them is a float. */
#include "bench/arithmetic/exact_sums.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LEAST_NORMAL = -126 };

/* The exponent of the last bit that is set in x, finite and not 0. */
static int last_bit(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t significand = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent) significand |= UINT64_C(1) << 52;
    else exponent = 1;
    return exponent - 1075 + __builtin_ctzll(significand);
}

bool sum_of_every_is_exact(const double *term, size_t n, size_t step, int bits)
{
    double magnitude = 0;
    int last = 1024;
    for (size_t k = 0; k < n; k++) {
        double x = term[k * step];
        if (x == 0) continue;
        magnitude += fabs(x);
        if (!(magnitude < INFINITY)) return false;
        int place = last_bit(x);
        if (place < last) last = place;
        if (last < LEAST_NORMAL || magnitude > ldexp(1, last + bits)) return false;
    }
    return true;
}

bool sum_is_exact(const double *term, size_t n, int bits)
{
    return sum_of_every_is_exact(term, n, 1, bits);
}

bool grid_add(struct number_grid *grid, const double *x, size_t n, int bits)
{
    for (size_t i = 0; i < n; i++) {
        if (x[i] == 0) continue;
        if (!isfinite(x[i])) return false;
        int place = last_bit(x[i]);
        grid->most = fmax(grid->most, fabs(x[i]));
        if (place < grid->last) grid->last = place;
        if (grid->most > ldexp(1, grid->last + bits)) return false;
    }
    return true;
}

bool grid_products_are_exact(const struct number_grid *a, const struct number_grid *b, size_t k,
                             int bits)
{
    int last = a->last + b->last;
    if (a->most == 0 || b->most == 0) return true;
    return last >= LEAST_NORMAL && (double)k * a->most * b->most <= ldexp(1, last + bits);
}
