/* What gated activations share with the plain ones. */
#ifndef PROBE_BENCH_OPS_ACTIVATION_H
#define PROBE_BENCH_OPS_ACTIVATION_H

#include "bench/call/op.h"

/* gelu by erf, or by tanh: x sigmoid(2 c), c = sqrt(2 / pi) (x + 0.044715 x^3). */
struct node *gelu_of(struct tape *tape, struct node *x, bool by_tanh);

#endif
