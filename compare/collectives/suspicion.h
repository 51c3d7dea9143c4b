/* What a reduction that came out wrong looks like: a rank left out or counted twice, a sum that should be an
 * average, a lower precision on the way.
 */
#ifndef PROBE_COMPARE_COLLECTIVES_SUSPICION_H
#define PROBE_COMPARE_COLLECTIVES_SUSPICION_H

#include <stdint.h>

#include "compare/collectives/reduction.h"

/* A wrong reduction. */
struct suspect {
    enum reduction reduction;
    enum dtype dtype;
    const struct piece *given; /* of each rank */
    const int64_t *members;    /* their numbers */
    size_t ranks, self;        /* self: whose result it is, an index */
    const struct piece *got;
    const struct reduction_error *error;
};

enum { SUSPICION_BYTES = 128 };

/* The simple mistake that explains the elements around the worst one: "as if rank 2 were left out".
 *
 *   out      set when there is one; otherwise untouched
 *   returns  whether there is one
 */
bool suspicion_find(char out[SUSPICION_BYTES], const struct suspect *suspect);

#endif
