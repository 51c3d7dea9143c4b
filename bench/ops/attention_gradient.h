/* The gradient of attention from its weights and its result, as operators of their own are given them (Dao and others,
 * FlashAttention, 2022, appendix B).
 *
 * With the weights P, the result O, its cotangent dO and D = sum(dO O) of each row
 *
 *     dV = P^T dO,   dS = P (dO V^T - D),   dQ = scale dS K,   dK = scale dS^T Q.
 *
 * With dropout P in dV and in the product with dO V^T is that of the weights kept, over the chance to be kept, while D is given: so
 * all of it is linear in choices that no output tells, and follows dropped_law.h with the coefficients P dO and A K for
 * A = scale P (dO V^T); what D is multiplied by is not dropped. */
#ifndef PROBE_BENCH_OPS_ATTENTION_GRADIENT_H
#define PROBE_BENCH_OPS_ATTENTION_GRADIENT_H

#include "bench/ops/dropped_attention.h"

/* All (batches, heads, ...), heads of keys as often as queries have them. */
struct attention_parts {
    struct node *p, *q, *k, *v, *cotangent, *result;
    double scale, drops; /* of the scores; the chance of a weight to be dropped */
    size_t *drawn;       /* how often our own device has drawn */
};

enum { OF_QUERY, OF_KEY, OF_VALUE, OF_SCORES, ATTENTION_GRADIENTS };

/* Sums of the law of each, of which without dropout, and where our own device drops, `mean` alone is there: the gradient. That of
 * the scores is behind the scale. within: D, (batches, heads, rows, 1). */
struct attention_gradients {
    struct dropped_sums of[ATTENTION_GRADIENTS];
    struct node *within;
};

struct attention_gradients attention_gradients(struct call *call,
                                               const struct attention_parts *parts);

/* Are sums wanted, rather than the gradient alone? */
bool attention_follows_law(const struct tape *tape, double drops);

/* The sums by number, without `terms`. */
enum { DROPPED_SUMS = 4 };
void list_dropped_sums(struct node **out[DROPPED_SUMS], struct dropped_sums *sums);

/* Of what is broadcast, times `scale`: the largest coefficient of all serves for each. */
struct dropped_sums sums_to_shape(struct tape *tape, struct dropped_sums sums, int rank,
                                  const int64_t *shape, double scale);

/* The `width` channels from `from` on. */
struct dropped_sums sums_of_channels(struct tape *tape, struct dropped_sums sums, int64_t from,
                                     int64_t width);

/* Return a gradient in the layout of the call (NULL: as it is), or what has its law. */
void call_return_attention_gradient(struct call *call, const struct dropped_attention *law,
                                    struct dropped_sums sums, const char *layout, enum dtype dtype);

#endif
