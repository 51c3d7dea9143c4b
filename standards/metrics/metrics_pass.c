/* The scalar definition of the metrics pass: one element at a time, every case spelled out. */
#include "standards/metrics/metrics_pass.h"

#include <math.h>
#include <string.h>

#include "core/vectorize.h"

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^exponent for a normal result. */
static double power_of_two(int exponent) { return double_of((uint64_t)(exponent + 1023) << 52); }

double pass_scale_at(const struct pass_unit *unit, double magnitude)
{
    int exponent = (int)(bits_of(magnitude) >> 52) - 1023;
    return power_of_two(1 - (exponent < unit->exponent_min ? unit->exponent_min : exponent));
}

static enum value_class class_of(double x, double overflow_at)
{
    if (isnan(x)) return CLASS_NAN;
    if (fabs(x) < overflow_at) return CLASS_FINITE;
    return x > 0 ? CLASS_POSITIVE_INFINITY : CLASS_NEGATIVE_INFINITY;
}

static bool agrees(const struct pass_unit *unit, double want, double got,
                   enum value_class want_class, enum value_class got_class)
{
    if (want_class == got_class) return want_class != CLASS_FINITE;
    if (!unit->saturates || want_class == CLASS_FINITE || want_class == CLASS_NAN) return false;
    return got_class == CLASS_NAN || got == copysign(unit->largest, want);
}

bool pass_agrees(const struct pass *pass, size_t i, double got)
{
    double want = pass->hi[i];
    return agrees(&pass->unit, want, got, class_of(want, pass->unit.overflow_at),
                  class_of(got, INFINITY));
}

static int histogram_bin(double ulp)
{
    if (ulp == 0) return 0;
    /* The exponent of the next smaller double, so that a power of two ends its bin. */
    int exponent = (int)((bits_of(ulp) - 1) >> 52) - 1023;
    int bin = exponent + 3;
    return bin < 1 ? 1 : bin >= ULP_BINS ? ULP_BINS - 1 : bin;
}

static void raise_to(double *max, double value)
{
    if (value > *max) *max = value;
}

static bool is_odd(const struct pass *pass, size_t i)
{
    return pass->got[i * pass->element_bytes] & 1; /* little endian */
}

static void count_within(struct pass *pass, double relative)
{
    for (int k = 0; k < 3; k++) pass->counts.within[k] += relative < pass->parameters.within[k];
}

/* Signed error in ulp of an element whose unit both families share, or of one with want == 0. */
static void count_ulp(struct pass *pass, size_t i, double signed_ulp)
{
    struct pass_counts *counts = &pass->counts;
    double ulp = fabs(signed_ulp), half = pass->unit.half;
    bool odd = is_odd(pass, i);
    bool beyond = ulp > half || (ulp == half && pass->unit.parity_matters && odd);

    counts->ulp_histogram[histogram_bin(ulp)]++;
    counts->above += beyond && signed_ulp > 0;
    counts->below += beyond && signed_ulp < 0;
    counts->unequal += ulp > 0.5 || (ulp == 0.5 && odd);
}

/* Add a square to a sum of a lane. */
static void add_square(struct pass_lanes *lanes, enum pass_sum sum, size_t lane, double x)
{
    lanes->sum[sum][lane] = fma(x, x, lanes->sum[sum][lane]);
}

static void fold_small_or_normal(struct pass *pass, size_t i, double magnitude, double abs_error,
                                 double relative)
{
    const struct metrics_parameters *parameters = &pass->parameters;
    struct pass_lanes *lanes = &pass->lanes;
    size_t lane = i % PASS_LANES;

    if (magnitude <= parameters->small_value) {
        pass->counts.small++;
        pass->counts.small_failed += abs_error > parameters->small_value_atol;
        add_square(lanes, SUM_OTHER_ERROR_SQUARED, lane, abs_error);
        return;
    }
    pass->counts.normal++;
    pass->counts.relative_failed += relative > parameters->relative_tolerance;
    raise_to(&lanes->max[MAX_RELATIVE][lane], relative);
    peak_raise(&pass->peaks[MEASURE_RELATIVE], relative, i / PASS_CHUNK);
    lanes->sum[SUM_RELATIVE][lane] += relative;
    add_square(lanes, SUM_ERROR_SQUARED, lane, abs_error);
}

static void fold_cosine(struct pass_lanes *lanes, size_t lane, double want, double got)
{
    raise_to(&lanes->max[MAX_WANT][lane], fabs(want));
    add_square(lanes, SUM_WANT_SQUARED, lane, want);
    add_square(lanes, SUM_GOT_SQUARED, lane, got);
}

static double bound_of(const struct pass *pass, size_t i)
{
    if (pass->error) return pass->error[i];
    return pass->relative * fabs(pass->hi[i]) + pass->absolute;
}

/* What only the peer sees: its own unit at 0, and saturated elements. */
static void fold_peer_ulp(struct pass *pass, size_t lane, double ulp)
{
    if (isnan(ulp)) {
        pass->counts.peer_ulp_nan++;
        return;
    }
    raise_to(&pass->lanes.max[MAX_PEER_ULP][lane], ulp);
    pass->lanes.sum[SUM_PEER_ULP][lane] += ulp;
    pass->counts.ulp_over += ulp > pass->parameters.ulp_limit;
}

static double got_of(const struct pass *pass, size_t i)
{
    double got;
    dtype_to_double(&got, pass->got + i * pass->element_bytes, pass->dtype, 1);
    return got;
}

double pass_signed_ulp(const struct pass *pass, size_t i)
{
    return pass_in_ulp(pass, pass_error(pass, i, got_of(pass, i)), fabs(pass->hi[i]));
}

double pass_relative_error(const struct pass *pass, size_t i)
{
    return pass_relative(pass, pass_error(pass, i, got_of(pass, i)), fabs(pass->hi[i]));
}

static void fold_compared(struct pass *pass, size_t i, double want, double got)
{
    size_t lane = i % PASS_LANES;
    struct pass_lanes *lanes = &pass->lanes;
    struct pass_counts *counts = &pass->counts;
    double error = pass_error(pass, i, got);
    double abs_error = fabs(error), magnitude = fabs(want);
    double relative = pass_relative(pass, error, magnitude);
    double folded = pass_folded_ulp(pass, error, magnitude);
    double signed_ulp = folded * pass->unit.ulps_folded, ulp = fabs(signed_ulp);

    counts->compared++;
    counts->differ += error != 0;
    raise_to(&lanes->max[MAX_ABS][lane], abs_error);
    peak_raise(&pass->peaks[MEASURE_ABS], abs_error, i / PASS_CHUNK);
    peak_raise(&pass->peaks[MEASURE_ULP], ulp, i / PASS_CHUNK);
    fold_cosine(lanes, lane, want, got);
    count_within(pass, relative);
    fold_small_or_normal(pass, i, magnitude, abs_error, relative);
    count_ulp(pass, i, signed_ulp);
    if (pass_follows_bound(pass))
        raise_to(&pass->bound_ulp, pass_in_ulp(pass, bound_of(pass, i), magnitude));
    if (want == 0 && got != 0) {
        raise_to(&lanes->max[MAX_ZERO_ULP][lane], ulp);
        lanes->sum[SUM_ZERO_ULP][lane] += ulp;
        lanes->sum[SUM_ZERO_SIGNED_ULP][lane] += signed_ulp;
        add_square(lanes, SUM_ZERO_ULP_SQUARED, lane, ulp);
        fold_peer_ulp(pass, lane, abs_error * pass->unit.peer_zero_scale);
        return;
    }
    counts->ulp_over += ulp > pass->parameters.ulp_limit;
    raise_to(&lanes->max[MAX_ULP][lane], fabs(folded));
    lanes->sum[SUM_ULP][lane] =
        fma(abs_error, pass_scale_at(&pass->unit, magnitude), lanes->sum[SUM_ULP][lane]);
    lanes->sum[SUM_SIGNED_ULP][lane] += folded;
    add_square(lanes, SUM_ULP_SQUARED, lane, folded);
}

/* x within the finite range of the dtype; NaN stays. */
static double clip(double x, double largest)
{
    return x > largest ? largest : x < -largest ? -largest : x;
}

/* The peer's tolerance for a saturated result: compare after clipping both sides. */
static bool clipped_agree(const struct pass *pass, double want, double got)
{
    double w = clip(want, pass->unit.largest), g = clip(got, pass->unit.largest);
    double relative = fabs(g - w) / (fabs(w) + pass->parameters.bench_epsilon);
    return relative <= pass->parameters.relative_tolerance;
}

/* want rounded to the dtype in which the peer counts signs. */
static double sign_reference(double want, enum value_class want_class)
{
    if (want_class == CLASS_POSITIVE_INFINITY) return INFINITY;
    return want_class == CLASS_NEGATIVE_INFINITY ? -INFINITY : want;
}

static void fold_mismatched(struct pass *pass, size_t i, double want, double got,
                            enum value_class want_class)
{
    size_t lane = i % PASS_LANES;
    struct pass_counts *counts = &pass->counts;
    double error = got - want, magnitude = fabs(want);
    double rounded = sign_reference(want, want_class);

    counts->mismatched++;
    counts->non_finite++;
    counts->non_finite_failed += !clipped_agree(pass, want, got);
    counts->peer_above += got > rounded;
    counts->peer_below += got < rounded;
    count_within(pass, pass_relative(pass, error, magnitude));
    if (isnan(error)) counts->peer_abs_nan++;
    else raise_to(&pass->lanes.max[MAX_PEER_ABS][lane], fabs(error));
    if (isfinite(want) && isfinite(got)) {
        fold_cosine(&pass->lanes, lane, want, got);
        add_square(&pass->lanes, SUM_OTHER_ERROR_SQUARED, lane, error);
    } else {
        counts->cosine_nan++;
    }
    fold_peer_ulp(pass, lane, fabs(isfinite(want) ? pass_in_ulp(pass, error, magnitude) : error));
}

static void fold_element(struct pass *pass, size_t i, double got)
{
    double want = pass->hi[i];
    enum value_class want_class = class_of(want, pass->unit.overflow_at);
    enum value_class got_class = class_of(got, INFINITY);
    pass->counts.classes[want_class][got_class]++;
    if (want_class == CLASS_FINITE && got_class == CLASS_FINITE) {
        fold_compared(pass, i, want, got);
    } else if (agrees(&pass->unit, want, got, want_class, got_class)) {
        pass->counts.agreed++;
        pass->counts.non_finite++;
        count_within(pass, 0);
    } else {
        fold_mismatched(pass, i, want, got, want_class);
    }
}

/* A call of fma for each square takes longer than all the rest, so everything is compiled together, for processors that
 * have an instruction for it. */
VECTORIZED __attribute__((flatten)) static void fold_together(struct pass *pass, size_t first,
                                                              size_t count, const double *got)
{
    for (size_t k = 0; k < count; k++) fold_element(pass, first + k, got[k]);
}

void pass_fold_elements(struct pass *pass, size_t first, size_t end)
{
    double got[PASS_LANES]; /* converted together, which is faster */
    for (size_t start = first; start < end; start += PASS_LANES) {
        size_t count = end - start < PASS_LANES ? end - start : PASS_LANES;
        dtype_to_double(got, pass->got + start * pass->element_bytes, pass->dtype, count);
        fold_together(pass, start, count, got);
    }
}
