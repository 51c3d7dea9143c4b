/* The nearest name by edit distance. */
#include <check.h>

#include "core/nearest_name.h"
#include "support/suite.h"

static const char *const names[] = { "softmax", "matmul", "conv2d", "linalg.inv" };

START_TEST(swapped_neighbours_are_one_edit)
{
    ck_assert_str_eq(nearest_name("sotfmax", names, 4), "softmax");
}
END_TEST

START_TEST(the_smallest_distance_wins_the_first_of_several)
{
    ck_assert_str_eq(nearest_name("conv3d", names, 4), "conv2d");
    ck_assert_str_eq(nearest_name("inv", names, 4), "conv2d"); /* 4 edits; softmax needs 7 */
}
END_TEST

START_TEST(capitals_and_dashes_do_not_count)
{
    ck_assert_str_eq(nearest_name("LINALG-INV", names, 4), "linalg.inv");
    static const char *const options[] = { "save_error_data", "case-timeout" };
    ck_assert_str_eq(nearest_name("case_timeot", options, 2), "case-timeout");
}
END_TEST

#define LONG "Module.module.language_model.decoder.transformer.encoder_layers.layers."

START_TEST(long_names_differ_behind_what_they_share)
{
    static const char *const modules[] = { LONG "1.mlp", LONG "11.mlp", LONG "11.attention" };
    ck_assert_str_eq(nearest_name(LONG "11.mlpp", modules, 3), LONG "11.mlp");
}
END_TEST

START_TEST(what_is_too_far_is_not_near)
{
    ck_assert_str_eq(near_name("sotfmax", names, 4), "softmax");
    ck_assert_ptr_null(near_name("embedding", names, 4));
    ck_assert_ptr_null(near_name("x", names, 0));
}
END_TEST

START_TEST(no_candidates_no_name) { ck_assert_ptr_null(nearest_name("x", names, 0)); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("nearest_name");
    TCase *tests = tcase_create("nearest_name");
    tcase_add_test(tests, swapped_neighbours_are_one_edit);
    tcase_add_test(tests, the_smallest_distance_wins_the_first_of_several);
    tcase_add_test(tests, capitals_and_dashes_do_not_count);
    tcase_add_test(tests, long_names_differ_behind_what_they_share);
    tcase_add_test(tests, what_is_too_far_is_not_near);
    tcase_add_test(tests, no_candidates_no_name);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
