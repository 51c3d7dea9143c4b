/* The loops themselves: plain C that is compiled once for each instruction set, and Philox on
 * vectors where the compiler does not find it. */
#include "generators/lanes.h"

#include <assert.h>
#include <string.h>

#include "generators/philox.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define INLINE static inline __attribute__((always_inline))

struct interval interval_between(double lo, double hi)
{
    struct interval interval = { lo, hi, lo / 2 + hi / 2, hi / 2 - lo / 2 };
    return interval;
}

/* ---- loops in plain C, vectorised by the compiler for each instruction set ---------- */

INLINE uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Rounding may step over the ends of the interval by an ulp. */
INLINE double clamp(double x, double lo, double hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

INLINE void reals_loop(double *restrict out, const uint32_t *restrict words, size_t n,
                       const struct interval *interval)
{
    const double lo = interval->lo, hi = interval->hi, center = interval->center;
    const double cell = interval->half_width * 0x1p-31;

    for (size_t i = 0; i < n; i++) {
        double s = (double)(int32_t)(words[i] ^ 0x80000000u) + 0.5;
        out[i] = clamp(center + s * cell, lo, hi);
    }
}

/* The upper 52 bits of a draw as the fraction of a number in [1, 2), which 2 f - 3 takes to
 * [-1, 1) exactly. */
INLINE void fine_reals_loop(double *restrict out, const uint32_t *restrict words, size_t n,
                            const struct interval *interval)
{
    const double lo = interval->lo, hi = interval->hi, center = interval->center;
    const double half_width = interval->half_width;

    for (size_t i = 0; i < n; i++) {
        uint64_t word = (uint64_t)words[2 * i + 1] << 32 | words[2 * i];
        double s = 2 * double_of(0x3ff0000000000000u | word >> 12) - 3;
        out[i] = clamp(center + s * half_width, lo, hi);
    }
}

/* The code of |x|, and the sign at bit `sign_bit`, in a format of `significand_bits` bits
 * whose smallest normal number is 2^exponent_min. Adding and subtracting a power of two
 * whose last place is the wanted one rounds |x| to that place; what is left is exact and
 * only moves bits. */
INLINE uint32_t small_code(double x, int significand_bits, int exponent_min, int sign_bit)
{
    const int drop = 53 - significand_bits;
    const double smallest = double_of((uint64_t)(1023 + exponent_min) << 52);
    const uint64_t hidden = (uint64_t)1 << (significand_bits - 1);
    uint64_t bits = bits_of(x);
    double magnitude = double_of(bits & 0x7fffffffffffffffu);
    double at_least = magnitude < smallest ? smallest : magnitude;
    double shift = double_of((bits_of(at_least) & 0x7ff0000000000000u) + ((uint64_t)drop << 52));
    double rounded = (magnitude + shift) - shift;
    /* A subnormal value has its bits in place once the hidden bit is put before them. */
    double normal = rounded < smallest ? rounded + smallest : rounded;
    uint64_t code = (bits_of(normal) >> drop) - ((uint64_t)(1022 + exponent_min)) * hidden -
                    (rounded < smallest ? hidden : 0);
    return (uint32_t)code | (uint32_t)(bits >> 63) << sign_bit;
}

INLINE void encode_loop(void *restrict out, enum dtype dtype, const double *restrict in, size_t n)
{
    float *f32 = out;
    uint16_t *u16 = out;
    uint8_t *u8 = out;

    assert(dtype_info(dtype)->kind == KIND_FLOAT);
    switch (dtype) {
    case DT_F64: memcpy(out, in, n * sizeof *in); break;
    case DT_F32:
        for (size_t i = 0; i < n; i++) f32[i] = (float)in[i];
        break;
    case DT_F16:
        for (size_t i = 0; i < n; i++) u16[i] = (uint16_t)small_code(in[i], 11, -14, 15);
        break;
    case DT_BF16:
        for (size_t i = 0; i < n; i++) u16[i] = (uint16_t)small_code(in[i], 8, -126, 15);
        break;
    case DT_F8E4M3:
        for (size_t i = 0; i < n; i++) u8[i] = (uint8_t)small_code(in[i], 4, -6, 7);
        break;
    default: /* DT_F8E5M2, the last of the kind */
        for (size_t i = 0; i < n; i++) u8[i] = (uint8_t)small_code(in[i], 3, -14, 7);
    }
}

INLINE void integers_loop(void *restrict out, enum dtype dtype, const uint32_t *restrict words,
                          size_t n, const struct integer_interval *interval)
{
    const uint32_t last = (uint32_t)interval->last;
    const uint64_t lo = (uint64_t)interval->lo;
    uint64_t *u64 = out;
    uint32_t *u32 = out;
    uint16_t *u16 = out;
    uint8_t *u8 = out;

    /* word * (last + 1) / 2^32, as word * last + word, which does not overflow. */
#define OFFSET (((uint64_t)words[i] * last + words[i]) >> 32)
    assert(interval->last <= UINT32_MAX);
    switch (dtype_info(dtype)->bytes) {
    case 8:
        for (size_t i = 0; i < n; i++) u64[i] = lo + OFFSET;
        break;
    case 4:
        for (size_t i = 0; i < n; i++) u32[i] = (uint32_t)(lo + OFFSET);
        break;
    case 2:
        for (size_t i = 0; i < n; i++) u16[i] = (uint16_t)(lo + OFFSET);
        break;
    default:
        for (size_t i = 0; i < n; i++) u8[i] = (uint8_t)(lo + OFFSET);
    }
#undef OFFSET
}

/* The four loops compiled for `TARGET`, and the row that names them. */
#define DEFINE_LANES(ROW, NAME, PHILOX, TARGET)                                                   \
    TARGET static void ROW##_reals(double *out, const uint32_t *words, size_t n,                  \
                                   const struct interval *interval)                               \
    {                                                                                             \
        reals_loop(out, words, n, interval);                                                      \
    }                                                                                             \
    TARGET static void ROW##_fine_reals(double *out, const uint32_t *words, size_t n,             \
                                        const struct interval *interval)                          \
    {                                                                                             \
        fine_reals_loop(out, words, n, interval);                                                 \
    }                                                                                             \
    TARGET static void ROW##_encode(void *out, enum dtype dtype, const double *in, size_t n)      \
    {                                                                                             \
        encode_loop(out, dtype, in, n);                                                           \
    }                                                                                             \
    TARGET static void ROW##_integers(void *out, enum dtype dtype, const uint32_t *words,         \
                                      size_t n, const struct integer_interval *interval)          \
    {                                                                                             \
        integers_loop(out, dtype, words, n, interval);                                            \
    }                                                                                             \
    static const struct lanes ROW = { NAME,         PHILOX,        ROW##_reals, ROW##_fine_reals, \
                                      ROW##_encode, ROW##_integers };

DEFINE_LANES(portable, "portable", philox_blocks, )

/* ---- Philox on vectors -------------------------------------------------------------- */

#if defined(__x86_64__)

#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))

/* Counter words sit in the low halves of 64-bit lanes, one block per lane: the widening
 * multiplication reads only low halves, so whatever the upper halves hold does no harm.
 * Four independent groups hide the latency of the multiplication. */
AVX2 static void avx2_philox(uint32_t *out, uint64_t key, uint64_t stream, uint64_t first_block,
                             size_t blocks)
{
    enum { GROUPS = 4, LANES = 4 };
    const __m256i m0 = _mm256_set1_epi64x(PHILOX_M0), m1 = _mm256_set1_epi64x(PHILOX_M1);
    /* Lanes in the order in which unpacking 64-bit halves puts them back in sequence. */
    const __m256i order = _mm256_setr_epi64x(0, 2, 1, 3);
    size_t i = 0;

    for (; i + GROUPS * LANES <= blocks; i += GROUPS * LANES) {
        __m256i c0[GROUPS], c1[GROUPS], c2[GROUPS], c3[GROUPS];
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        for (int g = 0; g < GROUPS; g++) {
            uint64_t base = first_block + i + (uint64_t)(g * LANES);
            c0[g] = _mm256_add_epi64(_mm256_set1_epi64x((long long)base), order);
            c1[g] = _mm256_srli_epi64(c0[g], 32);
            c2[g] = _mm256_set1_epi64x((long long)(stream & UINT32_MAX));
            c3[g] = _mm256_set1_epi64x((long long)(stream >> 32));
        }
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
            for (int g = 0; g < GROUPS; g++) {
                __m256i p0 = _mm256_mul_epu32(m0, c0[g]), p1 = _mm256_mul_epu32(m1, c2[g]);
                c0[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[g]), key0);
                c1[g] = p1;
                c2[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[g]), key1);
                c3[g] = p0;
            }
            k0 += PHILOX_W0;
            k1 += PHILOX_W1;
        }
        for (int g = 0; g < GROUPS; g++) {
            __m256i low = _mm256_blend_epi32(c0[g], _mm256_slli_epi64(c1[g], 32), 0xaa);
            __m256i high = _mm256_blend_epi32(c2[g], _mm256_slli_epi64(c3[g], 32), 0xaa);
            __m256i *to = (__m256i *)(void *)(out + PHILOX_WORDS * (i + (size_t)(g * LANES)));
            _mm256_storeu_si256(to, _mm256_unpacklo_epi64(low, high));
            _mm256_storeu_si256(to + 1, _mm256_unpackhi_epi64(low, high));
        }
    }
    philox_blocks(out + PHILOX_WORDS * i, key, stream, first_block + i, blocks - i);
}

AVX512 static void avx512_philox(uint32_t *out, uint64_t key, uint64_t stream, uint64_t first_block,
                                 size_t blocks)
{
    enum { GROUPS = 4, LANES = 8 };
    const __m512i m0 = _mm512_set1_epi64(PHILOX_M0), m1 = _mm512_set1_epi64(PHILOX_M1);
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    size_t i = 0;

    for (; i + GROUPS * LANES <= blocks; i += GROUPS * LANES) {
        __m512i c0[GROUPS], c1[GROUPS], c2[GROUPS], c3[GROUPS];
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        for (int g = 0; g < GROUPS; g++) {
            uint64_t base = first_block + i + (uint64_t)(g * LANES);
            c0[g] = _mm512_add_epi64(_mm512_set1_epi64((long long)base), order);
            c1[g] = _mm512_srli_epi64(c0[g], 32);
            c2[g] = _mm512_set1_epi64((long long)(stream & UINT32_MAX));
            c3[g] = _mm512_set1_epi64((long long)(stream >> 32));
        }
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
            for (int g = 0; g < GROUPS; g++) {
                __m512i p0 = _mm512_mul_epu32(m0, c0[g]), p1 = _mm512_mul_epu32(m1, c2[g]);
                /* 0x96 is the truth table of a three-way exclusive or. */
                c0[g] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1[g], key0, 0x96);
                c1[g] = p1;
                c2[g] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3[g], key1, 0x96);
                c3[g] = p0;
            }
            k0 += PHILOX_W0;
            k1 += PHILOX_W1;
        }
        for (int g = 0; g < GROUPS; g++) {
            __m512i low = _mm512_mask_blend_epi32(0xaaaa, c0[g], _mm512_slli_epi64(c1[g], 32));
            __m512i high = _mm512_mask_blend_epi32(0xaaaa, c2[g], _mm512_slli_epi64(c3[g], 32));
            uint32_t *to = out + PHILOX_WORDS * (i + (size_t)(g * LANES));
            _mm512_storeu_si512(to, _mm512_unpacklo_epi64(low, high));
            _mm512_storeu_si512(to + 16, _mm512_unpackhi_epi64(low, high));
        }
    }
    philox_blocks(out + PHILOX_WORDS * i, key, stream, first_block + i, blocks - i);
}

DEFINE_LANES(avx2, "avx2", avx2_philox, AVX2)
DEFINE_LANES(avx512, "avx512", avx512_philox, AVX512)

static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

#elif defined(__aarch64__)

/* Four blocks at a time, one counter word of each per vector; the interleaving store puts
 * the words back in sequence. */
static void neon_philox(uint32_t *out, uint64_t key, uint64_t stream, uint64_t first_block,
                        size_t blocks)
{
    enum { LANES = 4 };
    const uint32_t steps[LANES] = { 0, 1, 2, 3 };
    size_t i = 0;

    for (; i + LANES <= blocks; i += LANES) {
        uint64_t base = first_block + i;
        /* Blocks whose low word wraps inside this group are left to the definition. */
        if ((uint32_t)base > UINT32_MAX - (LANES - 1)) {
            philox_blocks(out + PHILOX_WORDS * i, key, stream, base, LANES);
            continue;
        }
        uint32x4_t c0 = vaddq_u32(vdupq_n_u32((uint32_t)base), vld1q_u32(steps));
        uint32x4_t c1 = vdupq_n_u32((uint32_t)(base >> 32));
        uint32x4_t c2 = vdupq_n_u32((uint32_t)stream);
        uint32x4_t c3 = vdupq_n_u32((uint32_t)(stream >> 32));
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            uint32x4_t p0a = vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(c0), PHILOX_M0));
            uint32x4_t p0b = vreinterpretq_u32_u64(vmull_n_u32(vget_high_u32(c0), PHILOX_M0));
            uint32x4_t p1a = vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(c2), PHILOX_M1));
            uint32x4_t p1b = vreinterpretq_u32_u64(vmull_n_u32(vget_high_u32(c2), PHILOX_M1));
            c0 = veorq_u32(veorq_u32(vuzp2q_u32(p1a, p1b), c1), vdupq_n_u32(k0));
            c1 = vuzp1q_u32(p1a, p1b);
            c2 = veorq_u32(veorq_u32(vuzp2q_u32(p0a, p0b), c3), vdupq_n_u32(k1));
            c3 = vuzp1q_u32(p0a, p0b);
            k0 += PHILOX_W0;
            k1 += PHILOX_W1;
        }
        vst4q_u32(out + PHILOX_WORDS * i, ((uint32x4x4_t){ { c0, c1, c2, c3 } }));
    }
    philox_blocks(out + PHILOX_WORDS * i, key, stream, first_block + i, blocks - i);
}

DEFINE_LANES(neon, "neon", neon_philox, )

#endif

static bool always(void) { return true; }

/* Best last. */
static const struct {
    const struct lanes *lanes;
    bool (*supported)(void);
} variants[] = {
    { &portable, always },
#if defined(__x86_64__)
    { &avx2, has_avx2 },
    { &avx512, has_avx512 },
#elif defined(__aarch64__)
    { &neon, always },
#endif
};

const struct lanes *lanes_best(void)
{
    size_t i = sizeof variants / sizeof *variants;
    while (!variants[--i].supported()) continue;
    return variants[i].lanes;
}

const struct lanes *lanes_variant(size_t i)
{
    for (size_t k = 0; k < sizeof variants / sizeof *variants; k++)
        if (variants[k].supported() && i-- == 0) return variants[k].lanes;
    return NULL;
}
