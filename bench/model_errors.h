/* What a model's tape says of one result. */
#ifndef PROBE_BENCH_MODEL_ERRORS_H
#define PROBE_BENCH_MODEL_ERRORS_H

#include "bench/tape/tape.h"
#include "core/reference.h"

/* The modelled error of each component of a result, before its last rounding when that is to the type
 * the kernel computes in. Where nothing is known (a step within reach, say) any value will do. NULL
 * for shapes that differ because of data-dependent choices. */
struct status model_errors(double **errors, struct tape *tape, struct node *node,
                           const struct reference *r, struct arena *arena);

#endif
