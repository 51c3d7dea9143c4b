/* Means and sums of squared deviations as they come by updates, one element after the other (Welford 1962). */
#ifndef PROBE_BENCH_PRIMITIVES_UPDATED_MOMENTS_H
#define PROBE_BENCH_PRIMITIVES_UPDATED_MOMENTS_H

#include "bench/tape/tape.h"

/* In a model: `mean`, of lines of n elements, and `total`, their sums of squared deviations, with the errors that updates have besides.
 * They themselves otherwise. `total`, of the shape of `mean`, is that of exact deviations in both; updated_total takes what
 * updated_mean returned. */
struct node *updated_mean(struct tape *tape, struct node *mean, struct node *total, double n);
struct node *updated_total(struct tape *tape, struct node *total, struct node *mean, double n);

#endif
