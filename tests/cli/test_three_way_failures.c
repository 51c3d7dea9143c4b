/* probe-ut api_precision_compare: exit statuses, input that cannot be used, files and memory that
 * fail. */
#include <stdatomic.h>
#include <sys/stat.h>

#include "three_way_files.h"

/* ---- exit statuses ---------------------------------------------------------------------- */

START_TEST(fail_on)
{
    static const struct {
        const char *rmse, *fail_on;
        int status;
    } cases[] = { { "1", "warning", 0 },
                  { "2", "warning", 1 },
                  { "2", "error", 0 },
                  { "3", "error", 1 },
                  { "3", "warning", 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct small s = small_files();
        add_benchmark(&s.npu, "Torch.a.0.forward.output.0", cases[i].rmse, "pass");
        add_benchmark(&s.gpu, "Torch.a.0.forward.output.0", "1", "pass");
        write_text(in(&s.w, "npu.csv"), s.npu);
        write_text(in(&s.w, "gpu.csv"), s.gpu);
        struct outcome o = run_program(&s.w, "api_precision_compare", "-npu", "npu.csv", "-gpu",
                                       "gpu.csv", "-o", "out", "--fail-on", cases[i].fail_on, NULL);
        ck_assert_msg(o.status == cases[i].status, "case %zu: %d", i, o.status);
        small_done(&s, &o);
    }
}
END_TEST

START_TEST(thresholds_of_the_user)
{
    struct small s = small_files();
    add_benchmark(&s.npu, "Torch.a.0.forward.output.0", "3", "pass");
    add_benchmark(&s.gpu, "Torch.a.0.forward.output.0", "1", "pass");
    write_text(in(&s.w, "npu.csv"), s.npu);
    write_text(in(&s.w, "gpu.csv"), s.gpu);
    write_text(in(&s.w, "mine.json"),
               "{\"overrides\": [{\"api\": \"a\", \"three_way\": {\"ratio\": {\"L0\": "
               "{\"rmse\": {\"error\": 3}}}}}]}");
    struct outcome o = run_program(&s.w, "api_precision_compare", "-npu", "npu.csv", "-gpu",
                                   "gpu.csv", "-o", "out", "--profile", "v2", "--thresholds",
                                   "mine.json", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.err, "warning: mine.json:1: overrides[0].api: there is no API 'a'") !=
                      NULL,
                  "%s", o.err);
    char *result = output(&s.w, RESULT);
    ck_assert(has_line(result, "Torch.a.0,pass, ,"));
    free(result);
    small_done(&s, &o);
}
END_TEST

static void check_failure(const struct workspace *w, struct outcome o, int status,
                          const char *message)
{
    ck_assert_msg(o.status == status, "status %d: %s", o.status, o.err);
    ck_assert_msg(strstr(o.err, message), "%s", o.err);
    ck_assert_uint_eq(count_matches(w, "out/*"), 0);
    outcome_free(&o);
}

START_TEST(unusable_input)
{
    struct workspace w = workspace_make();
    const char *good = INPUTS "m2_missing.csv";
    write_text(in(&w, "columns.csv"), "API Name,DEVICE Dtype,均方根误差\r\n");
    write_text(in(&w, "empty.csv"), "");
    write_file(in(&w, "nul.csv"), "a\0b", 3);
    check_failure(&w, compare(&w, "doc", "none.csv", good), 3, "none.csv");
    check_failure(&w, compare(&w, "doc", good, "none.csv"), 3, "none.csv");
    check_failure(&w, compare(&w, "doc", good, "empty.csv"), 3, "empty.csv is empty");
    check_failure(&w, compare(&w, "doc", "columns.csv", good), 3,
                  "columns.csv is not a details file of a run (accuracy_checking_details_*.csv); "
                  "these columns are "
                  "missing: 小值域错误占比, 相对误差最大值");
    check_failure(&w, compare(&w, "doc", good, "nul.csv"), 3, "nul.csv: a NUL byte at byte 1");
    check_failure(&w, compare(&w, "v9", good, good), 2, "v9");
    check_failure(&w, run_program(&w, "api_precision_compare", "-npu", good, NULL), 2, "gpu");
    workspace_remove(&w);
}
END_TEST

/* Two comparisons in one second and one directory get different names. */
START_TEST(names_do_not_collide)
{
    struct workspace w = workspace_make();
    for (int i = 0; i < 3; i++) {
        struct outcome o = compare(&w, "doc", INPUTS "m2_missing.csv", INPUTS "m2_missing.csv");
        ck_assert_int_eq(o.status, 0);
        outcome_free(&o);
    }
    ck_assert_uint_eq(count_matches(&w, RESULT), 3);
    ck_assert_uint_eq(count_matches(&w, DETAILS), 3);
    workspace_remove(&w);
}
END_TEST

/* ---- failing resources ------------------------------------------------------------------ */

static atomic_size_t operations_left; /* of all threads of the command */
static enum file_operation failing;

static int fail_file(enum file_operation operation, const char *path)
{
    (void)path;
    return operation == failing && atomic_fetch_sub(&operations_left, 1) == 0 ? EIO : 0;
}

static int fail_allocation(size_t bytes)
{
    (void)bytes;
    return atomic_fetch_sub(&operations_left, 1) == 0;
}

static struct status compare_here(const struct workspace *w)
{
    char out[512];
    snprintf(out, sizeof out, "%s", in(w, "out"));
    char *arguments[] = { (char *)"-npu",         (char *)INPUTS "m2_dev_a.csv",
                          (char *)"-gpu",         (char *)INPUTS "m2_missing.csv",
                          (char *)"-o",           out,
                          (char *)"--trust-files" };
    void *values = calloc(1, compare_command.bytes);
    bool help;
    int exit_status;
    struct status status = options_parse(values, &help, &compare_command, 7, arguments);
    if (!status.code) status = compare_command.run(&exit_status, values);
    free(values);
    return status;
}

/* Each read, write, creation and closing fails once: an error that names a file, and no output
 * is left that could pass for a whole one. */
START_TEST(failing_files)
{
    static const enum file_operation operations[] = { FILE_OPEN, FILE_READ, FILE_CREATE, FILE_WRITE,
                                                      FILE_CLOSE };
    struct workspace w = workspace_make();
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
    setenv("PROBE_OUT", in(&w, "out"), 1);
    failing = operations[_i];
    size_t failures = 0;
    for (size_t n = 0; n < 30; n++) {
        atomic_store(&operations_left, n);
        file_fault = fail_file;
        struct status status = compare_here(&w);
        file_fault = NULL;
        if (!status.code) {
            /* all went well, or a file that was only read could not be closed */
            ck_assert_uint_eq(count_matches(&w, "out/*"), 2);
            ck_assert_int_eq(system("rm -r \"$PROBE_OUT\""), 0);
            continue;
        }
        failures++;
        ck_assert_int_eq(status.code, STATUS_IO);
        ck_assert_ptr_nonnull(strstr(status.text, ".csv"));
        ck_assert_uint_eq(count_matches(&w, "out/*"), 0);
    }
    ck_assert_uint_gt(failures, 1);
    workspace_remove(&w);
}
END_TEST

START_TEST(failing_allocations)
{
    struct workspace w = workspace_make();
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
    size_t n = 0;
    for (;; n++) {
        atomic_store(&operations_left, n);
        memory_fault = fail_allocation;
        struct status status = compare_here(&w);
        memory_fault = NULL;
        if (!status.code) break;
        ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
        ck_assert_uint_eq(count_matches(&w, "out/*"), 0);
    }
    ck_assert_uint_gt(n, 20);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("three_way_failures");
    TCase *tests = tcase_create("three_way_failures");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, fail_on);
    tcase_add_test(tests, thresholds_of_the_user);
    tcase_add_test(tests, unusable_input);
    tcase_add_test(tests, names_do_not_collide);
    tcase_add_loop_test(tests, failing_files, 0, 5);
    tcase_add_test(tests, failing_allocations);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
