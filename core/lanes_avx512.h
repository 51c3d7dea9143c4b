/* Lanes of doubles with AVX-512 (F, DQ, BW, VL: every server core since 2017):
 * the primitives that lanes_scalar.h defines. What stands between this header and LANES_END is compiled for
 * these instructions; call it only where they are available. */
#ifndef PROBE_CORE_LANES_AVX512_H
#define PROBE_CORE_LANES_AVX512_H

#if defined(__x86_64__)

#include <stdbool.h>
#include <stdint.h>

static inline bool lanes_avx512_available(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

#if defined(__clang__)
#define LANES_END _Pragma("clang attribute pop")
#pragma clang attribute push(                                                    \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma,f16c,avx2"))), \
    apply_to = function)
#else
#define LANES_END _Pragma("GCC pop_options")
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma,f16c,avx2")
#endif

#include <immintrin.h>

#define ALWAYS_INLINE    static inline __attribute__((always_inline))
#define UNLIKELY(x)      __builtin_expect(x, 0)
#define LANES_PER_VECTOR 8
typedef __m512d V;
typedef __m512i I;
typedef __mmask8 M;
typedef __m512i C; /* counts, one to a word */

ALWAYS_INLINE V v_set(double x) { return _mm512_set1_pd(x); }
ALWAYS_INLINE V v_load(const double *p) { return _mm512_loadu_pd(p); }
ALWAYS_INLINE void v_store(double *p, V x) { _mm512_storeu_pd(p, x); }
ALWAYS_INLINE V v_add(V a, V b) { return _mm512_add_pd(a, b); }
ALWAYS_INLINE V v_sub(V a, V b) { return _mm512_sub_pd(a, b); }
ALWAYS_INLINE V v_mul(V a, V b) { return _mm512_mul_pd(a, b); }
ALWAYS_INLINE V v_div(V a, V b) { return _mm512_div_pd(a, b); }
ALWAYS_INLINE V v_fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
ALWAYS_INLINE V v_add_product(V a, V b, V c) { return v_fma(a, b, c); }
ALWAYS_INLINE V v_max(V a, V b) { return _mm512_max_pd(a, b); }
ALWAYS_INLINE V v_min(V a, V b) { return _mm512_min_pd(a, b); }
ALWAYS_INLINE V v_abs(V x) { return _mm512_abs_pd(x); }
ALWAYS_INLINE V v_from_bits(I x) { return _mm512_castsi512_pd(x); }
ALWAYS_INLINE I i_from_bits(V x) { return _mm512_castpd_si512(x); }
/* Larger of two doubles without sign as bits: NaN beats infinity beats finite. */
ALWAYS_INLINE V v_max_bits(V a, V b)
{
    return v_from_bits(_mm512_max_epu64(i_from_bits(a), i_from_bits(b)));
}
/* 2^(1 - e) of normal x with exponent e; infinity of smaller ones. */
ALWAYS_INLINE V v_reciprocal_power(V x)
{
    return _mm512_andnot_pd(x, v_from_bits(_mm512_set1_epi64(0x7ff0000000000000)));
}
ALWAYS_INLINE V v_zero_where(M m, V x) { return _mm512_maskz_mov_pd((M)~m, x); }
ALWAYS_INLINE V v_only_where(M m, V x) { return _mm512_maskz_mov_pd(m, x); }
ALWAYS_INLINE double v_largest(V x) { return _mm512_reduce_max_pd(x); }
ALWAYS_INLINE M m_le(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
ALWAYS_INLINE M m_gt(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
ALWAYS_INLINE M m_eq(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
ALWAYS_INLINE M m_and(M a, M b) { return (M)(a & b); }
ALWAYS_INLINE bool m_any(M m) { return m != 0; }
ALWAYS_INLINE bool m_all(M m) { return m == 0xff; }
ALWAYS_INLINE uint64_t m_count(M m) { return (uint64_t)__builtin_popcount(m); }
ALWAYS_INLINE I i_set(uint64_t x) { return _mm512_set1_epi64((long long)x); }
ALWAYS_INLINE I i_add(I a, I b) { return _mm512_add_epi64(a, b); }
ALWAYS_INLINE I i_sub(I a, I b) { return _mm512_sub_epi64(a, b); }
ALWAYS_INLINE I i_and(I a, I b) { return _mm512_and_si512(a, b); }
ALWAYS_INLINE I i_count(I counts, M m)
{
    return _mm512_mask_add_epi64(counts, m, counts, _mm512_set1_epi64(1));
}
ALWAYS_INLINE M m_above(I a, I b) { return _mm512_cmpgt_epi64_mask(a, b); }
ALWAYS_INLINE bool i_any(I x) { return _mm512_test_epi64_mask(x, x) != 0; }
ALWAYS_INLINE I i_load(const void *p) { return _mm512_loadu_si512(p); }
ALWAYS_INLINE void i_store(void *p, I x) { _mm512_storeu_si512(p, x); }
ALWAYS_INLINE I i_upper_halves(I a, I b)
{
    return _mm512_castps_si512(
        _mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xdd));
}
ALWAYS_INLINE I w_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
ALWAYS_INLINE I w_sub(I a, I b) { return _mm512_sub_epi32(a, b); }
ALWAYS_INLINE I w_min(I a, I b) { return _mm512_min_epu32(a, b); }
ALWAYS_INLINE I w_max_signed(I a, I b) { return _mm512_max_epi32(a, b); }
ALWAYS_INLINE bool w_any_zero(I x) { return _mm512_testn_epi32_mask(x, x) != 0; }
ALWAYS_INLINE C w_count_where(C count, __mmask16 m)
{
    return _mm512_mask_add_epi32(count, m, count, _mm512_set1_epi32(1));
}
ALWAYS_INLINE C w_count_negative(C count, I x)
{
    return w_count_where(count, _mm512_movepi32_mask(x));
}
ALWAYS_INLINE C w_count_above(C count, I a, I b)
{
    return w_count_where(count, _mm512_cmpgt_epi32_mask(a, b));
}
ALWAYS_INLINE C c_none(void) { return _mm512_setzero_si512(); }
ALWAYS_INLINE C c_add(C a, C b) { return _mm512_add_epi32(a, b); }
ALWAYS_INLINE uint64_t c_total(C count) { return (uint64_t)_mm512_reduce_add_epi32(count); }

ALWAYS_INLINE V load_f64(const void *p) { return _mm512_loadu_pd(p); }
ALWAYS_INLINE V load_f32(const void *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
ALWAYS_INLINE V load_f16(const void *p)
{
    return _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(p)));
}
ALWAYS_INLINE V load_bf16(const void *p)
{
    const __m256i word = _mm256_setr_epi16(0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7);
    __m256i narrow = _mm256_castsi128_si256(_mm_loadu_si128(p));
    __m256i wide = _mm256_maskz_permutexvar_epi16(0xaaaa, word, narrow);
    return _mm512_cvtps_pd(_mm256_castsi256_ps(wide));
}

#endif

#endif
