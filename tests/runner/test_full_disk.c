/* A file system that is really full, and a limit on file sizes: exit 3, a line that names the
 * file and the reason, nothing that going on could not mend. */
#include <sys/mount.h>
#include <sys/resource.h>

#include "support/dumps.h"
#include "support/runs.h"
#include "support/suite.h"

static void undisturbed(const struct workspace *w)
{
    struct outcome o = run_program(w, "-api_info", "dump.json", "-o", "whole", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
}

/* Status 3, the reason, and the hint to go on. */
static void ended_with(struct outcome o, const char *reason)
{
    ck_assert_msg(o.status == 3, "status %d: %s", o.status, o.err);
    ck_assert_msg(strstr(o.err, reason) && strstr(o.err, "accuracy_checking_"), "%s", o.err);
    ck_assert_msg(strstr(o.err, "-csv_path") != NULL, "%s", o.err);
    outcome_free(&o);
}

static void go_on_and_compare(const struct workspace *w)
{
    struct outcome o =
        run_program(w, "-api_info", "dump.json", "-csv_path", only_match(w, "out/" RESULT), NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    assert_same_files(only_match(w, "whole/" RESULT), only_match(w, "out/" RESULT));
    assert_same_files(only_match(w, "whole/" DETAILS), only_match(w, "out/" DETAILS));
}

START_TEST(full_file_system)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 200, 8);
    ck_assert_int_eq(mkdir(in(&w, "out"), 0750), 0);
    if (mount("tmpfs", in(&w, "out"), "tmpfs", 0, "size=64k,mode=0750")) {
        printf("no right to mount a file system: not tested\n");
        workspace_remove(&w);
        return;
    }
    undisturbed(&w);
    ended_with(run_program(&w, "-api_info", "dump.json", "-o", "out", NULL),
               "No space left on device");
    ck_assert_int_eq(mount("tmpfs", in(&w, "out"), "tmpfs", MS_REMOUNT, "size=16m"), 0);
    go_on_and_compare(&w);
    ck_assert_int_eq(umount(in(&w, "out")), 0);
    workspace_remove(&w);
}
END_TEST

START_TEST(limited_file_size)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 200, 8);
    undisturbed(&w);
    struct rlimit before, small;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 50000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ended_with(o, "File too large");
    go_on_and_compare(&w);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("full_disk");
    TCase *tests = tcase_create("full_disk");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, full_file_system);
    tcase_add_test(tests, limited_file_size);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
