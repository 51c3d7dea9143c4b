/* The arguments that reductions share. */
#ifndef PROBE_BENCH_OPS_REDUCTION_ARGUMENTS_H
#define PROBE_BENCH_OPS_REDUCTION_ARGUMENTS_H

#include "bench/ops/operands.h"

/* Tensor, dimensions and keepdim of a reduction. */
struct reduced {
    struct node *x;
    uint32_t dims;
    bool keepdim;
    double count; /* elements behind one result */
};

/* Arguments input, dim (None or empty: all) and keepdim. */
struct reduced reduced_argument(struct call *call);

/* A keepdim result without the reduced dimensions, unless they are to be kept. */
struct node *reduced_shape(struct tape *tape, struct node *y, const struct reduced *reduction);

#endif
