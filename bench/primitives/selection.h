/* One of two values, element by element. */
#ifndef PROBE_BENCH_PRIMITIVES_SELECTION_H
#define PROBE_BENCH_PRIMITIVES_SELECTION_H

#include "bench/tape/tape.h"

/* mask ? a : b, all three broadcast; a and b real (complex allowed) or both integral. */
struct node *node_select(struct tape *tape, struct node *mask, struct node *a, struct node *b);

#endif
