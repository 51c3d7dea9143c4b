/* A temporary directory for one test, and the program run in it. */
#ifndef PROBE_TESTS_RUNNER_WORKSPACE_H
#define PROBE_TESTS_RUNNER_WORKSPACE_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct workspace {
    char path[256];
};

__attribute__((unused)) static struct workspace workspace_make(void)
{
    struct workspace w;
    const char *base = getenv("TMPDIR");
    snprintf(w.path, sizeof w.path, "%s/probe-test-XXXXXX", base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(w.path));
    return w;
}

__attribute__((unused)) static void workspace_remove(const struct workspace *w)
{
    char command[320];
    snprintf(command, sizeof command, "rm -rf '%s'", w->path);
    ck_assert_int_eq(system(command), 0);
}

/* A path inside; the last ones stay valid for a few calls. */
__attribute__((unused)) static const char *in(const struct workspace *w, const char *name)
{
    static char paths[16][512];
    static int next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", w->path, name);
    return path;
}

__attribute__((unused)) static void write_file(const char *path, const char *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    while (length) {
        ssize_t done = write(fd, bytes, length);
        ck_assert_int_gt(done, 0);
        bytes += done;
        length -= (size_t)done;
    }
    close(fd);
}

__attribute__((unused)) static void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

/* The whole file with a NUL behind it, to be freed. NULL when there is none. */
__attribute__((unused)) static char *read_file(const char *path, size_t *length)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0) return NULL;
    ck_assert_int_eq(fstat(fd, &st), 0);
    char *bytes = malloc((size_t)st.st_size + 1);
    size_t have = 0;
    while (have < (size_t)st.st_size) {
        ssize_t got = read(fd, bytes + have, (size_t)st.st_size - have);
        if (got <= 0) break;
        have += (size_t)got;
    }
    close(fd);
    bytes[have] = '\0';
    if (length) *length = have;
    return bytes;
}

/* The one file that matches a pattern inside the workspace; fails when there are more or none. */
__attribute__((unused)) static const char *only_match(const struct workspace *w,
                                                      const char *pattern)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    glob_t found;
    int error = glob(in(w, pattern), 0, NULL, &found);
    ck_assert_msg(!error && found.gl_pathc == 1, "%s matches %zu files", pattern,
                  error ? (size_t)0 : found.gl_pathc);
    snprintf(path, sizeof paths[0], "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}

__attribute__((unused)) static size_t count_matches(const struct workspace *w, const char *pattern)
{
    glob_t found;
    if (glob(in(w, pattern), 0, NULL, &found)) return 0;
    size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

__attribute__((unused)) static void assert_same_files(const char *a, const char *b)
{
    size_t la, lb;
    char *x = read_file(a, &la), *y = read_file(b, &lb);
    ck_assert_ptr_nonnull(x);
    ck_assert_ptr_nonnull(y);
    size_t same = 0;
    while (same < la && same < lb && x[same] == y[same]) same++;
    ck_assert_msg(la == lb && same == la, "%s (%zu bytes) and %s (%zu bytes) differ at byte %zu", a,
                  la, b, lb, same);
    free(x);
    free(y);
}

/* What a finished program left. */
struct outcome {
    int status; /* exit status, or 1000 + signal */
    char *out, *err;
};

__attribute__((unused)) static void outcome_free(struct outcome *o)
{
    free(o->out);
    free(o->err);
}

/* What the program said on standard error, without the line that root gets. */
__attribute__((unused)) static char *read_errors(const char *path)
{
    static const char warning[] = "probe-ut: warning: running as root";
    char *text = read_file(path, NULL);
    char *line = geteuid() == 0 ? strstr(text, warning) : NULL;
    if (line) {
        char *next = strchr(line, '\n');
        next = next ? next + 1 : line + strlen(line);
        memmove(line, next, strlen(next) + 1);
    }
    return text;
}

/* Start the program in the workspace, standard output and error in files there. */
__attribute__((unused)) static pid_t start_program(const struct workspace *w, char *const *argv)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid) return pid;
    if (chdir(w->path)) _exit(99);
    int out = open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0 || err < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(98);
    execv(PROBE_UT, argv);
    _exit(97);
}

__attribute__((unused)) static struct outcome wait_program(const struct workspace *w, pid_t pid)
{
    int status;
    struct outcome o;
    while (waitpid(pid, &status, 0) < 0) ck_assert_int_eq(errno, EINTR);
    o.status = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
    o.out = read_file(in(w, "stdout.txt"), NULL);
    o.err = read_errors(in(w, "stderr.txt"));
    return o;
}

/* Run the program with these arguments (ended by NULL). */
__attribute__((unused)) static struct outcome run_program(const struct workspace *w, ...)
{
    char *argv[48] = { (char *)"probe-ut" };
    int argc = 1;
    va_list arguments;
    va_start(arguments, w);
    while (argc < 47 && (argv[argc] = va_arg(arguments, char *))) argc++;
    va_end(arguments);
    return wait_program(w, start_program(w, argv));
}

__attribute__((unused)) static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

#endif
