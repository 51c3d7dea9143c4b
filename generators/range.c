/* Bounds that a dtype can hold, from whatever a record says. */
#include "generators/range.h"

#include <math.h>

/* ---- bounds a dtype can hold -------------------------------------------------------- */

/* The component type of a complex type, the type itself otherwise. */
static enum dtype component(enum dtype dtype)
{
    return dtype == DT_C64 ? DT_F32 : dtype == DT_C128 ? DT_F64 : dtype;
}

static double rounded(enum dtype dtype, double x)
{
    unsigned char element[8];
    dtype_from_double(element, dtype, &x, 1);
    dtype_to_double(&x, element, dtype, 1);
    return x;
}

static double clamped(enum dtype dtype, double x)
{
    const struct dtype_info *info = dtype_info(dtype);
    return x < info->lowest ? info->lowest : x > info->largest ? info->largest : x;
}

/* The smallest value of `dtype` that is at least x, which is finite and within its limits.
 * Next to a power of two the spacing on the side of zero is half an ulp, so a step of 0.6
 * ulp rounds to the neighbour on either side. */
static double at_least(enum dtype dtype, double x)
{
    double y = rounded(dtype, x);
    return y < x ? rounded(dtype, y + 0.6 * dtype_ulp(dtype, y)) : y;
}

static int64_t integer_clamped(enum dtype dtype, int64_t x)
{
    const struct dtype_info *info = dtype_info(dtype);
    if (info->bytes == 8) return x;
    if (x < (int64_t)info->lowest) return (int64_t)info->lowest;
    if (x > (int64_t)info->largest) return (int64_t)info->largest;
    return x;
}

/* Toward zero. Statistics of integers pass through float32 in some dumps, which takes the
 * largest int64 to 2^63 and the largest int32 to 2^31. */
static int64_t integer_from(enum dtype dtype, double x)
{
    int64_t i = x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
    return integer_clamped(dtype, i);
}

struct range range_of_integers(enum dtype dtype, int64_t lo, int64_t hi)
{
    struct range range = { 0 };
    range.integer_lo = integer_clamped(dtype, lo < hi ? lo : hi);
    range.integer_hi = integer_clamped(dtype, lo < hi ? hi : lo);
    return range;
}

struct range range_of_reals(enum dtype dtype, double lo, double hi)
{
    struct range range = { 0 };
    enum dtype real = component(dtype);

    if (lo > hi) {
        double swap = lo;
        lo = hi;
        hi = swap;
    }
    lo = clamped(real, lo);
    hi = clamped(real, hi);
    range.lo = at_least(real, lo);
    range.hi = -at_least(real, -hi);
    /* No value of the dtype lies between the bounds: the nearest one. */
    if (range.lo > range.hi) range.lo = range.hi = rounded(real, lo);
    return range;
}

/* ---- from a record ------------------------------------------------------------------ */

static bool is_number(const struct statistic *statistic)
{
    return statistic->kind != STATISTIC_ABSENT;
}

static bool is_finite(const struct statistic *statistic)
{
    return is_number(statistic) && isfinite(statistic->number);
}

/* A finite range for a tensor whose record has no finite Max, no finite Min, or neither.
 * The square roots are correctly rounded on every host. */
static void guess_finite(double *lo, double *hi, const struct tensor_record *record, size_t n)
{
    if (isfinite(*lo)) {
        *hi = *lo + fmax(1, 2 * fabs(*lo));
    } else if (isfinite(*hi)) {
        *lo = *hi - fmax(1, 2 * fabs(*hi));
    } else if (is_finite(&record->norm)) {
        double reach = sqrt(3) * record->norm.number / sqrt((double)n);
        double mean = is_finite(&record->mean) ? record->mean.number : 0;
        *lo = mean - reach;
        *hi = mean + reach;
    } else {
        *lo = -1;
        *hi = 1;
    }
}

/* float8_e4m3 has no infinity. */
static bool holds(enum dtype dtype, double x) { return !isinf(x) || dtype != DT_F8E4M3; }

static struct range constant_range(double value)
{
    struct range range = { 0 };
    range.constant = true;
    range.constant_value = value;
    return range;
}

/* Where NaN and infinities go, after msprobe: NaN second (first of one or two), -inf first,
 * inf last. */
static void place(struct range *range, enum dtype dtype, double lowest, double highest, size_t n)
{
    if (isnan(lowest) || isnan(highest)) {
        if (n > 2) {
            range->has_second = true;
            range->second = NAN;
        } else {
            range->has_first = true;
            range->first = NAN;
        }
    }
    if (isinf(lowest) && holds(dtype, lowest)) {
        range->has_first = true;
        range->first = lowest;
    }
    if (isinf(highest) && holds(dtype, highest)) {
        range->has_last = true;
        range->last = highest;
    }
}

static struct range real_range(const struct tensor_record *record, enum dtype dtype, size_t n)
{
    const bool is_complex = dtype_is_complex(dtype);
    double lowest = record->min.number, highest = record->max.number;
    double lo = is_finite(&record->min_finite) ? record->min_finite.number : lowest;
    double hi = is_finite(&record->max_finite) ? record->max_finite.number : highest;
    bool one_value = n == 1 || highest == -INFINITY || lowest == INFINITY;

    if (one_value && !isfinite(highest) && holds(dtype, highest)) return constant_range(highest);
    if (n == 1 && isinf(lowest) && holds(dtype, lowest)) return constant_range(lowest);
    bool guessed = !isfinite(lo) || !isfinite(hi);
    if (guessed) guess_finite(&lo, &hi, record, n);
    if (is_complex && lo < 0) lo = 0; /* magnitudes */
    if (is_complex && hi < 0) hi = 0;
    struct range range = range_of_reals(dtype, lo, hi);
    range.guessed = guessed;
    place(&range, dtype, lowest, highest, n);
    return range;
}

struct status range_of_record(struct range *out, const struct tensor_record *record,
                              enum dtype dtype, size_t n)
{
    if (n == 0) {
        *out = (struct range){ 0 };
        return status_ok();
    }
    if (!is_number(&record->max) || !is_number(&record->min))
        return status_error(STATUS_SKIP,
                            "the dump gives no %s for it, so no data can be "
                            "generated; record the statistics or the tensors of this call",
                            is_number(&record->min)   ? "Max"
                            : is_number(&record->max) ? "Min"
                                                      : "Max and Min");
    if (!dtype_is_integral(dtype)) {
        *out = real_range(record, dtype, n);
        return status_ok();
    }
    double lo = record->min.number, hi = record->max.number;
    if (isnan(lo) || isnan(hi))
        return status_error(STATUS_SKIP, "the dump gives NaN as Max or Min of a tensor of %s",
                            dtype_info(dtype)->name);
    if (dtype == DT_BOOL) *out = range_of_integers(dtype, lo >= 1, hi >= 1);
    else *out = range_of_integers(dtype, integer_from(dtype, lo), integer_from(dtype, hi));
    return status_ok();
}
