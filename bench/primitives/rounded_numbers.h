/* Numbers of a call where they meet a tensor, in kernels that round them to its dtype first. */
#ifndef PROBE_BENCH_PRIMITIVES_ROUNDED_NUMBERS_H
#define PROBE_BENCH_PRIMITIVES_ROUNDED_NUMBERS_H

#include <stdbool.h>

#include "bench/tape/tape.h"

/* x as it meets `other`: x itself unless it is a number beside a tensor, on a tape with a deviation; then that number rounded as the
 * deviation has it for numbers or, an `exponent` of a step that rounds where functions are composed, for all steps. There is a node of its own whether it is
 * rounded or not, so that steps have the same ids. */
struct node *node_rounded_number(struct tape *tape, struct node *x, const struct node *other,
                                 bool exponent);

/* The number as it was before that; x itself where it is none. */
struct node *node_number_itself(struct node *x);

#endif
