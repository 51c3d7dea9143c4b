/* Hard inputs are what they are called, stay within the range, and depend on nothing but the key. */
#include <math.h>
#include <string.h>

#include "generators/fill.h"
#include "generators/hard.h"
#include "support/suite.h"

enum { LINES = 280, LINE = 64, COUNT = LINES * LINE };
static struct arena arena;
static const struct range wide = { .lo = -200, .hi = 200 };

static struct tensor filled(enum dtype dtype, const struct range *range, uint64_t key)
{
    struct tensor tensor;
    const int64_t shape[2] = { LINES, LINE };
    ck_assert_int_eq(tensor_create(&tensor, &arena, dtype, 2, shape).code, 0);
    fill_tensor(&tensor, range, key, NULL);
    hard_fill(&tensor, range, key);
    return tensor;
}

static void values_of(double x[COUNT], const struct tensor *tensor)
{
    dtype_to_double(x, tensor->data, tensor->dtype, COUNT);
}

static enum hard_line kind_of(uint64_t key, size_t line)
{
    return hard_line_of(fill_key_derive(key, STREAM_RULE), line);
}

START_TEST(elements_stay_in_the_range)
{
    static const struct range ranges[] = { { .lo = -200, .hi = 200 },
                                           { .lo = 0, .hi = 1 },
                                           { .lo = 0.5, .hi = 3 },
                                           { .lo = -7, .hi = -2 },
                                           { .lo = 1, .hi = 60000 } };
    static const enum dtype dtypes[] = { DT_F32, DT_F16, DT_BF16, DT_F64 };
    static double x[COUNT];
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
        for (size_t d = 0; d < 4; d++) {
            struct tensor tensor = filled(dtypes[d], &ranges[r], 7 + r);
            values_of(x, &tensor);
            for (size_t i = 0; i < COUNT; i++)
                ck_assert_msg(x[i] >= ranges[r].lo && x[i] <= ranges[r].hi, "%zu %zu: %g", r, d,
                              x[i]);
            arena_reset(&arena);
        }
}
END_TEST

/* Of every kind there are lines, and each is what its name says. */
START_TEST(lines_are_what_they_are_called)
{
    static double x[COUNT];
    size_t met[HARD_LINES] = { 0 }, below = 0, specials = 0, edges = 0;
    struct tensor tensor = filled(DT_F32, &wide, 3);
    values_of(x, &tensor);
    for (size_t line = 0; line < LINES; line++) {
        const double *y = x + line * LINE;
        enum hard_line kind = kind_of(3, line);
        double sum = 0, size = 0, smallest = INFINITY, largest = 0;
        met[kind]++;
        for (size_t i = 0; i < LINE; i++) {
            sum += y[i];
            size += fabs(y[i]);
            if (y[i] != 0) smallest = fmin(smallest, fabs(y[i]));
            largest = fmax(largest, fabs(y[i]));
        }
        for (size_t i = 0; i < LINE; i++) {
            double odd = fabs(y[i]) / ldexp(1, y[i] != 0 ? ilogb(y[i]) - 5 : 0);
            if (kind == HARD_TIES && y[i] != 0) ck_assert_double_eq(fmod(odd, 2), 1);
            if (kind == HARD_TINY) ck_assert_double_lt(fabs(y[i]), 0x1p-123);
            below += kind == HARD_TINY && fabs(y[i]) < 0x1p-126;
            specials += kind == HARD_SPECIAL && (y[i] == 0 || fabs(y[i]) == 1);
            edges += kind == HARD_EDGES && (y[i] == 88.5 || y[i] == -104);
        }
        if (kind == HARD_CANCELLING) ck_assert_double_lt(fabs(sum), 0x1p-12 * size);
        if (kind == HARD_WIDE) ck_assert_double_gt(largest, 0x1p18 * smallest);
    }
    for (int kind = 0; kind < HARD_LINES; kind++) ck_assert_uint_gt(met[kind], 10);
    ck_assert_uint_gt(below, met[HARD_TINY] * LINE / 3);
    ck_assert_uint_gt(specials, met[HARD_SPECIAL]);
    ck_assert_uint_gt(edges, met[HARD_EDGES]);
}
END_TEST

START_TEST(one_key_gives_one_tensor)
{
    struct tensor a = filled(DT_BF16, &wide, 11), b = filled(DT_BF16, &wide, 11),
                  c = filled(DT_BF16, &wide, 12);
    ck_assert_int_eq(memcmp(a.data, b.data, 2 * COUNT), 0);
    ck_assert_int_ne(memcmp(a.data, c.data, 2 * COUNT), 0);
}
END_TEST

static void teardown(void) { arena_release(&arena); }

int main(void)
{
    Suite *suite = suite_create("hard");
    TCase *tcase = tcase_create("hard");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, elements_stay_in_the_range);
    tcase_add_test(tcase, lines_are_what_they_are_called);
    tcase_add_test(tcase, one_key_gives_one_tensor);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
