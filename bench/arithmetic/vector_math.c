/* SLEEF's functions by register width: one wrapper per function and width, chosen at run time. */
#include "bench/arithmetic/vector_math.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* SLEEF's header shows the wide functions only to files compiled for wide registers; their
 * names and types are declared here so that one file can hold all widths. */
#define NAME3(a, b, c)   a##b##c
#define ONE(name, error) NAME3(Sleef_finz_##name##d1_u, error, purecfma)

#define DECLARE_ONE(name, error) double ONE(name, error)(double);
VECTOR_MATH_UNARY(DECLARE_ONE)
double Sleef_finz_powd1_u10purecfma(double, double);

/* clang-format off */
#define DEFINE_SCALAR(name, error)                                                          \
    double scalar_##name(double x)                                                          \
    {                                                                                       \
        return ONE(name, error)(x);                                                         \
    }                                                                                       \
    static void narrow_##name(double *out, const double *in, size_t n)                      \
    {                                                                                       \
        for (size_t i = 0; i < n; i++) out[i] = ONE(name, error)(in[i]);                    \
    }
/* clang-format on */
VECTOR_MATH_UNARY(DEFINE_SCALAR)

/* clang-format off */
double scalar_pow(double x, double y)
{
    return Sleef_finz_powd1_u10purecfma(x, y);
}
/* clang-format on */

/* clang-format off */
static void narrow_pow(double *out, const double *x, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = scalar_pow(x[i], y[i]);
}
/* clang-format on */

#if defined(__x86_64__)

#define FOUR(name, error)  NAME3(Sleef_finz_##name##d4_u, error, avx2)
#define EIGHT(name, error) NAME3(Sleef_finz_##name##d8_u, error, avx512f)
/* clang-format off */
#define DECLARE_WIDE(name, error)                                                           \
    __attribute__((target("avx2,fma"))) __m256d FOUR(name, error)(__m256d);                  \
    __attribute__((target("avx512f"))) __m512d EIGHT(name, error)(__m512d);
/* clang-format on */
VECTOR_MATH_UNARY(DECLARE_WIDE)

/* The last, partial register: padded with zeros, which every function here takes. */
/* clang-format off */
#define DEFINE_WIDE(name, error)                                                            \
    __attribute__((target("avx2,fma"))) static void four_##name(double *out, const double *in, \
                                                                size_t n)                   \
    {                                                                                       \
        size_t i = 0;                                                                       \
        for (; i + 4 <= n; i += 4)                                                          \
            _mm256_storeu_pd(out + i, FOUR(name, error)(_mm256_loadu_pd(in + i)));          \
        if (i == n) return;                                                                 \
        double tail[4] = { 0 };                                                             \
        memcpy(tail, in + i, (n - i) * sizeof *tail);                                       \
        _mm256_storeu_pd(tail, FOUR(name, error)(_mm256_loadu_pd(tail)));                   \
        memcpy(out + i, tail, (n - i) * sizeof *tail);                                      \
    }                                                                                       \
    __attribute__((target("avx512f"))) static void eight_##name(double *out, const double *in, \
                                                                size_t n)                   \
    {                                                                                       \
        size_t i = 0;                                                                       \
        for (; i + 8 <= n; i += 8)                                                          \
            _mm512_storeu_pd(out + i, EIGHT(name, error)(_mm512_loadu_pd(in + i)));         \
        if (i == n) return;                                                                 \
        double tail[8] = { 0 };                                                             \
        memcpy(tail, in + i, (n - i) * sizeof *tail);                                       \
        _mm512_storeu_pd(tail, EIGHT(name, error)(_mm512_loadu_pd(tail)));                  \
        memcpy(out + i, tail, (n - i) * sizeof *tail);                                      \
    }
/* clang-format on */
VECTOR_MATH_UNARY(DEFINE_WIDE)

__attribute__((target("avx2,fma"))) __m256d Sleef_finz_powd4_u10avx2(__m256d, __m256d);
__attribute__((target("avx512f"))) __m512d Sleef_finz_powd8_u10avx512f(__m512d, __m512d);

__attribute__((target("avx2,fma"))) static void four_pow(double *out, const double *x,
                                                         const double *y, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        _mm256_storeu_pd(out + i,
                         Sleef_finz_powd4_u10avx2(_mm256_loadu_pd(x + i), _mm256_loadu_pd(y + i)));
    narrow_pow(out + i, x + i, y + i, n - i);
}

__attribute__((target("avx512f"))) static void eight_pow(double *out, const double *x,
                                                         const double *y, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm512_storeu_pd(
            out + i, Sleef_finz_powd8_u10avx512f(_mm512_loadu_pd(x + i), _mm512_loadu_pd(y + i)));
    narrow_pow(out + i, x + i, y + i, n - i);
}

/* clang-format off */
static void wide_pow(int width, double *out, const double *x, const double *y, size_t n)
{
    if (width == 8) eight_pow(out, x, y, n);
    else if (width == 4) four_pow(out, x, y, n);
    else narrow_pow(out, x, y, n);
}
/* clang-format on */

/* clang-format off */
static int best_width(void)
{
    if (__builtin_cpu_supports("avx512f")) return 8;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 4 : 1;
}
/* clang-format on */

/* clang-format off */
#define WIDE_CASES(name)                                                                    \
    if (width == 8) {                                                                       \
        eight_##name(out, in, n);                                                           \
        return;                                                                             \
    }                                                                                       \
    if (width == 4) {                                                                       \
        four_##name(out, in, n);                                                            \
        return;                                                                             \
    }
/* clang-format on */

#elif defined(__aarch64__)

#include <arm_neon.h>

#define TWO(name, error)          NAME3(Sleef_finz_##name##d2_u, error, advsimd)
#define DECLARE_WIDE(name, error) float64x2_t TWO(name, error)(float64x2_t);
VECTOR_MATH_UNARY(DECLARE_WIDE)

/* clang-format off */
#define DEFINE_WIDE(name, error)                                                            \
    static void two_##name(double *out, const double *in, size_t n)                         \
    {                                                                                       \
        size_t i = 0;                                                                       \
        for (; i + 2 <= n; i += 2) vst1q_f64(out + i, TWO(name, error)(vld1q_f64(in + i))); \
        if (i < n) out[i] = vgetq_lane_f64(TWO(name, error)(vdupq_n_f64(in[i])), 0);        \
    }
/* clang-format on */
VECTOR_MATH_UNARY(DEFINE_WIDE)

float64x2_t Sleef_finz_powd2_u10advsimd(float64x2_t, float64x2_t);

/* clang-format off */
static void wide_pow(int width, double *out, const double *x, const double *y, size_t n)
{
    size_t i = 0;
    for (; width >= 2 && i + 2 <= n; i += 2)
        vst1q_f64(out + i, Sleef_finz_powd2_u10advsimd(vld1q_f64(x + i), vld1q_f64(y + i)));
    narrow_pow(out + i, x + i, y + i, n - i);
}
/* clang-format on */

/* clang-format off */
static int best_width(void)
{
    return 2;
}
/* clang-format on */

/* clang-format off */
#define WIDE_CASES(name)                                                                    \
    if (width >= 2) {                                                                       \
        two_##name(out, in, n);                                                             \
        return;                                                                             \
    }
/* clang-format on */

#else

/* clang-format off */
static void wide_pow(int width, double *out, const double *x, const double *y, size_t n)
{
    (void)width;
    narrow_pow(out, x, y, n);
}
/* clang-format on */

/* clang-format off */
static int best_width(void)
{
    return 1;
}
/* clang-format on */

#define WIDE_CASES(name) (void)width;

#endif

/* Tests narrow it; otherwise a constant of the machine. */
static int width_limit;

/* clang-format off */
int vector_math_width(void)
{
    int best = best_width();
    return width_limit && width_limit < best ? width_limit : best;
}
/* clang-format on */

/* clang-format off */
void vector_math_limit(int width)
{
    width_limit = width;
}
/* clang-format on */

/* clang-format off */
#define DEFINE_VECTOR(name, error)                                                          \
    void vector_##name(double *out, const double *in, size_t n)                             \
    {                                                                                       \
        int width = vector_math_width();                                                    \
        WIDE_CASES(name)                                                                    \
        narrow_##name(out, in, n);                                                          \
    }
/* clang-format on */
VECTOR_MATH_UNARY(DEFINE_VECTOR)

/* clang-format off */
void vector_pow(double *out, const double *x, const double *y, size_t n)
{
    wide_pow(vector_math_width(), out, x, y, n);
}
/* clang-format on */
