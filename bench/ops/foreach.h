/* Operators on lists: _foreach_f applies f to the items of its lists. */
#ifndef PROBE_BENCH_OPS_FOREACH_H
#define PROBE_BENCH_OPS_FOREACH_H

#include "bench/call/op.h"

/* Run `function` for every item of the call's first argument: the lists of the call, which are all as
 * long, give an item each, other arguments stay. The results follow one another. */
void call_for_each(struct call *call, void (*function)(struct call *call));

/* Does the call return what it computes? A form that writes into its arguments may have been recorded with
 * nothing: false then, after a failure that says so. */
bool call_returns_lists(struct call *call);

#endif
