/* The typical error of a sum against its definition: partial sums, all orders, sums in float. */
#include "bench/arithmetic/exact_sums.h"
#include "bench/arithmetic/sum_spread.h"

#include <math.h>
#include <string.h>

#include "support/suite.h"

static uint64_t state = 5;

static double normal(void)
{
    double total = 0;
    for (int i = 0; i < 12; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        total += (double)(state >> 11) * 0x1p-53;
    }
    return total - 6;
}

static double squares_of_partial_sums(const double *x, const int *order, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t k = 0; k < n; k++) {
        sum += x[order[k]];
        squares += sum * sum;
    }
    return squares;
}

static void permute(const double *x, int *order, size_t n, size_t at, double *total, size_t *count)
{
    if (at == n) {
        *total += squares_of_partial_sums(x, order, n);
        ++*count;
    }
    for (size_t k = at; k < n; k++) {
        int t = order[at];
        order[at] = order[k];
        order[k] = t;
        permute(x, order, n, at + 1, total, count);
        order[k] = order[at];
        order[at] = t;
    }
}

/* The closed form is the mean over all n! orders. */
START_TEST(any_order_is_the_mean_over_all)
{
    for (size_t n = 2; n <= 7; n++) {
        double x[7], total = 0, sum = 0, squares = 0;
        int order[7];
        size_t count = 0;
        for (size_t k = 0; k < n; k++) {
            x[k] = normal() + (n > 4);
            sum += x[k];
            squares += x[k] * x[k];
            order[k] = (int)k;
        }
        permute(x, order, n, 0, &total, &count);
        double got = sum_spread_of_any_order((double)n, sum, squares);
        ck_assert_double_eq_tol(got, total / (double)count, 1e-12 * got);
    }
}
END_TEST

/* The forward and the reverse order, each where it is the worst; products round once more. */
START_TEST(partial_sums_of_both_directions)
{
    double grows[4] = { 1e6, 1e6, -1, -1 }, falls[4] = { -1, -1, 1e6, 1e6 };
    double want = (1e12 + 4e12 + 1999999.0 * 1999999.0 + 1999998.0 * 1999998.0) / 3;
    ck_assert_double_eq_tol(sum_spread(grows, 4, false, false), want, 1e-12 * want);
    ck_assert_double_eq_tol(sum_spread(falls, 4, false, false), want, 1e-12 * want);
    want += (2e12 + 2) / 3;
    ck_assert_double_eq_tol(sum_spread(grows, 4, true, false), want, 1e-12 * want);
    ck_assert_double_eq(sum_spread(grows, 1, false, true), 0);
    ck_assert_double_eq_tol(sum_spread(grows, 1, true, false), 2e12 / 3, 1);
}
END_TEST

/* Alternating signs: in four lanes each lane has one sign, and grows furthest. */
START_TEST(lanes_of_one_sign)
{
    enum { N = 1024 };
    double x[N], lane = 0;
    for (size_t k = 0; k < N; k++) x[k] = k % 2 ? -3 : 3;
    for (size_t k = 1; k <= N / 4; k++) lane += 9. * (double)(k * k);
    ck_assert_double_eq_tol(sum_spread(x, N, false, false), 4 * lane / 3, 1e-9 * lane);
}
END_TEST

/* Of products two lanes, which then have one sign each; and every product is rounded. */
START_TEST(turns_of_one_sign)
{
    enum { N = 1024 };
    double x[N], lane = 0;
    for (size_t k = 0; k < N; k++) x[k] = k % 2 ? -3 : 3;
    for (size_t k = 1; k <= N / 2; k++) lane += 9. * (double)(k * k);
    ck_assert_double_eq_tol(sum_spread(x, N, true, false), (2 * lane + 9 * N) / 3, 1e-9 * lane);
}
END_TEST

/* A constant: every step of a sum in float errs the same way, which no formula of independent errors has. */
START_TEST(repeated_terms_are_imitated)
{
    enum { N = 16384 };
    static double x[N];
    float sum = 0;
    for (size_t k = 0; k < N; k++) {
        x[k] = 0.1f;
        sum += 0.1f;
    }
    double error = fabs(sum - N * (double)0.1f) * 0x1p24;
    ck_assert_double_ge(sum_spread(x, N, false, true), 0.49 * error * error * (1 - 1e-12));
    ck_assert_double_gt(0.49 * error * error, 9 * sum_spread(x, N, false, false));
}
END_TEST

/* Equal products are all rounded alike, to the side that the sum's partial ones are rounded to: together by 110 units, of which a sum makes no more
 * than 32. */
START_TEST(repeated_products_are_rounded_alike)
{
    enum { N = 40 };
    static double x[N * SUM_SPREAD_LINES];
    struct sum_spread products[SUM_SPREAD_LINES], terms[SUM_SPREAD_LINES];
    double product = (double)1.854704737663269f * (double)1.459778904914856f;
    float sum = 0;
    for (size_t k = 0; k < N; k++) {
        for (size_t w = 0; w < SUM_SPREAD_LINES; w++) x[k * SUM_SPREAD_LINES + w] = product;
        sum += (float)product;
    }
    double error = fabs(sum - N * product) * 0x1p24;
    ck_assert_double_gt(error, 110);
    sum_spread_parts_of_lines(products, x, N, true, SUM_IN_FLOAT);
    sum_spread_parts_of_lines(terms, x, N, false, SUM_IN_FLOAT);
    ck_assert_double_ge(products[3].imitated, 0.49 * error * error * (1 - 1e-12));
    ck_assert_double_le(terms[3].imitated, 0.1 * 0.49 * error * error);
    for (size_t k = 0; k < N; k++) {
        x[k * SUM_SPREAD_LINES] = (double)k + 1;
        x[k * SUM_SPREAD_LINES + 1] = k % 3 ? 0 : (double)k; /* different ones, far apart */
        x[k * SUM_SPREAD_LINES + 2] = (double)(k % 8);       /* and 0 */
        x[k * SUM_SPREAD_LINES + 4] = k < 6 ? (double)k : 0; /* few, none of them twice */
    }
    bool repeats[SUM_SPREAD_LINES];
    sum_spread_repeats(repeats, x, N);
    ck_assert(!repeats[0] && !repeats[1] && repeats[2] && repeats[3] && !repeats[4]);
    sum_spread_repeats(repeats, x, 8);
    ck_assert(!repeats[2] && !repeats[3]);
}
END_TEST

/* Of terms with errors of their own a kernel adds others, whose roundings repeat, too. */
START_TEST(inexact_terms_repeat_other_roundings)
{
    enum { N = 16384 };
    static double x[N], y[N];
    float other = 0.3f * (1 + 0x1.4p-22f), sum = 0;
    for (size_t k = 0; k < N; k++) {
        x[k] = y[k] = 0.3f;
        sum += other;
    }
    double error = fabs(sum - N * (double)other) * 0x1p24, spread = sum_spread(x, N, false, true),
           inexact = sum_spread_of_inexact(y, N, false, true);
    ck_assert_double_ge(inexact, spread);
    ck_assert_double_ge(inexact, 0.49 * error * error * (1 - 1e-12));
}
END_TEST

/* Products of numbers of few bits: up to 15, in halves, they fill 24 bits when 2^23 / 15 of them are added. */
START_TEST(exact_products)
{
    double threes[] = { 3, -1, 0 }, fives[] = { 5, 0.5 }, third[] = { 1, 1. / 3 };
    double infinite[] = { INFINITY }, tiny[] = { 0x1p-120 };
    struct number_grid a = NO_NUMBERS, b = NO_NUMBERS, c = NO_NUMBERS;
    ck_assert(grid_add(&a, threes, 3, 24) && grid_add(&b, fives, 2, 24) &&
              grid_add(&c, tiny, 1, 24));
    ck_assert(grid_products_are_exact(&a, &b, 500000, 24));
    ck_assert(!grid_products_are_exact(&a, &b, 600000, 24));
    ck_assert(grid_products_are_exact(&a, &b, 600000, 53));
    ck_assert(grid_products_are_exact(&a, &c, 1, 24));
    ck_assert(!grid_products_are_exact(&c, &c, 1, 24));
    ck_assert(!grid_add(&a, third, 2, 24) && !grid_add(&b, infinite, 1, 24));
    a = NO_NUMBERS;
    ck_assert(grid_products_are_exact(&a, &c, 1, 24));
}
END_TEST

/* No order rounds where the sum of magnitudes is below 2^24 of the last place that any term has. */
START_TEST(exact_sums)
{
    double ones[] = { 1, 1, 0, -1 }, edge[] = { 0x1p24 - 1, 1 }, beyond[] = { 0x1p24, 1 };
    double fine[] = { 3, 0x1p-20 }, finer[] = { 3, -0x1p-23 }, tiny[] = { 0x1p-127, 0x1p-126 };
    double infinite[] = { INFINITY, 1 };
    ck_assert(sum_is_exact(ones, 4, 24) && sum_is_exact(edge, 2, 24) && sum_is_exact(fine, 2, 24));
    ck_assert(!sum_is_exact(beyond, 2, 24) && !sum_is_exact(finer, 2, 24));
    ck_assert(sum_is_exact(beyond, 2, 53) && sum_is_exact(finer, 2, 53));
    ck_assert(!sum_is_exact(tiny, 2, 24) && !sum_is_exact(infinite, 2, 24));
    ck_assert(sum_is_exact(ones, 0, 24));
}
END_TEST

/* Independent terms: real float sums in natural order have the rms that is expected, within a factor. */
START_TEST(random_sums_have_this_spread)
{
    enum { N = 500, TRIALS = 400 };
    double x[N], squares = 0;
    for (size_t t = 0; t < TRIALS; t++) {
        float sum = 0;
        double exact = 0;
        for (size_t k = 0; k < N; k++) {
            x[k] = (float)normal();
            sum += (float)x[k];
            exact += x[k];
        }
        double z = (sum - exact) * 0x1p24 / sqrt(sum_spread(x, N, false, false));
        squares += z * z;
    }
    double rms = sqrt(squares / TRIALS);
    ck_assert_double_gt(rms, 0.3);
    ck_assert_double_lt(rms, 1.1);
}
END_TEST

static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) * 0x1p-53;
}

static float sum_in_blocks(const double *term, size_t n, size_t length)
{
    float total = 0, block = 0;
    for (size_t k = 0; k < n; k++) {
        block += (float)term[k];
        if (k % length < length - 1) continue;
        total += block;
        block = 0;
    }
    return total + block;
}

/* Sums of one value, or of two, in blocks of any length: roundings that go one way, of which a sequential sum may be rid
 * again at its end. No legitimate block is five spreads off. */
START_TEST(blocks_of_any_length_are_within)
{
    static double term[7500];
    for (int trial = 0; trial < 2000; trial++) {
        size_t n = (size_t)(50 * exp(5 * uniform()));
        double value = (float)exp2(2 * uniform() - 1), other = (float)(-0.7 * value), exact = 0;
        for (size_t k = 0; k < n; k++) {
            term[k] = trial % 2 && uniform() < 0.7 ? other : value;
            exact += term[k];
        }
        double unit = ldexp(1, ilogb(exact) - 23);
        double spread = sqrt(sum_spread(term, n, false, true) * 0x1p-48 + unit * unit / 12);
        for (size_t length = 16; length <= 2048; length *= 2)
            ck_assert_double_le(fabs(sum_in_blocks(term, n, length) - exact), 5 * spread);
    }
}
END_TEST

enum { MOST_TERMS = 300, WIDTH = SUM_SPREAD_LINES };

/* Terms of one kind a line: random, constant, a mask, of alternating signs, far apart, overflowing. */
static double any_term(size_t line, size_t k)
{
    switch (line % 6) {
    case 0: return normal();
    case 1: return 0.1 * (double)(line + 1);
    case 2: return normal() > 0;
    case 3: return k % 2 ? -1.1 : 1.1;
    case 4: return ldexp(normal(), (int)(k % 60));
    default: return 1e38 * normal();
    }
}

/* Lines side by side have the bits that each has alone. */
START_TEST(lines_are_as_if_alone)
{
    static double side_by_side[MOST_TERMS * WIDTH], terms[WIDTH][MOST_TERMS];
    for (size_t n = 1; n <= MOST_TERMS; n++)
        for (int kind = 0; kind < 8; kind++) {
            bool inexact = kind & 1, products = kind & 2, single = kind & 4;
            double spread[WIDTH];
            for (size_t w = 0; w < WIDTH; w++)
                for (size_t k = 0; k < n; k++)
                    side_by_side[k * WIDTH + w] = terms[w][k] = any_term(w + n, k);
            sum_spread_of_lines(spread, side_by_side, n, inexact, products, single);
            for (size_t w = 0; w < WIDTH; w++) {
                double want = inexact ? sum_spread_of_inexact(terms[w], n, products, single)
                                      : sum_spread(terms[w], n, products, single);
                ck_assert_msg(!memcmp(&want, &spread[w], sizeof want),
                              "%zu terms, line %zu, kind %d: %.17g for %.17g", n, w, kind,
                              spread[w], want);
            }
        }
}
END_TEST

/* Lines of factors that are one line, or lie side by side, have the products and squares that each has alone. */
START_TEST(factors_that_lie_side_by_side)
{
    static double x[MOST_TERMS * WIDTH], y[MOST_TERMS * WIDTH], term[MOST_TERMS * WIDTH];
    for (size_t i = 0; i < MOST_TERMS * WIDTH; i++) {
        x[i] = any_term(1, i);
        y[i] = any_term(2, i);
    }
    for (int kind = 0; kind < 16; kind++) {
        bool one = kind & 1, adjacent = kind & 2, beside = kind & 4, apart = kind & 8;
        double squares_x[WIDTH], squares_y[WIDTH];
        size_t n = apart ? MOST_TERMS / 3 : MOST_TERMS, step = apart ? 3 : 1;
        struct sum_spread_factors f = { .n = n,
                                        .step_x = beside ? WIDTH : step,
                                        .step_y = adjacent ? WIDTH : step };
        for (size_t w = 0; w < WIDTH; w++) {
            f.x[w] = x + (one ? 0 : beside ? w : w * MOST_TERMS);
            f.y[w] = y + (adjacent ? w : w * MOST_TERMS);
        }
        sum_spread_multiply(term, squares_x, squares_y, &f);
        for (size_t w = 0; w < WIDTH; w++) {
            double of_x = 0, of_y = 0;
            for (size_t k = 0; k < f.n; k++) {
                double u = f.x[w][k * f.step_x], v = f.y[w][k * f.step_y];
                of_x += u * u;
                of_y += v * v;
                ck_assert_double_eq(term[k * WIDTH + w], u * v);
            }
            ck_assert_double_eq(squares_x[w], of_x);
            ck_assert_double_eq(squares_y[w], of_y);
        }
    }
}
END_TEST

/* A term that is no number is no value that comes again. */
START_TEST(terms_that_are_no_numbers)
{
    double term[4] = { 1, NAN, 1, NAN };
    ck_assert(!(sum_spread_of_inexact(term, 4, false, true) < 0));
}
END_TEST

/* Squares of odd numbers end in 001, and round down more often than up: the expected error of a sum in double is that of one. */
START_TEST(wide_sums_are_imitated)
{
    enum { SQUARES = 125 };
    double x[SQUARES], sum = 0;
    long double exact = 0;
    for (int k = 0; k < SQUARES; k++) {
        double root = 7 + (2 * rint(normal() * 0x1p18) + 1) * 0x1p-21;
        x[k] = root * root;
        sum += x[k];
        exact += x[k];
    }
    double error = (double)fabsl(sum - exact) * 0x1p53, walk = 0, formula = 0;
    for (int k = 0; k < SQUARES; k++) {
        walk += x[k];
        formula += walk * walk / 3 + x[k] * x[k] / 3;
    }
    ck_assert_double_ge(error, 2 * sqrt(formula)); /* or there is nothing to see */
    ck_assert_double_ge(sqrt(sum_spread(x, SQUARES, true, false)), 0.69 * error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sum_spread");
    TCase *tcase = tcase_create("sum_spread");
    tcase_add_test(tcase, any_order_is_the_mean_over_all);
    tcase_add_test(tcase, partial_sums_of_both_directions);
    tcase_add_test(tcase, lanes_of_one_sign);
    tcase_add_test(tcase, turns_of_one_sign);
    tcase_add_test(tcase, lines_are_as_if_alone);
    tcase_add_test(tcase, factors_that_lie_side_by_side);
    tcase_add_test(tcase, terms_that_are_no_numbers);
    tcase_add_test(tcase, repeated_terms_are_imitated);
    tcase_add_test(tcase, repeated_products_are_rounded_alike);
    tcase_add_test(tcase, wide_sums_are_imitated);
    tcase_add_test(tcase, inexact_terms_repeat_other_roundings);
    tcase_add_test(tcase, exact_sums);
    tcase_add_test(tcase, exact_products);
    tcase_add_test(tcase, random_sums_have_this_spread);
    tcase_add_test(tcase, blocks_of_any_length_are_within);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
