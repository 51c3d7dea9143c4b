/* File operations: the checks of opening for reading. */
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "file_checks.h"

START_TEST(reads_what_was_written)
{
    struct scratch dir = scratch_make();
    const char *path = scratch_text(&dir, "a.json", "hello");
    char *text;
    size_t bytes;

    ck_assert_int_eq(file_read_path(&text, &bytes, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_uint_eq(bytes, 5);
    ck_assert_str_eq(text, "hello");
    memory_release(text);

    struct file file;
    struct file_map map;
    ck_assert_int_eq(file_open_read(&file, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_map(&map, &file).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    ck_assert_uint_eq(map.bytes, 5);
    ck_assert_mem_eq(map.data, "hello", 5);
    file_map_forget(&map, 0, 5);
    ck_assert_mem_eq(map.data, "hello", 5);
    file_unmap(&map);

    path = scratch_text(&dir, "empty", "");
    ck_assert_int_eq(file_open_read(&file, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_map(&map, &file).code, STATUS_OK);
    ck_assert_uint_eq(map.bytes, 0);
    ck_assert_ptr_nonnull(map.data);
    file_unmap(&map);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    scratch_remove(&dir);
}
END_TEST

/* What is not a regular file is refused at once, even when it is trusted; a FIFO without a
 * writer would otherwise wait for ever. */
START_TEST(refuses_other_than_regular_files)
{
    struct scratch dir = scratch_make();
    struct file file;
    const struct file_policy policy = { .trusted = _i };

    const char *fifo = scratch_path(&dir, "fifo");
    ck_assert_int_eq(mkfifo(fifo, 0640), 0);
    struct status status = file_open_read(&file, fifo, policy);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "is a FIFO; a regular file is needed");
    ck_assert_int_eq(file.fd, -1);

    status = file_open_read(&file, dir.path, policy);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "is a directory");

    status = file_open_read(&file, "/dev/zero", policy);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "'/dev/zero' is a device");

    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", scratch_path(&dir, "socket"));
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    status = file_open_read(&file, address.sun_path, policy);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "is a socket");
    close(fd);
    scratch_remove(&dir);
}
END_TEST

START_TEST(links_need_trust)
{
    struct scratch dir = scratch_make();
    const char *path = scratch_text(&dir, "a", "x"), *link = scratch_path(&dir, "link");
    struct file file;

    ck_assert_int_eq(symlink(path, link), 0);
    struct status status = file_open_read(&file, link, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "is a symbolic link");
    CONTAINS(status, "--trust-files");
    ck_assert_int_eq(file_open_read(&file, link, FILES_TRUSTED).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);

    const char *dangling = scratch_path(&dir, "dangling");
    ck_assert_int_eq(symlink("nowhere", dangling), 0);
    ck_assert(file_exists(dangling));
    ck_assert_int_eq(file_open_read(&file, dangling, FILES_TRUSTED).code, STATUS_BAD_INPUT);
    scratch_remove(&dir);
}
END_TEST

START_TEST(missing_files_are_named)
{
    struct file file;
    struct status status = file_open_read(&file, "/nonexistent/a.json", FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, "'/nonexistent/a.json' does not exist");
    status = file_open_append(&file, "/nonexistent/a.json", FILES_CHECKED);
    ck_assert_str_eq(status.text, "'/nonexistent/a.json' does not exist");
    status = file_open_read(&file, "/dev/null/a.json", FILES_TRUSTED); /* in what is no directory */
    ck_assert_str_eq(status.text, "'/dev/null/a.json' does not exist");
    ck_assert(!file_exists("/nonexistent/a.json"));
}
END_TEST

/* A file that every user can write, and a file in a directory in which every user can replace
 * it, are refused; in a sticky directory such as /tmp they cannot. */
START_TEST(permissions_are_checked)
{
    struct scratch dir = scratch_make();
    const char *path = scratch_text(&dir, "a", "x");
    struct file file;

    ck_assert_int_eq(chmod(path, 0666), 0);
    struct status status = file_open_read(&file, path, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "can be written by every user");
    ck_assert_int_eq(file_open_read(&file, path, FILES_TRUSTED).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);

    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(chmod(dir.path, 0777), 0);
    ck_assert_int_eq(file_open_read(&file, path, FILES_CHECKED).code, STATUS_BAD_INPUT);
    ck_assert_int_eq(chmod(dir.path, 01777), 0);
    ck_assert_int_eq(file_open_read(&file, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    scratch_remove(&dir);
}
END_TEST

/* Files of other users: needs root to make one and another user to open it. */
START_TEST(owners_are_checked)
{
    if (geteuid() != 0) return;
    struct scratch dir = scratch_make();
    const char *foreign = scratch_text(&dir, "foreign", "x");
    const char *roots = scratch_text(&dir, "roots", "x");
    ck_assert_int_eq(chmod(dir.path, 0755), 0);
    ck_assert_int_eq(chmod(foreign, 0644), 0);
    ck_assert_int_eq(chmod(roots, 0644), 0);
    ck_assert_int_eq(chown(foreign, 12345, 12345), 0);

    struct file file, directory;
    const char *closed = scratch_path(&dir, "closed");
    ck_assert_int_eq(mkdir(closed, 0700), 0);
    ck_assert_int_eq(seteuid(54321), 0);
    struct status status = file_open_read(&file, foreign, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "belongs to another user (uid 12345); use --trust-files to read it");
    ck_assert_int_eq(file_open_read(&file, foreign, FILES_TRUSTED).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    ck_assert_int_eq(file_open_read(&file, roots, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    /* What may not be entered is no missing file. */
    status = file_open_directory(&directory, closed, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_IO);
    CONTAINS(status, "Permission denied");
    ck_assert_int_eq(file_open_directory(&directory, dir.path, FILES_CHECKED).code, STATUS_OK);
    status = file_open_read_in(&file, &directory, "closed/x", FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_IO);
    CONTAINS(status, "cannot open 'closed': Permission denied");
    ck_assert_int_eq(file_close(&directory).code, STATUS_OK);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chown(closed, 12345, 12345), 0);
    ck_assert_int_eq(chmod(closed, 0755), 0);
    ck_assert_int_eq(seteuid(54321), 0);
    status = file_open_directory(&directory, closed, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "belongs to another user (uid 12345)");
    const char *own = scratch_path(&dir, "own");
    ck_assert_int_eq(seteuid(0), 0);
    scratch_text(&dir, "own", "x");
    ck_assert_int_eq(chown(own, 54321, 54321), 0);
    ck_assert_int_eq(seteuid(54321), 0);
    ck_assert_int_eq(file_open_read(&file, own, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    ck_assert_int_eq(seteuid(0), 0);
    /* Root may read all. */
    ck_assert_int_eq(file_open_read(&file, foreign, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    scratch_remove(&dir);
}
END_TEST

/* The limits by suffix; a sparse file has any size at no cost. */
START_TEST(sizes_are_limited_by_suffix)
{
    struct scratch dir = scratch_make();
    struct file file;

    ck_assert_uint_eq(file_size_limit("x/dump.json"), UINT64_C(10737418240));
    ck_assert_uint_eq(file_size_limit("a.npy"), UINT64_C(10737418240));
    ck_assert_uint_eq(file_size_limit("a.pt"), UINT64_C(10737418240));
    ck_assert_uint_eq(file_size_limit("a.b.csv"), UINT64_C(1073741824));
    ck_assert_uint_eq(file_size_limit("a.yaml"), UINT64_C(1073741824));
    ck_assert_uint_eq(file_size_limit("a.pem"), UINT64_C(1048576));
    ck_assert_uint_eq(file_size_limit("dir.json/a"), UINT64_C(1048576));

    const char *path = scratch_text(&dir, "a.pem", "x");
    ck_assert_int_eq(truncate(path, 1048575), 0);
    ck_assert_int_eq(file_open_read(&file, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    ck_assert_int_eq(truncate(path, 1048576), 0);
    struct status status = file_open_read(&file, path, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "has 1 MB; files of this suffix have less than 1 MB");
    ck_assert_int_eq(file_open_read(&file, path, FILES_TRUSTED).code, STATUS_OK);
    char *text;
    size_t bytes;
    ck_assert_int_eq(file_read_all(&text, &bytes, &file).code, STATUS_BAD_INPUT);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    scratch_remove(&dir);
}
END_TEST

/* Small texts: up to their limit and not beyond, also when trusted; without NUL bytes. */
START_TEST(small_texts_are_texts)
{
    struct scratch dir = scratch_make();
    char *text;
    size_t bytes;

    const char *path = scratch_text(&dir, "a.json", "{}\n");
    ck_assert_int_eq(file_read_text(&text, &bytes, path, FILES_CHECKED).code, STATUS_OK);
    ck_assert_uint_eq(bytes, 3);
    ck_assert_str_eq(text, "{}\n");
    memory_release(text);

    ck_assert_int_eq(truncate(path, 4), 0);
    struct status status = file_read_text(&text, &bytes, path, FILES_TRUSTED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "is no text: byte 3 is a NUL");

    ck_assert_int_eq(truncate(path, (off_t)FILE_TEXT_BYTES), 0);
    status = file_read_text(&text, &bytes, path, FILES_TRUSTED);
    CONTAINS(status, "byte 3 is a NUL"); /* its size is right */
    ck_assert_int_eq(truncate(path, (off_t)FILE_TEXT_BYTES + 1), 0);
    status = file_read_text(&text, &bytes, path, FILES_TRUSTED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    CONTAINS(status, "has 16.1 MB; a file of this use may have 16 MB");
    scratch_remove(&dir);
}
END_TEST

/* Ranges that are empty, turned round or beyond the map are nobody's pages. */
START_TEST(forgetting_changes_no_byte)
{
    enum { BYTES = 3 * 65536 + 5 };
    static char text[BYTES];
    static const size_t ranges[][2] = { { 0, 0 },
                                        { 5, 3 },
                                        { 1, 70000 },
                                        { 0, BYTES },
                                        { 1, BYTES },
                                        { 0, BYTES + 1 },
                                        { BYTES, BYTES },
                                        { 0, 4 * BYTES },
                                        { 65536, 2 * 65536 },
                                        { BYTES + 9, BYTES + 65536 } };
    struct scratch dir = scratch_make();
    struct file file;
    struct file_map map;
    for (size_t i = 0; i < BYTES; i++) text[i] = (char)(i * 31 % 251);
    ck_assert_int_eq(
        file_open_read(&file, scratch_write(&dir, "a.npy", text, BYTES), FILES_CHECKED).code,
        STATUS_OK);
    ck_assert_int_eq(file_map(&map, &file).code, STATUS_OK);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        file_map_forget(&map, ranges[i][0], ranges[i][1]);
        ck_assert_uint_eq(map.bytes, BYTES);
        ck_assert_mem_eq(map.data, text, BYTES);
    }
    file_unmap(&map);
    file_map_forget(&map, 0, 0); /* of a map that is none */
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    scratch_remove(&dir);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *tests = tcase_create("file");
    tcase_add_test(tests, reads_what_was_written);
    tcase_add_loop_test(tests, refuses_other_than_regular_files, 0, 2);
    tcase_add_test(tests, links_need_trust);
    tcase_add_test(tests, missing_files_are_named);
    tcase_add_test(tests, permissions_are_checked);
    tcase_add_test(tests, owners_are_checked);
    tcase_add_test(tests, sizes_are_limited_by_suffix);
    tcase_add_test(tests, small_texts_are_texts);
    tcase_add_test(tests, forgetting_changes_no_byte);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
