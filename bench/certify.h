/* References over nodes: certified as far as a budget goes, and refined on demand. */
#ifndef PROBE_BENCH_CERTIFY_H
#define PROBE_BENCH_CERTIFY_H

#include "bench/tape/tape.h"
#include "core/reference.h"

/* The reference that a node of BENCH_REFERENCE stands for, tested in `dtype`; complex components
 * are interleaved. What the bounds do not certify is recomputed right away within a budget; the
 * state says what is left, and `refine` of the reference recomputes more of it.
 *
 *   is_last  nothing will be computed of the node: where nothing was, elements of less than double precision are
 *            recomputed in place
 */
struct status reference_over(struct reference *out, struct tape *tape, struct node *node,
                             enum dtype dtype, struct arena *arena, bool is_last);

/* Nobody looks at the values of the reference any more: give back the arrays that only it has. */
void reference_forget(struct reference *reference);

#endif
