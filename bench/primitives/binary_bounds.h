/* The form of the bounds of a function of two variables: none, one for all elements, or one for each. */
#ifndef PROBE_BENCH_PRIMITIVES_BINARY_BOUNDS_H
#define PROBE_BENCH_PRIMITIVES_BINARY_BOUNDS_H

#include <stdbool.h>

#include "bench/primitives/binary_elements.h"

/* What the elements of f(a, b) follow from on this tape. NULL after a failure. */
struct binary_context *binary_open(struct tape *tape, const struct binary_function *f,
                                   struct node *const *operands);

/* Choose the form of the bounds of f(a, b): into `node`, or true where each element has its own. */
bool binary_choose_bounds(struct node *node, struct binary_context *c, const struct tape *tape,
                          const struct node *a, const struct node *b);

#endif
