/* How close two tensors are, in the terms of numpy.allclose. */
#ifndef PROBE_COMPARE_API_DUMPS_CLOSENESS_H
#define PROBE_COMPARE_API_DUMPS_CLOSENESS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tensor.h"

struct tolerance {
    double rtol, atol; /* a is close to b when |a - b| <= atol + rtol |b| */
    bool equal_nan;    /* NaN is close to NaN */
};

/* Counts over elements, a complex one as two. An infinity is close to itself only. */
struct closeness {
    size_t n, close;
    bool all_close; /* also when there are no elements */
    double cosine;  /* in [-1, 1]; 1 when both norms are at most 2^-52, NaN when one is */
    double mean_difference, max_difference; /* of |a - b| over the elements that differ; 0 when none
                                               does; NaN when one of them is NaN */
};

/* Both dense, of one shape, in any dtypes; computed in double, chunk by chunk. When all elements are
 * equal the cosine is 1. */
void closeness_measure(struct closeness *out, const struct tensor *a, const struct tensor *b,
                       struct tolerance tolerance);

#endif
