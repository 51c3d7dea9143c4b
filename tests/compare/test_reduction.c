/* What a reduction may leave: any order of honest roundings passes, the next float beyond is an error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/collectives/reduction.h"
#include "compare/collectives/suspicion.h"
#include "support/random_numbers.h"
#include "support/suite.h"

enum { MOST_RANKS = 300, MOST_ELEMENTS = 700, WIDEST = 16 };

static const enum dtype floats[] = { DT_F64, DT_F32, DT_F16, DT_BF16 };

struct tensors {
    unsigned char given[MOST_RANKS][MOST_ELEMENTS * WIDEST], got[MOST_ELEMENTS * WIDEST];
    struct piece pieces[MOST_RANKS], left;
    int64_t members[MOST_RANKS];
};

static struct tensors *tensors;

static void set_up(void)
{
    tensors = calloc(1, sizeof *tensors);
    state = 20240607;
}

static void tear_down(void) { free(tensors); }

static void describe(size_t ranks, size_t elements)
{
    for (size_t r = 0; r < ranks; r++) {
        tensors->pieces[r] = (struct piece){ tensors->given[r], elements };
        tensors->members[r] = (int64_t)(10 + r);
    }
    tensors->left = (struct piece){ tensors->got, elements };
}

static void draw(enum dtype dtype, size_t ranks, size_t elements)
{
    describe(ranks, elements);
    for (size_t r = 0; r < ranks; r++)
        for (size_t i = 0; i < elements; i++) {
            double x = 2 * uniform() - 1;
            dtype_from_double(tensors->given[r] + i * dtype_info(dtype)->bytes, dtype, &x, 1);
        }
}

static double given(enum dtype dtype, size_t rank, size_t i)
{
    double parts[2];
    dtype_to_double(parts, tensors->given[rank] + i * dtype_info(dtype)->bytes, dtype, 1);
    return parts[0];
}

static void leave(enum dtype dtype, size_t i, double x)
{
    double parts[2] = { x, 0 };
    dtype_from_double(tensors->got + i * dtype_info(dtype)->bytes, dtype, parts, 1);
}

static double rounded(enum dtype dtype, double x)
{
    unsigned char bytes[WIDEST];
    dtype_from_double(bytes, dtype, &x, 1);
    dtype_to_double(&x, bytes, dtype, 1);
    return x;
}

static struct reduction_error judge(enum reduction reduction, enum dtype dtype, size_t ranks)
{
    struct reduction_error error = { 0 };
    reduction_judge(&error, reduction, dtype, tensors->pieces, ranks, &tensors->left, NULL, 0,
                    tensors->left.elements);
    return error;
}

/* Around the ring, rounding to the dtype at each rank; every element begins at another rank. */
static double around_the_ring(enum dtype dtype, size_t ranks, size_t i)
{
    double sum = given(dtype, i % ranks, i);
    for (size_t k = 1; k < ranks; k++) sum = rounded(dtype, sum + given(dtype, (i + k) % ranks, i));
    return sum;
}

/* Pairs, pairs of pairs, ... */
static double up_the_tree(enum dtype dtype, size_t ranks, size_t i, size_t first)
{
    if (ranks == 1) return given(dtype, first, i);
    size_t half = ranks / 2;
    return rounded(dtype, up_the_tree(dtype, half, i, first) +
                              up_the_tree(dtype, ranks - half, i, first + half));
}

static double in_double(enum dtype dtype, size_t ranks, size_t i)
{
    double sum = 0;
    for (size_t r = 0; r < ranks; r++) sum += given(dtype, r, i);
    return rounded(dtype, sum);
}

START_TEST(every_order_of_a_sum_passes)
{
    static const size_t counts[] = { 1, 2, 3, 8, 300 };
    enum dtype dtype = floats[_i];
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t ranks = counts[c];
        draw(dtype, ranks, MOST_ELEMENTS);
        for (int order = 0; order < 3; order++) {
            for (size_t i = 0; i < MOST_ELEMENTS; i++)
                leave(dtype, i,
                      order == 0   ? around_the_ring(dtype, ranks, i)
                      : order == 1 ? up_the_tree(dtype, ranks, i, 0)
                                   : in_double(dtype, ranks, i));
            struct reduction_error error = judge(REDUCTION_SUM, dtype, ranks);
            ck_assert_msg(!error.wrong && !error.unjudged && error.quotient <= 1,
                          "%s, %zu ranks, order %d: %zu wrong, %g", dtype_info(dtype)->name, ranks,
                          order, error.wrong, error.quotient);
        }
    }
}
END_TEST

/* An average may divide first, last, or multiply by a rounded 1/k. */
START_TEST(every_way_to_an_average_passes)
{
    enum { RANKS = 7 };
    enum dtype dtype = floats[_i];
    draw(dtype, RANKS, MOST_ELEMENTS);
    for (int way = 0; way < 3; way++) {
        for (size_t i = 0; i < MOST_ELEMENTS; i++) {
            double sum = 0, factor = rounded(dtype, 1.0 / RANKS);
            for (size_t r = 0; r < RANKS; r++)
                sum = rounded(dtype, sum + (way == 0   ? rounded(dtype, given(dtype, r, i) / RANKS)
                                            : way == 1 ? rounded(dtype, given(dtype, r, i) * factor)
                                                       : given(dtype, r, i)));
            leave(dtype, i, way == 2 ? sum / RANKS : sum);
        }
        struct reduction_error error = judge(REDUCTION_AVERAGE, dtype, RANKS);
        ck_assert_msg(!error.wrong, "%s, way %d: %g", dtype_info(dtype)->name, way, error.quotient);
    }
}
END_TEST

START_TEST(products_and_extremes_pass)
{
    enum { RANKS = 5 };
    enum dtype dtype = floats[_i];
    draw(dtype, RANKS, MOST_ELEMENTS);
    for (enum reduction reduction = REDUCTION_PRODUCT; reduction <= REDUCTION_MAXIMUM;
         reduction++) {
        for (size_t i = 0; i < MOST_ELEMENTS; i++) {
            double x = given(dtype, 0, i);
            for (size_t r = 1; r < RANKS; r++) {
                double y = given(dtype, r, i);
                x = reduction == REDUCTION_PRODUCT   ? rounded(dtype, x * y)
                    : reduction == REDUCTION_MINIMUM ? fmin(x, y)
                                                     : fmax(x, y);
            }
            leave(dtype, i, x);
        }
        ck_assert_uint_eq(judge(reduction, dtype, RANKS).wrong, 0);
        leave(dtype, 5, given(dtype, 0, 5) * 4 + 8);
        struct reduction_error error = judge(reduction, dtype, RANKS);
        ck_assert_uint_eq(error.wrong, 1);
        ck_assert_uint_eq(error.worst, 5);
    }
}
END_TEST

/* Two ranks may be off by two units of the larger part, not by more. */
START_TEST(a_sum_is_bounded)
{
    describe(2, 1);
    double x[] = { 1, 0.5 };
    for (size_t r = 0; r < 2; r++) dtype_from_double(tensors->given[r], DT_F32, &x[r], 1);
    static const struct {
        double got;
        bool wrong;
    } rows[] = { { 1.5, false },           { 1.5 + 0x1p-23, false }, { 1.5 + 0x1p-22, true },
                 { 1.5 - 0x1p-23, false }, { 1.5 - 0x1p-22, true },  { NAN, true },
                 { INFINITY, true } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        leave(DT_F32, 0, rows[i].got);
        ck_assert_msg(judge(REDUCTION_SUM, DT_F32, 2).wrong == rows[i].wrong, "row %zu", i);
    }
}
END_TEST

START_TEST(values_that_are_not_finite)
{
    static const struct {
        double a, b, got;
        bool wrong, unjudged;
    } rows[] = {
        { INFINITY, 1, INFINITY, false, false },
        { INFINITY, 1, 1, true, false },
        { INFINITY, -INFINITY, NAN, false, false },
        { INFINITY, -INFINITY, 0, true, false },
        { NAN, 1, NAN, false, false },
        { NAN, 1, 1, true, false },
        { -INFINITY, 1, INFINITY, true, false },
        { 3e38, 3e38, INFINITY, false, true },
        { 3e38, -3e38, NAN, false, true },
        { 0, 0, 0, false, false },
        { 0, -0.0, -0.0, false, false },
        { 0, 0, 1e-45, true, false },
    };
    describe(2, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dtype_from_double(tensors->given[0], DT_F32, &rows[i].a, 1);
        dtype_from_double(tensors->given[1], DT_F32, &rows[i].b, 1);
        leave(DT_F32, 0, rows[i].got);
        struct reduction_error error = judge(REDUCTION_SUM, DT_F32, 2);
        ck_assert_msg(error.wrong == rows[i].wrong && error.unjudged == rows[i].unjudged,
                      "row %zu: %zu %zu", i, error.wrong, error.unjudged);
    }
}
END_TEST

START_TEST(integers_wrap_around)
{
    static const struct {
        enum reduction reduction;
        enum dtype dtype;
        int64_t a, b, want;
    } rows[] = {
        { REDUCTION_SUM, DT_I8, 100, 100, -56 },
        { REDUCTION_SUM, DT_U8, 200, 100, 44 },
        { REDUCTION_SUM, DT_I64, INT64_MAX, 1, INT64_MIN },
        { REDUCTION_PRODUCT, DT_I32, 65536, 65536, 0 },
        { REDUCTION_MINIMUM, DT_I16, -7, 5, -7 },
        { REDUCTION_MAXIMUM, DT_I16, -7, 5, 5 },
        { REDUCTION_AND, DT_I32, 12, 10, 8 },
        { REDUCTION_OR, DT_I32, 12, 10, 14 },
        { REDUCTION_XOR, DT_I32, 12, 10, 6 },
        { REDUCTION_SUM, DT_BOOL, 1, 1, 1 },
        { REDUCTION_PRODUCT, DT_BOOL, 1, 0, 0 },
    };
    describe(2, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dtype_from_int64(tensors->given[0], rows[i].dtype, &rows[i].a, 1);
        dtype_from_int64(tensors->given[1], rows[i].dtype, &rows[i].b, 1);
        dtype_from_int64(tensors->got, rows[i].dtype, &rows[i].want, 1);
        ck_assert_msg(!judge(rows[i].reduction, rows[i].dtype, 2).wrong, "row %zu", i);
        const int64_t other = rows[i].dtype == DT_BOOL ? !rows[i].want : rows[i].want ^ 2;
        dtype_from_int64(tensors->got, rows[i].dtype, &other, 1);
        ck_assert_msg(judge(rows[i].reduction, rows[i].dtype, 2).wrong == 1, "row %zu", i);
    }
}
END_TEST

/* Both parts of a complex number; an element is one, whatever its parts. */
START_TEST(complex_numbers_are_added_by_parts)
{
    const double a[] = { 1, 2, 3, 4 }, b[] = { 10, 20, 30, 40 };
    double sum[] = { 11, 22, 33, 44 };
    describe(2, 2);
    dtype_from_double(tensors->given[0], DT_C64, a, 2);
    dtype_from_double(tensors->given[1], DT_C64, b, 2);
    dtype_from_double(tensors->got, DT_C64, sum, 2);
    ck_assert_uint_eq(judge(REDUCTION_SUM, DT_C64, 2).wrong, 0);
    sum[3] = 45;
    dtype_from_double(tensors->got, DT_C64, sum, 2);
    struct reduction_error error = judge(REDUCTION_SUM, DT_C64, 2);
    ck_assert_uint_eq(error.wrong, 1);
    ck_assert_uint_eq(error.worst, 1);
    ck_assert_double_eq(error.want, 44);
}
END_TEST

/* Bits decide of copies: the sign of a zero, the payload of a NaN. */
START_TEST(copies_are_exact)
{
    static const double x[] = { 0, 1, NAN };
    describe(1, 3);
    dtype_from_double(tensors->given[0], DT_F32, x, 3);
    memcpy(tensors->got, tensors->given[0], 12);
    ck_assert_uint_eq(judge(REDUCTION_COPY, DT_F32, 1).wrong, 0);
    for (size_t byte = 0; byte < 12; byte++) {
        tensors->got[byte] ^= 0x80;
        struct reduction_error error = judge(REDUCTION_COPY, DT_F32, 1);
        ck_assert_uint_eq(error.wrong, 1);
        ck_assert_uint_eq(error.worst, byte / 4);
        tensors->got[byte] ^= 0x80;
    }
}
END_TEST

/* The worst element of all blocks is reported, and every wrong one counted. */
START_TEST(blocks_are_put_together)
{
    enum { RANKS = 3, MANY = 5000 };
    float *x[RANKS], *sum = calloc(MANY, sizeof *sum);
    struct piece pieces[RANKS];
    for (size_t r = 0; r < RANKS; r++) {
        x[r] = calloc(MANY, sizeof *x[r]);
        for (size_t i = 0; i < MANY; i++) sum[i] += x[r][i] = (float)(i % 97 + r);
        pieces[r] = (struct piece){ (unsigned char *)x[r], MANY };
    }
    sum[10] += 1;
    sum[4321] += 5;
    sum[4999] -= 2;
    const struct piece got = { (unsigned char *)sum, MANY };
    struct reduction_error error = { 0 };
    reduction_judge(&error, REDUCTION_SUM, DT_F32, pieces, RANKS, &got, NULL, 0, MANY);
    ck_assert_uint_eq(error.wrong, 3);
    ck_assert_uint_eq(error.worst, 4321);
    for (size_t r = 0; r < RANKS; r++) free(x[r]);
    free(sum);
}
END_TEST

START_TEST(what_is_not_defined_is_said)
{
    static const struct {
        enum reduction reduction;
        enum dtype dtype;
        bool defined;
    } rows[] = {
        { REDUCTION_COPY, DT_C128, true },    { REDUCTION_SUM, DT_C64, true },
        { REDUCTION_AVERAGE, DT_C64, true },  { REDUCTION_PRODUCT, DT_C64, false },
        { REDUCTION_MINIMUM, DT_C64, false }, { REDUCTION_AVERAGE, DT_I32, false },
        { REDUCTION_XOR, DT_I32, true },      { REDUCTION_XOR, DT_F32, false },
        { REDUCTION_AND, DT_BOOL, true },     { REDUCTION_SUM, DT_BOOL, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(!reduction_obstacle(rows[i].reduction, rows[i].dtype) == rows[i].defined,
                      "row %zu", i);
}
END_TEST

/* ---- what a mistake looks like ------------------------------------------------------------ */

enum { FOUR = 4 };

static double of_mistake(int mistake, size_t i)
{
    double sum = 0, largest = -INFINITY;
    for (size_t r = 0; r < FOUR; r++) {
        double x = given(DT_F32, r, i);
        sum += x;
        largest = fmax(largest, x);
    }
    switch (mistake) {
    case 0: return given(DT_F32, 1, i);
    case 1: return given(DT_F32, 3, i);
    case 2: return sum - given(DT_F32, 2, i);
    case 3: return sum + given(DT_F32, 0, i);
    case 4: return sum / FOUR;
    case 5: return largest;
    case 6: return rounded(DT_BF16, sum);
    case 7: return 1000 + sum;
    default: return sum;
    }
}

START_TEST(mistakes_are_named)
{
    static const char *const texts[] = {
        "it is what this rank gave: nothing was reduced",
        "it is what rank 13 gave: nothing was reduced",
        "as if rank 12 were left out",
        "as if rank 10 were counted twice",
        "it is the average, not the sum",
        "it is the maximum, not the sum",
        "errors as of a reduction in bfloat16",
        NULL, /* no simple one */
        NULL, /* none at all */
    };
    for (int mistake = 0; mistake < (int)(sizeof texts / sizeof *texts); mistake++) {
        char text[SUSPICION_BYTES] = "";
        draw(DT_F32, FOUR, MOST_ELEMENTS);
        for (size_t i = 0; i < MOST_ELEMENTS; i++) leave(DT_F32, i, of_mistake(mistake, i));
        struct reduction_error error = judge(REDUCTION_SUM, DT_F32, FOUR);
        const struct suspect suspect = { REDUCTION_SUM, DT_F32, tensors->pieces, tensors->members,
                                         FOUR,          1,      &tensors->left,  &error };
        bool found = suspicion_find(text, &suspect);
        ck_assert_msg(found == !!texts[mistake], "mistake %d: '%s'", mistake, text);
        if (found) ck_assert_str_eq(text, texts[mistake]);
    }
}
END_TEST

/* A single element fits too much to accuse anybody. */
START_TEST(few_elements_tell_nothing)
{
    char text[SUSPICION_BYTES];
    draw(DT_F32, FOUR, 2);
    for (size_t i = 0; i < 2; i++) leave(DT_F32, i, of_mistake(2, i));
    struct reduction_error error = judge(REDUCTION_SUM, DT_F32, FOUR);
    const struct suspect suspect = { REDUCTION_SUM, DT_F32, tensors->pieces, tensors->members,
                                     FOUR,          1,      &tensors->left,  &error };
    ck_assert(!suspicion_find(text, &suspect));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduction");
    TCase *tests = tcase_create("reduction");
    const int n_floats = sizeof floats / sizeof *floats;
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, every_order_of_a_sum_passes, 0, n_floats);
    tcase_add_loop_test(tests, every_way_to_an_average_passes, 0, n_floats);
    tcase_add_loop_test(tests, products_and_extremes_pass, 0, n_floats);
    tcase_add_test(tests, a_sum_is_bounded);
    tcase_add_test(tests, values_that_are_not_finite);
    tcase_add_test(tests, integers_wrap_around);
    tcase_add_test(tests, complex_numbers_are_added_by_parts);
    tcase_add_test(tests, copies_are_exact);
    tcase_add_test(tests, blocks_are_put_together);
    tcase_add_test(tests, what_is_not_defined_is_said);
    tcase_add_test(tests, mistakes_are_named);
    tcase_add_test(tests, few_elements_tell_nothing);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
