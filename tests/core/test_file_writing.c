/* File operations: writing, locking, renaming, and making directories. */
#include <sys/wait.h>

#include "file_checks.h"

/* ---- opening for reading ---------------------------------------------------------------- */

/* From an offset on, behind what is there, in as many pieces as it takes. */
START_TEST(appends_what_another_file_has)
{
    static const size_t sizes[] = { 0, 5, 1 << 18, (1 << 18) + 1, 3 << 18 };
    struct scratch dir = scratch_make();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct file from, to;
        char name[20], *want = memory_allocate(sizes[i] + 1), *text;
        size_t bytes, offset = sizes[i] / 3;
        for (size_t k = 0; k < sizes[i]; k++) want[k] = (char)('a' + k * k % 23);
        snprintf(name, sizeof name, "from%zu", i);
        ck_assert(!file_create(&from, scratch_path(&dir, name)).code);
        ck_assert(!file_write_all(&from, want, sizes[i]).code);
        ck_assert(!file_close(&from).code);
        ck_assert(!file_open_read(&from, scratch_path(&dir, name), FILES_CHECKED).code);
        snprintf(name, sizeof name, "to%zu", i);
        ck_assert(!file_create(&to, scratch_path(&dir, name)).code);
        ck_assert(!file_write_all(&to, "head", 4).code);
        ck_assert(!file_append_from(&to, &from, offset).code);
        ck_assert(!file_close(&to).code && !file_close(&from).code);
        ck_assert(!file_read_path(&text, &bytes, scratch_path(&dir, name), FILES_CHECKED).code);
        ck_assert_uint_eq(bytes, 4 + sizes[i] - offset);
        ck_assert_mem_eq(text, "head", 4);
        ck_assert(!memcmp(text + 4, want + offset, bytes - 4));
        memory_release(text);
        memory_release(want);
    }
    scratch_remove(&dir);
}
END_TEST

/* ---- writing ---------------------------------------------------------------------------- */

static mode_t mode_of(const char *path)
{
    struct stat info;
    ck_assert_int_eq(lstat(path, &info), 0);
    return info.st_mode & 07777;
}

START_TEST(creating_is_exclusive_and_private)
{
    struct scratch dir = scratch_make();
    const char *path = scratch_path(&dir, "out.csv");
    struct file file;

    umask(0);
    ck_assert_int_eq(file_create(&file, path).code, STATUS_OK);
    ck_assert_uint_eq(mode_of(path), 0640);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    struct status status = file_create(&file, path);
    ck_assert(file_already_exists(status));
    CONTAINS(status, "exists already");
    ck_assert_int_eq(symlink("/nonexistent/x", scratch_path(&dir, "link")), 0);
    ck_assert(file_already_exists(file_create(&file, scratch_path(&dir, "link"))));
    status = file_create(&file, scratch_path(&dir, "no/such/place"));
    ck_assert_int_eq(status.code, STATUS_IO);
    ck_assert(!file_already_exists(status));
    CONTAINS(status, "No such file or directory");
    scratch_remove(&dir);
}
END_TEST

START_TEST(writing_appending_and_cutting)
{
    struct scratch dir = scratch_make();
    const char *path = scratch_path(&dir, "out");
    struct file file;
    size_t bytes, got;
    char buffer[16];
    uint64_t size;

    ck_assert_int_eq(file_create(&file, path).code, STATUS_OK);
    ck_assert_int_eq(file_write_all(&file, "hello world", 11).code, STATUS_OK);
    ck_assert_int_eq(file_truncate(&file, 5).code, STATUS_OK);
    ck_assert_int_eq(file_write_all(&file, "!", 1).code, STATUS_OK);
    ck_assert_int_eq(file_sync(&file).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);

    ck_assert_int_eq(file_open_append(&file, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_read_at(&got, &file, buffer, 3, 1).code, STATUS_OK);
    ck_assert_uint_eq(got, 3);
    ck_assert_mem_eq(buffer, "ell", 3);
    ck_assert_int_eq(file_read_at(&got, &file, buffer, 16, 4).code, STATUS_OK);
    ck_assert_uint_eq(got, 2);
    ck_assert_int_eq(file_write_all(&file, "?", 1).code, STATUS_OK);
    ck_assert_int_eq(file_size(&size, &file).code, STATUS_OK);
    ck_assert_uint_eq(size, 7);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    char *text = scratch_read(path, &bytes);
    ck_assert_str_eq(text, "hello!?");
    free(text);
    scratch_remove(&dir);
}
END_TEST

/* The second of two runs in one directory is told so, and may go on when the first is done. */
START_TEST(locks_exclude)
{
    struct scratch dir = scratch_make();
    const char *path = scratch_text(&dir, "lock", "");
    struct file first, second;

    ck_assert_int_eq(file_open_append(&first, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_open_append(&second, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_lock(&first).code, STATUS_OK);
    struct status status = file_lock(&second);
    ck_assert(file_is_locked(status));
    CONTAINS(status, "is in use by another run");
    ck_assert_int_eq(file_close(&first).code, STATUS_OK);
    ck_assert_int_eq(file_lock(&second).code, STATUS_OK);
    ck_assert_int_eq(file_close(&second).code, STATUS_OK);
    scratch_remove(&dir);
}
END_TEST

START_TEST(renaming_replaces)
{
    struct scratch dir = scratch_make();
    const char *from = scratch_text(&dir, "from", "new"), *to = scratch_text(&dir, "to", "old");
    ck_assert_int_eq(file_rename(from, to).code, STATUS_OK);
    ck_assert(!file_exists(from));
    char *text = scratch_read(to, NULL);
    ck_assert_str_eq(text, "new");
    free(text);
    ck_assert_int_eq(file_rename(from, to).code, STATUS_IO);
    ck_assert_int_eq(file_remove(to).code, STATUS_OK);
    ck_assert_int_eq(file_remove(to).code, STATUS_IO);
    scratch_remove(&dir);
}
END_TEST

START_TEST(directories_are_made_with_parents)
{
    struct scratch dir = scratch_make();
    char deep[256];

    umask(0);
    ck_assert_int_eq(file_make_directories(scratch_path(&dir, "a/b//c/")).code, STATUS_OK);
    ck_assert_uint_eq(mode_of(scratch_path(&dir, "a")), 0750);
    ck_assert_uint_eq(mode_of(scratch_path(&dir, "a/b/c")), 0750);
    ck_assert_int_eq(file_make_directories(scratch_path(&dir, "a/b")).code, STATUS_OK);
    scratch_text(&dir, "file", "");
    ck_assert_int_eq(file_make_directories(scratch_path(&dir, "file/x")).code, STATUS_IO);
    size_t used = (size_t)snprintf(deep, sizeof deep, "%s", dir.path);
    for (int i = 0; i < 17; i++) used += (size_t)snprintf(deep + used, 8, "/d");
    struct status status = file_make_directories(deep);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "more than 16 new directories");
    scratch_remove(&dir);
}
END_TEST

/* ---- failing system calls --------------------------------------------------------------- */

/* Readers do not exclude each other, only a writer does; a file system without locks
 * has neither. */
START_TEST(readers_share_a_lock)
{
    struct scratch dir = scratch_make();
    const char *path = scratch_text(&dir, "dump.json", "");
    struct file reader, other, writer;

    ck_assert_int_eq(file_open_read(&reader, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_open_read(&other, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_open_append(&writer, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_lock_shared(&reader).code, STATUS_OK);
    ck_assert_int_eq(file_lock_shared(&other).code, STATUS_OK);
    ck_assert(file_is_locked(file_lock(&writer)));
    file_unlock(&reader);
    file_unlock(&other);
    ck_assert_int_eq(file_lock(&writer).code, STATUS_OK);
    struct status status = file_lock_shared(&reader);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "dump.json' is being written by another process");
    ck_assert_int_eq(file_close(&writer).code, STATUS_OK);
    ck_assert_int_eq(file_lock_shared(&reader).code, STATUS_OK);
    file_unlock(&reader);

    static const struct {
        int number;
        enum status_code code;
    } faults[] = {
        { EINTR, STATUS_OK },
        { ENOLCK, STATUS_OK },
        { EOPNOTSUPP, STATUS_OK },
        { EIO, STATUS_IO },
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        arm(FILE_LOCK, faults[i].number, 0);
        ck_assert_int_eq(file_lock_shared(&other).code, faults[i].code);
        file_unlock(&other);
        arm(FILE_LOCK, faults[i].number, 0);
        ck_assert_int_eq(file_lock(&other).code, faults[i].code);
        file_unlock(&other);
        file_fault = NULL;
    }
    ck_assert_int_eq(file_close(&reader).code, STATUS_OK);
    ck_assert_int_eq(file_close(&other).code, STATUS_OK);
    scratch_remove(&dir);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file_writing");
    TCase *tests = tcase_create("file_writing");
    tcase_add_test(tests, appends_what_another_file_has);
    tcase_add_test(tests, creating_is_exclusive_and_private);
    tcase_add_test(tests, writing_appending_and_cutting);
    tcase_add_test(tests, locks_exclude);
    tcase_add_test(tests, readers_share_a_lock);
    tcase_add_test(tests, renaming_replaces);
    tcase_add_test(tests, directories_are_made_with_parents);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
