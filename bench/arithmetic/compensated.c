/* Sum2 and Dot2 in 16 lanes, so that additions overlap and registers of every width give the same
 * bits. */
#include "bench/arithmetic/compensated.h"

#include <math.h>

#include "core/vectorize.h"

enum { LANES = COMPENSATED_LANES };

static inline void add(struct compensated *c, size_t lane, double x)
{
    c->low[lane] += two_sum(&c->sum[lane], x);
    c->magnitude[lane] += fabs(x);
}

VECTORIZED void compensated_add(struct compensated *c, const double *x, size_t n)
{
    struct compensated local = *c;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) add(&local, k, x[i + k]);
    for (size_t k = 0; i < n; i++, k++) add(&local, k, x[i]);
    local.terms += n;
    *c = local;
}

VECTORIZED void compensated_add_products(struct compensated *c, const double *x, const double *y,
                                         size_t n, bool exact_products)
{
    struct compensated local = *c;
    size_t i = 0;
    if (exact_products)
        for (; i + LANES <= n; i += LANES)
            for (size_t k = 0; k < LANES; k++) add(&local, k, x[i + k] * y[i + k]);
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            double product = x[i + k] * y[i + k];
            local.low[k] += fma(x[i + k], y[i + k], -product);
            add(&local, k, product);
        }
    for (size_t k = 0; i < n; i++, k++) {
        double product = x[i] * y[i];
        if (!exact_products) local.low[k] += fma(x[i], y[i], -product);
        add(&local, k, product);
    }
    local.terms += exact_products ? n : 2 * n;
    *c = local;
}

VECTORIZED void compensated_add_float_products(struct compensated *c, const float *x,
                                               const float *y, size_t n)
{
    struct compensated local = *c;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) add(&local, k, (double)x[i + k] * (double)y[i + k]);
    for (size_t k = 0; i < n; i++, k++) add(&local, k, (double)x[i] * (double)y[i]);
    local.terms += n;
    *c = local;
}

bool compensated_total(double *sum, double *bound, const struct compensated *c)
{
    struct compensated total = { 0 };
    double low = 0, magnitude = 0;
    for (size_t k = 0; k < LANES; k++) {
        add(&total, 0, c->sum[k]);
        low += c->low[k];
        magnitude += c->magnitude[k];
    }
    double result = total.sum[0] + (total.low[0] + low);
    if (!isfinite(result)) return false;
    double gamma = gamma_of((double)(c->terms + 2 * LANES));
    *sum = result;
    *bound = c->terms <= 1
                 ? 0
                 : UNIT_ROUNDOFF * fabs(result) + gamma * gamma * magnitude * (1 + 0x1p-20);
    return true;
}

bool running_pair(struct pair *out, const struct running *r, bool products)
{
    double gamma = gamma_of((double)(r->terms + 3));
    if (!pair_add(out, pair_exact(r->sum), pair_exact(r->low))) return false;
    if (!products && !r->rounded) return true;
    out->error = (gamma * gamma * r->magnitude + (products ? (double)r->terms * 0x1p-1073 : 0)) *
                 (1 + 0x1p-20);
    return true;
}
