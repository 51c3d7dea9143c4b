/* Where an element is, and what is said of a row. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/coordinates.h"
#include "results/row_sentence.h"

static const struct {
    const char *shape;
    size_t index, n;
    const char *text;
} places[] = {
    { "(2, 3)", 0, 6, "[0,0]" },
    { "(2, 3)", 5, 6, "[1,2]" },
    { "[4, 5, 6]", 2 * 30 + 3 * 6 + 4, 120, "[2,3,4]" },
    { "(5,)", 4, 5, "[4]" },
    { "(2, 3)", 9, 12, "[1,1]" }, /* complex: the real or imaginary part of element 4 */
    { "(2, 3)", 6, 6, "" },
    { "(0,)", 0, 0, "" },
    { " ", 3, 4, "" },
    { "()", 0, 1, "" },
    { "(18446744073709551615, 2)", 1, 2, "" },
};

START_TEST(coordinates)
{
    char text[COORDINATES_BYTES];
    coordinates_text(text, places[_i].shape, places[_i].index, places[_i].n);
    ck_assert_str_eq(text, places[_i].text);
}
END_TEST

/* A judged row of shape (2, 3) whose element 5 is the worst. */
static struct judged row_of(const char *message, const char *metric)
{
    struct judged judged = { .verdict = VERDICT_ERROR,
                             .has_metrics = true,
                             .deciding_metric = metric,
                             .deciding_value = 0.25,
                             .deciding_limit = 0.001 };
    judged.cells[COLUMN_SHAPE] = "(2, 3)";
    judged.cells[COLUMN_MESSAGE] = message;
    judged.metrics.n = 6;
    judged.metrics.worst_ulp.index = 5;
    judged.metrics.worst_abs.index = 0;
    return judged;
}

START_TEST(sentences)
{
    char text[ROW_SENTENCE_BYTES];
    struct judged judged = row_of("\nError model: 3 of 6 elements are further off than rounding "
                                  "explains; element 5 should be 1 and is 2, 9 times.\nmore\n",
                                  "model_worst");
    row_sentence(text, &judged, CAUSE_NONE);
    ck_assert_str_eq(text,
                     "3 of 6 elements are further off than rounding explains, worst at [1,2]");

    judged = row_of("whatever", "max_abs_error");
    row_sentence(text, &judged, CAUSE_NONE);
    ck_assert_str_eq(text, "max_abs_error 0.25, limit 0.001, worst at [1,2]");
    judged.has_over_rounding = true;
    judged.over_rounding = 404;
    row_sentence(text, &judged, CAUSE_NONE);
    ck_assert_str_eq(
        text, "max_abs_error 0.25, limit 0.001; 404 times what rounding explains, worst at [1,2]");
    judged.findings = (struct findings){
        .sought = true, .count = 1, .items = { { .sentence = "bias missing", .explains = 0.998 } }
    };
    row_sentence(text, &judged, CAUSE_NONE);
    ck_assert_str_eq(
        text,
        "max_abs_error 0.25, limit 0.001; 404 times what rounding explains, worst at [1,2]; looks "
        "like: bias missing (explains 99 %)");
    judged.findings.count = 0;
    judged.over_rounding = 0.5;
    judged.metrics.worst_ulp.index = SIZE_MAX;
    row_sentence(text, &judged, CAUSE_NONE);
    ck_assert_str_eq(text, "max_abs_error 0.25, limit 0.001; rounding explains it, worst at [0,0]");

    /* Rounding explains no NaN. */
    judged.metrics.mismatched = 14;
    row_sentence(text, &judged, CAUSE_NONE);
    ck_assert_str_eq(text, "max_abs_error 0.25, limit 0.001; 14 elements inf or nan on one side "
                           "only, worst at [0,0]");

    /* What compares nothing says why, in its first line, and cannot rule the terminal. */
    judged = row_of("\n \nthe kernel\x1b[31m ended by signal 11\nits log", "");
    judged.has_metrics = false;
    row_sentence(text, &judged, CAUSE_DEVICE_FAILED);
    ck_assert_str_eq(text, "the kernel [31m ended by signal 11");
    char *large = malloc(5000);
    memset(large, 'x', 4999);
    large[4999] = '\0';
    judged = row_of(large, "");
    row_sentence(text, &judged, CAUSE_DEVICE_FAILED);
    ck_assert_uint_eq(strlen(text), ROW_SENTENCE_BYTES - 1);
    free(large);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row sentence");
    TCase *tests = tcase_create("rows");
    tcase_add_loop_test(tests, coordinates, 0, sizeof places / sizeof *places);
    tcase_add_test(tests, sentences);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
