/* Functions of complex nodes, spelled out in their real and imaginary parts; real nodes pass
 * to the real function of the same name.
 */
#ifndef PROBE_BENCH_PRIMITIVES_COMPLEX_FUNCTIONS_H
#define PROBE_BENCH_PRIMITIVES_COMPLEX_FUNCTIONS_H

#include "bench/tape/tape.h"

/* f(x) by name: the names of unary_functions.c that have a complex form; others fail. */
struct node *node_function(struct tape *tape, const char *name, struct node *x);

/* a to the power b, real or complex. */
struct node *node_power(struct tape *tape, struct node *a, struct node *b);

/* |x| and the argument of x, real. The gradient of |x| at 0 is 0, as PyTorch's. */
struct node *node_magnitude(struct tape *tape, struct node *x);
struct node *node_angle(struct tape *tape, struct node *x);

/* The conjugate; a real node is returned as is. */
struct node *node_conjugate(struct tape *tape, struct node *x);

#endif
