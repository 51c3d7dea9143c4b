/* The metrics of one output: everything that a single read of the device's values and of the
 * reference can tell about their difference.
 *
 * Two families live side by side. The fields of `struct peer_metrics` follow the formulas of
 * the accuracy pre-check (cosine, the double ratios, the benchmark, absolute-threshold and ULP
 * columns): their masks and small constants are part of a file format that others read. The
 * other fields measure what actually happened: distance in real units in the last place, exact
 * means over the elements that were compared, the sign of the error, where the worst elements
 * lie, and which kinds of non-finite values met which.
 *
 * `want` is the reference, `got` what the device returned. An element is compared when both are
 * finite and `want` does not overflow the device's dtype. It agrees without comparison when both
 * are NaN, both are the same infinity, or `want` overflows the dtype and `got` is what the dtype
 * has for that: the infinity of its sign, or, for the 8-bit formats, which may saturate, NaN or
 * the largest value. Everything else that is not finite is a mismatch: counted in the matrix,
 * left out of means and maxima of the second family, and treated by the first as its formulas
 * do.
 */
#ifndef PROBE_STANDARDS_METRICS_METRICS_H
#define PROBE_STANDARDS_METRICS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"
#include "core/parallel.h"
#include "core/reference.h"
#include "core/status.h"
#include "core/tensor.h"
#include "standards/metrics/metrics_terms.h"

/* The element that is worst by some measure. */
struct worst_element {
    size_t index; /* flat, of the component; SIZE_MAX when no element differs */
    double want, got, value;
};

/* How the cosine came about. */
enum cosine_kind {
    COSINE_VALUE,
    COSINE_SCALAR,    /* a single component: undefined */
    COSINE_BOTH_ZERO, /* nothing above COSINE_ZERO on either side */
    COSINE_GOT_ZERO,
    COSINE_WANT_ZERO,
    COSINE_NAN
};

/* Largest magnitude that counts as zero for the cosine. */
#define COSINE_ZERO 0x1p-52

/* What the pre-check prints. NaN and infinities appear where its formulas give them. */
struct peer_metrics {
    enum cosine_kind cosine_kind;
    double cosine; /* NaN unless COSINE_VALUE */
    double max_abs_error;
    double within_hundredth, within_thousandth, within_ten_thousandth; /* shares, 0..1 */
    double binary_mismatch;                                            /* share */
    double small_value_ratio, rmse, error_balance;
    double max_relative_error, mean_relative_error;
    enum dtype relative_dtype; /* the type in which these two are printed; DT_NONE: as others */
    double inf_nan_ratio, relative_error_ratio;
    double max_ulp, mean_ulp, ulp_proportion;
    /* Sizes of the masks behind the ratios; a ratio over an empty mask is 0. */
    uint64_t small_count, normal_count, non_finite_count;
};

struct metrics {
    size_t n;         /* components: elements, twice that for complex outputs */
    enum dtype dtype; /* of the device's components: the part type for complex ones */
    uint64_t classes[CLASS_COUNT][CLASS_COUNT]; /* [want][got] */
    uint64_t compared, agreed, mismatched;      /* as above; their sum is n */
    uint64_t unequal; /* compared, and got is not want rounded to nearest even in `dtype` */

    struct peer_metrics peer;

    /* Over the compared elements; errors are got - want, units are those of `dtype` at want,
     * subnormal-aware, and the smallest one at want = 0. */
    double mean_ulp, mean_signed_ulp, rms_ulp;
    uint64_t above, below; /* got beyond want rounded to `dtype` (bfloat16: to float32) */
    uint64_t ulp_histogram[ULP_BINS];

    /* Over the compared elements with |want| above the small value. Exact masked mean. */
    double rms;

    /* Relative means |got - want| / (|want| + epsilon), over the elements of `rms`. */
    struct worst_element worst_abs, worst_relative, worst_ulp;

    double bound_ulp; /* widest bound on the reference's own error, in ulp */
};

/* Instruction sets of the pass. All give bitwise equal results. */
enum metrics_variant {
    METRICS_BEST, /* the fastest that this machine has */
    METRICS_SCALAR,
    METRICS_AVX2,
    METRICS_AVX512,
    METRICS_NEON,
    METRICS_VARIANTS
};

/* Does this machine (and build) have the variant? */
bool metrics_variant_available(enum metrics_variant variant);
const char *metrics_variant_name(enum metrics_variant variant);

/* Measure `got` against `want`.
 *
 *   got         dense, of a floating or complex dtype, as many components as want->n
 *   want        hi set (not an integer reference)
 *   parameters  the constants of the peer's formulas
 *   variant     one that this machine has
 *   accuracy    counts are exact; sums are of doubles in a fixed order, relative error below
 *               2^-42 for sums of positive terms, absolute error below 2^-38 for the cosine; maxima are
 *               those of the rounded differences
 *   help        threads that take parts of large tensors (core/parallel.h), or NULL; the bits are the same
 *   threads     none shared but by way of `help`
 */
void metrics_compute(struct metrics *out, const struct tensor *got, const struct reference *want,
                     const struct metrics_parameters *parameters, enum metrics_variant variant,
                     struct help *help);

/* The peer's metrics in the arithmetic of numpy: values, masks and sums rounded to the working
 * type, which follows from the bench dtype and that of the device; equal infinities and NaNs do
 * not agree. For profiles whose numbers must be those of the peer's files.
 *
 *   errors      STATUS_NO_MEMORY only
 */
struct status metrics_compute_numpy(struct peer_metrics *out, const struct tensor *got,
                                    const struct reference *want, enum dtype bench_dtype,
                                    const struct metrics_parameters *parameters);

/* Working type of the peer's arithmetic: DT_F64, DT_F32 or DT_F16. */
enum dtype metrics_work_dtype(enum dtype bench, enum dtype device);

/* Part type of a complex dtype; any other dtype itself. */
enum dtype metrics_component_dtype(enum dtype dtype);

/* Share of elements of an integer or bool tensor that differ. Same number of elements. */
double metrics_integer_mismatch(const struct tensor *got, const struct reference *want,
                                double *max_abs_error);

#endif
