/* Selection, comparison and integers, element by element. */
#include "bench/primitives/selection.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/rounded_numbers.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/promotion.h"
#include "core/vectorize.h"

/* ---- selection ------------------------------------------------------------------------------ */

static void select_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *mask = node->inputs[0];
    struct node *zero = node_scalar(tape, 0);
    for (int k = 1; k < 3; k++) {
        struct node *input = node->inputs[k];
        if (!input->tracked) continue;
        struct node *flow = k == 1 ? node_select(tape, mask, cotangent, zero)
                                   : node_select(tape, mask, zero, cotangent);
        tape_accumulate(tape, input, node_sum_to_shape(tape, flow, input->rank, input->shape));
    }
}

static void select_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    struct node *mask = node->inputs[0];
    struct node *input = node->inputs[mask->integer[broadcast_offset(node, mask, i)] ? 1 : 2];
    enclosure_element(enclosure, ball, input, broadcast_offset(node, input, i));
}

static bool select_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    struct node *mask = node->inputs[0];
    struct node *input = node->inputs[mask->integer[broadcast_offset(node, mask, i)] ? 1 : 2];
    return enclosure_pair(enclosure, out, input, broadcast_offset(node, input, i));
}

static const struct primitive select_primitive = { "a selection", select_backward, select_enclose,
                                                   select_pair };

struct select_context {
    const struct node *mask, *a, *b;
    struct node *out;
};

/* Numbers that are chosen from: n from `from` on, or one. */
struct choice {
    const double *from;
    bool varies;
};

VECTORIZED static void choose(double *out, const int64_t *restrict mask, const struct choice *first,
                              const struct choice *second, size_t n)
{
    const double a = *first->from, b = *second->from;
    const double *as = first->varies ? first->from : out;
    const double *bs = second->varies ? second->from : out;
    const bool a_varies = first->varies, b_varies = second->varies;
    for (size_t i = 0; i < n; i++) {
        double x = a_varies ? as[i] : a, y = b_varies ? bs[i] : b;
        out[i] = mask[i] ? x : y;
    }
}

static void select_integers(const struct select_context *c, size_t out, size_t count,
                            const size_t *offset, const int64_t *step)
{
    for (size_t i = 0; i < count; i++) {
        bool first = c->mask->integer[offset[0] + (step[0] ? i : 0)] != 0;
        size_t at = offset[first ? 1 : 2] + (step[first ? 1 : 2] ? i : 0);
        c->out->integer[out + i] = (first ? c->a : c->b)->integer[at];
    }
}

static void select_row(void *context, size_t out, size_t count, const size_t *offset,
                       const int64_t *step)
{
    const struct select_context *c = context;
    if (c->out->integer) {
        select_integers(c, out, count, offset, step);
        return;
    }
    const struct choice a = { c->a->value + offset[1], step[1] },
                        b = { c->b->value + offset[2], step[2] };
    const int64_t *mask = c->mask->integer + offset[0];
    double *value = c->out->value + out;
    if (step[0]) choose(value, mask, &a, &b, count);
    for (size_t i = 0; !step[0] && i < count; i++) {
        const struct choice *chosen = *mask ? &a : &b;
        value[i] = chosen->from[chosen->varies ? i : 0];
    }
    for (size_t i = 0; c->out->error && i < count; i++) {
        bool first = mask[step[0] ? i : 0] != 0;
        size_t at = offset[first ? 1 : 2] + (step[first ? 1 : 2] ? i : 0);
        c->out->error[out + i] = node_error(first ? c->a : c->b, at);
    }
}

struct node *node_select(struct tape *tape, struct node *mask, struct node *a, struct node *b)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank;
    struct walk walk;

    if (tape_failed(tape)) return node_scalar(tape, 0);
    if (a->imaginary || b->imaginary)
        return node_complex(
            tape, node_select(tape, mask, node_real_part(tape, a), node_real_part(tape, b)),
            node_select(tape, mask, node_imaginary_part(tape, a), node_imaginary_part(tape, b)));
    enum dtype dtype = dtype_promote(a->dtype, b->dtype);
    bool integral = a->integer && b->integer;
    if (!mask->integer) mask = node_to_integer(tape, mask, DT_BOOL);
    struct node *const number = a;
    a = node_rounded_number(tape, a, node_is_number(b) ? mask : b, false);
    b = node_rounded_number(tape, b, node_is_number(number) ? mask : number, false);
    struct node *operands[3] = { mask, integral ? a : node_to_real(tape, a),
                                 integral ? b : node_to_real(tape, b) };
    if (tape_failed(tape) || !walk_open(&walk, tape, 3, operands, &rank, shape))
        return node_scalar(tape, 0);
    struct node *node =
        integral ? node_new_integer(tape, dtype, rank, shape)
                 : node_new(tape, &select_primitive, dtype, rank, shape, 3, operands, NULL);
    if (!integral) {
        (void)node_values(tape, operands[1]);
        (void)node_values(tape, operands[2]);
        if (!node_is_exact(operands[1]) || !node_is_exact(operands[2]))
            (void)node_need_errors(tape, node);
    }
    if (tape_failed(tape)) return tape_failure(tape);
    struct select_context context = { mask, operands[1], operands[2], node };
    walk_rows(&walk, node->n, select_row, &context);
    return node;
}
