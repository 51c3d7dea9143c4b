/* The profile `strict` on simulated kernels. Each kernel computes in float32 with one final
 * rounding, in several legitimate ways and in several faulty ones; its error model follows the
 * rules of core/reference.h. Legitimate ones must never be accused, faults must be found. */
#include "standards/error_model.h"
#include "standards/metric_data.h"
#include "support/random_numbers.h"
#include "support/suite.h"

#define U 0x1p-24

static double normal(void)
{
    double a = uniform(), b = uniform();
    return sqrt(-2 * log(1 - a)) * cos(6.283185307179586 * b);
}

/* ---- a case ------------------------------------------------------------------------------- */

struct rows { /* `count` results, each from `length` terms */
    size_t count, length;
    float *a, *b;
    double *want, *kernel_bound, *rms;
    float *got;
};

static void rows_create(struct rows *r, struct arena *arena, size_t count, size_t length)
{
    *r = (struct rows){ .count = count, .length = length };
    r->a = arena_allocate_array(arena, count * length, sizeof(float));
    r->b = arena_allocate_array(arena, count * length, sizeof(float));
    r->want = arena_allocate_array(arena, count * length, sizeof(double));
    r->kernel_bound = arena_allocate_array(arena, count * length, sizeof(double));
    r->rms = arena_allocate_array(arena, count * length, sizeof(double));
    r->got = arena_allocate_array(arena, count * length, sizeof(float));
}

enum data { DATA_NORMAL, DATA_POSITIVE, DATA_OFFSET, DATA_GRADED, DATA_HALF_ZERO, DATA_COUNT };

static float draw(enum data kind)
{
    switch (kind) {
    case DATA_NORMAL: return (float)normal();
    case DATA_POSITIVE: return (float)uniform();
    case DATA_OFFSET: return (float)(100 + normal());
    case DATA_GRADED: return (float)(normal() * exp(3 * normal()));
    default: return next_random() & 1 ? 0 : (float)normal();
    }
}

static void rows_fill(struct rows *r, enum data kind)
{
    for (size_t i = 0; i < r->count * r->length; i++) {
        r->a[i] = draw(kind);
        r->b[i] = draw(kind == DATA_OFFSET ? DATA_NORMAL : kind);
    }
}

static struct profile *strict;
static struct arena arena;

static struct judged judge_matrix(const char *api, enum dtype dtype, size_t rows, size_t n,
                                  double *want, double *kernel_bound, double *rms,
                                  const float *values)
{
    int64_t shape[2] = { (int64_t)rows, (int64_t)(n / rows) };
    struct api_case c = { .full_name = "Torch.x.0", .type = "Torch", .api = api };
    struct judge_request request = {
        .profile = strict, .c = &c, .bench_dtype = DT_F64, .input_dtype = dtype, .precision = 14
    };
    struct reference reference = { .dtype = dtype,
                                   .rank = 2,
                                   .shape = { shape[0], shape[1] },
                                   .n = n,
                                   .hi = want,
                                   .kernel_bound = kernel_bound,
                                   .kernel_rms = rms };
    struct wanted wanted = { .reference = &reference };
    struct value got = { .kind = VALUE_TENSOR };
    struct tensor tensor;
    struct judged judged;

    ck_assert_int_eq(tensor_create(&tensor, &arena, dtype, 2, shape).code, STATUS_OK);
    dtype_from_float(tensor.data, dtype, values, n);
    got.tensor.tensor = &tensor;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &got).code, STATUS_OK);
    return judged;
}

/* One line of results. */
static struct judged judge_values(const char *api, enum dtype dtype, size_t n, double *want,
                                  double *kernel_bound, double *rms, const float *values)
{
    return judge_matrix(api, dtype, 1, n, want, kernel_bound, rms, values);
}

static struct judged judge_rows(const struct rows *r, enum dtype dtype, size_t n)
{
    return judge_values("matmul", dtype, n, r->want, r->kernel_bound, r->rms, r->got);
}

/* ---- dot products ------------------------------------------------------------------------- */

/* Reference and model of sum a_k b_k: worst case k u sum|ab|, and its rms. */
static void dot_reference(struct rows *r)
{
    for (size_t i = 0; i < r->count; i++) {
        double sum = 0, magnitude = 0, n = (double)r->length;
        for (size_t k = 0; k < r->length; k++) {
            double term = (double)r->a[i * r->length + k] * r->b[i * r->length + k];
            sum += term;
            magnitude += fabs(term);
        }
        r->want[i] = sum;
        r->kernel_bound[i] = n * U * magnitude;
        r->rms[i] = fmin(r->kernel_bound[i], (sqrt(n) / 3 + 0.6) * U * magnitude);
    }
}

typedef float dot_kernel(const float *a, const float *b, size_t n);

static float dot_forward(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}
static float dot_backward(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t k = n; k-- > 0;) sum += a[k] * b[k];
    return sum;
}
static float dot_fused(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t k = 0; k < n; k++) sum = fmaf(a[k], b[k], sum);
    return sum;
}
static float dot_lanes(const float *a, const float *b, size_t n)
{
    float lane[16] = { 0 };
    for (size_t k = 0; k < n; k++) lane[k % 16] = fmaf(a[k], b[k], lane[k % 16]);
    for (size_t width = 8; width; width /= 2)
        for (size_t k = 0; k < width; k++) lane[k] += lane[k + width];
    return lane[0];
}
/* Blocks of 128 each summed alone, as tiles are. */
static float dot_tiles(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t start = 0; start < n; start += 128)
        sum += dot_lanes(a + start, b + start, n - start < 128 ? n - start : 128);
    return sum;
}
/* Split-K over four partners. */
static float dot_split(const float *a, const float *b, size_t n)
{
    float part[4];
    for (size_t p = 0; p < 4; p++)
        part[p] = dot_fused(a + n * p / 4, b + n * p / 4, n * (p + 1) / 4 - n * p / 4);
    return (part[3] + part[1]) + (part[0] + part[2]);
}

static dot_kernel *const honest_dots[] = { dot_forward, dot_backward, dot_fused,
                                           dot_lanes,   dot_tiles,    dot_split };

static float cut_bits(float x, unsigned mask)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= mask;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Faults. */
static float dot_tf32(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t k = 0; k < n; k++)
        sum = fmaf(cut_bits(a[k], 0xffffe000), cut_bits(b[k], 0xffffe000), sum);
    return sum;
}
static float dot_short_accumulator(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t k = 0; k < n; k++) sum = cut_bits(fmaf(a[k], b[k], sum) * 1.001953125f, 0xffff0000);
    return sum;
}
static float dot_last_term_missing(const float *a, const float *b, size_t n)
{
    return dot_lanes(a, b, n - 1);
}
static float dot_term_twice(const float *a, const float *b, size_t n)
{
    return dot_lanes(a, b, n) + a[n / 2] * b[n / 2];
}

static dot_kernel *const faulty_dots[] = { dot_tf32, dot_short_accumulator, dot_last_term_missing,
                                           dot_term_twice };

static const size_t lengths[] = { 3, 17, 64, 300, 1024, 2500 };

static size_t length_of(int i) { return lengths[(size_t)i % (sizeof lengths / sizeof lengths[0])]; }

static struct judged run_dot(dot_kernel *kernel, enum data kind, enum dtype dtype, size_t length)
{
    struct rows r;
    arena_reset(&arena);
    rows_create(&r, &arena, 32, length);
    rows_fill(&r, kind);
    for (size_t i = 0; i < r.count * length && dtype != DT_F32; i++) {
        uint16_t narrow;
        dtype_from_float(&narrow, dtype, &r.a[i], 1);
        dtype_to_float(&r.a[i], &narrow, dtype, 1);
        dtype_from_float(&narrow, dtype, &r.b[i], 1);
        dtype_to_float(&r.b[i], &narrow, dtype, 1);
    }
    dot_reference(&r);
    for (size_t i = 0; i < r.count; i++)
        r.got[i] = kernel(r.a + i * length, r.b + i * length, length);
    return judge_rows(&r, dtype, r.count);
}

static const enum dtype outputs[] = { DT_F32, DT_BF16, DT_F16 };

START_TEST(any_order_of_a_dot_product_passes)
{
    state = 77 + (uint64_t)_i;
    for (size_t k = 0; k < sizeof honest_dots / sizeof honest_dots[0]; k++)
        for (enum data kind = 0; kind < DATA_COUNT; kind++)
            for (size_t d = 0; d < 3; d++) {
                struct judged judged = run_dot(honest_dots[k], kind, outputs[d], length_of(_i));
                ck_assert_msg(judged.verdict == VERDICT_PASS,
                              "kernel %zu, data %d, %s, length %zu: %s", k, (int)kind,
                              dtype_info(outputs[d])->name, length_of(_i),
                              judged.cells[COLUMN_MESSAGE]);
            }
}
END_TEST

/* For float32 outputs each of these is found on every kind of data that shows it. */
START_TEST(faulty_dot_products_are_found)
{
    state = 99 + (uint64_t)_i;
    for (size_t k = 0; k < sizeof faulty_dots / sizeof faulty_dots[0]; k++)
        for (enum data kind = 0; kind < DATA_COUNT; kind++) {
            struct judged judged = run_dot(faulty_dots[k], kind, DT_F32, length_of(_i));
            ck_assert_msg(judged.verdict == VERDICT_ERROR, "fault %zu, data %d, length %zu", k,
                          (int)kind, length_of(_i));
        }
}
END_TEST

/* ---- library functions -------------------------------------------------------------------- */

/* Values of exp and log good to `ulps`, judged as a library function (3.5 ulp before rounding). */
static struct judged run_library(double ulps, enum dtype dtype, bool biased, size_t n)
{
    struct rows r;
    arena_reset(&arena);
    rows_create(&r, &arena, n, 1);
    for (size_t i = 0; i < n; i++) {
        double x = 4 * normal(), y = i % 2 ? exp(x) : log(fabs(x) + 1e-3);
        double unit = dtype_ulp(DT_F32, y);
        r.want[i] = y;
        r.kernel_bound[i] = 3.5 * unit;
        r.rms[i] = 0.9 * unit;
        r.got[i] = (float)(y + unit * ulps * (biased ? 1 : 2 * uniform() - 1));
    }
    return judge_values("exp", dtype, n, r.want, r.kernel_bound, r.rms, r.got);
}

START_TEST(libraries_of_a_few_ulp_pass)
{
    state = 5 + (uint64_t)_i;
    static const double good[] = { 0, 0.5, 1, 2, 3 };
    for (size_t k = 0; k < 5; k++)
        for (size_t d = 0; d < 3; d++) {
            struct judged judged = run_library(good[k], outputs[d], false, 10 + 3000u * (k % 2));
            ck_assert_msg(judged.verdict == VERDICT_PASS, "%g ulp, %s: %s", good[k],
                          dtype_info(outputs[d])->name, judged.cells[COLUMN_MESSAGE]);
        }
    ck_assert_int_eq(run_library(1, DT_F32, true, 1000).verdict, VERDICT_PASS);
}
END_TEST

START_TEST(libraries_of_many_ulp_are_found)
{
    state = 6 + (uint64_t)_i;
    ck_assert_int_eq(run_library(40, DT_F32, false, 100).verdict, VERDICT_ERROR);
    ck_assert_int_eq(run_library(4.9, DT_F32, true, 100).verdict, VERDICT_ERROR);
    ck_assert_int_eq(run_library(300, DT_F16, false, 3000).verdict, VERDICT_ERROR);
    ck_assert_int_eq(run_library(3000, DT_BF16, false, 3000).verdict, VERDICT_ERROR);
}
END_TEST

/* ---- softmax ------------------------------------------------------------------------------ */

static void softmax_reference(struct rows *r, size_t row)
{
    const float *x = r->a + row * r->length;
    double top = -INFINITY, sum = 0, n = (double)r->length;
    for (size_t k = 0; k < r->length; k++) top = fmax(top, x[k]);
    for (size_t k = 0; k < r->length; k++) sum += exp(x[k] - top);
    for (size_t k = 0; k < r->length; k++) {
        double y = exp(x[k] - top) / sum;
        size_t at = row * r->length + k;
        double relative = U * (2 * (7 + fmin(top - x[k], 110)) + n + 4);
        r->want[at] = y;
        r->kernel_bound[at] = relative * y + 0x1p-149;
        r->rms[at] = U * (4 + sqrt(n) / 3) * y;
    }
}

static void softmax_three_passes(float *y, const float *x, size_t n)
{
    float top = -INFINITY, sum = 0;
    for (size_t k = 0; k < n; k++) top = fmaxf(top, x[k]);
    for (size_t k = 0; k < n; k++) sum += y[k] = expf(x[k] - top);
    for (size_t k = 0; k < n; k++) y[k] /= sum;
}
/* The running maximum and rescaled sum of online softmax. */
static void softmax_online(float *y, const float *x, size_t n)
{
    float top = -INFINITY, sum = 0;
    for (size_t k = 0; k < n; k++) {
        float next = fmaxf(top, x[k]);
        sum = sum * expf(top - next) + expf(x[k] - next);
        top = next;
    }
    float inverse = 1 / sum;
    for (size_t k = 0; k < n; k++) y[k] = expf(x[k] - top) * inverse;
}
static void softmax_flushed(float *y, const float *x, size_t n)
{
    softmax_three_passes(y, x, n);
    for (size_t k = 0; k < n; k++)
        if (y[k] < 1e-4f) y[k] = 0;
}
static void softmax_coarse(float *y, const float *x, size_t n)
{
    softmax_three_passes(y, x, n);
    for (size_t k = 0; k < n; k++) y[k] *= 1 + 3e-5f * (float)(k % 2 ? 1 : -1);
}
static void softmax_unnormalized(float *y, const float *x, size_t n)
{
    softmax_three_passes(y, x, n);
    for (size_t k = 0; k < n; k++) y[k] *= 0.9998f;
}
static void softmax_one_sign(float *y, const float *x, size_t n)
{
    softmax_three_passes(y, x, n);
    y[n / 3] = -y[n / 3];
}

static enum verdict run_softmax(void (*kernel)(float *, const float *, size_t), size_t length,
                                enum dtype dtype)
{
    struct rows r;
    arena_reset(&arena);
    rows_create(&r, &arena, 20, length);
    for (size_t i = 0; i < r.count * length; i++) r.a[i] = (float)(3 * normal());
    for (size_t i = 0; i < r.count; i++) {
        softmax_reference(&r, i);
        kernel(r.got + i * length, r.a + i * length, length);
    }
    return judge_values("softmax", dtype, r.count * length, r.want, r.kernel_bound, r.rms, r.got)
        .verdict;
}

START_TEST(softmax_kernels)
{
    state = 11 + (uint64_t)_i;
    size_t length = length_of(_i);
    for (size_t d = 0; d < 3; d++) {
        ck_assert_int_eq(run_softmax(softmax_three_passes, length, outputs[d]), VERDICT_PASS);
        ck_assert_int_eq(run_softmax(softmax_online, length, outputs[d]), VERDICT_PASS);
        ck_assert_int_eq(run_softmax(softmax_one_sign, length, outputs[d]), VERDICT_ERROR);
        if (length >= 300)
            ck_assert_int_eq(run_softmax(softmax_flushed, length, outputs[d]), VERDICT_ERROR);
    }
    ck_assert_int_eq(run_softmax(softmax_coarse, length, DT_F32), VERDICT_ERROR);
    ck_assert_int_eq(run_softmax(softmax_unnormalized, length, DT_F32), VERDICT_ERROR);
}
END_TEST

/* ---- operations that round once or not at all ---------------------------------------------- */

static enum verdict run_exact(enum dtype dtype, double (*damage)(double value, double unit))
{
    struct rows r;
    arena_reset(&arena);
    rows_create(&r, &arena, 500, 1);
    for (size_t i = 0; i < 500; i++) {
        double x = normal() * exp2((double)(next_random() % 20) - 10);
        uint32_t stored;
        dtype_from_double(&stored, dtype, &x, 1);
        dtype_to_double(&x, &stored, dtype, 1);
        r.want[i] = x;
        r.kernel_bound[i] = r.rms[i] = 0;
        r.got[i] = (float)(i == 250 ? damage(x, dtype_ulp(dtype, x)) : x);
    }
    return judge_values("relu", dtype, 500, r.want, r.kernel_bound, r.rms, r.got).verdict;
}

static double intact(double value, double unit)
{
    (void)unit;
    return value;
}
static double unit_up(double value, double unit) { return value + unit; }
static double unit_down(double value, double unit) { return value - unit; }
static double zeroed(double value, double unit)
{
    (void)value;
    (void)unit;
    return 0;
}

/* Half a unit below a power of two is still another number: reported just beyond the limit. */
START_TEST(the_neighbour_below_a_power_of_two)
{
    double want[1] = { 1 }, kernel_bound[1] = { 0 };
    float got[1] = { 1 - 0x1p-24f };
    arena_reset(&arena);
    struct judged judged = judge_values("relu", DT_F32, 1, want, kernel_bound, kernel_bound, got);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_double_eq(judged.deciding_value, 1 + 0x1p-20);
}
END_TEST

/* An exact tie goes to the even neighbour. */
START_TEST(ties_go_to_even)
{
    double want[1] = { 1 + 0x1p-24 }, kernel_bound[1] = { 0 };
    float even[1] = { 1 }, odd[1] = { 1 + 0x1p-23f };
    arena_reset(&arena);
    ck_assert_int_eq(judge_values("add", DT_F32, 1, want, kernel_bound, kernel_bound, even).verdict,
                     VERDICT_PASS);
    ck_assert_int_eq(judge_values("add", DT_F32, 1, want, kernel_bound, kernel_bound, odd).verdict,
                     VERDICT_ERROR);
}
END_TEST

START_TEST(copies_are_exact)
{
    state = 31 + (uint64_t)_i;
    for (size_t d = 0; d < 3; d++) {
        ck_assert_int_eq(run_exact(outputs[d], intact), VERDICT_PASS);
        ck_assert_int_eq(run_exact(outputs[d], unit_up), VERDICT_ERROR);
        ck_assert_int_eq(run_exact(outputs[d], unit_down), VERDICT_ERROR);
        ck_assert_int_eq(run_exact(outputs[d], zeroed), VERDICT_ERROR);
    }
}
END_TEST

/* A sum of two stored numbers, rounded once: to nearest passes, cut toward zero does not. */
START_TEST(single_operations_are_correctly_rounded)
{
    state = 41 + (uint64_t)_i;
    for (size_t d = 0; d < 3; d++)
        for (int cut = 0; cut < 2; cut++) {
            struct rows r;
            arena_reset(&arena);
            rows_create(&r, &arena, 400, 1);
            for (size_t i = 0; i < 400; i++) {
                float x = (float)normal(), y = (float)(1e-3 * normal());
                r.want[i] = (double)x + (double)y;
                r.kernel_bound[i] = r.rms[i] = 0;
                double v = r.want[i];
                if (cut) v -= copysign(dtype_ulp(outputs[d], v) / 2, v) * (1 - 1e-9);
                r.got[i] = outputs[d] == DT_F32 ? (float)v : (float)v;
            }
            struct judged judged =
                judge_values("add", outputs[d], 400, r.want, r.kernel_bound, r.rms, r.got);
            ck_assert_int_eq(judged.verdict, cut ? VERDICT_ERROR : VERDICT_PASS);
        }
}
END_TEST

/* ---- kinds of values ---------------------------------------------------------------------- */

static enum verdict judge_pair(enum dtype dtype, double want, double got, double kernel_bound)
{
    double wants[2] = { want, 1 }, kernel_bounds[2] = { kernel_bound, 0 },
           rms[2] = { kernel_bound / 4, 0 };
    float gots[2] = { (float)got, 1 };
    arena_reset(&arena);
    return judge_values("x", dtype, 2, wants, kernel_bounds, rms, gots).verdict;
}

/* Every kind against every kind: only equal ones agree. */
START_TEST(kinds_of_values_must_agree)
{
    const double kinds[] = { 1.5, INFINITY, -INFINITY, NAN };
    for (size_t d = 0; d < 3; d++)
        for (int w = 0; w < 4; w++)
            for (int g = 0; g < 4; g++)
                ck_assert_int_eq(judge_pair(outputs[d], kinds[w], kinds[g], 0x1p-20),
                                 w == g ? VERDICT_PASS : VERDICT_ERROR);
}
END_TEST

/* At the edge of the range, the model decides what may overflow. */
START_TEST(overflow_is_judged_by_the_interval)
{
    ck_assert_int_eq(judge_pair(DT_F16, 70000, INFINITY, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F16, 70000, 65504, 0), VERDICT_ERROR); /* saturated */
    ck_assert_int_eq(judge_pair(DT_F16, -70000, -INFINITY, 1), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F16, 65519, 65504, 0.5), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F16, 65519, INFINITY, 0.5), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F16, 65519, INFINITY, 2), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F16, 65521, 65504, 0.5), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F16, 65521, 65504, 2), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F32, 1e300, INFINITY, 0), VERDICT_PASS);
    /* The 8-bit formats may saturate. */
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 1000, 448, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 1000, NAN, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 1000, 416, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, -INFINITY, -57344, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, -INFINITY, 57344, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, 1e9, -57344, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, 1e9, INFINITY, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, 1e9, -INFINITY, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, 49152, INFINITY, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 447, 416, 30), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 447, 384, 30), VERDICT_ERROR);
}
END_TEST

/* Where a kernel may divide by what underflows, it may return anything. */
START_TEST(nothing_is_asked_where_nothing_is_known)
{
    const double any[] = { 0, 3e38, INFINITY, -INFINITY, NAN };
    for (size_t d = 0; d < 3; d++)
        for (int k = 0; k < 5; k++)
            ck_assert_int_eq(judge_pair(outputs[d], 1.5, any[k], INFINITY), VERDICT_PASS);
}
END_TEST

START_TEST(zeros_of_both_signs_are_equal)
{
    ck_assert_int_eq(judge_pair(DT_F32, 0.0, -0.0, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F32, -0.0, 0.0, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F32, 0.0, 1e-45, 0), VERDICT_ERROR);
}
END_TEST

/* A zero that a kernel may miss by an underflow alone: the squares of its errors underflow themselves. */
START_TEST(right_zeros_pass)
{
    for (size_t d = 0; d < 3; d++)
        ck_assert_int_eq(judge_pair(outputs[d], 0, 0, 0x1p-1074), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F64, 0, 0, 0x1p-1074), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F64, 0, 1e-30, 0x1p-1074), VERDICT_ERROR);
}
END_TEST

/* ---- references with bounds of their own ---------------------------------------------------- */

static int refined;
static double refined_to;

static struct status refine_to(struct reference *reference, size_t count, const size_t *components,
                               double wanted_ulp)
{
    ck_assert_double_eq(wanted_ulp, 0x1p-10);
    refined += (int)count;
    for (size_t k = 0; k < count; k++) {
        reference->hi[components[k]] = refined_to;
        reference->error[components[k]] = 0;
    }
    return status_ok();
}

static struct status refine_badly(struct reference *reference, size_t count,
                                  const size_t *components, double wanted_ulp)
{
    (void)reference;
    (void)count;
    (void)components;
    (void)wanted_ulp;
    return status_error(STATUS_NO_MEMORY, "no room to refine");
}

/* One element, float32, exact but for a bound of 2^-10 on the reference 1. */
static struct status measure_bounded(struct model_findings *findings, double got,
                                     enum reference_state certainty, void *refine)
{
    static double want[1], bound[1], kernel_bound[1];
    static const struct model_fallback unused;
    int64_t shape[1] = { 1 };
    struct tensor tensor;
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { 1 },
                                   .n = 1,
                                   .hi = want,
                                   .error = bound,
                                   .kernel_bound = kernel_bound,
                                   .state = certainty,
                                   .refine = refine };
    want[0] = 1;
    bound[0] = 0x1p-10;
    kernel_bound[0] = 0;
    refined = 0;
    ck_assert_int_eq(tensor_create(&tensor, &arena, DT_F32, 1, shape).code, STATUS_OK);
    dtype_from_double(tensor.data, DT_F32, &got, 1);
    return error_model_measure(findings, &arena, &tensor, &reference, &unused);
}

START_TEST(deciding_elements_are_refined)
{
    struct model_findings f;
    refined_to = 1 + 0x1p-12;
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-12, REFERENCE_BOUNDED, refine_to).code, 0);
    ck_assert_int_eq(refined, 1);
    ck_assert_uint_eq(f.beyond, 0);
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-11, REFERENCE_BOUNDED, refine_to).code, 0);
    ck_assert_int_eq(refined, 1);
    ck_assert_uint_eq(f.beyond, 1); /* the bound hid it */
    /* Nothing to refine: beyond the bound, or right without it. */
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-9, REFERENCE_BOUNDED, refine_to).code, 0);
    ck_assert_int_eq(refined, 0);
    ck_assert_uint_eq(f.beyond, 1);
    ck_assert_int_eq(measure_bounded(&f, 1, REFERENCE_BOUNDED, refine_to).code, 0);
    ck_assert_int_eq(refined, 0);
    /* Not possible, not needed, not successful. */
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-11, REFERENCE_BOUNDED, NULL).code, 0);
    ck_assert_uint_eq(f.beyond, 0);
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-11, REFERENCE_CERTIFIED, refine_to).code, 0);
    ck_assert_int_eq(refined, 0);
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-11, REFERENCE_BOUNDED, refine_badly).code,
                     STATUS_NO_MEMORY);
}
END_TEST

/* At most a thousand are refined at a time. */
START_TEST(refinement_is_limited)
{
    enum { MANY = 3000 };
    static double want[MANY], bound[MANY], kernel_bound[MANY], got[MANY];
    static const struct model_fallback unused;
    int64_t shape[1] = { MANY };
    struct model_findings f;
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { MANY },
                                   .n = MANY,
                                   .hi = want,
                                   .error = bound,
                                   .kernel_bound = kernel_bound,
                                   .state = REFERENCE_BOUNDED,
                                   .refine = refine_to };
    for (size_t i = 0; i < MANY; i++) {
        want[i] = 1;
        bound[i] = i % 2 ? 0x1p-10 : 0;
        got[i] = 1 + (i % 2 ? 0x1p-12 : 0);
    }
    refined = 0;
    refined_to = 1 + 0x1p-12;
    struct tensor *tensor = tensor_of(&arena, DT_F32, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_int_eq(refined, 1024);
    ck_assert_uint_eq(f.beyond, 0);
}
END_TEST

/* Elements that the model explains without the bound need no refinement, bound or not. */
START_TEST(explained_elements_are_not_refined)
{
    double want[2] = { 1, 1 }, bound[2] = { 0, 0x1p-20 }, kernel_bound[2] = { 0x1p-10, 0x1p-10 };
    double got[2] = { 1 + 0x1p-12, 1 + 0x1p-12 };
    static const struct model_fallback unused;
    int64_t shape[1] = { 2 };
    struct model_findings f;
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { 2 },
                                   .n = 2,
                                   .hi = want,
                                   .error = bound,
                                   .kernel_bound = kernel_bound,
                                   .state = REFERENCE_BOUNDED,
                                   .refine = refine_badly };
    struct tensor *tensor = tensor_of(&arena, DT_F32, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 0);
}
END_TEST

/* float64: the reference is a pair, and the arithmetic is that of the output. */
START_TEST(pairs_of_doubles)
{
    static const struct model_fallback unused;
    double want[2] = { 1, 0x1p-1060 }, low[2] = { 0x1p-54 * 0.9, 0 },
           kernel_bound[2] = { 0, 0x1p-1070 };
    double got[2] = { 1, 0x1p-1060 };
    int64_t shape[1] = { 2 };
    struct model_findings f;
    struct reference reference = { .dtype = DT_F64,
                                   .rank = 1,
                                   .shape = { 2 },
                                   .n = 2,
                                   .hi = want,
                                   .lo = low,
                                   .kernel_bound = kernel_bound };
    struct tensor *tensor = tensor_of(&arena, DT_F64, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 0);
    ck_assert_uint_eq(f.statistics.elements, 1);
    ck_assert_uint_eq(f.flips, 0);
    /* The low part decides: with it the next number is 0.6 units off, without 1. */
    low[0] = 0x1p-52 * 0.4;
    kernel_bound[0] = 0x1p-52 * 0.15;
    got[0] = 1 + 0x1p-52;
    tensor = tensor_of(&arena, DT_F64, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 0);
    low[0] = -low[0];
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 1);
    kernel_bound[0] = 0;
    got[1] = 0x1p-1060 + 0x1p-1068;
    tensor = tensor_of(&arena, DT_F64, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 2);
}
END_TEST

/* P(x > d) of a normal x with deviation s. */
static double beyond(double d, double s) { return 0.5 * erfc(d / s * sqrt(0.5)); }

/* The statistics to the last digit. A float16 result is a rounding of everything within half a step, so only
 * what is beyond that counts as error. */
START_TEST(statistics_by_their_definition)
{
    static const struct model_fallback unused;
    double want[2] = { 1.5, -1.5 }, kernel_bound[2] = { 0x1p-5, 0x1p-5 },
           rms[2] = { 0x1p-7, 0x1p-7 };
    double got[2] = { 1.5 + 0x1p-8, -1.5 };
    int64_t shape[1] = { 2 };
    struct model_findings f;
    struct reference *reference = reference_of(&arena, DT_F16, 1, shape, want, 2);
    struct tensor *tensor = tensor_of(&arena, DT_F16, 1, shape, got);
    reference->kernel_bound = kernel_bound;
    reference->kernel_rms = rms;
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, reference, &unused).code, 0);
    double unit = 0x1p-10, inner = 0x1p-23; /* of float16, and of the float32 before it */
    double spread = sqrt(0x1p-14 + inner * inner / 12), least = 0x1p-8 - unit / 2;
    double z = least / spread;
    ck_assert_double_eq_tol(f.largest, z, 1e-14);
    ck_assert_uint_eq(f.largest_index, 0);
    ck_assert_double_eq_tol(f.statistics.rms, z / sqrt(2), 1e-14);
    ck_assert_double_eq_tol(f.statistics.bias, z / 2, 1e-14);
    ck_assert_uint_eq(f.flips, 1);
    double chances = beyond(least, 2 * spread) + beyond(unit / 2, 2 * spread);
    ck_assert_double_eq_tol(f.expected_flips, chances, 1e-14);
    ck_assert_double_eq_tol(f.worst.quotient, 0x1p-8 / (0x1p-5 + inner / 2 + unit / 2), 1e-14);
    /* The reference's own bound may have moved it. */
    reference->error = (double[2]){ unit / 16, 0 };
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, reference, &unused).code, 0);
    ck_assert_double_eq_tol(f.largest, (least - unit / 16) / spread, 1e-14);
    chances = beyond(least - unit / 16, 2 * spread) + beyond(unit / 2, 2 * spread);
    ck_assert_double_eq_tol(f.expected_flips, chances, 1e-14);
    /* A power of two is the rounding of less below it: a quarter of the step above. */
    want[0] = reference->hi[0] = 1 - 0x1p-9;
    reference->error = NULL;
    tensor = tensor_of(&arena, DT_F16, 1, shape, (double[2]){ 1, -1.5 });
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, reference, &unused).code, 0);
    spread = sqrt(0x1p-14 + 0x1p-48 / 12);
    ck_assert_double_eq_tol(f.largest, (0x1p-9 - unit / 4) / spread, 1e-14);
    /* Without a model: 64 units at the element and 64 at the largest, a quarter as rms. */
    const struct model_fallback fallback = { 3, 5 };
    reference->kernel_bound = reference->kernel_rms = NULL;
    want[0] = reference->hi[0] = 0.25;
    tensor = tensor_of(&arena, DT_F32, 1, shape, (double[2]){ 0.25 + 0x1p-22, -1.5 });
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, reference, &fallback).code, 0);
    double reach = 3 * 0x1p-25 + 5 * 0x1p-23;
    ck_assert_double_eq_tol(f.worst.quotient, 0x1p-22 / (reach + 0x1p-26), 1e-14);
    ck_assert_double_eq_tol(f.largest, 0x1p-22 / sqrt(reach * reach / 16 + 0x1p-50 / 12), 1e-12);
}
END_TEST

START_TEST(no_memory_to_measure)
{
    static const struct model_fallback unused;
    double want[1] = { 1 };
    int64_t shape[1] = { 1 };
    struct model_findings f;
    struct arena little = { .limit_bytes = 64 };
    struct tensor *tensor = tensor_of(&arena, DT_F32, 1, shape, want);
    struct reference *reference = reference_of(&arena, DT_F32, 1, shape, want, 1);
    ck_assert_int_eq(error_model_measure(&f, &little, tensor, reference, &unused).code,
                     STATUS_NO_MEMORY);
    arena_release(&little);
}
END_TEST

/* ---- each limit of the profile, just within and just past ------------------------------------ */

/* n float32 numbers whose errors are `each` expected rms, the first one `first`, alternating in sign when
 * `balanced`. `distinct` references. */
static struct judged judge_errors(size_t n, double each, double first, bool balanced,
                                  size_t distinct)
{
    struct rows r;
    arena_reset(&arena);
    rows_create(&r, &arena, n, 1);
    for (size_t i = 0; i < n; i++) {
        double spread = 0x1p-14, z = i ? each : first;
        r.want[i] = 1.5 + 0x1p-11 * (double)(i % distinct);
        r.kernel_bound[i] = 0x1p-8;
        r.rms[i] = spread;
        r.got[i] = (float)(r.want[i] + (balanced && i % 2 ? -z : z) * spread);
    }
    return judge_values("x", DT_F32, n, r.want, r.kernel_bound, r.rms, r.got);
}

START_TEST(limits_of_the_statistics)
{
    struct judged judged = judge_errors(100, 2.99, 2.99, true, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_PASS);
    judged = judge_errors(100, 3.01, 3.01, true, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_rms");
    ck_assert_double_eq(judged.deciding_limit, 3);
    judged = judge_errors(100, 2.49, 2.49, false, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_PASS);
    judged = judge_errors(100, 2.51, 2.51, false, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_bias");
    double largest = sqrt(25 + 2 * log(100));
    judged = judge_errors(100, 0.1, largest - 0.01, true, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_PASS);
    judged = judge_errors(100, 0.1, largest + 0.01, true, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_largest");
}
END_TEST

/* What chance keeps the rms of n normal errors below, but for 10^-8. */
static double rms_by_chance(double n)
{
    double x = log(1e8);
    return sqrt(1 + 2 * sqrt(x / n) + 2 * x / n);
}

/* Fewer than 16: the limit of the rms grows as chance does, and the mean is not asked for. */
START_TEST(limits_of_few_elements)
{
    for (size_t n = 1; n <= 16; n++) {
        double most = n < 16 ? 3 * rms_by_chance((double)n) / rms_by_chance(16) : 2.5;
        most = fmin(most, sqrt(25 + 2 * log((double)n))); /* no element is further off */
        ck_assert_int_eq(judge_errors(n, most - 0.01, most - 0.01, false, n).verdict, VERDICT_PASS);
        ck_assert_int_eq(judge_errors(n, most + 0.01, most + 0.01, false, n).verdict,
                         VERDICT_ERROR);
    }
}
END_TEST

/* Equal references have equal errors: a thousand of ten kinds are ten errors. From 65 kinds on, all count. */
START_TEST(equal_references_count_once)
{
    double most = 3 * rms_by_chance(10) / rms_by_chance(16);
    ck_assert_int_eq(judge_errors(1000, most - 0.01, most - 0.01, false, 10).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_errors(1000, most + 0.01, most + 0.01, false, 10).verdict,
                     VERDICT_ERROR);
    ck_assert_int_eq(judge_errors(1000, 2.51, 2.51, false, 64).verdict, VERDICT_ERROR);
    ck_assert_int_eq(judge_errors(1000, 2.49, 2.49, false, 65).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_errors(1000, 2.51, 2.51, false, 65).verdict, VERDICT_ERROR);
}
END_TEST

/* Five rows whose elements share their row's error are five errors. */
START_TEST(rows_may_share_an_error)
{
    struct error_statistics statistics;
    struct error_summary summary;
    error_statistics_open(&statistics, 500, 100);
    for (int i = 0; i < 500; i++)
        error_statistics_add(&statistics, 1 + 0x1p-20 * i, 2 + 0.1 * (i / 100));
    error_statistics_close(&summary, &statistics);
    ck_assert_double_eq(summary.independent, 5);
    error_statistics_open(&statistics, 500, 100);
    for (int i = 0; i < 500; i++)
        error_statistics_add(&statistics, 1 + 0x1p-20 * i, i % 2 ? 2 : -2);
    error_statistics_close(&summary, &statistics);
    ck_assert_double_eq(summary.independent, 500);
    ck_assert_double_eq(summary.rms, 2);
    ck_assert_double_eq(summary.bias, 0);
    /* One row shares with nobody. */
    error_statistics_open(&statistics, 500, 500);
    for (int i = 0; i < 500; i++) error_statistics_add(&statistics, 1 + 0x1p-20 * i, 2);
    error_statistics_close(&summary, &statistics);
    ck_assert_double_eq(summary.independent, 500);
    ck_assert_double_eq(summary.bias, 2);
}
END_TEST

/* n float16 results whose errors before the rounding were at least `least` expected rms. */
static struct judged judge_intervals(size_t n, double least)
{
    struct rows r;
    arena_reset(&arena);
    rows_create(&r, &arena, n, 1);
    for (size_t i = 0; i < n; i++) {
        double unit = 0x1p-10, spread = unit / 256, number = 1 + unit * (double)(2 * i + 1);
        r.got[i] = (float)number;
        r.want[i] = number - unit / 2 - least * spread;
        r.kernel_bound[i] = unit;
        r.rms[i] = sqrt(spread * spread - 0x1p-46 / 12);
    }
    return judge_values("x", DT_F16, n, r.want, r.kernel_bound, r.rms, r.got);
}

/* By how many nats scales up to 1.5 fit worse than the best one: here it is the largest, 48. */
static double nats_of(size_t n, double least)
{
    return (double)n * (log(beyond(least, 48)) - log(beyond(least, 1.5)));
}

START_TEST(limit_of_the_likelihood)
{
    double least[2];
    for (int past = 0; past < 2; past++) {
        double low = 0, high = 8;
        for (int k = 0; k < 60; k++)
            *(nats_of(20, (low + high) / 2) < (past ? 8.02 : 7.98) ? &low : &high) = (low + high) /
                                                                                     2;
        least[past] = low;
    }
    struct judged judged = judge_intervals(20, least[0]);
    ck_assert_msg(judged.verdict == VERDICT_PASS, "%s", judged.cells[COLUMN_MESSAGE]);
    judged = judge_intervals(20, least[1]);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_nats");
    ck_assert_double_eq_tol(judged.deciding_value, 8.02, 0.01);
}
END_TEST

/* What a format makes of element i, in units of the expected error: for the reference below. */
static double shortening(size_t i, enum short_format format)
{
    return format == SHORT_HF32 ? sin(7. * (double)i + 1) : cos(3. * (double)i * (format + 1.));
}

static struct status shorten_test(double **values, struct reference *r, enum short_format format)
{
    *values = arena_allocate_array(&arena, r->n, sizeof **values);
    for (size_t i = 0; *values && i < r->n; i++)
        (*values)[i] = r->hi[i] + *(double *)r->shorten_context * shortening(i, format);
    return status_ok();
}

/* n elements around 1, off by `share` of what HF32 makes and by `rest` times an error of another origin. */
static struct judged judge_shortened(size_t n, double size, double share, double rest)
{
    struct api_case c = { .full_name = "Torch.x.0", .type = "Torch", .api = "x" };
    struct judge_request request = {
        .profile = strict, .c = &c, .bench_dtype = DT_F64, .input_dtype = DT_F32, .precision = 14
    };
    struct rows r;
    struct tensor tensor;
    struct value got = { .kind = VALUE_TENSOR };
    struct judged judged;
    arena_reset(&arena);
    rows_create(&r, &arena, n, 1);
    for (size_t i = 0; i < n; i++) {
        r.want[i] = 1 + 0x1p-10 * (double)i;
        r.kernel_bound[i] = 0x1p-12;
        r.rms[i] = 0x1p-15;
        r.got[i] = (float)(r.want[i] + share * size * shortening(i, SHORT_HF32) +
                           rest * size * sin(5. * (double)i));
    }
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { (int64_t)n },
                                   .n = n,
                                   .hi = r.want,
                                   .kernel_bound = r.kernel_bound,
                                   .kernel_rms = r.rms,
                                   .shorten = shorten_test,
                                   .shorten_context = &size };
    struct wanted wanted = { .reference = &reference };
    ck_assert_int_eq(tensor_create(&tensor, &arena, DT_F32, 1, reference.shape).code, STATUS_OK);
    dtype_from_float(tensor.data, DT_F32, r.got, n);
    got.tensor.tensor = &tensor;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &got).code, STATUS_OK);
    return judged;
}

/* Errors twice as large as expected pass unless they are those of a format: a share in (0.5, 2) of it, and a
 * correlation above 0.9, at which the rest is 0.48 as large. */
START_TEST(signature_of_a_short_format)
{
    const double size = 3 * 0x1p-15; /* rms of the sine: 2.1 expected errors */
    struct judged judged = judge_shortened(400, size, 1, 0);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_signature");
    ck_assert_str_eq(judged.signature, "HF32 (11 fraction bits)");
    ck_assert_int_eq(judge_shortened(400, size, 1, 0.47).verdict, VERDICT_ERROR);
    ck_assert_int_eq(judge_shortened(400, size, 1, 0.50).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_shortened(400, 2 * size, 0.49, 0).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_shortened(400, 2 * size, 0.51, 0).verdict, VERDICT_ERROR);
    ck_assert_int_eq(judge_shortened(15, size, 1, 0).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_shortened(400, size, 0, 1).verdict, VERDICT_PASS);
    /* Below what the model expects nothing is looked for. */
    ck_assert_int_eq(judge_shortened(400, size / 3, 1, 0).verdict, VERDICT_PASS);
}
END_TEST

/* A profile with limits of its own in place of `strict`, until it is put back. */
static struct profile *use_limits(const char *limits)
{
    char path[64];
    snprintf(path, sizeof path, "strict_test_%d.json", (int)getpid());
    FILE *file = fopen(path, "w");
    fprintf(file, "{ \"overrides\": [ { \"limits\": { %s } } ] }", limits);
    fclose(file);
    struct profile *before = strict;
    struct status status = profile_load(&strict, "strict", path, FILES_CHECKED);
    remove(path);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    return before;
}

static void put_back(struct profile *before)
{
    profile_release(strict);
    strict = before;
}

/* An element may be off by kernel_bound and half a unit, not more; without an rms the bound counts. */
START_TEST(limit_of_an_element)
{
    double want[1] = { 1 }, kernel_bound[1] = { 10 * 0x1p-23 }, rms[1] = { 10 * 0x1p-23 };
    float got[1] = { 1 + 10 * 0x1p-23f };
    arena_reset(&arena);
    ck_assert_int_eq(judge_values("x", DT_F32, 1, want, kernel_bound, rms, got).verdict,
                     VERDICT_PASS);
    ck_assert_int_eq(judge_values("x", DT_F32, 1, want, kernel_bound, NULL, got).verdict,
                     VERDICT_PASS);
    got[0] = 1 + 11 * 0x1p-23f;
    struct judged judged = judge_values("x", DT_F32, 1, want, kernel_bound, rms, got);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_worst");
    ck_assert_double_eq_tol(judged.deciding_value, 11 / 10.5, 1e-15);
    ck_assert_int_eq(judge_values("x", DT_F32, 1, want, kernel_bound, NULL, got).verdict,
                     VERDICT_ERROR);
}
END_TEST

/* Half precision: results that rounding the reference does not give, against the chance of each. 400
 * elements 4 expected rms from a boundary: each has a chance of 2.3 %, twice the number and 6 deviations are
 * allowed. */
START_TEST(limit_of_flips)
{
    double allowed = 2 * 400 * beyond(4, 2);
    size_t most = (size_t)(allowed + 6 * sqrt(allowed) + 6);
    struct profile *before = use_limits("\"model_nats\": null");
    for (size_t past = 0; past < 2; past++) {
        struct rows r;
        arena_reset(&arena);
        rows_create(&r, &arena, 400, 1);
        for (size_t i = 0; i < 400; i++) {
            double unit = 0x1p-10, spread = unit * 0x1p-6, number = 1 + unit * (double)(2 * i);
            r.want[i] = number + unit / 2 - 4 * spread;
            r.kernel_bound[i] = unit * 0.25;
            r.rms[i] = sqrt(spread * spread - 0x1p-46 / 12);
            r.got[i] = (float)(number + (i < most + past ? unit : 0));
        }
        struct judged judged = judge_values("x", DT_F16, 400, r.want, r.kernel_bound, r.rms, r.got);
        ck_assert_msg(judged.verdict == (past ? VERDICT_ERROR : VERDICT_PASS), "%s",
                      judged.cells[COLUMN_MESSAGE]);
        if (past) ck_assert_str_eq(judged.deciding_metric, "model_flips");
    }
    put_back(before);
}
END_TEST

/* ---- kernels that round between their steps ------------------------------------------------- */

static struct status no_stages(struct reference *reference)
{
    (void)reference;
    return status_no_memory(1);
}

/* What a kernel that rounds between its steps makes of the data of judge_staged: by how many units every 4th element is off. */
static double staged_units;
static struct status staged_kernel(struct reference *out, bool *can, struct reference *reference,
                                   const struct kernel_modes *modes, bool cut_off)
{
    *out = *reference;
    out->hi = arena_allocate_array(&arena, reference->n, sizeof *out->hi);
    for (size_t i = 0; i < reference->n; i++)
        out->hi[i] = reference->hi[i] + (i % 4 || !cut_off ? 0 : staged_units * 0x1p-10);
    *can = modes->allowed[KERNEL_STAGED];
    return status_ok();
}
static bool with_kernel; /* judge_staged knows that kernel */

/* Another start of the gradient, from which its elements are allowed four times as much. */
static struct status four_times(struct reference *out, bool *can, struct reference *reference)
{
    *out = *reference;
    out->kernel_bound = arena_allocate_array(&arena, reference->n, sizeof *out->kernel_bound);
    out->kernel_rms = out->kernel_bound;
    for (size_t i = 0; i < reference->n; i++) out->kernel_bound[i] = 4 * reference->kernel_bound[i];
    *can = true;
    return status_ok();
}
static bool with_outputs; /* judge_staged knows that start */

/* 200 float16 results of which every `nth` is off by `units`, where a fused kernel is right to 2^-10 of a unit and one
 * that rounds between its steps to 2 units. */
static struct judged judge_staged(double units, size_t nth,
                                  struct status (*stage)(struct reference *))
{
    enum { N = 200 };
    static double want[N], bound[N], rms[N], staged[N], staged_rms[N];
    static float got[N];
    double unit = 0x1p-10;
    for (size_t i = 0; i < N; i++) {
        want[i] = 1 + unit * (double)(3 * i);
        bound[i] = rms[i] = unit * 0x1p-10;
        staged[i] = 2 * unit;
        staged_rms[i] = unit;
        got[i] = (float)(want[i] + (i % nth ? 0 : i % 2 ? -units : units) * unit);
    }
    struct reference reference = { .dtype = DT_F16,
                                   .rank = 1,
                                   .shape = { N },
                                   .n = N,
                                   .hi = want,
                                   .kernel_bound = bound,
                                   .kernel_rms = rms,
                                   .staged_bound = staged,
                                   .staged_rms = staged_rms,
                                   .staged_steps = "exp, a number",
                                   .stage = stage,
                                   .allow = with_kernel ? staged_kernel : NULL,
                                   .from_outputs = with_outputs ? four_times : NULL };
    struct api_case c = { .full_name = "Torch.x.0", .type = "Torch", .api = "x" };
    struct judge_request request = {
        .profile = strict, .c = &c, .bench_dtype = DT_F64, .input_dtype = DT_F16, .precision = 14
    };
    struct wanted wanted = { .reference = &reference };
    struct value value = { .kind = VALUE_TENSOR };
    struct judged judged = { 0 };
    struct tensor tensor;
    arena_reset(&arena);
    ck_assert_int_eq(tensor_create(&tensor, &arena, DT_F16, 1, (int64_t[]){ N }).code, STATUS_OK);
    dtype_from_float(tensor.data, DT_F16, got, N);
    value.tensor.tensor = &tensor;
    struct status status = judge_output(&judged, &arena, &request, &wanted, &value);
    ck_assert_int_eq(status.code, stage ? STATUS_NO_MEMORY : STATUS_OK);
    return judged;
}

START_TEST(rounding_between_the_steps_is_a_warning)
{
    struct judged judged = judge_staged(2, 1, NULL);
    ck_assert_int_eq(judged.verdict, VERDICT_WARNING);
    ck_assert_msg(
        strstr(judged.cells[COLUMN_MESSAGE],
               "Explained by rounding to torch.float16 between the steps (exp, a number)") != NULL,
        "%s", judged.cells[COLUMN_MESSAGE]);
    ck_assert_str_eq(judged.deciding_metric, "model_flips");
    ck_assert_int_eq(judge_staged(3, 1, NULL).verdict, VERDICT_ERROR); /* beyond that, too */
    ck_assert_int_eq(judge_staged(0, 1, NULL).verdict, VERDICT_PASS);
    /* A kernel that rounds between its steps does so everywhere. */
    ck_assert_int_eq(judge_staged(2, 4, NULL).verdict, VERDICT_WARNING);
    ck_assert_int_eq(judge_staged(2, 100, NULL).verdict, VERDICT_ERROR);
    (void)judge_staged(2, 1, no_stages);
}
END_TEST

/* Roundings go both ways; errors that do not are those of a kernel that rounds between its steps only if it makes them. */
START_TEST(errors_that_go_one_way_are_no_roundings)
{
    with_kernel = true;
    staged_units = 0;
    struct judged judged = judge_staged(2, 4, NULL); /* every 4th is larger by 2 units */
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_msg(strstr(judged.cells[COLUMN_MESSAGE], "The errors go one way") != NULL, "%s",
                  judged.cells[COLUMN_MESSAGE]);
    ck_assert_int_eq(judge_staged(2, 1, NULL).verdict, VERDICT_WARNING); /* both ways */
    staged_units = 1.75;
    ck_assert_int_eq(judge_staged(2, 4, NULL).verdict, VERDICT_WARNING);
    with_kernel = false;
}
END_TEST

/* A start that does not explain the row leaves no trace: the limits of the evidence are those of the message. */
START_TEST(a_start_that_explains_nothing_is_forgotten)
{
    struct judged alone = judge_staged(3, 1, NULL);
    with_outputs = true;
    struct judged judged = judge_staged(3, 1, NULL);
    with_outputs = false;
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_uint_gt(alone.limit_count, 0);
    ck_assert_uint_eq(judged.limit_count, alone.limit_count);
    for (size_t i = 0; i < alone.limit_count; i++) {
        ck_assert_str_eq(judged.limits[i].metric, alone.limits[i].metric);
        ck_assert_double_eq(judged.limits[i].value, alone.limits[i].value);
        ck_assert_double_eq(judged.limits[i].limit, alone.limits[i].limit);
    }
}
END_TEST

/* A line of a tensor: 64 rows of 32 float32 results with errors of a fifth of what is expected, and one row with four
 * times that, which no element and no statistic of all rows shows. */
START_TEST(a_row_is_judged_by_the_others)
{
    enum { ROWS = 64, ROW = 32, N = ROWS * ROW };
    static double want[N], bound[N], rms[N];
    static float got[N];
    for (int spoilt = 0; spoilt < 2; spoilt++) {
        state = 20261123;
        for (size_t i = 0; i < N; i++) {
            double size = spoilt && i / ROW == 40 ? 4 : 0.2;
            want[i] = 1 + uniform();
            rms[i] = 64 * 0x1p-23;
            bound[i] = 40 * rms[i];
            got[i] = (float)(want[i] + size * rms[i] * (uniform() < 0.5 ? -1 : 1));
        }
        struct judged judged;
        arena_reset(&arena);
        judged = judge_matrix("x", DT_F32, ROWS, N, want, bound, rms, got);
        ck_assert_int_eq(judged.verdict, spoilt ? VERDICT_ERROR : VERDICT_PASS);
        if (!spoilt) continue;
        ck_assert_str_eq(judged.deciding_metric, "model_line");
        ck_assert_msg(strstr(judged.cells[COLUMN_MESSAGE], "at index 40 of dimension 0") != NULL,
                      "%s", judged.cells[COLUMN_MESSAGE]);
    }
}
END_TEST

/* A user may raise the limit of the worst element. */
START_TEST(limits_may_be_raised)
{
    struct profile *before = use_limits("\"model_worst\": 3");
    double want[1] = { 1 }, kernel_bound[1] = { 10 * 0x1p-23 };
    float got[1] = { 1 + 11 * 0x1p-23f };
    arena_reset(&arena);
    ck_assert_int_eq(judge_values("x", DT_F32, 1, want, kernel_bound, NULL, got).verdict,
                     VERDICT_PASS);
    got[0] = 1 + 40 * 0x1p-23f;
    ck_assert_int_eq(judge_values("x", DT_F32, 1, want, kernel_bound, NULL, got).verdict,
                     VERDICT_ERROR);
    put_back(before);
}
END_TEST

static void setup(void)
{
    ck_assert_int_eq(profile_load(&strict, "strict", NULL, FILES_CHECKED).code, STATUS_OK);
}

static void teardown(void)
{
    profile_release(strict);
    arena_release(&arena);
}

int main(void)
{
    Suite *suite = suite_create("strict");
    TCase *tcase = tcase_create("strict");
    int sizes = (int)(sizeof lengths / sizeof lengths[0]);
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, any_order_of_a_dot_product_passes, 0, sizes);
    tcase_add_loop_test(tcase, faulty_dot_products_are_found, 0, sizes);
    tcase_add_loop_test(tcase, libraries_of_a_few_ulp_pass, 0, 20);
    tcase_add_loop_test(tcase, libraries_of_many_ulp_are_found, 0, 20);
    tcase_add_loop_test(tcase, softmax_kernels, 0, sizes);
    tcase_add_test(tcase, the_neighbour_below_a_power_of_two);
    tcase_add_test(tcase, ties_go_to_even);
    tcase_add_loop_test(tcase, copies_are_exact, 0, 10);
    tcase_add_loop_test(tcase, single_operations_are_correctly_rounded, 0, 10);
    tcase_add_test(tcase, kinds_of_values_must_agree);
    tcase_add_test(tcase, overflow_is_judged_by_the_interval);
    tcase_add_test(tcase, nothing_is_asked_where_nothing_is_known);
    tcase_add_test(tcase, zeros_of_both_signs_are_equal);
    tcase_add_test(tcase, right_zeros_pass);
    tcase_add_test(tcase, deciding_elements_are_refined);
    tcase_add_test(tcase, refinement_is_limited);
    tcase_add_test(tcase, explained_elements_are_not_refined);
    tcase_add_test(tcase, pairs_of_doubles);
    tcase_add_test(tcase, statistics_by_their_definition);
    tcase_add_test(tcase, no_memory_to_measure);
    tcase_add_test(tcase, limits_of_the_statistics);
    tcase_add_test(tcase, limits_of_few_elements);
    tcase_add_test(tcase, equal_references_count_once);
    tcase_add_test(tcase, rows_may_share_an_error);
    tcase_add_test(tcase, limit_of_the_likelihood);
    tcase_add_test(tcase, signature_of_a_short_format);
    tcase_add_test(tcase, limit_of_an_element);
    tcase_add_test(tcase, limit_of_flips);
    tcase_add_test(tcase, limits_may_be_raised);
    tcase_add_test(tcase, rounding_between_the_steps_is_a_warning);
    tcase_add_test(tcase, errors_that_go_one_way_are_no_roundings);
    tcase_add_test(tcase, a_start_that_explains_nothing_is_forgotten);
    tcase_add_test(tcase, a_row_is_judged_by_the_others);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
