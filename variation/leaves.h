/* The parts of a call that are no lists, by number: args, then kwargs, depth-first, so that a number
 * means the same in a copy of the call. */
#ifndef PROBE_VARIATION_LEAVES_H
#define PROBE_VARIATION_LEAVES_H

#include <stddef.h>

#include "core/case.h"

enum leaf_kind {
    LEAF_ARGUMENT, /* tensors */
    LEAF_TENSOR,   /* the same, and then the cotangents */
    LEAF_INTEGER,
    LEAF_NUMBER /* bools, integers and floats */
};

/* Leaf k of a kind, NULL behind the last. Parts of slices are none. */
struct value *leaf_find(const struct api_case *c, enum leaf_kind kind, size_t k);

#endif
