/* PROBE_OPENBLAS is the name under which the linker found it (cmake/dependencies.cmake). */
#include "bench/arithmetic/blas.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "core/late_library.h"

enum { OPENMP = 2 }; /* of openblas_get_parallel */

static struct late_library library = LATE_LIBRARY(PROBE_OPENBLAS, .binds_as_called = true);

/* Written once, by load(). */
static struct {
    struct blas functions;
    __typeof__(openblas_set_num_threads) *set_threads;
    __typeof__(openblas_get_parallel) *parallel;
    __typeof__(openblas_get_corename) *core;
    struct status status;
} loaded;

static const struct {
    const char *name;
    void *place;
} symbols[] = {
    { "cblas_dgemm", &loaded.functions.dgemm },
    { "cblas_sgemm", &loaded.functions.sgemm },
    { "dsyevd_", &loaded.functions.dsyevd },
    { "dgesdd_", &loaded.functions.dgesdd },
    { "dgeqrf_", &loaded.functions.dgeqrf },
    { "dorgqr_", &loaded.functions.dorgqr },
    { "zgebal_", &loaded.functions.zgebal },
    { "zgeev_", &loaded.functions.zgeev },
    { "openblas_set_num_threads", &loaded.set_threads },
    { "openblas_get_parallel", &loaded.parallel },
    { "openblas_get_corename", &loaded.core },
};

/* Leave this thread one of the processors that it may use, which were `all`. */
static bool narrow_to_one(cpu_set_t *all)
{
    cpu_set_t one;
    int here = sched_getcpu();
    if (here < 0 || sched_getaffinity(0, sizeof *all, all)) return false;
    CPU_ZERO(&one);
    CPU_SET((size_t)here, &one);
    return !sched_setaffinity(0, sizeof one, &one);
}

/* How many threads a pool gets is decided while the library is loaded, by the processors of the thread that loads
 * it: OpenBLAS's own pool, and that of OpenMP in the build that has it. Its variables would do, too, but cannot be
 * set where other threads may read the environment, and processes that devices start would inherit them. */
static struct status load_without_threads(void)
{
    cpu_set_t all;
    bool narrowed = narrow_to_one(&all);
    struct status status = late_library_load(&library);
    if (narrowed) (void)sched_setaffinity(0, sizeof all, &all);
    return status;
}

static void load(void)
{
    loaded.status = load_without_threads();
    if (loaded.status.code) return;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = late_library_symbol(&library, symbols[i].name);
        memcpy(symbols[i].place, (void *)&symbol,
               sizeof symbol); /* as POSIX has it for functions */
    }
    loaded.set_threads(1);
}

struct status blas_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return loaded.status;
}

static void load_or_end(void)
{
    /* Ends the process, with the reason. */
    if (blas_load().code) (void)late_library_symbol(&library, symbols[0].name);
}

static atomic_bool used;

const struct blas *blas(void)
{
    load_or_end();
    if (!blas_is_used()) atomic_store_explicit(&used, true, memory_order_release);
    return &loaded.functions;
}

bool blas_is_used(void) { return atomic_load_explicit(&used, memory_order_acquire); }

const char *blas_core(void)
{
    load_or_end();
    return loaded.core();
}

bool blas_is_openmp(void)
{
    load_or_end();
    return loaded.parallel() == OPENMP;
}
