/* Selection, comparison and integers, element by element. */
#include <math.h>
#include <string.h>

#include "bench/tape/broadcast.h"
#include "bench/tape/decisions.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/tape.h"

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

static void select_enclosure(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
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

static const struct primitive select_primitive = { "a selection", select_backward, select_enclosure,
                                                   select_pair };

struct select_context {
    const struct node *mask, *a, *b;
    struct node *out;
};

static void select_row(void *context, size_t out, size_t count, const size_t *offset,
                       const int64_t *step)
{
    const struct select_context *c = context;
    for (size_t i = 0; i < count; i++) {
        bool first = c->mask->integer[offset[0] + (step[0] ? i : 0)] != 0;
        const struct node *from = first ? c->a : c->b;
        size_t at = offset[first ? 1 : 2] + (step[first ? 1 : 2] ? i : 0);
        if (c->out->integer) {
            c->out->integer[out + i] = from->integer[at];
            continue;
        }
        c->out->value[out + i] = from->value[at];
        if (c->out->error) c->out->error[out + i] = node_error(from, at);
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
    if (tape_failed(tape)) return node;
    struct select_context context = { mask, operands[1], operands[2], node };
    walk_rows(&walk, node->n, select_row, &context);
    return node;
}

/* ---- integral results ----------------------------------------------------------------------- */

struct integer_context {
    struct node *a, *b;
    struct node *out;
    int64_t (*f)(int64_t, int64_t);
    enum comparison comparison;
    bool decides; /* operands carry bounds: what they leave open is decided by balls */
};

/* Wrap to the width of a narrower integer type; bool is 0 or 1. */
static void wrap_integers(struct node *node)
{
    enum dtype dtype = node->dtype;
    if (dtype == DT_BOOL) {
        for (size_t i = 0; i < node->n; i++) node->integer[i] = node->integer[i] != 0;
    } else if (dtype != DT_NONE && dtype_info(dtype)->bytes < 8) {
        for (size_t i = 0; i < node->n; i++) {
            unsigned char narrow[8];
            dtype_from_int64(narrow, dtype, &node->integer[i], 1);
            dtype_to_int64(&node->integer[i], narrow, dtype, 1);
        }
    }
}

static void integer_row(void *context, size_t out, size_t count, const size_t *offset,
                        const int64_t *step)
{
    const struct integer_context *c = context;
    for (size_t i = 0; i < count; i++)
        c->out->integer[out + i] = c->f(c->a->integer[offset[0] + (step[0] ? i : 0)],
                                        c->b->integer[offset[1] + (step[1] ? i : 0)]);
}

static bool compare(enum comparison comparison, int order, bool unordered)
{
    if (unordered) return comparison == COMPARE_NE;
    switch (comparison) {
    case COMPARE_LT: return order < 0;
    case COMPARE_LE: return order <= 0;
    case COMPARE_GT: return order > 0;
    case COMPARE_GE: return order >= 0;
    case COMPARE_EQ: return order == 0;
    default: return order != 0;
    }
}

static void compare_row(void *context, size_t out, size_t count, const size_t *offset,
                        const int64_t *step)
{
    const struct integer_context *c = context;
    for (size_t i = 0; i < count; i++) {
        size_t ia = offset[0] + (step[0] ? i : 0), ib = offset[1] + (step[1] ? i : 0);
        int order;
        bool unordered = false;
        if (c->a->integer && c->b->integer) {
            int64_t x = c->a->integer[ia], y = c->b->integer[ib];
            order = (x > y) - (x < y);
        } else {
            double x = c->a->value[ia], y = c->b->value[ib];
            order = c->decides ? decide_order(c->a, ia, c->b, ib) : (x > y) - (x < y);
            unordered = isnan(x) || isnan(y);
        }
        c->out->integer[out + i] = compare(c->comparison, order, unordered);
    }
}

static struct node *integral_walk(struct tape *tape, enum dtype dtype, struct node *a,
                                  struct node *b, row_function *row,
                                  struct integer_context *context)
{
    struct node *operands[2] = { a, b };
    int64_t shape[TENSOR_MAX_RANK];
    int rank;
    struct walk walk;

    if (tape_failed(tape) || !walk_open(&walk, tape, 2, operands, &rank, shape))
        return node_integer_constant(tape, DT_I64, 0, 0, NULL);
    struct node *node = node_new_integer(tape, dtype, rank, shape);
    if (tape_failed(tape)) return node;
    context->a = a;
    context->b = b;
    context->out = node;
    walk_rows(&walk, node->n, row, context);
    wrap_integers(node);
    return node;
}

struct node *node_compare(struct tape *tape, enum comparison comparison, struct node *a,
                          struct node *b)
{
    struct integer_context context = { .comparison = comparison };
    context.decides = tape->arithmetic == BENCH_REFERENCE &&
                      !(node_is_exact(a) && node_is_exact(b));
    (void)node_values(tape, a);
    (void)node_values(tape, b);
    return integral_walk(tape, DT_BOOL, a, b, compare_row, &context);
}

struct node *node_integer_binary(struct tape *tape, enum dtype dtype,
                                 int64_t (*f)(int64_t a, int64_t b), struct node *a, struct node *b)
{
    struct integer_context context = { .f = f };
    if (!a->integer) a = node_to_integer(tape, a, DT_I64);
    if (!b->integer) b = node_to_integer(tape, b, DT_I64);
    return integral_walk(tape, dtype, a, b, integer_row, &context);
}

struct node *node_integer_unary(struct tape *tape, enum dtype dtype, int64_t (*f)(int64_t a),
                                struct node *a)
{
    if (!a->integer) a = node_to_integer(tape, a, DT_I64);
    struct node *node = node_new_integer(tape, dtype, a->rank, a->shape);
    if (tape_failed(tape)) return node;
    for (size_t i = 0; i < node->n; i++) node->integer[i] = f(a->integer[i]);
    wrap_integers(node);
    return node;
}

struct node *node_predicate(struct tape *tape, bool (*f)(double x), struct node *x)
{
    const double *value = node_values(tape, x);
    struct node *node = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    if (tape_failed(tape)) return node;
    for (size_t i = 0; i < node->n; i++) node->integer[i] = f(value[i]);
    return node;
}
