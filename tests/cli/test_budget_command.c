/* probe-ut budget and run_ut --budget, from runs to verdicts. */
#include "support/dumps.h"
#include "support/suite.h"
#include "support/workspace.h"

#define DETAILS "/accuracy_checking_details_*.csv"

static void succeeded(struct outcome o)
{
    ck_assert_msg(o.status == 0, "%d %s", o.status, o.err);
    outcome_free(&o);
}

static void run_into(const struct workspace *w, const char *folder)
{
    succeeded(run_program(w, "-api_info", "dump.json", "-o", folder, "--profile", "strict", NULL));
}

/* The budget of a run that it was learnt from is kept by that run; a smaller one written by hand is not. */
START_TEST(from_a_run_to_verdicts)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 12, 60);
    run_into(&w, "one");
    struct outcome o = run_program(&w, "budget", "learn", "one", "-o", "b.json", NULL);
    ck_assert_msg(o.status == 0, "%d %s", o.status, o.err);
    ck_assert_msg(strstr(o.out, "learnt from 36 rows") != NULL, "%s", o.out);
    outcome_free(&o);
    char *text = read_file(in(&w, "b.json"), NULL);
    ck_assert_msg(
        strstr(
            text,
            "\"api\": \"Torch.mul\", \"direction\": \"forward\", \"dtype\": \"torch.float32\"") !=
            NULL,
        "%s", text);
    free(text);

    o = run_program(&w, "-api_info", "dump.json", "-o", "two", "--profile", "strict", "--budget",
                    "b.json", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.out, "pass") != NULL, "%s", o.out);
    outcome_free(&o);
    text = read_file(only_match(&w, "two" DETAILS), NULL);
    ck_assert_ptr_null(strstr(text, "Budget:"));
    free(text);

    o = run_program(&w, "budget", "tighten", "b.json", "one", "two", NULL);
    ck_assert_msg(o.status == 0 && strstr(o.out, "tightened") != NULL, "%s %s", o.out, o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

static double samples_in(const char *path)
{
    char *text = read_file(path, NULL), *at = text;
    double samples = 0;
    while ((at = strstr(at, "\"samples\": "))) samples += strtod(at += 11, NULL);
    free(text);
    return samples;
}

/* Rows of the same inputs have the same errors: margins must not shrink because a run was made twice. */
START_TEST(repeated_inputs_are_no_samples)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 3, 60);
    run_into(&w, "one");
    run_into(&w, "again");
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "other", "--profile", "strict",
                          "-seed", "7", NULL));
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "hard", "--profile", "strict",
                          "--inputs", "hard", NULL));
    static const struct {
        const char *second;
        double samples;
        const char *said;
    } cases[] = {
        { "again", 9, "no samples of their own: 9 rows with the dump, inputs and seed" },
        { "other", 18, NULL },
        { "hard", 18, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome o =
            run_program(&w, "budget", "learn", "one", cases[i].second, "-o", "b.json", NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        ck_assert_msg(!strstr(o.out, "no samples") == !cases[i].said, "%s", o.out);
        if (cases[i].said) ck_assert_msg(strstr(o.out, cases[i].said) != NULL, "%s", o.out);
        outcome_free(&o);
        ck_assert_double_eq(samples_in(in(&w, "b.json")), cases[i].samples);
    }
    workspace_remove(&w);
}
END_TEST

START_TEST(a_row_beyond_its_budget)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 3, 60);
    run_into(&w, "one");
    succeeded(run_program(&w, "budget", "learn", "one", "-o", "b.json", NULL));
    /* Every budget becomes 0. */
    char *text = read_file(in(&w, "b.json"), NULL), *at = text, *budgets;
    while ((budgets = strstr(at, "\"budget\": {"))) {
        for (at = budgets + 11; *at != '}'; at++)
            if (*at >= '1' && *at <= '9') *at = '0';
    }
    write_text(in(&w, "zero.json"), text);
    free(text);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "two", "--profile", "strict",
                                   "--budget", "zero.json", "--fail-on", "error", NULL);
    ck_assert_int_eq(o.status, 1);
    outcome_free(&o);
    text = read_file(only_match(&w, "two" DETAILS), NULL);
    ck_assert_ptr_nonnull(
        strstr(text, "of its limit, and the budget of Torch.mul, torch.float32, "));
    free(text);
    const char *result = only_match(&w, "two/accuracy_checking_result_*.csv");
    o = run_program(&w, "-api_info", "dump.json", "--profile", "strict", "--budget", "b.json",
                    "-csv_path", result, NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "budget_digest") != NULL, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

START_TEST(what_is_refused)
{
    static const struct {
        const char *arguments[6];
        int status;
        const char *reason;
    } cases[] = {
        { { "budget", "lern", "one" }, 2, "there are learn and tighten" },
        { { "budget", "tighten", "b.json" }, 2, "needs a budget and a run" },
        { { "budget", "learn", "nowhere" }, 3, "the run 'nowhere': No such file or directory" },
        { { "budget", "tighten", "b.json", "nowhere" },
          3,
          "the run 'nowhere': No such file or directory" },
        { { "budget", "learn", "one", "./one/" }, 3, "is given twice" },
        { { "budget", "tighten", "b.json", "one", "one" }, 3, "is given twice" },
        { { "budget", "learn", "doc" }, 3, "--profile strict" },
        { { "budget", "tighten", "dump.json", "one" }, 3, "dump.json" },
        { { "-api_info", "dump.json", "--budget", "b.json" }, 2, "--profile strict" },
    };
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 3, 60);
    write_text(in(&w, "b.json"), "{ \"budgets\": [] }");
    run_into(&w, "one");
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "doc", NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *a = cases[i].arguments;
        struct outcome o = run_program(&w, a[0], a[1], a[2], a[3], a[4], a[5], NULL);
        ck_assert_msg(o.status == cases[i].status, "case %zu: %d %s", i, o.status, o.err);
        ck_assert_msg(strstr(o.err, cases[i].reason) != NULL, "case %zu: %s", i, o.err);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("budget_command");
    TCase *tcase = tcase_create("budget_command");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, from_a_run_to_verdicts);
    tcase_add_test(tcase, repeated_inputs_are_no_samples);
    tcase_add_test(tcase, a_row_beyond_its_budget);
    tcase_add_test(tcase, what_is_refused);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
