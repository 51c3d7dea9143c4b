/* Derivatives of smooth activations in one pass, where a composition would take seven. */
#ifndef PROBE_BENCH_PRIMITIVES_SLOPES_H
#define PROBE_BENCH_PRIMITIVES_SLOPES_H

#include "bench/tape/tape.h"

enum activation_slope { SLOPE_SIGMOID, SLOPE_SILU, SLOPE_GELU };

/* f'(x) for every element; x real. Not differentiable again. */
struct node *node_activation_slope(struct tape *tape, enum activation_slope which, struct node *x);

#endif
