/* Partial derivatives of the functions in binary_functions.c, as nodes of broadcast shape. */
#ifndef PROBE_BENCH_PRIMITIVES_BINARY_DERIVATIVES_H
#define PROBE_BENCH_PRIMITIVES_BINARY_DERIVATIVES_H

#include "bench/tape/tape.h"

/* At (a, b) with y = f(a, b); *da and *db get them, NULL: it is not wanted. */
typedef void binary_derivative(struct tape *tape, struct node *a, struct node *b, struct node *y,
                               struct node **da, struct node **db);

binary_derivative partials_multiply, partials_divide, partials_pow, partials_atan2, partials_hypot,
    partials_fmod, partials_remainder, partials_copysign, partials_flat, partials_logaddexp,
    partials_logaddexp2, partials_xlogy, partials_igamma, partials_igammac, partials_polygamma,
    partials_zeta;

#endif
