/* Errors in one line of a tensor: drawn from normal laws, and spoilt in known places. */
#include <math.h>

#include "standards/error_lines.h"
#include "support/random_numbers.h"
#include "support/suite.h"

enum { ROWS = 60, COLUMNS = 48, N = ROWS * COLUMNS };

static struct arena arena;
static float z[N];
static double want[N];

static double normal(void)
{
    double a = uniform(), b = uniform();
    return sqrt(-2 * log(1 - a)) * cos(6.283185307179586 * b);
}

/* Errors of `own` expected ones each and `shared` by a row. */
static void draw(uint64_t seed, double own, double shared)
{
    state = seed * 2654435761u + 1;
    for (size_t i = 0, row = 0; row < ROWS; row++) {
        double common = shared * normal();
        for (size_t j = 0; j < COLUMNS; j++, i++) {
            z[i] = (float)(common + own * normal());
            want[i] = normal();
        }
    }
}

static struct line_findings find(void)
{
    static const int64_t shape[2] = { ROWS, COLUMNS };
    const struct error_field field = { z, want, N, 2, shape };
    struct line_findings found;
    ck_assert_int_eq(error_lines_find(&found, &arena, &field).code, STATUS_OK);
    return found;
}

/* Nothing is found among errors that are as large as expected, or smaller, independent or shared by rows. */
START_TEST(chance_is_not_found)
{
    static const double sizes[][2] = { { 1, 0 }, { 0.1, 0 }, { 0.3, 0.3 }, { 0.1, 1 }, { 0, 0.5 } };
    for (uint64_t seed = 1; seed <= 200; seed++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            draw(seed, sizes[k][0], sizes[k][1]);
            struct line_findings found = find();
            ck_assert_msg(found.quotient <= 0.9, "seed %u: %s %zu at %g", (unsigned)seed,
                          found.form, found.line, found.quotient);
        }
}
END_TEST

static void spoil(size_t i, void *context) { z[i] += *(const float *)context; }

static void for_each(bool (*in)(size_t i), void (*change)(size_t i, void *), void *context)
{
    for (size_t i = 0; i < N; i++)
        if (in(i)) change(i, context);
}

static bool in_row(size_t i) { return i / COLUMNS == 17; }
static bool in_column(size_t i) { return i % COLUMNS == 5; }
static bool in_tile(size_t i) { return i / 16 == 101; }
static bool in_lane(size_t i) { return i % 8 == 3; }

/* A shift of four expected errors in one line, where the whole tensor has an rms below 1.5. */
START_TEST(a_line_is_found)
{
    static const struct {
        bool (*in)(size_t i);
        const char *form;
        int dimension;
        size_t line;
    } lines[] = { { in_row, "index", 0, 17 },
                  { in_column, "index", 1, 5 },
                  { in_tile, "block", -1, 101 },
                  { in_lane, "lane", -1, 3 } };
    float shift = 4;
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        draw(9, 0.3, 0);
        ck_assert(find().quotient < 0.9);
        for_each(lines[k].in, spoil, &shift);
        struct line_findings found = find();
        ck_assert_msg(found.quotient > 1, "%s: %g", lines[k].form, found.quotient);
        ck_assert_str_eq(found.form, lines[k].form);
        ck_assert_int_eq(found.dimension, lines[k].dimension);
        ck_assert_uint_eq(found.line, lines[k].line);
    }
}
END_TEST

/* A row of equal references has one error, and that may be four times the expected one. */
START_TEST(equal_references_are_one_draw)
{
    float shift = 4;
    draw(4, 0.3, 0);
    for_each(in_row, spoil, &shift);
    ck_assert(find().quotient > 1);
    for (size_t i = 0; i < N; i++)
        if (in_row(i)) want[i] = 0.5;
    struct line_findings found = find();
    ck_assert_msg(found.quotient <= 1 || found.dimension != 0 || found.line != 17, "%g",
                  found.quotient);
}
END_TEST

/* Where no element has an error, or there are too few, nothing is said. */
START_TEST(nothing_is_said_of_nothing)
{
    static const int64_t none[2] = { 0, 5 }, few[2] = { 4, 8 };
    struct line_findings found;
    for (size_t i = 0; i < N; i++) z[i] = NAN;
    ck_assert(find().quotient == 0);
    for (size_t i = 0; i < 32; i++) z[i] = i < 8 ? 100 : 0;
    const struct error_field empty = { z, want, 0, 2, none }, small = { z, want, 32, 2, few };
    ck_assert_int_eq(error_lines_find(&found, &arena, &empty).code, STATUS_OK);
    ck_assert(found.quotient == 0);
    ck_assert_int_eq(error_lines_find(&found, &arena, &small).code, STATUS_OK);
    ck_assert(found.quotient == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error_lines");
    TCase *tests = tcase_create("lines");
    tcase_add_test(tests, chance_is_not_found);
    tcase_add_test(tests, a_line_is_found);
    tcase_add_test(tests, equal_references_are_one_draw);
    tcase_add_test(tests, nothing_is_said_of_nothing);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    int failed = suite_run(suite);
    arena_release(&arena);
    return failed;
}
