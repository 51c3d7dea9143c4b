/* Are the last bits of a result those of a rounding? */
#ifndef PROBE_BENCH_OWN_BITS_H
#define PROBE_BENCH_OWN_BITS_H

#include "bench/tape/tape.h"

/* Of a product, a quotient, a function of exact numbers, softmax or its gradient they are, whichever way a kernel computes it; a sum of numbers that
 * cancel has the last bits of its terms. Elements that are moved or multiplied by powers of two keep theirs. The tape fails
 * without memory. */
bool has_own_bits(struct tape *tape, struct node *result);

#endif
