/* The profile `strict` on simulated kernels. Each computes in float32 with one final rounding, in
 * several legitimate ways and in several faulty ones; its error model follows the rules of
 * core/reference.h. Legitimate ones must never be accused, faults must be found. */
#include "strict_rows.h"

#define U 0x1p-24

static double normal(void)
{
    double a = uniform(), b = uniform();
    return sqrt(-2 * log(1 - a)) * cos(6.283185307179586 * b);
}

/* ---- a case ------------------------------------------------------------------------------- */

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

int main(void)
{
    Suite *suite = suite_create("strict_kernels");
    TCase *tcase = tcase_create("strict_kernels");
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
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
