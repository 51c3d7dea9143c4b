/* Every allocation and every file operation of a run fails once, at every place: no crash, no
 * leak (the address sanitizer looks), a message that says what failed, and going on afterwards
 * ends in the bytes of the undisturbed run.
 *
 * The whole program runs inside this process, so that the hooks of core can reach it.
 */
#include <fcntl.h>
#include <stdatomic.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/memory.h"
#include "runner/commands.h"
#include "runner/environment.h"
#include "runner/dumps.h"
#include "suite.h"

/* ---- the hooks -------------------------------------------------------------------------- */

static atomic_long countdown; /* of the operation that is to fail; <= 0: it has */
static int file_error;        /* errno, or FILE_SHORT */

static int fail_allocation(size_t bytes)
{
    (void)bytes;
    return atomic_fetch_sub(&countdown, 1) == 1;
}

static int fail_file(enum file_operation operation, const char *path)
{
    (void)path;
    /* A short transfer is no failure of anything else. */
    if (file_error == FILE_SHORT && operation != FILE_READ && operation != FILE_WRITE) return 0;
    return atomic_fetch_sub(&countdown, 1) == 1 ? file_error : 0;
}

static void set_hooks(bool memory, bool files, long at)
{
    atomic_store(&countdown, at);
    memory_fault = memory ? fail_allocation : NULL;
    file_fault = files ? fail_file : NULL;
}

/* ---- runs ------------------------------------------------------------------------------- */

static struct workspace place;

static struct status run(const char *const *words, int *exit_status)
{
    char *arguments[16];
    int count = 0;
    for (; words[count]; count++) arguments[count] = (char *)words[count];
    return commands_run(exit_status, count, arguments);
}

static struct status run_into(const char *directory, int *exit_status)
{
    const char *const words[] = { "probe-ut", "run_ut", "-api_info", "dump.json", "-o", directory,
                                  "-n", "1", "--no-progress", "--memory", "1G", NULL };
    return run(words, exit_status);
}

static struct status go_on(const char *path, int *exit_status)
{
    const char *const words[] = { "probe-ut", "run_ut", "-api_info", "dump.json", "-csv_path",
                                  path, "-n", "1", "--no-progress", "--memory", "1G", NULL };
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

static bool same_files(const char *a, const char *b)
{
    size_t la = 0, lb = 0;
    char *x = read_file(a, &la), *y = read_file(b, &lb);
    bool same = x && y && la == lb && !memcmp(x, y, la);
    free(x);
    free(y);
    return same;
}

static void check_whole(const char *directory, long at)
{
    static const char *const kinds[] = { "result", "details", "evidence" };
    for (int i = 0; i < 3; i++) {
        char *text = read_file(find(directory, kinds[i]), NULL);
        ck_assert_msg(same_files(find("whole", kinds[i]), find(directory, kinds[i])),
                      "the %s file differs after failure %ld:\n%s", kinds[i], at, text);
        free(text);
    }
}

/* A run in which operation `at` fails. True when there was such an operation. */
static bool run_with_failure(bool memory, bool files, long at)
{
    int exit_status = 0;
    set_hooks(memory, files, at);
    struct status status = run_into("out", &exit_status);
    bool reached = atomic_load(&countdown) <= 0;
    set_hooks(false, false, 0);

    if (status.code) {
        ck_assert_msg(status.text[0] && !strchr(status.text, '\n'), "failure %ld: '%s'", at,
                      status.text);
        ck_assert_msg(reached, "no failure, but %s", status.text);
        if (files && status.code != STATUS_NO_MEMORY)
            ck_assert_msg(strchr(status.text, '\''),
                          "failure %ld does not name a file: '%s'", at, status.text);
        const char *path = find("out", "result");
        if (path) {
            struct status resumed = go_on(path, &exit_status);
            ck_assert_msg(!resumed.code, "going on after failure %ld (%s): %s", at, status.text,
                          resumed.text);
            check_whole("out", at);
        }
    } else {
        check_whole("out", at);
    }
    ck_assert_int_eq(system("rm -rf out"), 0);
    return reached;
}

static void fail_everywhere(bool memory, bool files)
{
    int exit_status = 0;
    place = workspace_make();
    ck_assert_int_eq(chdir(place.path), 0);
    write_many_calls("dump.json", 2, 20);
    /* What the commands print is of no interest here. */
    fflush(stdout);
    int terminal = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
    ck_assert_int_ge(dup2(null, STDOUT_FILENO), 0);
    struct status status = run_into("whole", &exit_status);
    ck_assert_msg(!status.code, "%s", status.text);
    long at = 1;
    while (run_with_failure(memory, files, at)) at++;
    fflush(stdout);
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    close(null);
    ck_assert_int_gt(at, 10);
    printf("%ld operations\n", at - 1);
    workspace_remove(&place);
}

START_TEST(every_allocation_fails_once)
{
    fail_everywhere(true, false);
}
END_TEST

START_TEST(every_file_operation_fails_once)
{
    static const int errors[] = { EIO, ENOSPC, EACCES, FILE_SHORT };
    file_error = errors[_i];
    fail_everywhere(false, true);
}
END_TEST

/* ---- arenas ------------------------------------------------------------------------------ */

static bool refuse_once(size_t bytes)
{
    return fail_allocation(bytes) != 0;
}

static long stretch_length;

static bool refuse_a_stretch(size_t bytes)
{
    (void)bytes;
    long left = atomic_fetch_sub(&countdown, 1);
    return left <= 1 && left > 1 - stretch_length;
}

/* Requests that the arena of a call refuses. A single one costs a second attempt and changes no
 * byte. When those after it fail too, calls become SKIP rows that say so, or the run ends with a
 * line: never a crash. */
START_TEST(requests_of_arenas_fail)
{
    bool stretch = _i == 1;
    int exit_status = 0, terminal, null = open("/dev/null", O_WRONLY);
    long at, skips = 0;
    place = workspace_make();
    ck_assert_int_eq(chdir(place.path), 0);
    write_many_calls("dump.json", 2, 20);
    fflush(stdout);
    terminal = dup(STDOUT_FILENO);
    ck_assert_int_ge(dup2(null, STDOUT_FILENO), 0);
    ck_assert(!run_into("whole", &exit_status).code);
    for (at = 1;; at++) {
        atomic_store(&countdown, at);
        stretch_length = 2 + at % 6;
        arena_fault = stretch ? refuse_a_stretch : refuse_once;
        struct status status = run_into("out", &exit_status);
        bool reached = atomic_load(&countdown) <= 0;
        arena_fault = NULL;
        ck_assert_msg(!status.code || (reached && status.text[0] && !strchr(status.text, '\n')),
                      "request %ld: '%s'", at, status.text);
        if (!status.code && !stretch) check_whole("out", at);
        if (!status.code && stretch) {
            char *text = read_file(find("out", "result"), NULL);
            skips += strstr(text, "SKIP") != NULL;
            free(text);
        }
        ck_assert_int_eq(system("rm -rf out"), 0);
        if (!reached) break;
    }
    fflush(stdout);
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    close(null);
    ck_assert_int_gt(at, 100);
    ck_assert(!stretch == !skips);
    printf("requests up to %ld, %ld runs with calls skipped\n", at, skips);
    workspace_remove(&place);
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    environment_prepare(argv); /* the JSON library allocates through core from here on */
    Suite *suite = suite_create("faults");
    TCase *tests = tcase_create("faults");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, every_allocation_fails_once);
    tcase_add_loop_test(tests, requests_of_arenas_fail, 0, 2);
    tcase_add_loop_test(tests, every_file_operation_fails_once, 0, 4);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
