/* SLEEF's vector functions take and return SIMD registers, which no foreign function interface can
 * pass. This shim runs one over an array, four floats at a time; the rest is padded. Built for
 * SSE2 on x86-64 and NEON on aarch64, whose names SLEEF shares. */
#include <sleef.h>
#include <stddef.h>
#include <string.h>

#if defined(__aarch64__)
#include <arm_neon.h>
typedef float32x4_t vec;
#else
#include <immintrin.h>
typedef __m128 vec;
#endif

/* void shim_NAME(size_t n, const float *x, float *y) */
#define UNARY(NAME, FUNCTION)                            \
    void shim_##NAME(size_t n, const float *x, float *y) \
    {                                                    \
        for (size_t i = 0; i < n; i += 4) {              \
            float lanes[4] = { 1, 1, 1, 1 };             \
            size_t count = n - i < 4 ? n - i : 4;        \
            vec v;                                       \
            memcpy(lanes, x + i, count * sizeof *x);     \
            memcpy(&v, lanes, sizeof v);                 \
            v = FUNCTION(v);                             \
            memcpy(lanes, &v, sizeof v);                 \
            memcpy(y + i, lanes, count * sizeof *y);     \
        }                                                \
    }

/* The suffix is SLEEF's promise in tenths of a unit in the last place. */
UNARY(exp_u10, Sleef_expf4_u10)
UNARY(expm1_u10, Sleef_expm1f4_u10)
UNARY(exp2_u10, Sleef_exp2f4_u10)
UNARY(exp2_u35, Sleef_exp2f4_u35)
UNARY(log_u10, Sleef_logf4_u10)
UNARY(log_u35, Sleef_logf4_u35)
UNARY(log2_u10, Sleef_log2f4_u10)
UNARY(log2_u35, Sleef_log2f4_u35)
UNARY(log10_u10, Sleef_log10f4_u10)
UNARY(log1p_u10, Sleef_log1pf4_u10)
UNARY(sin_u10, Sleef_sinf4_u10)
UNARY(sin_u35, Sleef_sinf4_u35)
UNARY(cos_u10, Sleef_cosf4_u10)
UNARY(cos_u35, Sleef_cosf4_u35)
UNARY(tan_u10, Sleef_tanf4_u10)
UNARY(tan_u35, Sleef_tanf4_u35)
UNARY(asin_u10, Sleef_asinf4_u10)
UNARY(asin_u35, Sleef_asinf4_u35)
UNARY(acos_u10, Sleef_acosf4_u10)
UNARY(acos_u35, Sleef_acosf4_u35)
UNARY(atan_u10, Sleef_atanf4_u10)
UNARY(atan_u35, Sleef_atanf4_u35)
UNARY(sinh_u10, Sleef_sinhf4_u10)
UNARY(sinh_u35, Sleef_sinhf4_u35)
UNARY(cosh_u10, Sleef_coshf4_u10)
UNARY(cosh_u35, Sleef_coshf4_u35)
UNARY(tanh_u10, Sleef_tanhf4_u10)
UNARY(tanh_u35, Sleef_tanhf4_u35)
UNARY(asinh_u10, Sleef_asinhf4_u10)
UNARY(acosh_u10, Sleef_acoshf4_u10)
UNARY(atanh_u10, Sleef_atanhf4_u10)
UNARY(erf_u10, Sleef_erff4_u10)
UNARY(erfc_u15, Sleef_erfcf4_u15)
UNARY(lgamma_u10, Sleef_lgammaf4_u10)
UNARY(sqrt_u35, Sleef_sqrtf4_u35)

/* void shim_NAME(size_t n, const float *x, const float *y, float *z) */
#define BINARY(NAME, FUNCTION)                                           \
    void shim_##NAME(size_t n, const float *x, const float *y, float *z) \
    {                                                                    \
        for (size_t i = 0; i < n; i += 4) {                              \
            float a[4] = { 1, 1, 1, 1 }, b[4] = { 1, 1, 1, 1 };          \
            size_t count = n - i < 4 ? n - i : 4;                        \
            vec v, w;                                                    \
            memcpy(a, x + i, count * sizeof *x);                         \
            memcpy(b, y + i, count * sizeof *y);                         \
            memcpy(&v, a, sizeof v);                                     \
            memcpy(&w, b, sizeof w);                                     \
            v = FUNCTION(v, w);                                          \
            memcpy(a, &v, sizeof v);                                     \
            memcpy(z + i, a, count * sizeof *z);                         \
        }                                                                \
    }

BINARY(pow_u10, Sleef_powf4_u10)
BINARY(atan2_u10, Sleef_atan2f4_u10)
BINARY(atan2_u35, Sleef_atan2f4_u35)
BINARY(hypot_u05, Sleef_hypotf4_u05)
BINARY(hypot_u35, Sleef_hypotf4_u35)
