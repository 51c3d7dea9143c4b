/* Composite functions on arrays: the steps that SLEEF has are done on whole blocks. */
#include "bench/arithmetic/vector_functions.h"

#include <math.h>
#include <stdint.h>

#include "bench/arithmetic/vector_math.h"
#include "core/vectorize.h"

enum { BLOCK = 512 }; /* doubles: a few of these stay in the first-level cache */

#define ARRAY(NAME, EXPRESSION)                                          \
    void NAME(double *restrict out, const double *restrict in, size_t n) \
    {                                                                    \
        for (size_t i = 0; i < n; i++) {                                 \
            double x = in[i];                                            \
            out[i] = (EXPRESSION);                                       \
        }                                                                \
    }

ARRAY(vector_abs, fabs(x))
ARRAY(vector_sqrt, sqrt(x))
ARRAY(vector_rsqrt, 1 / sqrt(x))
ARRAY(vector_reciprocal, 1 / x)
ARRAY(vector_square, x *x)

/* Infinite results are rare, and counted without a branch. */
#define REPAIRED(NAME)                                                                           \
    void array_##NAME(double *restrict out, const double *restrict in, size_t n)                 \
    {                                                                                            \
        for (size_t start = 0; start < n; start += BLOCK) {                                      \
            size_t count = n - start < BLOCK ? n - start : BLOCK;                                \
            double *y = out + start;                                                             \
            int64_t infinite = 0;                                                                \
            vector_##NAME(y, in + start, count);                                                 \
            for (size_t i = 0; i < count; i++) infinite += fabs(y[i]) > 0x1.fffffffffffffp+1023; \
            for (size_t i = 0; infinite && i < count; i++)                                       \
                if (isinf(y[i])) y[i] = value_##NAME(in[start + i]);                             \
        }                                                                                        \
    }
FUNCTIONS_REPAIRED(REPAIRED)

void array_lgamma(double *restrict out, const double *restrict in, size_t n)
{
    vector_lgamma(out, in, n);
    for (size_t i = 0; i < n; i++)
        if (in[i] <= 0) out[i] = value_lgamma(in[i]);
}

/* The shift and the series of `count` positive arguments, without a branch: a step that an argument
 * no longer needs adds 0. */
VECTORIZED static void digamma_block(double *restrict shifted, double *restrict sum,
                                     const double *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double z = x[i], total = 0;
        for (int k = 0; k < DIGAMMA_FROM; k++) {
            total += z < DIGAMMA_FROM ? 1 / z : 0;
            z += z < DIGAMMA_FROM ? 1 : 0;
        }
        shifted[i] = z;
        sum[i] = total;
    }
}

VECTORIZED static void digamma_finish(double *restrict y, const double *restrict shifted,
                                      const double *restrict sum, const double *restrict logarithm,
                                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double z = shifted[i], square = 1 / (z * z), series = 0;
        for (int k = DIGAMMA_TERMS - 1; k >= 0; k--)
            series = (series + digamma_coefficients[k]) * square;
        y[i] = logarithm[i] - 0.5 / z + series - sum[i];
    }
}

void array_digamma(double *restrict out, const double *restrict in, size_t n)
{
    double shifted[BLOCK], sum[BLOCK], logarithm[BLOCK];
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t count = n - start < BLOCK ? n - start : BLOCK;
        const double *x = in + start;
        double *y = out + start;
        digamma_block(shifted, sum, x, count);
        vector_log(logarithm, shifted, count);
        digamma_finish(y, shifted, sum, logarithm, count);
        for (size_t i = 0; i < count; i++)
            if (!(x[i] > 0x1p-1000 && x[i] < INFINITY && fabs(y[i]) >= DIGAMMA_LEAST))
                y[i] = value_digamma(x[i]);
    }
}

VECTORIZED void array_pow(double *restrict out, const double *restrict x, const double *restrict y,
                          size_t n)
{
    vector_pow(out, x, y, n);
    for (size_t i = 0; i < n; i++) {
        double z = out[i];
        z = y[i] == 2 ? x[i] * x[i] : z;
        z = y[i] == 1 ? x[i] : z;
        out[i] = y[i] == 0.5 && x[i] >= 0 ? sqrt(x[i]) : z;
    }
}

/* Blocks for a formula with one library call: PREPARE gives its argument from x, FINISH the
 * result from x and the call's value e. */
#define BLOCKED(NAME, FUNCTION, PREPARE, FINISH)                         \
    void NAME(double *restrict out, const double *restrict in, size_t n) \
    {                                                                    \
        double block[BLOCK];                                             \
        for (size_t start = 0; start < n; start += BLOCK) {              \
            size_t count = n - start < BLOCK ? n - start : BLOCK;        \
            for (size_t i = 0; i < count; i++) {                         \
                double x = in[start + i];                                \
                block[i] = (PREPARE);                                    \
            }                                                            \
            FUNCTION(block, block, count);                               \
            for (size_t i = 0; i < count; i++) {                         \
                double x = in[start + i], e = block[i];                  \
                (void)x;                                                 \
                out[start + i] = (FINISH);                               \
            }                                                            \
        }                                                                \
    }

/* e = exp(-|x|) passes a NaN on. */
BLOCKED(vector_sigmoid, vector_exp, -fabs(x), (x >= 0 ? 1 : e) / (1 + e))
BLOCKED(vector_silu, vector_exp, -fabs(x), x *((x >= 0 ? 1 : e) / (1 + e)))
BLOCKED(vector_normal_pdf, vector_exp, -0.5 * x * x, 0x1.9884533d43651p-2 * e)
BLOCKED(vector_mish, vector_exp, x, x > 20 ? x : x * (e * (e + 2) / (e * (e + 2) + 2)))

/* log1p of exp(-|x|), two calls; a NaN comes through. */
static void log1p_of_exp(double *out, const double *in, size_t n)
{
    vector_exp(out, in, n);
    vector_log1p(out, out, n);
}
BLOCKED(vector_softplus, log1p_of_exp, -fabs(x), (x > 0 ? x : 0) + e)
BLOCKED(vector_logsigmoid, log1p_of_exp, -fabs(x), -((x < 0 ? -x : 0) + e))

/* The split argument of value_gelu: z, then the correction by exp(-z^2). */
void vector_gelu(double *restrict out, const double *restrict in, size_t n)
{
    const double c = 0x1.6a09e667f3bcdp-1, c_low = -0x1.bdd3413b26456p-55;
    double z[BLOCK], tail[BLOCK], slope[BLOCK];

    for (size_t start = 0; start < n; start += BLOCK) {
        size_t count = n - start < BLOCK ? n - start : BLOCK;
        for (size_t i = 0; i < count; i++) {
            z[i] = -in[start + i] * c;
            slope[i] = -z[i] * z[i];
        }
        vector_erfc(tail, z, count);
        vector_exp(slope, slope, count);
        for (size_t i = 0; i < count; i++) {
            double x = in[start + i], low = fma(-x, c, -z[i]) - x * c_low;
            double y = 0.5 * x * (tail[i] - 0x1.20dd750429b6dp+0 * slope[i] * low);
            out[start + i] = isinf(x) ? (x > 0 ? x : 0.0 * x) : y;
        }
    }
}
