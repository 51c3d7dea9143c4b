/* Rows replaced by rows of another value. */
#include "bench/primitives/overwrite.h"

#include <string.h>

#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/gather.h"
#include "bench/tape/enclosure.h"

struct overwrite {
    const int64_t *map;
    size_t row;
    const int64_t *writer; /* the source row that each target row holds in the end, or -1 */
};

/* As PyTorch: every source gets the cotangent of its target, also one that a later source
 * replaced; the targets themselves get none. */
static void overwrite_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct overwrite *o = node->parameters;
    struct node *x = node->inputs[0], *v = node->inputs[1];
    if (x->tracked) {
        struct node *zero = node_constant(tape, DT_NONE, 0, v->rank, v->shape);
        tape_accumulate(tape, x, node_overwrite(tape, cotangent, zero, o->row, o->map, o->writer));
    }
    if (v->tracked)
        tape_accumulate(tape, v,
                        node_gather_rows(tape, cotangent, v->rank, v->shape, o->row, o->map, 0));
}

static void overwrite_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct overwrite *o = node->parameters;
    int64_t writer = o->writer[i / o->row];
    if (writer < 0) enclosure_element(enclosure, ball, node->inputs[0], i);
    else enclosure_element(enclosure, ball, node->inputs[1], (size_t)writer * o->row + i % o->row);
}

static const struct primitive overwrite_primitive = { "overwriting", overwrite_backward,
                                                      overwrite_enclose, NULL };

int64_t *overwrite_writers(struct tape *tape, size_t rows, const int64_t *map, size_t entries)
{
    int64_t *writer = tape_allocate(tape, rows, sizeof *writer);
    if (!writer || !map_fits(tape, map, entries, rows)) return NULL;
    for (size_t j = 0; j < rows; j++) writer[j] = -1;
    for (size_t i = 0; i < entries; i++)
        if (map[i] >= 0) writer[map[i]] = (int64_t)i;
    return writer;
}

struct node *node_overwrite(struct tape *tape, struct node *x, struct node *v, size_t row,
                            const int64_t *map, const int64_t *writer)
{
    if (tape_failed(tape)) return tape_failure(tape);
    if (!row) row = 1;
    size_t rows = x->n / row;
    if (!writer) writer = overwrite_writers(tape, rows, map, v->n / row);
    if (!writer) return tape_failure(tape);
    if (x->imaginary)
        return node_complex(tape,
                            node_overwrite(tape, node_real_part(tape, x), node_real_part(tape, v),
                                           row, map, writer),
                            node_overwrite(tape, node_imaginary_part(tape, x),
                                           node_imaginary_part(tape, v), row, map, writer));
    v = x->integer ? v->integer ? v : node_to_integer(tape, v, x->dtype) : node_to_real(tape, v);
    if (!x->integer) {
        (void)node_values(tape, x);
        (void)node_values(tape, v);
    }
    struct overwrite *o = tape_allocate(tape, 1, sizeof *o);
    if (!o) return tape_failure(tape);
    *o = (struct overwrite){ map, row, writer };
    struct node *inputs[2] = { x, v };
    struct node *node = x->integer ? node_new_integer(tape, x->dtype, x->rank, x->shape)
                                   : node_new(tape, &overwrite_primitive, x->dtype, x->rank,
                                              x->shape, 2, inputs, o);
    if (!x->integer && (!node_is_exact(x) || !node_is_exact(v))) (void)node_need_errors(tape, node);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t j = 0; j < rows; j++) {
        const struct node *from = writer[j] < 0 ? x : v;
        size_t at = (writer[j] < 0 ? j : (size_t)writer[j]) * row, to = j * row;
        if (x->integer) memcpy(node->integer + to, from->integer + at, row * sizeof *x->integer);
        else memcpy(node->value + to, from->value + at, row * sizeof *x->value);
        for (size_t k = 0; node->error && k < row; k++)
            node->error[to + k] = node_error(from, at + k);
    }
    return node;
}
