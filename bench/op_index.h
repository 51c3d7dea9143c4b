/* The rows of all family tables by name. */
#ifndef PROBE_BENCH_OP_INDEX_H
#define PROBE_BENCH_OP_INDEX_H

#include "bench/call/op.h"

/* The next row, in the order of the tables, that has this name in one of the groups: the first one when
 * `after` is NULL, else the first behind that row, which has the name too. NULL: there is none.
 * Safe from any thread. */
const struct op *op_index_next(unsigned groups, const char *name, size_t length,
                               const struct op *after);

/* Is a name of `length` bytes one of the '|'-separated alternatives? */
bool op_name_matches(const char *alternatives, const char *name, size_t length);

/* Row i of all tables in order, NULL past the last. */
const struct op *op_row(size_t i);

/* The family table that a row stands in: "shape", "matmul", ... */
const char *op_family(const struct op *op);

#endif
