/* Settings of the C library, of the floating-point unit and of OpenBLAS. */
#include "runner/environment.h"

#include <fenv.h>
#include <float.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "bench/number_library.h"
#include "bench/products_library.h"
#include "core/memory.h"

/* Without the variable OpenBLAS has one thread in any build. OpenMP believes the variable more than anything that can
 * be said later, and reads it when it is loaded, so that another number takes a new start. */
static struct status hold_openmp(char *const *arguments)
{
    static const char variable[] = "OMP_NUM_THREADS";
    const char *threads = getenv(variable); /* NOLINT(concurrency-mt-unsafe): one thread */
    if (!threads || !strcmp(threads, "1")) return status_ok();
    TRY(products_library_load());
    if (!products_library_is_openmp()) return status_ok();
    (void)setenv(variable, "1", 1); /* NOLINT(concurrency-mt-unsafe): one thread */
    (void)execv("/proc/self/exe", arguments);
    return status_ok();
}

struct status environment_prepare(char *const *arguments)
{
    /* Tensors come and go by the megabyte. With a fixed threshold they are mapped and unmapped
     * instead of growing a heap that never shrinks. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20); /* NOLINT(concurrency-mt-unsafe): one thread */
    (void)mallopt(M_TRIM_THRESHOLD, 8 << 20); /* NOLINT(concurrency-mt-unsafe): one thread */
    cJSON_InitHooks(&(cJSON_Hooks){ .malloc_fn = memory_allocate, .free_fn = memory_release });
    number_library_prepare();
    /* A reader that went away and a file that may not grow are errors of the write. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    return hold_openmp(arguments);
}

const char *environment_blas_core(void) { return products_library_core(); }

const char *environment_blas_core_in_use(void)
{
    return products_library_is_used() ? products_library_core() : NULL;
}

bool environment_restore_arithmetic(void)
{
    /* Half of the smallest normal number vanishes under flush-to-zero, and doubling it back
     * gives zero under denormals-are-zero. Volatile: the compiler must not do the sums. */
    volatile double smallest = DBL_MIN;
    volatile double half = smallest / 2;
    volatile double doubled = half * 2;
    if (fegetround() == FE_TONEAREST && doubled == smallest) return true;
    (void)fesetenv(FE_DFL_ENV);
    return false;
}

void environment_leave_thread(void) { number_library_leave_thread(); }

int environment_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int cores = CPU_COUNT(&set);
    return cores > 0 ? cores : 1;
}
