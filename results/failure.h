/* What makes a failure the same failure: the row of the output or gradient, its verdict, and why. */
#ifndef PROBE_RESULTS_FAILURE_H
#define PROBE_RESULTS_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"
#include "results/outcome.h"

enum { FAILURE_KIND_BYTES = 96 };

struct failure {
    const char *row; /* "Torch.matmul.3.forward.output.0" */
    bool backward;
    size_t index; /* of the output or gradient */
    enum verdict verdict;
    enum row_cause cause;
    /* Of a device that failed: how, without places and numbers: "device crashed: SIGSEGV". */
    char kind[FAILURE_KIND_BYTES];
    const char *sentence; /* what is wrong with the row */
};

/* The failure of an outcome: of the row called `wanted`, or, when that is the name of a call, of its worst
 * row. *found is false when there is none. Texts go to `arena`. */
struct status failure_find(struct failure *out, bool *found, struct arena *arena,
                           const struct case_outcome *outcome, const char *wanted);

/* Does the outcome have the same failure? */
bool failure_is_in(const struct failure *failure, const struct case_outcome *outcome);

#endif
