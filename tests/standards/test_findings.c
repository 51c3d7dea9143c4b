/* A finding as a line. */
#include <check.h>
#include <stdlib.h>

#include "standards/findings.h"

/* What is not all of the error is not called all of it, and counts have commas. */
START_TEST(lines)
{
    static const struct {
        struct finding finding;
        const char *text;
        /* clang-format off */
    } rows[] = {
        { { "rounded inputs", "inputs rounded to 10 bits (TF32)", 0.99712, 2301, 2304, 2304 },
          "looks like: inputs rounded to 10 bits (TF32): explains 99.7 % of the error; 2,301 of 2,304 elements are then exactly right" },
        { { "eps", "eps taken for 0.001", 0.9999999, 3, 1234567, 1234567 },
          "looks like: eps taken for 0.001: explains 99.9 % of the error; 1,234,567 of 1,234,567 elements are then right but for honest rounding" },
        { { "bias", "bias missing", 1, 12, 12, 12 },
          "looks like: bias missing: explains 100 % of the error; 12 of 12 elements are then exactly right" },
        { { "bias", "bias missing", 0.5, 0, 1, 100 },
          "looks like: bias missing: explains 50 % of the error; 1 of 100 elements are then right but for honest rounding" },
    };
    /* clang-format on */
    char text[FINDING_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        finding_text(text, &rows[i].finding);
        ck_assert_str_eq(text, rows[i].text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("findings");
    TCase *tests = tcase_create("text");
    tcase_add_test(tests, lines);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
