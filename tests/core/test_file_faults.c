/* File operations: every system call made to fail. */
#include "file_checks.h"

/* ---- opening for reading ---------------------------------------------------------------- */

static struct status size_of(const struct file *file)
{
    uint64_t bytes;
    return file_size(&bytes, file);
}

static struct status read_of(const struct file *file)
{
    size_t got;
    char buffer[4];
    return file_read_at(&got, file, buffer, sizeof buffer, 0);
}

static struct status write_to(const struct file *file) { return file_write_all(file, "text", 4); }

static struct status cut(const struct file *file) { return file_truncate(file, 3); }

static struct status map_of(const struct file *file)
{
    struct file_map map;
    return file_map(&map, file);
}

/* What the kernel refuses, unasked by any hook, is said with its reason: a descriptor that is not open,
 * and operations that a directory does not have. */
START_TEST(refusals_of_the_kernel_are_said)
{
    static const struct {
        struct status (*run)(const struct file *file);
        const char *closed, *directory; /* NULL: a directory has it */
        /* clang-format off */
    } rows[] = {
        { size_of, "cannot examine 'name': Bad file descriptor", NULL },
        { read_of, "cannot read 'name': Bad file descriptor", "cannot read 'name': Is a directory" },
        { write_to, "cannot write 'name': Bad file descriptor", "cannot write 'name': Bad file descriptor" },
        { file_sync, "cannot sync 'name': Bad file descriptor", NULL },
        { cut, "cannot resize 'name': Bad file descriptor", "cannot resize 'name': Invalid argument" },
        { file_lock, "cannot lock 'name': Bad file descriptor", NULL },
        { map_of, "cannot examine 'name': Bad file descriptor", "cannot map 'name': No such device" },
    };
    /* clang-format on */
    char name[] = "name";
    struct scratch dir = scratch_make();
    const struct file closed = { .fd = 100000, .path = name };
    const struct file directory = { .fd = open(dir.path, O_RDONLY | O_DIRECTORY), .path = name };
    ck_assert_int_ge(directory.fd, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct status status = rows[i].run(&closed);
        ck_assert_int_eq(status.code, STATUS_IO);
        ck_assert_str_eq(status.text, rows[i].closed);
        status = rows[i].run(&directory);
        ck_assert_str_eq(status.text, rows[i].directory ? rows[i].directory : "");
    }
    ck_assert_int_eq(close(directory.fd), 0);
    scratch_remove(&dir);

    struct file gone = { .fd = 100000, .path = memory_copy_string("name") };
    struct status status = file_close(&gone);
    ck_assert_int_eq(status.code, STATUS_IO);
    ck_assert_str_eq(status.text, "cannot close 'name': Bad file descriptor");
    ck_assert_int_eq(gone.fd, -1);
    status = file_truncate(&closed, (uint64_t)INT64_MAX + 1);
    ck_assert_str_eq(status.text, "cannot resize 'name' to 9223372036854775808 bytes");
}
END_TEST

/* ---- failing system calls --------------------------------------------------------------- */

/* One session that uses every operation; the first failure ends it, with all closed. */
static struct status use_everything(const struct scratch *dir)
{
    struct file file;
    struct file_map map;
    struct status status, closed;
    char *text = NULL;
    size_t bytes = 0;

    TRY(file_make_directories(scratch_path(dir, "made/deep")));
    const char *path = scratch_path(dir, "made/file"), *other = scratch_path(dir, "made/other");
    TRY(file_create(&file, path));
    status = file_lock(&file);
    if (!status.code) status = file_write_all(&file, "abcdef", 6);
    if (!status.code) status = file_truncate(&file, 4);
    if (!status.code) status = file_sync(&file);
    closed = file_close(&file);
    if (status.code || closed.code) return status.code ? status : closed;
    TRY(file_rename(path, other));
    TRY(file_open_read(&file, other, FILES_CHECKED));
    status = file_map(&map, &file);
    closed = file_close(&file);
    if (!status.code) file_unmap(&map);
    if (status.code || closed.code) return status.code ? status : closed;
    TRY(file_read_path(&text, &bytes, other, FILES_CHECKED));
    memory_release(text);
    TRY(file_read_text(&text, &bytes, other, FILES_CHECKED));
    memory_release(text);

    struct file directory;
    TRY(file_open_append(&file, other, FILES_CHECKED));
    TRY(file_close(&file));
    TRY(file_open_directory(&directory, dir->path, FILES_CHECKED));
    status = file_open_read_in(&file, &directory, "made/other", FILES_CHECKED);
    if (!status.code) status = file_close(&file);
    closed = file_close(&directory);
    if (status.code || closed.code) return status.code ? status : closed;
    return file_remove(other);
}

/* Every operation fails once with EIO at every one of its calls: an error that names the cause,
 * never a crash, and (under ASan) nothing lost. */
START_TEST(every_failing_call_is_reported)
{
    int failures = 0;
    for (int call = 0;; call++) {
        struct scratch dir = scratch_make();
        arm((enum file_operation)_i, EIO, call);
        struct status status = use_everything(&dir);
        bool fired = file_fault == NULL;
        file_fault = NULL;
        scratch_remove(&dir);
        if (!fired) {
            ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
            break;
        }
        failures++;
        ck_assert_int_eq(status.code, STATUS_IO);
        CONTAINS(status, "Input/output error");
        CONTAINS(status, "'"); /* a path */
    }
    ck_assert_int_gt(failures, 0);
}
END_TEST

/* Interrupted and short transfers are carried on. */
START_TEST(short_and_interrupted_transfers_are_carried_on)
{
    static const struct {
        enum file_operation operation;
        int number;
    } faults[] = { { FILE_READ, FILE_SHORT },
                   { FILE_READ, EINTR },
                   { FILE_WRITE, FILE_SHORT },
                   { FILE_WRITE, EINTR },
                   { FILE_LOCK, EINTR } };
    struct scratch dir = scratch_make();
    arm(faults[_i].operation, faults[_i].number, 0);
    struct status status = use_everything(&dir);
    ck_assert(file_fault == NULL);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    scratch_remove(&dir);
}
END_TEST

/* A close that fails has still closed. */
START_TEST(failed_close_closes)
{
    struct scratch dir = scratch_make();
    struct file file;
    ck_assert_int_eq(file_create(&file, scratch_path(&dir, "a")).code, STATUS_OK);
    int fd = file.fd;
    arm(FILE_CLOSE, ENOSPC, 0);
    struct status status = file_close(&file);
    ck_assert_int_eq(status.code, STATUS_IO);
    CONTAINS(status, "No space left on device");
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    scratch_remove(&dir);
}
END_TEST

START_TEST(no_memory_for_a_name)
{
    struct file file;
    struct scratch dir = scratch_make();
    const char *path = scratch_text(&dir, "a", "x");
    arm(FILE_OPEN, ENOMEM, 0);
    ck_assert_int_eq(file_open_read(&file, path, FILES_CHECKED).code, STATUS_NO_MEMORY);
    scratch_remove(&dir);
}
END_TEST

/* A disk that is really full: /dev/full answers ENOSPC to every write. */
START_TEST(full_disk_is_reported)
{
    struct file file = { .fd = open("/dev/full", O_WRONLY), .path = NULL };
    if (file.fd < 0) return;
    file.path = memory_copy_string("/dev/full");
    struct status status = file_write_all(&file, "x", 1);
    ck_assert_int_eq(status.code, STATUS_IO);
    ck_assert_str_eq(status.text, "cannot write '/dev/full': No space left on device");
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file_faults");
    TCase *tests = tcase_create("file_faults");
    tcase_add_test(tests, refusals_of_the_kernel_are_said);
    tcase_add_loop_test(tests, every_failing_call_is_reported, 0, FILE_OPERATIONS);
    tcase_add_loop_test(tests, short_and_interrupted_transfers_are_carried_on, 0, 5);
    tcase_add_test(tests, failed_close_closes);
    tcase_add_test(tests, no_memory_for_a_name);
    tcase_add_test(tests, full_disk_is_reported);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
