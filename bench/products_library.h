/* The library behind matrix products, for those who prepare a process or say what it runs with. */
#ifndef PROBE_BENCH_PRODUCTS_LIBRARY_H
#define PROBE_BENCH_PRODUCTS_LIBRARY_H

#include <stdbool.h>

#include "core/status.h"

/* Load it, held to one thread; call while there is one thread (bench/arithmetic/blas.h). */
struct status products_library_load(void);

/* Name of its kernels in use ("SkylakeX", "Haswell"). */
const char *products_library_core(void);

/* Is it the build whose threads are OpenMP's? */
bool products_library_is_openmp(void);

#endif
