/* Functions as kernels for tensors of a short dtype compose them: every step of the textbook formula rounded. They are
 * what the two roundings within such a function are about that the model of staged kernels allows for (bench/tape/bounds.h). */
#ifndef PROBE_BENCH_PRIMITIVES_COMPOSED_FUNCTIONS_H
#define PROBE_BENCH_PRIMITIVES_COMPOSED_FUNCTIONS_H

#include <stdbool.h>

#include "bench/tape/deviation.h"

/* f(x) with every step but the last one rounded; `other` takes the less usual formula where there are two. False for
 * functions that have one step. */
bool composed_value(double *y, const char *function, double x, const struct rounding *rounding,
                    bool other);

#endif
