/* OpenBLAS, as the bench has it. */
#include "bench/products_library.h"

#include "bench/arithmetic/blas.h"

struct status products_library_load(void) { return blas_load(); }

bool products_library_is_used(void) { return blas_is_used(); }

const char *products_library_core(void) { return blas_core(); }

bool products_library_is_openmp(void) { return blas_is_openmp(); }
