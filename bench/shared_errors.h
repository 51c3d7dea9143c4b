/* How many errors of their own the elements of a result can have. */
#ifndef PROBE_BENCH_SHARED_ERRORS_H
#define PROBE_BENCH_SHARED_ERRORS_H

#include "bench/tape/tape.h"

/* The fewest elements of a step that the result comes from and that is off by more than one rounding (a norm, the means of
 * rows or channels): whatever the number of elements of the result, it shares these errors. At most the result's own number.
 *
 *   tape     of the model of worst errors
 *   result   an output, or a gradient after the walk back
 */
size_t shared_error_count(struct tape *tape, struct node *result, struct arena *arena);

/* Do all errors of the result come from rounding sums and products of numbers that differ? Then they are as often up as down. A function of
 * a library may err to one side, and so does a constant that is rounded, or a sum whose terms repeat. */
bool errors_are_centred(struct tape *tape, struct node *result, struct arena *arena);

#endif
