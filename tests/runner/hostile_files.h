/* The whole program run within bounds of memory and time, and what it must say of inputs made to
 * harm. */
#ifndef PROBE_TESTS_RUNNER_HOSTILE_FILES_H
#define PROBE_TESTS_RUNNER_HOSTILE_FILES_H

#include <sys/resource.h>

#include "support/dumps.h"
#include "support/sanitized.h"
#include "support/suite.h"

enum { SECONDS_MOST = 120, KILOBYTES_MOST = 100 << 10 };

/* Kilobytes beyond KILOBYTES_MOST: of the pages of a mapped file, which the system can take back. */
static long mapped_kilobytes;

__attribute__((unused)) static struct outcome run_words(const struct workspace *w,
                                                        char *const *argv)
{
    struct rusage usage;
    struct outcome o;
    int status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        alarm(SECONDS_MOST); /* outlives execv: what hangs is killed */
        if (chdir(w->path)) _exit(99);
        int out = open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(98);
        execv(PROBE_UT, argv);
        _exit(97);
    }
    while (wait4(pid, &status, 0, &usage) < 0) ck_assert_int_eq(errno, EINTR);
    o.status = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
    o.out = read_file(in(w, "stdout.txt"), NULL);
    o.err = read_errors(in(w, "stderr.txt"));
    if (!SANITIZED)
        ck_assert_msg(usage.ru_maxrss < KILOBYTES_MOST + mapped_kilobytes, "%ld KB of memory",
                      usage.ru_maxrss);
    return o;
}

/* Run within bounds, with these arguments (ended by NULL). */
__attribute__((unused)) static struct outcome run_bounded(const struct workspace *w, ...)
{
    char *argv[32] = { (char *)"probe-ut" };
    int argc = 1;
    va_list arguments;
    va_start(arguments, w);
    while (argc < 31 && (argv[argc] = va_arg(arguments, char *))) argc++;
    va_end(arguments);
    return run_words(w, argv);
}

/* One line on standard error, without control characters, that has these words. */
__attribute__((unused)) static void check_refused(struct outcome o, int status, const char *words,
                                                  const char *what)
{
    ck_assert_msg(o.status == status, "%s: status %d: %s%s", what, o.status, o.out, o.err);
    ck_assert_msg(strstr(o.err, words) != NULL, "%s: '%s' does not say '%s'", what, o.err, words);
    ck_assert_msg(count_lines(o.err) == 1, "%s: '%s' is no single line", what, o.err);
    for (const char *c = o.err; c[1]; c++)
        ck_assert_msg((unsigned char)*c >= ' ' && *c != 0x7f, "%s: '%s'", what, o.err);
    outcome_free(&o);
}

/* A .npy file of format 1.0. */
__attribute__((unused)) static void write_npy(const char *path, const char *header,
                                              const void *data, size_t bytes)
{
    unsigned char file[4096] = "\x93NUMPY\1";
    size_t length = strlen(header);
    file[8] = (unsigned char)(length & 0xff);
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + 10, header, length);
    memcpy(file + 10 + length, data, bytes);
    write_file(path, (char *)file, 10 + length + bytes);
}

#define TENSOR_OF(dtype, shape, more)                                                     \
    "{\"type\":\"torch.Tensor\",\"dtype\":\"" dtype "\",\"shape\":" shape ",\"Max\":1.0," \
    "\"Min\":0.5,\"Mean\":0.75,\"Norm\":1.0,\"requires_grad\":true" more "}"
#define TENSOR        TENSOR_OF("torch.float32", "[2]", "")
#define CALL(args)    "{\"input_args\":" args ",\"input_kwargs\":{},\"output\":[" TENSOR "]}"
#define GOOD          "\"Torch.add.1.forward\":" CALL("[" TENSOR "," TENSOR "]")
#define HEAD          "{\"task\":\"statistics\",\"level\":\"L1\",\"dump_data_dir\":null,\"data\":{"
#define DUMP(entries) HEAD entries "}}"

__attribute__((unused)) static void repeat(FILE *out, const char *text, size_t times)
{
    while (times--) fputs(text, out);
}

#define F4_HEADER "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"

#endif
