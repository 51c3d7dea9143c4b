/* Comparisons follow the exact values: a rounded product against its own double value. */
#include <check.h>
#include <math.h>

#include "bench/primitive.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/integral.h"
#include "bench/tape/decisions.h"
#include "support/suite.h"

enum { N = 2000 };

/* The exact product differs from the rounded one by what fma finds; plain doubles call them equal. */
START_TEST(rounded_products_compare_by_their_exact_values)
{
    struct laboratory lab;
    int64_t shape[1] = { N };
    size_t unequal = 0;
    laboratory_open(&lab, BENCH_REFERENCE, 12);
    struct operand x = operand_make(&lab, 1, shape, DATA_WIDE, false),
                   y = operand_make(&lab, 1, shape, DATA_WIDE, false);
    struct operand z = operand_make(&lab, 1, shape, DATA_ONES, false);
    struct node *product = node_multiply(&lab.tape, x.node, y.node);
    for (size_t i = 0; i < N; i++) z.node->value[i] = product->value[i];
    struct node *greater = node_compare(&lab.tape, COMPARE_GT, product, z.node);
    struct node *equal = node_compare(&lab.tape, COMPARE_EQ, product, z.node);
    for (size_t i = 0; i < N; i++) {
        double rest = fma(x.node->value[i], y.node->value[i], -product->value[i]);
        ck_assert_int_eq(greater->integer[i], rest > 0);
        ck_assert_int_eq(equal->integer[i], rest == 0);
        ck_assert_int_eq(decide_order(product, i, z.node, i), (rest > 0) - (rest < 0));
        unequal += rest != 0;
    }
    ck_assert_uint_gt(unequal, N / 2);
    operand_clear(&x);
    operand_clear(&y);
    operand_clear(&z);
    laboratory_close(&lab);
}
END_TEST

/* NaN is unordered, infinities are exact, and what is far apart needs no balls. */
START_TEST(special_values)
{
    static const double a[] = { NAN, INFINITY, -INFINITY, 1, 2 }, b[] = { 1, 1, 1, 2, 2 };
    static const int less[] = { 0, 0, 1, 1, 0 }, same[] = { 0, 0, 0, 0, 1 };
    struct laboratory lab;
    int64_t shape[1] = { 5 };
    laboratory_open(&lab, BENCH_REFERENCE, 13);
    struct operand x = operand_make(&lab, 1, shape, DATA_ONES, true),
                   y = operand_make(&lab, 1, shape, DATA_ONES, false);
    for (size_t i = 0; i < 5; i++) {
        x.node->value[i] = a[i];
        x.node->error[i] = 0;
        y.node->value[i] = b[i];
    }
    struct node *lt = node_compare(&lab.tape, COMPARE_LT, x.node, y.node);
    struct node *eq = node_compare(&lab.tape, COMPARE_EQ, x.node, y.node);
    struct node *ne = node_compare(&lab.tape, COMPARE_NE, x.node, y.node);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(lt->integer[i], less[i]);
        ck_assert_int_eq(eq->integer[i], same[i]);
        ck_assert_int_eq(ne->integer[i], !same[i]);
    }
    operand_clear(&x);
    operand_clear(&y);
    laboratory_close(&lab);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide");
    TCase *tests = tcase_create("decide");
    tcase_add_test(tests, rounded_products_compare_by_their_exact_values);
    tcase_add_test(tests, special_values);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
