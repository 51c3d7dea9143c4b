/* Loaded into the program under test: refuses memory. From the PROBE_REFUSE_AT-th request on,
 * PROBE_REFUSE_COUNT requests (1 by default) get nothing, whoever asks: the program, its libraries
 * or the C library.
 *
 * Requests count from the entry of the program on, and not in dlopen: what the libraries do while they are
 * loaded is not the program's. With PROBE_COUNT_FILE set, their number is written there at the end.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The C library's own, behind those below. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_long requests;
static atomic_bool started;
static long first, last; /* refused, both included; none while first is 0 */

static long number_of(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

typedef int main_function(int, char **, char **);

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    __typeof__(&__libc_start_main) next = dlsym(RTLD_NEXT, "__libc_start_main");
    first = number_of("PROBE_REFUSE_AT", 0);
    last = first + number_of("PROBE_REFUSE_COUNT", 1) - 1;
    atomic_store(&started, true);
    return next(main, argc, argv, init, fini, rtld_fini, stack_end);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("PROBE_COUNT_FILE");
    long count = atomic_load(&requests);
    atomic_store(&started, false);
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", count);
    fclose(file);
}

static bool is_refused(void)
{
    if (!atomic_load(&started)) return false;
    long number = atomic_fetch_add(&requests, 1) + 1;
    if (!first || number < first || number > last) return false;
    errno = ENOMEM;
    return true;
}

void *dlopen(const char *name, int flags)
{
    __typeof__(&dlopen) next = (__typeof__(&dlopen))dlsym(RTLD_NEXT, "dlopen");
    bool counted = atomic_exchange(&started, false);
    void *library = next(name, flags);
    atomic_store(&started, counted);
    return library;
}

void *malloc(size_t bytes) { return is_refused() ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count, size_t bytes)
{
    return is_refused() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return is_refused() ? NULL : __libc_realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return is_refused() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = is_refused() ? NULL : __libc_memalign(alignment, bytes);
    return *block ? 0 : ENOMEM;
}
