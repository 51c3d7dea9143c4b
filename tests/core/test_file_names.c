/* File operations: names, ours and those that stand in files. */
#include "file_checks.h"

/* ---- opening for reading ---------------------------------------------------------------- */

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

int main(void)
{
    Suite *suite = suite_create("file_names");
    TCase *tests = tcase_create("file_names");
    tcase_add_test(tests, every_name_is_checked);
    tcase_add_test(tests, names_inside_directories);
    tcase_add_test(tests, names_are_checked);
    tcase_add_test(tests, long_names_are_shown_by_their_end);
    tcase_add_loop_test(tests, names_stay_inside, 0, 2);
    tcase_add_test(tests, directories_are_checked);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
