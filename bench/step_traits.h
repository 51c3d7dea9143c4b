/* What kinds of step there are among the nodes of a tape, for those who ask what a kernel's errors may have in common. */
#ifndef PROBE_BENCH_STEP_TRAITS_H
#define PROBE_BENCH_STEP_TRAITS_H

#include "bench/tape/tape.h"

/* STEP_INDEPENDENT: it moves, adds, or multiplies and adds; roundings of its elements have nothing in common. */
enum step_trait {
    STEP_MAPS = 1, /* element by element, broadcast ones included */
    STEP_INDEPENDENT = 2,
    STEP_PRODUCT = 4,   /* multiplies and adds */
    STEP_SUM = 8,       /* adds up functions of elements, whatever else it does with them */
    STEP_FUNCTION = 16, /* is one with a name, with which its parameters open */
};

/* The traits of the node's primitive, 0 for a leaf. */
unsigned step_traits(const struct node *node);

#endif
