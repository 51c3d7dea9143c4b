/* PROBE_OPENBLAS is the name under which the linker found it (cmake/dependencies.cmake). */
#include "bench/arithmetic/blas.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OPENMP = 2 }; /* of openblas_get_parallel */

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
    { "zgeev_", &loaded.functions.zgeev },
    { "openblas_set_num_threads", &loaded.set_threads },
    { "openblas_get_parallel", &loaded.parallel },
    { "openblas_get_corename", &loaded.core },
};

static void *open_without_threads(void)
{
    static const char threads[] = "OPENBLAS_NUM_THREADS";
    bool ours = !getenv(threads);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    if (ours) (void)setenv(threads, "1", 1);
    void *library = dlopen(PROBE_OPENBLAS, RTLD_LAZY | RTLD_LOCAL);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    if (ours) (void)unsetenv(threads); /* it is not for the processes that devices start */
    return library;
}

static void load(void)
{
    void *library = open_without_threads();
    bool whole = library;
    for (size_t i = 0; whole && i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        memcpy(symbols[i].place, (void *)&symbol,
               sizeof symbol); /* as POSIX has it for functions */
        whole = symbol;
    }
    if (whole) loaded.set_threads(1);
    else loaded.status = status_error(STATUS_INTERNAL, "OpenBLAS cannot be loaded: %s", dlerror());
}

struct status blas_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return loaded.status;
}

const struct blas *blas(void)
{
    struct status status = blas_load();
    assert(!status.code);
    (void)status;
    return &loaded.functions;
}

const char *blas_core(void)
{
    (void)blas();
    return loaded.core();
}

bool blas_is_openmp(void)
{
    (void)blas();
    return loaded.parallel() == OPENMP;
}
