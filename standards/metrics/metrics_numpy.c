/* The peer's metrics in the peer's arithmetic.
 *
 * numpy computes element by element in the working type (float32 for half precision outputs,
 * float64 for float32 ones) and sums in pairwise order. Every operation here is done in double
 * and rounded to the working type, which gives the same bits as the operation in that type:
 * for +, -, * and / the double result of two floats rounds innocuously (53 >= 2 * 24 + 2,
 * Figueroa). Thresholds are rounded too, because numpy casts a Python float to the type of the
 * array it meets. A tensor without dimensions is a scalar to numpy, and there it is the other
 * way round: a Python number makes the result a double.
 */
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "standards/metrics/metrics.h"

struct arrays {
    enum dtype work, device;
    enum dtype mixed; /* type of a result of an array and a Python number */
    size_t n;
    double *want, *got; /* in the working type */
    double *error;      /* |got - want| */
    double *relative;   /* error / (|want| + epsilon) */
    double *rounded;    /* want in the dtype in which signs and finiteness are decided */
    double *scratch;
    double epsilon, small_value, atol, rtol;
};

static double round_to(enum dtype dtype, double x)
{
    uint16_t narrow;
    if (dtype == DT_F64) return x;
    if (dtype == DT_F32) return (double)(float)x;
    dtype_from_double(&narrow, dtype, &x, 1);
    dtype_to_double(&x, &narrow, dtype, 1);
    return x;
}

static double to_work(const struct arrays *a, double x) { return round_to(a->work, x); }

/* numpy's pairwise summation in the type REAL: blocks of at most 128 in eight running sums, and
 * halves above. */
#define DEFINE_PAIRWISE_SUM(NAME, REAL)                                          \
    static REAL NAME(const double *x, size_t n)                                  \
    {                                                                            \
        REAL r[8] = { 0 }, sum = 0;                                              \
        size_t i = 0;                                                            \
        if (n > 128) {                                                           \
            size_t half = n / 2 - n / 2 % 8;                                     \
            return NAME(x, half) + NAME(x + half, n - half);                     \
        }                                                                        \
        for (; i + 8 <= n; i += 8)                                               \
            for (size_t k = 0; k < 8; k++) r[k] += (REAL)x[i + k];               \
        sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])); \
        for (; i < n; i++) sum += (REAL)x[i];                                    \
        return sum;                                                              \
    }
DEFINE_PAIRWISE_SUM(pairwise_sum_float, float)
DEFINE_PAIRWISE_SUM(pairwise_sum_double, double)

/* numpy sums half precision in float32. */
static double mean(enum dtype dtype, const double *x, size_t n)
{
    if (dtype == DT_F64) return pairwise_sum_double(x, n) / (double)n;
    return round_to(dtype, (double)(float)((double)pairwise_sum_float(x, n) / (double)n));
}

static bool is_finite(const struct arrays *a, size_t i)
{
    return isfinite(a->got[i]) && isfinite(a->rounded[i]);
}

static bool is_small(const struct arrays *a, size_t i)
{
    return fabs(a->want[i]) <= a->small_value;
}

static double max_magnitude(const double *x, size_t n)
{
    double max = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) return NAN;
        if (fabs(x[i]) > max) max = fabs(x[i]);
    }
    return max;
}

/* Both sides scaled by their maxima in float64. NaN anywhere, or an infinity (which the scaling
 * turns into NaN), makes it NaN. */
static void cosine(struct peer_metrics *out, const struct arrays *a)
{
    double want_max = max_magnitude(a->want, a->n), got_max = max_magnitude(a->got, a->n);
    double dot = 0, want_square = 0, got_square = 0;

    out->cosine = NAN;
    if (a->n == 1) {
        out->cosine_kind = COSINE_SCALAR;
        return;
    }
    bool want_zero = want_max <= COSINE_ZERO, got_zero = got_max <= COSINE_ZERO;
    out->cosine_kind = want_zero && got_zero ? COSINE_BOTH_ZERO
                       : got_zero            ? COSINE_GOT_ZERO
                       : want_zero           ? COSINE_WANT_ZERO
                                             : COSINE_VALUE;
    if (out->cosine_kind != COSINE_VALUE) return;
    for (size_t i = 0; i < a->n; i++) {
        double want = a->want[i] / want_max, got = a->got[i] / got_max;
        dot += want * got;
        want_square += want * want;
        got_square += got * got;
    }
    double value = dot / (sqrt(want_square) * sqrt(got_square));
    if (isnan(value)) out->cosine_kind = COSINE_NAN;
    else out->cosine = fmax(-1, fmin(1, value));
}

static double share_within(const struct arrays *a, double threshold)
{
    size_t count = 0;
    for (size_t i = 0; i < a->n; i++) count += a->relative[i] < threshold;
    return (double)count / (double)a->n;
}

static void base_metrics(struct peer_metrics *out, const struct arrays *a,
                         const struct metrics_parameters *parameters)
{
    size_t different = 0;
    double above = 0, below = 0;

    out->max_abs_error = max_magnitude(a->error, a->n);
    out->within_hundredth = share_within(a, round_to(a->mixed, parameters->within[0]));
    out->within_thousandth = share_within(a, round_to(a->mixed, parameters->within[1]));
    out->within_ten_thousandth = share_within(a, round_to(a->mixed, parameters->within[2]));
    for (size_t i = 0; i < a->n; i++) {
        different += a->want[i] != a->got[i];
        above += a->got[i] > a->rounded[i];
        below += a->got[i] < a->rounded[i];
    }
    out->binary_mismatch = (double)different / (double)a->n;
    out->error_balance = fabs(above - below) / (double)a->n;
}

static void small_value_metrics(struct peer_metrics *out, const struct arrays *a)
{
    uint64_t failed = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (!is_finite(a, i) || !is_small(a, i)) continue;
        out->small_count++;
        failed += a->error[i] > a->atol;
    }
    out->small_value_ratio = out->small_count ? (double)failed / (double)out->small_count : 0;
}

static void normal_value_metrics(struct peer_metrics *out, const struct arrays *a)
{
    uint64_t failed = 0;
    size_t used = 0;

    for (size_t i = 0; i < a->n; i++) {
        if (!is_finite(a, i) || is_small(a, i)) continue;
        out->normal_count++;
        failed += a->relative[i] > a->rtol;
        if (a->relative[i] > out->max_relative_error) out->max_relative_error = a->relative[i];
        a->scratch[used++] = a->relative[i];
    }
    out->relative_error_ratio = used ? (double)failed / (double)used : 0;
    out->mean_relative_error = used ? mean(a->mixed, a->scratch, used) : 0;

    for (size_t i = 0; i < a->n; i++)
        a->scratch[i] =
            is_finite(a, i) && !is_small(a, i) ? round_to(a->mixed, a->error[i] * a->error[i]) : 0;
    double n = (double)a->n, masked = n - (double)out->normal_count;
    out->rmse = sqrt(mean(a->mixed, a->scratch, a->n) * (n / (n - masked + 0.0001) + 0.0001));
}

static double clip(double x, double limit) { return x > limit ? limit : x < -limit ? -limit : x; }

/* At positions where a side is not finite: the relative error after clipping both to the range
 * of the device's dtype. The denominator is not clipped, so that an infinite reference accepts
 * every finite result. */
static void non_finite_metrics(struct peer_metrics *out, const struct arrays *a)
{
    double limit = dtype_info(a->device)->largest;
    uint64_t failed = 0;

    for (size_t i = 0; i < a->n; i++) {
        if (is_finite(a, i)) continue;
        out->non_finite_count++;
        double want = clip(a->rounded[i], limit), got = clip(a->got[i], limit);
        double denominator = round_to(a->mixed, fabs(a->want[i]) + a->epsilon);
        double relative = round_to(a->mixed, to_work(a, fabs(got - want)) / denominator);
        failed += !(relative <= a->rtol || (isnan(a->want[i]) && isnan(a->got[i])));
    }
    out->inf_nan_ratio = out->non_finite_count ? (double)failed / (double)out->non_finite_count : 0;
}

/* The exponent of the peer's unit: floor of a logarithm in the reference's type, which can come
 * out one too high just below a power of two, and 0 where the reference is 0. */
static double unit_exponent(const struct arrays *a, double want, double exponent_min)
{
    if (want == 0) return fmax(0, exponent_min);
    return fmax(floor(to_work(a, log2(fabs(want)))), exponent_min);
}

/* The same, with tapered widths and no absolute value, for the 8-bit formats. */
static double ulp_of_float8(double want, double got)
{
    double exponent = floor(fmax(log2(fabs(want) + 0x1p-1000), -22)), e = fabs(exponent);
    double width = e <= 3 ? 3 : e <= 7 ? 2 : e <= 15 ? 1 : 0;
    if (width > 0) return (got - want) * exp2(width - exponent);
    double got_log = fmax(log2(fabs(got) + 0x1p-1000), -22);
    double want_log = fmax(log2(fabs(want) + 0x1p-1000), -22);
    return copysign(1, got) * got_log - copysign(1, want) * want_log;
}

static void ulp_metrics(struct peer_metrics *out, const struct arrays *a, double limit)
{
    const struct dtype_info *info = dtype_info(a->device);
    struct arrays wide = *a; /* float32 outputs are measured in float64 */
    if (a->device == DT_F32) wide.work = DT_F64;
    bool float8 = info->significand_bits < 8;
    uint64_t over = 0;

    for (size_t i = 0; i < a->n; i++) {
        double exponent = unit_exponent(a, a->want[i], info->exponent_min);
        double scale = to_work(&wide, exp2(info->significand_bits - 1 - exponent));
        double difference = to_work(a, a->got[i] - a->want[i]);
        a->scratch[i] = float8 ? ulp_of_float8(a->want[i], a->got[i])
                               : fabs(to_work(&wide, difference * scale));
        over += a->scratch[i] > limit;
    }
    out->max_ulp = -INFINITY;
    for (size_t i = 0; i < a->n; i++) {
        if (isnan(a->scratch[i])) out->max_ulp = NAN;
        if (a->scratch[i] > out->max_ulp) out->max_ulp = a->scratch[i];
    }
    out->mean_ulp = mean(wide.work, a->scratch, a->n);
    out->ulp_proportion = (double)over / (double)a->n;
}

static void fill_arrays(struct arrays *a, const struct tensor *got, const struct reference *want,
                        enum dtype bench_dtype)
{
    enum dtype bench = metrics_component_dtype(bench_dtype);
    /* bfloat16 is widened before anything is computed. */
    enum dtype widened = a->device == DT_F64 || a->device == DT_F16 ? a->device : DT_F32;

    dtype_to_double(a->got, got->data, a->device, a->n);
    for (size_t i = 0; i < a->n; i++) {
        a->want[i] = round_to(bench, want->hi[i]);
        a->rounded[i] = round_to(widened, a->want[i]);
        a->error[i] = to_work(a, fabs(a->got[i] - a->want[i]));
        double denominator = round_to(a->mixed, fabs(a->want[i]) + a->epsilon);
        a->relative[i] = round_to(a->mixed, a->error[i] / denominator);
    }
}

struct status metrics_compute_numpy(struct peer_metrics *out, const struct tensor *got,
                                    const struct reference *want, enum dtype bench_dtype,
                                    const struct metrics_parameters *parameters)
{
    struct arrays a = { .device = metrics_component_dtype(got->dtype), .n = want->n };
    double *memory = memory_allocate_zeroed(want->n, 6 * sizeof *memory);

    if (!memory) return status_no_memory((unsigned long long)want->n * 6 * sizeof *memory);
    a.work = metrics_work_dtype(bench_dtype, got->dtype);
    a.mixed = got->rank == 0 ? DT_F64 : a.work;
    a.want = memory;
    a.got = a.want + a.n;
    a.error = a.got + a.n;
    a.relative = a.error + a.n;
    a.rounded = a.relative + a.n;
    a.scratch = a.rounded + a.n;
    a.epsilon = parameters->bench_epsilon; /* a power of two, exact in every type */
    a.small_value = round_to(a.mixed, parameters->small_value);
    a.atol = round_to(a.mixed, parameters->small_value_atol);
    a.rtol = round_to(a.mixed, parameters->relative_tolerance);
    fill_arrays(&a, got, want, bench_dtype);

    *out = (struct peer_metrics){ .relative_dtype = a.mixed };
    base_metrics(out, &a, parameters);
    cosine(out, &a);
    small_value_metrics(out, &a);
    normal_value_metrics(out, &a);
    non_finite_metrics(out, &a);
    ulp_metrics(out, &a, parameters->ulp_limit);
    memory_release(memory);
    return status_ok();
}
