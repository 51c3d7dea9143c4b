/* Blocks (outer, extent, inner): what is reduced in the middle, so that outer * inner lines with a
 * step of `inner` are left. */
#include "bench/primitives/blocks.h"

#include <string.h>

#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

enum { LARGE = 1 << 15 }; /* elements: beyond the cache of a core */

/* Do the reduced dimensions lie together, extents of 1 apart? *first is the first of them above 1,
 * or -1. */
static bool lie_together(int *first, const struct node *x, uint32_t dims)
{
    int last = -1;
    *first = -1;
    for (int d = 0; d < x->rank; d++) {
        if (x->shape[d] == 1 || !(dims >> d & 1)) continue;
        if (*first < 0) *first = d;
        last = d;
    }
    for (int d = *first; d >= 0 && d <= last; d++)
        if (x->shape[d] != 1 && !(dims >> d & 1)) return false;
    return true;
}

/* x with the reduced dimensions at its end. */
static struct node *reduced_last(struct tape *tape, struct node *x, uint32_t dims)
{
    int order[TENSOR_MAX_RANK], at = 0;
    for (int d = 0; d < x->rank; d++)
        if (!(dims >> d & 1)) order[at++] = d;
    for (int d = 0; d < x->rank; d++)
        if (dims >> d & 1) order[at++] = d;
    return node_permute(tape, x, order);
}

/* The lines over `dims`, which lie together from dimension `first` on. */
static struct lines lines_over(const struct node *x, uint32_t dims, int first)
{
    size_t outer = 1, extent = 1, inner = 1;
    for (int d = 0; d < x->rank; d++)
        *(dims >> d & 1            ? &extent
          : first < 0 || d < first ? &outer
                                   : &inner) *= (size_t)x->shape[d];
    return (struct lines){ outer * inner, extent, inner };
}

static struct node *reduce_integers(struct tape *tape, const struct reduction *reduction,
                                    const struct node *x, const struct lines *lines,
                                    const int64_t *shape)
{
    struct node *node = node_new_integer(tape, DT_I64, x->rank, shape);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t line = 0; line < node->n; line++) {
        uint64_t total = reduction->neutral;
        for (size_t k = 0; k < lines->extent; k++)
            total = reduction->combine(total, (uint64_t)x->integer[line_element(lines, line, k)]);
        node->integer[line] = (int64_t)total;
    }
    return node;
}

/* Would reading the elements as a whole take memory that reading them by blocks does not? */
static bool reads_unread(const struct node *x)
{
    return node_is_deferred(x) || (x->source && !x->value && x->n >= LARGE);
}

_Static_assert(TENSOR_MAX_RANK < 32, "dimensions are bits of a mask");

/* No copy is made of what does not lie together. */
static struct node *reduce_in_place(struct tape *tape, const struct reduction *reduction,
                                    struct node *x, uint32_t dims, const int64_t *shape)
{
    struct node *node =
        node_new_reader(tape, reduction->primitive, x->dtype, x->rank, shape, 1, &x, NULL);
    if (!tape_failed(tape)) reduction->model(tape, node, x, dims);
    return node;
}

struct node *node_reduce(struct tape *tape, const struct reduction *reduction, struct node *x,
                         uint32_t dims, bool keepdim)
{
    int64_t shape[TENSOR_MAX_RANK], block_shape[TENSOR_MAX_RANK];
    struct lines *lines = tape_allocate(tape, 1, sizeof *lines);
    int first, rank = x->rank;

    if (!lines) return tape_failure(tape);
    dims &= (1u << rank) - 1;
    for (int d = 0; d < rank; d++) block_shape[d] = shape[d] = dims >> d & 1 ? 1 : x->shape[d];
    if (tape_is_model(tape) && reduction->model && !x->integer) {
        struct node *node = reduce_in_place(tape, reduction, x, dims, shape);
        return keepdim ? node : node_squeeze(tape, node, dims);
    }
    struct node *blocks = x;
    uint32_t reduced = dims;
    if (!lie_together(&first, x, dims)) {
        int kept = rank - __builtin_popcount(dims);
        blocks = reduced_last(tape, x, dims);
        if (tape_failed(tape)) return tape_failure(tape);
        reduced = (1u << rank) - (1u << kept);
        first = kept;
        for (int d = 0; d < rank; d++) block_shape[d] = d < kept ? blocks->shape[d] : 1;
    }
    *lines = lines_over(blocks, reduced, first);
    if (x->integer) {
        struct node *node = reduce_integers(tape, reduction, blocks, lines, shape);
        return keepdim ? node : node_squeeze(tape, node, dims);
    }
    bool as_stored = reduction->reads_blocks && tape->arithmetic == BENCH_REFERENCE &&
                     lines->step == 1 && blocks->source;
    bool as_made = reduction->reads_blocks && tape->defers && reads_unread(blocks);
    if (!as_stored && !as_made) (void)node_values(tape, blocks);
    struct node *node =
        node_new_reader(tape, reduction->primitive, x->dtype, rank, block_shape, 1, &blocks, lines);
    if (tape_failed(tape)) return tape_failure(tape);
    reduction->evaluate(tape, node, blocks, lines);
    node = node_reshape(tape, node, rank, shape);
    return keepdim ? node : node_squeeze(tape, node, dims);
}
