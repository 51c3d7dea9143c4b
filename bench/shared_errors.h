/* How many errors of their own the elements of a result can have. */
#ifndef PROBE_BENCH_SHARED_ERRORS_H
#define PROBE_BENCH_SHARED_ERRORS_H

#include "bench/tape/tape.h"

/* The fewest elements of a step that the result comes from and that is off by more than one rounding (a norm, the means of
 * rows or channels): whatever the number of elements of the result, it shares these errors. At most the result's own number.
 *
 *   tape     of the model of worst errors; fails without memory
 *   result   an output, or a gradient after the walk back
 */
size_t shared_error_count(struct tape *tape, struct node *result);

/* How much of what is expected of them all errors of the result may have in common:
 *
 *   0.3   they come from rounding sums and products of numbers that differ, which go up as often as down
 *   1     so they do but for one function of a library, which may err to one side
 *   0     nothing is known: several functions, constants that are rounded, sums whose terms repeat
 *
 *   tape     of the model of typical errors; fails without memory
 */
double errors_in_common(struct tape *tape, struct node *result);

#endif
