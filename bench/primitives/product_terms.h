/* What dot products have in common whatever adds their terms: how much their roundings make, and whether their products have any. */
#ifndef PROBE_BENCH_PRIMITIVES_PRODUCT_TERMS_H
#define PROBE_BENCH_PRIMITIVES_PRODUCT_TERMS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "bench/tape/tape.h"

/* In a model: how much of unit * sum|a||b| the roundings of a dot product of k terms make. The
 * products round too where there is no fused multiply-add. */
static inline double dot_growth(const struct tape *tape, size_t k)
{
    if (tape->arithmetic == BENCH_MODEL_TYPICAL) return sqrt((double)k) / 3 + 0.6;
    return (double)k;
}

/* Elements of an input tensor with at most 24 significand bits: products of two are exact. */
static inline bool node_is_narrow(const struct node *x)
{
    return x->source && dtype_info(x->dtype)->significand_bits <= 24;
}

#endif
