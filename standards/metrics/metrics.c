/* The driver of the metrics pass: blocks, the fixed order of sums, and the formulas that turn
 * sums and counts into metrics. */
#include "standards/metrics/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectorize.h"
#include "standards/metrics/metrics_pass.h"

static const char *const variant_names[METRICS_VARIANTS] = {
    [METRICS_BEST] = "best",     [METRICS_SCALAR] = "scalar", [METRICS_AVX2] = "avx2",
    [METRICS_AVX512] = "avx512", [METRICS_NEON] = "neon",
};

const char *metrics_variant_name(enum metrics_variant variant) { return variant_names[variant]; }

/* The definition itself, for machines without a vector form. */
static size_t fold_scalar(struct pass *pass, size_t start, size_t count)
{
    pass_fold_elements(pass, start, start + count);
    return count;
}

static pass_fold_chunks *pass_scalar(enum dtype dtype)
{
    (void)dtype;
    return fold_scalar;
}

static pass_fold_chunks *(*const variants[METRICS_VARIANTS])(enum dtype) = {
    [METRICS_BEST] = pass_scalar,   [METRICS_SCALAR] = pass_scalar, [METRICS_AVX2] = pass_avx2,
    [METRICS_AVX512] = pass_avx512, [METRICS_NEON] = pass_neon,
};

bool metrics_variant_available(enum metrics_variant variant)
{
    return variants[variant](DT_F32) != NULL;
}

/* The code of a variant, or the best there is. */
static pass_fold_chunks *variant_code(enum metrics_variant variant, enum dtype dtype)
{
    static const enum metrics_variant order[] = { METRICS_NEON, METRICS_AVX512, METRICS_AVX2,
                                                  METRICS_SCALAR };
    pass_fold_chunks *code = NULL;

    if (variant != METRICS_BEST) return variants[variant](dtype);
    for (size_t k = 0; !code; k++) code = variants[order[k]](dtype);
    return code;
}

enum dtype metrics_component_dtype(enum dtype dtype)
{
    return dtype == DT_C64 ? DT_F32 : dtype == DT_C128 ? DT_F64 : dtype;
}

/* Round to nearest even meets infinity half a unit beyond the largest finite value, whose
 * significand is odd. float8_e4m3 ends on an even one, so there the tie stays finite. */
static double overflow_at(enum dtype dtype)
{
    double largest = dtype_info(dtype)->largest;
    if (dtype == DT_F64) return INFINITY;
    double tie = largest + dtype_ulp(dtype, largest) / 2;
    return dtype == DT_F8E4M3 ? nextafter(tie, INFINITY) : tie;
}

static struct pass_unit unit_of(enum dtype dtype)
{
    const struct dtype_info *info = dtype_info(dtype);
    return (struct pass_unit){
        .significand_bits = info->significand_bits,
        .exponent_min = info->exponent_min,
        .overflow_at = overflow_at(dtype),
        .largest = info->largest,
        /* The peer widens bfloat16 to float32 before it counts signs, so the reference is
         * rounded there, 2^-16 of a bfloat16 unit; got is always even as a float32. */
        .half = dtype == DT_BF16 ? 0x1p-17 : 0.5,
        .parity_matters = dtype != DT_BF16,
        .saturates = dtype == DT_F8E4M3 || dtype == DT_F8E5M2,
        .peer_zero_scale = ldexp(1, info->significand_bits - 1),
        .ulps_folded = ldexp(1, info->significand_bits - 2),
    };
}

/* Sums over blocks: a pair whose second part collects the rounding errors. */
struct total {
    double sum, rest;
};

static void total_add(struct total *total, double x)
{
    double sum = total->sum + x, z = sum - total->sum;
    double rest = (total->sum - (sum - z)) + (x - z);
    total->sum = sum;
    if (isfinite(rest)) total->rest += rest; /* an infinite sum stays infinite */
}

static double total_value(const struct total *total) { return total->sum + total->rest; }

static double tree_sum(double lane[PASS_LANES])
{
    for (size_t width = PASS_LANES / 2; width; width /= 2)
        for (size_t k = 0; k < width; k++) lane[k] += lane[k + width];
    return lane[0];
}

static double lane_max(const double lane[PASS_LANES])
{
    double max = 0;
    for (size_t k = 0; k < PASS_LANES; k++)
        if (lane[k] > max) max = lane[k];
    return max;
}

struct totals {
    struct total sum[PASS_SUMS];
    double max[PASS_MAXES];
};

/* What the lanes hold of folded errors, in ulp: powers of two, so sums and maxima are those of errors in ulp. */
static void lanes_to_ulp(double sum[PASS_SUMS], double max[PASS_MAXES], double ulps_folded)
{
    sum[SUM_ULP] *= ulps_folded;
    sum[SUM_SIGNED_ULP] *= ulps_folded;
    sum[SUM_ULP_SQUARED] *= ulps_folded * ulps_folded;
    max[MAX_ULP] *= ulps_folded;
}

static void finish_block(struct totals *totals, struct pass *pass)
{
    double sum[PASS_SUMS], max[PASS_MAXES];
    for (int s = 0; s < PASS_SUMS; s++) sum[s] = tree_sum(pass->lanes.sum[s]);
    for (int m = 0; m < PASS_MAXES; m++) max[m] = lane_max(pass->lanes.max[m]);
    lanes_to_ulp(sum, max, pass->unit.ulps_folded);
    for (int s = 0; s < PASS_SUMS; s++) total_add(&totals->sum[s], sum[s]);
    for (int m = 0; m < PASS_MAXES; m++) totals->max[m] = fmax(totals->max[m], max[m]);
}

static void run_blocks(struct totals *totals, struct pass *pass, pass_fold_chunks *code,
                       size_t first, size_t end)
{
    memset(&pass->lanes, 0, sizeof pass->lanes);
    for (size_t start = first; start < end; start += PASS_BLOCK) {
        size_t count = end - start < PASS_BLOCK ? end - start : PASS_BLOCK;
        memset(pass->lanes.sum, 0, sizeof pass->lanes.sum);
        size_t done = code(pass, start, count);
        pass_fold_elements(pass, start + done, start + count);
        finish_block(totals, pass);
    }
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* Large tensors are passed over in parts, which idle threads take: blocks that follow each other, and what becomes of
 * them is added up in their order. A part is a tenth of a millisecond and more. */
enum { MOST_PARTS = 64, PART_BLOCKS = 4 };

struct part {
    struct totals totals;
    struct pass_counts counts;
    struct peak peaks[MEASURES];
    double bound_ulp;
};

struct parts {
    const struct pass *pass;
    pass_fold_chunks *code;
    size_t elements; /* of each but the last */
    struct part *part;
};

static struct status do_part(void *context, size_t number, void *scratch)
{
    struct parts *parts = context;
    struct part *part = &parts->part[number];
    struct pass own;
    size_t first = number * parts->elements, left = parts->pass->n - first;
    (void)scratch;
    memcpy(&own, parts->pass, offsetof(struct pass, lanes));
    memset(&own.counts, 0, sizeof own.counts);
    memset(own.peaks, 0, sizeof own.peaks);
    own.bound_ulp = 0;
    *part = (struct part){ 0 };
    run_blocks(&part->totals, &own, parts->code, first,
               first + (left < parts->elements ? left : parts->elements));
    part->counts = own.counts;
    memcpy(part->peaks, own.peaks, sizeof part->peaks);
    part->bound_ulp = own.bound_ulp;
    return status_ok();
}

static void counts_add(struct pass_counts *counts, const struct pass_counts *more)
{
    enum { WORDS = sizeof *counts / sizeof(uint64_t) };
    uint64_t sum[WORDS], term[WORDS];
    static_assert(sizeof sum == sizeof *counts, "counts are words of 64 bits");
    memcpy(sum, counts, sizeof sum);
    memcpy(term, more, sizeof term);
    for (size_t i = 0; i < WORDS; i++) sum[i] += term[i];
    memcpy(counts, sum, sizeof sum);
}

static void add_part(struct totals *totals, struct pass *pass, const struct part *part)
{
    for (int s = 0; s < PASS_SUMS; s++) {
        total_add(&totals->sum[s], part->totals.sum[s].sum);
        totals->sum[s].rest += part->totals.sum[s].rest;
    }
    for (int m = 0; m < PASS_MAXES; m++) totals->max[m] = fmax(totals->max[m], part->totals.max[m]);
    counts_add(&pass->counts, &part->counts);
    for (int m = 0; m < MEASURES; m++)
        peak_raise(&pass->peaks[m], part->peaks[m].value, part->peaks[m].chunk);
    pass->bound_ulp = fmax(pass->bound_ulp, part->bound_ulp);
}

static void run_parts(struct totals *totals, struct pass *pass, pass_fold_chunks *code,
                      struct help *help)
{
    struct part part[MOST_PARTS];
    size_t blocks = (pass->n - 1) / PASS_BLOCK + 1, each = (blocks - 1) / MOST_PARTS + 1;
    if (each < PART_BLOCKS) each = PART_BLOCKS;
    struct parts parts = { pass, code, each * PASS_BLOCK, part };
    const struct parallel work = { .parts = (blocks - 1) / each + 1,
                                   .part = do_part,
                                   .context = &parts };
    (void)parallel_run(help, NULL, &work);
    for (size_t i = 0; i < work.parts; i++) add_part(totals, pass, &part[i]);
}

static void run_pass(struct totals *totals, struct pass *pass, pass_fold_chunks *code,
                     struct help *help)
{
    if (pass->n <= (size_t)PART_BLOCKS * PASS_BLOCK) run_blocks(totals, pass, code, 0, pass->n);
    else run_parts(totals, pass, code, help);
}

/* Elements that are looked at together for one that has the value of a peak, and their device values. */
struct looked_at {
    size_t start, count; /* at most PASS_LANES */
    double got[PASS_LANES];
};

/* pass_scale_at in a form that compilers make vectors of. */
static inline double scale_at(uint64_t magnitude_bits, int64_t exponent_min)
{
    int64_t exponent = (int64_t)(magnitude_bits >> 52) - 1023;
    uint64_t bits = (uint64_t)(1 - (exponent < exponent_min ? exponent_min : exponent) + 1023)
                    << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return scale;
}

/* The measures of some elements as the pass computed them. Of those that it does not apply to they are anything. */
VECTORIZED static void measure_elements(double value[PASS_LANES], const struct pass *pass,
                                        enum measure measure, const struct looked_at *at)
{
    const double *want = pass->hi + at->start, *lo = pass->lo ? pass->lo + at->start : NULL;
    double epsilon = pass->parameters.bench_epsilon, ulps = pass->unit.ulps_folded;
    int64_t exponent_min = pass->unit.exponent_min;
    size_t count = at->count;

    for (size_t k = 0; k < count; k++) value[k] = at->got[k] - want[k];
    for (size_t k = 0; lo && k < count; k++) value[k] -= lo[k];
    if (measure == MEASURE_RELATIVE)
        for (size_t k = 0; k < count; k++) value[k] /= fabs(want[k]) + epsilon;
    if (measure == MEASURE_ULP)
        for (size_t k = 0; k < count; k++) {
            double magnitude = fabs(want[k]);
            uint64_t bits;
            memcpy(&bits, &magnitude, sizeof bits);
            value[k] = value[k] * scale_at(bits, exponent_min) * ulps;
        }
}

VECTORIZED static bool has_magnitude(const double value[PASS_LANES], size_t count, double wanted)
{
    uint64_t found = 0;
    for (size_t k = 0; k < count; k++) found |= fabs(value[k]) == wanted;
    return found;
}

/* Does a measure apply to element i, whose device value is `got`? */
static bool applies(const struct pass *pass, enum measure measure, size_t i, double got)
{
    double magnitude = fabs(pass->hi[i]);
    if (!(magnitude < pass->unit.overflow_at) || !isfinite(got)) return false;
    return measure != MEASURE_RELATIVE || magnitude > pass->parameters.small_value;
}

/* The first element of the peak's chunk that has its value. */
static struct worst_element find_worst(const struct pass *pass, enum measure measure)
{
    const struct peak *peak = &pass->peaks[measure];
    struct looked_at at = { .start = peak->chunk * PASS_CHUNK };
    double value[PASS_LANES];

    if (peak->value == 0) return (struct worst_element){ .index = SIZE_MAX };
    for (;; at.start += PASS_LANES) {
        assert(at.start < pass->n);
        at.count = pass->n - at.start < PASS_LANES ? pass->n - at.start : PASS_LANES;
        dtype_to_double(at.got, pass->got + at.start * pass->element_bytes, pass->dtype, at.count);
        measure_elements(value, pass, measure, &at);
        if (!has_magnitude(value, at.count, peak->value)) continue;
        for (size_t k = 0; k < at.count; k++)
            if (fabs(value[k]) == peak->value && applies(pass, measure, at.start + k, at.got[k]))
                return (struct worst_element){ at.start + k, pass->hi[at.start + k], at.got[k],
                                               peak->value };
    }
}

/* Largest |got| of the finite elements. */
static double largest_got(const struct pass *pass)
{
    double max = 0, got;
    for (size_t i = 0; i < pass->n; i++) {
        dtype_to_double(&got, pass->got + i * pass->element_bytes, pass->dtype, 1);
        if (isfinite(got) && fabs(got) > max) max = fabs(got);
    }
    return max;
}

/* Largest |want| of the compared elements, and of those that pass_fold_elements took. */
static double largest_want(const struct pass *pass, const struct totals *totals)
{
    double max = totals->max[MAX_WANT], got;
    for (size_t i = 0; i < pass->n; i++) {
        double want = fabs(pass->hi[i]);
        if (!(want > max) || !(want < pass->unit.overflow_at)) continue;
        dtype_to_double(&got, pass->got + i * pass->element_bytes, pass->dtype, 1);
        if (isfinite(got)) max = want;
    }
    return max;
}

/* Is some value of a side above COSINE_ZERO? The sum of squares tells unless it is in between. */
enum nonzero { NONZERO_NO, NONZERO_YES, NONZERO_LOOK };

static enum nonzero nonzero_by_squares(size_t n, double squares)
{
    const double zero_squared = COSINE_ZERO * COSINE_ZERO;
    if (squares > 2 * (double)n * zero_squared) return NONZERO_YES;
    return squares > zero_squared / 2 ? NONZERO_LOOK : NONZERO_NO;
}

static bool got_is_nonzero(const struct pass *pass, double squares)
{
    enum nonzero nonzero = nonzero_by_squares(pass->n, squares);
    return nonzero == NONZERO_LOOK ? largest_got(pass) > COSINE_ZERO : nonzero == NONZERO_YES;
}

static bool want_is_nonzero(const struct pass *pass, const struct totals *totals, double squares)
{
    enum nonzero nonzero = nonzero_by_squares(pass->n, squares);
    return nonzero == NONZERO_LOOK ? largest_want(pass, totals) > COSINE_ZERO
                                   : nonzero == NONZERO_YES;
}

/* A power of two that brings `largest` to about 1. */
static double scale_to_one(double largest) { return ldexp(1, -ilogb(largest)); }

/* The sums of the cosine: of the squares of either side, and of their products. */
enum cosine_sum { COSINE_WANT, COSINE_GOT, COSINE_PRODUCT, COSINE_SUMS };

/* The pass has no sum of products, which follows from 2 w g = w^2 + g^2 - (w - g)^2. A sum of squares is off by less than
 * 2^-42 of it, and that of the differences is at most twice those of both sides, W + G: the product is off by less than
 * 3/2 2^-42 (W + G), and the cosine by less than that over sqrt(W G), 2^-38 when W and G differ by a factor of 64 at most.
 * False when they differ by more, or overflow. */
static bool cosine_sums(const struct totals *totals, double sums[COSINE_SUMS])
{
    double want = total_value(&totals->sum[SUM_WANT_SQUARED]);
    double got = total_value(&totals->sum[SUM_GOT_SQUARED]);
    double error = total_value(&totals->sum[SUM_ERROR_SQUARED]) +
                   total_value(&totals->sum[SUM_OTHER_ERROR_SQUARED]);

    sums[COSINE_WANT] = want;
    sums[COSINE_GOT] = got;
    sums[COSINE_PRODUCT] = ((want - error) + got) / 2;
    return isfinite(want + got + error) && want <= 64 * got && got <= 64 * want;
}

/* The sums made one by one, with each side scaled to its largest value: squares of float64 values may
 * overflow. Elements that do not enter the cosine are left out as in the pass. */
static void scaled_cosine_sums(const struct pass *pass, double largest_want,
                               double sums[COSINE_SUMS])
{
    double want_scale = scale_to_one(largest_want), got_scale = scale_to_one(largest_got(pass));
    struct total total[COSINE_SUMS] = { 0 };
    double got[PASS_LANES]; /* converted together, which is faster */

    for (size_t start = 0; start < pass->n; start += PASS_LANES) {
        size_t count = pass->n - start < PASS_LANES ? pass->n - start : PASS_LANES;
        dtype_to_double(got, pass->got + start * pass->element_bytes, pass->dtype, count);
        for (size_t k = 0; k < count; k++) {
            if (pass_agrees(pass, start + k, got[k])) continue;
            double w = pass->hi[start + k] * want_scale, g = got[k] * got_scale;
            total_add(&total[COSINE_WANT], w * w);
            total_add(&total[COSINE_GOT], g * g);
            total_add(&total[COSINE_PRODUCT], w * g);
        }
    }
    for (int k = 0; k < COSINE_SUMS; k++) sums[k] = total_value(&total[k]);
}

static void finish_cosine(struct peer_metrics *peer, const struct pass *pass,
                          const struct totals *totals)
{
    double sums[COSINE_SUMS];
    bool known = cosine_sums(totals, sums);

    peer->cosine = NAN;
    if (pass->n == 1) {
        peer->cosine_kind = COSINE_SCALAR;
    } else if (pass->counts.cosine_nan) {
        peer->cosine_kind = COSINE_NAN;
    } else {
        bool want_zero = !want_is_nonzero(pass, totals, sums[COSINE_WANT]);
        bool got_zero = !got_is_nonzero(pass, sums[COSINE_GOT]);
        peer->cosine_kind = want_zero && got_zero ? COSINE_BOTH_ZERO
                            : got_zero            ? COSINE_GOT_ZERO
                            : want_zero           ? COSINE_WANT_ZERO
                                                  : COSINE_VALUE;
        if (peer->cosine_kind != COSINE_VALUE) return;
        if (!known) scaled_cosine_sums(pass, largest_want(pass, totals), sums);
        double cosine = sums[COSINE_PRODUCT] / (sqrt(sums[COSINE_WANT]) * sqrt(sums[COSINE_GOT]));
        peer->cosine = fmax(-1, fmin(1, cosine));
    }
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void finish_peer(struct peer_metrics *peer, const struct pass *pass,
                        const struct totals *totals)
{
    const struct pass_counts *counts = &pass->counts;
    double n = (double)pass->n;

    finish_cosine(peer, pass, totals);
    peer->max_abs_error =
        counts->peer_abs_nan ? NAN : fmax(totals->max[MAX_ABS], totals->max[MAX_PEER_ABS]);
    peer->within_hundredth = (double)counts->within[0] / n;
    peer->within_thousandth = (double)counts->within[1] / n;
    peer->within_ten_thousandth = (double)counts->within[2] / n;
    peer->binary_mismatch = (double)(counts->differ + counts->mismatched) / n;
    peer->small_count = counts->small;
    peer->normal_count = counts->normal;
    peer->non_finite_count = counts->non_finite;
    peer->small_value_ratio = share(counts->small_failed, counts->small);
    peer->relative_error_ratio = share(counts->relative_failed, counts->normal);
    peer->inf_nan_ratio = share(counts->non_finite_failed, counts->non_finite);
    peer->max_relative_error = totals->max[MAX_RELATIVE];
    peer->mean_relative_error =
        counts->normal ? total_value(&totals->sum[SUM_RELATIVE]) / (double)counts->normal : 0;
    /* The peer's correction of a mean over n for the masked elements, with its two constants. */
    double masked = n - (double)counts->normal;
    double mean_square = total_value(&totals->sum[SUM_ERROR_SQUARED]) / n;
    peer->rmse = sqrt(mean_square * (n / (n - masked + 0.0001) + 0.0001));
    peer->error_balance = fabs((double)(counts->above + counts->peer_above) -
                               (double)(counts->below + counts->peer_below)) /
                          n;
    peer->max_ulp = counts->peer_ulp_nan ? NAN
                                         : fmax(totals->max[MAX_ULP], totals->max[MAX_PEER_ULP]);
    peer->mean_ulp =
        counts->peer_ulp_nan
            ? NAN
            : (total_value(&totals->sum[SUM_ULP]) + total_value(&totals->sum[SUM_PEER_ULP])) / n;
    peer->ulp_proportion = (double)counts->ulp_over / n;
}

static double mean_of(const struct totals *totals, enum pass_sum a, enum pass_sum b, uint64_t count)
{
    double sum = total_value(&totals->sum[a]) + total_value(&totals->sum[b]);
    return count ? sum / (double)count : 0;
}

static void finish(struct metrics *out, const struct pass *pass, const struct totals *totals)
{
    const struct pass_counts *counts = &pass->counts;

    out->n = pass->n;
    out->dtype = pass->dtype;
    memcpy(out->classes, counts->classes, sizeof out->classes);
    out->compared = counts->compared;
    out->agreed = counts->agreed;
    out->mismatched = counts->mismatched;
    out->unequal = counts->unequal;
    out->above = counts->above;
    out->below = counts->below;
    memcpy(out->ulp_histogram, counts->ulp_histogram, sizeof out->ulp_histogram);
    out->mean_ulp = mean_of(totals, SUM_ULP, SUM_ZERO_ULP, counts->compared);
    out->mean_signed_ulp = mean_of(totals, SUM_SIGNED_ULP, SUM_ZERO_SIGNED_ULP, counts->compared);
    out->rms_ulp = sqrt(mean_of(totals, SUM_ULP_SQUARED, SUM_ZERO_ULP_SQUARED, counts->compared));
    out->rms = counts->normal
                   ? sqrt(total_value(&totals->sum[SUM_ERROR_SQUARED]) / (double)counts->normal)
                   : 0;
    out->bound_ulp = pass_follows_bound(pass) ? pass->bound_ulp
                                              : ldexp(pass->relative, pass->unit.significand_bits);
    out->worst_abs = find_worst(pass, MEASURE_ABS);
    out->worst_relative = find_worst(pass, MEASURE_RELATIVE);
    out->worst_ulp = find_worst(pass, MEASURE_ULP);
    finish_peer(&out->peer, pass, totals);
}

void metrics_compute(struct metrics *out, const struct tensor *got, const struct reference *want,
                     const struct metrics_parameters *parameters, enum metrics_variant variant,
                     struct help *help)
{
    enum dtype dtype = metrics_component_dtype(got->dtype);
    struct pass pass = {
        .parameters = *parameters,
        .unit = unit_of(dtype),
        .dtype = dtype,
        .element_bytes = dtype_info(dtype)->bytes,
        .got = got->data,
        .hi = want->hi,
        .lo = want->lo,
        .error = want->error,
        .relative = want->relative,
        .absolute = want->absolute,
        .n = want->n,
    };
    struct totals totals = { 0 };

    *out = (struct metrics){ 0 };
    run_pass(&totals, &pass, variant_code(variant, dtype), help);
    finish(out, &pass, &totals);
}

enum dtype metrics_work_dtype(enum dtype bench, enum dtype device)
{
    bench = metrics_component_dtype(bench);
    device = metrics_component_dtype(device);
    if (bench == DT_F64 || device == DT_F64) return DT_F64;
    return bench == DT_F16 && device == DT_F16 ? DT_F16 : DT_F32;
}

double metrics_integer_mismatch(const struct tensor *got, const struct reference *want,
                                double *max_abs_error)
{
    const unsigned char *data = got->data;
    size_t bytes = dtype_info(got->dtype)->bytes, different = 0;

    *max_abs_error = 0;
    for (size_t i = 0; i < want->n; i++) {
        int64_t value;
        dtype_to_int64(&value, data + i * bytes, got->dtype, 1);
        if (value == want->integer[i]) continue;
        different++;
        double distance = fabs((double)value - (double)want->integer[i]);
        if (distance > *max_abs_error) *max_abs_error = distance;
    }
    return share(different, want->n);
}
