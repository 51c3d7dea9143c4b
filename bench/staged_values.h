/* What a kernel that rounds to its dtype between its steps returns, if nothing else goes wrong. */
#ifndef PROBE_BENCH_STAGED_VALUES_H
#define PROBE_BENCH_STAGED_VALUES_H

#include "bench/what_if.h"
#include "core/reference.h"

/* The values before the last rounding, every step before it rounded to r->dtype (sums in double); with `numbers` the
 * numbers of the call, too, as frameworks that make tensors of them do. *values is NULL when that cannot be had. */
struct status staged_values(double **values, const struct bench *bench, struct what_result result,
                            const struct reference *r, bool numbers, struct arena *arena);

#endif
