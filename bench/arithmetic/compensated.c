/* Sum2 and Dot2 in 16 lanes, so that additions overlap and registers of every width give the same
 * bits. */
#include "bench/arithmetic/compensated.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/dtype.h"
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

/* ---- floats --------------------------------------------------------------------------------- */

enum { FLOAT_BLOCK = 1024, FLOAT_LANES = 4 * LANES, FLOAT_TERMS = FLOAT_BLOCK / LANES };

/* Plain sums of a block in double, element i in lane i mod LANES. */
VECTORIZED static void add_block(double *restrict lane, const float *restrict x)
{
    double wide[FLOAT_LANES] = { 0 };
    for (size_t i = 0; i < FLOAT_BLOCK; i += FLOAT_LANES)
        for (size_t k = 0; k < FLOAT_LANES; k++) wide[k] += (double)x[i + k];
    for (size_t k = 0; k < LANES; k++)
        lane[k] = (wide[k] + wide[k + LANES]) + (wide[k + 2 * LANES] + wide[k + 3 * LANES]);
}

/* The bits of the largest magnitude of a block, and of the smallest that is not 0 (0 when all are). */
VECTORIZED static void find_range(uint32_t *largest, uint32_t *smallest, const float *x)
{
    uint32_t most = 0, least = UINT32_MAX;
    for (size_t i = 0; i < FLOAT_BLOCK; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        uint32_t magnitude = bits & 0x7fffffff, below = magnitude - 1; /* 0 comes last */
        most = magnitude > most ? magnitude : most;
        least = below < least ? below : least;
    }
    *largest = most;
    *smallest = least + 1;
}

/* Are plain sums in double of FLOAT_TERMS floats of these magnitudes exact? With exponents E and e (biased, 1 for
 * subnormals) all partial sums are multiples of 2^(e - 150) and below FLOAT_TERMS 2^(E - 126) = 2^(E - 120). */
static bool sums_are_exact(uint32_t largest, uint32_t smallest)
{
    uint32_t most = largest >> 23, least = smallest >> 23;
    _Static_assert(FLOAT_TERMS == 64, "the bound below is about 2^6 terms");
    return most < 255 && (most ? most : 1) - (least ? least : 1) + 30 <= 53;
}

/* A block whose plain sums are exact has one term a lane, of magnitude FLOAT_TERMS times the largest at most. */
void compensated_add_floats(struct compensated *c, const float *x, size_t n)
{
    double lane[LANES], buffer[FLOAT_BLOCK];
    for (; n >= FLOAT_BLOCK; n -= FLOAT_BLOCK, x += FLOAT_BLOCK) {
        uint32_t largest, smallest;
        find_range(&largest, &smallest, x);
        if (!largest) {
            c->terms += LANES;
            continue;
        }
        if (!sums_are_exact(largest, smallest)) {
            dtype_to_double(buffer, x, DT_F32, FLOAT_BLOCK);
            compensated_add(c, buffer, FLOAT_BLOCK);
            continue;
        }
        float most;
        memcpy(&most, &largest, sizeof most);
        add_block(lane, x);
        for (size_t k = 0; k < LANES; k++) {
            c->low[k] += two_sum(&c->sum[k], lane[k]);
            c->magnitude[k] += (double)most * FLOAT_TERMS;
        }
        c->terms += LANES;
    }
    dtype_to_double(buffer, x, DT_F32, n);
    compensated_add(c, buffer, n);
}

/* ---- products ------------------------------------------------------------------------------- */

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
