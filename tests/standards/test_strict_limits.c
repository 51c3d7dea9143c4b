/* Each limit of the profile `strict`, just within and just past. */
#include "strict_rows.h"

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
    struct judged judged = judge_errors(100, 1.99, 1.99, true, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_PASS);
    judged = judge_errors(100, 2.01, 2.01, true, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_rms");
    ck_assert_double_eq(judged.deciding_limit, 2);
    judged = judge_errors(1000, 1.49, 1.49, false, 1000);
    ck_assert_int_eq(judged.verdict, VERDICT_PASS);
    judged = judge_errors(1000, 1.51, 1.51, false, 1000);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_bias");
    double largest = sqrt(4.25 * 4.25 + 2 * log(100));
    judged = judge_errors(100, 1, largest - 0.01, true, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_PASS);
    judged = judge_errors(100, 1, largest + 0.01, true, 100);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_largest");
}
END_TEST

/* One element that is far from the others: from one expected error on, over the second largest. If the sizes of 1,024 errors fall
 * off as an exponential's, that quotient is above 4.149 once in 10^8 cases: 4.149! / 1024^3.149 (gamma(5.149) is 30.1). */
START_TEST(limit_of_an_outlier)
{
    struct judged judged = judge_errors(1024, 3.1 / 4.1, 3.1, true, 1024);
    ck_assert_int_eq(judged.verdict, VERDICT_PASS);
    judged = judge_errors(1024, 3.1 / 4.3, 3.1, true, 1024);
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_str_eq(judged.deciding_metric, "model_outlier");
    ck_assert_double_eq_tol(judged.deciding_limit, 4.1487, 1e-3);
    ck_assert_double_eq_tol(tgamma(5.1487) * pow(1024, -3.1487), 1e-8, 1e-11);
    ck_assert_int_eq(judge_errors(1024, 1.1 / 4.3, 1.1, true, 1024).verdict, VERDICT_ERROR);
    /* Below one nothing is asked, nor of fewer than 16. */
    ck_assert_int_eq(judge_errors(1024, 0.1, 0.9, true, 1024).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_errors(15, 0.1, 3.1, true, 15).verdict, VERDICT_PASS);
}
END_TEST

/* 1,000 errors of a tenth of what is expected, but for one of `size` at `index`, where `wider` times as much is expected in units. */
static enum verdict judge_outlier(size_t index, double size, double wider, size_t distinct)
{
    enum { COUNT = 1000 };
    struct rows r;
    arena_reset(&arena);
    rows_create(&r, &arena, COUNT, 1);
    for (size_t i = 0; i < COUNT; i++) {
        double z = i == index ? size : i % 2 ? 0.1 : -0.1;
        r.rms[i] = i == index ? wider * 0x1p-14 : 0x1p-14;
        r.want[i] = 1.5 + 0x1p-11 * (double)(i % distinct);
        r.kernel_bound[i] = 0x1p-8;
        r.got[i] = (float)(r.want[i] + z * r.rms[i]);
    }
    return judge_values("x", DT_F32, COUNT, r.want, r.kernel_bound, r.rms, r.got).verdict;
}

/* An element is compared with those of its kind. */
START_TEST(kinds_of_outliers)
{
    enum { FIRST_LEFT_OVER = 960 }; /* by vectors of 64 */
    ck_assert_int_eq(judge_outlier(500, 2, 1, 1000), VERDICT_ERROR);
    ck_assert_int_eq(judge_outlier(500, 2, 1.9, 1000), VERDICT_ERROR);
    /* Its expected error is more than twice that of the others, in units: there is no other like it. */
    ck_assert_int_eq(judge_outlier(500, 4, 2.1, 1000), VERDICT_PASS);
    /* The last 40 of 1,000 elements are left over by vectors of 64 and may go through another function: from three on. */
    ck_assert_int_eq(judge_outlier(FIRST_LEFT_OVER - 1, 2, 1, 1000), VERDICT_ERROR);
    ck_assert_int_eq(judge_outlier(FIRST_LEFT_OVER, 2, 1, 1000), VERDICT_PASS);
    ck_assert_int_eq(judge_outlier(FIRST_LEFT_OVER, 3.1, 1, 1000), VERDICT_ERROR);
    /* Ten different references, each a hundred times: from three on, and among more than 16 of them that vectors leave over alike. */
    ck_assert_int_eq(judge_outlier(500, 3.1, 1, 10), VERDICT_ERROR);
    ck_assert_int_eq(judge_outlier(500, 2.9, 1, 10), VERDICT_PASS);
    ck_assert_int_eq(judge_outlier(FIRST_LEFT_OVER, 3.1, 1, 10), VERDICT_PASS);
}
END_TEST

/* What chance keeps the rms of n normal errors below, but for 10^-8. */
static double rms_by_chance(double n)
{
    double x = log(1e8);
    return sqrt(1 + 2 * sqrt(x / n) + 2 * x / n);
}

static double limit_of_rms(double n) { return 2 * rms_by_chance(n) / rms_by_chance(80); }
static double limit_of_bias(double n) { return fmax(1.5, 1 + sqrt(2 * log(1e8) / n)); }

/* Fewer than 80: the limit of the rms grows as chance does, and that of the mean, which is asked of two and more. */
START_TEST(limits_of_few_elements)
{
    for (size_t n = 1; n <= 40; n++) {
        double most = limit_of_rms((double)n);
        if (n > 1) most = fmin(most, limit_of_bias((double)n));
        most = fmin(most, sqrt(4.25 * 4.25 + 2 * log((double)n))); /* no element is further off */
        ck_assert_int_eq(judge_errors(n, most - 0.01, most - 0.01, false, n).verdict, VERDICT_PASS);
        ck_assert_int_eq(judge_errors(n, most + 0.01, most + 0.01, false, n).verdict,
                         VERDICT_ERROR);
    }
}
END_TEST

/* Equal references have equal errors: a thousand of ten kinds are ten errors. From 65 kinds on, all count. */
START_TEST(equal_references_count_once)
{
    double most = limit_of_bias(10);
    ck_assert_int_eq(judge_errors(1000, most - 0.01, most - 0.01, false, 10).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_errors(1000, most + 0.01, most + 0.01, false, 10).verdict,
                     VERDICT_ERROR);
    most = limit_of_bias(64);
    ck_assert_int_eq(judge_errors(1000, most - 0.01, most - 0.01, false, 64).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_errors(1000, most + 0.01, most + 0.01, false, 64).verdict,
                     VERDICT_ERROR);
    ck_assert_int_eq(judge_errors(1000, 1.49, 1.49, false, 65).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_errors(1000, 1.51, 1.51, false, 65).verdict, VERDICT_ERROR);
}
END_TEST

/* `count` errors of `each`, which take turns where they are `balanced`. A step of the kernel has `draws` elements, and `common` is what they
 * may have in common. */
static enum verdict judge_these(size_t count, bool balanced, double each, size_t draws,
                                double common)
{
    const size_t N = count;
    struct api_case c = { .full_name = "Torch.x.0", .type = "Torch", .api = "x" };
    struct judge_request request = {
        .profile = strict, .c = &c, .bench_dtype = DT_F64, .input_dtype = DT_F32, .precision = 14
    };
    const double spread = 0x1p-14;
    struct rows r;
    struct tensor tensor;
    struct judged judged;
    arena_reset(&arena);
    rows_create(&r, &arena, N, 1);
    for (size_t i = 0; i < N; i++) {
        r.want[i] = 1.5 + 0x1p-12 * (double)i;
        r.kernel_bound[i] = 0x1p-8;
        r.rms[i] = spread;
        r.got[i] = (float)(r.want[i] + (balanced && i % 2 ? -each : each) * spread);
    }
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { (int64_t)N },
                                   .n = N,
                                   .hi = r.want,
                                   .kernel_bound = r.kernel_bound,
                                   .kernel_rms = r.rms,
                                   .kernel_draws = draws,
                                   .kernel_common = common };
    struct wanted wanted = { .reference = &reference };
    struct value got = { .kind = VALUE_TENSOR };
    ck_assert_int_eq(tensor_create(&tensor, &arena, DT_F32, 1, reference.shape).code, STATUS_OK);
    dtype_from_float(tensor.data, DT_F32, r.got, N);
    got.tensor.tensor = &tensor;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &got).code, STATUS_OK);
    return judged.verdict;
}

static enum verdict judge_alike(double each, size_t draws, double common)
{
    return judge_these(1000, false, each, draws, common);
}

/* Roundings alone: chance, or ties. Other errors may have as much again. */
START_TEST(roundings_alone)
{
    const size_t count[] = { 6, 16, 40, 1000 };
    for (size_t k = 0; k < 4; k++) {
        double most = fmax(1.75, rms_by_chance((double)count[k]));
        ck_assert_int_eq(judge_these(count[k], true, most - 0.01, 0, 0.3), VERDICT_PASS);
        ck_assert_int_eq(judge_these(count[k], true, most + 0.01, 0, 0.3), VERDICT_ERROR);
        ck_assert_int_eq(judge_these(count[k], true, most + 0.01, 0, 0), VERDICT_PASS);
    }
}
END_TEST

/* With one function, which may have one expected error in common: its square and that of chance, or the usual limit. */
START_TEST(roundings_and_a_function)
{
    const size_t count[] = { 6, 16, 40, 100, 1000 };
    for (size_t k = 0; k < 5; k++) {
        double n = (double)count[k], chance = rms_by_chance(n);
        double most = fmin(fmax(2, limit_of_rms(n)), fmax(2, sqrt(1 + chance * chance)));
        ck_assert_int_eq(judge_these(count[k], true, most - 0.01, 0, 1), VERDICT_PASS);
        ck_assert_int_eq(judge_these(count[k], true, most + 0.01, 0, 1), VERDICT_ERROR);
    }
}
END_TEST

/* Few elements that one step makes alike have no mean. */
START_TEST(few_that_share_an_error)
{
    double most = limit_of_bias(12);
    ck_assert_int_eq(judge_these(12, false, most - 0.01, 12, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_these(12, false, most + 0.01, 12, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_these(12, false, most + 0.01, 1, 0), VERDICT_PASS);
}
END_TEST

static enum verdict judge_shared(double each, size_t draws) { return judge_alike(each, draws, 0); }

/* What chance makes of a mean, and what all errors may have in common. */
START_TEST(errors_in_common)
{
    const size_t draws[] = { 16, 40, 1000 };
    const double common[] = { 0.3, 1 };
    for (size_t k = 0; k < 3; k++)
        for (size_t j = 0; j < 2; j++) {
            double most = common[j] + sqrt(2 * log(1e8) / (double)draws[k]);
            ck_assert_int_eq(judge_alike(most - 0.01, draws[k], common[j]), VERDICT_PASS);
            ck_assert_int_eq(judge_alike(most + 0.01, draws[k], common[j]), VERDICT_ERROR);
        }
}
END_TEST

/* A norm, or a mean of each of 40 rows, is off by one or 40 errors, however many elements are divided by it. */
START_TEST(steps_may_share_an_error)
{
    const size_t draws[] = { 1, 16, 40, 1000, 0 }, counted[] = { 16, 16, 40, 1000, 1000 };
    for (size_t k = 0; k < 5; k++) {
        double most = limit_of_bias((double)counted[k]);
        ck_assert_int_eq(judge_shared(most - 0.01, draws[k]), VERDICT_PASS);
        ck_assert_int_eq(judge_shared(most + 0.01, draws[k]), VERDICT_ERROR);
    }
}
END_TEST

/* An error that all elements have in common is no error of a row: 500 errors of 2 and their own. */
START_TEST(a_common_error_is_none_of_rows)
{
    struct error_statistics statistics;
    struct error_summary summary;
    error_statistics_open(&statistics, 500, 100);
    for (int i = 0; i < 500; i++)
        error_statistics_add(&statistics, 1 + 0x1p-20 * i, 2 + (i % 2 ? 0.5 : -0.5));
    error_statistics_close(&summary, &statistics);
    ck_assert_double_eq(summary.independent, 500);
    ck_assert_double_eq_tol(summary.bias, 2, 1e-12);
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

/* What formats make of the elements: of each something else, or of all the same factor. */
struct shortened {
    double size;
    bool is_factor;
};

static double shortened_by(const struct shortened *s, double x, size_t i, enum short_format format)
{
    return s->size * (s->is_factor ? x : shortening(i, format));
}

static struct status shorten_test(double **values, struct reference *r, enum short_format format)
{
    *values = arena_allocate_array(&arena, r->n, sizeof **values);
    for (size_t i = 0; *values && i < r->n; i++)
        (*values)[i] = r->hi[i] + shortened_by(r->shorten_context, r->hi[i], i, format);
    return status_ok();
}

/* n elements around 1, off by `share` of what HF32 makes and by `rest` times an error of another origin. */
static struct judged judge_shortened_by(struct shortened s, size_t n, double share, double rest)
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
        r.got[i] = (float)(r.want[i] + share * shortened_by(&s, r.want[i], i, SHORT_HF32) +
                           rest * s.size * sin(5. * (double)i));
    }
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { (int64_t)n },
                                   .n = n,
                                   .hi = r.want,
                                   .kernel_bound = r.kernel_bound,
                                   .kernel_rms = r.rms,
                                   .shorten = shorten_test,
                                   .shorten_context = &s };
    struct wanted wanted = { .reference = &reference };
    ck_assert_int_eq(tensor_create(&tensor, &arena, DT_F32, 1, reference.shape).code, STATUS_OK);
    dtype_from_float(tensor.data, DT_F32, r.got, n);
    got.tensor.tensor = &tensor;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &got).code, STATUS_OK);
    return judged;
}

static struct judged judge_shortened(size_t n, double size, double share, double rest)
{
    return judge_shortened_by((struct shortened){ size, false }, n, share, rest);
}

/* Errors larger than expected pass unless they are those of a format: a share in (0.5, 2) of it, and a
 * correlation above 0.9, at which the rest is 0.48 as large. */
START_TEST(signature_of_a_short_format)
{
    const double size = 2.2 * 0x1p-15; /* rms of the sine: 1.6 expected errors */
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
    /* A factor of all elements is not a format's, even where that makes one. */
    const struct shortened factor = { 0.5 * size, true };
    ck_assert_int_eq(judge_shortened_by(factor, 400, 1, 0).verdict, VERDICT_PASS);
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

/* A user may raise the limits of the worst element. */
START_TEST(limits_may_be_raised)
{
    struct profile *before = use_limits("\"model_worst\": 3, \"model_largest\": 5");
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

int main(void)
{
    Suite *suite = suite_create("strict_limits");
    TCase *tcase = tcase_create("strict_limits");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, limits_of_the_statistics);
    tcase_add_test(tcase, limit_of_an_outlier);
    tcase_add_test(tcase, kinds_of_outliers);
    tcase_add_test(tcase, limits_of_few_elements);
    tcase_add_test(tcase, steps_may_share_an_error);
    tcase_add_test(tcase, equal_references_count_once);
    tcase_add_test(tcase, rows_may_share_an_error);
    tcase_add_test(tcase, a_common_error_is_none_of_rows);
    tcase_add_test(tcase, errors_in_common);
    tcase_add_test(tcase, roundings_alone);
    tcase_add_test(tcase, roundings_and_a_function);
    tcase_add_test(tcase, few_that_share_an_error);
    tcase_add_test(tcase, limit_of_the_likelihood);
    tcase_add_test(tcase, signature_of_a_short_format);
    tcase_add_test(tcase, limit_of_an_element);
    tcase_add_test(tcase, limit_of_flips);
    tcase_add_test(tcase, limits_may_be_raised);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
