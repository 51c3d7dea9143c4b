/* The errors that a legitimate kernel may make, by running error analysis with its roundoff: the
 * `kernel_bound` and `kernel_rms` of references (core/reference.h), which the profile `strict` judges
 * by. */
#ifndef PROBE_BENCH_KERNEL_MODEL_H
#define PROBE_BENCH_KERNEL_MODEL_H

#include "bench/evaluation.h"

/* Walk the models of a bench backwards; nothing without models. */
struct status kernel_model_backward(struct bench *bench, const struct value *cotangents);

/* Set the bounds of the gradient of tensor argument i; nothing without models. */
struct status kernel_model_gradient(struct reference *r, struct bench *bench, size_t i);

#endif
