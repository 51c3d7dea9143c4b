/* The arguments that reductions share. */
#ifndef PROBE_BENCH_OPS_REDUCTIONS_H
#define PROBE_BENCH_OPS_REDUCTIONS_H

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
struct node *reduced_shape(struct tape *tape, struct node *y, const struct reduced *r);

/* Largest (sign 1) or smallest (-1) elements of one dimension and their positions; of equal ones
 * the device's position counts (output number `output`). keepdim shapes. The gradient goes to
 * the position. */
struct node *extremum_along(struct call *call, struct node *x, int dim, int sign, size_t output,
                            struct node **index);

#endif
