/* Sums and products of numbers of few bits, which round in no order of summation. All terms are multiples of some 2^e, so all
 * partial sums are, and none is above sum|x|: when that is at most 2^bits 2^e, a format of `bits` significant bits holds every
 * one. Masks, counts and numbers of few bits are like that. */
#ifndef PROBE_BENCH_ARITHMETIC_EXACT_SUMS_H
#define PROBE_BENCH_ARITHMETIC_EXACT_SUMS_H

#include <stdbool.h>
#include <stddef.h>

/* Does no order of summation round at all? False when a term is not finite, or so small that a
 * partial sum could be subnormal. */
bool sum_is_exact(const double *term, size_t n, int bits);
bool sum_of_every_is_exact(const double *term, size_t n, size_t step,
                           int bits); /* of every step-th value */

/* Numbers that are multiples of 2^last, none larger than `most`: 0 and 1024 where there are only zeros, or none. */
struct number_grid {
    double most;
    int last;
};
static const struct number_grid NO_NUMBERS = { 0, 1024 };

/* Numbers are added to a grid. False when one is not finite, or together they have more than `bits` bits. */
bool grid_add(struct number_grid *grid, const double *x, size_t n, int bits);

/* Does no sum of k products of numbers of two grids round, in any order, nor the products? */
bool grid_products_are_exact(const struct number_grid *a, const struct number_grid *b, size_t k,
                             int bits);

#endif
