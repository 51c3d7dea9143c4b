/* Halves and neighbouring pairs of a dimension, which gates and rotary embeddings work on. */
#ifndef PROBE_BENCH_OPS_NPU_HALVES_H
#define PROBE_BENCH_OPS_NPU_HALVES_H

#include "bench/call/op.h"

/* The halves of x along dim; false, having failed, when its extent is odd. */
bool halves(struct call *call, struct node *x, int dim, struct node **first, struct node **second);

/* cosine x + sine turn(x); turn gives [-b, a] of the halves a and b of the last dimension, or of its neighbouring
 * pairs. cosine and sine broadcast to x. */
struct node *rotated(struct call *call, struct node *x, struct node *cosine, struct node *sine,
                     bool pairs);

/* The last dimension with its neighbouring pairs as halves: all first ones, then all second ones. */
struct node *pairs_to_halves(struct call *call, struct node *x);

/* The last dimension twice as long: as two equal halves, or each element twice. */
struct node *doubled(struct tape *tape, struct node *x, bool pairs);

#endif
