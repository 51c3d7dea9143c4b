/* The pass. Elements are folded in LANES independent accumulators per sum, written as vectors of that
 * length so that they stay in registers; lanes and chunks meet in a fixed order, so that the result
 * depends neither on the vector width nor on the number of threads. Within a chunk a lane adds CHUNK /
 * LANES terms, chunks meet in compensated sums: a sum of n squares is off by less than (CHUNK / LANES +
 * LANES) 2^-53 relatively. float32, which most dumps hold, is widened in registers; other dtypes through
 * two buffers that stay in the first-level cache.
 *
 * A division costs more than all the rest. The shares of small relative errors compare products instead
 * (|n - b| < limit |b|), and the largest relative error is only computed for a chunk in which the same
 * comparison says that it may grow.
 *
 * A chunk with anything not finite is cleaned, element by element, and folded again; they are rare.
 */
#include "compare/dumps/tensor_metrics.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectorize.h"

enum { CHUNK = 1024, LANES = 8 };

static const double epsilon = 0x1p-52;

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t marks __attribute__((vector_size(8 * LANES))); /* -1 where a comparison holds */
typedef float narrow_lanes __attribute__((vector_size(4 * LANES)));

#define ABSOLUTE(v)  ((lanes)((marks)(v)&INT64_MAX))
#define LARGER(a, b) ((lanes)(((marks)(a) & ((a) > (b))) | ((marks)(b) & ~((a) > (b)))))

/* What a chunk comes to, lane by lane. */
struct chunk_sums {
    double sum[FOLD_SUMS][LANES], max_abs[LANES];
    int64_t thousandth[LANES], five_thousandths[LANES], within[TENSOR_LIMITS][LANES];
    int64_t may_grow[LANES]; /* relative errors above the largest so far, or close to it */
    int64_t zeros[LANES];    /* elements of Bench, where they were not looked at one by one */
};

static void add(struct compensated *total, double x)
{
    double sum = total->sum + x;
    if (!isfinite(sum)) total->rest = 0;
    else if (fabs(total->sum) >= fabs(x)) total->rest += (total->sum - sum) + x;
    else total->rest += (x - sum) + total->sum;
    total->sum = sum;
}

double element_relative_error(double npu, double bench)
{
    double shift = bench == 0 ? epsilon : 0;
    return fabs((npu + shift) - (bench + shift)) / fabs(bench + shift);
}

/* Row `i` of lanes. */
#define LOAD(to, from, i, floats)                                                         \
    do {                                                                                  \
        if (floats) {                                                                     \
            narrow_lanes narrow_;                                                         \
            memcpy(&narrow_, (const char *)(from) + (i) * sizeof(float), sizeof narrow_); \
            to = __builtin_convertvector(narrow_, lanes);                                 \
        } else {                                                                          \
            memcpy(&to, (const char *)(from) + (i) * sizeof(double), sizeof to);          \
        }                                                                                 \
    } while (0)

/* The numerator and the denominator of relative errors: both sides shifted where Bench is 0. */
#define RELATIVE(error, magnitude, x, y)                                \
    do {                                                                \
        lanes shift_ = (lanes)((marks)(lanes_of_epsilon) & ((y) == 0)); \
        error = ABSOLUTE(((x) + shift_) - ((y) + shift_));              \
        magnitude = ABSOLUTE((y) + shift_);                             \
    } while (0)

/* `floats`, `zeros` (elements of Bench may be 0) and whether there are limits are constants where this
 * is inlined, so that the loop has no branch. */
static inline __attribute__((always_inline)) void fold_rows(struct chunk_sums *out, const void *npu,
                                                            const void *bench, size_t n,
                                                            bool floats, bool zeros,
                                                            const double *limits,
                                                            double largest_relative)
{
    const lanes none = { 0 }, lanes_of_epsilon = none + epsilon;
    const marks zero = { 0 };
    lanes sum[FOLD_SUMS] = { none, none, none, none }, max_abs = none;
    marks thousandth = zero, five_thousandths = zero, may_grow = zero, met_zero = zero;
    marks within[TENSOR_LIMITS] = { zero, zero, zero };

    for (size_t i = 0; i < n; i += LANES) {
        lanes x, y, error, magnitude;
        LOAD(x, npu, i, floats);
        LOAD(y, bench, i, floats);
        lanes difference = ABSOLUTE(x - y);
        sum[FOLD_DOT] += x * y;
        sum[FOLD_NPU] += x * x;
        sum[FOLD_BENCH] += y * y;
        sum[FOLD_DIFFERENCE] += difference * difference;
        max_abs = LARGER(max_abs, difference);
        if (zeros) {
            RELATIVE(error, magnitude, x, y);
        } else {
            error = difference;
            magnitude = ABSOLUTE(y);
            met_zero |= y == 0;
        }
        thousandth -= error < magnitude * 0.001;
        five_thousandths -= error < magnitude * 0.005;
        may_grow |= error > magnitude * largest_relative;
        for (int k = 0; limits && k < TENSOR_LIMITS; k++)
            within[k] -= error < magnitude * limits[k];
    }
    memcpy(out->sum, sum, sizeof sum);
    memcpy(out->max_abs, &max_abs, sizeof max_abs);
    memcpy(out->zeros, &met_zero, sizeof met_zero);
    memcpy(out->thousandth, &thousandth, sizeof thousandth);
    memcpy(out->five_thousandths, &five_thousandths, sizeof five_thousandths);
    memcpy(out->may_grow, &may_grow, sizeof may_grow);
    memcpy(out->within, within, sizeof within);
}

VECTORIZED static void fold_floats(struct chunk_sums *out, const float *npu, const float *bench,
                                   size_t n, double largest_relative)
{
    fold_rows(out, npu, bench, n, true, false, NULL, largest_relative);
}

VECTORIZED static void fold_doubles(struct chunk_sums *out, const double *npu, const double *bench,
                                    size_t n, double largest_relative)
{
    fold_rows(out, npu, bench, n, false, true, NULL, largest_relative);
}

VECTORIZED static void fold_limits(struct chunk_sums *out, const double *npu, const double *bench,
                                   size_t n, double largest_relative, const double *limits)
{
    const double kept[TENSOR_LIMITS] = { limits[0], limits[1], limits[2] };
    fold_rows(out, npu, bench, n, false, true, kept, largest_relative);
}

VECTORIZED static double largest_relative_error(const double *npu, const double *bench, size_t n)
{
    const lanes none = { 0 }, lanes_of_epsilon = none + epsilon;
    lanes largest = none;
    double result = 0;

    for (size_t i = 0; i < n; i += LANES) {
        lanes x, y, error, magnitude;
        LOAD(x, npu, i, false);
        LOAD(y, bench, i, false);
        RELATIVE(error, magnitude, x, y);
        error /= magnitude;
        largest = LARGER(largest, error);
    }
    for (int l = 0; l < LANES; l++) result = fmax(result, largest[l]);
    return result;
}

/* ---- what is not finite ----------------------------------------------------------------- */

/* An inf or NaN makes a sum of squares one, and so do numbers beyond 1e154, of which then none is
 * cleaned away. */
static bool was_finite(const struct chunk_sums *chunk)
{
    double sum = 0;
    for (int l = 0; l < LANES; l++) sum += chunk->sum[FOLD_NPU][l] + chunk->sum[FOLD_BENCH][l];
    return isfinite(sum);
}

void count_non_finite(struct non_finite_counts *counts, double x)
{
    counts->nan += isnan(x) != 0;
    counts->inf += isinf(x) != 0;
}

/* Count what is not finite and make it 0 on both sides. */
static void clean(struct tensor_sums *out, double *npu, double *bench, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isfinite(npu[i]) && isfinite(bench[i])) continue;
        count_non_finite(&out->npu, npu[i]);
        count_non_finite(&out->bench, bench[i]);
        /* isinf may tell the sign */
        bool npu_inf = isinf(npu[i]) != 0, bench_inf = isinf(bench[i]) != 0;
        if (npu_inf != bench_inf || (isnan(npu[i]) != 0) != (isnan(bench[i]) != 0))
            out->positions_differ = true;
        else if (npu_inf && npu[i] != bench[i]) out->inf_signs_differ = true;
        npu[i] = bench[i] = 0;
    }
}

/* ---- chunks ----------------------------------------------------------------------------- */

/* Two sides of a chunk as doubles, filled up with zeros, which are equal, to whole rows of lanes. */
struct widened {
    double npu[CHUNK], bench[CHUNK];
    bool is_made;
};

static void widen(struct widened *w, const struct tensor_folding *f, const void *npu,
                  const void *bench, size_t elements, size_t n, size_t padded)
{
    if (w->is_made) return;
    dtype_to_double(w->npu, npu, f->npu, elements);
    dtype_to_double(w->bench, bench, f->bench, elements);
    memset(w->npu + n, 0, (padded - n) * sizeof *w->npu);
    memset(w->bench + n, 0, (padded - n) * sizeof *w->bench);
    w->is_made = true;
}

static int64_t total(const int64_t counts[LANES])
{
    int64_t sum = 0;
    for (int l = 0; l < LANES; l++) sum += counts[l];
    return sum;
}

static void meet(struct tensor_folding *f, const struct chunk_sums *chunk, int64_t padding)
{
    struct tensor_sums *sums = &f->sums;
    for (int i = 0; i < FOLD_SUMS; i++) {
        double block = 0;
        for (int l = 0; l < LANES; l++) block += chunk->sum[i][l];
        add(&f->totals[i], block);
    }
    for (int l = 0; l < LANES; l++) sums->max_abs = fmax(sums->max_abs, chunk->max_abs[l]);
    sums->within_thousandth += (uint64_t)(total(chunk->thousandth) - padding);
    sums->within_five_thousandths += (uint64_t)(total(chunk->five_thousandths) - padding);
    for (int k = 0; f->limits && k < TENSOR_LIMITS; k++)
        sums->within[k] += (uint64_t)(total(chunk->within[k]) - (f->limits[k] > 0 ? padding : 0));
}

/* A bound that the largest relative error passes whenever it grows, whatever the product rounds. */
static double growth_bound(const struct tensor_folding *f)
{
    return f->sums.max_relative * (1 - 0x1p-50);
}

/* A chunk by way of doubles. */
static void fold_widened(struct chunk_sums *out, const struct tensor_folding *f,
                         const struct widened *w, size_t padded)
{
    if (f->limits) fold_limits(out, w->npu, w->bench, padded, growth_bound(f), f->limits);
    else fold_doubles(out, w->npu, w->bench, padded, growth_bound(f));
}

static void fold_chunk(struct tensor_folding *f, const void *npu, const void *bench,
                       size_t elements, size_t parts)
{
    size_t n = elements * parts, padded = (n + LANES - 1) / LANES * LANES;
    bool floats = f->npu == DT_F32 && f->bench == DT_F32 && padded == n && !f->limits;
    struct widened w;
    struct chunk_sums chunk;

    w.is_made = false;
    if (floats && !f->zeros) {
        fold_floats(&chunk, npu, bench, n, growth_bound(f));
        f->zeros = total(chunk.zeros) != 0; /* the next chunk will have some too */
    }
    if (!floats || f->zeros) {
        widen(&w, f, npu, bench, elements, n, padded);
        fold_widened(&chunk, f, &w, padded);
    }
    if (!was_finite(&chunk)) {
        widen(&w, f, npu, bench, elements, n, padded);
        clean(&f->sums, w.npu, w.bench, n);
        fold_widened(&chunk, f, &w, padded);
    }
    if (total(chunk.may_grow)) {
        widen(&w, f, npu, bench, elements, n, padded);
        f->sums.max_relative =
            fmax(f->sums.max_relative, largest_relative_error(w.npu, w.bench, padded));
    }
    meet(f, &chunk, (int64_t)(padded - n));
}

/* ---- tensors ---------------------------------------------------------------------------- */

struct tensor_folding tensor_folding_start(enum dtype npu, enum dtype bench, const double *limits)
{
    assert(dtype_is_complex(npu) == dtype_is_complex(bench));
    return (struct tensor_folding){ .npu = npu, .bench = bench, .limits = limits };
}

void tensor_folding_add(struct tensor_folding *folding, const void *npu, const void *bench,
                        size_t n)
{
    size_t parts = dtype_is_complex(folding->npu) ? 2 : 1, most = CHUNK / parts;
    size_t npu_bytes = dtype_info(folding->npu)->bytes;
    size_t bench_bytes = dtype_info(folding->bench)->bytes;

    for (size_t at = 0, step; at < n; at += step) {
        step = n - at < most ? n - at : most;
        fold_chunk(folding, (const char *)npu + at * npu_bytes,
                   (const char *)bench + at * bench_bytes, step, parts);
    }
    folding->sums.n += n * parts;
}

struct tensor_sums tensor_folding_finish(const struct tensor_folding *folding)
{
    struct tensor_sums sums = folding->sums;
    double total_of[FOLD_SUMS];
    for (int i = 0; i < FOLD_SUMS; i++)
        total_of[i] = folding->totals[i].sum + folding->totals[i].rest;
    sums.dot = total_of[FOLD_DOT];
    sums.npu_squared = total_of[FOLD_NPU];
    sums.bench_squared = total_of[FOLD_BENCH];
    sums.difference_squared = total_of[FOLD_DIFFERENCE];
    return sums;
}

void tensor_sums_fold(struct tensor_sums *out, const struct tensor *npu, const struct tensor *bench,
                      const double *limits)
{
    struct tensor_folding folding = tensor_folding_start(npu->dtype, bench->dtype, limits);
    tensor_folding_add(&folding, npu->data, bench->data, tensor_elements(npu));
    *out = tensor_folding_finish(&folding);
}

/* ---- cells ------------------------------------------------------------------------------ */

static double round_decimals(double x, int decimals)
{
    char text[400];
    if (!isfinite(x) || fabs(x) >= 1e16) return x; /* such a double is an integer */
    (void)snprintf(text, sizeof text, "%.*f", decimals, x);
    return strtod(text, NULL);
}

double round_to_12(double x) { return round_decimals(x, 12); }

double tensor_sums_cosine(const struct tensor_sums *sums)
{
    double npu = sqrt(sums->npu_squared), bench = sqrt(sums->bench_squared);
    if (npu <= epsilon && bench <= epsilon) return 1;
    if (npu <= epsilon || bench <= epsilon) return NAN;
    double cosine = round_decimals(sums->dot / (npu * bench), 12);
    return cosine > 0.9999 ? round_decimals(cosine, 6) : cosine;
}
