/* Elements that meet at the places of a tensor, reduced there. */
#ifndef PROBE_BENCH_OPS_SCATTERING_H
#define PROBE_BENCH_OPS_SCATTERING_H

#include "bench/call/op.h"

enum scatter_reduction {
    SCATTER_SUM,
    SCATTER_MEAN,
    SCATTER_PROD,
    SCATTER_AMAX,
    SCATTER_AMIN,
    SCATTER_NONE
};

/* x with element i of src reduced into its element map[i]; with `include_self` what is there takes
 * part, otherwise only where nothing comes. */
struct node *scatter_reduced(struct call *call, struct node *x, struct node *src,
                             const int64_t *map, enum scatter_reduction kind, bool include_self);

#endif
