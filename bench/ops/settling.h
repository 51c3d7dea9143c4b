/* Positions of values that tie. Any of them is right, so the device's are taken where they lead
 * to the same values as ours; values, later positions and gradients follow from those taken. */
#ifndef PROBE_BENCH_OPS_SETTLING_H
#define PROBE_BENCH_OPS_SETTLING_H

#include "bench/call/op.h"

/* `own` holds positions along dim of x (x's shape but along dim); the device's are its flat output
 * `output`, an integer tensor of that shape.
 *
 *   settled_positions         one position by itself, of a maximum, say
 *   settled_order             several of a line, of which none may be named twice
 *   settled_prefix_positions  own has x's shape, and no position lies ahead of its element */
struct node *settled_positions(struct call *call, size_t output, struct node *x, int dim,
                               struct node *own);
struct node *settled_order(struct call *call, size_t output, struct node *x, int dim,
                           struct node *own);
struct node *settled_prefix_positions(struct call *call, size_t output, struct node *x, int dim,
                                      struct node *own);

/* The steps of settled_order, for positions that an output does not hold as they are: do `theirs`
 * lead to the values that `own` leads to, and are they distinct within each line? */
bool positions_tie(const struct node *x, int dim, const struct node *own,
                   const struct node *theirs);
bool positions_are_distinct(struct tape *tape, const struct node *positions, int dim,
                            size_t extent);

#endif
