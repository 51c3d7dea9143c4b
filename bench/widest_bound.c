/* Maxima in lanes, which the compiler makes vectors of. */
#include "bench/widest_bound.h"

#include <math.h>

#include "core/vectorize.h"

/* In each lane the largest of x, 0 or more. */
VECTORIZED static void raise_lanes(double *restrict most, const double *restrict x, size_t n)
{
    size_t i = 0;
    for (; i + WIDEST_LANES <= n; i += WIDEST_LANES)
        for (size_t k = 0; k < WIDEST_LANES; k++) most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
    for (; i < n; i++) most[0] = x[i] > most[0] ? x[i] : most[0];
}

/* Quotients of the bounds above `least` and their elements, and the others; 0 for open ones. Returns how many are. */
VECTORIZED static uint64_t divide_bounds(double *restrict quotient, double *restrict rest,
                                         double relative, double least,
                                         const double *restrict value, const double *restrict error,
                                         size_t n)
{
    uint64_t open = 0;
    for (size_t i = 0; i < n; i++) {
        double e = error[i], magnitude = fabs(value[i]), q = e / magnitude;
        uint64_t is_open = (e > relative * magnitude) & (e > least);
        quotient[i] = ((e <= least) | (is_open != 0)) ? 0 : q;
        rest[i] = e <= least ? e : 0;
        open += is_open;
    }
    return open;
}

uint64_t widest_bound_add(struct widest_bound *w, const struct certificate *c, const double *value,
                          const double *error, size_t n)
{
    double quotient[WIDEST_BLOCK], rest[WIDEST_BLOCK];
    uint64_t open = divide_bounds(quotient, rest, c->relative, c->least, value, error, n);
    raise_lanes(w->relative, quotient, n);
    raise_lanes(w->absolute, rest, n);
    w->open += open;
    return open;
}

VECTORIZED static void keep_certified(double *restrict out, double relative, double least,
                                      const double *restrict value, const double *restrict error,
                                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double e = error[i];
        uint64_t is_open = (e > relative * fabs(value[i])) & (e > least);
        out[i] = is_open ? 0 : e;
    }
}

static double largest_of(const double *lanes)
{
    double most = 0;
    for (size_t k = 0; k < WIDEST_LANES; k++) most = fmax(most, lanes[k]);
    return most;
}

double widest_bound_of_block(const struct certificate *c, const double *value, const double *error,
                             size_t n)
{
    double certified[WIDEST_BLOCK], most[WIDEST_LANES] = { 0 };
    keep_certified(certified, c->relative, c->least, value, error, n);
    raise_lanes(most, certified, n);
    return largest_of(most);
}

void widest_bound_join(struct widest_bound *w, const struct widest_bound *other)
{
    for (size_t k = 0; k < WIDEST_LANES; k++) {
        w->relative[k] = fmax(w->relative[k], other->relative[k]);
        w->absolute[k] = fmax(w->absolute[k], other->absolute[k]);
    }
    w->open += other->open;
}

double widest_bound_relative(const struct widest_bound *w, const struct certificate *c)
{
    return fmin(largest_of(w->relative) * (1 + 0x1p-50), c->relative); /* quotients were rounded */
}

double widest_bound_absolute(const struct widest_bound *w) { return largest_of(w->absolute); }
