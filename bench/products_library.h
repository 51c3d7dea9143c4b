/* The library behind matrix products, for those who prepare a process or say what it runs with. */
#ifndef PROBE_BENCH_PRODUCTS_LIBRARY_H
#define PROBE_BENCH_PRODUCTS_LIBRARY_H

#include <stdbool.h>

#include "core/status.h"

/* Load it, held to one thread; it is also when it is first used (bench/arithmetic/blas.h). */
struct status products_library_load(void);

/* Has anything been computed with it? */
bool products_library_is_used(void);

/* Name of its kernels in use ("SkylakeX", "Haswell"); loads it. */
const char *products_library_core(void);

/* Is it the build whose threads are OpenMP's? Loads it. */
bool products_library_is_openmp(void);

#endif
