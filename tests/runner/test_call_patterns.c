/* Calls by name: which spellings of a call are one, what stands for other characters, and what a run
 * makes of --only, --skip and the lists of a configuration. */
#include "runner/call_patterns.h"

#include "support/dumps.h"
#include "support/runs.h"
#include "support/suite.h"

static const struct api_case linear = {
    .full_name = "Functional.linear.3", .type = "Functional", .api = "linear", .has_backward = true
};
static const struct api_case inverse = { .full_name = "Torch.linalg.inv.12",
                                         .type = "Torch",
                                         .api = "linalg.inv" };
/* As the dumper writes it, which leaves the module out. */
static const struct api_case bare_inverse = { .full_name = "Torch.inv.12",
                                              .type = "Torch",
                                              .api = "linalg.inv" };
/* A name that is not TYPE.API.NUMBER: an API as a whole. */
static const struct api_case strange = { .full_name = "odd", .type = "", .api = "odd" };

static bool matches(const char *pattern, const struct api_case *c)
{
    struct arena arena = { 0 };
    struct call_patterns patterns;
    struct status status = call_patterns_read(&patterns, &arena, pattern);
    ck_assert_msg(!status.code, "%s", status.text);
    bool found = call_patterns_match(&patterns, c, NULL);
    arena_release(&arena);
    return found;
}

START_TEST(every_spelling_of_a_call_is_its_name)
{
    static const char *const names[] = { "linear", "Functional.linear", "Functional.linear.3",
                                         "Functional.linear.3.forward",
                                         "Functional.linear.3.backward" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(matches(names[i], &linear), "%s", names[i]);
    ck_assert(matches("linalg.inv", &inverse));
    ck_assert(matches("Torch.linalg.inv", &inverse));
    static const char *const bare[] = { "inv",          "Torch.inv",
                                        "Torch.inv.12", "Torch.inv.12.forward",
                                        "linalg.inv",   "Torch.linalg.inv" };
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
        ck_assert_msg(matches(bare[i], &bare_inverse), "%s", bare[i]);
    ck_assert(!matches("inv", &inverse));
    ck_assert(!matches("Torch.inv.1", &bare_inverse));
    ck_assert(matches("odd", &strange));
    ck_assert(matches("odd.forward", &strange));
}
END_TEST

START_TEST(a_name_matches_as_a_whole)
{
    static const char *const others[] = { "linea",
                                          "inear",
                                          "bilinear",
                                          "Linear",
                                          "Functional",
                                          "Functional.linear.",
                                          "linear.3",
                                          "Functional.linear.30",
                                          "Functional.linear.3.for",
                                          "Functional.linear.3.forward.output.0",
                                          "Functional?linea",
                                          "*.inv",
                                          ".linear",
                                          "linear*3" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!matches(others[i], &linear), "%s", others[i]);
    ck_assert(!matches("linalgxinv", &inverse)); /* a dot is a dot */
    ck_assert(!matches("inv", &inverse));
    ck_assert(!matches("Torch.linalg.inv.12.backward", &inverse)); /* it has none */
    ck_assert(!matches(".odd", &strange));
}
END_TEST

START_TEST(some_characters_stand_for_others)
{
    static const char *const globs[] = { "*",      "lin*",         "*near",
                                         "l?near", "Functional.*", "Functional.linear.[0-4]",
                                         "*.3",    "*.backward",   "mat*|lin*" };
    for (size_t i = 0; i < sizeof globs / sizeof *globs; i++)
        ck_assert_msg(matches(globs[i], &linear), "%s", globs[i]);
    ck_assert(!matches("Functional.linear.[4-9]", &linear));
    ck_assert(!matches("mat*|bil*", &linear));
    ck_assert(matches("*", &strange));
}
END_TEST

START_TEST(alternatives_are_names_of_their_own)
{
    struct arena arena = { 0 };
    struct call_patterns patterns;
    bool met[3] = { false, false, false };
    ck_assert(!call_patterns_read(&patterns, &arena, "matmul|linear|Functional.*").code);
    ck_assert_uint_eq(patterns.count, 3);
    ck_assert(call_patterns_match(&patterns, &linear, met));
    ck_assert(!met[0] && met[1] && met[2]);
    ck_assert(!call_patterns_match(&patterns, &inverse, met));
    ck_assert(!met[0]);
    arena_release(&arena);
}
END_TEST

START_TEST(empty_and_endless_names_are_refused)
{
    static const char *const wrong[] = { "", "|", "a|", "|a", "a||b" };
    struct arena arena = { 0 };
    struct call_patterns patterns;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(call_patterns_read(&patterns, &arena, wrong[i]).code == STATUS_BAD_ARGUMENT,
                      "%s", wrong[i]);
    char name[CALL_PATTERN_BYTES + 2];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(call_patterns_read(&patterns, &arena, name).code, STATUS_BAD_ARGUMENT);
    name[sizeof name - 2] = '\0';
    ck_assert_int_eq(call_patterns_read(&patterns, &arena, name).code, STATUS_OK);
    arena_release(&arena);
}
END_TEST

/* ---- runs ------------------------------------------------------------------------------- */

/* The names of the calls that have rows, each with a blank behind it; "-" before the skipped ones. */
static char *rows_of(const struct workspace *w, const char *directory)
{
    char pattern[256], *out = calloc(1, 4096);
    snprintf(pattern, sizeof pattern, "%s/" RESULT, directory);
    char *text = read_file(only_match(w, pattern), NULL);
    for (char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        size_t length = strcspn(line + 1, ",");
        bool skipped = !strncmp(line + 1 + length, ",SKIP", 5);
        sprintf(out + strlen(out), "%s%.*s ", skipped ? "-" : "", (int)length, line + 1);
    }
    free(text);
    return out;
}

/* Torch.add.0, Torch.mul.1, Torch.sub.2, Torch.div.3, Torch.add.4, ... Torch.div.7 */
static struct workspace eight_calls(void)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 8, 4);
    return w;
}

static void has_rows(const struct workspace *w, struct outcome o, const char *wanted,
                     const char *told)
{
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    char *rows = rows_of(w, "out");
    ck_assert_str_eq(rows, wanted);
    ck_assert_msg(told ? strstr(o.err, told) != NULL : !strstr(o.err, "warning"), "%s", o.err);
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s/out'", w->path);
    ck_assert_int_eq(system(command), 0);
    free(rows);
    outcome_free(&o);
}

START_TEST(a_run_of_some_calls)
{
    struct workspace w = eight_calls();
#define RUN(...) run_program(&w, "-api_info", "dump.json", "-o", "out", __VA_ARGS__, NULL)
    has_rows(&w, RUN("--only", "add|Torch.div.7"), "Torch.add.0 Torch.add.4 Torch.div.7 ", NULL);
    has_rows(&w, RUN("--skip", "[a-m]*"), "Torch.sub.2 Torch.sub.6 ", NULL); /* add, div, mul */
    has_rows(&w, RUN("--only", "*.[0-3]", "--skip", "mul"), "Torch.add.0 Torch.sub.2 Torch.div.3 ",
             NULL);
    /* Duplicates go first. */
    has_rows(&w, RUN("--only", "add|sub", "-f"), "Torch.add.0 Torch.sub.2 ", NULL);
    /* What the user left out is not what a pipeline waits for. */
    has_rows(&w, RUN("--only", "mul", "--fail-on", "skip", "--min-judged", "100%"),
             "Torch.mul.1 Torch.mul.5 ", NULL);
    has_rows(&w, RUN("--only", "mul|ad"), "Torch.mul.1 Torch.mul.5 ",
             "--only: no call of dump.json is named 'ad'; the nearest is 'add'");
    has_rows(&w, RUN("--skip", "Torch.mul.1|mul.5|add|sub"), "Torch.div.3 Torch.mul.5 Torch.div.7 ",
             "--skip: no call of dump.json is named 'mul.5'");
#undef RUN
    workspace_remove(&w);
}
END_TEST

START_TEST(a_run_of_no_call_is_refused)
{
    static const struct {
        const char *option, *pattern, *expected;
    } cases[] = {
        { "--only", "ad", "--only: no call of dump.json is named 'ad'; the nearest is 'add'" },
        { "--only", "Torch.add.9", "the nearest is 'Torch.add.0'" },
        { "--only", "conv*", "named 'conv*' (* and ? stand for any characters)" },
        { "--skip", "*", "--skip leaves no call of dump.json to check" },
        { "--only", "add||mul", "option '--only': the pattern 'add||mul' has an empty name" },
    };
    struct workspace w = eight_calls();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", cases[i].option,
                                       cases[i].pattern, NULL);
        ck_assert_msg(o.status == 2 && strstr(o.err, cases[i].expected), "%d: %s", o.status, o.err);
        ck_assert_uint_eq(count_lines(o.err), 1);
        ck_assert_uint_eq(count_matches(&w, "out/" RESULT), 0);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

START_TEST(lists_take_patterns_and_full_names)
{
    static const struct {
        const char *config, *rows, *told;
    } cases[] = {
        { "{\"run_ut\":{\"white_list\":[\"Torch.add.4\",\"m*\"]}}",
          "-Torch.add.0 Torch.mul.1 -Torch.sub.2 -Torch.div.3 Torch.add.4 Torch.mul.5 -Torch.sub.6 "
          "-Torch.div.7 ",
          NULL },
        { "{\"run_ut\":{\"black_list\":[\"add|sub\",\"Torch.mul.5.forward\",\"conv2d\"]}}",
          "-Torch.add.0 Torch.mul.1 -Torch.sub.2 Torch.div.3 -Torch.add.4 -Torch.mul.5 "
          "-Torch.sub.6 Torch.div.7 ",
          NULL },
        { "{\"run_ut\":{\"white_list\":[\"Torch.mul\",\"Torch.mul.6\"]}}",
          "-Torch.add.0 Torch.mul.1 -Torch.sub.2 -Torch.div.3 -Torch.add.4 Torch.mul.5 "
          "-Torch.sub.6 -Torch.div.7 ",
          "white_list: no call of dump.json is named 'Torch.mul.6'; the nearest is 'Torch.mul.1'" },
    };
    struct workspace w = eight_calls();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(in(&w, "config.json"), cases[i].config);
        has_rows(
            &w,
            run_program(&w, "-api_info", "dump.json", "-o", "out", "-config", "config.json", NULL),
            cases[i].rows, cases[i].told);
    }
    workspace_remove(&w);
}
END_TEST

START_TEST(lists_refuse_names_that_do_not_exist)
{
    static const struct {
        const char *entry, *expected;
    } cases[] = {
        { "matmull", "has 'matmull', which is no API; the nearest is 'matmul'" },
        { "Torch.matmull.3.forward", "has 'Torch.matmull.3.forward', which is no API; the nearest "
                                     "is 'matmul'" },
        { "linalg.inw", "the nearest is 'linalg.inv'" },
        { "add|", "config.json: run_ut.white_list: the pattern 'add|' has an empty name" },
    };
    struct workspace w = eight_calls();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[200];
        snprintf(config, sizeof config, "{\"run_ut\":{\"white_list\":[\"add\",\"%s\"]}}",
                 cases[i].entry);
        write_text(in(&w, "config.json"), config);
        struct outcome o =
            run_program(&w, "-api_info", "dump.json", "-config", "config.json", NULL);
        ck_assert_msg(o.status == 2 && strstr(o.err, cases[i].expected), "%d: %s", o.status, o.err);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

/* A resumed run is of the same calls, or it is refused. */
START_TEST(resuming_keeps_the_calls)
{
    struct workspace w = eight_calls();
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-o", "out", "--only", "add", NULL);
    ck_assert_int_eq(o.status, 0);
    outcome_free(&o);
    const char *path = only_match(&w, "out/" RESULT);
    o = run_program(&w, "-api_info", "dump.json", "-csv_path", path, NULL);
    ck_assert_msg(o.status == 3 && strstr(o.err, "only was [\"add\"], is absent"), "%d: %s",
                  o.status, o.err);
    outcome_free(&o);
    o = run_program(&w, "-api_info", "dump.json", "-csv_path", path, "--only", "add", NULL);
    ck_assert_msg(o.status == 0 && strstr(o.out, "of 2 calls are done"), "%d: %s", o.status, o.out);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call_patterns");
    TCase *tests = tcase_create("call_patterns");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_spelling_of_a_call_is_its_name);
    tcase_add_test(tests, a_name_matches_as_a_whole);
    tcase_add_test(tests, some_characters_stand_for_others);
    tcase_add_test(tests, alternatives_are_names_of_their_own);
    tcase_add_test(tests, empty_and_endless_names_are_refused);
    tcase_add_test(tests, a_run_of_some_calls);
    tcase_add_test(tests, a_run_of_no_call_is_refused);
    tcase_add_test(tests, lists_take_patterns_and_full_names);
    tcase_add_test(tests, lists_refuse_names_that_do_not_exist);
    tcase_add_test(tests, resuming_keeps_the_calls);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
