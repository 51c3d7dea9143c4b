/* Nodes that share the elements of another. */
#ifndef PROBE_BENCH_PRIMITIVES_ALIAS_H
#define PROBE_BENCH_PRIMITIVES_ALIAS_H

#include "bench/tape/tape.h"

/* The same value seen as another PyTorch dtype; no rounding (the reference of a cast is the
 * value itself). Real <-> integral conversion is explicit: node_to_real, node_to_integer. */
struct node *node_with_dtype(struct tape *tape, struct node *x, enum dtype dtype);

/* As node_with_dtype, a node of its own also where the dtype is x's already. */
struct node *node_alias(struct tape *tape, struct node *x, enum dtype dtype);

/* x once more, a node of its own, its elements unread: to those who join them the errors of both are independent. */
struct node *node_again(struct tape *tape, struct node *x);

/* An exact leaf holding the current values of `x`: gradients stop here. */
struct node *node_detach(struct tape *tape, struct node *x);

/* In a model: y with `roundings` * unit * |x_i| more of error, for kernels whose usual formula
 * cancels where ours does not (1 + erf(x) beside erfc(-x), say). y itself otherwise. x has y's
 * shape. */
struct node *node_model_error(struct tape *tape, struct node *y, struct node *x, double roundings);

/* The same where y has just been made and is for this alone: an array of errors that it has of its own is used again. */
struct node *node_model_own_error(struct tape *tape, struct node *y, struct node *x,
                                  double roundings);

/* In a model: y, of which a kernel may return anything, an infinity and a NaN included, where `lost` (integer, y's shape) is not
 * 0; and x, whose gradient may be anything there. y and x themselves otherwise. */
struct node *node_model_anything(struct tape *tape, struct node *y, struct node *lost);
struct node *node_model_any_slope(struct tape *tape, struct node *x, struct node *lost);

/* In a model: y, of which a kernel may return anything where it is infinite. y itself otherwise. */
struct node *node_model_open_at_infinity(struct tape *tape, struct node *y);

/* In a model: x, whose gradient may be anything where it is no number. Kernels of functions in pieces compare all the same, and take
 * the slope of either piece: x > 0 and x <= 0 are both false. x itself otherwise. */
struct node *node_model_any_slope_at_nan(struct tape *tape, struct node *x);

/* In a model: y or `other`, two formulas for one result of which a kernel may use either: y with the
 * larger error of the two. Cotangents go to both, so a gradient's error is the sum. y itself
 * otherwise. */
struct node *node_model_either(struct tape *tape, struct node *y, struct node *other);

/* In a model: y, whose derivative jumps beside the elements that `unknown` (integer, y's shape) marks, so that the roundings
 * of what y is made of choose the side: what comes back through them has an unbounded error. y itself otherwise. */
struct node *node_model_unknown_slope(struct tape *tape, struct node *y, struct node *unknown);

/* In a model: y, the larger or the smaller of a and b (y's shape, or one element). Where rounding may exchange the two, y is off
 * by as much as either, and its slope is unknown. y itself otherwise. */
struct node *node_model_choice(struct tape *tape, struct node *y, struct node *a, struct node *b);

#endif
