/* What can be taken away from a call. Each reduction tries its simplifications in a fixed order on the best
 * call and sets *changed when it was replaced; none makes a call larger or less plain, so that repeating
 * them comes to an end. */
#ifndef PROBE_SHRINK_REDUCTIONS_H
#define PROBE_SHRINK_REDUCTIONS_H

#include "shrink/search.h"

/* The backward when a forward row fails, keyword arguments, trailing and optional ones, items of lists;
 * then numbers: 0 is simpler than 1, and 1 than any other. */
struct status reduce_arguments(bool *changed, struct search *search);

/* All floating tensors to float32, the dtype that everybody can read. */
struct status reduce_dtypes(bool *changed, struct search *search);

/* Every axis (variation/axes.h) to the smallest extent that fails: 1, 2, 4, ... and then by bisection. */
struct status reduce_dimensions(bool *changed, struct search *search);

/* Elements: whole tensors to zeros, ones or one value; as many elements as possible to zero, or one; the others to
 * signs, powers of two, integers or fewer digits. */
struct status reduce_values(bool *changed, struct search *search);

#endif
