/* Runs over several dumps: the files of each are those of checking it alone. */
#include <sys/stat.h>
#include <time.h>

#include "support/dumps.h"
#include "support/runs.h"
#include "support/suite.h"

enum { DUMPS = 4 };
static const char *const folders[DUMPS] = { "step0/rank0", "step0/rank1", "step0/rank10",
                                            "step1/rank0" };

static void make_folders(const struct workspace *w, const char *top)
{
    static const char *const below[] = {
        "", "/step0", "/step0/rank0", "/step0/rank1", "/step0/rank10", "/step1", "/step1/rank0"
    };
    char path[256];
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(path, sizeof path, "%s%s", top, below[i]);
        ck_assert(!mkdir(in(w, path), 0755));
    }
}

/* Dumps of different lengths: some end while the threads are at work in the next. */
static void make_dumps(const struct workspace *w)
{
    static const size_t calls[DUMPS] = { 40, 3, 300, 21 };
    char path[256];
    make_folders(w, "dumps");
    for (int i = 0; i < DUMPS; i++) {
        snprintf(path, sizeof path, "dumps/%s/dump.json", folders[i]);
        write_many_calls(in(w, path), calls[i], 50 + (size_t)i);
    }
}

/* Every dump on its own, into alone/FOLDER. */
static void run_alone(const struct workspace *w)
{
    char dump[256], out[256];
    for (int i = 0; i < DUMPS; i++) {
        snprintf(dump, sizeof dump, "dumps/%s/dump.json", folders[i]);
        snprintf(out, sizeof out, "alone/%s", folders[i]);
        succeeded(run_program(w, "-api_info", dump, "-o", out, NULL));
    }
}

static void same_folder(const struct workspace *w, const char *a, const char *b, const char *folder)
{
    static const char *const kinds[] = { RESULT, "accuracy_checking_details_*.csv",
                                         "accuracy_checking_evidence_*.jsonl" };
    for (int i = 0; i < 3; i++) {
        char first[300], second[300];
        snprintf(first, sizeof first, "%s/%s/%s", a, folder, kinds[i]);
        snprintf(second, sizeof second, "%s/%s/%s", b, folder, kinds[i]);
        assert_same_files(only_match(w, first), only_match(w, second));
    }
}

static void same_as_alone(const struct workspace *w, const char *out)
{
    for (int i = 0; i < DUMPS; i++) same_folder(w, "alone", out, folders[i]);
}

START_TEST(each_dump_has_the_files_of_a_run_of_its_own)
{
    static const char *const threads[] = { "1", "2", "32" };
    struct workspace w = workspace_make();
    make_dumps(&w);
    run_alone(&w);
    for (int i = 0; i < 3; i++) {
        char out[16];
        snprintf(out, sizeof out, "out%s", threads[i]);
        struct outcome o = run_program(&w, "-api_info", "dumps", "-o", out, "-n", threads[i], NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        ck_assert_msg(strstr(o.out, "dumps: 4 in dumps") != NULL, "%s", o.out);
        ck_assert_msg(strstr(o.out, "\nforward         364 ") != NULL, "%s", o.out);
        outcome_free(&o);
        same_as_alone(&w, out);
    }
    workspace_remove(&w);
}
END_TEST

START_TEST(steps_and_ranks_are_chosen)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(
        run_program(&w, "-api_info", "dumps", "-o", "out", "--step", "0", "--rank", "1-10", NULL));
    ck_assert_uint_eq(count_matches(&w, "out/*/*/" RESULT), 2);
    ck_assert_uint_eq(count_matches(&w, "out/step0/rank10/" RESULT), 1);
    struct outcome o = run_program(&w, "-api_info", "dumps", "-o", "out", "--rank", "7", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "none of the 4 dumps in 'dumps' has that step and rank") != NULL,
                  "%s", o.err);
    outcome_free(&o);
    o = run_program(&w, "-api_info", "dumps/step0/rank0/dump.json", "--rank", "0", NULL);
    ck_assert_int_eq(o.status, 2);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Killed at several moments and resumed: a part is done, one is torn, one has not begun. */
START_TEST(a_killed_run_is_resumed_as_a_whole)
{
    struct workspace w = workspace_make();
    char *argv[] = { (char *)"probe-ut", (char *)"-api_info", (char *)"dumps", (char *)"-o",
                     (char *)"out",      (char *)"-n",        (char *)"4",     NULL };
    make_dumps(&w);
    run_alone(&w);
    for (int i = 0; i < 6; i++) {
        struct timespec wait = { 0, 12000000L * i };
        pid_t pid = start_program(&w, argv);
        nanosleep(&wait, NULL);
        (void)kill(pid, SIGKILL);
        struct outcome o = wait_program(&w, pid);
        outcome_free(&o);
        if (!count_matches(&w, "out")) continue;
        o = run_program(&w, "-api_info", "dumps", "-csv_path", "out", NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        same_as_alone(&w, "out");
        struct workspace out = { 0 };
        snprintf(out.path, sizeof out.path, "%s", in(&w, "out"));
        workspace_remove(&out);
    }
    workspace_remove(&w);
}
END_TEST

/* A dump that is none costs its own rows and the exit status. */
START_TEST(a_dump_that_cannot_be_used_keeps_the_others_from_nothing)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    run_alone(&w);
    write_text(in(&w, "dumps/step0/rank1/dump.json"), "{\"data\": {\"Torch.add.0.forw");
    struct outcome o = run_program(&w, "-api_info", "dumps", "-o", "out", NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "1 of 4 dumps could not be checked") != NULL, "%s", o.err);
    ck_assert_msg(strstr(o.out, "step0/rank1: ") != NULL, "%s", o.out);
    outcome_free(&o);
    ck_assert_uint_eq(count_matches(&w, "out/step0/rank1/*"), 0);
    same_folder(&w, "alone", "out", "step0/rank10");
    same_folder(&w, "alone", "out", "step1/rank0");
    workspace_remove(&w);
}
END_TEST

/* -f over all: the same calls in other dumps are left out, and how many is said. */
START_TEST(equal_calls_of_other_dumps_are_checked_once)
{
    struct workspace w = workspace_make();
    make_dumps(&w); /* four APIs; tensors of another size in each dump */
    write_many_calls(in(&w, "dumps/step1/rank0/dump.json"), 21, 50);
    struct outcome o = run_program(&w, "-api_info", "dumps", "-o", "out", "-f", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    /* 4 of rank0, 3 of rank1, 4 of rank10, none of the last, whose calls are those of the first. */
    ck_assert_msg(strstr(o.out, "calls: 11 of the 364 in the dumps") != NULL, "%s", o.out);
    outcome_free(&o);
    char *last = read_file(only_match(&w, "out/step1/rank0/" RESULT), NULL);
    ck_assert_uint_eq(count_lines(last), 1);
    free(last);
    workspace_remove(&w);
}
END_TEST

/* What fails is told with the dumps where it does. */
START_TEST(failing_calls_name_their_dumps)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    write_text(in(&w, "limits.json"), "{\"overrides\": [{\"api\": \"mul\", \"limits\": "
                                      "{\"cosine\": 1.5}}]}");
    struct outcome o = run_program(&w, "-api_info", "dumps", "-o", "out", "--thresholds",
                                   "limits.json", "--fail-on", "error", NULL);
    ck_assert_msg(o.status == 1, "%d %s", o.status, o.err);
    ck_assert_msg(strstr(o.out, "Torch.mul: ") && strstr(o.out, ", in all 4 dumps"), "%s", o.out);
    ck_assert_msg(strstr(o.out, "-api_info dumps/step") != NULL, "%s", o.out);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* One JUnit report with a suite for each, one page, and a baseline of the same folders. */
START_TEST(reports_cover_all_dumps)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    write_text(in(&w, "limits.json"), "{\"overrides\": [{\"api\": \"mul\", \"limits\": "
                                      "{\"cosine\": 1.5}}]}");
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "old", "--rank", "0-1", NULL));
    struct outcome o = run_program(&w, "-api_info", "dumps", "-o", "new", "--thresholds",
                                   "limits.json", "--baseline", "old", "--junit", "new.xml",
                                   "--report", "new.html", NULL);
    ck_assert_msg(o.status == 1, "%d %s", o.status, o.err);
    /* A quarter of 40, 3, 300 and 21 calls is mul: 10 + 1 + 75 + 5, each with an output and two gradients. */
    ck_assert_msg(strstr(o.out, "new failures                   273\n") != NULL, "%s", o.out);
    ck_assert_msg(strstr(o.out, "    step0/rank0 Torch.mul.1.") != NULL, "%s", o.out);
    outcome_free(&o);
    char *xml = read_file(in(&w, "new.xml"), NULL);
    size_t suites = 0;
    for (const char *at = xml; (at = strstr(at, "<testsuite name=\"run_ut ")); at++) suites++;
    ck_assert_uint_eq(suites, DUMPS);
    ck_assert_ptr_nonnull(strstr(xml, "dumps/step0/rank10 cpu\""));
    free(xml);
    ck_assert_uint_eq(count_matches(&w, "new.html"), 1);
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "again", "--thresholds", "limits.json",
                          "--baseline", "new", NULL));
    workspace_remove(&w);
}
END_TEST

/* With -b recorded a dump that stores nothing is refused. */
START_TEST(recorded_needs_stored_outputs)
{
    static const char reason[] =
        "--backend recorded judges the outputs that a dump stores, and this dump stores none (task "
        "\"tensor\" is needed); use another backend";
    struct workspace w = workspace_make();
    make_dumps(&w);
    struct outcome o =
        run_program(&w, "-api_info", "dumps/step0/rank0/dump.json", "--backend", "recorded", NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, reason) != NULL, "%s", o.err);
    outcome_free(&o);
    o = run_program(&w, "-api_info", "dumps", "--backend", "recorded", "-o", "out", NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.out, reason) != NULL, "%s", o.out);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* A misspelt name leaves no dump anything to do; it is a mistake then, as it is with one dump. */
START_TEST(a_name_that_no_dump_has_is_told_with_the_nearest)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    struct outcome o = run_program(&w, "-api_info", "dumps", "-o", "out", "--only", "mull", NULL);
    ck_assert_msg(o.status == 2, "%d: %s", o.status, o.err);
    ck_assert_msg(strstr(o.err, "is named 'mull'; the nearest is 'mul'") != NULL, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run_tree");
    TCase *tests = tcase_create("run_tree");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, each_dump_has_the_files_of_a_run_of_its_own);
    tcase_add_test(tests, steps_and_ranks_are_chosen);
    tcase_add_test(tests, a_killed_run_is_resumed_as_a_whole);
    tcase_add_test(tests, a_dump_that_cannot_be_used_keeps_the_others_from_nothing);
    tcase_add_test(tests, equal_calls_of_other_dumps_are_checked_once);
    tcase_add_test(tests, a_name_that_no_dump_has_is_told_with_the_nearest);
    tcase_add_test(tests, failing_calls_name_their_dumps);
    tcase_add_test(tests, reports_cover_all_dumps);
    tcase_add_test(tests, recorded_needs_stored_outputs);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
