/* What the zoo's kernels share: elements of three dtypes, and which fault is on.
 *
 * Every kernel is an honest one, computing in float32 and rounding once, unless the environment
 * variable ZOO_FAULT names a fault of its own. The zoo judges by verdicts alone, so nothing here
 * uses the program under test.
 */
#ifndef ZOO_KERNELS_H
#define ZOO_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "faults.h"

#define NUMBER(NAME, call, dtypes, description) NAME,
enum fault { NO_FAULT, FAULTS(NUMBER) FAULT_COUNT };
#undef NUMBER

/* The fault that is on. */
enum fault zoo_fault(void);

static inline int faulty(enum fault fault) { return zoo_fault() == fault; }

/* dtypes as the manifest passes them */
enum { TYPE_F32, TYPE_F16, TYPE_BF16 };

static inline float bf16_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return x;
}

static inline uint16_t bf16_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float to_bf16(float x) { return bf16_value(bf16_bits(x)); }

static inline float f16_value(uint16_t bits)
{
    /* The exponent is moved into place and rescaled, which gets subnormals right too. */
    uint32_t wide = (uint32_t)(bits & 0x7fff) << 13;
    float x;
    if ((bits & 0x7c00) == 0x7c00) wide |= 0x7f800000;
    memcpy(&x, &wide, sizeof x);
    if ((bits & 0x7c00) != 0x7c00) x *= 0x1p112f;
    return bits >> 15 ? -x : x;
}

static inline uint16_t f16_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    uint32_t sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (u >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more */
    if (u >= 0x38800000) return (uint16_t)(sign | ((u - 0x38000000 + 0xfff + (u >> 13 & 1)) >> 13));
    /* Subnormal: adding 0.5 makes the unit of float's last place 2^-24, that of float16. */
    float y = fabsf(x) + 0.5f;
    memcpy(&u, &y, sizeof u);
    return (uint16_t)(sign | (u - 0x3f000000));
}

static inline float to_f16(float x) { return f16_value(f16_bits(x)); }

/* x with its significand cut to `bits` bits after the leading one. */
static inline float cut(float x, int bits)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u &= ~(uint32_t)0 << (23 - bits);
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float get(int dtype, const void *p, int64_t i)
{
    if (dtype == TYPE_F32) return ((const float *)p)[i];
    if (dtype == TYPE_F16) return f16_value(((const uint16_t *)p)[i]);
    return bf16_value(((const uint16_t *)p)[i]);
}

static inline void put(int dtype, void *p, int64_t i, float x)
{
    if (dtype == TYPE_F32) ((float *)p)[i] = x;
    else if (dtype == TYPE_F16) ((uint16_t *)p)[i] = f16_bits(x);
    else ((uint16_t *)p)[i] = bf16_bits(x);
}

/* Toward zero instead of to nearest. */
static inline void put_truncated(int dtype, void *p, int64_t i, float x)
{
    if (dtype == TYPE_BF16) {
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        ((uint16_t *)p)[i] = (uint16_t)(bits >> 16);
        return;
    }
    float y = to_f16(x);
    if (isfinite(y) && fabsf(y) > fabsf(x)) {
        ((uint16_t *)p)[i] = (uint16_t)(f16_bits(x) - 1);
        return;
    }
    put(dtype, p, i, x);
}

#endif
