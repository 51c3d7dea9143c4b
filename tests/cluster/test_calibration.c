/* The calibration ends, leaves nothing behind, and gives factors of a real machine. */
#include "cluster/calibration.h"

#include <dirent.h>

#include "support/scratch.h"
#include "support/suite.h"

static size_t entries_in(const char *path)
{
    size_t count = 0;
    DIR *directory = opendir(path);
    ck_assert_ptr_nonnull(directory);
    while (readdir(directory)) count++;
    closedir(directory);
    return count - 2;
}

START_TEST(factors_are_measured)
{
    struct scratch scratch = scratch_make();
    const struct run_options options = RUN_OPTIONS_DEFAULTS;
    struct cost_model model = { { 0, 0, 0 } };
    ck_assert_int_eq(setenv("TMPDIR", scratch.path, 1), 0);
    struct status status = cost_calibrate(&model, &options);
    ck_assert_msg(!status.code, "%s", status.text);
    for (int i = 0; i < COST_FACTORS; i++) {
        ck_assert_double_ge(model.factors[i], 0.05);
        ck_assert_double_le(model.factors[i], 20);
        ck_assert_double_ne(model.factors[i], 1);
    }
    ck_assert_uint_eq(entries_in(scratch.path), 0);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(a_directory_that_is_missing_is_named)
{
    const struct run_options options = RUN_OPTIONS_DEFAULTS;
    struct cost_model model;
    ck_assert_int_eq(setenv("TMPDIR", "/no/such/directory", 1), 0);
    struct status status = cost_calibrate(&model, &options);
    ck_assert_int_eq(status.code, STATUS_IO);
    ck_assert_ptr_nonnull(strstr(status.text, "/no/such/directory"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster/calibration");
    TCase *cases = tcase_create("machine");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, factors_are_measured);
    tcase_add_test(cases, a_directory_that_is_missing_is_named);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
