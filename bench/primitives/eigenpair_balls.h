/* Eigenpairs in balls. */
#ifndef PROBE_BENCH_PRIMITIVES_EIGENPAIR_BALLS_H
#define PROBE_BENCH_PRIMITIVES_EIGENPAIR_BALLS_H

#include <arb_mat.h>
#include <stdbool.h>

/* The simple eigenvalue of symmetric a next to `near_value`, and n elements of its eigenvector of norm 1, with the sign
 * of `near_vector`: approximations in double. False where a ball at this precision cannot tell it from others. */
bool enclose_eigenpair(arb_t value, arb_ptr vector, const arb_mat_t a, double near_value,
                       const double *near_vector, slong precision);

#endif
