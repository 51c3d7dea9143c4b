/* Failures on demand for tests that run whole commands inside their own process: the n-th
 * allocation, request of an arena or file operation fails, counted over this process and those
 * that it forks. */
#ifndef PROBE_TESTS_RUNNER_FAULTS_H
#define PROBE_TESTS_RUNNER_FAULTS_H

#include <check.h>
#include <execinfo.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/memory.h"
#include "support/workspace.h"

enum fault_kind { FAULT_NONE, FAULT_MEMORY, FAULT_ARENA, FAULT_FILE };

/* Operations until the one that fails; <= 0 from then on. In memory that children share. */
static atomic_long *faults_left;
static long faults_stretch; /* how many fail, one after the other */
static int faults_error;    /* of file operations: errno, or FILE_SHORT */

/* While operations are only counted: from where each was asked for, as a hash of the stack. */
enum { FAULTS_TRACED = 1 << 15 };
static uint64_t *faults_trace; /* of FAULTS_TRACED, shared, or NULL */

static uint64_t fault_origin(void)
{
    enum { SKIPPED = 3, DEPTH = 15 };
    void *frames[DEPTH];
    uint64_t hash = 0xcbf29ce484222325u;
    int count = backtrace(frames, DEPTH);
    for (int i = SKIPPED; i < count; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 0x100000001b3u;
    return hash;
}

__attribute__((unused)) static bool fault_is_due(void)
{
    long left = atomic_fetch_sub(faults_left, 1);
    if (faults_trace && LONG_MAX - left < FAULTS_TRACED)
        faults_trace[LONG_MAX - left] = fault_origin();
    return left <= 1 && left > 1 - faults_stretch;
}

__attribute__((unused)) static void *faults_shared(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    return shared;
}

static int fail_allocation(size_t bytes)
{
    (void)bytes;
    return fault_is_due();
}

static bool refuse_request(size_t bytes)
{
    (void)bytes;
    return fault_is_due();
}

static int fail_file(enum file_operation operation, const char *path)
{
    (void)path;
    /* A short transfer is no failure of anything else. */
    if (faults_error == FILE_SHORT && operation != FILE_READ && operation != FILE_WRITE) return 0;
    return fault_is_due() ? faults_error : 0;
}

/* From here on `stretch` operations fail, the first of them number `at`. */
__attribute__((unused)) static void faults_arm(enum fault_kind kind, long at, long stretch)
{
    if (!faults_left) faults_left = faults_shared(sizeof *faults_left);
    atomic_store(faults_left, at);
    faults_stretch = stretch;
    memory_fault = kind == FAULT_MEMORY ? fail_allocation : NULL;
    arena_fault = kind == FAULT_ARENA ? refuse_request : NULL;
    file_fault = kind == FAULT_FILE ? fail_file : NULL;
}

/* No failures any more. What is returned is <= 0 when one has been. */
__attribute__((unused)) static long faults_disarm(void)
{
    memory_fault = NULL;
    arena_fault = NULL;
    file_fault = NULL;
    return atomic_load(faults_left);
}

/* A workspace whose files live in memory where the system has that: thousands of runs sync theirs,
 * and no disk is under test. The working directory is the workspace afterwards. */
__attribute__((unused)) static struct workspace faults_workspace(void)
{
    struct workspace place;
    if (!access("/dev/shm", W_OK | X_OK)) (void)setenv("TMPDIR", "/dev/shm", 0);
    place = workspace_make();
    ck_assert_int_eq(chdir(place.path), 0);
    return place;
}

/* ---- a command in this process ---------------------------------------------------------- */

/* Standard output or standard error, turned into a file in memory for a while. */
struct capture {
    int descriptor, before, file;
};

__attribute__((unused)) static struct capture capture_begin(int descriptor)
{
    struct capture c = { descriptor, dup(descriptor), memfd_create("captured", 0) };
    ck_assert_int_ge(c.before, 0);
    ck_assert_int_ge(c.file, 0);
    ck_assert_int_ge(dup2(c.file, descriptor), 0);
    return c;
}

/* What was written meanwhile, to be freed. */
__attribute__((unused)) static char *capture_end(struct capture *c)
{
    ck_assert_int_ge(dup2(c->before, c->descriptor), 0);
    off_t bytes = lseek(c->file, 0, SEEK_END);
    char *text = calloc(1, (size_t)bytes + 1);
    ck_assert_int_eq(pread(c->file, text, (size_t)bytes, 0), bytes);
    close(c->before);
    close(c->file);
    return text;
}

/* What a command did. */
struct command_outcome {
    struct status status;
    int exit_status;
    char *out, *err;
};

__attribute__((unused)) static void command_outcome_free(struct command_outcome *o)
{
    free(o->out);
    free(o->err);
    *o = (struct command_outcome){ .exit_status = 0 };
}

/* Run the program with these words, ended by NULL, the first of them its name. */
__attribute__((unused)) static struct command_outcome run_command(const char *const *words)
{
    struct command_outcome o = { .exit_status = 0 };
    int count = 0;
    while (words[count]) count++;
    fflush(stdout);
    fflush(stderr);
    struct capture out = capture_begin(STDOUT_FILENO), err = capture_begin(STDERR_FILENO);
    o.status = commands_run(&o.exit_status, count, (char *const *)(void *)words);
    fflush(stdout);
    fflush(stderr);
    o.out = capture_end(&out);
    o.err = capture_end(&err);
    return o;
}

#endif
