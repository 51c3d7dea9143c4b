/* References over nodes whose elements are made for them alone: of deferred nodes (tape_defer). What is certified at once
 * keeps no array of bounds: they are looked at while they are in cache, and one for the tensor stands for them.
 */
#ifndef PROBE_BENCH_MADE_REFERENCE_H
#define PROBE_BENCH_MADE_REFERENCE_H

#include "bench/tape/tape.h"
#include "core/reference.h"

/* May the bounds of the node become one? They must be an array's, and those of a dtype that doubles certify. */
bool made_reference_is_for(const struct node *node, enum dtype dtype);

/* Give `r` the elements of the node, bounds and state. A few that are not certified at first are recomputed.
 *
 *   r        of n elements, without arrays
 *   node     node_is_unread; it stays as it is, and keeps the elements in `kept`
 *   most     elements that may be recomputed, and element evaluations that this may take
 *   *judged  false: so many are not certified that none was recomputed, `r` has an array of bounds and no state yet
 */
struct status made_reference(struct reference *r, bool *judged, struct tape *tape,
                             struct node *node, struct arena *arena, size_t most);

#endif
