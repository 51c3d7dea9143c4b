/* Functions of two variables and arithmetic, element by element, broadcast. */
#ifndef PROBE_BENCH_PRIMITIVES_BINARY_H
#define PROBE_BENCH_PRIMITIVES_BINARY_H

#include "bench/tape/tape.h"

struct binary_function; /* binary_functions.h */

/* y = f(a, b), real. Integral inputs are converted. */
struct node *node_binary(struct tape *tape, const struct binary_function *f, struct node *a,
                         struct node *b);

/* The same by name (binary_functions.c); an unknown name is an internal failure. */
struct node *node_apply2(struct tape *tape, const char *name, struct node *a, struct node *b);

/* + - * or /, of a node that is one; else 0. */
char node_operation(const struct node *node);

/* Arithmetic, also complex. */
struct node *node_add(struct tape *tape, struct node *a, struct node *b);
struct node *node_subtract(struct tape *tape, struct node *a, struct node *b);
struct node *node_multiply(struct tape *tape, struct node *a, struct node *b);

/* c times slope. In a model a kernel may multiply c with part of the slope first, and what underflows then with the rest. */
struct node *node_multiply_slope(struct tape *tape, struct node *c, struct node *slope);
struct node *node_divide(struct tape *tape, struct node *a, struct node *b);
struct node *node_scale(struct tape *tape, struct node *x, double factor);
struct node *node_offset(struct tape *tape, struct node *x, double term);
struct node *node_negate(struct tape *tape, struct node *x);

#endif
