/* The loop over a chunk, written once over the primitives of core/lanes_scalar.h; tensor_fold_*.c include
 * it for their instructions.
 *
 * Additions, multiplications and comparisons are all that it does: about twenty for a vector of each
 * side. A division would cost more than all the rest, so relative errors are compared as products
 * (|n - b| < limit |b|), and the largest is only computed for a chunk in which such a comparison
 * says that it may grow. Squares and products of elements that were narrower than a double are exact,
 * so that they may be fused with the addition to their sum.
 */
#include <math.h>

#include "compare/dumps/tensor_fold.h"

/* Both sides of relative errors, increased where Bench is 0. */
ALWAYS_INLINE void shift_zeros(V *error, V *magnitude, V x, V y)
{
    V shift = v_only_where(m_eq(y, v_set(0)), v_set(FOLD_EPSILON));
    *magnitude = v_add(y, shift);
    *error = v_abs(v_sub(v_add(x, shift), *magnitude));
    *magnitude = v_abs(*magnitude);
}

ALWAYS_INLINE uint64_t total(I counts)
{
    uint64_t count[LANES_PER_VECTOR], sum = 0;
    i_store(count, counts);
    for (int l = 0; l < LANES_PER_VECTOR; l++) sum += count[l];
    return sum;
}

/* One column of vectors, all rows. `exact` (products need no rounding) and `kind` are constants
 * where this is inlined. */
ALWAYS_INLINE void fold_column(struct chunk_sums *out, const char *npu, const char *bench, size_t n,
                               const struct fold_bounds *bounds, size_t lane, size_t element_bytes,
                               V (*load)(const void *), bool exact, enum fold_kind kind)
{
    V none = v_set(0), max_abs = none, smallest = v_set(1);
    V sum[FOLD_SUMS] = { none, none, none, none };
    I thousandth = i_set(0), five_thousandths = i_set(0), growing = i_set(0);
    I within[FOLD_LIMITS] = { thousandth, thousandth, thousandth };

    for (size_t i = lane; i < n; i += FOLD_LANES) {
        V x = load(npu + i * element_bytes), y = load(bench + i * element_bytes);
        V difference = v_abs(v_sub(x, y)), error = difference, magnitude = v_abs(y);
        sum[FOLD_DOT] = exact ? v_add_product(x, y, sum[FOLD_DOT])
                              : v_add(v_mul(x, y), sum[FOLD_DOT]);
        sum[FOLD_NPU] = exact ? v_add_product(x, x, sum[FOLD_NPU])
                              : v_add(v_mul(x, x), sum[FOLD_NPU]);
        sum[FOLD_BENCH] = exact ? v_add_product(y, y, sum[FOLD_BENCH])
                                : v_add(v_mul(y, y), sum[FOLD_BENCH]);
        sum[FOLD_DIFFERENCE] = v_add(v_mul(difference, difference), sum[FOLD_DIFFERENCE]);
        max_abs = v_max(max_abs, difference);
        if (kind == FOLD_PLAIN) smallest = v_min(smallest, magnitude);
        else shift_zeros(&error, &magnitude, x, y);
        thousandth = i_count(thousandth, m_gt(v_mul(magnitude, v_set(0.001)), error));
        five_thousandths = i_count(five_thousandths, m_gt(v_mul(magnitude, v_set(0.005)), error));
        growing = i_count(growing, m_gt(error, v_mul(magnitude, v_set(bounds->largest_relative))));
        for (int k = 0; kind == FOLD_LIMITED && k < FOLD_LIMITS; k++)
            within[k] = i_count(within[k], m_gt(v_mul(magnitude, v_set(bounds->limits[k])), error));
    }
    for (int s = 0; s < FOLD_SUMS; s++) v_store(&out->sum[s][lane], sum[s]);
    out->max_abs = fmax(out->max_abs, v_largest(max_abs));
    out->thousandth += total(thousandth);
    out->five_thousandths += total(five_thousandths);
    for (int k = 0; k < FOLD_LIMITS; k++) out->within[k] += total(within[k]);
    out->may_grow |= total(growing) != 0;
    out->has_zero |= v_largest(v_sub(none, smallest)) == 0;
}

ALWAYS_INLINE void fold_columns(struct chunk_sums *out, const void *npu, const void *bench,
                                size_t n, const struct fold_bounds *bounds, size_t element_bytes,
                                V (*load)(const void *), bool exact, enum fold_kind kind)
{
    *out = (struct chunk_sums){ .max_abs = 0 };
    for (size_t lane = 0; lane < FOLD_LANES; lane += LANES_PER_VECTOR)
        fold_column(out, npu, bench, n, bounds, lane, element_bytes, load, exact, kind);
}

#define DEFINE_FOLD(NAME, LOAD, BYTES, EXACT, KIND)                                        \
    static void NAME(struct chunk_sums *out, const void *npu, const void *bench, size_t n, \
                     const struct fold_bounds *bounds)                                     \
    {                                                                                      \
        fold_columns(out, npu, bench, n, bounds, BYTES, LOAD, EXACT, KIND);                \
    }
#define DEFINE_FOLDS(DTYPE, BYTES, EXACT)                                         \
    DEFINE_FOLD(fold_##DTYPE##_plain, load_##DTYPE, BYTES, EXACT, FOLD_PLAIN)     \
    DEFINE_FOLD(fold_##DTYPE##_shifted, load_##DTYPE, BYTES, EXACT, FOLD_SHIFTED) \
    DEFINE_FOLD(fold_##DTYPE##_limited, load_##DTYPE, BYTES, EXACT, FOLD_LIMITED)
#define FOLDS(DTYPE)                                                         \
    {                                                                        \
        fold_##DTYPE##_plain, fold_##DTYPE##_shifted, fold_##DTYPE##_limited \
    }

DEFINE_FOLDS(f64, 8, false)
DEFINE_FOLDS(f32, 4, true)
DEFINE_FOLDS(f16, 2, true)
DEFINE_FOLDS(bf16, 2, true)

static double largest_relative_error(const double *npu, const double *bench, size_t n)
{
    V largest = v_set(0), error, magnitude;
    for (size_t i = 0; i < n; i += LANES_PER_VECTOR) {
        shift_zeros(&error, &magnitude, load_f64(npu + i), load_f64(bench + i));
        largest = v_max(largest, v_div(error, magnitude));
    }
    return v_largest(largest);
}

static const struct fold_code code = {
    .rows = { [DT_F64] = FOLDS(f64),
              [DT_F32] = FOLDS(f32),
              [DT_F16] = FOLDS(f16),
              [DT_BF16] = FOLDS(bf16) },
    .largest_relative_error = largest_relative_error,
};
