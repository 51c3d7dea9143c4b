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
 * finite. It agrees without comparison when both are NaN, both are the same infinity, or `want`
 * overflows the device's dtype and `got` is the infinity of its sign. Everything else that is
 * not finite is a mismatch; it is counted in the matrix and left out of means and maxima.
 */
#ifndef PROBE_STANDARDS_METRICS_H
#define PROBE_STANDARDS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"
#include "core/reference.h"
#include "core/status.h"
#include "core/tensor.h"

/* Kinds of a value in the agreement matrix. The reference is classed after rounding to the
 * device's dtype: a value that overflows it is an infinity there. */
enum value_class { CLASS_FINITE, CLASS_POSITIVE_INFINITY, CLASS_NEGATIVE_INFINITY, CLASS_NAN,
                   CLASS_COUNT };

/* Bins of the ULP histogram: 0 holds exact elements, 1 those within half an ulp, k >= 2 those in
 * (2^(k-3), 2^(k-2)] ulp; the last bin has no upper end. */
enum { ULP_BINS = 64 };

/* The element that is worst by some measure. */
struct worst_element {
    size_t index; /* flat, of the component; SIZE_MAX when nothing was compared */
    double want, got, value;
};

/* What the pre-check prints. NaN and infinities appear where its formulas give them. */
struct peer_metrics {
    double cosine;
    double max_abs_error;
    double within_hundredth, within_thousandth, within_ten_thousandth; /* shares, 0..1 */
    double binary_mismatch;                                            /* share */
    double small_value_ratio, rmse, error_balance;
    double max_relative_error, mean_relative_error;
    double inf_nan_ratio, relative_error_ratio, absolute_error_ratio;
    double max_ulp, mean_ulp, ulp_proportion;

    /* Sizes of the masks behind the ratios: 0 makes the ratio the exact integer 0. */
    uint64_t small_count, normal_count, non_finite_count;

    /* How the cosine came about. */
    enum { COSINE_VALUE, COSINE_SCALAR, COSINE_BOTH_ZERO, COSINE_GOT_ZERO, COSINE_WANT_ZERO,
           COSINE_NAN } cosine_kind;
};

struct metrics {
    size_t n;            /* components: elements, twice that for complex outputs */
    enum dtype dtype;    /* of the device's values; the component type for complex ones */
    uint64_t classes[CLASS_COUNT][CLASS_COUNT]; /* [want][got] */
    uint64_t compared;   /* both finite */
    uint64_t agreed;     /* not finite and equal */
    uint64_t mismatched; /* not finite and not equal */
    uint64_t unequal;    /* got differs from want rounded to the device's dtype */

    struct peer_metrics peer;

    /* Over the compared elements, errors are got - want. */
    double mean_abs, mean_signed, rms;       /* in the unit of the values */
    double mean_relative;                    /* over those with want != 0 */
    double mean_ulp, mean_signed_ulp, rms_ulp; /* in ulp of the device's dtype at want */
    uint64_t above, below;                   /* got > want, got < want */
    uint64_t ulp_histogram[ULP_BINS];
    struct worst_element worst_abs, worst_relative, worst_ulp;

    /* Widest bound on the reference's own error, in ulp, and its element. */
    double bound_ulp;
};

#endif
