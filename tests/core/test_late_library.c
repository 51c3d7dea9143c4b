/* A library that is there, one that is not, and a function that it lacks. */
#include <check.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "core/late_library.h"
#include "support/suite.h"

static int prepared;

static void count(void *handle)
{
    ck_assert_ptr_nonnull(handle);
    prepared++;
}

static struct late_library zlib = LATE_LIBRARY("libz.so.1", .prepare = count);
static struct late_library missing = LATE_LIBRARY("libprobe-nowhere.so.9", .prepare = count);

LATE_FUNCTION(zlib, uLong, adler32, (uLong sum, const Bytef *bytes, uInt count),
              (sum, bytes, count))

/* The checksum of "a" by its definition: 1 + 97 below, and as much above. Nothing is loaded before the call. */
START_TEST(a_call_loads_the_library_once)
{
    prepared = 0;
    ck_assert(!late_library_is_loaded(&zlib));
    ck_assert_uint_eq(adler32(1, (const Bytef *)"a", 1), (98u << 16) + 98);
    ck_assert(late_library_is_loaded(&zlib));
    ck_assert_uint_eq(adler32(1, (const Bytef *)"a", 1), (98u << 16) + 98);
    ck_assert_int_eq(late_library_load(&zlib).code, STATUS_OK);
    ck_assert_int_eq(prepared, 1);
}
END_TEST

START_TEST(a_missing_library_is_an_error_that_names_it)
{
    prepared = 0;
    struct status status = late_library_load(&missing);
    ck_assert_int_eq(status.code, STATUS_INTERNAL);
    ck_assert_ptr_nonnull(strstr(status.text, "libprobe-nowhere.so.9 cannot be loaded"));
    ck_assert(!late_library_is_loaded(&missing));
    ck_assert_int_eq(prepared, 0);
}
END_TEST

/* Exit status of a process that looks the function up, and what it says. */
static int look_up(char *said, size_t bytes, struct late_library *library, const char *name)
{
    int ends[2], status;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)late_library_symbol(library, name);
        _exit(0);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], said, bytes - 1);
    said[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(a_function_that_is_not_there_ends_the_process)
{
    char said[1024];
    ck_assert_int_eq(look_up(said, sizeof said, &zlib, "zlibVersion"), 0);
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(look_up(said, sizeof said, &zlib, "no_such_function"), 4);
    ck_assert_str_eq(
        said, "probe-ut: libz.so.1 has no no_such_function; the results so far can be resumed\n");
    ck_assert_int_eq(look_up(said, sizeof said, &missing, "zlibVersion"), 4);
    ck_assert_ptr_nonnull(strstr(said, "libprobe-nowhere.so.9 cannot be loaded"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("late_library");
    TCase *tests = tcase_create("core");
    tcase_add_test(tests, a_call_loads_the_library_once);
    tcase_add_test(tests, a_missing_library_is_an_error_that_names_it);
    tcase_add_test(tests, a_function_that_is_not_there_ends_the_process);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
