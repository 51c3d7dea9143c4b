/* Jobs of several shards, done in any way, and merged: the files are those of one run over all dumps. */
#include <sys/stat.h>
#include <time.h>

#include "support/dumps.h"
#include "support/random_numbers.h"
#include "support/runs.h"
#include "support/suite.h"
#include "support/trees.h"

#define DUMPS PROBE_TEST_DATA "/dumps/"

/* One dump of each task that run_ut takes, statistics, tensor and md5, and one with many calls. */
static void make_dumps(const struct workspace *w)
{
    char command[2000];
    snprintf(
        command, sizeof command,
        "mkdir -p '%s/dumps/step0' '%s/dumps/step1/rank0' && cd '%s/dumps/step0' && cp -r '" DUMPS
        "m2/L1_statistics' rank0 && cp -r '" DUMPS "m5a/L1_tensor' rank1 && cp -r '" PROBE_TEST_DATA
        "/compare/dumps/m2/L1_md5' rank10 && chmod -R u+w .",
        w->path, w->path, w->path);
    ck_assert_int_eq(system(command), 0);
    write_many_calls(in(w, "dumps/step1/rank0/dump.json"), 400, 60);
}

static void fails_with(struct outcome o, int status, const char *text)
{
    ck_assert_msg(o.status == status, "status %d: %s\n%s", o.status, o.err, o.out);
    ck_assert_msg(strstr(o.err, text) != NULL, "'%s' is not in: %s", text, o.err);
    /* One line, whatever it was about. */
    const char *line = strstr(o.err, text);
    ck_assert_ptr_eq(strchr(line, '\n'), o.err + strlen(o.err) - 1);
    outcome_free(&o);
}

static pid_t start_work(const struct workspace *w, const char *shard)
{
    char *argv[] = { (char *)"probe-ut", (char *)"work", (char *)"job", (char *)"--shard",
                     (char *)shard,      (char *)"-n",   (char *)"2",   NULL };
    return start_program(w, argv);
}

static void work(const struct workspace *w, const char *shard)
{
    succeeded(run_program(w, "work", "job", "--shard", shard, NULL));
}

static void work_all(const struct workspace *w, int shards)
{
    for (int i = 0; i < shards; i++) {
        char shard[12];
        snprintf(shard, sizeof shard, "%d", i);
        work(w, shard);
    }
}

/* Begin a shard and kill it after a while; what it has by then is for the next one. */
static void work_and_kill(const struct workspace *w, const char *shard, long wait_us)
{
    const struct timespec wait = { 0, wait_us * 1000 };
    pid_t pid = start_work(w, shard);
    nanosleep(&wait, NULL);
    (void)kill(pid, SIGKILL);
    struct outcome o = wait_program(w, pid);
    outcome_free(&o);
}

/* The same shard twice at the same time. */
static void work_twice(const struct workspace *w, const char *shard)
{
    pid_t first = start_work(w, shard), second = start_work(w, shard);
    succeeded(wait_program(w, first));
    succeeded(wait_program(w, second));
}

static void merged_as_one(const struct workspace *w)
{
    succeeded(run_program(w, "merge", "job", "-o", "merged", NULL));
    tree_compare(in(w, "one"), in(w, "merged"), 0, "merged");
}

START_TEST(shards_done_in_any_way_are_one_run)
{
    static const char *const order[6] = { "4", "1", "5", "0", "3", "2" };
    static const char *const threads[2] = { "1", "32" };
    state = 20261122 + (uint64_t)_i;
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "one", "-n", threads[_i], NULL));
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "6", NULL));
    for (int i = 0; i < 6; i++) {
        for (int kills = 0; kills < 3; kills++)
            work_and_kill(&w, order[i], (long)(uniform() * 60000));
        if (i % 2) work_twice(&w, order[i]);
        else work(&w, order[i]);
        work(&w, order[i]); /* nothing more to do */
    }
    ck_assert_uint_eq(count_matches(&w, "job/shards/*/attempt-*"), 0);
    merged_as_one(&w);
    merged_as_one(&w); /* once more, over the same files */
    workspace_remove(&w);
}
END_TEST

/* Equal calls of different ranks are checked once: the plan says which are left out. */
START_TEST(duplicates_are_left_out_as_in_one_run)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    mkdir(in(&w, "dumps/step1/rank1"), 0755);
    write_many_calls(in(&w, "dumps/step1/rank1/dump.json"), 30, 60);
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "one", "-f", "--only",
                          "*add*|*mul*|linear", NULL));
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "5", "-f", "--only",
                          "*add*|*mul*|linear", NULL));
    work_all(&w, 5);
    merged_as_one(&w);
    workspace_remove(&w);
}
END_TEST

/* Options of all kinds reach the shards, and files that they name are copied into the job. */
START_TEST(options_hold_for_all_shards)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    write_text(in(&w, "limits.json"), "{\"overrides\": [{\"api\": \"mul\", \"limits\": "
                                      "{\"cosine\": 1.5}}]}");
    write_text(in(&w, "config.json"),
               "{\"run_ut\": {\"black_list\": [\"sub\"], \"precision\": 6}}");
#define OPTIONS                                                                            \
    "--thresholds", "limits.json", "--config", "config.json", "--seed", "7", "--evidence", \
        "failing", "--columns", "english", "--rank", "0,10", "--diagnose-budget", "0.5",   \
        "--profile", "v3"
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "one", OPTIONS, NULL));
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "3", OPTIONS, NULL));
#undef OPTIONS
    remove(in(&w, "limits.json"));
    remove(in(&w, "config.json"));
    work_all(&w, 3);
    merged_as_one(&w);
    workspace_remove(&w);
}
END_TEST

/* So does the file of budgets; what makes one is a run of its own. */
START_TEST(budgets_are_copied_into_the_job)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(run_program(&w, "-api_info", "dumps/step0/rank0/dump.json", "-o", "learnt",
                          "--profile", "strict", NULL));
    succeeded(run_program(&w, "budget", "learn", "learnt", "-o", "budget.json", NULL));
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "one", "--profile", "strict", "--budget",
                          "budget.json", NULL));
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "2", "--profile", "strict",
                          "--budget", "budget.json", NULL));
    remove(in(&w, "budget.json"));
    work_all(&w, 2);
    merged_as_one(&w);
    workspace_remove(&w);
}
END_TEST

/* A dump.json alone is a job, too; its files lie in the output directory itself. */
START_TEST(a_single_dump_is_cut_as_well)
{
    static const char *const roots[2] = { "dumps/step0/rank0/dump.json", "dumps/step0/rank0" };
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(run_program(&w, "-api_info", roots[_i], "-o", "one", NULL));
    succeeded(run_program(&w, "plan", roots[_i], "-o", "job", "--shards", "4", NULL));
    work_all(&w, 4);
    succeeded(run_program(&w, "merge", "job", "-o", "merged", NULL));
    tree_compare(in(&w, "one"), in(&w, "merged"), _i ? TREE_ANY_ORDER : 0, "merged");
    workspace_remove(&w);
}
END_TEST

/* Another host has the dumps elsewhere; the results name them as the plan does. */
START_TEST(dumps_may_lie_elsewhere)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "one", NULL));
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "2", NULL));
    ck_assert_int_eq(rename(in(&w, "dumps"), in(&w, "elsewhere")), 0);
    fails_with(run_program(&w, "work", "job", "--shard", "0", NULL), 3,
               "dumps/step0/rank0/dump.json");
    succeeded(run_program(&w, "work", "job", "--shard", "0", "--dump-root", "elsewhere", NULL));
    succeeded(run_program(&w, "work", "job", "--shard", "1", "--dump-root", "elsewhere", NULL));
    merged_as_one(&w);
    workspace_remove(&w);
}
END_TEST

START_TEST(the_environment_names_the_shard)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "3", NULL));
    fails_with(run_program(&w, "work", "job", NULL), 2, "which shard?");
    setenv("JOB_COMPLETION_INDEX", "1", 1);
    succeeded(run_program(&w, "work", "job", NULL));
    setenv("SLURM_ARRAY_TASK_ID", "2", 1);
    succeeded(run_program(&w, "work", "job", NULL));
    setenv("SLURM_ARRAY_TASK_ID", "3", 1);
    fails_with(run_program(&w, "work", "job", NULL), 2,
               "there is no shard 3: the job has 3, numbered from 0");
    setenv("SLURM_ARRAY_TASK_ID", "x", 1);
    fails_with(run_program(&w, "work", "job", NULL), 2, "SLURM_ARRAY_TASK_ID is 'x'");
    unsetenv("SLURM_ARRAY_TASK_ID");
    unsetenv("JOB_COMPLETION_INDEX");
    ck_assert_uint_eq(count_matches(&w, "job/shards/*/done"), 2);
    workspace_remove(&w);
}
END_TEST

/* Start shard 0 and ask it to end when it has begun. It may be done before it hears of that. */
static struct outcome interrupt_work(const struct workspace *w)
{
    const struct timespec moment = { 0, 2000000 };
    pid_t pid = start_work(w, "0");
    while (!count_matches(w, "job/shards/0/attempt-*/step0/rank1/*details*") &&
           !count_matches(w, "job/shards/0/done"))
        nanosleep(&moment, NULL);
    (void)kill(pid, SIGTERM);
    return wait_program(w, pid);
}

/* A signal that asks to end leaves what is done to the next attempt. */
START_TEST(an_interrupted_shard_goes_on)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    write_many_calls(in(&w, "dumps/step1/rank0/dump.json"), 4000, 60);
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "one", NULL));
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "1", NULL));
    struct outcome o = interrupt_work(&w);
    for (int i = 0; i < 20 && count_matches(&w, "job/shards/0/done"); i++) {
        outcome_free(&o);
        tree_remove(in(&w, "job/shards"));
        o = interrupt_work(&w);
    }
    fails_with(o, 130, "start it again, and the shard resumes from there");
    o = run_program(&w, "work", "job", "--shard", "0", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_msg(strstr(o.out, "resuming job/shards/0/attempt-") != NULL, "%s", o.out);
    outcome_free(&o);
    merged_as_one(&w);
    workspace_remove(&w);
}
END_TEST

/* A copy of an attempt that was cut short, details without their evidence, is no attempt. */
START_TEST(half_a_copy_is_not_resumed)
{
    struct workspace w = workspace_make();
    char command[1200];
    make_dumps(&w);
    write_many_calls(in(&w, "dumps/step1/rank0/dump.json"), 4000, 60);
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "one", NULL));
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "1", NULL));
    work(&w, "0");
    snprintf(command, sizeof command,
             "cd '%s/job/shards/0' && mv done part-of-attempt-1-host-1-00000000-00000000 && "
             "rm */step1/rank0/*evidence*",
             w.path);
    ck_assert_int_eq(system(command), 0);
    work(&w, "0");
    ck_assert_uint_eq(count_matches(&w, "job/shards/0/*"), 1);
    merged_as_one(&w);
    workspace_remove(&w);
}
END_TEST

START_TEST(missing_shards_are_named)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "6", NULL));
    fails_with(run_program(&w, "merge", "job", "-o", "merged", NULL), 3,
               "none of the 6 shards of 'job' is done");
    work(&w, "1");
    work(&w, "5");
    fails_with(run_program(&w, "merge", "job", "-o", "merged", NULL), 3,
               "4 of 6 shards are not done: 0, 2-4; with --partial the others are merged");
    ck_assert_uint_eq(count_matches(&w, "merged/*"), 0);
    struct outcome o = run_program(&w, "merge", "job", "-o", "merged", "--partial", NULL);
    ck_assert_msg(o.status == 0, "%d %s", o.status, o.err);
    ck_assert_msg(strstr(o.err, "are not done and left out: 0, 2-4") != NULL, "%s", o.err);
    outcome_free(&o);
    o = run_program(&w, "merge", "job", "--status", NULL);
    ck_assert_msg(strstr(o.out, "shards  2 of 6 done, 0 begun") != NULL, "%s", o.out);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Reports and exit statuses are those of one run, whether plan or merge is told of them. */
START_TEST(reports_are_those_of_one_run)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    write_text(in(&w, "limits.json"), "{\"overrides\": [{\"api\": \"mul\", \"limits\": "
                                      "{\"cosine\": 1.5}}]}");
    succeeded(run_program(&w, "-api_info", "dumps", "-o", "old", NULL));
    struct outcome a = run_program(&w, "-api_info", "dumps", "-o", "one", "--thresholds",
                                   "limits.json", "--fail-on", "error", "--junit", "one/junit.xml",
                                   "--baseline", "old", "--min-judged", "3", "--report",
                                   "one/page.html", NULL);
    ck_assert_int_eq(a.status, 1);
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "4", "--thresholds",
                          "limits.json", "--fail-on", "error", "--min-judged", "3", NULL));
    work_all(&w, 4);
    struct outcome b = run_program(&w, "merge", "job", "-o", "merged", "--junit",
                                   "merged/junit.xml", "--baseline", "old", "--report",
                                   "merged/page.html", NULL);
    ck_assert_int_eq(b.status, 1);
    ck_assert_uint_eq(count_matches(&w, "*/page.html"), 2);
    remove(in(&w, "one/page.html"));
    remove(in(&w, "merged/page.html"));
    tree_compare(in(&w, "one"), in(&w, "merged"), 0, "merged");
    /* The summary, up to where the files are. */
    const char *from = strstr(a.out, "calls          pass"),
               *to = strstr(a.out, "\n4 dumps of dumps");
    ck_assert(from && to);
    ck_assert_msg(!strncmp(b.out, from, (size_t)(to - from)), "%s\nshould be\n%s", b.out, from);
    const char *news = strstr(a.out, "new failures");
    ck_assert_ptr_nonnull(news);
    ck_assert_msg(strstr(b.out, news) != NULL, "%s\nshould end in\n%s", b.out, news);
    outcome_free(&a);
    outcome_free(&b);
    a = run_program(&w, "merge", "job", "-o", "merged", "--min-judged", "100000", NULL);
    ck_assert_int_eq(a.status, 1);
    outcome_free(&a);
    workspace_remove(&w);
}
END_TEST

/* ---- input that cannot be used ---------------------------------------------------------- */

static void replace_in_file(const char *path, const char *what, const char *by)
{
    char *text = read_file(path, NULL), *at = strstr(text, what);
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(strlen(what), strlen(by));
    memcpy(at, by, strlen(by));
    write_text(path, text);
    free(text);
}

START_TEST(a_dump_that_changed_is_named)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "1", NULL));
    write_many_calls(in(&w, "dumps/step1/rank0/dump.json"), 400, 61);
    fails_with(run_program(&w, "work", "job", "--shard", "0", NULL), 3,
               "dumps/step1/rank0/dump.json has changed since the job was planned");
    remove(in(&w, "dumps/step1/rank0/dump.json"));
    fails_with(run_program(&w, "work", "job", "--shard", "0", NULL), 3,
               "dumps/step1/rank0/dump.json");
    workspace_remove(&w);
}
END_TEST

START_TEST(a_plan_that_is_not_ours_is_refused)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "2", "--seed", "7", NULL));
    fails_with(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "2", NULL), 2,
               "'job' has a plan");
    const char *plan = in(&w, "job/plan.json");
    replace_in_file(plan, "\"shards\": [\n  {\"dump\": 0, \"call\": 0",
                    "\"shards\": [\n  {\"dump\": 0, \"call\": 1");
    fails_with(run_program(&w, "work", "job", "--shard", "0", NULL), 3,
               "has shards that are not those of its dumps");
    replace_in_file(plan, "\"shards\": [\n  {\"dump\": 0, \"call\": 1",
                    "\"shards\": [\n  {\"dump\": 0, \"call\": 0");
    replace_in_file(plan, "\"--seed\", \"7\"", "\"--seed\", \"8\"");
    fails_with(run_program(&w, "merge", "job", "-o", "merged", NULL), 3,
               "has been changed since it was made");
    replace_in_file(plan, "\"version\": \"0", "\"version\": \"9");
    fails_with(run_program(&w, "work", "job", "--shard", "0", NULL), 3, "was made by version 9");
    replace_in_file(plan, "\"format\": 1", "\"format\": 2");
    fails_with(run_program(&w, "merge", "job", "--status", NULL), 3, "is a plan of format 2");
    write_text(plan, "{\"format\": 1");
    fails_with(run_program(&w, "work", "job", "--shard", "0", NULL), 3, "plan.json: line 1");
    remove(plan);
    fails_with(run_program(&w, "work", "job", "--shard", "0", NULL), 3, "plan.json");
    workspace_remove(&w);
}
END_TEST

/* Shards of another job, of another number, and files that lost something. */
START_TEST(shards_that_do_not_belong_are_named)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "2", NULL));
    succeeded(
        run_program(&w, "plan", "dumps", "-o", "other", "--shards", "2", "--seed", "5", NULL));
    work_all(&w, 2);
    succeeded(run_program(&w, "work", "other", "--shard", "0", NULL));
    ck_assert_int_eq(rename(in(&w, "job/shards/0"), in(&w, "kept")), 0);
    ck_assert_int_eq(rename(in(&w, "other/shards/0"), in(&w, "job/shards/0")), 0);
    fails_with(run_program(&w, "merge", "job", "-o", "merged", "--no-progress", NULL), 3,
               "is of another job");
    ck_assert_int_eq(rename(in(&w, "job/shards/0"), in(&w, "foreign")), 0);
    char command[600];
    snprintf(command, sizeof command, "cp -r '%s/job/shards/1' '%s/job/shards/0'", w.path, w.path);
    ck_assert_int_eq(system(command), 0);
    fails_with(run_program(&w, "merge", "job", "-o", "merged", "--no-progress", NULL), 3,
               "shard 0 is not whole");
    tree_remove(in(&w, "job/shards/0"));
    ck_assert_int_eq(rename(in(&w, "kept"), in(&w, "job/shards/0")), 0);
    succeeded(run_program(&w, "merge", "job", "-o", "merged", NULL));
    workspace_remove(&w);
}
END_TEST

START_TEST(a_shard_that_lost_rows_is_named)
{
    static const char *const files[3] = { "*result*", "*details*", "*evidence*" };
    struct workspace w = workspace_make();
    char pattern[100];
    size_t length;
    make_dumps(&w);
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "1", NULL));
    work_all(&w, 1);
    snprintf(pattern, sizeof pattern, "job/shards/0/done/step0/rank1/%s", files[_i]);
    const char *path = only_match(&w, pattern);
    char *text = read_file(path, &length);
    write_file(path, text, length * 2 / 3);
    fails_with(run_program(&w, "merge", "job", "-o", "merged", "--no-progress", NULL), 3,
               "is not whole");
    char *end = text + length - 1; /* whole lines fewer */
    while (end[-1] != '\n') end--;
    write_file(path, text, (size_t)(end - text));
    fails_with(run_program(&w, "merge", "job", "-o", "merged", "--no-progress", NULL), 3,
               "is not whole");
    ck_assert_uint_eq(count_matches(&w, "merged/*/*/*.part"), 0);
    free(text);
    workspace_remove(&w);
}
END_TEST

/* A dump that is none is told when the job is planned, and again with the results, as in one run. */
START_TEST(a_dump_that_cannot_be_used_is_left_out)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    write_text(in(&w, "dumps/step0/rank0/dump.json"), "{\"data\": {\"Torch.add.0.forw");
    struct outcome o = run_program(&w, "-api_info", "dumps", "-o", "one", NULL);
    ck_assert_int_eq(o.status, 3);
    outcome_free(&o);
    o = run_program(&w, "plan", "dumps", "-o", "job", "--shards", "2", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_msg(strstr(o.err, "step0/rank0/dump.json: line 1") != NULL, "%s", o.err);
    outcome_free(&o);
    work_all(&w, 2);
    fails_with(run_program(&w, "merge", "job", "-o", "merged", NULL), 3,
               "1 of 4 dumps could not be checked");
    tree_compare(in(&w, "one"), in(&w, "merged"), 0, "merged");
    workspace_remove(&w);
}
END_TEST

START_TEST(a_plan_needs_to_know_how_to_cut)
{
    struct workspace w = workspace_make();
    make_dumps(&w);
    fails_with(run_program(&w, "plan", "dumps", "-o", "job", NULL), 2,
               "--shards N or --shard-seconds");
    fails_with(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "2", "--shard-seconds",
                           "1", NULL),
               2, "exclude each other");
    fails_with(
        run_program(&w, "plan", "dumps", "-o", "job", "--shards", "2", "--only", "nonsense", NULL),
        2, "there is no call to check");
    fails_with(run_program(&w, "plan", "nowhere", "-o", "job", "--shards", "2", NULL), 3,
               "nowhere");
    ck_assert_uint_eq(count_matches(&w, "job/plan.json"), 0);
    succeeded(run_program(&w, "plan", "dumps", "-o", "job", "--shards", "100000", NULL));
    work(&w, "0"); /* one call a shard */
    succeeded(run_program(&w, "plan", "dumps", "-o", "job2", "--shard-seconds", "0.000001", "-n",
                          "1", NULL));
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job");
    TCase *tests = tcase_create("job");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, shards_done_in_any_way_are_one_run, 0, 2);
    tcase_add_test(tests, duplicates_are_left_out_as_in_one_run);
    tcase_add_test(tests, options_hold_for_all_shards);
    tcase_add_test(tests, budgets_are_copied_into_the_job);
    tcase_add_loop_test(tests, a_single_dump_is_cut_as_well, 0, 2);
    tcase_add_test(tests, dumps_may_lie_elsewhere);
    tcase_add_test(tests, the_environment_names_the_shard);
    tcase_add_test(tests, an_interrupted_shard_goes_on);
    tcase_add_test(tests, half_a_copy_is_not_resumed);
    tcase_add_test(tests, missing_shards_are_named);
    tcase_add_test(tests, reports_are_those_of_one_run);
    tcase_add_test(tests, a_dump_that_changed_is_named);
    tcase_add_test(tests, a_plan_that_is_not_ours_is_refused);
    tcase_add_test(tests, shards_that_do_not_belong_are_named);
    tcase_add_loop_test(tests, a_shard_that_lost_rows_is_named, 0, 3);
    tcase_add_test(tests, a_dump_that_cannot_be_used_is_left_out);
    tcase_add_test(tests, a_plan_needs_to_know_how_to_cut);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
