/* What operators on boxes share. */
#ifndef PROBE_BENCH_OPS_BOXES_H
#define PROBE_BENCH_OPS_BOXES_H

#include "bench/call/op.h"

/* The corners and extents of boxes in both directions, in shapes that broadcast. */
struct corners {
    struct node *low[2], *high[2], *size[2];
};

/* The larger and the smaller of two, element by element; of equal ones the first. */
struct node *box_larger(struct tape *tape, struct node *a, struct node *b);
struct node *box_smaller(struct tape *tape, struct node *a, struct node *b);

/* The extent that boxes share in direction d, 0 where they do not meet. */
struct node *box_shared(struct tape *tape, const struct corners *a, const struct corners *b, int d);

#endif
