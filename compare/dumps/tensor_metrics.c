/* The pass, chunk by chunk (tensor_fold.h). Lanes and chunks meet in a fixed order, so that the result
 * depends neither on the vector width nor on the number of threads. Within a chunk a lane adds FOLD_CHUNK /
 * FOLD_LANES terms, chunks meet in compensated sums: a sum of n squares is off by less than (FOLD_CHUNK /
 * FOLD_LANES + FOLD_LANES) 2^-53 relatively. Floating dtypes are widened in registers; others, and sides
 * of different dtypes, through two buffers that stay in the first-level cache.
 *
 * A chunk with anything not finite is cleaned, element by element, and folded again; they are rare.
 */
#include "compare/dumps/tensor_metrics.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double epsilon = FOLD_EPSILON;

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

/* ---- what is not finite ----------------------------------------------------------------- */

/* An inf or NaN makes a sum of squares one, and so do numbers beyond 1e154, of which then none is
 * cleaned away. */
static bool was_finite(const struct chunk_sums *chunk)
{
    double sum = 0;
    for (int l = 0; l < FOLD_LANES; l++) sum += chunk->sum[FOLD_NPU][l] + chunk->sum[FOLD_BENCH][l];
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

/* A chunk while it is folded. */
struct chunk {
    const void *npu, *bench;
    size_t elements; /* complex ones count once here */
    size_t n; /* numbers, and with zeros behind them, which are equal, to whole rows of lanes */
    size_t padded;
    bool is_wide; /* both sides as doubles, in these: */
    double wide[2][FOLD_CHUNK];
};

static void widen(struct chunk *chunk, const struct tensor_folding *f)
{
    if (chunk->is_wide) return;
    dtype_to_double(chunk->wide[0], chunk->npu, f->npu, chunk->elements);
    dtype_to_double(chunk->wide[1], chunk->bench, f->bench, chunk->elements);
    for (int side = 0; side < 2; side++)
        memset(chunk->wide[side] + chunk->n, 0, (chunk->padded - chunk->n) * sizeof(double));
    chunk->is_wide = true;
}

/* A bound that the largest relative error passes whenever it grows, whatever the product rounds. */
static double growth_bound(const struct tensor_folding *f)
{
    return f->sums.max_relative * (1 - 0x1p-50);
}

static void fold(struct chunk_sums *out, const struct tensor_folding *f, const struct chunk *chunk)
{
    enum fold_kind kind = f->limits ? FOLD_LIMITED : f->zeros ? FOLD_SHIFTED : FOLD_PLAIN;
    struct fold_bounds bounds = { .largest_relative = growth_bound(f) };

    if (f->limits) memcpy(bounds.limits, f->limits, sizeof bounds.limits);
    if (chunk->is_wide)
        f->code->rows[DT_F64][kind](out, chunk->wide[0], chunk->wide[1], chunk->padded, &bounds);
    else f->code->rows[f->npu][kind](out, chunk->npu, chunk->bench, chunk->padded, &bounds);
}

static void meet(struct tensor_folding *f, const struct chunk_sums *chunk, uint64_t padding)
{
    struct tensor_sums *sums = &f->sums;
    for (int i = 0; i < FOLD_SUMS; i++) {
        double block = 0;
        for (int l = 0; l < FOLD_LANES; l++) block += chunk->sum[i][l];
        add(&f->totals[i], block);
    }
    sums->max_abs = fmax(sums->max_abs, chunk->max_abs);
    sums->within_thousandth += chunk->thousandth - padding;
    sums->within_five_thousandths += chunk->five_thousandths - padding;
    for (int k = 0; f->limits && k < TENSOR_LIMITS; k++)
        sums->within[k] += chunk->within[k] - (f->limits[k] > 0 ? padding : 0);
}

static void fold_chunk(struct tensor_folding *f, const void *npu, const void *bench,
                       size_t elements, size_t parts)
{
    size_t n = elements * parts, padded = (n + FOLD_LANES - 1) / FOLD_LANES * FOLD_LANES;
    struct chunk chunk;
    struct chunk_sums sums;

    chunk.npu = npu;
    chunk.bench = bench;
    chunk.elements = elements;
    chunk.n = n;
    chunk.padded = padded;
    chunk.is_wide = false; /* what is in `wide` is not read before it is written */
    if (padded != n || f->npu != f->bench || !f->code->rows[f->npu][0]) {
        widen(&chunk, f);
        f->zeros |= padded != n;
    }
    fold(&sums, f, &chunk);
    if (sums.has_zero) {
        f->zeros = true; /* the next chunk will have some too */
        fold(&sums, f, &chunk);
    }
    if (!was_finite(&sums)) {
        widen(&chunk, f);
        clean(&f->sums, chunk.wide[0], chunk.wide[1], n);
        f->zeros = true;
        fold(&sums, f, &chunk);
    }
    if (sums.may_grow) {
        widen(&chunk, f);
        double relative = f->code->largest_relative_error(chunk.wide[0], chunk.wide[1], padded);
        f->sums.max_relative = fmax(f->sums.max_relative, relative);
    }
    meet(f, &sums, padded - n);
}

/* ---- tensors ---------------------------------------------------------------------------- */

struct tensor_folding tensor_folding_start(enum dtype npu, enum dtype bench, const double *limits)
{
    assert(dtype_is_complex(npu) == dtype_is_complex(bench));
    return (struct tensor_folding){
        .npu = npu, .bench = bench, .code = fold_code_best(), .limits = limits
    };
}

void tensor_folding_add(struct tensor_folding *folding, const void *npu, const void *bench,
                        size_t n)
{
    size_t parts = dtype_is_complex(folding->npu) ? 2 : 1, most = FOLD_CHUNK / parts;
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
