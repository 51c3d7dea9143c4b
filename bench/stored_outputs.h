/* Gradients that start from the results as a device stored them: autograd keeps a result in place of its arguments
 * where a formula has it (softmax, tanh, sigmoid, exp, std, ... in PyTorch's derivatives.yaml), rounded to its dtype. */
#ifndef PROBE_BENCH_STORED_OUTPUTS_H
#define PROBE_BENCH_STORED_OUTPUTS_H

#include "bench/evaluation.h"

/* Let the reference of the gradient of tensor argument i be asked for one (`from_outputs` of core/reference.h). */
struct status stored_outputs_offer(struct reference *r, struct bench *bench, size_t i);

#endif
