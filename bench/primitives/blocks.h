/* Reductions over several dimensions, as lines. */
#ifndef PROBE_BENCH_PRIMITIVES_BLOCKS_H
#define PROBE_BENCH_PRIMITIVES_BLOCKS_H

#include "bench/primitives/lines.h"
#include "bench/tape/tape.h"

/* How one primitive reduces. Its nodes have one element per line of their input, and the struct lines
 * in `parameters`. */
struct reduction {
    const struct primitive *primitive;
    /* Real lines, by index: into node->value and the bounds. */
    void (*evaluate)(struct tape *tape, struct node *node, const struct node *x,
                     const struct lines *lines);
    /* Integral lines, modulo 2^64. */
    uint64_t neutral;
    uint64_t (*combine)(uint64_t a, uint64_t b);
    bool reads_blocks; /* the elements of input tensors and of deferred nodes are read by blocks */
    /* In a model, or NULL for `evaluate`: lines over dimensions wherever they lie, in the order of those that are left. The
     * node has the rank of x, extents of 1 where it reduces, and no `parameters`: a model encloses nothing. */
    void (*model)(struct tape *tape, struct node *node, struct node *x, uint32_t dims);
};

/* Reduce real or integral x over the dimensions whose bit is set in `dims`. Dimensions that do not lie
 * together are moved to the end first. */
struct node *node_reduce(struct tape *tape, const struct reduction *reduction, struct node *x,
                         uint32_t dims, bool keepdim);

#endif
