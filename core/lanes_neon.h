/* Lanes of doubles with NEON, which every aarch64 core has (the hosts of Ascend cards):
 * the primitives that lanes_scalar.h defines. */
#ifndef PROBE_CORE_LANES_NEON_H
#define PROBE_CORE_LANES_NEON_H

#if defined(__aarch64__)

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LANES_END
#define ALWAYS_INLINE    static inline __attribute__((always_inline))
#define UNLIKELY(x)      __builtin_expect(x, 0)
#define LANES_PER_VECTOR 2
typedef float64x2_t V;
typedef uint64x2_t I;
typedef uint64x2_t M; /* all bits of a lane set or clear */
typedef uint32x4_t C; /* counts, one to a word */

ALWAYS_INLINE V v_set(double x) { return vdupq_n_f64(x); }
ALWAYS_INLINE V v_load(const double *p) { return vld1q_f64(p); }
ALWAYS_INLINE void v_store(double *p, V x) { vst1q_f64(p, x); }
ALWAYS_INLINE V v_add(V a, V b) { return vaddq_f64(a, b); }
ALWAYS_INLINE V v_sub(V a, V b) { return vsubq_f64(a, b); }
ALWAYS_INLINE V v_mul(V a, V b) { return vmulq_f64(a, b); }
ALWAYS_INLINE V v_div(V a, V b) { return vdivq_f64(a, b); }
ALWAYS_INLINE V v_fma(V a, V b, V c) { return vfmaq_f64(c, a, b); }
ALWAYS_INLINE V v_add_product(V a, V b, V c) { return v_fma(a, b, c); }
ALWAYS_INLINE V v_abs(V x) { return vabsq_f64(x); }
ALWAYS_INLINE V v_from_bits(I x) { return vreinterpretq_f64_u64(x); }
ALWAYS_INLINE I i_from_bits(V x) { return vreinterpretq_u64_f64(x); }
/* Only of numbers: where NaN may meet, v_max_bits is used or the column is dropped later. */
ALWAYS_INLINE V v_max(V a, V b) { return vmaxq_f64(a, b); }
ALWAYS_INLINE V v_min(V a, V b) { return vminq_f64(a, b); }
/* Larger of two doubles without sign as bits: NaN beats infinity beats finite. */
ALWAYS_INLINE V v_max_bits(V a, V b)
{
    return vbslq_f64(vcgtq_u64(i_from_bits(a), i_from_bits(b)), a, b);
}
/* 2^(1 - e) of normal x with exponent e; infinity of smaller ones. */
ALWAYS_INLINE V v_reciprocal_power(V x)
{
    return v_from_bits(vbicq_u64(vdupq_n_u64(0x7ff0000000000000), i_from_bits(x)));
}
ALWAYS_INLINE V v_zero_where(M m, V x) { return v_from_bits(vbicq_u64(i_from_bits(x), m)); }
ALWAYS_INLINE V v_only_where(M m, V x) { return v_from_bits(vandq_u64(i_from_bits(x), m)); }
ALWAYS_INLINE double v_largest(V x) { return vmaxvq_f64(x); }
ALWAYS_INLINE M m_le(V a, V b) { return vcleq_f64(a, b); }
ALWAYS_INLINE M m_gt(V a, V b) { return vcgtq_f64(a, b); }
ALWAYS_INLINE M m_eq(V a, V b) { return vceqq_f64(a, b); }
ALWAYS_INLINE M m_and(M a, M b) { return vandq_u64(a, b); }
ALWAYS_INLINE uint64_t m_count(M m) { return vaddvq_u64(vshrq_n_u64(m, 63)); }
ALWAYS_INLINE bool m_any(M m) { return vmaxvq_u32(vreinterpretq_u32_u64(m)) != 0; }
ALWAYS_INLINE bool m_all(M m) { return vminvq_u32(vreinterpretq_u32_u64(m)) != 0; }
ALWAYS_INLINE I i_set(uint64_t x) { return vdupq_n_u64(x); }
ALWAYS_INLINE I i_add(I a, I b) { return vaddq_u64(a, b); }
ALWAYS_INLINE I i_sub(I a, I b) { return vsubq_u64(a, b); }
ALWAYS_INLINE I i_and(I a, I b) { return vandq_u64(a, b); }
ALWAYS_INLINE I i_count(I counts, M m) { return vsubq_u64(counts, m); }
ALWAYS_INLINE M m_above(I a, I b)
{
    return vcgtq_s64(vreinterpretq_s64_u64(a), vreinterpretq_s64_u64(b));
}
ALWAYS_INLINE bool i_any(I x) { return vmaxvq_u32(vreinterpretq_u32_u64(x)) != 0; }
ALWAYS_INLINE I i_load(const void *p) { return vreinterpretq_u64_u32(vld1q_u32(p)); }
ALWAYS_INLINE void i_store(void *p, I x) { vst1q_u32(p, vreinterpretq_u32_u64(x)); }
ALWAYS_INLINE I i_upper_halves(I a, I b)
{
    return vreinterpretq_u64_u32(vuzp2q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)));
}
ALWAYS_INLINE I w_set(uint32_t x) { return vreinterpretq_u64_u32(vdupq_n_u32(x)); }
ALWAYS_INLINE I w_sub(I a, I b)
{
    return vreinterpretq_u64_u32(vsubq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)));
}
ALWAYS_INLINE I w_min(I a, I b)
{
    return vreinterpretq_u64_u32(vminq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)));
}
ALWAYS_INLINE bool w_any_zero(I x) { return vminvq_u32(vreinterpretq_u32_u64(x)) == 0; }
ALWAYS_INLINE I w_max_signed(I a, I b)
{
    return vreinterpretq_u64_s32(vmaxq_s32(vreinterpretq_s32_u64(a), vreinterpretq_s32_u64(b)));
}
ALWAYS_INLINE C w_count_negative(C count, I x)
{
    return vsraq_n_u32(count, vreinterpretq_u32_u64(x), 31);
}
ALWAYS_INLINE C w_count_above(C count, I a, I b)
{
    return vsubq_u32(count, vcgtq_s32(vreinterpretq_s32_u64(a), vreinterpretq_s32_u64(b)));
}
ALWAYS_INLINE C c_none(void) { return vdupq_n_u32(0); }
ALWAYS_INLINE C c_add(C a, C b) { return vaddq_u32(a, b); }
ALWAYS_INLINE uint64_t c_total(C count) { return vaddlvq_u32(count); }

ALWAYS_INLINE V load_f64(const void *p) { return vld1q_f64(p); }
ALWAYS_INLINE V load_f32(const void *p) { return vcvt_f64_f32(vld1_f32(p)); }
ALWAYS_INLINE V load_f16(const void *p)
{
    uint32_t pair;
    memcpy(&pair, p, sizeof pair);
    float32x4_t wide = vcvt_f32_f16(vreinterpret_f16_u32(vdup_n_u32(pair)));
    return vcvt_f64_f32(vget_low_f32(wide));
}
ALWAYS_INLINE V load_bf16(const void *p)
{
    uint32_t pair;
    memcpy(&pair, p, sizeof pair);
    uint32x4_t wide = vshll_n_u16(vreinterpret_u16_u32(vdup_n_u32(pair)), 16);
    return vcvt_f64_f32(vget_low_f32(vreinterpretq_f32_u32(wide)));
}

/* Eight elements as floats. */
ALWAYS_INLINE void floats_from_f16(float *to, const void *p)
{
    float16x8_t narrow = vreinterpretq_f16_u16(vld1q_u16(p));
    vst1q_f32(to, vcvt_f32_f16(vget_low_f16(narrow)));
    vst1q_f32(to + 4, vcvt_high_f32_f16(narrow));
}
ALWAYS_INLINE void floats_from_bf16(float *to, const void *p)
{
    uint16x8_t narrow = vld1q_u16(p);
    vst1q_f32(to, vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(narrow), 16)));
    vst1q_f32(to + 4, vreinterpretq_f32_u32(vshll_high_n_u16(narrow, 16)));
}

#endif

#endif
