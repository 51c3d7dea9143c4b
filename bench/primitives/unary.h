/* Functions of one variable, element by element. */
#ifndef PROBE_BENCH_PRIMITIVES_UNARY_H
#define PROBE_BENCH_PRIMITIVES_UNARY_H

#include "bench/tape/tape.h"

struct unary_function; /* unary_functions.h */

/* y = f(x), real. Integral inputs are converted. */
struct node *node_unary(struct tape *tape, const struct unary_function *f, struct node *x);

/* The same by name (unary_functions.c); an unknown name is an internal failure. */
struct node *node_apply(struct tape *tape, const char *name, struct node *x);

#endif
