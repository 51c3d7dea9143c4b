/* Lanes of doubles with AVX2, FMA and F16C (every x86-64 server core since 2013):
 * the primitives that lanes_scalar.h defines. What stands between this header and LANES_END is compiled for
 * these instructions; call it only where they are available. */
#ifndef PROBE_CORE_LANES_AVX2_H
#define PROBE_CORE_LANES_AVX2_H

#if defined(__x86_64__)

#include <stdbool.h>
#include <stdint.h>

/* Every core with AVX2 has POPCNT and F16C, which clang's builtin does not know. */
static inline bool lanes_avx2_available(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#if defined(__clang__)
#define LANES_END _Pragma("clang attribute pop")
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,popcnt"))), apply_to = function)
#else
#define LANES_END _Pragma("GCC pop_options")
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,popcnt")
#endif

#include <immintrin.h>

#define ALWAYS_INLINE    static inline __attribute__((always_inline))
#define UNLIKELY(x)      __builtin_expect(x, 0)
#define LANES_PER_VECTOR 4
typedef __m256d V;
typedef __m256i I;
typedef __m256d M; /* all bits of a lane set or clear */
typedef uint64_t
    C; /* a count over all lanes: integer pipes have time for it where those of vectors have none */

ALWAYS_INLINE V v_set(double x) { return _mm256_set1_pd(x); }
ALWAYS_INLINE V v_load(const double *p) { return _mm256_loadu_pd(p); }
ALWAYS_INLINE void v_store(double *p, V x) { _mm256_storeu_pd(p, x); }
ALWAYS_INLINE V v_add(V a, V b) { return _mm256_add_pd(a, b); }
ALWAYS_INLINE V v_sub(V a, V b) { return _mm256_sub_pd(a, b); }
ALWAYS_INLINE V v_mul(V a, V b) { return _mm256_mul_pd(a, b); }
ALWAYS_INLINE V v_div(V a, V b) { return _mm256_div_pd(a, b); }
ALWAYS_INLINE V v_fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
ALWAYS_INLINE V v_add_product(V a, V b, V c) { return v_fma(a, b, c); }
ALWAYS_INLINE V v_max(V a, V b) { return _mm256_max_pd(a, b); }
ALWAYS_INLINE V v_min(V a, V b) { return _mm256_min_pd(a, b); }
ALWAYS_INLINE V v_from_bits(I x) { return _mm256_castsi256_pd(x); }
ALWAYS_INLINE I i_from_bits(V x) { return _mm256_castpd_si256(x); }
/* Masks are read where they are used: compilers keep them in two of the 16 registers, and for that sums in memory. */
static const uint64_t lanes_magnitude[4]
    __attribute__((aligned(32))) = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX };
static const uint64_t lanes_exponent[4]
    __attribute__((aligned(32))) = { 0x7ff0000000000000, 0x7ff0000000000000, 0x7ff0000000000000,
                                     0x7ff0000000000000 };
ALWAYS_INLINE V v_abs(V x)
{
    V magnitude;
    __asm__("vandpd %2, %1, %0" : "=x"(magnitude) : "x"(x), "m"(lanes_magnitude));
    return magnitude;
}
/* Larger of two doubles without sign as bits: NaN beats infinity beats finite. Without sign, a
 * signed comparison of the words is one of magnitudes. */
ALWAYS_INLINE V v_max_bits(V a, V b)
{
    I greater = _mm256_cmpgt_epi64(i_from_bits(a), i_from_bits(b));
    return _mm256_blendv_pd(b, a, v_from_bits(greater));
}
/* 2^(1 - e) of normal x with exponent e; infinity of smaller ones. */
ALWAYS_INLINE V v_reciprocal_power(V x)
{
    V power;
    __asm__("vandnpd %2, %1, %0" : "=x"(power) : "x"(x), "m"(lanes_exponent));
    return power;
}
ALWAYS_INLINE V v_zero_where(M m, V x) { return _mm256_andnot_pd(m, x); }
ALWAYS_INLINE V v_only_where(M m, V x) { return _mm256_and_pd(m, x); }
ALWAYS_INLINE double v_largest(V x)
{
    __m128d half = _mm_max_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_max_sd(half, _mm_unpackhi_pd(half, half)));
}
ALWAYS_INLINE M m_le(V a, V b) { return _mm256_cmp_pd(a, b, _CMP_LE_OQ); }
ALWAYS_INLINE M m_gt(V a, V b) { return _mm256_cmp_pd(a, b, _CMP_GT_OQ); }
ALWAYS_INLINE M m_eq(V a, V b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
ALWAYS_INLINE M m_and(M a, M b) { return _mm256_and_pd(a, b); }
ALWAYS_INLINE bool m_any(M m) { return _mm256_movemask_pd(m) != 0; }
ALWAYS_INLINE bool m_all(M m) { return _mm256_movemask_pd(m) == 0xf; }
ALWAYS_INLINE uint64_t m_count(M m)
{
    /* Ones in the four sign bits, from a table of 16 entries of 4 bits. */
    return 0x4332322132212110u >> 4 * _mm256_movemask_pd(m) & 7;
}
ALWAYS_INLINE I i_set(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
ALWAYS_INLINE I i_add(I a, I b) { return _mm256_add_epi64(a, b); }
ALWAYS_INLINE I i_sub(I a, I b) { return _mm256_sub_epi64(a, b); }
ALWAYS_INLINE I i_and(I a, I b) { return _mm256_and_si256(a, b); }
ALWAYS_INLINE I i_count(I counts, M m) { return _mm256_sub_epi64(counts, i_from_bits(m)); }
ALWAYS_INLINE M m_above(I a, I b) { return v_from_bits(_mm256_cmpgt_epi64(a, b)); }
ALWAYS_INLINE bool i_any(I x) { return !_mm256_testz_si256(x, x); }
ALWAYS_INLINE I i_load(const void *p) { return _mm256_loadu_si256(p); }
ALWAYS_INLINE void i_store(void *p, I x) { _mm256_storeu_si256(p, x); }
ALWAYS_INLINE I i_upper_halves(I a, I b)
{
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd));
}
ALWAYS_INLINE I w_set(uint32_t x) { return _mm256_set1_epi32((int)x); }
ALWAYS_INLINE I w_sub(I a, I b) { return _mm256_sub_epi32(a, b); }
ALWAYS_INLINE I w_min(I a, I b) { return _mm256_min_epu32(a, b); }
ALWAYS_INLINE I w_max_signed(I a, I b) { return _mm256_max_epi32(a, b); }
ALWAYS_INLINE bool w_any_zero(I x) { return i_any(_mm256_cmpeq_epi32(x, _mm256_setzero_si256())); }
ALWAYS_INLINE C w_count_negative(C count, I x)
{
    return count + (C)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(x)));
}
ALWAYS_INLINE C w_count_above(C count, I a, I b)
{
    return w_count_negative(count, _mm256_cmpgt_epi32(a, b));
}
ALWAYS_INLINE C c_none(void) { return 0; }
ALWAYS_INLINE C c_add(C a, C b) { return a + b; }
ALWAYS_INLINE uint64_t c_total(C count) { return count; }

ALWAYS_INLINE V load_f64(const void *p) { return _mm256_loadu_pd(p); }
ALWAYS_INLINE V load_f32(const void *p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
ALWAYS_INLINE V load_f16(const void *p)
{
    return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(p)));
}
ALWAYS_INLINE V load_bf16(const void *p)
{
    const __m128i upper = _mm_setr_epi8(-1, -1, 0, 1, -1, -1, 2, 3, -1, -1, 4, 5, -1, -1, 6, 7);
    __m128i wide = _mm_shuffle_epi8(_mm_loadl_epi64(p), upper);
    return _mm256_cvtps_pd(_mm_castsi128_ps(wide));
}

/* Eight elements as floats. */
ALWAYS_INLINE void floats_from_f16(float *to, const void *p)
{
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(p)));
}
ALWAYS_INLINE void floats_from_bf16(float *to, const void *p)
{
    __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16);
    _mm256_storeu_ps(to, _mm256_castsi256_ps(wide));
}

#endif

#endif
