/* One chunk of two tensors, folded into sums, extrema and counts: the inner loop of tensor_metrics.c, once
 * for each set of instructions. Sums are kept in FOLD_LANES independent lanes, element i in lane i mod
 * FOLD_LANES, so that they are the same bits with all of them.
 */
#ifndef PROBE_COMPARE_DUMPS_TENSOR_FOLD_H
#define PROBE_COMPARE_DUMPS_TENSOR_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"

enum { FOLD_CHUNK = 1024, FOLD_LANES = 8, FOLD_LIMITS = 3 };

enum folded_sum { FOLD_DOT, FOLD_NPU, FOLD_BENCH, FOLD_DIFFERENCE, FOLD_SUMS };

/* 2^-52: what both sides are increased by where Bench is 0. */
#define FOLD_EPSILON 0x1p-52

/* What a chunk is held against. */
struct fold_bounds {
    double largest_relative;    /* so far, or a little less */
    double limits[FOLD_LIMITS]; /* relative errors to be counted below */
};

/* What a chunk comes to. Elements that are not finite spoil all but the squares: those are not finite
 * then. */
struct chunk_sums {
    double sum[FOLD_SUMS][FOLD_LANES];
    double max_abs;
    uint64_t thousandth, five_thousandths, within[FOLD_LIMITS];
    bool may_grow; /* a relative error is above the largest so far, or close to it */
    bool has_zero; /* Bench has an element that is 0; only known when they were not shifted */
};

/* Fold `n` elements of each side, a multiple of FOLD_LANES. */
typedef void fold_rows(struct chunk_sums *out, const void *npu, const void *bench, size_t n,
                       const struct fold_bounds *bounds);

/* The loop with what is asked of it, and nothing else. */
enum fold_kind {
    FOLD_PLAIN,   /* no element of Bench is 0; chunk_sums.has_zero says whether that was wrong */
    FOLD_SHIFTED, /* both sides are increased where Bench is 0 */
    FOLD_LIMITED, /* the same, and chunk_sums.within is counted */
    FOLD_KINDS
};

/* The code for one set of instructions. */
struct fold_code {
    fold_rows
        *rows[DT_COUNT][FOLD_KINDS]; /* both sides of this dtype; NULL: convert them to doubles */
    double (*largest_relative_error)(const double *npu, const double *bench, size_t n);
};

/* NULL where the processor lacks the instructions. */
const struct fold_code *fold_code_scalar(void);
const struct fold_code *fold_code_avx2(void);
const struct fold_code *fold_code_avx512(void);
const struct fold_code *fold_code_neon(void);

/* The fastest that the processor has. */
const struct fold_code *fold_code_best(void);

#endif
