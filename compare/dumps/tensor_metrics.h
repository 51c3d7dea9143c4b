/* Two recorded tensors against each other, element by element: the six metrics of the comparison,
 * in double, in one pass over both, chunk by chunk.
 */
#ifndef PROBE_COMPARE_DUMPS_TENSOR_METRICS_H
#define PROBE_COMPARE_DUMPS_TENSOR_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "compare/dumps/tensor_fold.h"
#include "core/tensor.h"

enum tensor_metric {
    METRIC_COSINE,
    METRIC_EUCLIDEAN_DISTANCE,
    METRIC_MAX_ABS_ERROR,
    METRIC_MAX_RELATIVE_ERROR,
    METRIC_ONE_THOUSANDTH,  /* share of elements with relative error below 0.001 */
    METRIC_FIVE_THOUSANDTH, /* below 0.005 */
    TENSOR_METRICS
};

enum { TENSOR_LIMITS = FOLD_LIMITS };

struct non_finite_counts {
    uint64_t nan, inf;
};

/* What the pass found.
 *
 *   Relative error of an element: |n - b| / |b|; where b is 0, both are first increased by 2^-52.
 *   Elements that are infinite on both sides, or NaN on both, count as 0 on both.
 *   Complex elements count as two numbers.
 */
struct tensor_sums {
    uint64_t n;
    double dot, npu_squared, bench_squared, difference_squared;
    double max_abs, max_relative;
    uint64_t within_thousandth, within_five_thousandths;
    uint64_t within[TENSOR_LIMITS]; /* relative error below the limits that were asked for */
    struct non_finite_counts npu, bench;
    bool positions_differ; /* inf or NaN on one side only */
    bool inf_signs_differ;
};

/* A sum with what was rounded away. */
struct compensated {
    double sum, rest;
};

/* A fold in the making: windows of two tensors of the same number of elements are added in order. */
struct tensor_folding {
    struct tensor_sums sums;
    struct compensated totals[FOLD_SUMS];
    enum dtype npu, bench;
    const struct fold_code *code;
    const double *limits;
    bool zeros; /* Bench has had elements that are 0 */
};

/* Start: dtypes of the sides, both complex or none; `limits` (TENSOR_LIMITS relative errors, which must
 * stay) may be NULL. */
struct tensor_folding tensor_folding_start(enum dtype npu, enum dtype bench, const double *limits);

/* Add `n` elements. How a tensor is cut into windows changes nothing but rounding. */
void tensor_folding_add(struct tensor_folding *folding, const void *npu, const void *bench,
                        size_t n);

struct tensor_sums tensor_folding_finish(const struct tensor_folding *folding);

/* Two dense tensors at once. */
void tensor_sums_fold(struct tensor_sums *out, const struct tensor *npu, const struct tensor *bench,
                      const double *limits);

/* Count an element that is not finite. */
void count_non_finite(struct non_finite_counts *counts, double x);

/* The relative error of one element. */
double element_relative_error(double npu, double bench);

/* Round to 12 decimals, as Python's round(x, 12). */
double round_to_12(double x);

/* The cosine's cell: rounded to 12 decimals and, above 0.9999, to 6. 1 when both norms are at most
 * 2^-52, NaN when one is. */
double tensor_sums_cosine(const struct tensor_sums *sums);

#endif
