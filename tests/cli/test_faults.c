/* Every allocation and every file operation of a run fails once, at every place: no crash, no
 * leak (the address sanitizer looks), a message that says what failed, and going on afterwards
 * ends in the bytes of the undisturbed run.
 *
 * The whole program runs inside this process, so that the hooks of core can reach it.
 */
#include "runner/environment.h"
#include "support/dumps.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/trees.h"

/* ---- runs ------------------------------------------------------------------------------- */

static struct workspace place;

static struct status run(const char *const *words, int *exit_status)
{
    /* What the commands print is of no interest here. */
    struct command_outcome o = run_command(words);
    struct status status = o.status;
    *exit_status = o.exit_status;
    command_outcome_free(&o);
    return status;
}

static struct status run_into(const char *directory, int *exit_status)
{
    const char *const words[] = { "probe-ut", "run_ut", "-api_info", "dump.json",     "-o",
                                  directory,  "-n",     "1",         "--no-progress", "--memory",
                                  "1G",       NULL };
    return run(words, exit_status);
}

static struct status go_on(const char *path, int *exit_status)
{
    const char *const words[] = { "probe-ut",      "run_ut",   "-api_info", "dump.json",
                                  "-csv_path",     path,       "-n",        "1",
                                  "--no-progress", "--memory", "1G",        NULL };
    return run(words, exit_status);
}

/* The one file of this kind in a directory of the workspace, or NULL. */
static const char *find(const char *directory, const char *kind)
{
    char pattern[128];
    snprintf(pattern, sizeof pattern, "%s/accuracy_checking_%s_*[lv]", directory, kind);
    if (!count_matches(&place, pattern)) return NULL;
    return only_match(&place, pattern);
}

static void check_whole(const char *directory, long at)
{
    static const char *const kinds[] = { "result", "details", "evidence" };
    for (int i = 0; i < 3; i++) {
        char *text = read_file(find(directory, kinds[i]), NULL);
        ck_assert_msg(tree_same_bytes(find("whole", kinds[i]), find(directory, kinds[i]), false),
                      "the %s file differs after failure %ld:\n%s", kinds[i], at, text);
        free(text);
    }
}

/* A run in which operation `at` fails. True when there was such an operation. */
static bool run_with_failure(enum fault_kind kind, long at)
{
    int exit_status = 0;
    faults_arm(kind, at, 1);
    struct status status = run_into("out", &exit_status);
    bool reached = faults_disarm() <= 0;

    if (status.code) {
        ck_assert_msg(status.text[0] && !strchr(status.text, '\n'), "failure %ld: '%s'", at,
                      status.text);
        ck_assert_msg(reached, "no failure, but %s", status.text);
        if (kind == FAULT_FILE && status.code != STATUS_NO_MEMORY)
            ck_assert_msg(strchr(status.text, '\''), "failure %ld does not name a file: '%s'", at,
                          status.text);
        const char *path = find("out", "result");
        if (path) {
            struct status resumed = go_on(path, &exit_status);
            ck_assert_msg(!resumed.code, "resuming after failure %ld (%s): %s", at, status.text,
                          resumed.text);
            check_whole("out", at);
        }
    } else {
        check_whole("out", at);
    }
    tree_remove("out");
    return reached;
}

/* A workspace with a dump and the results of an undisturbed run. */
static void prepare(void)
{
    int exit_status = 0;
    place = faults_workspace();
    write_many_calls("dump.json", 2, 20);
    struct status status = run_into("whole", &exit_status);
    ck_assert_msg(!status.code, "%s", status.text);
}

static void fail_everywhere(enum fault_kind kind)
{
    prepare();
    long at = 1;
    while (run_with_failure(kind, at)) at++;
    ck_assert_int_gt(at, 10);
    printf("%ld operations\n", at - 1);
    workspace_remove(&place);
}

START_TEST(every_allocation_fails_once) { fail_everywhere(FAULT_MEMORY); }
END_TEST

START_TEST(every_file_operation_fails_once)
{
    static const int errors[] = { EIO, ENOSPC, EACCES, FILE_SHORT };
    faults_error = errors[_i];
    fail_everywhere(FAULT_FILE);
}
END_TEST

/* ---- arenas ------------------------------------------------------------------------------ */

/* Requests that the arena of a call refuses. A single one costs a second attempt and changes no
 * byte. When those after it fail too, calls become SKIP rows that say so, or the run ends with a
 * line: never a crash. */
START_TEST(requests_of_arenas_fail)
{
    bool stretch = _i == 1;
    int exit_status = 0;
    long at, skips = 0;
    prepare();
    for (at = 1;; at++) {
        faults_arm(FAULT_ARENA, at, stretch ? 2 + at % 6 : 1);
        struct status status = run_into("out", &exit_status);
        bool reached = faults_disarm() <= 0;
        ck_assert_msg(!status.code || (reached && status.text[0] && !strchr(status.text, '\n')),
                      "request %ld: '%s'", at, status.text);
        if (!status.code && !stretch) check_whole("out", at);
        if (!status.code && stretch) {
            char *text = read_file(find("out", "result"), NULL);
            skips += strstr(text, "SKIP") != NULL;
            free(text);
        }
        tree_remove("out");
        if (!reached) break;
    }
    ck_assert_int_gt(at, 100);
    ck_assert(!stretch == !skips);
    printf("requests up to %ld, %ld runs with calls skipped\n", at, skips);
    workspace_remove(&place);
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    if (environment_prepare(argv).code)
        return 1; /* the JSON library allocates through core from here on */
    Suite *suite = suite_create("faults");
    TCase *tests = tcase_create("faults");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, every_allocation_fails_once);
    tcase_add_loop_test(tests, requests_of_arenas_fail, 0, 2);
    tcase_add_loop_test(tests, every_file_operation_fails_once, 0, 4);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
