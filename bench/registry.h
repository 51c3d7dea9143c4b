/* The registry: which row computes an API, under any of its spellings. */
#ifndef PROBE_BENCH_REGISTRY_H
#define PROBE_BENCH_REGISTRY_H

#include "bench/op_index.h"

/* The row for an API: its own, or the base row of an in-place, dunder or reflected name. NULL
 * when the catalogue has none. `type` is the dump's, which picks the group. Rows that share a name
 * follow one another: call with the previous row to get the next, NULL to start. */
struct op_match {
    const struct op *op;
    bool in_place, reflected;
};
bool op_find(struct op_match *match, const char *type, const char *api, const struct op *after);

/* Group bit of a type of the dump; 0 when nothing of that type can be run. */
unsigned op_group(const char *type);

#endif
