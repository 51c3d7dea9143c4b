/* Numbers in cells: what they are printed as, and what is read, is what printf and strtod make of them. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "formats/csv.h"
#include "support/suite.h"

#define ck_ok(expression)                                                   \
    do {                                                                    \
        struct status ck_status_ = (expression);                            \
        ck_assert_msg(ck_status_.code == STATUS_OK, "%s", ck_status_.text); \
    } while (0)

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

START_TEST(tells_numbers_from_text)
{
    static const char *const numbers[] = { "0",
                                           "-1.5",
                                           "+.5",
                                           "1.",
                                           "1e5",
                                           "1E-05",
                                           " 2 ",
                                           "NaN",
                                           "-Infinity",
                                           "inf",
                                           "0.00000000000000" };
    static const char *const texts[] = { "",      " ",    "-",   ".",    "e5",      "1e",  "1e+",
                                         "1.2.3", "0x10", "1 2", "nano", "infinit", "--1", "1,5" };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ck_assert_msg(csv_is_number(numbers[i], strlen(numbers[i])), "'%s'", numbers[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!csv_is_number(texts[i], strlen(texts[i])), "'%s'", texts[i]);
}
END_TEST

/* Fixed notation has the digits of printf, for values of every size. */
START_TEST(prints_as_printf)
{
    static const double special[] = { 0.0,
                                      -0.0,
                                      0.5,
                                      1.5,
                                      2.5,
                                      0.125,
                                      0x1p60,
                                      0x1.fffffffffffffp59,
                                      0x1p53,
                                      1e300,
                                      5e-324,
                                      5e-15,
                                      1.5e-14,
                                      0.000000000000005,
                                      999999999999.99999999,
                                      1.7976931348623157e308 };
    uint64_t state = 99 + (uint64_t)_i;
    char expected[400];
    for (int i = 0; i < 20000; i++) {
        double value;
        uint64_t bits = next_random(&state) << 33 ^ next_random(&state) << 11 ^ next_random(&state);
        memcpy(&value, &bits, sizeof value);
        if (i < 16) value = special[i];
        else if (i % 3) value = ldexp((double)(int64_t)bits, -(int)(next_random(&state) % 140));
        else if (!isfinite(value)) continue;
        struct csv_buffer buffer = { 0 };
        ck_ok(csv_append_fixed(&buffer, value, _i));
        int length = snprintf(expected, sizeof expected, "%.*f,", _i, value);
        ck_assert_msg(buffer.length == (size_t)length &&
                          memcmp(buffer.data, expected, buffer.length) == 0,
                      "%a printed as %.*s", value, (int)buffer.length, buffer.data);
        csv_buffer_release(&buffer);
    }
}
END_TEST

START_TEST(prints_what_is_not_finite)
{
    struct csv_buffer buffer = { 0 };
    ck_ok(csv_append_fixed(&buffer, NAN, 14));
    ck_ok(csv_append_fixed(&buffer, -NAN, 14));
    ck_ok(csv_append_fixed(&buffer, INFINITY, 14));
    ck_ok(csv_append_fixed(&buffer, -INFINITY, 14));
    ck_assert_uint_eq(buffer.length, 17);
    ck_assert_mem_eq(buffer.data, "nan,nan,inf,-inf,", 17);
    csv_buffer_release(&buffer);
}
END_TEST

/* Numbers read to the double that strtod gives, whatever their form. */
START_TEST(reads_numbers_as_strtod)
{
    static const char *const texts[] = { "0",
                                         "-0.0",
                                         "0.00000000000000",
                                         "1132.60594634612403",
                                         "0.99999999999503",
                                         "+1.5",
                                         ".5",
                                         "5.",
                                         "1e-7",
                                         "-2E+05",
                                         " 3.25 ",
                                         "123456789012345678901234567890.5",
                                         "inf",
                                         "-Infinity",
                                         "4.9e-324",
                                         "1e999",
                                         "000.000000000000",
                                         "007",
                                         "-00.5" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double value = 7;
        ck_assert_msg(csv_read_number(&value, (struct csv_text){ texts[i], strlen(texts[i]) }),
                      "'%s'", texts[i]);
        double expected = strtod(texts[i], NULL);
        ck_assert_msg(memcmp(&value, &expected, sizeof value) == 0, "'%s' read as %a", texts[i],
                      value);
    }
    double value = 7;
    ck_assert(csv_read_number(&value, (struct csv_text){ "nan", 3 }));
    ck_assert(isnan(value));
    value = 7;
    ck_assert(!csv_read_number(&value, (struct csv_text){ " ", 1 }));
    ck_assert(!csv_read_number(&value, (struct csv_text){ "1.2.3", 5 }));
    ck_assert(!csv_read_number(&value, (struct csv_text){ "-", 1 }));
    ck_assert_double_eq(value, 7);
}
END_TEST

/* Numbers of any digits before and behind the point, and with a byte among them that is none, in memory that ends
 * behind them. */
START_TEST(reads_digits_as_strtod)
{
    uint64_t state = (uint64_t)_i + 7;
    for (int round = 0; round < 20000; round++) {
        char text[64];
        size_t length = 0, wholes = 1 + next_random(&state) % 4;
        size_t decimals = next_random(&state) % 24;
        if (next_random(&state) % 4 == 0) text[length++] = '-';
        while (wholes--) text[length++] = (char)('0' + next_random(&state) % 10);
        if (decimals) text[length++] = '.';
        while (decimals--) text[length++] = (char)('0' + next_random(&state) % 10);
        if (next_random(&state) % 3 == 0)
            text[next_random(&state) % length] = (char)next_random(&state) | 1; /* no NUL */
        text[length] = '\0';
        char *end, *copy = memory_copy_bytes(text, length);
        double value = 7, expected = strtod(text, &end);
        bool is_number = csv_is_number(text, length);
        ck_assert_ptr_nonnull(copy);
        ck_assert_msg(csv_read_number(&value, (struct csv_text){ copy, length }) == is_number, "%s",
                      text);
        if (is_number)
            ck_assert_msg(memcmp(&value, &expected, sizeof value) == 0 || isnan(expected),
                          "%s read as %a", text, value);
        memory_release(copy);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("csv_numbers");
    TCase *tests = tcase_create("csv_numbers");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, reads_digits_as_strtod, 0, 4);
    tcase_add_test(tests, tells_numbers_from_text);
    tcase_add_loop_test(tests, prints_as_printf, 0, 21);
    tcase_add_test(tests, prints_what_is_not_finite);
    tcase_add_test(tests, reads_numbers_as_strtod);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
