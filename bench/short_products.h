/* Results of kernels that take the factors of their products in a shorter format than they should. */
#ifndef PROBE_BENCH_SHORT_PRODUCTS_H
#define PROBE_BENCH_SHORT_PRODUCTS_H

#include "bench/evaluation.h"

/* Let the reference of result i, or of the gradient of tensor argument i, be asked for them (`shorten` of
 * core/reference.h). */
struct status short_products_offer(struct reference *r, struct bench *bench, size_t i,
                                   bool gradient);

#endif
