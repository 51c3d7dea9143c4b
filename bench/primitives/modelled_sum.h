/* Sums with the error of a plain kernel: what a model has for `sum`. */
#ifndef PROBE_BENCH_PRIMITIVES_MODELLED_SUM_H
#define PROBE_BENCH_PRIMITIVES_MODELLED_SUM_H

#include "bench/tape/tape.h"

/* Into the node, with one element for each line of x over the dimensions whose bit is set in `dims`, in the order of
 * those that are left: the sums and the errors of a kernel, roundings of its own (in the mean, by the partial sums of these
 * data) and the errors of the terms added up, in the mean as independent ones. Elements of x are read where they lie.
 * `estimates`: the roundings are estimated from the number of terms and their sizes alone, for sums whose errors nobody asks for. */
void model_sums(struct tape *tape, struct node *node, struct node *x, uint32_t dims,
                bool estimates);

#endif
