/* Exponentials normalised over one dimension: softmax, its logarithm, logsumexp.
 *
 * With m the largest element and S' the sum of exp(x_k - m) over the others,
 *     logsumexp = m + log1p(S'),   softmax_i = exp(x_i - m) / (1 + S'),
 *     log_softmax_i = (x_i - m) - log1p(S').
 * Both terms of log_softmax are <= 0, so nothing cancels and each of its values is good to a
 * few hundred units of roundoff relative to itself, also where one class has all the weight.
 */
#ifndef PROBE_BENCH_PRIMITIVES_SOFTMAX_H
#define PROBE_BENCH_PRIMITIVES_SOFTMAX_H

#include "bench/tape/tape.h"

struct node *node_softmax(struct tape *tape, struct node *x, int dim);

/* The same over lines whose sums are known (exponentials.h). */
struct node *node_softmax_of_sums(struct tape *tape, struct node *x, struct node *sums);

struct node *node_log_softmax(struct tape *tape, struct node *x, int dim);

/* The logarithm of the sum of exponentials along dim, which becomes 1. */
struct node *node_logsumexp(struct tape *tape, struct node *x, int dim);

/* log_softmax at one class per line: `target` is int64 with extent 1 along dim, its entries
 * valid positions along dim. The gradient costs one array of x's size. */
struct node *node_log_softmax_at(struct tape *tape, struct node *x, int dim, struct node *target);

#endif
