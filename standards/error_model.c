/* One pass over the elements for the outliers and the sums behind the statistics. Blocks of float32 elements that are all
 * within their bounds, as most are, are measured by vectors; what is special about an element takes it to the path of
 * single elements, with the same results. */
#include "standards/error_model.h"

#include <math.h>
#include <string.h>

#include "core/vectorize.h"
#include "standards/metrics/metrics.h"

struct model {
    enum dtype dtype, compute; /* of the output's components; of the arithmetic */
    const unsigned char *got;
    size_t bytes;
    const struct reference *want;
    struct model_fallback fallback;
    double scale_ulp; /* compute unit at the largest value of the tensor */
    bool saturates;
    double least, largest;   /* normal numbers of the dtype */
    float *z;                /* of every element, NaN where there is none */
    struct line_sums *lines; /* of z; NULL where they say nothing */
};

/* Is x, a normal number, a power of two? */
static bool is_power_of_two(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return !(bits & ((UINT64_C(1) << 52) - 1));
}

/* The errors that a value may have had before it was rounded to `got`: half a step to either side,
 * less below a power of two. `want` is what it is an error of. */
static struct error_interval before_rounding(const struct model *model, double got, double want)
{
    double half = dtype_ulp(model->dtype, got) / 2, inner = half;
    if (fabs(got) > model->least && is_power_of_two(got)) inner /= 2;
    double low = got < 0 ? got - half : got - inner, high = got < 0 ? got + inner : got + half;
    if (model->saturates && got == model->largest) high = INFINITY;
    if (model->saturates && got == -model->largest) low = -INFINITY;
    return (struct error_interval){ low - want, high - want };
}

/* What the model says of one element. */
struct allowance {
    double reach;  /* |v - want| of a legitimate v, with the reference's own bound */
    double spread; /* rms of it */
};

/* Kernels for 16- and 8-bit outputs compute in float32. */
static enum dtype compute_dtype(enum dtype dtype) { return dtype == DT_F64 ? DT_F64 : DT_F32; }

static struct allowance allowance_at(const struct model *model, size_t i)
{
    const struct reference *want = model->want;
    const double unit = dtype_ulp(model->compute, want->hi[i]);
    struct allowance a;

    if (want->kernel_bound) {
        a.reach = want->kernel_bound[i];
        a.spread = want->kernel_rms ? want->kernel_rms[i] : a.reach / 4;
        /* Squares of float64 errors as small as these underflow in the model: a quarter of the worst, as for functions. */
        if (a.spread < 0x1p-480) a.spread = fmax(a.spread, a.reach / 4);
        /* A value that is not exact before its last rounding has seen one rounding at least. */
        double least = a.reach < unit / 2 ? a.reach : unit / 2;
        if (a.spread < least) a.spread = least;
    } else {
        a.reach = model->fallback.ulp * unit + model->fallback.scale * model->scale_ulp;
        a.spread = a.reach / 4;
    }
    if (model->dtype != model->compute) {
        /* v is rounded to the compute dtype before it is rounded to the output's. */
        a.reach += unit / 2;
        a.spread = sqrt(a.spread * a.spread + unit * unit / 12);
    }
    a.reach += reference_bound(want, i);
    return a;
}

static double round_to(enum dtype dtype, double x)
{
    union {
        double f64;
        float f32;
        uint16_t narrow;
    } stored;
    dtype_from_double(&stored, dtype, &x, 1);
    dtype_to_double(&x, &stored, dtype, 1);
    return x;
}

static double unit_at(const struct model *model, double want)
{
    double size = fabs(want);
    return dtype_ulp(model->dtype, size < model->largest ? size : model->largest);
}

/* The 8-bit formats may overflow to NaN, to infinity, or stay at the largest value. */
static bool is_overflow(const struct model *model, double want, double got)
{
    return isnan(got) || got == copysign(INFINITY, want) || got == copysign(model->largest, want);
}

/* Is `got` a rounding of some number within `reach` of want + rest? */
static bool is_within(const struct model *model, double want, double rest, double got, double reach)
{
    /* A float64 interval is finer than a double: there the distance decides. */
    if (model->dtype == DT_F64 && reach > 0)
        return fabs((got - want) - rest) <= reach + unit_at(model, want) / 2 || got == want;
    /* The sums may round inwards by less than the last bit of a double. */
    double low = reach == 0 ? want : nextafter((want + rest) - reach, -INFINITY);
    double high = reach == 0 ? want : nextafter((want + rest) + reach, INFINITY);

    if (model->saturates) {
        if (fmax(high, -low) > model->largest && is_overflow(model, want, got)) return true;
        low = fmin(fmax(low, -model->largest), model->largest);
        high = fmin(fmax(high, -model->largest), model->largest);
    }
    return got >= round_to(model->dtype, low) && got <= round_to(model->dtype, high);
}

static void note_beyond(struct model_findings *out, size_t i, double want, double got,
                        double quotient)
{
    if (quotient > out->worst.quotient || out->worst.index == SIZE_MAX)
        out->worst = (struct model_outlier){ i, want, got, quotient };
}

/* The chance that a normal error of twice the expected rms (and the reference's own bound) moves the value over
 * the rounding boundary next to it, on whichever side `got` came to be. */
static double chance_to_flip(const struct error_interval *before, double spread, double bound)
{
    double distance = fmax(fmin(fabs(before->low), fabs(before->high)) - bound, 0);
    return distance > 16 * spread ? 0 : 0.5 * erfc(distance / (2 * spread) * 0.70710678118654752);
}

static void note_size(struct model_findings *out, size_t i, double size)
{
    if (size > out->largest) {
        out->second = out->largest;
        out->largest = size;
        out->largest_index = i;
    } else if (size > out->second) out->second = size;
}

static void measure_statistics(struct model_findings *out, struct error_statistics *statistics,
                               const struct model *model, size_t i, double got, double error,
                               double unit, const struct allowance *a)
{
    double want = model->want->hi[i], bound = reference_bound(model->want, i), z;

    if (model->dtype == model->compute) {
        double expected = sqrt(a->spread * a->spread + unit * unit / 12);
        if (!(expected > 0x1p-500)) /* of float64, where squares underflow */
            expected = fmax(hypot(a->spread, unit * 0.28867513459481287), 0x1p-1074);
        z = error / expected;
    } else {
        struct error_interval before = before_rounding(model, got, got - error);
        z = error_interval_distance(&before, bound) / a->spread;
        error_statistics_add_interval(statistics, i, want, &before, a->spread);
        out->flips += fabs(error) > unit / 2;
        out->expected_flips += chance_to_flip(&before, a->spread, bound);
    }
    error_statistics_add(statistics, want, z);
    model->z[i] = (float)z;
    note_size(out, i, fabs(z));
}

/* Is an element within its interval only because of the reference's own bound? A certified bound
 * can hide a thousandth of a unit at most, and is left alone. */
static bool rests_on_bound(const struct model *model, double want, double rest, double got,
                           double reach, size_t i)
{
    double bound = reference_bound(model->want, i);
    return model->want->state == REFERENCE_BOUNDED && bound > 0 &&
           !is_within(model, want, rest, got, fmax(reach - bound, 0));
}

static double got_at(const struct model *model, size_t i)
{
    double got;
    dtype_to_double(&got, model->got + i * model->bytes, model->dtype, 1);
    return got;
}

/* Returns whether a better reference could change what was found. */
static bool measure_element(struct model_findings *out, struct error_statistics *statistics,
                            const struct model *model, size_t i, double got)
{
    double want = model->want->hi[i], rest = model->want->lo ? model->want->lo[i] : 0;

    if (!isfinite(want) && model->want->kernel_bound && isinf(model->want->kernel_bound[i])) {
        note_beyond(out, i, want, got, 0); /* of a pole that rounding may move it to, say */
        return false;
    }
    if (isnan(want) || isinf(want)) {
        bool same = isnan(want)
                        ? isnan(got)
                        : got == want || (model->saturates && is_overflow(model, want, got));
        if (same) return false;
        out->beyond++;
        out->kinds++;
        note_beyond(out, i, want, got, INFINITY);
        return false;
    }
    struct allowance a = allowance_at(model, i);
    if (isinf(
            a.reach)) { /* an operand that may be 0 or infinite in the kernel: it can return anything */
        note_beyond(out, i, want, got, 0);
        return !model->want->kernel_bound || isfinite(model->want->kernel_bound[i]);
    }
    double error = (got - want) - rest, unit = unit_at(model, want);
    bool within = fabs(error) < unit / 2 || fabs(error) <= a.reach ||
                  is_within(model, want, rest, got, a.reach);
    bool uncertain = within && !(fabs(error) < unit / 2) &&
                     rests_on_bound(model, want, rest, got, a.reach, i);
    if (!within &&
        !isfinite(
            error)) { /* an infinity or a NaN, or a number so far off that the difference overflows */
        out->beyond++;
        if (!isfinite(got)) out->kinds++;
        note_beyond(out, i, want, got, INFINITY);
        return uncertain;
    }
    if (!isfinite(error)) return uncertain; /* an overflow that the interval allows */
    double quotient = fabs(error) / (a.reach + unit / 2);
    note_beyond(out, i, want, got, within ? fmin(quotient, 1) : fmax(quotient, 1 + 0x1p-20));
    out->beyond += !within;
    bool exact = model->want->kernel_bound && model->want->kernel_bound[i] == 0;
    if (!exact) measure_statistics(out, statistics, model, i, got, error, unit, &a);
    return uncertain;
}

/* ---- blocks of plain elements ---------------------------------------------------------------- */

enum { BLOCK = LINE_SUMS_BLOCK };

/* What measure_element finds of elements whose values are finite, that are within their bounds, and that no better reference
 * would put outside. z is NaN where the model is exact. */
struct measured_block {
    double z[BLOCK], size[BLOCK],
        allowed[BLOCK]; /* of the error; by how much it is divided to give the quotient */
    size_t worse;       /* elements whose quotient is above the one given, or nearly so */
};

/* What became of a block: measured, with errors or without, or left to the path of single elements. */
enum measured { NOT_PLAIN, WITH_ERRORS, EXACT };

/* Half a unit of float32 at x, finite: from the power of two at or below it. */
static inline double half_unit_f32(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= UINT64_C(0x7ff) << 52;
    memcpy(&x, &bits, sizeof x);
    return (x > 0x1p-126 ? x : 0x1p-126) * 0x1p-24;
}

/* The bounds of a reference for the elements of a block, `relative` and `absolute` where `error` is NULL; `bounded` where they may
 * be so wide that they matter. */
struct own_bounds {
    const double *error;
    double relative, absolute;
    bool bounded;
};

/* The float32 elements of a block. Returns how many are not plain: the block is measured one by one then. */
VECTORIZED static size_t measure_plain(struct measured_block *restrict out,
                                       const float *restrict got, const double *restrict want,
                                       const double *restrict kernel_bound,
                                       const double *restrict kernel_rms,
                                       const struct own_bounds *bounds, double quotient, size_t n)
{
    static const double largest = 0x1.fffffep127;
    const double *restrict own = readable(bounds->error, want);
    const bool stored = bounds->error;
    const double relative = bounds->relative, absolute = bounds->absolute;
    /* What rests on the reference's own bound is left to the other path, with a margin for the rounding of the sums. */
    const double shrink = 1 - 0x1p-40, counts = bounds->bounded ? 0 : 1;
    size_t special = 0, worse = 0;
    quotient *= shrink;
    for (size_t i = 0; i < n; i++) {
        double half = half_unit_f32(want[i]), reach = kernel_bound[i], error = got[i] - want[i];
        double rms = kernel_rms[i], spread = rms, inner = reach < half ? reach : half;
        double least = spread < 0x1p-480 ? reach / 4 : 0;
        spread = spread < least ? least : spread;
        spread = spread < inner ? inner : spread;
        double magnitude = fabs(want[i]), size = fabs(error);
        double whole = reach + (stored ? own[i] : relative * magnitude + absolute);
        double sure = counts > 0 ? whole : reach * shrink;
        double most = size < half ? half : sure; /* NaN is above no number */
        /* The rounded reference is within any bounds; halfway between two numbers no distance says so. */
        int within = (size <= most) | (got[i] == (float)want[i]);
        int plain = (magnitude <= largest) & (whole < INFINITY) & (rms < INFINITY) & within;
        special += plain ? 0 : 1;
        out->size[i] = size;
        out->allowed[i] = whole + half;
        worse += size > quotient * (whole + half) ? 1 : 0;
        double z = error / sqrt(spread * spread + 4 * half * half / 12);
        out->z[i] = reach == 0 ? (double)NAN : z;
    }
    out->worse = worse;
    return special;
}

/* The same where the model is exact. Returns how many elements are not the rounded reference, or may not be: the block is
 * measured as others then. */
VECTORIZED static size_t measure_exact(struct measured_block *restrict out,
                                       const float *restrict got, const double *restrict want,
                                       const double *restrict kernel_bound,
                                       const double *restrict kernel_rms,
                                       const struct own_bounds *bounds, double quotient, size_t n)
{
    static const double largest = 0x1.fffffep127;
    const double *restrict own = readable(bounds->error, want);
    const double relative = bounds->relative, absolute = bounds->absolute;
    const bool stored = bounds->error;
    const int ties = !bounds->bounded;
    size_t special = 0, worse = 0;
    quotient *= 1 - 0x1p-40;
    for (size_t i = 0; i < n; i++) {
        double half = half_unit_f32(want[i]), magnitude = fabs(want[i]);
        double size = fabs(got[i] - want[i]);
        double whole = stored ? own[i] : relative * magnitude + absolute;
        /* Halfway between two numbers either is a rounding of what is off by more than nothing. Below a power of two numbers are
         * closer. */
        int tie = (size == half) & ties & (whole > 0) & (magnitude != half * 0x1p24);
        int plain = (magnitude <= largest) & (kernel_bound[i] == 0) & (kernel_rms[i] < INFINITY) &
                    ((size < half) | tie | (got[i] == (float)want[i]));
        special += plain ? 0 : 1;
        out->size[i] = size;
        out->allowed[i] = whole + half;
        worse += size > quotient * (whole + half) ? 1 : 0;
    }
    out->worse = worse;
    return special;
}

/* The errors as float. Returns the largest magnitude; NaN is none. */
VECTORIZED static double store_errors(float *restrict out, const double *restrict z, size_t n)
{
    enum { LANES = 16 };
    double most[LANES] = { 0 };
    size_t whole = n / LANES * LANES;
    for (size_t i = 0; i < n; i++) out[i] = (float)z[i];
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            most[k] = fabs(z[i + k]) > most[k] ? fabs(z[i + k]) : most[k];
    for (size_t i = whole; i < n; i++) most[0] = fabs(z[i]) > most[0] ? fabs(z[i]) : most[0];
    for (size_t k = 1; k < LANES; k++) most[0] = most[k] > most[0] ? most[k] : most[0];
    return most[0];
}

/* What a measured block says of the worst element. */
static void note_worst(struct model_findings *out, const struct model *model,
                       const struct measured_block *block, size_t start, size_t count)
{
    bool first = out->worst.index == SIZE_MAX;
    for (size_t i = 0; i < count && (first || block->worse); i++)
        note_beyond(out, start + i, model->want->hi[start + i], got_at(model, start + i),
                    fmin(block->size[i] / block->allowed[i], 1));
}

/* Measures elements start .. start + count - 1 when all of them are plain. Those of an exact model have no errors to add up. */
static enum measured measure_block(struct model_findings *out, struct error_statistics *statistics,
                                   const struct model *model, size_t start, size_t count)
{
    const struct reference *want = model->want;
    const float *got = (const float *)(const void *)model->got + start;
    const double *hi = want->hi + start, *bound = want->kernel_bound + start,
                 *rms = want->kernel_rms + start;
    struct measured_block block;
    const struct own_bounds own = { want->error ? want->error + start : NULL, want->relative,
                                    want->absolute, want->state == REFERENCE_BOUNDED };
    if (*bound == 0 &&
        !measure_exact(&block, got, hi, bound, rms, &own, out->worst.quotient, count)) {
        note_worst(out, model, &block, start, count);
        for (size_t i = 0; i < count; i++) model->z[start + i] = NAN;
        return EXACT;
    }
    if (measure_plain(&block, got, hi, bound, rms, &own, out->worst.quotient, count))
        return NOT_PLAIN;
    note_worst(out, model, &block, start, count);
    double largest = store_errors(model->z + start, block.z, count);
    for (size_t i = 0; largest > out->second && i < count; i++)
        if (fabs(block.z[i]) > out->second) note_size(out, start + i, fabs(block.z[i]));
    error_statistics_add_all(statistics, hi, block.z, count);
    return WITH_ERRORS;
}

/* Have the elements what measure_block asks for? */
static bool has_blocks(const struct model *model)
{
    const struct reference *want = model->want;
    return model->dtype == DT_F32 && want->kernel_bound && want->kernel_rms && !want->lo;
}

static double largest_magnitude(const struct reference *want)
{
    double largest = 0;
    for (size_t i = 0; i < want->n; i++)
        if (isfinite(want->hi[i]) && fabs(want->hi[i]) > largest) largest = fabs(want->hi[i]);
    return largest;
}

static size_t row_of(const struct reference *want)
{
    int64_t last = want->rank ? want->shape[want->rank - 1] : 1;
    return last > 0 ? (size_t)last : 1;
}

static void measure_all(struct model_findings *out, const struct model *model, size_t *uncertain,
                        size_t capacity, size_t *uncertain_count)
{
    struct error_statistics statistics;

    error_statistics_open(&statistics, model->want->n, row_of(model->want));
    size_t draws = model->want->kernel_draws;
    *out = (struct model_findings){ .n = model->want->n,
                                    .worst.index = SIZE_MAX,
                                    .common = model->dtype == model->compute
                                                  ? model->want->kernel_common
                                                  : 0,
                                    .draws = draws ? draws : SIZE_MAX };
    double got[BLOCK];
    *uncertain_count = 0;
    bool by_blocks = has_blocks(model);
    for (size_t start = 0, end; start < out->n; start = end) {
        end = out->n - start < BLOCK ? out->n : start + BLOCK;
        enum measured measured =
            by_blocks ? measure_block(out, &statistics, model, start, end - start) : NOT_PLAIN;
        if (measured == NOT_PLAIN)
            dtype_to_double(got, model->got + start * model->bytes, model->dtype, end - start);
        for (size_t i = start; measured == NOT_PLAIN && i < end; i++) {
            model->z[i] = NAN;
            if (measure_element(out, &statistics, model, i, got[i - start]) &&
                *uncertain_count < capacity)
                uncertain[(*uncertain_count)++] = i;
        }
        if (model->lines)
            (measured == EXACT ? line_sums_pass_over : line_sums_add)(model->lines, start,
                                                                      end - start);
    }
    error_statistics_close(&out->statistics, &statistics);
    if (model->dtype != model->compute) out->second = 0;
}

/* Rows, columns, tiles and lanes; complex elements are pairs along a last dimension. What the last rounding leaves of narrow
 * results does not show which errors a line shares. */
static struct status open_lines(struct model *model, struct arena *arena, bool complex)
{
    const struct reference *want = model->want;
    int64_t shape[TENSOR_MAX_RANK + 1];
    if (model->dtype != model->compute) return status_ok();
    memcpy(shape, want->shape, (size_t)want->rank * sizeof *shape);
    shape[want->rank] = 2;
    const struct error_field field = { model->z, want->hi,
                                       want->n,  want->rank + complex,
                                       shape,    want->kernel_common > 0 };
    return line_sums_open(&model->lines, arena, &field);
}

static struct status measure(struct model_findings *out, struct arena *arena, struct model *model,
                             bool complex, size_t *uncertain, size_t capacity,
                             size_t *uncertain_count)
{
    TRY(open_lines(model, arena, complex));
    measure_all(out, model, uncertain, capacity, uncertain_count);
    if (out->second > 0 && out->largest > fmax(2 * out->second, 1))
        error_outlier_find(&out->outlier, model->want, model->z, model->compute,
                           out->largest_index);
    if (model->lines) error_lines_judge(&out->lines, model->lines);
    return status_ok();
}

/* A bound widens the interval of its element, so it can hide an error but not make one. The
 * elements about which it decides are refined and everything is measured again. */
struct status error_model_measure(struct model_findings *out, struct arena *arena,
                                  const struct tensor *got, struct reference *want,
                                  const struct model_fallback *fallback)
{
    enum { MOST_REFINED = 1024 };
    enum dtype dtype = metrics_component_dtype(got->dtype);
    struct model model = {
        .dtype = dtype,
        .compute = compute_dtype(dtype),
        .got = got->data,
        .bytes = dtype_info(dtype)->bytes,
        .want = want,
        .fallback = *fallback,
        .saturates = dtype == DT_F8E4M3 || dtype == DT_F8E5M2,
        .least = ldexp(1, dtype_info(dtype)->exponent_min),
        .largest = dtype_info(dtype)->largest,
    };
    struct arena_mark before = arena_mark(arena);
    size_t *uncertain = arena_allocate_array(arena, MOST_REFINED, sizeof *uncertain), count;

    if (!uncertain) return status_no_memory(MOST_REFINED * sizeof *uncertain);
    model.z = arena_allocate_array(arena, want->n, sizeof *model.z);
    if (!model.z) return status_no_memory(want->n * sizeof *model.z);
    if (!want->kernel_bound) model.scale_ulp = dtype_ulp(model.compute, largest_magnitude(want));
    bool complex = dtype_is_complex(got->dtype);
    TRY(measure(out, arena, &model, complex, uncertain, MOST_REFINED, &count));
    bool refined = count && want->refine;
    if (refined) {
        TRY(want->refine(want, count, uncertain, 0x1p-10));
        TRY(measure(out, arena, &model, complex, uncertain, MOST_REFINED, &count));
    }
    if (!refined) arena_rewind(arena, before); /* what is refined stays */
    out->missing_bits = short_results_find(got, want);
    return unequal_results_find(&out->unequal, arena, got, want);
}

double error_model_allowed(const struct reference *want, size_t i)
{
    return want->kernel_bound[i] + 0.5 * dtype_ulp(want->dtype, want->hi[i]) +
           reference_bound(want, i);
}

struct status error_model_over_rounding(double *out, struct arena *arena, const struct tensor *got,
                                        const struct reference *want)
{
    struct tensor dense;
    double *values = arena_allocate_array(arena, want->n, sizeof *values);
    if (!values) return status_no_memory(want->n * sizeof *values);
    TRY(tensor_densify(&dense, arena, got));
    dtype_to_double(values, dense.data, dense.dtype, tensor_elements(&dense));
    *out = 0;
    for (size_t i = 0; i < want->n; i++) {
        double quotient = fabs(values[i] - want->hi[i]) / error_model_allowed(want, i);
        if (quotient > *out && quotient < INFINITY) *out = quotient;
    }
    return status_ok();
}
