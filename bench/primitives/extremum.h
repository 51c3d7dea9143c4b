/* Largest and smallest elements along dimensions. */
#ifndef PROBE_BENCH_PRIMITIVES_EXTREMUM_H
#define PROBE_BENCH_PRIMITIVES_EXTREMUM_H

#include "bench/tape/tape.h"

/* Position (0-based along dim) of the first largest element, NaN counting as largest, as an
 * untracked int64 node; sign = -1 for the smallest. keepdim shape. */
struct node *node_arg_extremum(struct tape *tape, struct node *x, int dim, int sign);

/* The largest (sign 1) or smallest (-1) element over dims. NaN wins. Equal ones share the
 * gradient. Integral x gives an integral result. */
struct node *node_extremum(struct tape *tape, struct node *x, uint32_t dims, bool keepdim,
                           int sign);

/* In a model: `share`, what the elements of x have of the gradient of y, their extremum with its dimensions kept, is open
 * where rounding may exchange the extremum for another element: 0 to 1, or, with `divided`, to the number of these, among
 * which the gradient is divided. */
struct node *node_model_extremum(struct tape *tape, struct node *share, struct node *x,
                                 struct node *y, bool divided);

/* max (sign 1) or min (-1) over dims, detached: a constant for shifts. keepdim shape. */
struct node *node_extremum_detached(struct tape *tape, struct node *x, uint32_t dims, int sign);

#endif
