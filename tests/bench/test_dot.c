/* Dot products by extraction: pairs within their bounds, zeros proven, and products in which
 * every element is certified. The exact sums are balls at 2,500 bits.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/arithmetic/dot.h"
#include "bench/oracle.h"
#include "bench/primitive.h"
#include "bench/primitives/matmul.h"
#include "support/suite.h"

enum { PRECISION = 2500, LONGEST = 1000 };

enum terms { FLOATS, DOUBLES, CANCELLING, GRADED, SPARSE, TERM_KINDS };

/* Float32 values but for DOUBLES and GRADED, whose products are not exact. */
static bool fill(double *a, double *b, size_t k, enum terms kind, struct numbers *numbers)
{
    for (size_t l = 0; l < k; l++) {
        double x = 2 * numbers_uniform(numbers) - 1, y = 2 * numbers_uniform(numbers) - 1;
        bool narrow = kind != DOUBLES && kind != GRADED;
        if (kind == GRADED) x = ldexp(x, (int)(numbers_next(numbers) % 120) - 60);
        if (kind == SPARSE && numbers_next(numbers) % 4) x = 0;
        a[l] = narrow ? (float)x : x;
        b[l] = narrow ? (float)y : y;
        if (kind == CANCELLING && l % 2) { /* the pair before, negated, now and then nudged */
            a[l] = -a[l - 1];
            b[l] = numbers_next(numbers) % 8 ? b[l - 1] : (float)(b[l - 1] * (1 + 0x1p-20));
        }
    }
    return kind != DOUBLES && kind != GRADED;
}

static double power_above(const double *x, size_t k)
{
    double power = 0x1p-1000;
    for (size_t l = 0; l < k; l++)
        while (power < fabs(x[l])) power *= 2;
    return power;
}

/* |hi + lo - exact| <= bound; the bound less a factor of 2^40 must fail for some. */
static void judge(struct findings *f, double hi, double lo, double bound, const arb_t exact)
{
    arb_t rest;
    struct distance d;
    arb_init(rest);
    arb_set_d(rest, hi);
    arb_sub(rest, exact, rest, 2 * PRECISION);
    f->elements++;
    f->wrong += !oracle_distance(&d, rest, lo) || d.least > bound;
    f->nonzero += d.least > bound * 0x1p-40;
    arb_clear(rest);
}

/* The sums of several lines with b, in two pieces: of a, doubled and negated from one to the next. */
static void judge_group(struct findings *f, const struct dot *dot, const double *a, const double *b,
                        double scale, const arb_t exact)
{
    static double lines[DOT_GROUP][LONGEST];
    double hi[DOT_GROUP] = { 0 }, lo[DOT_GROUP] = { 0 }, sigma[DOT_GROUP], factor = 1;
    size_t k = dot->k, first = k / 3;
    bool sums;
    arb_t product;
    for (size_t i = 0; i < DOT_GROUP; i++, factor *= -2) {
        for (size_t l = 0; l < k; l++) lines[i][l] = factor * a[l];
        sigma[i] = dot->start * scale * fabs(factor);
    }
    dot_extract_group(hi, lo, lines[0], LONGEST, b, first, sigma);
    dot_extract_group(hi, lo, lines[0] + first, LONGEST, b + first, k - first, sigma);
    arb_init(product);
    arb_set(product, exact);
    for (size_t i = 0; i < DOT_GROUP; i++) {
        double bound = dot_extraction_bound(&sums, dot, sigma[i] / dot->start);
        if (sums) judge(f, hi[i], lo[i], bound, product); /* all of a is 0: out of range */
        arb_mul_si(product, product, -2, PRECISION);
    }
    arb_clear(product);
}

START_TEST(pairs_lie_within_their_bounds)
{
    static const size_t lengths[] = { 1, 2, 15, 16, 17, 31, 100, 257, LONGEST };
    static double a[LONGEST], b[LONGEST];
    struct numbers numbers = { .state = 17 };
    struct findings plain = { 0 }, deep = { 0 }, group = { 0 };
    arb_t exact, x, y;
    arb_init(exact);
    arb_init(x);
    arb_init(y);
    for (int round = 0; round < 40; round++)
        for (int kind = 0; kind < TERM_KINDS; kind++)
            for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
                size_t k = lengths[n];
                bool exact_products = fill(a, b, k, (enum terms)kind, &numbers);
                struct dot dot = dot_of_length(k, exact_products);
                double scale = power_above(a, k) * power_above(b, k), hi, lo, bound;
                arb_zero(exact);
                for (size_t l = 0; l < k; l++) {
                    arb_set_d(x, a[l]);
                    arb_set_d(y, b[l]);
                    arb_addmul(exact, x, y, PRECISION);
                }
                bound = dot_extracted(&hi, &lo, &dot, a, b, scale);
                judge(&plain, hi, lo, bound, exact);
                judge_group(&group, &dot, a, b, scale, exact);
                double deeper = dot_extracted_deeply(&hi, &lo, &dot, a, b, scale);
                judge(&deep, hi, lo, deeper, exact);
                ck_assert_double_le(deeper, bound);
            }
    printf("pairs: %zu, wrong %zu; in groups: %zu, wrong %zu; deep: %zu, wrong %zu\n",
           plain.elements, plain.wrong, group.elements, group.wrong, deep.elements, deep.wrong);
    ck_assert_uint_eq(plain.wrong, 0);
    ck_assert_uint_eq(group.wrong, 0);
    ck_assert_uint_gt(group.nonzero, 0);
    ck_assert_uint_eq(deep.wrong, 0);
    ck_assert_uint_gt(plain.nonzero, 0);
    arb_clear(exact);
    arb_clear(x);
    arb_clear(y);
}
END_TEST

/* A sum that cancels to nothing is proven to be 0; one that leaves 2^-200 is not taken for 0. */
START_TEST(zeros_are_proven)
{
    double a[64], b[64], hi, lo;
    for (int l = 0; l < 64; l++) {
        a[l] = l % 2 ? -a[l - 1] : 1 + 0x1p-20 * l;
        b[l] = l % 2 ? b[l - 1] : 1 - 0x1p-23 * l;
    }
    struct dot dot = dot_of_length(64, true);
    ck_assert_double_eq(dot_extracted_deeply(&hi, &lo, &dot, a, b, 4), 0);
    ck_assert_double_eq(hi + lo, 0);
    a[0] = 0x1p-100;
    b[0] = 0x1p-100;
    a[1] = 0;
    (void)dot_extracted_deeply(&hi, &lo, &dot, a, b, 4);
    ck_assert_double_eq(hi + lo, 0x1p-200);
    ck_assert_double_eq(dot_extracted(&hi, &lo, &dot, a, b, 0), 0); /* all products are 0 */
}
END_TEST

/* Out of the range of exact steps nothing is claimed. */
START_TEST(extreme_scales_have_no_bound)
{
    double a[2] = { 0x1p-400, 0x1p-401 }, b[2] = { 0x1p-400, 0x1p-400 }, hi, lo;
    struct dot dot = dot_of_length(2, true);
    ck_assert(isinf(dot_extracted(&hi, &lo, &dot, a, b, 0x1p-800)));
    ck_assert(isinf(dot_extracted_deeply(&hi, &lo, &dot, a, b, 0x1p-800)));
    ck_assert(isinf(dot_extracted(&hi, &lo, &dot, a, b, 0x1p1000)));
}
END_TEST

/* Products whose result is float32: every element within 2^-10 ulp, whatever cancels. */
START_TEST(every_element_is_certified)
{
    static const enum data kinds[] = { DATA_NORMAL, DATA_CANCELLING, DATA_GRADED, DATA_WHOLE };
    enum data data = kinds[_i / 4];
    bool transpose_a = _i % 2, transpose_b = _i / 2 % 2;
    int64_t m = 37, k = 150, n = 21, shape_a[3] = { 1, transpose_a ? k : m, transpose_a ? m : k },
            shape_b[3] = { 1, transpose_b ? n : k, transpose_b ? k : n };
    struct laboratory lab;
    struct findings f = { 0 };
    laboratory_open(&lab, BENCH_REFERENCE, 7 + (uint64_t)_i);
    struct operand a = operand_make(&lab, 3, shape_a, data, false),
                   b = operand_make(&lab, 3, shape_b, data, false);
    a.node->dtype = b.node->dtype = DT_F32;
    struct node *c = node_matmul(&lab.tape, a.node, transpose_a, b.node, transpose_b);
    ck_assert(!tape_failed(&lab.tape));
    arb_t exact;
    arb_init(exact);
    for (size_t at = 0; at < c->n; at++) {
        size_t i = at / (size_t)n, j = at % (size_t)n;
        arb_dot(exact, NULL, 0, a.point + (transpose_a ? i : i * (size_t)k),
                transpose_a ? (slong)m : 1, b.point + (transpose_b ? j * (size_t)k : j),
                transpose_b ? 1 : (slong)n, (slong)k, PRECISION);
        judge_element(&f, c, at, exact, data_names[data]);
        ck_assert_double_le(node_error(c, at), 0x1p-10 * dtype_ulp(DT_F32, c->value[at]));
    }
    ck_assert_uint_eq(f.wrong, 0);
    arb_clear(exact);
    operand_clear(&a);
    operand_clear(&b);
    laboratory_close(&lab);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dot");
    TCase *tests = tcase_create("dot");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, pairs_lie_within_their_bounds);
    tcase_add_test(tests, zeros_are_proven);
    tcase_add_test(tests, extreme_scales_have_no_bound);
    tcase_add_loop_test(tests, every_element_is_certified, 0, 16);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
