/* Errors in one line of a tensor: drawn from normal laws, and spoilt in known places. */
#include <math.h>
#include <string.h>

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

static struct line_findings find_among(bool alike)
{
    static const int64_t shape[2] = { ROWS, COLUMNS };
    const struct error_field field = { z, want, N, 2, shape, alike };
    struct line_findings found;
    ck_assert_int_eq(error_lines_find(&found, &arena, &field).code, STATUS_OK);
    return found;
}

static struct line_findings find(void) { return find_among(false); }

/* Nothing is found among errors that are as large as expected, or smaller, independent or shared by rows. */
START_TEST(chance_is_not_found)
{
    static const double sizes[][2] = { { 1, 0 }, { 0.1, 0 }, { 0.3, 0.3 }, { 0.1, 1 }, { 0, 0.5 } };
    for (uint64_t seed = 1; seed <= 200; seed++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            draw(seed, sizes[k][0], sizes[k][1]);
            struct line_findings found = find_among(seed % 2);
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

/* More errors of a line count where lines are alike: 48 of a row, which have a mean of 1.3 by chance with less than 10^-10. */
START_TEST(a_line_among_lines_that_are_alike)
{
    float shift = 1.3F;
    draw(9, 0.3, 0);
    for_each(in_row, spoil, &shift);
    ck_assert(find().quotient < 1);
    struct line_findings found = find_among(true);
    ck_assert_msg(found.quotient > 1, "%g", found.quotient);
    ck_assert_int_eq(found.dimension, 0);
    ck_assert_uint_eq(found.line, 17);
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

/* ---- by definition ---------------------------------------------------------------------------- */

struct by_definition {
    const struct line_findings *found; /* by error_lines_find */
    double quotient;
    bool
        named; /* a line of that name has the quotient that was found: forms may have lines in common */
};

/* The sums of one line, element by element. */
struct sums {
    double count, squares, mean[2];
};

static struct sums sums_of(const struct error_field *field, size_t stride, size_t count,
                           size_t line)
{
    struct sums sums = { 0 };
    for (size_t i = 0; i < field->n; i++) {
        double error = field->z[i];
        if (i / stride % count != line || isnan(error)) continue;
        sums.count++;
        sums.squares += error * error;
        sums.mean[0] += error;
        sums.mean[1] += field->want[i] < 0 ? -error : error;
    }
    for (int k = 0; k < 2 && sums.count > 0; k++) sums.mean[k] /= sums.count;
    return sums;
}

static size_t different(const struct error_field *field, size_t stride, size_t count, size_t line)
{
    double met[64];
    size_t n = 0, most = field->alike ? 64 : 8;
    for (size_t i = 0; i < field->n && n < most; i++) {
        size_t k = 0;
        if (i / stride % count != line || isnan(field->z[i])) continue;
        while (k < n && met[k] != field->want[i]) k++;
        if (k == n) met[n++] = field->want[i];
    }
    return n;
}

/* What header and manual say of the lines of one form, without a thought of time. */
static void try_by_definition(struct by_definition *out, const struct error_field *field,
                              size_t stride, size_t count, int dimension)
{
    static struct sums lines[4096];
    double met = 0, elements = 0, total = 0, x = log((double)field->n * 1e10);
    ck_assert_uint_le(count, 4096);
    for (size_t j = 0; j < count; j++) {
        lines[j] = sums_of(field, stride, count, j);
        met += lines[j].count > 0;
        elements += lines[j].count;
        total += lines[j].squares;
    }
    for (size_t j = 0; j < count; j++) {
        const struct sums *own = &lines[j];
        double mean = 0, fourth = 0, shift[2] = { 0, 0 };
        if (own->count == 0 || met < 8 || elements - own->count < 64) continue;
        for (size_t k = 0; k < count; k++) {
            if (k == j || lines[k].count == 0) continue;
            double square = lines[k].squares / lines[k].count;
            mean += square / (met - 1);
            fourth += square * square / (met - 1);
            for (int s = 0; s < 2; s++) shift[s] += lines[k].mean[s] * lines[k].mean[s] / (met - 1);
        }
        double c = fmin(own->count, field->alike ? 64 : 8), shared = fmax(shift[0], shift[1]);
        double variance = fourth - mean * mean;
        if (shared > 0) c = fmin(c, mean / shared);
        if (variance > 0) c = fmin(c, 2 * mean * mean / variance);
        c = fmax(c, 1);
        double others = sqrt(fmax(total - own->squares, 0) / (elements - own->count)), quotient = 0;
        for (int again = 0; again < 2; again++) {
            double rms = sqrt(own->squares / own->count),
                   bias = fmax(fabs(own->mean[0]), fabs(own->mean[1]));
            quotient = fmax(rms / sqrt(1 + 2 * sqrt(x / c) + 2 * x / c), bias / sqrt(2 * x / c)) /
                       fmax(0.7, 2 * others);
            if (quotient <= 1) break;
            c = fmin(c, (double)different(field, stride, count, j));
        }
        out->quotient = fmax(out->quotient, quotient);
        const struct line_findings *found = out->found;
        out->named |= dimension == found->dimension && j == found->line &&
                      (size_t)own->count == found->elements &&
                      fabs(quotient - found->quotient) <= 1e-9 * quotient;
    }
}

static struct by_definition find_by_definition(const struct error_field *field,
                                               const struct line_findings *found)
{
    struct by_definition out = { .found = found };
    size_t n = field->n, stride = n, row = (size_t)field->shape[field->rank - 1];
    for (int d = 0; d < field->rank; d++) {
        size_t extent = (size_t)field->shape[d];
        stride /= extent;
        if (extent >= 8) try_by_definition(&out, field, stride, extent, d);
    }
    if (field->rank > 2 && row > 1 && n / row >= 8)
        try_by_definition(&out, field, row, n / row, -1);
    for (size_t size = 16; size <= 256; size *= 4)
        if ((n + size - 1) / size >= 8)
            try_by_definition(&out, field, size, (n + size - 1) / size, -1);
    for (size_t lanes = 8; lanes <= 32 && n >= 128; lanes *= 2)
        try_by_definition(&out, field, 1, lanes, -1);
    return out;
}

/* Shapes whose rows do not end where blocks do, elements without an error, lines that are spoilt or not. */
START_TEST(one_pass_finds_what_the_definition_finds)
{
    static const int64_t shapes[][4] = { { 60, 48, 1, 1 }, { 1, 1, 1, 1999 }, { 9, 8, 7, 5 },
                                         { 3, 11, 1, 37 }, { 40, 3, 3, 3 },   { 2, 13, 70, 1 },
                                         { 8, 2, 4, 8 },   { 257, 1, 1, 3 },  { 1, 5, 3, 9 },
                                         { 5, 3, 2, 64 },  { 1, 1, 20, 96 } };
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            struct error_field field = { z, want, 1, 4, shapes[k], seed % 3 == 1 };
            draw(seed, seed % 3 ? 0.3 : 1, seed % 4 ? 0 : 0.5);
            for (int d = 0; d < 4; d++) field.n *= (size_t)shapes[k][d];
            size_t stride = (size_t)1 << next_random() % 8, line = next_random() % 16;
            for (size_t i = 0; i < field.n; i++) {
                if (seed % 5 == 0 && uniform() < 0.3) z[i] = NAN;
                if (seed % 7 == 0) want[i] = round(2 * want[i]);
                if (seed % 2 && i / stride % 16 == line) z[i] += 3;
            }
            struct line_findings found;
            ck_assert_int_eq(error_lines_find(&found, &arena, &field).code, STATUS_OK);
            struct by_definition wanted = find_by_definition(&field, &found);
            ck_assert_msg(fabs(found.quotient - wanted.quotient) <= 1e-9 * wanted.quotient,
                          "seed %u, shape %zu: %.17g for %.17g", (unsigned)seed, k, found.quotient,
                          wanted.quotient);
            ck_assert_msg(found.quotient == 0 || wanted.named, "seed %u, shape %zu: %s %zu",
                          (unsigned)seed, k, found.form, found.line);
        }
}
END_TEST

/* Blocks without errors that are passed over leave what blocks of NaN leave, also within rows and where rows end. */
START_TEST(blocks_without_errors_are_passed_over)
{
    static const int64_t shapes[][2] = {
        { 9, 200 }, { 45, 40 }, { 3, 600 }, { 10, 256 }, { 2, 900 }
    };
    for (uint64_t seed = 1; seed <= 8; seed++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            struct error_field field = { z, want,      (size_t)(shapes[k][0] * shapes[k][1]),
                                         2, shapes[k], false };
            struct line_findings found, wanted;
            struct line_sums *lines;
            draw(seed, 1, 0.5);
            for (size_t i = 0; i < field.n; i++)
                if (seed >> i / LINE_SUMS_BLOCK % 4 & 1) z[i] = NAN;
            ck_assert_int_eq(error_lines_find(&wanted, &arena, &field).code, STATUS_OK);
            ck_assert_int_eq(line_sums_open(&lines, &arena, &field).code, STATUS_OK);
            for (size_t i = 0; i < field.n; i += LINE_SUMS_BLOCK) {
                size_t count = field.n - i < LINE_SUMS_BLOCK ? field.n - i : LINE_SUMS_BLOCK;
                (isnan(z[i]) ? line_sums_pass_over : line_sums_add)(lines, i, count);
            }
            error_lines_judge(&found, lines);
            ck_assert_double_eq(found.quotient, wanted.quotient);
            ck_assert_uint_eq(found.line, wanted.line);
            ck_assert(found.form == wanted.form || !strcmp(found.form, wanted.form));
        }
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
    const struct error_field empty = { z, want, 0, 2, none, false },
                             small = { z, want, 32, 2, few, false };
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
    tcase_add_test(tests, a_line_among_lines_that_are_alike);
    tcase_add_test(tests, equal_references_are_one_draw);
    tcase_add_test(tests, one_pass_finds_what_the_definition_finds);
    tcase_add_test(tests, blocks_without_errors_are_passed_over);
    tcase_add_test(tests, nothing_is_said_of_nothing);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    int failed = suite_run(suite);
    arena_release(&arena);
    return failed;
}
