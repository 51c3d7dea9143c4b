/* What a model's tape says of one result. */
#ifndef PROBE_BENCH_MODEL_ERRORS_H
#define PROBE_BENCH_MODEL_ERRORS_H

#include "bench/tape/tape.h"
#include "core/reference.h"

/* The modelled error of each component of a result, before its last rounding when that is to the type
 * the kernel computes in. It is infinite where nothing is known (a step within reach, a divisor that may underflow), and
 * any result will do, infinities and NaN too. NULL
 * for shapes that differ because of data-dependent choices. `most`: errors that none of
 * these may be above, or NULL. `taken`: the node's own array of errors may become that of the
 * result, as nothing else has it or reads it. */
struct status model_errors(double **errors, struct tape *tape, struct node *node,
                           const struct reference *r, const double *most, bool taken,
                           struct arena *arena);

#endif
