/* Functions of complex nodes, spelled out in their real and imaginary parts; real nodes pass
 * to the real function of the same name.
 */
#ifndef PROBE_BENCH_COMPLEX_FUNCTIONS_H
#define PROBE_BENCH_COMPLEX_FUNCTIONS_H

#include "bench/graph.h"

/* f(x) by name: the names of functions_unary.c that have a complex form; others fail. */
struct node *node_function(struct graph *graph, const char *name, struct node *x);

/* a to the power b, real or complex. */
struct node *node_power(struct graph *graph, struct node *a, struct node *b);

/* |x| and the argument of x, real. The gradient of |x| at 0 is 0, as PyTorch's. */
struct node *node_magnitude(struct graph *graph, struct node *x);
struct node *node_angle(struct graph *graph, struct node *x);

/* The conjugate; a real node is returned as is. */
struct node *node_conjugate(struct graph *graph, struct node *x);

#endif
