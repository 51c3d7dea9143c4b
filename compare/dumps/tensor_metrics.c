/* The pass. Elements are widened into two buffers that stay in the first-level cache, then folded in
 * LANES independent accumulators per sum, which the compiler turns into vectors and which meet in
 * a fixed order, block by block: the result depends neither on the vector width nor on the number
 * of threads. Within a block a lane adds CHUNK / LANES terms, blocks meet in compensated sums, so
 * that a sum of n squares is off by less than (CHUNK / LANES + 6) 2^-53 relatively.
 *
 * Chunks with anything not finite are cleaned first, element by element; they are rare.
 */
#include "compare/dumps/tensor_metrics.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectorize.h"

enum { CHUNK = 1024, LANES = 16 };

static const double epsilon = 0x1p-52;

enum fold_sum { FOLD_DOT, FOLD_NPU, FOLD_BENCH, FOLD_DIFFERENCE, FOLD_SUMS };

struct lanes {
    double sum[FOLD_SUMS][LANES];
    double max_abs[LANES], max_relative[LANES];
    double thousandth[LANES], five_thousandths[LANES]; /* counts */
    double within[TENSOR_LIMITS][LANES];
};

/* A sum with what was rounded away (Neumaier). */
struct compensated {
    double sum, rest;
};

static void add(struct compensated *total, double x)
{
    double sum = total->sum + x;
    if (!isfinite(sum)) total->rest = 0;
    else if (fabs(total->sum) >= fabs(x)) total->rest += (total->sum - sum) + x;
    else total->rest += (x - sum) + total->sum;
    total->sum = sum;
}

static inline double relative_error(double x, double y)
{
    double shift = y == 0 ? epsilon : 0;
    return fabs((x + shift) - (y + shift)) / fabs(y + shift);
}

double element_relative_error(double npu, double bench) { return relative_error(npu, bench); }

/* One row of lanes at a time; `limits` is a constant NULL or not, so that the loop has no branch. */
static inline __attribute__((always_inline)) void fold_rows(struct lanes *restrict lanes,
                                                            const double *restrict npu,
                                                            const double *restrict bench, size_t n,
                                                            const double *restrict limits)
{
    for (size_t i = 0; i < n; i += LANES)
        for (size_t l = 0; l < LANES; l++) {
            double x = npu[i + l], y = bench[i + l];
            double difference = fabs(x - y), relative = relative_error(x, y);
            lanes->sum[FOLD_DOT][l] += x * y;
            lanes->sum[FOLD_NPU][l] += x * x;
            lanes->sum[FOLD_BENCH][l] += y * y;
            lanes->sum[FOLD_DIFFERENCE][l] += difference * difference;
            lanes->max_abs[l] = lanes->max_abs[l] > difference ? lanes->max_abs[l] : difference;
            lanes->max_relative[l] = lanes->max_relative[l] > relative ? lanes->max_relative[l]
                                                                       : relative;
            lanes->thousandth[l] += relative < 0.001 ? 1 : 0;
            lanes->five_thousandths[l] += relative < 0.005 ? 1 : 0;
            for (int k = 0; limits && k < TENSOR_LIMITS; k++)
                lanes->within[k][l] += relative < limits[k] ? 1 : 0;
        }
}

VECTORIZED static void fold(struct lanes *restrict lanes, const double *restrict npu,
                            const double *restrict bench, size_t n)
{
    fold_rows(lanes, npu, bench, n, NULL);
}

VECTORIZED static void fold_limits(struct lanes *restrict lanes, const double *restrict npu,
                                   const double *restrict bench, size_t n, const double limits[])
{
    const double kept[TENSOR_LIMITS] = { limits[0], limits[1], limits[2] };
    fold_rows(lanes, npu, bench, n, kept);
}

VECTORIZED static bool all_finite(const double *npu, const double *bench, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += npu[i] * 0 + bench[i] * 0;
    return sum == 0;
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

static void meet(struct compensated sums[FOLD_SUMS], struct tensor_sums *out,
                 const struct lanes *lanes)
{
    double thousandth = 0, five_thousandths = 0;
    for (int i = 0; i < FOLD_SUMS; i++) {
        double block = 0;
        for (int l = 0; l < LANES; l++) block += lanes->sum[i][l];
        add(&sums[i], block);
    }
    for (int l = 0; l < LANES; l++) {
        out->max_abs = fmax(out->max_abs, lanes->max_abs[l]);
        out->max_relative = fmax(out->max_relative, lanes->max_relative[l]);
        thousandth += lanes->thousandth[l];
        five_thousandths += lanes->five_thousandths[l];
    }
    out->within_thousandth += (uint64_t)thousandth;
    out->within_five_thousandths += (uint64_t)five_thousandths;
    for (int k = 0; k < TENSOR_LIMITS; k++) {
        double within = 0;
        for (int l = 0; l < LANES; l++) within += lanes->within[k][l];
        out->within[k] += (uint64_t)within;
    }
}

/* One chunk. The rest of its last row of lanes is filled with zeros, which are equal and are taken off
 * the counts again. */
static void fold_chunk(struct compensated sums[FOLD_SUMS], struct tensor_sums *out, double *npu,
                       double *bench, size_t n, const double *limits)
{
    struct lanes lanes = { 0 };
    size_t padded = (n + LANES - 1) / LANES * LANES;

    memset(npu + n, 0, (padded - n) * sizeof *npu);
    memset(bench + n, 0, (padded - n) * sizeof *bench);
    if (!all_finite(npu, bench, padded)) clean(out, npu, bench, n);
    if (limits) fold_limits(&lanes, npu, bench, padded, limits);
    else fold(&lanes, npu, bench, padded);
    meet(sums, out, &lanes);
    out->within_thousandth -= padded - n;
    out->within_five_thousandths -= padded - n;
    for (int k = 0; limits && k < TENSOR_LIMITS; k++)
        if (limits[k] > 0) out->within[k] -= padded - n;
}

void tensor_sums_fold(struct tensor_sums *out, const struct tensor *npu, const struct tensor *bench,
                      const double *limits)
{
    double x[CHUNK], y[CHUNK];
    struct compensated sums[FOLD_SUMS] = { 0 };
    size_t parts = dtype_is_complex(npu->dtype) ? 2 : 1, total = tensor_elements(npu);
    size_t npu_bytes = dtype_info(npu->dtype)->bytes, bench_bytes = dtype_info(bench->dtype)->bytes;

    assert(dtype_is_complex(npu->dtype) == dtype_is_complex(bench->dtype));
    *out = (struct tensor_sums){ .n = total * parts };
    for (size_t at = 0, n; at < total; at += n) {
        n = total - at < CHUNK / parts ? total - at : CHUNK / parts;
        dtype_to_double(x, (const char *)npu->data + at * npu_bytes, npu->dtype, n);
        dtype_to_double(y, (const char *)bench->data + at * bench_bytes, bench->dtype, n);
        fold_chunk(sums, out, x, y, n * parts, limits);
    }
    out->dot = sums[FOLD_DOT].sum + sums[FOLD_DOT].rest;
    out->npu_squared = sums[FOLD_NPU].sum + sums[FOLD_NPU].rest;
    out->bench_squared = sums[FOLD_BENCH].sum + sums[FOLD_BENCH].rest;
    out->difference_squared = sums[FOLD_DIFFERENCE].sum + sums[FOLD_DIFFERENCE].rest;
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
