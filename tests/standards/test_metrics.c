/* The metrics against an evaluation in 200-bit arithmetic that follows the definitions one
 * element after the other, on 10^4 elements with special values among them. */
#include <mpfr.h>

#include "standards/metric_data.h"
#include "support/random_numbers.h"
#include "support/suite.h"

static const struct metrics_parameters parameters = { .bench_epsilon = 0x1p-23,
                                                      .small_value = 1e-3,
                                                      .small_value_atol = 1e-5,
                                                      .relative_tolerance = 1e-3,
                                                      .ulp_limit = 1,
                                                      .within = { 0.01, 0.001, 0.0001 } };

struct expected {
    mpfr_t want_square, got_square, product, error_square, relative, peer_ulp;
    mpfr_t ulp, signed_ulp, ulp_square;
    struct metrics metrics; /* counts, shares and maxima */
};

static void each(struct expected *e, void (*f)(mpfr_ptr))
{
    mpfr_ptr all[] = { e->want_square, e->got_square, e->product,    e->error_square, e->relative,
                       e->peer_ulp,    e->ulp,        e->signed_ulp, e->ulp_square };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) f(all[k]);
}

static void start(mpfr_ptr x)
{
    mpfr_init2(x, 200);
    mpfr_set_zero(x, 1);
}

static void add_product(mpfr_t sum, double a, double b)
{
    mpfr_t term;
    mpfr_init2(term, 200);
    mpfr_set_d(term, a, MPFR_RNDN);
    mpfr_mul_d(term, term, b, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
    mpfr_clear(term);
}

static enum value_class class_of(double x)
{
    return isnan(x)   ? CLASS_NAN
           : isinf(x) ? (x > 0 ? CLASS_POSITIVE_INFINITY : CLASS_NEGATIVE_INFINITY)
                      : CLASS_FINITE;
}

static double rounded(enum dtype dtype, double x)
{
    double stored;
    dtype_from_double(&stored, dtype, &x, 1);
    dtype_to_double(&x, &stored, dtype, 1);
    return x;
}

/* want as the peer has it when it counts signs. */
static double sign_side(enum dtype dtype, double want)
{
    return rounded(dtype == DT_BF16 ? DT_F32 : dtype, want);
}

static int bin_by_search(double ulp)
{
    if (ulp == 0) return 0;
    int bin = 1;
    for (double edge = 0.5; ulp > edge && bin < ULP_BINS - 1; edge *= 2) bin++;
    return bin;
}

static void expect_compared(struct expected *e, enum dtype dtype, double want, double got)
{
    struct metrics *m = &e->metrics;
    struct peer_metrics *p = &m->peer;
    double error = got - want, ae = fabs(error), re = ae / (fabs(want) + parameters.bench_epsilon);
    double unit = dtype_ulp(dtype, want), ulp = ae / unit;
    double peer_unit = want == 0 ? ldexp(1, 1 - dtype_info(dtype)->significand_bits) : unit;

    m->compared++;
    p->max_abs_error = fmax(p->max_abs_error, ae);
    add_product(e->want_square, want, want);
    add_product(e->got_square, got, got);
    add_product(e->product, want, got);
    p->within_hundredth += re < 0.01;
    p->within_thousandth += re < 0.001;
    p->within_ten_thousandth += re < 0.0001;
    p->binary_mismatch += got != want;
    if (fabs(want) <= parameters.small_value) {
        p->small_count++;
        p->small_value_ratio += ae > parameters.small_value_atol;
    } else {
        p->normal_count++;
        p->relative_error_ratio += re > parameters.relative_tolerance;
        p->max_relative_error = fmax(p->max_relative_error, re);
        add_product(e->error_square, error, error);
        add_product(e->relative, re, 1);
    }
    p->error_balance += (got > sign_side(dtype, want)) - (got < sign_side(dtype, want));
    m->above += got > sign_side(dtype, want);
    m->below += got < sign_side(dtype, want);
    m->unequal += got != rounded(dtype, want);
    m->ulp_histogram[bin_by_search(ulp)]++;
    add_product(e->ulp, ulp, 1);
    add_product(e->signed_ulp, error / unit, 1);
    add_product(e->ulp_square, ulp, ulp);
    add_product(e->peer_ulp, ae / peer_unit, 1);
    p->max_ulp = fmax(p->max_ulp, ae / peer_unit);
    p->ulp_proportion += ae / peer_unit > parameters.ulp_limit;
    m->worst_ulp.value = fmax(m->worst_ulp.value, ulp);
}

/* Elements of which one side is not finite in the dtype. */
static void expect_special(struct expected *e, enum dtype dtype, double want, double got)
{
    struct metrics *m = &e->metrics;
    struct peer_metrics *p = &m->peer;
    double in_range = rounded(dtype, want);

    p->non_finite_count++;
    if ((isnan(in_range) && isnan(got)) || in_range == got) {
        m->agreed++;
        p->within_hundredth++;
        p->within_thousandth++;
        p->within_ten_thousandth++;
        return;
    }
    m->mismatched++;
    p->binary_mismatch++;
    p->inf_nan_ratio++;
    p->error_balance += (got > in_range) - (got < in_range);
}

static const enum dtype dtypes[] = { DT_F64, DT_F32, DT_F16, DT_BF16 };

enum { ELEMENTS = 10000 };

static void make_sample(double *want, double *got, enum dtype dtype, bool with_specials)
{
    const double specials[] = {
        0.0,  -0.0, INFINITY, -INFINITY, NAN, dtype_ulp(dtype, 0), dtype_info(dtype)->largest,
        1e-3, -1e-3
    };
    for (size_t i = 0; i < ELEMENTS; i++) {
        want[i] = ldexp(2 * uniform() - 1, (int)(next_random() % 16) - 12);
        double error = (2 * uniform() - 1) * dtype_ulp(dtype, want[i]);
        got[i] = rounded(dtype, want[i] + (next_random() & 1 ? 0 : 4) * error);
        if (with_specials && next_random() % 50 == 0) want[i] = specials[next_random() % 9];
        if (with_specials && next_random() % 50 == 0) got[i] = specials[next_random() % 9];
    }
}

static void check_close(double got, double want, const char *what)
{
    ck_assert_msg(got == want || fabs(got - want) <= 1e-12 * fabs(want),
                  "%s is %.17g, expected %.17g", what, got, want);
}

static void check_sums(const struct metrics *m, struct expected *e)
{
    double n = ELEMENTS, compared = (double)m->compared, normal = (double)m->peer.normal_count;
    mpfr_t x;
    mpfr_init2(x, 200);
    mpfr_mul(x, e->want_square, e->got_square, MPFR_RNDN);
    mpfr_sqrt(x, x, MPFR_RNDN);
    mpfr_div(x, e->product, x, MPFR_RNDN);
    if (m->peer.cosine_kind == COSINE_VALUE)
        check_close(m->peer.cosine, mpfr_get_d(x, MPFR_RNDN), "cosine");
    mpfr_clear(x);
    double square = mpfr_get_d(e->error_square, MPFR_RNDN);
    check_close(m->rms, sqrt(square / normal), "rms");
    check_close(m->peer.rmse, sqrt(square / n * (n / (normal + 0.0001) + 0.0001)), "rmse");
    check_close(m->peer.mean_relative_error, mpfr_get_d(e->relative, MPFR_RNDN) / normal,
                "mean relative error");
    check_close(m->mean_ulp, mpfr_get_d(e->ulp, MPFR_RNDN) / compared, "mean ulp");
    check_close(m->rms_ulp, sqrt(mpfr_get_d(e->ulp_square, MPFR_RNDN) / compared), "rms ulp");
    if (isfinite(m->mean_ulp)) { /* not where float64's largest value meets a small reference */
        double mean = mpfr_get_d(e->signed_ulp, MPFR_RNDN) / compared;
        ck_assert_double_le(fabs(m->mean_signed_ulp - mean), 1e-12 * m->mean_ulp);
    }
    if (!isnan(m->peer.mean_ulp) && !isinf(m->peer.mean_ulp))
        check_close(m->peer.mean_ulp, mpfr_get_d(e->peer_ulp, MPFR_RNDN) / n, "peer mean ulp");
}

static void check_counts(const struct metrics *m, const struct expected *e)
{
    const struct peer_metrics *p = &m->peer, *q = &e->metrics.peer;
    double n = ELEMENTS;

    ck_assert_uint_eq(m->compared, e->metrics.compared);
    ck_assert_uint_eq(m->agreed, e->metrics.agreed);
    ck_assert_uint_eq(m->mismatched, e->metrics.mismatched);
    ck_assert_uint_eq(m->unequal, e->metrics.unequal);
    ck_assert_uint_eq(m->above, e->metrics.above);
    ck_assert_uint_eq(m->below, e->metrics.below);
    for (int b = 0; b < ULP_BINS; b++)
        ck_assert_uint_eq(m->ulp_histogram[b], e->metrics.ulp_histogram[b]);
    ck_assert_uint_eq(p->small_count, q->small_count);
    ck_assert_uint_eq(p->normal_count, q->normal_count);
    ck_assert_uint_eq(p->non_finite_count, q->non_finite_count);
    ck_assert_double_eq(p->within_hundredth, q->within_hundredth / n);
    ck_assert_double_eq(p->within_thousandth, q->within_thousandth / n);
    ck_assert_double_eq(p->within_ten_thousandth, q->within_ten_thousandth / n);
    ck_assert_double_eq(p->binary_mismatch, q->binary_mismatch / n);
    ck_assert_double_eq(p->small_value_ratio, q->small_value_ratio / (double)q->small_count);
    ck_assert_double_eq(p->relative_error_ratio, q->relative_error_ratio / (double)q->normal_count);
    ck_assert_double_eq(p->error_balance, fabs(q->error_balance) / n);
    ck_assert_double_eq(p->max_relative_error, q->max_relative_error);
    if (q->non_finite_count)
        ck_assert_double_eq(p->inf_nan_ratio, q->inf_nan_ratio / (double)q->non_finite_count);
    ck_assert_double_eq(m->worst_ulp.value, e->metrics.worst_ulp.value);
    ck_assert_double_eq(m->worst_abs.value, q->max_abs_error);
    ck_assert_double_eq(m->worst_relative.value, q->max_relative_error);
    if (e->metrics.mismatched) return; /* the peer's maxima are NaN or infinite then */
    ck_assert_double_eq(p->max_abs_error, q->max_abs_error);
    ck_assert_double_eq(p->max_ulp, q->max_ulp);
    ck_assert_double_eq(p->ulp_proportion, q->ulp_proportion / n);
}

static double value_at(const struct tensor *tensor, size_t i)
{
    double x;
    dtype_to_double(&x, (const char *)tensor->data + i * dtype_info(tensor->dtype)->bytes,
                    tensor->dtype, 1);
    return x;
}

static void check_worst(const struct worst_element *worst, const double *want,
                        const struct tensor *got)
{
    ck_assert_double_eq(worst->want, want[worst->index]);
    ck_assert_double_eq(worst->got, value_at(got, worst->index));
}

START_TEST(metrics_follow_their_definitions)
{
    enum dtype dtype = dtypes[_i % 4];
    bool with_specials = _i >= 4;
    int64_t shape[1] = { ELEMENTS };
    struct arena arena = { 0 };
    double *want = malloc(ELEMENTS * sizeof *want), *got = malloc(ELEMENTS * sizeof *got);
    struct expected e = { 0 };
    struct metrics m;

    state = 1234567 + (uint64_t)_i;
    make_sample(want, got, dtype, with_specials);
    struct tensor *tensor = tensor_of(&arena, dtype, 1, shape, got);
    struct reference *reference = reference_of(&arena, dtype, 1, shape, want, ELEMENTS);
    each(&e, start);
    for (size_t i = 0; i < ELEMENTS; i++) {
        double x = value_at(tensor, i);
        e.metrics.classes[class_of(rounded(dtype, want[i]))][class_of(x)]++;
        if (isfinite(x) && isfinite(rounded(dtype, want[i])))
            expect_compared(&e, dtype, want[i], x);
        else expect_special(&e, dtype, want[i], x);
    }
    metrics_compute(&m, tensor, reference, &parameters, METRICS_BEST, NULL);
    ck_assert_mem_eq(m.classes, e.metrics.classes, sizeof m.classes);
    ck_assert_uint_eq(m.n, ELEMENTS);
    ck_assert_int_eq(m.peer.cosine_kind, e.metrics.mismatched ? COSINE_NAN : COSINE_VALUE);
    check_counts(&m, &e);
    check_sums(&m, &e);
    check_worst(&m.worst_abs, want, tensor);
    check_worst(&m.worst_relative, want, tensor);
    check_worst(&m.worst_ulp, want, tensor);
    each(&e, (void (*)(mpfr_ptr))mpfr_clear);
    arena_release(&arena);
    free(want);
    free(got);
}
END_TEST

static struct metrics measure(enum dtype dtype, size_t n, const double *want, const double *got)
{
    int64_t shape[1] = { (int64_t)n };
    struct arena arena = { 0 };
    struct metrics m;
    metrics_compute(&m, tensor_of(&arena, dtype, 1, shape, got),
                    reference_of(&arena, dtype, 1, shape, want, n), &parameters, METRICS_BEST,
                    NULL);
    arena_release(&arena);
    return m;
}

/* The agreement matrix in full: each kind against each. */
START_TEST(agreement_matrix)
{
    const double kinds[CLASS_COUNT] = { 1, INFINITY, -INFINITY, NAN };
    for (size_t d = 0; d < 4; d++)
        for (int w = 0; w < CLASS_COUNT; w++)
            for (int g = 0; g < CLASS_COUNT; g++) {
                double want[2] = { kinds[w], 1 }, got[2] = { kinds[g], 1 };
                struct metrics m = measure(dtypes[d], 2, want, got);
                bool finite = w == CLASS_FINITE && g == CLASS_FINITE;
                ck_assert_uint_eq(m.classes[w][g], finite ? 2 : 1);
                ck_assert_uint_eq(m.compared, finite ? 2 : 1);
                ck_assert_uint_eq(m.agreed, !finite && w == g);
                ck_assert_uint_eq(m.mismatched, w != g);
                ck_assert_double_eq(m.peer.binary_mismatch, w != g ? 0.5 : 0);
                ck_assert_double_eq(m.peer.inf_nan_ratio, w != g);
                ck_assert_double_eq(m.peer.within_ten_thousandth, w != g ? 0.5 : 1);
                if (w != g) ck_assert(!(m.peer.max_abs_error < INFINITY));
                else ck_assert_double_eq(m.peer.max_abs_error, 0);
                if (w == CLASS_NAN || g == CLASS_NAN)
                    ck_assert_int_eq(isnan(m.peer.max_ulp) != 0, w != g);
            }
}
END_TEST

/* A reference beyond the dtype's range agrees with the infinity of its sign, and is a mismatch
 * for anything else; the saturated value is compared as the peer does. */
START_TEST(overflowing_references)
{
    double want[3] = { 1e6, -1e6, 1 }, good[3] = { INFINITY, -INFINITY, 1 };
    double saturated[3] = { 65504, -65504, 1 }, wrong[3] = { -INFINITY, INFINITY, 1 };
    struct metrics m = measure(DT_F16, 3, want, good);
    ck_assert_uint_eq(m.agreed, 2);
    ck_assert_double_eq(m.peer.inf_nan_ratio, 0);
    m = measure(DT_F16, 3, want, saturated);
    ck_assert_uint_eq(m.mismatched, 2);
    ck_assert_double_eq(m.peer.inf_nan_ratio, 0); /* equal after clipping */
    ck_assert_double_eq(m.peer.max_abs_error, 1e6 - 65504);
    ck_assert_int_eq(m.peer.cosine_kind, COSINE_VALUE);
    ck_assert_double_eq(m.peer.error_balance, 0);
    ck_assert_uint_eq(m.classes[CLASS_POSITIVE_INFINITY][CLASS_FINITE], 1);
    m = measure(DT_F16, 3, want, wrong);
    ck_assert_uint_eq(m.mismatched, 2);
    ck_assert_double_eq(m.peer.inf_nan_ratio, 1);
}
END_TEST

/* Halfway between the largest value and the next power of two, to even: infinity. In
 * float8_e4m3, which ends on an even significand, it stays. */
START_TEST(edges_of_the_range)
{
    double want[2] = { 65520, 1 }, got[2] = { INFINITY, 1 };
    ck_assert_uint_eq(measure(DT_F16, 2, want, got).agreed, 1);
    want[0] = nextafter(65520, 0);
    ck_assert_uint_eq(measure(DT_F16, 2, want, got).mismatched, 1);
    want[0] = 464;
    got[0] = 448;
    ck_assert_uint_eq(measure(DT_F8E4M3, 2, want, got).compared, 2);
    want[0] = nextafter(464, 500);
    ck_assert_uint_eq(measure(DT_F8E4M3, 2, want, got).agreed, 1); /* saturating */
    got[0] = NAN;
    ck_assert_uint_eq(measure(DT_F8E4M3, 2, want, got).agreed, 1);
    got[0] = 416;
    ck_assert_uint_eq(measure(DT_F8E4M3, 2, want, got).mismatched, 1);
    want[0] = -1e9;
    got[0] = -57344;
    ck_assert_uint_eq(measure(DT_F8E5M2, 2, want, got).agreed, 1);
    got[0] = 57344;
    ck_assert_uint_eq(measure(DT_F8E5M2, 2, want, got).mismatched, 1);
}
END_TEST

/* Unit of a result is that of the reference: at zero the smallest subnormal, at a power of two
 * the one above. */
START_TEST(units_in_the_last_place)
{
    double want[4] = { 0, 1, nextafter(1, 0), 0x1p-149 };
    double got[4] = { 0x1p-148, 1 - 0x1p-24, 1 + 0x1p-23, 0x1p-148 };
    struct metrics m = measure(DT_F32, 4, want, got);
    ck_assert_uint_eq(m.ulp_histogram[3], 1); /* two units at 0 */
    ck_assert_uint_eq(m.ulp_histogram[4], 1); /* a little more than two of those below 1 */
    ck_assert_uint_eq(m.ulp_histogram[1], 1); /* half a unit below 1 */
    ck_assert_uint_eq(m.ulp_histogram[2], 1); /* one unit among subnormals */
    ck_assert_uint_eq(m.unequal, 4);          /* 1 - 2^-24 is odd, so no tie to even */
    ck_assert_double_eq(m.peer.max_ulp, 2.0 + 0x1p-29);
    ck_assert_double_eq(m.worst_ulp.value, 2.0 + 0x1p-29);
}
END_TEST

START_TEST(cosine_kinds)
{
    const double zero[2] = { 0, 0 }, one[2] = { 1, 2 }, tiny[2] = { 0x1p-52, -0x1p-60 };
    const double above[2] = { 0x1.8p-52, 0 }, opposite[2] = { -1, -2 };
    ck_assert_int_eq(measure(DT_F32, 2, zero, zero).peer.cosine_kind, COSINE_BOTH_ZERO);
    ck_assert_int_eq(measure(DT_F32, 2, tiny, tiny).peer.cosine_kind, COSINE_BOTH_ZERO);
    ck_assert_int_eq(measure(DT_F32, 2, above, above).peer.cosine_kind, COSINE_VALUE);
    ck_assert_int_eq(measure(DT_F32, 2, above, tiny).peer.cosine_kind, COSINE_GOT_ZERO);
    ck_assert_int_eq(measure(DT_F32, 2, tiny, above).peer.cosine_kind, COSINE_WANT_ZERO);
    ck_assert_int_eq(measure(DT_F32, 2, one, zero).peer.cosine_kind, COSINE_GOT_ZERO);
    ck_assert_int_eq(measure(DT_F32, 2, zero, one).peer.cosine_kind, COSINE_WANT_ZERO);
    ck_assert_int_eq(measure(DT_F32, 1, one, one).peer.cosine_kind, COSINE_SCALAR);
    ck_assert_double_eq_tol(measure(DT_F32, 2, one, opposite).peer.cosine, -1, 1e-15);
    ck_assert_double_eq_tol(measure(DT_F32, 2, one, one).peer.cosine, 1, 1e-15);
    ck_assert_double_le(measure(DT_F32, 2, one, one).peer.cosine, 1);
}
END_TEST

/* Squares that overflow a double. */
/* The cosine has no sum of products of its own while the sides are of similar size: at every ratio of their sizes, and of
 * every direction, it is that of the elements one by one. */
START_TEST(cosine_of_sides_of_any_size)
{
    enum { N = 3000 };
    static const double sizes[] = { 1e-12, 1e-3, 0.12, 0.13, 0.9, 1, 1.1, 7.9, 8.1, 1e3, 1e12 };
    double *want = malloc(N * sizeof *want), *got = malloc(N * sizeof *got);

    state = 4321;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int direction = -2; direction <= 2; direction++) {
            mpfr_t square[2], product;
            start(square[0]), start(square[1]), start(product);
            for (size_t i = 0; i < N; i++) {
                want[i] = (uniform() - 0.5) *
                          (next_random() % 4 ? 1 : 1e-3); /* small ones as well */
                got[i] = sizes[s] *
                         (want[i] * direction + (uniform() - 0.5) * (2 - abs(direction)));
                add_product(square[0], want[i], want[i]);
                add_product(square[1], got[i], got[i]);
                add_product(product, want[i], got[i]);
            }
            mpfr_mul(square[0], square[0], square[1], MPFR_RNDN);
            mpfr_sqrt(square[0], square[0], MPFR_RNDN);
            mpfr_div(product, product, square[0], MPFR_RNDN);
            const struct metrics m = measure(DT_F64, N, want, got);
            ck_assert_int_eq(m.peer.cosine_kind, COSINE_VALUE);
            ck_assert_double_eq_tol(m.peer.cosine, mpfr_get_d(product, MPFR_RNDN), 0x1p-40);
            mpfr_clears(square[0], square[1], product, (mpfr_ptr)0);
        }
    free(want);
    free(got);
}
END_TEST

/* Elements that agree without comparison have no part in the cosine, whatever the sizes of the sides. */
START_TEST(saturated_elements_are_not_in_the_cosine)
{
    const double want[] = { 1, 2, 1e6, 1e6 };
    const double near[] = { 1, 2, 448, NAN }, far[] = { 100, 208, 448, NAN };
    ck_assert_double_eq_tol(measure(DT_F8E4M3, 4, want, near).peer.cosine, 1, 1e-15);
    double cosine = measure(DT_F8E4M3, 4, want, far).peer.cosine;
    ck_assert_double_eq_tol(cosine, (96 + 2 * 208) / sqrt(5.0 * (96 * 96 + 208 * 208)), 1e-12);
}
END_TEST

START_TEST(huge_float64_values)
{
    double want[4] = { 1e300, -2e300, 3e-300, NAN }, got[4] = { 1e300, -2e300, 3e-300, NAN };
    struct metrics m = measure(DT_F64, 4, want, got);
    ck_assert_int_eq(m.peer.cosine_kind, COSINE_VALUE);
    ck_assert_double_eq_tol(m.peer.cosine, 1, 1e-15);
    got[1] = 2e300;
    m = measure(DT_F64, 4, want, got);
    ck_assert_double_eq_tol(m.peer.cosine, -0.6, 1e-15);
    want[0] = got[0] = 0x1.8p1023;
    ck_assert_double_eq(measure(DT_F64, 4, want, got).worst_ulp.value, 4e300 / 0x1p945);
}
END_TEST

/* Errors that lie on a threshold: "more than" and "within" are strict, the small value is not. In
 * 1024 elements, so that the vector form takes them, and in 3. */
START_TEST(thresholds_exactly_met)
{
    const struct metrics_parameters p = { .bench_epsilon = 0,
                                          .small_value = 0.25,
                                          .small_value_atol = 0x1p-12,
                                          .relative_tolerance = 0x1p-11,
                                          .ulp_limit = 1,
                                          .within = { 0x1p-9, 0x1p-10, 0x1p-11 } };
    static const size_t sizes[] = { 3, 1024 };
    for (size_t k = 0; k < 2; k++) {
        int64_t shape[1] = { (int64_t)sizes[k] };
        double want[1024], got[1024];
        for (int past = 0; past < 2; past++) {
            struct arena arena = { 0 };
            struct metrics m;
            struct peer_metrics numpy;
            for (size_t i = 0; i < sizes[k]; i++) want[i] = got[i] = 4;
            double nudge = past ? 0x1p-24 : 0;
            want[0] = 0.25, got[0] = 0.25 + 0x1p-12 + nudge; /* small, on its tolerance */
            want[1] = 1, got[1] = 1 + 0x1p-11 + 2 * nudge;   /* on the relative tolerance */
            struct tensor *tensor = tensor_of(&arena, DT_F32, 1, shape, got);
            struct reference *r = reference_of(&arena, DT_F32, 1, shape, want, sizes[k]);
            double n = (double)sizes[k];
            metrics_compute(&m, tensor, r, &p, METRICS_BEST, NULL);
            ck_assert_int_eq(metrics_compute_numpy(&numpy, tensor, r, DT_F64, &p).code, STATUS_OK);
            const struct peer_metrics *both[2] = { &m.peer, &numpy };
            for (int side = 0; side < 2; side++) {
                ck_assert_uint_eq(both[side]->small_count, 1);
                ck_assert_double_eq(both[side]->small_value_ratio, past);
                ck_assert_double_eq(both[side]->relative_error_ratio, past / (n - 1));
                ck_assert_double_eq(both[side]->within_ten_thousandth, (n - 2) / n);
                ck_assert_double_eq(both[side]->within_thousandth, (n - 1) / n);
                ck_assert_double_eq(both[side]->within_hundredth, 1);
            }
            arena_release(&arena);
        }
        struct arena arena = { 0 };
        struct metrics m;
        for (size_t i = 0; i < sizes[k]; i++) want[i] = got[i] = 4;
        got[0] = 4 + 0x1p-21; /* one unit */
        metrics_compute(&m, tensor_of(&arena, DT_F32, 1, shape, got),
                        reference_of(&arena, DT_F32, 1, shape, want, sizes[k]), &p, METRICS_BEST,
                        NULL);
        ck_assert_double_eq(m.peer.ulp_proportion, 0);
        got[0] = 4 + 0x1p-20;
        metrics_compute(&m, tensor_of(&arena, DT_F32, 1, shape, got),
                        reference_of(&arena, DT_F32, 1, shape, want, sizes[k]), &p, METRICS_BEST,
                        NULL);
        ck_assert_double_eq(m.peer.ulp_proportion, 1 / (double)sizes[k]);
        arena_release(&arena);
    }
}
END_TEST

/* Blocks are added with their rounding errors: a huge error of each sign, and one unit between. */
START_TEST(sums_over_blocks_are_compensated)
{
    enum { BLOCKS = 3, BLOCK = 65536 };
    double *want = malloc(BLOCKS * BLOCK * sizeof *want),
           *got = malloc(BLOCKS * BLOCK * sizeof *got);
    for (size_t i = 0; i < BLOCKS * BLOCK; i++) want[i] = got[i] = 1;
    got[5] = 1 + 0x1p60;
    got[BLOCK + 7] = 1 + 0x1p-23;
    got[2 * BLOCK + 5] = 1 - 0x1p60;
    want[5] = want[2 * BLOCK + 5] = 1;
    struct metrics m = measure(DT_F32, BLOCKS * BLOCK, want, got);
    double first = (double)(float)(1 + 0x1p60) - 1, last = (double)(float)(1 - 0x1p60) - 1;
    double sum = (first + last) * 0x1p23 + 1; /* first + last is exact: both have few bits */
    ck_assert_double_eq_tol(m.mean_signed_ulp * (BLOCKS * BLOCK), sum, 1e-9);
    got[2 * BLOCK + 5] = 3 - 0x1p60; /* the same float32 */
    ck_assert_double_eq(m.worst_abs.value, fmax(first, -last));
    free(want);
    free(got);
}
END_TEST

/* One side alone may overflow its sum of squares. */
START_TEST(squares_of_one_side_overflow)
{
    double want[3] = { 1e300, 1e10, 1 }, got[3] = { 1e10, 1e10, 1 };
    struct metrics m = measure(DT_F64, 3, want, got);
    ck_assert_int_eq(m.peer.cosine_kind, COSINE_VALUE);
    ck_assert_double_eq_tol(m.peer.cosine, 1e10 / sqrt(2e20 + 1), 1e-12);
    m = measure(DT_F64, 3, got, want);
    ck_assert_double_eq_tol(m.peer.cosine, 1e10 / sqrt(2e20 + 1), 1e-12);
    /* Equal infinities take no part. */
    double a[3] = { 1e300, INFINITY, NAN }, b[3] = { 2e300, INFINITY, NAN };
    ck_assert_double_eq_tol(measure(DT_F64, 3, a, b).peer.cosine, 1, 1e-15);
}
END_TEST

/* Whether anything of the device counts as not zero, when its sum of squares alone cannot tell. */
START_TEST(nearly_zero_results)
{
    const double big = 0x1p-30;
    double want[4] = { big, big, INFINITY, big };
    double zeros[4] = { 0x1p-52, 0x1p-52, INFINITY, -0x1p-52 },
           one[4] = { 0x1.2p-52, 0, INFINITY, 0 };
    ck_assert_int_eq(measure(DT_F32, 4, want, zeros).peer.cosine_kind, COSINE_GOT_ZERO);
    ck_assert_int_eq(measure(DT_F32, 4, want, one).peer.cosine_kind, COSINE_VALUE);
}
END_TEST

/* bfloat16 counts signs against the reference rounded to float32: at exactly half a float32
 * unit the even neighbour is the bfloat16 value, so neither sign is counted. */
START_TEST(signs_of_bfloat16_errors)
{
    double want[4] = { 1 + 0x1p-24, 1 - 0x1p-25, 1 + 0x1.1p-24, 1 - 0x1.1p-25 };
    double got[4] = { 1, 1, 1, 1 };
    struct metrics m = measure(DT_BF16, 4, want, got);
    ck_assert_uint_eq(m.below, 1);
    ck_assert_uint_eq(m.above, 1);
    ck_assert_uint_eq(m.unequal, 0);
}
END_TEST

/* The peer's own unit for the 8-bit formats: tapered widths and a sign, by its formula. */
START_TEST(peer_ulp_of_float8)
{
    static const struct {
        double want, got, ulp;
        /* clang-format off */
    } cases[] = {
        { 1, 1.25, 2 },           { 20, 24, 1 },         { -20, -16, 1 },
        { 300, 256, -0.34375 },   { 0, 0, 0 },           { 0.0009765625, 0.001953125, 2 },
        { 0x1p-16, 0x1p-15, 1 },  { -0x1p-16, 0x1p-16, -32 },
    };
    /* clang-format on */
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        double want[1] = { cases[k].want }, got[1] = { cases[k].got };
        int64_t shape[1] = { 1 };
        struct arena arena = { 0 };
        struct peer_metrics m;
        struct status status = metrics_compute_numpy(
            &m, tensor_of(&arena, DT_F8E5M2, 1, shape, got),
            reference_of(&arena, DT_F8E5M2, 1, shape, want, 1), DT_F32, &parameters);
        ck_assert_int_eq(status.code, STATUS_OK);
        ck_assert_double_eq_tol(m.max_ulp, cases[k].ulp, 1e-6);
        ck_assert_double_eq(m.ulp_proportion, cases[k].ulp > 1);
        arena_release(&arena);
    }
}
END_TEST

/* Non-finite positions under the peer's rule: clipped and compared, and NaN agrees with NaN. */
START_TEST(peer_ratio_of_non_finite_positions)
{
    static const struct {
        double want, got, ratio;
        /* clang-format off */
    } cases[] = {
        { NAN, NAN, 0 }, { NAN, 1, 1 }, { 1, NAN, 1 }, { INFINITY, INFINITY, 0 },
        { 65504, INFINITY, 0 }, { 100, INFINITY, 1 }, { INFINITY, -INFINITY, 0 },
        { 70000, 65504, 0 }, { 70000, 60000, 1 },
    };
    /* clang-format on */
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        double want[2] = { cases[k].want, 1 }, got[2] = { cases[k].got, 1 };
        int64_t shape[1] = { 2 };
        struct arena arena = { 0 };
        struct peer_metrics m;
        ck_assert_int_eq(metrics_compute_numpy(&m, tensor_of(&arena, DT_F16, 1, shape, got),
                                               reference_of(&arena, DT_F16, 1, shape, want, 2),
                                               DT_F32, &parameters)
                             .code,
                         STATUS_OK);
        ck_assert_uint_eq(m.non_finite_count, 1);
        ck_assert_msg(m.inf_nan_ratio == cases[k].ratio, "%g and %g: %g", cases[k].want,
                      cases[k].got, m.inf_nan_ratio);
        arena_release(&arena);
    }
}
END_TEST

/* numpy's pairwise order, to the last bit of a float32. The numbers are numpy 1.24's. */
START_TEST(means_in_pairwise_order)
{
    static const struct {
        size_t n;
        float mean;
    } cases[] = { { 5, 0.300952733f },   { 8, 0.283296853f },   { 100, 0.30829379f },
                  { 128, 0.308288515f }, { 129, 0.308777273f }, { 300, 0.306895077f },
                  { 1000, 0.306901425f } };
    enum { MOST = 1000 };
    static double want[MOST], got[MOST];
    struct metrics_parameters p = parameters;
    p.bench_epsilon = 0;
    p.small_value = 0;
    for (size_t i = 0; i < MOST; i++) {
        want[i] = (float)(1 + (double)((i * 7919) % 1009) / 1009.0);
        got[i] = 1;
    }
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        int64_t shape[1] = { (int64_t)cases[k].n };
        struct arena arena = { 0 };
        struct peer_metrics m;
        ck_assert_int_eq(metrics_compute_numpy(
                             &m, tensor_of(&arena, DT_F16, 1, shape, got),
                             reference_of(&arena, DT_F16, 1, shape, want, cases[k].n), DT_F32, &p)
                             .code,
                         STATUS_OK);
        ck_assert_double_eq(m.mean_relative_error, cases[k].mean);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(the_widest_bound)
{
    int64_t shape[1] = { 3 };
    struct arena arena = { 0 };
    double want[3] = { 1, 0.5, 3 }, error[3] = { 0x1p-30, 0x1p-30, 0 };
    struct reference *r = reference_of(&arena, DT_F32, 1, shape, want, 3);
    struct tensor *got = tensor_of(&arena, DT_F32, 1, shape, want);
    struct metrics m;
    r->error = error;
    metrics_compute(&m, got, r, &parameters, METRICS_BEST, NULL);
    ck_assert_double_eq(m.bound_ulp, 0x1p-6); /* at 0.5, whose unit is 2^-24 */
    r->error = NULL;
    r->absolute = 0x1p-30;
    r->relative = 0x1p-40;
    metrics_compute(&m, got, r, &parameters, METRICS_BEST, NULL);
    ck_assert_double_eq(m.bound_ulp, 0x1p-6 + 0x1p-17);
    r->absolute = 0;
    metrics_compute(&m, got, r, &parameters, METRICS_BEST, NULL);
    ck_assert_double_eq(m.bound_ulp, 0x1p-16); /* at most relative * 2^24 */
    arena_release(&arena);
}
END_TEST

START_TEST(integers_are_compared_exactly)
{
    int64_t shape[1] = { 4 };
    struct arena arena = { 0 };
    double want[4] = { 1, 2, 3, -5 }, got[4] = { 1, 2, 4, -8 }, distance;
    struct tensor *tensor = tensor_of(&arena, DT_I16, 1, shape, got);
    struct reference *r = reference_of(&arena, DT_I16, 1, shape, want, 4);
    ck_assert_double_eq(metrics_integer_mismatch(tensor, r, &distance), 0.5);
    ck_assert_double_eq(distance, 3);
    r->n = 0;
    ck_assert_double_eq(metrics_integer_mismatch(tensor, r, &distance), 0);
    r->n = 2;
    ck_assert_double_eq(metrics_integer_mismatch(tensor, r, &distance), 0);
    ck_assert_double_eq(distance, 0);
    arena_release(&arena);
}
END_TEST

START_TEST(working_types)
{
    ck_assert_int_eq(metrics_work_dtype(DT_F32, DT_F16), DT_F32);
    ck_assert_int_eq(metrics_work_dtype(DT_F32, DT_BF16), DT_F32);
    ck_assert_int_eq(metrics_work_dtype(DT_F64, DT_F32), DT_F64);
    ck_assert_int_eq(metrics_work_dtype(DT_F32, DT_F64), DT_F64);
    ck_assert_int_eq(metrics_work_dtype(DT_F16, DT_F16), DT_F16);
    ck_assert_int_eq(metrics_work_dtype(DT_F16, DT_F32), DT_F32);
    ck_assert_int_eq(metrics_work_dtype(DT_C128, DT_C64), DT_F64);
    ck_assert_int_eq(metrics_work_dtype(DT_C64, DT_C64), DT_F32);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tcase = tcase_create("metrics");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, metrics_follow_their_definitions, 0, 8);
    tcase_add_test(tcase, agreement_matrix);
    tcase_add_test(tcase, overflowing_references);
    tcase_add_test(tcase, edges_of_the_range);
    tcase_add_test(tcase, units_in_the_last_place);
    tcase_add_test(tcase, cosine_kinds);
    tcase_add_test(tcase, cosine_of_sides_of_any_size);
    tcase_add_test(tcase, saturated_elements_are_not_in_the_cosine);
    tcase_add_test(tcase, huge_float64_values);
    tcase_add_test(tcase, thresholds_exactly_met);
    tcase_add_test(tcase, sums_over_blocks_are_compensated);
    tcase_add_test(tcase, squares_of_one_side_overflow);
    tcase_add_test(tcase, nearly_zero_results);
    tcase_add_test(tcase, signs_of_bfloat16_errors);
    tcase_add_test(tcase, peer_ulp_of_float8);
    tcase_add_test(tcase, peer_ratio_of_non_finite_positions);
    tcase_add_test(tcase, means_in_pairwise_order);
    tcase_add_test(tcase, the_widest_bound);
    tcase_add_test(tcase, integers_are_compared_exactly);
    tcase_add_test(tcase, working_types);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
