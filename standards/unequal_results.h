/* Elements that are made of the same numbers and differ.
 *
 * A kernel that maps elements one by one is the same function everywhere, but where vectors leave elements over: these may go through
 * another one. They lie at the end of a run of elements that are next to each other in memory, a row, a matrix or the whole.
 */
#ifndef PROBE_STANDARDS_UNEQUAL_RESULTS_H
#define PROBE_STANDARDS_UNEQUAL_RESULTS_H

#include "core/arena.h"
#include "core/reference.h"
#include "core/status.h"
#include "core/tensor.h"

struct unequal_results {
    size_t count,
        index; /* elements that differ by more than a unit from the most usual result of theirs, and the worst */
    double units, usual; /* by how many units in the last place it differs from what is usual */
};

/* Which vectors of 2, 4, ... 64 elements would leave element i over, at the end of a run: bit k for 2^(k + 1). Elements that the same ones leave
 * over go through the same code. */
unsigned left_over_by(int rank, const int64_t *shape, size_t i);

/* All zeros where want->kernel_inputs is NULL. `got`: dense. STATUS_NO_MEMORY. */
struct status unequal_results_find(struct unequal_results *out, struct arena *arena,
                                   const struct tensor *got, const struct reference *want);

#endif
