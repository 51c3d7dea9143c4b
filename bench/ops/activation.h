/* What activations share: operands, and the functions that are steps of other operations. */
#ifndef PROBE_BENCH_OPS_ACTIVATION_H
#define PROBE_BENCH_OPS_ACTIVATION_H

#include "bench/call/op.h"

/* The input, real. */
struct node *activation_input(struct call *call);

/* The same of a function of several pieces: at NaN a model lets its slope be that of any. */
struct node *activation_piecewise_input(struct call *call);

/* Number `name` as a kernel of x's dtype compares with it. */
struct node *activation_threshold(struct call *call, const char *name, const struct node *x);

/* x > 0 ? x : slope x */
struct node *leaky_part(struct tape *tape, struct node *x, double slope);

/* gelu by erf, or by tanh: x sigmoid(2 c), c = sqrt(2 / pi) (x + 0.044715 x^3). */
struct node *gelu_of(struct tape *tape, struct node *x, bool by_tanh);

#endif
