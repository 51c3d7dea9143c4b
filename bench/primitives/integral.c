/* Integral results: comparisons, predicates and integer arithmetic, element by element. */
#include "bench/primitives/integral.h"

#include <math.h>

#include "bench/primitives/casts.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/decisions.h"

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
    if (tape_failed(tape)) return tape_failure(tape);
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
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < node->n; i++) node->integer[i] = f(a->integer[i]);
    wrap_integers(node);
    return node;
}

struct node *node_predicate(struct tape *tape, bool (*f)(double x), struct node *x)
{
    const double *value = node_values(tape, x);
    struct node *node = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < node->n; i++) node->integer[i] = f(value[i]);
    return node;
}
