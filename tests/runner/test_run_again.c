/* Runs that are interrupted and go on, and those that are made again: the same bytes, or a refusal that says why. */
#include <time.h>

#include "support/dumps.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/suite.h"

static size_t file_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) ? 0 : (size_t)st.st_size;
}

static void pause_ms(long ms)
{
    const struct timespec time = { .tv_nsec = ms * 1000000 };
    nanosleep(&time, NULL);
}

/* Ctrl-C and SIGTERM: exit 130, a hint that works, and the bytes of the undisturbed run. */
START_TEST(interruption)
{
    static const int signals[] = { SIGINT, SIGTERM };
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), SANITIZED ? 80 : 800, 60000);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "whole", NULL));

    char *argv[] = { (char *)"probe-ut", (char *)"-api_info", (char *)"dump.json",
                     (char *)"-o",       (char *)"cut",       NULL };
    pid_t pid = start_program(&w, argv);
    while (!count_matches(&w, "cut/" RESULT) || file_bytes(only_match(&w, "cut/" RESULT)) < 200)
        pause_ms(1);
    ck_assert_int_eq(kill(pid, signals[_i]), 0);
    struct outcome o = wait_program(&w, pid);
    ck_assert_msg(o.status == 130, "status %d: %s", o.status, o.err);
    const char *path = only_match(&w, "cut/" RESULT);
    ck_assert_msg(strstr(o.err, "-csv_path") && strstr(o.err, strrchr(path, '/')), "%s", o.err);
    const char *so_far = strstr(o.out, "\nso far, "); /* with a summary of it */
    ck_assert_msg(so_far && strstr(so_far, "\nforward "), "%s", o.out);
    outcome_free(&o);

    o = run_program(&w, "-api_info", "dump.json", "-csv_path", path, NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: "));
    outcome_free(&o);
    same_runs(&w, "whole", "cut");
    workspace_remove(&w);
}
END_TEST

/* A run keeps the modes of kernels that it allows: which they are decides its verdicts. */
START_TEST(other_modes_are_refused)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 4, 4);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "out", "--profile", "strict",
                          "--allow", "ftz,tf32", NULL));
    const char *path = only_match(&w, "out/" RESULT);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-csv_path", path, "--profile",
                                   "strict", "--allow", "hf32", NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "allow was \"tf32,ftz\", is \"hf32\"") != NULL, "%s", o.err);
    outcome_free(&o);
    succeeded(run_program(&w, "-api_info", "dump.json", "-csv_path", path, "--profile", "strict",
                          "--allow", "tf32,ftz", NULL));
    o = run_program(&w, "-api_info", "dump.json", "--allow", "tf32", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "--profile strict") != NULL, "%s", o.err);
    outcome_free(&o);
    o = run_program(&w, "-api_info", "dump.json", "--profile", "strict", "--allow", "tf23", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "the nearest is tf32") != NULL, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Hard inputs are the same for any number of threads, belong to the run, and are no inputs of recorded outputs. */
START_TEST(kinds_of_inputs)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 12, 500);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "one", "-n", "1", "--inputs", "hard",
                          NULL));
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "two", "-n", "2", "--inputs", "hard",
                          NULL));
    succeeded(
        run_program(&w, "-api_info", "dump.json", "-o", "random", "--inputs", "random", NULL));
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "usual", NULL));
    same_runs(&w, "one", "two");
    same_runs(&w, "random", "usual"); /* it has no tensors */
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-csv_path", only_match(&w, "one/" RESULT), NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "inputs was \"hard\"") != NULL, "%s", o.err);
    outcome_free(&o);
    o = run_program(&w, "-api_info", "dump.json", "--backend", "recorded", "--inputs", "hard",
                    NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "needs another backend") != NULL, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Sizes beside those of tiles: the same for any number of threads and after a run that was cut off, said by the rows,
 * and none of recorded outputs. */
START_TEST(hard_sizes)
{
    struct workspace w = workspace_make();
    char pattern[64];
    write_many_calls(in(&w, "dump.json"), 12, 500);
    for (int n = 1; n <= 2; n++) {
        snprintf(pattern, sizeof pattern, "%d", n);
        succeeded(run_program(&w, "-api_info", "dump.json", "-o", pattern, "-n", pattern,
                              "--inputs", "hard-sizes", NULL));
    }
    same_runs(&w, "1", "2");
    char *details = read_file(only_match(&w, "1/" DETAILS), NULL);
    char *evidence = read_file(only_match(&w, "1/" EVIDENCE), NULL);
    ck_assert_msg(strstr(details, "Sizes: dimension 0 of input") != NULL, "%s", details);
    ck_assert_ptr_nonnull(strstr(evidence, "Sizes: dimension 0 of input"));
    free(details);
    free(evidence);
    const char *result = only_match(&w, "2/" RESULT);
    ck_assert_int_eq(truncate(result, 120), 0);
    succeeded(run_program(&w, "-api_info", "dump.json", "--inputs", "hard-sizes", "-csv_path",
                          result, NULL));
    same_runs(&w, "1", "2");
    struct outcome o = run_program(&w, "-api_info", "dump.json", "--backend", "recorded",
                                   "--inputs", "hard-sizes", NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "--inputs hard-sizes needs another backend") != NULL, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Going on with another seed is refused, and says so. */
START_TEST(other_options_are_refused)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 4, 4);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "out", NULL));
    const char *path = only_match(&w, "out/" RESULT);
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-csv_path", path, "--seed", "5", NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "seed was 1234, is 5") != NULL, "%s", o.err);
    outcome_free(&o);
    write_many_calls(in(&w, "dump.json"), 5, 4);
    o = run_program(&w, "-api_info", "dump.json", "-csv_path", path, NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "dump_digest was") != NULL, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Two runs that start in one directory at once take different names, and both end whole. */
START_TEST(two_runs_in_one_directory)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 60, 2000);
    char *argv[] = { (char *)"probe-ut", (char *)"-api_info", (char *)"dump.json",
                     (char *)"-o",       (char *)"out",       NULL };
    pid_t a = start_program(&w, argv), b = start_program(&w, argv);
    struct outcome x = wait_program(&w, a), y = wait_program(&w, b);
    ck_assert_int_eq(x.status, 0);
    ck_assert_int_eq(y.status, 0);
    outcome_free(&x);
    outcome_free(&y);
    glob_t found;
    ck_assert_int_eq(glob(in(&w, "out/" RESULT), 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 2);
    assert_same_files(found.gl_pathv[0], found.gl_pathv[1]);
    globfree(&found);
    ck_assert_uint_eq(count_matches(&w, "out/accuracy_checking_run_*.json"), 2);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run again");
    TCase *tests = tcase_create("run");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, interruption, 0, 2);
    tcase_add_test(tests, other_options_are_refused);
    tcase_add_test(tests, other_modes_are_refused);
    tcase_add_test(tests, kinds_of_inputs);
    tcase_add_test(tests, hard_sizes);
    tcase_add_test(tests, two_runs_in_one_directory);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
