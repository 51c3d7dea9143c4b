/* Matches made by hand: what the program makes of the file. */
#include <check.h>

#include "support/suite.h"
#include "support/workspace.h"

static const char npu[] = PROBE_TEST_DATA "/graph/npu", bench[] = PROBE_TEST_DATA "/graph/bench";
#define NODE  "Functional.layer_norm.2.forward"
#define OTHER "Functional.layer_norm.1.forward"

static struct workspace workspace;

static struct outcome graph_with(const char *matches)
{
    workspace = workspace_make();
    write_text(in(&workspace, "matches.json"), matches);
    return run_program(&workspace, "graph", "-tp", npu, "-gp", bench, "-o", "out", "--format",
                       "vis", "--match", "matches.json", NULL);
}

/* The line of the .vis file behind the one with this id; `nth` 0: NPU, 1: Bench. */
static void link_is(const char *id, int nth, const char *want)
{
    char *text = read_file(only_match(&workspace, "out/compare_*.vis"), NULL), key[200];
    snprintf(key, sizeof key, "\"id\": \"%s\"", id);
    const char *at = text;
    for (int i = 0; i <= nth; i++) {
        at = strstr(at + 1, key);
        ck_assert_ptr_nonnull(at);
    }
    at = strstr(at, "\"matched_node_link\": ") + strlen("\"matched_node_link\": ");
    const char *end = strstr(at, "],") + 1;
    if (*want) {
        size_t length = strlen(want);
        ck_assert_int_gt(end - at, (long)length + 3);
        ck_assert_msg(!strncmp(end - 2 - length, want, length), "%.*s", (int)(end - at), at);
    } else {
        ck_assert_msg(end - at == 2, "%.*s", (int)(end - at), at);
    }
    free(text);
}

static void finish(struct outcome *o)
{
    outcome_free(o);
    workspace_remove(&workspace);
}

START_TEST(the_file_wins_over_names)
{
    struct outcome o = graph_with("{\"" NODE "\": \"" OTHER "\", \"nobody\": \"" NODE "\"}");
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.out, "1 by hand") != NULL, "%s", o.out);
    link_is(NODE, 0, OTHER);
    link_is(OTHER, 1, NODE);
    link_is(OTHER, 0, ""); /* both partners that they had are free */
    link_is(NODE, 1, "");
    finish(&o);
}
END_TEST

START_TEST(an_empty_name_unmatches)
{
    struct outcome o = graph_with("{\"" NODE "\": \"\", \"" OTHER "\": null}");
    ck_assert_msg(o.status == 0, "%s", o.err);
    link_is(NODE, 0, "");
    link_is(NODE, 1, "");
    link_is(OTHER, 0, "");
    finish(&o);
}
END_TEST

static const struct refused {
    const char *file, *message;
} refused[] = {
    { "[]", "expected an object NPU node -> Bench node" },
    { "{\n \"a\": 1}", "matches.json:2: a: expected the name of a Bench node" },
    { "{\"" NODE "\": \"Module.h.0.GPTBlock.forward.0\"}", "a module and a call cannot match" },
    { "{\"DefaultModel\": \"\"}", "the root matches the root alone" },
    { "{", "matches.json" },
};

START_TEST(what_cannot_match_is_refused)
{
    struct outcome o = graph_with(refused[_i].file);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, refused[_i].message) != NULL, "%s", o.err);
    finish(&o);
}
END_TEST

START_TEST(a_built_graph_has_nothing_to_match)
{
    workspace = workspace_make();
    write_text(in(&workspace, "matches.json"), "{}");
    struct outcome o =
        run_program(&workspace, "graph", "-tp", npu, "--match", "matches.json", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "option '--match' needs two sides") != NULL, "%s", o.err);
    finish(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("match file");
    TCase *t = tcase_create("matches");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_file_wins_over_names);
    tcase_add_test(t, an_empty_name_unmatches);
    tcase_add_loop_test(t, what_cannot_match_is_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, a_built_graph_has_nothing_to_match);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
