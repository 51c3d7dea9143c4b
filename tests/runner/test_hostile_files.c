/* The rules for every file that is read, results that are read again, and modes of what is
 * written: whatever another user of the machine left there. */
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile_files.h"

/* ---- every file that is read ------------------------------------------------------------ */

/* The files that commands read, each with a command that reads it. %s is the file at fault. */
enum { MOST_WORDS = 12 };
static const struct {
    const char *what, *good; /* a good file, in the workspace */
    const char *words[MOST_WORDS];
    /* clang-format off */
} readers[] = {
    { "dump", "dump.json", { "-api_info", "%s", "-o", "out" } },
    { "configuration", "config.json",
      { "-api_info", "dump.json", "-o", "out", "--config_path", "%s" } },
    { "thresholds", "limits.json",
      { "-api_info", "dump.json", "-o", "out", "--thresholds", "%s" } },
    { "thresholds of diff", "limits.json", { "diff", "a.npy", "a.npy", "--thresholds", "%s" } },
    { "reference of diff", "a.npy", { "diff", "%s", "a.npy" } },
    { "result of diff", "a.npy", { "diff", "a.npy", "%s" } },
    { "NPU file", "details.csv",
      { "api_precision_compare", "-npu", "%s", "-gpu", "details.csv", "-o", "out" } },
    { "GPU file", "details.csv",
      { "api_precision_compare", "-npu", "details.csv", "-gpu", "%s", "-o", "out" } },
    { "thresholds of compare", "limits.json",
      { "api_precision_compare", "-npu", "details.csv", "-gpu", "details.csv", "-o", "out",
        "--thresholds", "%s" } },
    { "baseline", "details.csv", { "-api_info", "dump.json", "-o", "out", "--baseline", "%s" } },
    { "manifest", "manifest.json", { "plugin", "check", "%s" } },
};
/* clang-format on */

static void write_good_files(const struct workspace *w)
{
    static const float two[] = { 0.5f, 1 };
    write_text(in(w, "dump.json"), DUMP(GOOD));
    write_text(in(w, "config.json"), "{\"run_ut\":{\"precision\":10}}");
    write_text(in(w, "limits.json"), "{\"overrides\":[]}");
    write_text(
        in(w, "manifest.json"),
        "{\"plugin\":1,\"name\":\"none\",\"libraries\":{\"m\":\"libm.so.6\"},\"kernels\":[]}");
    write_npy(in(w, "a.npy"), F4_HEADER, two, sizeof two);
    struct outcome o = run_program(w, "-api_info", "dump.json", "-o", "first", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    char *text = read_file(only_match(w, "first/accuracy_checking_details_*.csv"), NULL);
    write_text(in(w, "details.csv"), text);
    free(text);
}

static struct outcome run_reader(const struct workspace *w, size_t reader, const char *path,
                                 bool trust)
{
    char *argv[MOST_WORDS + 3] = { (char *)"probe-ut" };
    int argc = 1;
    for (size_t i = 0; i < MOST_WORDS && readers[reader].words[i]; i++) {
        const char *word = readers[reader].words[i];
        argv[argc++] = (char *)(strcmp(word, "%s") ? word : path);
    }
    if (trust) argv[argc++] = (char *)"--trust-files";
    return run_words(w, argv);
}

/* The suffix of the good file, so that the names at fault are of the same kind. */
static const char *suffix_of(size_t reader) { return strrchr(readers[reader].good, '.'); }

/* Faults that --trust-files forgives: what refuses, and says so, runs as with the good file. */
START_TEST(file_rules_of_every_input)
{
    struct workspace w = workspace_make();
    char path[300], target[300];
    write_good_files(&w);
    struct outcome good = run_reader(&w, (size_t)_i, readers[_i].good, false);
    ck_assert_msg(good.status <= 1, "%s: status %d: %s", readers[_i].what, good.status, good.err);

    for (int fault = 0; fault < 3; fault++) {
        static const char *const says[] = { "symbolic link", "can be written by every user",
                                            "every user" };
        snprintf(target, sizeof target, "%s", in(&w, readers[_i].good));
        if (fault == 0) {
            snprintf(path, sizeof path, "link%s", suffix_of((size_t)_i));
            ck_assert_int_eq(symlink(readers[_i].good, in(&w, path)), 0);
        } else {
            size_t length;
            char *bytes = read_file(target, &length);
            snprintf(path, sizeof path, fault == 1 ? "open%s" : "open/x%s", suffix_of((size_t)_i));
            if (fault == 2) ck_assert_int_eq(mkdir(in(&w, "open"), 0750), 0);
            write_file(in(&w, path), bytes, length);
            if (fault == 1) ck_assert_int_eq(chmod(in(&w, path), 0666), 0);
            if (fault == 2) ck_assert_int_eq(chmod(in(&w, "open"), 0777), 0);
            free(bytes);
        }
        struct outcome o = run_reader(&w, (size_t)_i, path, false);
        ck_assert_msg(strstr(o.err, fault == 2 ? "open/" : path) != NULL, "%s: '%s' names no %s",
                      readers[_i].what, o.err, path);
        check_refused(o, 3, says[fault], readers[_i].what);
        o = run_reader(&w, (size_t)_i, path, true);
        ck_assert_msg(o.status == good.status, "%s trusted: status %d: %s", readers[_i].what,
                      o.status, o.err);
        outcome_free(&o);
    }
    outcome_free(&good);
    workspace_remove(&w);
}
END_TEST

/* What is no file is refused whatever is trusted, and without waiting for it. */
START_TEST(only_regular_files_are_read)
{
    struct workspace w = workspace_make();
    char fifo[64], folder[64], socket_name[64], zero[64], null[64], missing[64];
    write_good_files(&w);
    const char *suffix = suffix_of((size_t)_i);
    snprintf(fifo, sizeof fifo, "fifo%s", suffix);
    snprintf(folder, sizeof folder, "folder%s", suffix);
    snprintf(socket_name, sizeof socket_name, "socket%s", suffix);
    snprintf(zero, sizeof zero, "zero%s", suffix);
    snprintf(null, sizeof null, "null%s", suffix);
    snprintf(missing, sizeof missing, "missing%s", suffix);
    ck_assert_int_eq(mkfifo(in(&w, fifo), 0640), 0);
    ck_assert_int_eq(mkdir(in(&w, folder), 0750), 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", in(&w, socket_name));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(symlink("/dev/zero", in(&w, zero)), 0);
    ck_assert_int_eq(symlink("/dev/null", in(&w, null)), 0);
    const char *const paths[] = { fifo, folder, socket_name, zero, null, missing };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (int trust = 0; trust < 2; trust++)
            check_refused(run_reader(&w, (size_t)_i, paths[i], trust), 3, paths[i],
                          readers[_i].what);
    close(fd);
    workspace_remove(&w);
}
END_TEST

/* Texts that people write: NUL bytes, more than such a file has, depth, what is no JSON. */
START_TEST(small_texts_are_bounded)
{
    struct workspace w = workspace_make();
    char path[64];
    const char *suffix = suffix_of((size_t)_i);
    if (strcmp(suffix, ".json") || !strcmp(readers[_i].what, "dump")) {
        workspace_remove(&w); /* only small texts */
        return;
    }
    write_good_files(&w);
    snprintf(path, sizeof path, "bad%s", suffix);
    char *good = read_file(in(&w, readers[_i].good), NULL);

    good[strlen(good) - 1] = '\0'; /* a NUL for the last brace */
    write_file(in(&w, path), good, strlen(good) + 2);
    check_refused(run_reader(&w, (size_t)_i, path, false), 3, "NUL", readers[_i].what);
    free(good);

    write_text(in(&w, path), "");
    ck_assert_int_eq(truncate(in(&w, path), (off_t)9 << 30), 0); /* sparse */
    check_refused(run_reader(&w, (size_t)_i, path, true), 3, "has 9 GB", readers[_i].what);

    FILE *out = fopen(in(&w, path), "we");
    repeat(out, "[", 1000000);
    fclose(out);
    check_refused(run_reader(&w, (size_t)_i, path, false), 3, path, readers[_i].what);

    write_text(in(&w, path), "\x1b[2J{\"run_ut\":\xff}");
    check_refused(run_reader(&w, (size_t)_i, path, false), 3, path, readers[_i].what);
    workspace_remove(&w);
}
END_TEST

/* An owner other than the caller and root, seen by a caller who is not root. */
START_TEST(files_of_other_users)
{
    if (geteuid() != 0) return;
    struct workspace w = workspace_make();
    write_text(in(&w, "dump.json"), DUMP(GOOD));
    ck_assert_int_eq(chmod(in(&w, "dump.json"), 0644), 0);
    ck_assert_int_eq(chown(in(&w, "dump.json"), 12345, 12345), 0);
    ck_assert_int_eq(chmod(w.path, 0755), 0);
    ck_assert_int_eq(mkdir(in(&w, "mine"), 0750), 0);
    ck_assert_int_eq(chown(in(&w, "mine"), 54321, 54321), 0);
    for (int trust = 0; trust < 2; trust++) {
        pid_t pid = fork();
        if (!pid) {
            if (chdir(in(&w, "mine")) || setgid(54321) || setuid(54321)) _exit(99);
            if (access(PROBE_UT, X_OK)) _exit(77); /* a build that only root can reach */
            int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
            if (dup2(err, 2) < 0 || dup2(err, 1) < 0) _exit(98);
            execl(PROBE_UT, "probe-ut", "-api_info", "../dump.json", "-o", "out",
                  trust ? "--trust-files" : NULL, NULL);
            _exit(97);
        }
        int status;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77) break;
        char *err = read_errors(in(&w, "mine/stderr.txt"));
        ck_assert_msg(WEXITSTATUS(status) == (trust ? 0 : 3), "%s", err);
        if (!trust) ck_assert_ptr_nonnull(strstr(err, "another user (uid 12345)"));
        free(err);
    }
    workspace_remove(&w);
}
END_TEST

/* ---- results that are read again -------------------------------------------------------- */

/* Rows of another's file: names and messages with formulas and escape sequences do not come back as
 * such, neither in what is written nor on the terminal. */
START_TEST(rows_of_others_are_disarmed)
{
    struct workspace w = workspace_make();
    write_good_files(&w);
    size_t length;
    char *details = read_file(in(&w, "details.csv"), &length);
    char *end_of_header = strstr(details, "\r\n") + 2;
    FILE *out = fopen(in(&w, "evil.csv"), "we");
    fwrite(details, 1, (size_t)(end_of_header - details), out);
    static const char *const names[] = {
        "=1+1", "\357\274\2351", "@x", "+x", "-x", "\"\tx\"", "Torch.\x1b[31madd.9.forward.output.0"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fputs(names[i], out);
        for (int c = 1; c < 21; c++) fputs(", ", out);
        fputs(",error,\"=HYPERLINK(\"\"x\"\")\"\r\n", out);
    }
    fclose(out);
    free(details);
    struct outcome o = run_bounded(&w, "api_precision_compare", "-npu", "evil.csv", "-gpu",
                                   "evil.csv", "-o", "out", NULL);
    ck_assert_msg(o.status == 5, "%s", o.err); /* no row has a name, nothing is judged */
    ck_assert_ptr_null(strchr(o.out, '\x1b'));
    outcome_free(&o);
    char *written = read_file(only_match(&w, "out/api_precision_compare_details_*.csv"), NULL);
    static const char *const raw[] = { "\n=1",           "\n@x",   "\n+x",  "\n-x",
                                       "\n\xef\xbc\x9d", "\"=HYP", ",=HYP", "\n\"\t" };
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++)
        ck_assert_msg(!strstr(written, raw[i]), "%s in %s", raw[i], written);
    ck_assert_ptr_nonnull(strstr(written, "'=1+1"));
    free(written);
    o = run_bounded(&w, "-api_info", "dump.json", "-o", "out", "--baseline", "evil.csv", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_null(strchr(o.out, '\x1b'));
    ck_assert_ptr_nonnull(strstr(o.out, "[31madd.9"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* A result file, a details file and a run file of any bytes, to be resumed. What could be a file of
 * ours that was cut or overwritten costs what it held; what says that it is something else is refused. */
static const struct {
    const char *kind, *text;
    size_t size;         /* the file is made this long, with a hole; 0: as the text */
    const char *refused; /* what the refusal says; NULL: the run is resumed */
    const char *warned;  /* what the warning says; NULL: there is none */
} odd_results[] = {
    { "run", "{\"version\":\"\\u001b[31m9\"}", 0, "version", NULL },
    { "run", "[]", 0, NULL, "no readable" },
    { "run", "{}", (size_t)9 << 30, NULL, "no readable" },
    { "run", "{\"a\":1}x", 0, NULL, "no readable" },
    { "result", "\"", 0, NULL, NULL },
    { "result", "API name,x\r\n", 0, "does not start with the header", NULL },
    { "result", "a", 100 << 20, NULL, NULL },
    { "details", "a", 100 << 20, NULL, NULL },
};

START_TEST(results_of_others_are_not_believed)
{
    struct workspace w = workspace_make();
    char pattern[80], result[512];
    write_good_files(&w);
    snprintf(pattern, sizeof pattern, "first/accuracy_checking_%s_*", odd_results[_i].kind);
    write_text(only_match(&w, pattern), odd_results[_i].text);
    if (odd_results[_i].size)
        ck_assert_int_eq(truncate(only_match(&w, pattern), (off_t)odd_results[_i].size), 0);
    snprintf(result, sizeof result, "%s", only_match(&w, "first/accuracy_checking_result_*"));
    struct outcome o = run_bounded(&w, "-api_info", "dump.json", "-csv_path", result, NULL);
    if (odd_results[_i].refused) {
        check_refused(o, 3, odd_results[_i].refused, odd_results[_i].kind);
    } else {
        ck_assert_msg(o.status == 0, "%s", o.err);
        if (odd_results[_i].warned)
            ck_assert_msg(strstr(o.err, odd_results[_i].warned) != NULL, "%s", o.err);
        outcome_free(&o);
        char *rows = read_file(result, NULL);
        ck_assert_ptr_nonnull(strstr(rows, "Torch.add.1,pass"));
        free(rows);
    }
    workspace_remove(&w);
}
END_TEST

/* ---- outputs ---------------------------------------------------------------------------- */

static void check_mode(const char *path, mode_t most, mode_t mask)
{
    struct stat info;
    ck_assert_int_eq(lstat(path, &info), 0);
    ck_assert_msg((info.st_mode & 07777) == (most & ~mask), "%s has mode %o under umask %o", path,
                  info.st_mode & 07777, mask);
}

/* Files 0640 in directories 0750, less what the umask takes and never more; nothing is put beside
 * the inputs, which may lie in a directory that cannot be written. */
START_TEST(outputs_are_private)
{
    static const mode_t masks[] = { 0000, 0022, 0027, 0077 };
    struct workspace w = workspace_make();
    mode_t mask = masks[_i], before;
    glob_t found;
    write_good_files(&w);
    ck_assert_int_eq(mkdir(in(&w, "in"), 0750), 0);
    write_text(in(&w, "in/dump.json"), DUMP(GOOD));
    write_text(in(&w, "in/limits.json"), "{\"overrides\":[{\"limits\":{\"cosine\":2}}]}");
    ck_assert_int_eq(chmod(in(&w, "in"), 0550), 0);

    before = umask(mask);
    struct outcome o = run_bounded(&w, "-api_info", "in/dump.json", "--thresholds",
                                   "in/limits.json", "-save_error_data", "-o", "out/of/run",
                                   "--junit", "junit.xml", "--timings", "timings.csv", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = run_bounded(&w, "api_precision_compare", "-npu", "details.csv", "-gpu", "details.csv", "-o",
                    "out/of/compare", NULL);
    ck_assert_msg(o.status <= 1, "%s", o.err);
    outcome_free(&o);
    (void)umask(before);

    ck_assert_uint_eq(count_matches(&w, "in/*") + count_matches(&w, "in/.[!.]*"), 2);
    check_mode(in(&w, "out"), 0750, mask);
    check_mode(in(&w, "out/of"), 0750, mask);
    check_mode(in(&w, "out/of/run"), 0750, mask);
    check_mode(in(&w, "out/of/compare"), 0750, mask);
    check_mode(in(&w, "junit.xml"), 0640, mask);
    check_mode(in(&w, "timings.csv"), 0640, mask);
    static const char *const patterns[] = { "out/of/run/*.csv", "out/of/run/*.json*",
                                            "out/of/compare/*", "*/ut_error_data*/*",
                                            "ut_error_data*/*", "out/of/run/ut_error_data*/*" };
    size_t files = 0, saved = 0;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        if (glob(in(&w, patterns[p]), 0, NULL, &found)) continue;
        for (size_t i = 0; i < found.gl_pathc; i++, files++)
            check_mode(found.gl_pathv[i], 0640, mask);
        saved += p >= 3 ? found.gl_pathc : 0;
        globfree(&found);
    }
    ck_assert_uint_ge(files, 6 + saved);
    ck_assert_uint_ge(saved, 3);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile_files");
    TCase *tests = tcase_create("hostile_files");
    int n_readers = sizeof readers / sizeof *readers;
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, file_rules_of_every_input, 0, n_readers);
    tcase_add_loop_test(tests, only_regular_files_are_read, 0, n_readers);
    tcase_add_loop_test(tests, small_texts_are_bounded, 0, n_readers);
    tcase_add_test(tests, files_of_other_users);
    tcase_add_test(tests, rows_of_others_are_disarmed);
    tcase_add_loop_test(tests, results_of_others_are_not_believed, 0,
                        sizeof odd_results / sizeof *odd_results);
    tcase_add_loop_test(tests, outputs_are_private, 0, 4);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
