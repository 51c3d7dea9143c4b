/* Files that appear when they are whole: their bytes and modes, and that a failure leaves the older
 * file and nothing else. */
#include <errno.h>
#include <glob.h>

#include "core/file.h"
#include "core/whole_file.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct scratch scratch;

static void setup(void) { scratch = scratch_make(); }
static void teardown(void) { scratch_remove(&scratch); }

static mode_t mode_of(const char *path)
{
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    return info.st_mode & 0777;
}

static void check_text(const char *path, const char *expected)
{
    char *text = scratch_read(path, NULL);
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(bytes_and_modes)
{
    const char *path = scratch_path(&scratch, "a.csv");
    ck_assert(!whole_file_write(path, "one", 3, READERS_GROUP).code);
    check_text(path, "one");
    ck_assert_int_eq(mode_of(path), 0640);
    ck_assert(!whole_file_write(path, "two!", 4, READERS_NONE).code);
    check_text(path, "two!");
    ck_assert_int_eq(mode_of(path), 0600);
}
END_TEST

START_TEST(directories_that_nobody_else_enters)
{
    const char *path = scratch_path(&scratch, "x/y");
    ck_assert(!private_directory_make(path).code);
    ck_assert_int_eq(mode_of(path), 0700);
    ck_assert_int_eq(chmod(path, 0755), 0);
    ck_assert(!private_directory_make(path).code); /* it was there: it stays as it is */
    ck_assert_int_eq(mode_of(path), 0755);
}
END_TEST

static int left;

static int refuse(enum file_operation operation, const char *path)
{
    (void)path;
    if (operation == FILE_REMOVE) return 0; /* cleaning up */
    return left-- == 0 ? ENOSPC : 0;
}

START_TEST(failures_leave_the_older_file)
{
    char path[300];
    struct status status;
    glob_t found;
    int failures = 0;
    snprintf(path, sizeof path, "%s", scratch_text(&scratch, "a.csv", "older"));
    do {
        left = failures;
        file_fault = refuse;
        status = whole_file_write(path, "newer", 5, READERS_GROUP);
        file_fault = NULL;
        if (left >= 0) break;
        failures++;
        ck_assert_int_eq(status.code, STATUS_IO);
        if (!strstr(status.text, scratch.path)) ck_abort_msg("%s", status.text);
        bool clean = glob(scratch_path(&scratch, "*.part"), 0, NULL, &found) != 0;
        ck_assert_msg(clean, "after %d: %s", failures, status.text);
    } while (failures < 100);
    ck_assert_int_ge(failures, 4); /* create, write, sync, rename at least */
    check_text(path, "newer");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_file");
    TCase *tests = tcase_create("whole_file");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, bytes_and_modes);
    tcase_add_test(tests, directories_that_nobody_else_enters);
    tcase_add_test(tests, failures_leave_the_older_file);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
