/* Files that appear when they are whole. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/new_file.h"
#include "support/suite.h"
#include "support/workspace.h"

static struct workspace workspace;

static void start(void) { workspace = workspace_make(); }
static void finish(void) { workspace_remove(&workspace); }

static void holds(const char *path, const char *want)
{
    char text[64] = "";
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(text, want);
}

static void begin(struct new_file *file, const char *text)
{
    ck_assert_int_eq(new_file_create(file, in(&workspace, "result")).code, STATUS_OK);
    ck_assert_int_eq(file_write_all(&file->file, text, strlen(text)).code, STATUS_OK);
}

START_TEST(the_older_file_stays_until_the_end)
{
    struct new_file file;
    write_file(in(&workspace, "result"), "old", 3);
    begin(&file, "new");
    holds(in(&workspace, "result"), "old");
    char part[4096];
    (void)snprintf(part, sizeof part, "%s", file.part);
    ck_assert_int_eq(new_file_finish(&file).code, STATUS_OK);
    holds(in(&workspace, "result"), "new");
    ck_assert(!file_exists(part));
}
END_TEST

START_TEST(what_is_abandoned_leaves_nothing)
{
    struct new_file file;
    begin(&file, "half");
    struct status failure = status_error(STATUS_IO, "the first failure");
    ck_assert_str_eq(new_file_end(&file, failure).text, "the first failure");
    ck_assert(!file_exists(in(&workspace, "result")));
    ck_assert_int_eq(rmdir(workspace.path), 0); /* empty */
    ck_assert_int_eq(mkdir(workspace.path, 0700), 0);
    new_file_abandon(&file); /* once more does no harm */
}
END_TEST

START_TEST(a_leftover_of_this_process_is_replaced)
{
    struct new_file file;
    char part[4096];
    (void)snprintf(part, sizeof part, "%s.%ld.part", in(&workspace, "result"), (long)getpid());
    write_file(part, "left by a killed process", 24);
    begin(&file, "whole");
    ck_assert_int_eq(new_file_finish(&file).code, STATUS_OK);
    holds(in(&workspace, "result"), "whole");
}
END_TEST

static size_t syncs;

static int count_syncs(enum file_operation operation, const char *path)
{
    (void)path;
    syncs += operation == FILE_SYNC;
    return 0;
}

/* Many files are synced at once: none of them alone, and all by one call. */
START_TEST(files_that_are_synced_later_appear_at_once)
{
    struct new_file file;
    write_file(in(&workspace, "result"), "old", 3);
    syncs = 0;
    file_fault = count_syncs;
    begin(&file, "new");
    ck_assert_int_eq(new_file_finish_later(&file).code, STATUS_OK);
    ck_assert_uint_eq(syncs, 0);
    ck_assert_int_eq(file_sync_system(workspace.path).code, STATUS_OK);
    ck_assert_uint_eq(syncs, 1);
    file_fault = NULL;
    holds(in(&workspace, "result"), "new");
    struct status status = file_sync_system(in(&workspace, "nowhere"));
    ck_assert_int_ne(status.code, STATUS_OK);
    ck_assert_msg(strstr(status.text, "nowhere"), "%s", status.text);
}
END_TEST

/* The file and its name: two syncs. */
START_TEST(a_file_is_synced_by_its_name)
{
    struct new_file file;
    begin(&file, "new");
    ck_assert_int_eq(new_file_finish_later(&file).code, STATUS_OK);
    syncs = 0;
    file_fault = count_syncs;
    ck_assert_int_eq(file_sync_named(in(&workspace, "result")).code, STATUS_OK);
    file_fault = NULL;
    ck_assert_uint_eq(syncs, 2);
    ck_assert_int_ne(file_sync_named(in(&workspace, "nowhere")).code, STATUS_OK);
}
END_TEST

START_TEST(a_folder_that_is_missing_is_named)
{
    struct new_file file;
    struct status status = new_file_create(&file, in(&workspace, "no/where"));
    ck_assert_int_ne(status.code, STATUS_OK);
    ck_assert_msg(strstr(status.text, "no/where"), "%s", status.text);
    new_file_abandon(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("new_file");
    TCase *tests = tcase_create("new_file");
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_test(tests, the_older_file_stays_until_the_end);
    tcase_add_test(tests, what_is_abandoned_leaves_nothing);
    tcase_add_test(tests, a_leftover_of_this_process_is_replaced);
    tcase_add_test(tests, files_that_are_synced_later_appear_at_once);
    tcase_add_test(tests, a_file_is_synced_by_its_name);
    tcase_add_test(tests, a_folder_that_is_missing_is_named);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
