/* Sums, products, scans and scattered sums: every element of the result against exact arithmetic.
 *
 * Terms are dyadic, so exact sums are formed without rounding; products and the rest at 600 bits.
 * Conditions: every kind of data of primitive.h, lengths around the lane counts, sums along the
 * inner, outer and several dimensions, exact and inexact terms, and sums of prescribed condition
 * number 1 .. 1e40.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/arithmetic/rounding.h"
#include "bench/primitive.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/product.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/scan.h"
#include "bench/primitives/squares.h"
#include "core/tensor.h"
#include "support/suite.h"

enum { PRECISION = 600 };

static const int64_t lengths[] = { 1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 100, 513, 1000, 4099 };
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void report(const char *what, const struct findings *f)
{
    printf("%-24s %8zu elements, %zu wrong, %zu without a bound, widest bound %.3g u\n", what,
           f->elements, f->wrong, f->unclaimed, f->widest);
    flint_cleanup();
    ck_assert_uint_eq(f->wrong, 0);
    ck_assert_uint_eq(f->unseen, 0);
}

/* Exact terms: the bound of Sum2, u |r| + gamma_n^2 sum|x|, must not be exceeded by far. */
static bool is_sharp(const struct node *sum, size_t i, const struct operand *x, size_t n,
                     size_t start, size_t step)
{
    double magnitude = 0, nu = (double)(n + 20) * UNIT_ROUNDOFF;
    for (size_t k = 0; k < n; k++) magnitude += fabs(x->node->value[start + k * step]);
    return node_error(sum, i) <=
           1.1 * (UNIT_ROUNDOFF * fabs(sum->value[i]) + nu * nu * magnitude) + 0x1p-1070;
}

/* (3, n, 2) over each of its dimensions, and over the outer two. */
static void check_sums(struct findings *f, enum data data, int64_t n, bool inexact)
{
    static const uint32_t dims[] = { 2, 1, 4, 3, 5, 7 };
    struct laboratory lab;
    int64_t shape[3] = { 3, n, 2 };
    arb_t exact;
    arb_init(exact);
    laboratory_open(&lab, BENCH_REFERENCE, (uint64_t)n * 31 + data);
    struct operand x = operand_make(&lab, 3, shape, data, inexact);
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
        struct node *sum = node_sum(&lab.tape, x.node, dims[k], true);
        (void)node_values(&lab.tape, sum);
        for (size_t i = 0; i < sum->n; i++) {
            size_t first[3] = { 0 }, rest = i;
            arb_zero(exact);
            for (int d = 2; d >= 0; d--) {
                first[d] = rest % (size_t)sum->shape[d];
                rest /= (size_t)sum->shape[d];
            }
            for (size_t a = 0; a < 3; a++)
                for (size_t b = 0; b < (size_t)n; b++)
                    for (size_t c = 0; c < 2; c++) {
                        size_t at[3] = { a, b, c };
                        bool in = true;
                        for (int d = 0; d < 3; d++)
                            in = in && (dims[k] >> d & 1 || at[d] == first[d]);
                        if (in)
                            arb_add(exact, exact, x.point + (a * (size_t)n + b) * 2 + c,
                                    ARF_PREC_EXACT);
                    }
            judge_element(f, sum, i, exact, data_names[data]);
        }
        if (!inexact && dims[k] == 2)
            ck_assert_msg(is_sharp(sum, 0, &x, (size_t)n, 0, 2), "%s, %lld terms: loose bound",
                          data_names[data], (long long)n);
    }
    arb_clear(exact);
    operand_clear(&x);
    laboratory_close(&lab);
}

START_TEST(sums_contain_the_exact_sum)
{
    struct findings f = { 0 };
    for (int data = 0; data < DATA_COUNT; data++)
        for (int k = 0; k < LENGTHS - 2; k++)
            for (int inexact = 0; inexact < 2; inexact++)
                check_sums(&f, (enum data)data, lengths[k], inexact);
    ck_assert_uint_gt(f.nonzero, 0); /* E = 0 would be wrong */
    report("sums", &f);
}
END_TEST

/* Pairs that cancel and one residual: sum|x| / |sum x| = 10^power. */
START_TEST(sums_of_prescribed_condition)
{
    struct findings f = { 0 };
    arb_t exact;
    arb_init(exact);
    for (int power = 0; power <= 40; power++)
        for (int repeat = 0; repeat < 20; repeat++) {
            struct laboratory lab;
            int64_t shape[1] = { 2001 };
            laboratory_open(&lab, BENCH_REFERENCE, (uint64_t)(power * 100 + repeat));
            struct operand x = operand_make(&lab, 1, shape, DATA_WIDE, false);
            double *value = x.node->value, magnitude = 0;
            for (size_t i = 0; i < 1000; i++) {
                value[2 * i + 1] = -value[2 * i];
                magnitude += 2 * fabs(value[2 * i]);
            }
            value[2000] = magnitude * pow(10, -power);
            for (size_t i = 2000; i > 0; i--) { /* shuffle */
                size_t j = numbers_next(&lab.numbers) % (i + 1);
                double t = value[i];
                value[i] = value[j];
                value[j] = t;
            }
            arb_set_d(exact, magnitude * pow(10, -power));
            struct node *sum = node_sum(&lab.tape, x.node, 1, false);
            judge_element(&f, sum, 0, exact, "condition");
            /* Certified for float32 while the condition leaves Sum2 room: up to 1e14 with 2001 terms. */
            if (power <= 14) ck_assert_double_le(node_error(sum, 0), 0x1p-35 * fabs(sum->value[0]));
            operand_clear(&x);
            laboratory_close(&lab);
        }
    arb_clear(exact);
    report("prescribed condition", &f);
}
END_TEST

/* One line of a scan or product at a time. */
typedef struct node *line_primitive(struct tape *tape, struct node *x);
typedef void line_definition(arb_ptr out, arb_srcptr x, size_t n);

/* clang-format off */
static struct node *cumulative_sum(struct tape *tape, struct node *x) { return node_cumulative_sum(tape, x, 1, false); }
static struct node *reverse_sum(struct tape *tape, struct node *x) { return node_cumulative_sum(tape, x, 1, true); }
static struct node *cumulative_product(struct tape *tape, struct node *x) { return node_cumulative_product(tape, x, 1); }
static struct node *logarithmic(struct tape *tape, struct node *x) { return node_cumulative_logsumexp(tape, x, 1); }
static struct node *whole_product(struct tape *tape, struct node *x) { return node_product(tape, x, 2, true); }
static struct node *mean(struct tape *tape, struct node *x) { return node_mean(tape, x, 2, true); }
/* clang-format on */

static void define_sum(arb_ptr out, arb_srcptr x, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (k) arb_add(out + k, out + k - 1, x + k, ARF_PREC_EXACT);
        else arb_set(out, x);
    }
}
static void define_reverse(arb_ptr out, arb_srcptr x, size_t n)
{
    for (size_t k = n; k-- > 0;) {
        if (k + 1 < n) arb_add(out + k, out + k + 1, x + k, ARF_PREC_EXACT);
        else arb_set(out + k, x + k);
    }
}
static void define_products(arb_ptr out, arb_srcptr x, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (k) arb_mul(out + k, out + k - 1, x + k, PRECISION);
        else arb_set(out, x);
    }
}
static void define_logarithmic(arb_ptr out, arb_srcptr x, size_t n)
{
    arb_t sum, term;
    arb_init(sum);
    arb_init(term);
    for (size_t k = 0; k < n; k++) {
        arb_exp(term, x + k, PRECISION);
        arb_add(sum, sum, term, PRECISION);
        arb_log(out + k, sum, PRECISION);
    }
    arb_clear(sum);
    arb_clear(term);
}
static void define_product(arb_ptr out, arb_srcptr x, size_t n)
{
    arb_one(out);
    for (size_t k = 0; k < n; k++) arb_mul(out, out, x + k, PRECISION);
}
static void define_mean(arb_ptr out, arb_srcptr x, size_t n)
{
    arb_zero(out);
    for (size_t k = 0; k < n; k++) arb_add(out, out, x + k, ARF_PREC_EXACT);
    arb_div_ui(out, out, n, PRECISION);
}

static const struct {
    const char *name;
    line_primitive *primitive;
    line_definition *definition;
    bool reduces;
    enum data most_extreme; /* kinds up to this one */
} scans[] = {
    { "cumulative sum", cumulative_sum, define_sum, false, DATA_EXTREME },
    { "reverse cumulative sum", reverse_sum, define_reverse, false, DATA_EXTREME },
    { "cumulative product", cumulative_product, define_products, false, DATA_GRADED },
    { "cumulative logsumexp", logarithmic, define_logarithmic, false, DATA_CANCELLING },
    { "product", whole_product, define_product, true, DATA_GRADED },
    { "mean", mean, define_mean, true, DATA_EXTREME },
};

/* (2, n, 3) along the middle dimension. */
static void check_scan(struct findings *f, int row, enum data data, size_t n, bool inexact)
{
    struct laboratory lab;
    int64_t shape[3] = { 2, (int64_t)n, 3 };
    laboratory_open(&lab, BENCH_REFERENCE, n * 7 + (size_t)data);
    struct operand x = operand_make(&lab, 3, shape, data, inexact);
    struct node *y = scans[row].primitive(&lab.tape, x.node);
    ck_assert_msg(!tape_failed(&lab.tape), "%s", lab.tape.status.text);
    arb_ptr line = _arb_vec_init((slong)n), want = _arb_vec_init((slong)n);
    for (size_t a = 0; a < 2; a++)
        for (size_t c = 0; c < 3; c++) {
            for (size_t k = 0; k < n; k++) arb_set(line + k, x.point + (a * n + k) * 3 + c);
            scans[row].definition(want, line, n);
            for (size_t k = 0; k < (scans[row].reduces ? 1 : n); k++) {
                size_t at = scans[row].reduces ? a * 3 + c : (a * n + k) * 3 + c;
                if (isfinite(y->value[at])) judge_element(f, y, at, want + k, scans[row].name);
            }
        }
    _arb_vec_clear(line, (slong)n);
    _arb_vec_clear(want, (slong)n);
    operand_clear(&x);
    laboratory_close(&lab);
}

START_TEST(scans_and_products)
{
    struct findings f = { 0 };
    for (int data = 0; data <= (int)scans[_i].most_extreme; data++)
        for (int k = 0; k < LENGTHS && lengths[k] <= 600; k++)
            for (int inexact = 0; inexact < 2; inexact++)
                check_scan(&f, _i, (enum data)data, (size_t)lengths[k], inexact);
    ck_assert_uint_gt(f.nonzero, 0);
    report(scans[_i].name, &f);
}
END_TEST

/* Elements and rows sent to few destinations, some dropped. */
START_TEST(scattered_sums)
{
    struct findings f = { 0 };
    for (int data = 0; data < DATA_COUNT; data++)
        for (int inexact = 0; inexact < 2; inexact++)
            for (size_t row = 1; row <= 3; row += 2) {
                struct laboratory lab;
                int64_t shape[2] = { 300, (int64_t)row }, target[2] = { 11, (int64_t)row };
                laboratory_open(&lab, BENCH_REFERENCE, 77 + (uint64_t)data);
                struct operand x = operand_make(&lab, 2, shape, (enum data)data, inexact);
                int64_t *map = tape_allocate(&lab.tape, 300, sizeof *map);
                for (size_t i = 0; i < 300; i++)
                    map[i] = (int64_t)(numbers_next(&lab.numbers) % 13) - 1;
                for (size_t i = 0; i < 300; i++)
                    if (map[i] >= 11) map[i] = -1;
                struct node *y = node_scatter_add_rows(&lab.tape, x.node, 2, target, row, map);
                ck_assert_msg(!tape_failed(&lab.tape), "%s", lab.tape.status.text);
                arb_t exact;
                arb_init(exact);
                for (size_t at = 0; at < 11 * row; at++) {
                    arb_zero(exact);
                    for (size_t i = 0; i < 300; i++)
                        if (map[i] == (int64_t)(at / row))
                            arb_add(exact, exact, x.point + i * row + at % row, ARF_PREC_EXACT);
                    judge_element(&f, y, at, exact, "scattered sum");
                }
                arb_clear(exact);
                operand_clear(&x);
                laboratory_close(&lab);
            }
    report("scattered sums", &f);
}
END_TEST

/* Infinities and NaN go through a sum as IEEE arithmetic has them, empty sums are 0. */
START_TEST(special_sums)
{
    static const struct {
        double x[4], sum;
        /* clang-format off */
    } cases[] = {
        { { 1, INFINITY, 2, 3 }, INFINITY },       { { -INFINITY, 1, 1, 1 }, -INFINITY },
        { { INFINITY, -INFINITY, 1, 1 }, NAN },    { { NAN, 1, 2, 3 }, NAN },
        { { 0x1p1023, 0x1p1023, -0x1p1023, 0 }, INFINITY },
    };
    /* clang-format on */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int layout = 0; layout < 2; layout++) {
            struct laboratory lab;
            int64_t shape[2] = { layout ? 4 : 1, layout ? 1 : 4 }, wide[2] = { 4, 2 };
            laboratory_open(&lab, BENCH_REFERENCE, 1);
            struct operand x = operand_make(&lab, 2, layout ? wide : shape, DATA_ONES, false);
            for (size_t i = 0; i < 4; i++) x.node->value[layout ? 2 * i : i] = cases[k].x[i];
            struct node *sum = node_sum(&lab.tape, x.node, layout ? 1 : 2, false);
            double want = cases[k].sum, got = sum->value[0];
            ck_assert_msg(isnan(want) ? isnan(got) : got == want, "case %zu, layout %d: %g for %g",
                          k, layout, got, want);
            ck_assert(node_error(sum, 0) == 0);
            operand_clear(&x);
            laboratory_close(&lab);
        }
    struct laboratory lab;
    int64_t none[2] = { 0, 3 };
    laboratory_open(&lab, BENCH_REFERENCE, 1);
    struct operand x = operand_make(&lab, 2, none, DATA_ONES, false);
    struct node *sum = node_sum(&lab.tape, x.node, 1, false);
    ck_assert_uint_eq(sum->n, 3);
    ck_assert(sum->value[0] == 0 && sum->value[2] == 0 && node_error(sum, 1) == 0);
    operand_clear(&x);
    laboratory_close(&lab);
}
END_TEST

/* A leaf of float32 with the operand's values, which have at most 24 bits. */
static struct node *stored_leaf(struct laboratory *lab, struct tensor *tensor, float *data,
                                const struct operand *x)
{
    for (size_t i = 0; i < x->n; i++) data[i] = (float)x->node->value[i];
    tensor_wrap(tensor, data, DT_F32, x->node->rank, x->node->shape);
    return node_leaf(&lab->tape, tensor, false);
}

/* sum (x - centre)^2 of n elements. */
static void exact_squares(arb_t out, const arb_t centre, arb_srcptr x, size_t n)
{
    arb_t e;
    arb_init(e);
    arb_zero(out);
    for (size_t k = 0; k < n; k++) {
        arb_sub(e, x + k, centre, PRECISION);
        arb_addmul(out, e, e, PRECISION);
    }
    arb_clear(e);
}

/* Three lines of n numbers around `offset`, their sums of squares and of squared deviations, in one pass. */
static void check_squares(struct findings f[2], enum data data, int64_t n, double offset)
{
    struct laboratory lab;
    struct tensor tensor;
    int64_t shape[2] = { 3, n };
    laboratory_open(&lab, BENCH_REFERENCE, (uint64_t)n * 31 + data);
    struct operand x = operand_make(&lab, 2, shape, data, false);
    float *stored = arena_allocate_array(&lab.arena, x.n, sizeof *stored);
    for (size_t i = 0; i < x.n; i++) {
        x.node->value[i] = (float)(x.node->value[i] + offset);
        arb_set_d(x.point + i, x.node->value[i]);
    }
    struct node *leaf = stored_leaf(&lab, &tensor, stored, &x);
    struct node *squares = node_sum_of_squares(&lab.tape, leaf, 2),
                *deviations = node_sum_of_squared_deviations(&lab.tape, leaf, NULL, 2);
    ck_assert(!tape_failed(&lab.tape) && !leaf->value);
    arb_t exact, mean;
    arb_init(exact);
    arb_init(mean);
    for (size_t line = 0; line < 3; line++) {
        arb_srcptr point = x.point + line * (size_t)n;
        arb_zero(mean);
        exact_squares(exact, mean, point, (size_t)n);
        judge_element(&f[0], squares, line, exact, data_names[data]);
        judge_pair(&f[0], squares, line, exact, data_names[data]);
        for (int64_t k = 0; k < n; k++) arb_add(mean, mean, point + k, ARF_PREC_EXACT);
        arb_div_si(mean, mean, (slong)n, PRECISION);
        exact_squares(exact, mean, point, (size_t)n);
        judge_element(&f[1], deviations, line, exact, data_names[data]);
        judge_pair(&f[1], deviations, line, exact, data_names[data]);
        /* What the bounds promise: digits enough for float32, wherever the elements lie. */
        ck_assert(node_error(squares, line) <= 0x1p-40 * squares->value[line]);
        if (data == DATA_NORMAL && n > 16)
            ck_assert(node_error(deviations, line) <= 0x1p-36 * deviations->value[line]);
    }
    arb_clear(exact);
    arb_clear(mean);
    operand_clear(&x);
    laboratory_close(&lab);
}

START_TEST(squares_contain_the_exact_sum)
{
    static const double offsets[] = { 0, 1000, -3e6 };
    static const int64_t extents[] = { 1, 2, 15, 16, 17, 33, 1000, 2047, 2048, 2049, 5000 };
    static const enum data kinds[] = { DATA_NORMAL,     DATA_ONES,   DATA_WHOLE,
                                       DATA_CANCELLING, DATA_GRADED, DATA_HILBERT };
    struct findings f[2] = { { 0 } };
    for (size_t d = 0; d < sizeof kinds / sizeof *kinds; d++)
        for (size_t k = 0; k < sizeof extents / sizeof *extents; k++)
            for (size_t o = 0; o < 3; o++) check_squares(f, kinds[d], extents[k], offsets[o]);
    report("sums of squares", &f[0]);
    report("squared deviations", &f[1]);
}
END_TEST

/* Infinities and NaN make the deviations NaN; equal elements have none, nor has an empty line. */
START_TEST(special_squares)
{
    static const struct {
        double x[4], squares, deviations;
        /* clang-format off */
    } cases[] = {
        { { 1, INFINITY, 2, 3 }, INFINITY, NAN },
        { { INFINITY, -INFINITY, 1, 1 }, INFINITY, NAN },
        { { NAN, 1, 2, 3 }, NAN, NAN },
        { { 0, 0, 0, 0 }, 0, 0 },
        { { -0.5, -0.5, -0.5, -0.5 }, 1, 0 },
        { { 0x1p-149, 0, 0, 0 }, 0x1p-298, 0x3p-300 },
        { { 0x1p127, 0x1p127, 0, 0 }, 0x1p255, 0x1p254 },
    };
    /* clang-format on */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct laboratory lab;
        struct tensor tensor;
        float stored[4];
        laboratory_open(&lab, BENCH_REFERENCE, 1);
        struct operand x = operand_make(&lab, 1, (int64_t[]){ 4 }, DATA_ONES, false);
        for (size_t i = 0; i < 4; i++) x.node->value[i] = cases[k].x[i];
        struct node *leaf = stored_leaf(&lab, &tensor, stored, &x);
        struct node *sums[2] = { node_sum_of_squares(&lab.tape, leaf, 1),
                                 node_sum_of_squared_deviations(&lab.tape, leaf, NULL, 1) };
        for (int j = 0; j < 2; j++) {
            double want = j ? cases[k].deviations : cases[k].squares, got = sums[j]->value[0];
            ck_assert_msg(isnan(want) ? isnan(got) : got == want, "case %zu, %d: %g for %g", k, j,
                          got, want);
            if (want == 0 || !isfinite(want)) ck_assert(node_error(sums[j], 0) == 0);
        }
        operand_clear(&x);
        laboratory_close(&lab);
    }
    struct laboratory lab;
    struct tensor tensor;
    laboratory_open(&lab, BENCH_REFERENCE, 1);
    struct operand x = operand_make(&lab, 2, (int64_t[]){ 3, 0 }, DATA_ONES, false);
    struct node *leaf = stored_leaf(&lab, &tensor, (float[1]){ 0 }, &x);
    struct node *squares = node_sum_of_squares(&lab.tape, leaf, 2),
                *deviations = node_sum_of_squared_deviations(&lab.tape, leaf, NULL, 2);
    ck_assert_uint_eq(squares->n, 3);
    ck_assert(squares->value[1] == 0 && deviations->value[1] == 0);
    ck_assert(node_error(squares, 1) == 0 && node_error(deviations, 1) == 0);
    operand_clear(&x);
    laboratory_close(&lab);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reductions");
    TCase *tests = tcase_create("reductions");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, sums_contain_the_exact_sum);
    tcase_add_test(tests, sums_of_prescribed_condition);
    tcase_add_loop_test(tests, scans_and_products, 0, sizeof scans / sizeof *scans);
    tcase_add_test(tests, scattered_sums);
    tcase_add_test(tests, special_sums);
    tcase_add_test(tests, squares_contain_the_exact_sum);
    tcase_add_test(tests, special_squares);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
