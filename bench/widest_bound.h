/* The bounds of many elements as one for all of them, relative but for the least, where it is small enough for that. */
#ifndef PROBE_BENCH_WIDEST_BOUND_H
#define PROBE_BENCH_WIDEST_BOUND_H

#include <stddef.h>
#include <stdint.h>

#include "bench/arithmetic/certificate.h"

enum { WIDEST_LANES = 16, WIDEST_BLOCK = 512 };

/* Of no element: all zeros. */
struct widest_bound {
    double relative[WIDEST_LANES], absolute[WIDEST_LANES];
    uint64_t open; /* elements that are not certified at first sight: their bounds are not in it */
};

/* Take in n elements, at most WIDEST_BLOCK. Returns how many of them are open. */
uint64_t widest_bound_add(struct widest_bound *w, const struct certificate *c, const double *value,
                          const double *error, size_t n);

/* The largest bound of n elements, at most WIDEST_BLOCK, but for the open ones. */
double widest_bound_of_block(const struct certificate *c, const double *value, const double *error,
                             size_t n);

void widest_bound_join(struct widest_bound *w, const struct widest_bound *other);

/* Each element but the open ones is off by at most relative * |value| + absolute, and the two are no more than what
 * the certificate asks for. */
double widest_bound_relative(const struct widest_bound *w, const struct certificate *c);
double widest_bound_absolute(const struct widest_bound *w);

#endif
