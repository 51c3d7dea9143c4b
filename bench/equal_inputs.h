/* Which elements of a result are made of the same numbers. */
#ifndef PROBE_BENCH_EQUAL_INPUTS_H
#define PROBE_BENCH_EQUAL_INPUTS_H

#include "bench/tape/tape.h"

/* What each element of a result comes from, as a number: equal ones come from equal numbers of the call's tensors, in the same
 * places of the same formula, so that a kernel that maps elements one by one gives them equal results.
 *
 *   tape     of a model or the reference; fails without memory
 *   result   an output, or a gradient after the walk back
 *   returns  n numbers, the tape's; NULL where elements come from several elements of a tensor (sums, products of
 *            matrices), where there are many different ones, few elements or more than a thread of a kernel takes
 */
uint64_t *equal_inputs(struct tape *tape, struct node *result);

#endif
