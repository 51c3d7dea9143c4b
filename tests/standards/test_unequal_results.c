/* Elements that are made of the same numbers, some of which differ. */
#include <math.h>

#include "standards/unequal_results.h"
#include "support/suite.h"

enum { ROWS = 40, COLUMNS = 75, N = ROWS * COLUMNS };

static struct arena arena;
static float got[N];
static uint64_t inputs[N];

/* Two kinds of elements, in turns: 1.5 and 2.5. */
static void draw(void)
{
    for (size_t i = 0; i < N; i++) {
        inputs[i] = 7 + i % 2;
        got[i] = i % 2 ? 2.5F : 1.5F;
    }
}

static struct unequal_results find(void)
{
    static const int64_t shape[2] = { ROWS, COLUMNS };
    const struct reference want = {
        .dtype = DT_F32, .rank = 2, .shape = { ROWS, COLUMNS }, .n = N, .kernel_inputs = inputs
    };
    struct unequal_results found;
    struct tensor tensor;
    tensor_wrap(&tensor, got, DT_F32, 2, shape);
    ck_assert_int_eq(unequal_results_find(&found, &arena, &tensor, &want).code, STATUS_OK);
    return found;
}

START_TEST(equal_results)
{
    draw();
    ck_assert_uint_eq(find().count, 0);
    for (size_t i = 0; i < N; i++) got[i] = NAN;
    ck_assert_uint_eq(find().count, 0);
}
END_TEST

/* One element, by three units; by one unit nothing is said, nor of what a vector may leave over. */
START_TEST(one_that_differs)
{
    static const struct {
        size_t row, column;
        double units;
        size_t count;
    } cases[] = {
        { 20, 10, 3, 1 }, { 20, 63, 3, 1 }, { 20, 10, 1, 0 }, { 20, 64, 3, 0 }, { 39, 63, 3, 0 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t i = cases[c].row * COLUMNS + cases[c].column;
        draw();
        got[i] += (float)(cases[c].units * (i % 2 ? 0x1p-22 : 0x1p-23));
        struct unequal_results found = find();
        ck_assert_uint_eq(found.count, cases[c].count);
        if (!found.count) continue;
        ck_assert_uint_eq(found.index, i);
        ck_assert_double_eq(found.units, cases[c].units);
        ck_assert_double_eq(found.usual, i % 2 ? 2.5 : 1.5);
    }
}
END_TEST

/* Infinitely many units are between numbers and what is none. */
START_TEST(kinds_that_differ)
{
    draw();
    got[300] = NAN;
    ck_assert(find().count == 1 && isinf(find().units));
    got[300] = INFINITY;
    ck_assert(find().count == 1 && isinf(find().units));
}
END_TEST

/* The ends of rows, of matrices and of the whole, by what vectors of 2 to 64 leave over. */
START_TEST(what_is_left_over)
{
    static const int64_t even[2] = { 3, 64 }, odd[3] = { 2, 3, 10 }, small[1] = { 1 };
    for (size_t i = 0; i < 192; i++) ck_assert_uint_eq(left_over_by(2, even, i), 0);
    for (size_t i = 0; i < 60; i++) {
        bool row = i % 10 >= 8, matrix = i % 30 >= 16, whole = i >= 32;
        ck_assert_int_eq(left_over_by(3, odd, i) != 0, row || matrix || whole);
    }
    ck_assert_uint_eq(left_over_by(1, small, 0), 0);
    /* The ninth of a row by vectors of 4 and 8, bits 1 and 2; the 17th of a matrix by those of 16; and of all 60 the 39th by those of 32. */
    ck_assert_uint_eq(left_over_by(3, odd, 8), 2 | 4);
    ck_assert_uint_eq(left_over_by(3, odd, 16), 8);
    ck_assert_uint_eq(left_over_by(3, odd, 38), 2 | 4 | 16);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unequal_results");
    TCase *tests = tcase_create("unequal_results");
    tcase_add_test(tests, equal_results);
    tcase_add_test(tests, one_that_differs);
    tcase_add_test(tests, kinds_that_differ);
    tcase_add_test(tests, what_is_left_over);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
