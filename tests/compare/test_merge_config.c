/* The configuration of merge_result: what it says, what is refused and where. */
#include <string.h>

#include "compare/merge/merge_config.h"
#include "support/suite.h"

static struct arena arena;

static void release(void) { arena_release(&arena); }

static struct status parse(struct merge_config *out, const char *text)
{
    return merge_config_parse(out, &arena, "merge.yaml", text, strlen(text));
}

START_TEST(apis_and_columns_in_their_order)
{
    struct merge_config config;
    struct status status = parse(&config, "compare_index: [Norm diff, Max diff, L2norm diff]\n"
                                          "api:\n- Tensor\n- Functional.linear.0\n- Tensor\n"
                                          "something: else\n");
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(config.n_apis, 2);
    ck_assert_str_eq(config.apis[0], "Tensor");
    ck_assert_str_eq(config.apis[1], "Functional.linear.0");
    ck_assert_uint_eq(config.n_indices, 2); /* the first is another word for the third */
    ck_assert_str_eq(config.indices[0], "L2norm diff");
    ck_assert_str_eq(config.indices[1], "Max diff");
}
END_TEST

START_TEST(no_columns_mean_all)
{
    static const char *const texts[] = { "api: [a]\n", "api: [a]\ncompare_index:\n",
                                         "api: [a]\ncompare_index: []\n" };
    struct merge_config config;
    ck_assert(!parse(&config, texts[_i]).code);
    ck_assert_uint_eq(config.n_indices, 0);
}
END_TEST

static const struct {
    const char *text, *message;
} refused[] = {
    { "", "merge.yaml, line 1, column 1: keys 'api' and 'compare_index' are expected" },
    { "- a\n", "merge.yaml, line 1, column 1: keys 'api' and 'compare_index' are expected" },
    { "compare_index: []\n", "merge.yaml, line 1, column 1: the list 'api' is missing" },
    { "api:\n", "the list 'api' is missing" },
    { "api: []\n", "merge.yaml, line 1, column 6: the list 'api' is empty" },
    { "api: a\n", "merge.yaml, line 1, column 6: 'api' must be a list" },
    { "api:\n- {a: b}\n", "merge.yaml, line 2, column 3: an item of 'api' must be a name" },
    { "api:\n- ~\n", "merge.yaml, line 2, column 3: an item of 'api' must be a name" },
    { "api:\n- a..b\n", "merge.yaml, line 2, column 3: 'a..b' is no API" },
    { "api:\n- a.\n", "'a.' is no API" },
    { "api:\n- .a\n", "'.a' is no API" },
    { "api: [a]\ncompare_index: Cosine\n", "line 2, column 16: 'compare_index' must be a list" },
    { "api: [a]\ncompare_index: [Cosinus]\n",
      "line 2, column 17: 'Cosinus' is no column that can be merged, the nearest is 'Cosine'" },
    { "api: [a]\ncompare_index: [NPU max]\n", "'NPU max' is no column that can be merged" },
    { "api: [a\n", "merge.yaml, line 2, column 1" },
};

START_TEST(other_texts_are_refused_with_their_place)
{
    struct merge_config config;
    struct status status = parse(&config, refused[_i].text);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, refused[_i].message) != NULL, "%s", status.text);
}
END_TEST

/* A name belongs to the first API that it continues, and only behind a dot. */
START_TEST(rows_belong_to_the_first_api_that_they_continue)
{
    struct merge_config config;
    ck_assert(!parse(&config, "api: [Functional.linear.1, Functional, Tensor.add]\n").code);
    static const struct {
        const char *row;
        size_t api;
    } rows[] = {
        { "Functional.linear.1.forward.input.0", 0 },
        { "Functional.linear.10.forward.input.0", 1 },
        { "Functional.relu.0.forward.output.0", 1 },
        { "Functional", 3 },
        { "Functionals.relu.0", 3 },
        { "Tensor.add.0.forward.input.0", 2 },
        { "Tensor.add_.0.forward.input.0", 3 },
        { "My.Tensor.add.0.forward.input.0", 3 }, /* from the start only */
        { "", 3 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_uint_eq(merge_config_api(&config, rows[i].row, strlen(rows[i].row)), rows[i].api);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merge_config");
    TCase *tests = tcase_create("merge_config");
    tcase_add_checked_fixture(tests, NULL, release);
    tcase_add_test(tests, apis_and_columns_in_their_order);
    tcase_add_loop_test(tests, no_columns_mean_all, 0, 3);
    tcase_add_loop_test(tests, other_texts_are_refused_with_their_place, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(tests, rows_belong_to_the_first_api_that_they_continue);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
