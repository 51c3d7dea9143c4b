/* Elements of so few bits that their products and sums are exact in any order (bench/arithmetic/exact_sums.h). */
#ifndef PROBE_BENCH_PRIMITIVES_FEW_BITS_H
#define PROBE_BENCH_PRIMITIVES_FEW_BITS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/arithmetic/exact_sums.h"
#include "bench/tape/tape.h"

/* The elements of a real node added to a grid of at most `bits` bits: false where they have errors or more bits. */
bool few_bits_add(struct number_grid *grid, const struct node *x, int bits);

/* Are sums of k products of elements of two real nodes exact, in any order, with `bits` bits? */
bool few_bits_product(const struct node *a, const struct node *b, size_t k, int bits);

#endif
