/* Lanes of doubles, one to a vector: what the primitives of lanes_avx2.h, lanes_avx512.h and lanes_neon.h
 * mean, for processors that have none of these. A kernel is written once over the primitives, in a
 * header that one file for each set of instructions includes behind one of these:
 *
 *   V, I, M        LANES_PER_VECTOR doubles, as many 64-bit integers, as many truth values
 *   v_add_product  a * b + c, where a * b is exact, so that rounding once or twice is the same
 *   v_min, v_max   of numbers; with a NaN any of the two
 *   load_f32 ...   LANES_PER_VECTOR elements of a dtype as doubles, from any address
 *
 * The others have more primitives, for what one kernel needs alone. Lanes are independent and nothing is
 * fused that rounds, so a kernel gives the same bits with all of them. */
#ifndef PROBE_CORE_LANES_SCALAR_H
#define PROBE_CORE_LANES_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/dtype.h"

#define LANES_END
#define ALWAYS_INLINE    static inline __attribute__((always_inline))
#define LANES_PER_VECTOR 1
typedef double V;
typedef uint64_t I;
typedef bool M;

ALWAYS_INLINE V v_set(double x) { return x; }
ALWAYS_INLINE void v_store(double *p, V x) { *p = x; }
ALWAYS_INLINE V v_add(V a, V b) { return a + b; }
ALWAYS_INLINE V v_sub(V a, V b) { return a - b; }
ALWAYS_INLINE V v_mul(V a, V b) { return a * b; }
ALWAYS_INLINE V v_div(V a, V b) { return a / b; }
ALWAYS_INLINE V v_add_product(V a, V b, V c) { return a * b + c; }
ALWAYS_INLINE V v_max(V a, V b) { return a > b ? a : b; }
ALWAYS_INLINE V v_min(V a, V b) { return a < b ? a : b; }
ALWAYS_INLINE V v_abs(V x) { return fabs(x); }
ALWAYS_INLINE V v_only_where(M m, V x) { return m ? x : 0; }
ALWAYS_INLINE double v_largest(V x) { return x; }
ALWAYS_INLINE M m_gt(V a, V b) { return a > b; }
ALWAYS_INLINE M m_eq(V a, V b) { return a == b; }
ALWAYS_INLINE I i_set(uint64_t x) { return x; }
ALWAYS_INLINE I i_count(I counts, M m) { return counts + m; }
ALWAYS_INLINE void i_store(void *p, I x) { memcpy(p, &x, sizeof x); }

ALWAYS_INLINE V load_f64(const void *p)
{
    double x;
    memcpy(&x, p, sizeof x);
    return x;
}
ALWAYS_INLINE V load_f32(const void *p)
{
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}
ALWAYS_INLINE V load_f16(const void *p)
{
    double x;
    dtype_to_double(&x, p, DT_F16, 1);
    return x;
}
ALWAYS_INLINE V load_bf16(const void *p)
{
    double x;
    dtype_to_double(&x, p, DT_BF16, 1);
    return x;
}

#endif
