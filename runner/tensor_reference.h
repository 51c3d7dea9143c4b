/* A tensor as a reference: what one device has returned, to hold another device's result against it. */
#ifndef PROBE_RUNNER_TENSOR_REFERENCE_H
#define PROBE_RUNNER_TENSOR_REFERENCE_H

#include "core/arena.h"
#include "core/reference.h"
#include "core/status.h"
#include "core/tensor.h"

/* The elements of a tensor, exact, in `arena`. */
struct status tensor_reference(struct reference *out, struct arena *arena,
                               const struct tensor *tensor);

#endif
