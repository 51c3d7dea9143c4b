/* Roots of unity: the constants of Fourier transforms. */
#ifndef PROBE_BENCH_PRIMITIVES_ROOTS_OF_UNITY_H
#define PROBE_BENCH_PRIMITIVES_ROOTS_OF_UNITY_H

#include "bench/tape/tape.h"

enum root_part { ROOT_COSINE, ROOT_SINE, ROOT_MINUS_SINE };

/* The part cos(2 pi row column / n), sin(..) or -sin(..) for rows x columns places, as (1, rows, columns).
 * n > 0. A kernel has them correctly rounded, from a table. */
struct node *node_roots_of_unity(struct tape *tape, enum dtype dtype, enum root_part part,
                                 int64_t n, int64_t rows, int64_t columns);

#endif
