/* Single elements in ball arithmetic.
 *
 * enclosure_element computes the exact real value of one element of a node as an Arb ball (midpoint
 * and radius that encloses it), recursing into the elements it depends on and remembering what
 * it has computed. Branches and index choices are those already made by the evaluation in
 * double, which made them from exact inputs.
 */
#ifndef PROBE_BENCH_TAPE_ENCLOSURE_H
#define PROBE_BENCH_TAPE_ENCLOSURE_H

#include <arb.h>

#include "bench/arithmetic/pair.h"
#include "bench/tape/tape.h"

enum { ENCLOSURE_BLOCK = 32, ENCLOSURE_BLOCKS = 16 };

struct enclosure {
    slong precision; /* bits */
    struct enclosure_memo
        *memo;    /* NULL: pairs are computed again each time, and there are no balls */
    size_t work;  /* elements evaluated so far */
    size_t limit; /* give up (an unbounded ball) beyond this many */
    /* Doubles of deferred nodes, those of a node in the place of its id. Where elements are asked for in order, as a sum does, the
     * next ones are made with one: each step of a chain is walked for a block instead of an element. */
    struct {
        const struct node *node;
        size_t start, count;
        double value[ENCLOSURE_BLOCK];
    } block[ENCLOSURE_BLOCKS];
};

/* An evaluation of its own, on the heap; NULL without memory. */
struct enclosure *enclosure_open(slong precision, size_t limit);
void enclosure_close(struct enclosure *enclosure);

/* `ball` is an arb_ptr; void so that tape.h need not know Arb. */
void enclosure_element(struct enclosure *enclosure, void *ball, struct node *node, size_t i);

/* The element as a pair, where every step from exact values has one; hundreds of times cheaper
 * than a ball. Shared parts are computed again each time, unless they say enclosure_shared_pair. False: a step has
 * none, or the limit is reached. */
bool enclosure_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i);

/* For a primitive whose elements are dear and asked for many times, such as sums, which would cost n^2 where each of
 * n elements asks for them: what `pair` gives for element i, computed once. */
typedef bool pair_function(struct enclosure *enclosure, struct pair *out, struct node *node,
                           size_t i);
bool enclosure_shared_pair(struct enclosure *enclosure, struct pair *out, struct node *node,
                           size_t i, pair_function *pair);

/* Element i as that of the first input: for primitives that pass elements on in their places. */
void input_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i);
bool input_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i);

/* May `count` elements of the node, `first` one of them, be evaluated within the limit? False, and the limit counts as reached,
 * where they take more: what cannot end is not begun. */
bool enclosure_admits(struct enclosure *enclosure, const struct node *node, size_t first,
                      size_t count);

/* Remember the ball of another element that came with the one asked for. */
void enclosure_remember(struct enclosure *enclosure, struct node *node, size_t i, const void *ball);

/* Where refined values go: those of element i to index i * stride + offset of each array, or, where the arrays have the
 * `listed` elements alone, those of the k-th one of the list to index k. */
struct enclosure_target {
    double *hi, *lo, *error; /* lo may be NULL */
    size_t stride, offset;
    bool listed;
};

/* Recompute the listed elements as pairs, and stop at the first that has none or when `limit`
 * element evaluations are spent. Returns how many were done. */
size_t enclosure_refine_pairs(const struct enclosure_target *target, struct node *node,
                              size_t count, const size_t *elements, size_t limit);

/* Recompute the listed elements of a node until each bound is at most wanted_ulp times the ulp
 * of `dtype` at its value, doubling the precision up to a cap and spending at most `limit`
 * element evaluations. An element is only ever replaced by one with a smaller bound. */
void enclosure_refine(const struct enclosure_target *target, struct node *node, size_t count,
                      const size_t *elements, enum dtype dtype, double wanted_ulp, size_t limit);

#endif
