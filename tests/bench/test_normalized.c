/* Softmax, its logarithm, logsumexp and the gradient of softmax against their definitions.
 *
 * Lines of length 1 .. 257 of ordinary, equal, widely spread (to +-1000), dominated (one class
 * ahead by up to 80) and partly -inf values, exact and inexact, along the inner and an outer
 * dimension. exp, log and quotients in balls at 1500 bits.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/primitive.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/softmax_gradient.h"
#include "support/suite.h"

enum { PRECISION = 1500 };

enum spread { ORDINARY, EQUAL, WIDE, DOMINATED, MASKED, SPREADS };

static void spread_values(struct operand *x, struct numbers *numbers, enum spread spread,
                          size_t extent)
{
    for (size_t i = 0; i < x->n; i++) {
        double v = x->node->value[i];
        switch (spread) {
        case EQUAL: v = 3.25; break;
        case WIDE: v = (float)(v * 400); break;
        case DOMINATED: v = (float)(i % extent == 0 ? v + 80 * numbers_uniform(numbers) : v); break;
        case MASKED: v = numbers_next(numbers) % 3 == 0 && i % extent ? -INFINITY : v; break;
        default: break;
        }
        x->node->value[i] = v;
        if (isfinite(v)) {
            arb_t move;
            double e = x->node->error ? x->node->error[i] : 0;
            arb_init(move);
            arb_set_d(x->point + i, v);
            arb_set_d(move, e * (i % 2 ? 1 : -1));
            arb_add(x->point + i, x->point + i, move, ARF_PREC_EXACT);
            arb_clear(move);
        } else {
            if (x->node->error) x->node->error[i] = 0;
            arb_zero(x->point + i);
        }
    }
}

/* exp(x_k) of a line, exactly 0 for a masked one, and their sum. */
static void exponentials(arb_ptr e, arb_t sum, const struct operand *x, size_t first, size_t step,
                         size_t extent)
{
    arb_zero(sum);
    for (size_t k = 0; k < extent; k++) {
        size_t at = first + k * step;
        if (x->node->value[at] == -INFINITY) arb_zero(e + k);
        else arb_exp(e + k, x->point + at, PRECISION);
        arb_add(sum, sum, e + k, PRECISION);
    }
}

/* The place of the largest element of each of four lines. */
static const size_t *tops(size_t *top, const struct operand *x, bool inner, size_t extent)
{
    for (size_t line = 0; line < 4; line++) {
        size_t first = inner ? line * extent : line, step = inner ? 1 : 4;
        top[line] = 0;
        for (size_t k = 1; k < extent; k++)
            if (x->node->value[first + k * step] > x->node->value[first + top[line] * step])
                top[line] = k;
    }
    return top;
}

static void check_lines(struct findings f[5], enum spread spread, int64_t extent, bool inner,
                        bool inexact)
{
    struct laboratory lab;
    int64_t shape[2] = { inner ? 4 : extent, inner ? extent : 4 };
    laboratory_open(&lab, BENCH_REFERENCE, (uint64_t)(extent * 10 + spread));
    struct operand x = operand_make(&lab, 2, shape, DATA_NORMAL, inexact),
                   c = operand_make(&lab, 2, shape, DATA_NORMAL, inexact);
    spread_values(&x, &lab.numbers, spread, inner ? (size_t)extent : x.n);
    int dim = inner ? 1 : 0;
    struct node *soft = node_softmax(&lab.tape, x.node, dim),
                *log = node_log_softmax(&lab.tape, x.node, dim);
    struct node *total = node_logsumexp(&lab.tape, x.node, dim);
    size_t top[4];
    struct node *gradient = node_softmax_gradient(&lab.tape, soft, c.node, dim, NULL);
    struct node *from_top =
        node_softmax_gradient(&lab.tape, soft, c.node, dim, tops(top, &x, inner, (size_t)extent));
    ck_assert_msg(!tape_failed(&lab.tape), "%s", lab.tape.status.text);
    (void)node_values(&lab.tape, gradient);
    arb_ptr e = _arb_vec_init((slong)extent);
    arb_t sum, want, dot;
    arb_init(sum);
    arb_init(want);
    arb_init(dot);
    for (size_t line = 0; line < 4; line++) {
        size_t first = inner ? line * (size_t)extent : line, step = inner ? 1 : 4;
        exponentials(e, sum, &x, first, step, (size_t)extent);
        if (arb_is_zero(sum)) continue;
        arb_log(want, sum, PRECISION);
        judge_element(&f[0], total, line, want, "logsumexp");
        arb_zero(dot);
        for (size_t k = 0; k < (size_t)extent; k++) {
            arb_div(want, e + k, sum, PRECISION);
            arb_addmul(dot, want, c.point + first + k * step, PRECISION);
        }
        for (size_t k = 0; k < (size_t)extent; k++) {
            size_t at = first + k * step;
            arb_div(want, e + k, sum, PRECISION);
            judge_element(&f[1], soft, at, want, "softmax");
            arb_sub(sum, c.point + at, dot, PRECISION);
            arb_mul(sum, sum, want, PRECISION);
            judge_element(&f[2], gradient, at, sum, "softmax gradient");
            judge_element(&f[4], from_top, at, sum, "softmax gradient from the top");
            exponentials(e, sum, &x, first, step, (size_t)extent);
            if (x.node->value[at] == -INFINITY) {
                ck_assert(log->value[at] == -INFINITY);
                continue;
            }
            arb_log(want, sum, PRECISION);
            arb_sub(want, x.point + at, want, PRECISION);
            judge_element(&f[3], log, at, want, "log_softmax");
            if (extent > 64) k += 6; /* a part of the long lines */
        }
    }
    _arb_vec_clear(e, (slong)extent);
    arb_clear(sum);
    arb_clear(want);
    arb_clear(dot);
    operand_clear(&x);
    operand_clear(&c);
    laboratory_close(&lab);
}

START_TEST(values_contain_the_definition)
{
    static const int64_t extents[] = { 1, 2, 3, 7, 8, 9, 17, 65 };
    static const char *const names[5] = { "logsumexp", "softmax", "softmax gradient", "log_softmax",
                                          "gradient from top" };
    struct findings f[5] = { { 0 } };
    for (int spread = 0; spread < SPREADS; spread++)
        for (size_t k = 0; k < sizeof extents / sizeof *extents; k++)
            for (int variant = 0; variant < 4; variant++)
                check_lines(f, (enum spread)spread, extents[k], variant & 1, variant & 2);
    for (int k = 0; k < 5; k++) {
        printf("%-18s %8zu elements, %zu wrong, %zu without a bound, widest bound %.3g u\n",
               names[k], f[k].elements, f[k].wrong, f[k].unclaimed, f[k].widest);
        ck_assert_uint_eq(f[k].wrong, 0);
        ck_assert_uint_gt(f[k].nonzero, 0);
    }
    flint_cleanup();
}
END_TEST

/* A line that is nearly one-hot: the gradient of its largest element is 1e-17 of the cotangents, and known to many
 * digits by what the others have. */
START_TEST(the_top_keeps_its_digits)
{
    struct laboratory lab;
    int64_t shape[1] = { 4 };
    laboratory_open(&lab, BENCH_REFERENCE, 3);
    struct operand x = operand_make(&lab, 1, shape, DATA_ONES, false),
                   c = operand_make(&lab, 1, shape, DATA_NORMAL, false);
    static const double values[4] = { 1, 40, 0, -3 };
    for (size_t i = 0; i < 4; i++) x.node->value[i] = values[i];
    struct node *soft = node_softmax(&lab.tape, x.node, 0);
    struct node *usual = node_softmax_gradient(&lab.tape, soft, c.node, 0, NULL),
                *gradient = node_softmax_gradient(&lab.tape, soft, c.node, 0, (size_t[]){ 1 });
    for (size_t i = 0; i < 4; i++)
        ck_assert(node_error(gradient, i) <= 0x1p-44 * fabs(gradient->value[i]));
    ck_assert(node_error(usual, 1) > fabs(gradient->value[1]) / 8);
    operand_clear(&x);
    operand_clear(&c);
    laboratory_close(&lab);
}
END_TEST

/* What is infinite or overflows is as in the usual form, and lines without elements are none. */
START_TEST(lines_that_are_not_finite)
{
    static const double cotangents[3][2] = { { INFINITY, 1 }, { NAN, 0 }, { 1e308, -1e308 } };
    for (size_t k = 0; k < 3; k++) {
        struct laboratory lab;
        int64_t shape[1] = { 2 };
        laboratory_open(&lab, BENCH_REFERENCE, 3);
        struct operand x = operand_make(&lab, 1, shape, DATA_ONES, false),
                       c = operand_make(&lab, 1, shape, DATA_ONES, false);
        for (size_t i = 0; i < 2; i++) c.node->value[i] = cotangents[k][i];
        struct node *soft = node_softmax(&lab.tape, x.node, 0);
        struct node *usual = node_softmax_gradient(&lab.tape, soft, c.node, 0, NULL),
                    *gradient = node_softmax_gradient(&lab.tape, soft, c.node, 0, (size_t[]){ 0 });
        for (size_t i = 0; i < 2; i++) {
            bool same = isnan(usual->value[i]) ? isnan(gradient->value[i])
                                               : usual->value[i] == gradient->value[i];
            ck_assert(same && node_error(usual, i) == node_error(gradient, i));
        }
        operand_clear(&x);
        operand_clear(&c);
        laboratory_close(&lab);
    }
    for (int dim = 0; dim < 2; dim++) {
        struct laboratory lab;
        int64_t shape[2] = { dim ? 3 : 0, dim ? 0 : 3 };
        laboratory_open(&lab, BENCH_REFERENCE, 3);
        struct operand x = operand_make(&lab, 2, shape, DATA_ONES, false);
        struct node *soft = node_softmax(&lab.tape, x.node, dim);
        struct node *gradient =
            node_softmax_gradient(&lab.tape, soft, x.node, dim, (size_t[]){ 0, 0, 0 });
        ck_assert(!tape_failed(&lab.tape) && gradient->n == 0);
        operand_clear(&x);
        laboratory_close(&lab);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("normalized");
    TCase *tests = tcase_create("normalized");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, values_contain_the_definition);
    tcase_add_test(tests, the_top_keeps_its_digits);
    tcase_add_test(tests, lines_that_are_not_finite);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
