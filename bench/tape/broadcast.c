/* Shapes broadcast, and the walk over rows: dimensions are merged where all operands step alike. */
#include "bench/tape/broadcast.h"

#include <string.h>

bool shape_broadcast(int *rank, int64_t *shape, int rank_a, const int64_t *a, int rank_b,
                     const int64_t *b)
{
    int out = rank_a > rank_b ? rank_a : rank_b;
    int64_t result[TENSOR_MAX_RANK];

    for (int i = 0; i < out; i++) {
        int64_t x = i < rank_a ? a[rank_a - 1 - i] : 1, y = i < rank_b ? b[rank_b - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) return false;
        result[out - 1 - i] = x == 1 ? y : x;
    }
    memcpy(shape, result, (size_t)out * sizeof *shape);
    *rank = out;
    return true;
}

void shape_strides(int64_t *stride, int rank, const int64_t *shape)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
}

bool walk_open(struct walk *walk, struct tape *tape, int operands, struct node *const *nodes,
               int *rank, int64_t *shape)
{
    *rank = 0;
    for (int k = 0; k < operands; k++) {
        if (!shape_broadcast(rank, shape, *rank, shape, nodes[k]->rank, nodes[k]->shape)) {
            char a[128], b[128];
            shape_format(a, sizeof a, *rank, shape);
            shape_format(b, sizeof b, nodes[k]->rank, nodes[k]->shape);
            tape_fail(tape, STATUS_SKIP, "shapes %s and %s do not broadcast", a, b);
            return false;
        }
    }
    walk_over(walk, operands, nodes, *rank, shape);
    return true;
}

void walk_over(struct walk *walk, int operands, struct node *const *nodes, int rank,
               const int64_t *shape)
{
    walk->operands = operands;
    walk->rank = 0;
    for (int d = 0; d < rank; d++) {
        if (shape[d] == 1) continue;
        int64_t stride[BROADCAST_OPERANDS];
        for (int k = 0; k < operands; k++) {
            int own = d - (rank - nodes[k]->rank);
            stride[k] = 0;
            if (own >= 0 && nodes[k]->shape[own] != 1) {
                stride[k] = 1;
                for (int e = own + 1; e < nodes[k]->rank; e++) stride[k] *= nodes[k]->shape[e];
            }
        }
        bool merge = walk->rank > 0;
        for (int k = 0; k < operands && merge; k++)
            merge = walk->stride[k][walk->rank - 1] == stride[k] * shape[d];
        int at = merge ? walk->rank - 1 : walk->rank++;
        walk->shape[at] = merge ? walk->shape[at] * shape[d] : shape[d];
        for (int k = 0; k < operands; k++) walk->stride[k][at] = stride[k];
    }
}

void walk_part(const struct walk *walk, size_t start, size_t end, row_function *row, void *context)
{
    size_t offset[BROADCAST_OPERANDS] = { 0 };
    int64_t step[BROADCAST_OPERANDS] = { 0 }, index[TENSOR_MAX_RANK + 1] = { 0 };

    if (start >= end) return;
    int outer = walk->rank - 1;
    size_t length = outer >= 0 ? (size_t)walk->shape[outer] : 1, skipped = start % length;
    size_t rest = start / length;
    for (int k = 0; k < walk->operands && outer >= 0; k++) step[k] = walk->stride[k][outer];
    for (int d = outer - 1; d >= 0; d--) { /* where the first row lies */
        const size_t extent = (size_t)walk->shape[d];
        index[d] = (int64_t)(rest % extent);
        rest /= extent;
        for (int k = 0; k < walk->operands; k++)
            offset[k] += (size_t)(walk->stride[k][d] * index[d]);
    }
    for (size_t out = start; out < end;) {
        size_t at[BROADCAST_OPERANDS] = { 0 }, count = length - skipped;
        if (count > end - out) count = end - out;
        for (int k = 0; k < walk->operands; k++) at[k] = offset[k] + skipped * (size_t)step[k];
        row(context, out, count, at, step);
        out += count;
        skipped = 0;
        for (int d = outer - 1; d >= 0; d--) {
            for (int k = 0; k < walk->operands; k++) offset[k] += (size_t)walk->stride[k][d];
            if (++index[d] < walk->shape[d]) break;
            for (int k = 0; k < walk->operands; k++)
                offset[k] -= (size_t)(walk->stride[k][d] * walk->shape[d]);
            index[d] = 0;
        }
    }
}

void walk_rows(const struct walk *walk, size_t n, row_function *row, void *context)
{
    walk_part(walk, 0, n, row, context);
}

size_t broadcast_offset(const struct node *out, const struct node *operand, size_t i)
{
    if (operand->n == out->n) return i;
    size_t offset = 0, scale = 1;
    for (int d = out->rank - 1, own = operand->rank - 1; own >= 0; d--, own--) {
        size_t index = i % (size_t)out->shape[d];
        i /= (size_t)out->shape[d];
        if (operand->shape[own] != 1) offset += index * scale;
        scale *= (size_t)operand->shape[own];
    }
    return offset;
}
