/* File operations: the checks of opening, exact writing, and every system call made to fail. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "core/file.h"
#include "core/memory.h"
#include "support/scratch.h"
#include "support/suite.h"

#define CONTAINS(status, text_) \
    ck_assert_msg(strstr((status).text, text_) != NULL, "'%s' lacks '%s'", (status).text, text_)

/* ---- opening for reading ---------------------------------------------------------------- */

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

static struct status rename_to(const char *path) { return file_rename("/nonexistent/a", path); }

static struct status rename_from(const char *path) { return file_rename(path, "/nonexistent/a"); }

static struct status open_read(const char *path)
{
    struct file file;
    struct status status = file_open_read(&file, path, FILES_TRUSTED);
    ck_assert_int_eq(file.fd, -1);
    return status;
}

static struct status open_append(const char *path)
{
    struct file file;
    struct status status = file_open_append(&file, path, FILES_TRUSTED);
    ck_assert_int_eq(file.fd, -1);
    return status;
}

static struct status open_directory(const char *path)
{
    struct file file;
    struct status status = file_open_directory(&file, path, FILES_TRUSTED);
    ck_assert_int_eq(file.fd, -1);
    return status;
}

static struct status create(const char *path)
{
    struct file file;
    struct status status = file_create(&file, path);
    ck_assert_int_eq(file.fd, -1);
    return status;
}

/* Every function that takes a name refuses a bad one in the words of file_check_name. */
START_TEST(every_name_is_checked)
{
    static struct status (*const functions[])(const char *path) = {
        open_read,   open_append, open_directory,        create,
        rename_from, rename_to,   file_make_directories,
    };
    static char overlong[300];
    memset(overlong, 'x', sizeof overlong - 1);
    const char *const bad[] = { "", "a\tb", overlong };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (size_t k = 0; k < 3; k++) {
            struct status status = functions[i](bad[k]);
            ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
            ck_assert_str_eq(status.text, file_check_name(bad[k]).text);
        }
}
END_TEST

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

/* Names inside a directory: several levels down, empty parts skipped; overlong parts, files and links on
 * the way, and missing directories are refused by name. */
START_TEST(names_inside_directories)
{
    static char overlong[300], deep[400];
    struct scratch dir = scratch_make();
    struct file directory, file;
    memset(overlong, 'x', 256);
    snprintf(deep, sizeof deep, "a/%s/f", overlong);
    strcat(overlong, "/f");
    const struct {
        const char *name, *text; /* NULL: opens */
    } rows[] = {
        { "a/b/f", NULL },
        { "a//b///f", NULL },
        { "g", NULL },
        { overlong, "a part of the file name is longer than 255 bytes" },
        { deep, "a part of the file name is longer than 255 bytes" },
        { "a/none/f", "'none' in '" },
        { "g/f", "'g' in '" },
        { "a/link/f", "'link' in '" },
        { "a/b/none", "/a/b/none' does not exist" },
        { "a/b", "/a/b' is a directory; a regular file is needed" },
        { "a/b/", "/a/b/' does not exist" },
        { "a/b/linked", "/a/b/linked' is a symbolic link; name the file itself" },
    };
    ck_assert_int_eq(mkdir(scratch_path(&dir, "a"), 0750), 0);
    ck_assert_int_eq(mkdir(scratch_path(&dir, "a/b"), 0750), 0);
    scratch_text(&dir, "a/b/f", "x");
    scratch_text(&dir, "g", "x");
    ck_assert_int_eq(symlink("b", scratch_path(&dir, "a/link")), 0);
    ck_assert_int_eq(symlink("f", scratch_path(&dir, "a/b/linked")), 0);
    ck_assert_int_eq(file_open_directory(&directory, dir.path, FILES_CHECKED).code, STATUS_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct status status = file_open_read_in(&file, &directory, rows[i].name, FILES_TRUSTED);
        ck_assert_int_eq(status.code, rows[i].text ? STATUS_BAD_INPUT : STATUS_OK);
        if (rows[i].text) CONTAINS(status, rows[i].text);
        ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    }
    ck_assert_int_eq(file_close(&directory).code, STATUS_OK);
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

START_TEST(names_are_checked)
{
    char longest[4200];

    ck_assert_int_eq(file_check_name("").code, STATUS_BAD_INPUT);
    ck_assert_int_eq(file_check_name("a b/\xe4\xb8\xad.json").code, STATUS_OK);
    struct status status = file_check_name("ab\ncd");
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, "a file name has the control character 0x0a at byte 3");
    ck_assert_int_eq(file_check_name("\x1b[2J").code, STATUS_BAD_INPUT);
    ck_assert_int_eq(file_check_name("a\x7f").code, STATUS_BAD_INPUT);
    memset(longest, 'a', sizeof longest);
    for (size_t i = 100; i < sizeof longest; i += 100) longest[i] = '/';
    longest[4096] = '\0';
    ck_assert_int_eq(file_check_name(longest).code, STATUS_OK);
    longest[4096] = 'a';
    longest[4097] = '\0';
    ck_assert_int_eq(file_check_name(longest).code, STATUS_BAD_INPUT);
    memset(longest, 'a', 300);
    longest[255] = '\0';
    ck_assert_int_eq(file_check_name(longest).code, STATUS_OK);
    longest[255] = 'a';
    longest[256] = '\0';
    ck_assert_int_eq(file_check_name(longest).code, STATUS_BAD_INPUT);
}
END_TEST

START_TEST(long_names_are_shown_by_their_end)
{
    char path[1000];
    memset(path, 'x', sizeof path);
    strcpy(path + 900, "/the_end.json");
    struct file_shown_name shown = file_shown(path);
    ck_assert_uint_lt(strlen(shown.text), sizeof shown.text);
    ck_assert_int_eq(strncmp(shown.text, "...", 3), 0);
    ck_assert_ptr_nonnull(strstr(shown.text, "/the_end.json"));
    ck_assert_str_eq(file_shown("short").text, "short");
}
END_TEST

/* ---- names from files ------------------------------------------------------------------- */

/* A name inside a directory cannot leave it, whatever is trusted. */
START_TEST(names_stay_inside)
{
    struct scratch dir = scratch_make();
    struct file inside, file;
    const struct file_policy policy = { .trusted = _i };

    scratch_text(&dir, "secret", "s");
    ck_assert_int_eq(mkdir(scratch_path(&dir, "data"), 0750), 0);
    ck_assert_int_eq(mkdir(scratch_path(&dir, "data/sub"), 0750), 0);
    scratch_text(&dir, "data/a", "a");
    scratch_text(&dir, "data/sub/..b", "b");
    ck_assert_int_eq(symlink("../secret", scratch_path(&dir, "data/link")), 0);
    ck_assert_int_eq(symlink("..", scratch_path(&dir, "data/up")), 0);
    ck_assert_int_eq(symlink("a", scratch_path(&dir, "data/near")), 0);
    ck_assert_int_eq(file_open_directory(&inside, scratch_path(&dir, "data"), policy).code,
                     STATUS_OK);

    static const char *const good[] = { "a", "sub/..b", "./a", "sub//..b" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_int_eq(file_open_read_in(&file, &inside, good[i], policy).code, STATUS_OK);
        ck_assert_int_eq(file_close(&file).code, STATUS_OK);
    }
    /* clang-format off */
    static const char *const bad[] = {
        "../secret", "/etc/passwd", "link",     "up/secret", "near", "sub/../a", "..",
        "sub",       "sub/",        "absent",   "absent/a",  "a/b",  "",         "a\nb",
        "sub/..",    "sub/../../secret",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct status status = file_open_read_in(&file, &inside, bad[i], policy);
        ck_assert_msg(status.code == STATUS_BAD_INPUT, "'%s': %d %s", bad[i], status.code,
                      status.text);
        ck_assert_int_eq(file.fd, -1);
    }
    ck_assert_int_eq(file_close(&inside).code, STATUS_OK);
    scratch_remove(&dir);
}
END_TEST

START_TEST(directories_are_checked)
{
    struct scratch dir = scratch_make();
    struct file file;
    ck_assert_int_eq(file_open_directory(&file, scratch_path(&dir, "none"), FILES_CHECKED).code,
                     STATUS_BAD_INPUT);
    ck_assert_int_eq(file_open_directory(&file, scratch_text(&dir, "a", ""), FILES_CHECKED).code,
                     STATUS_BAD_INPUT);
    ck_assert_int_eq(chmod(dir.path, 0777), 0);
    ck_assert_int_eq(file_open_directory(&file, dir.path, FILES_CHECKED).code, STATUS_BAD_INPUT);
    ck_assert_int_eq(file_open_directory(&file, dir.path, FILES_TRUSTED).code, STATUS_OK);
    ck_assert_int_eq(file_close(&file).code, STATUS_OK);
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

static enum file_operation faulty;
static int fault_number, calls_left;

static int fail_once(enum file_operation operation, const char *path)
{
    ck_assert_ptr_nonnull(path);
    if (operation != faulty || calls_left-- > 0) return 0;
    file_fault = NULL;
    return fault_number;
}

static void arm(enum file_operation operation, int number, int calls)
{
    faulty = operation;
    fault_number = number;
    calls_left = calls;
    file_fault = fail_once;
}

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
    Suite *suite = suite_create("file");
    TCase *tests = tcase_create("file");
    tcase_add_test(tests, reads_what_was_written);
    tcase_add_test(tests, appends_what_another_file_has);
    tcase_add_loop_test(tests, refuses_other_than_regular_files, 0, 2);
    tcase_add_test(tests, links_need_trust);
    tcase_add_test(tests, missing_files_are_named);
    tcase_add_test(tests, permissions_are_checked);
    tcase_add_test(tests, owners_are_checked);
    tcase_add_test(tests, sizes_are_limited_by_suffix);
    tcase_add_test(tests, small_texts_are_texts);
    tcase_add_test(tests, every_name_is_checked);
    tcase_add_test(tests, refusals_of_the_kernel_are_said);
    tcase_add_test(tests, names_inside_directories);
    tcase_add_test(tests, forgetting_changes_no_byte);
    tcase_add_test(tests, names_are_checked);
    tcase_add_test(tests, long_names_are_shown_by_their_end);
    tcase_add_loop_test(tests, names_stay_inside, 0, 2);
    tcase_add_test(tests, directories_are_checked);
    tcase_add_test(tests, creating_is_exclusive_and_private);
    tcase_add_test(tests, writing_appending_and_cutting);
    tcase_add_test(tests, locks_exclude);
    tcase_add_test(tests, readers_share_a_lock);
    tcase_add_test(tests, renaming_replaces);
    tcase_add_test(tests, directories_are_made_with_parents);
    tcase_add_loop_test(tests, every_failing_call_is_reported, 0, FILE_OPERATIONS);
    tcase_add_loop_test(tests, short_and_interrupted_transfers_are_carried_on, 0, 5);
    tcase_add_test(tests, failed_close_closes);
    tcase_add_test(tests, no_memory_for_a_name);
    tcase_add_test(tests, full_disk_is_reported);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
