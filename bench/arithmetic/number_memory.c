/* The allocators that GMP, MPFR and FLINT are given: they return a block or end the process. */
#include "bench/arithmetic/number_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/checked.h"

static _Noreturn void end_process(size_t bytes)
{
    char text[160];
    int length = snprintf(text, sizeof text,
                          "probe-ut: out of memory: %zu bytes were needed for a reference; the "
                          "results so far can be resumed\n",
                          bytes);
    ssize_t written = write(STDERR_FILENO, text, (size_t)length);
    (void)written;
    _exit(4);
}

/* realloc that comes back with a block. Straight from the system and not through core/memory.h:
 * what is refused there is a status, and here there is nobody to hand one to. */
static void *insist(void *block, size_t bytes)
{
    enum { FIRST_PAUSE_NS = 1000000, PAUSES = 3 };
    struct timespec pause = { .tv_nsec = FIRST_PAUSE_NS };
    for (int attempt = 0;; attempt++, pause.tv_nsec *= 10) {
        void *got = realloc(block, bytes ? bytes : 1);
        if (got) return got;
        if (attempt == PAUSES) end_process(bytes);
        (void)nanosleep(&pause, NULL);
    }
}

static void *allocate(size_t bytes) { return insist(NULL, bytes); }

static void *allocate_zeroed(size_t count, size_t bytes)
{
    size_t total;
    if (!size_multiply(&total, count, bytes)) end_process(SIZE_MAX);
    void *block = insist(NULL, total);
    memset(block, 0, total);
    return block;
}

/* As GMP calls them: with the old size too. */
static void *resize(void *block, size_t old_bytes, size_t bytes)
{
    (void)old_bytes;
    return insist(block, bytes);
}

static void release(void *block, size_t bytes)
{
    (void)bytes;
    free(block);
}

void number_memory_prepare(set_gmp_memory *set_gmp, set_flint_memory *set_flint)
{
    set_gmp(allocate, resize, release);
    set_flint(allocate, allocate_zeroed, insist, free);
}
