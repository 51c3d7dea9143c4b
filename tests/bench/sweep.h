/* A function of one variable over the bit patterns of a dtype, against its oracle. */
#ifndef PROBE_TESTS_BENCH_SWEEP_H
#define PROBE_TESTS_BENCH_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "bench/oracle.h"
#include "bench/primitives/unary_functions.h"

struct sweep {
    size_t inputs, wrong;
    size_t uncertified; /* bound above 2^-10 ulp of the dtype at the value */
    size_t ambiguous;   /* y - E and y + E round to different values of the dtype */
    double worst_ulps;  /* largest error seen, in units of 2^-52 |y| */
};

/* Patterns first, first + stride, ... below the number of patterns of `dtype` (float32, float16,
 * bfloat16). Wrong values are described on standard error, a few of them. */
void sweep_patterns(struct sweep *sweep, const struct unary_function *f,
                    const struct oracle *oracle, enum dtype dtype, uint64_t first, uint64_t stride);

#endif
