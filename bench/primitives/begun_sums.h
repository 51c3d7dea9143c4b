/* Sums of products that begin with a number, a bias say, or whose terms are multiplied by one.
 *
 * A model knows of products whose factors have so few bits that no kernel rounds (bench/arithmetic/exact_sums.h). That is so of the
 * products alone: where a kernel adds their terms to a number with more bits, or scales them by one, every partial sum is rounded.
 */
#ifndef PROBE_BENCH_PRIMITIVES_BEGUN_SUMS_H
#define PROBE_BENCH_PRIMITIVES_BEGUN_SUMS_H

#include <stdbool.h>

#include "bench/tape/tape.h"

/* Of a sum of k products each. */
struct begun_sum {
    struct node *x, *w; /* where the factors of the terms come from */
    struct node *start; /* what it begins with, or NULL */
    double factor;      /* of the terms */
    int64_t k;
};

/* In a model: does y, the sums without start and factor, have elements without error that round in a kernel for them? */
bool begun_sums_round(struct tape *tape, struct node *y, const struct begun_sum *sum);

/* What the sizes of the terms are made of: products of these of both factors, summed as y is. */
struct node *begun_sums_sizes(struct tape *tape, struct node *x);

/* y with the errors of its partial sums, of elements that have none; `sizes`: sums of the sizes. */
struct node *begun_sums_rounded(struct tape *tape, struct node *y, struct node *sizes, int64_t k);

#endif
