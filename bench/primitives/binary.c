/* Functions of two variables, element by element: the step, its gradient, and what encloses an element. Its elements and their bounds
 * are made in binary_elements.c, in the form that binary_bounds.c chooses. */
#include "bench/primitives/binary.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/pair.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary_bounds.h"
#include "bench/primitives/binary_elements.h"
#include "bench/primitives/binary_functions.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/rounded_numbers.h"
#include "bench/primitives/unary_functions.h"
#include "bench/tape/bounds.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/known_values.h"
#include "bench/tape/promotion.h"
#include "core/checked.h"

/* The bounds of x, 0 where nothing is known. */
static void read_errors(double *out, const struct node *x)
{
    double values[BINARY_BLOCK], bounds[BINARY_BLOCK];
    for (size_t i = 0; i < x->n; i += BINARY_BLOCK) {
        size_t count = x->n - i < BINARY_BLOCK ? x->n - i : BINARY_BLOCK;
        const double *error;
        (void)node_bounded_block(&error, x, i, count, values, bounds);
        for (size_t k = 0; k < count; k++) out[i + k] = error[k] < INFINITY ? error[k] : 0;
    }
}

/* Elements of a computed factor may share their error (that of a mean, say), which does not cancel in a sum of
 * their products with a cotangent. Besides the errors as independent ones, a sum in the model of typical errors
 * gets |sum c_k e_k|, what they make together when all have one sign. */
static struct node *with_shared_errors(struct tape *tape, struct node *sum, struct node *cotangent,
                                       struct node *factor)
{
    if (!tape_is_typical(tape) || tape_failed(tape) || node_is_exact(factor)) return sum;
    struct node *error = node_new_real(tape, DT_NONE, factor->rank, factor->shape);
    if (!tape_failed(tape)) read_errors(error->value, factor);
    struct node *together = node_sum_sizes_to_shape(
        tape, node_multiply(tape, node_detach(tape, cotangent), error), sum->rank, sum->shape);
    return node_model_error(tape, sum, together, 4 / tape->unit);
}

static const struct primitive binary_primitive;

static bool is_reciprocal(const struct node *node)
{
    return node->primitive && node->parameters == unary_find("reciprocal");
}

/* c p q of a slope p q, c p / q of p / q, and c / q of 1 / q. */
static struct node *factor_by_factor(struct tape *tape, struct node *c, struct node *slope)
{
    char operation = slope->primitive == &binary_primitive ? binary_operation(slope->parameters)
                                                           : 0;
    if (is_reciprocal(slope)) return node_divide(tape, c, slope->inputs[0]);
    if (operation != '*' && operation != '/') return node_multiply(tape, c, slope);
    struct node *first = factor_by_factor(tape, c, slope->inputs[0]);
    return operation == '*' ? node_multiply(tape, first, slope->inputs[1])
                            : node_divide(tape, first, slope->inputs[1]);
}

static struct node *evaluate_binary(struct tape *tape, const struct binary_function *f,
                                    struct node *a, struct node *b, double lost);

/* A product by a slope loses what underflows in the slope, which a kernel may make of two factors. Squares of such losses do not
 * underflow themselves in models of float32. */
static bool loses_as_it_is_made(const struct tape *tape, const struct node *c,
                                const struct node *slope)
{
    return tape_is_model(tape) && tape->stage == 0 && !tape->modes && c->n == slope->n &&
           !c->imaginary && !slope->imaginary && !(tape->wide && tape_is_typical(tape));
}

static struct node *multiply_with_loss(struct tape *tape, struct node *c, struct node *slope,
                                       double roundings)
{
    double share = tape_is_typical(tape) ? 0.25 : 1;
    struct node *node =
        evaluate_binary(tape, binary_find("multiply"), c, slope, share * roundings * tape->unit);
    model_overflows(tape, node, true);
    return node;
}

struct node *node_multiply_slope(struct tape *tape, struct node *c, struct node *slope)
{
    if (tape->deviation && tape->deviation->other_formulas) return factor_by_factor(tape, c, slope);
    double roundings = 2 * tape->tiny / tape->unit;
    if (loses_as_it_is_made(tape, c, slope)) {
        struct node *made = multiply_with_loss(tape, c, slope, roundings);
        if (made->deferral && made->deferral->bounded) return made;
        return node_model_own_error(tape, made, slope, roundings);
    }
    struct node *flow = node_multiply(tape, c, slope);
    char operation = node_operation(slope);
    bool of_two = operation == '*' || operation == '/';
    if (of_two && tape_is_model(tape) &&
        tape->stage > 0) /* the product of c and one may overflow */
        flow = node_as_steps(tape, flow, factor_by_factor(tape, c, slope), "multiply");
    return flow->n == slope->n && tape_is_model(tape)
               ? node_model_own_error(tape, flow, slope, roundings)
               : flow;
}

/* What goes to operand k by its slope, or as kernels of staged steps compose it. */
static struct node *flow_to(struct tape *tape, struct node *node, int k, struct node *cotangent,
                            struct node *slope)
{
    const struct binary_function *f = node->parameters;
    struct node *steps = NULL;
    const struct node *before = tape->newest;
    if (composes(tape)) steps = composed_gradient2(tape, f->name, k, node->inputs, node, cotangent);
    tape_own_kernels(tape, before);
    if (steps && composes_values(tape)) return steps;
    return node_as_steps(tape, node_multiply_slope(tape, cotangent, slope), steps, f->name);
}

static void binary_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct binary_function *f = node->parameters;
    struct node *slopes[2] = { NULL, NULL };
    if (!f->derivative) {
        for (int k = 0; k < 2; k++) {
            struct node *input = node->inputs[k];
            if (!input->tracked) continue;
            struct node *flow = k ? node_scale(tape, cotangent, f->linear_sign) : cotangent;
            tape_accumulate(tape, input, node_sum_to_shape(tape, flow, input->rank, input->shape));
        }
        return;
    }
    f->derivative(tape, node->inputs[0], node->inputs[1], node,
                  node->inputs[0]->tracked ? &slopes[0] : NULL,
                  node->inputs[1]->tracked ? &slopes[1] : NULL);
    struct node *flow = NULL;
    for (int k = 0; k < 2; k++) {
        struct node *input = node->inputs[k];
        if (!input->tracked) continue;
        if (flow && tape_is_model(tape) && node->inputs[0] == input && slopes[0] == slopes[1]) {
            tape_accumulate(tape, input, node_again(tape, flow)); /* of x x, the same twice */
            continue;
        }
        flow = slopes[k] ? flow_to(tape, node, k, cotangent, slopes[k])
                         : node_constant(tape, DT_NONE, 0, node->rank, node->shape);
        flow = node_sum_to_shape(tape, flow, input->rank, input->shape);
        if (slopes[k] && input->n < node->n)
            flow = with_shared_errors(tape, flow, cotangent, slopes[k]);
        tape_accumulate(tape, input, flow);
    }
}

static void binary_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct binary_function *f = node->parameters;
    arb_t a, b;
    arb_init(a);
    arb_init(b);
    enclosure_element(enclosure, a, node->inputs[0], broadcast_offset(node, node->inputs[0], i));
    enclosure_element(enclosure, b, node->inputs[1], broadcast_offset(node, node->inputs[1], i));
    f->ball(ball, a, b, enclosure->precision);
    /* A ball has no -0. Where an operand is -0 and chooses a side of a cut (atan2), the double
     * value has the right sign (copysign, too); of two zeros it is 0 or pi. */
    if (arb_is_zero(a) && arb_is_zero(b) && arb_is_zero(ball) && fabs(node_value_at(node, i)) > 3)
        arb_const_pi(ball, enclosure->precision);
    if ((arb_is_zero(a) || arb_is_zero(b)) && arb_is_nonzero(ball) &&
        arb_is_negative(ball) != (node_value_at(node, i) < 0))
        arb_neg(ball, ball);
    arb_clear(a);
    arb_clear(b);
}

/* a^b for the small whole exponents that derivatives have, by multiplication. */
static bool pair_power(struct pair *out, struct pair a, struct pair b)
{
    enum { MOST = 8 };
    if (b.lo != 0 || b.error != 0 || !(b.hi >= 1 && b.hi <= MOST) || b.hi != rint(b.hi))
        return false;
    *out = a;
    for (int k = 1; k < (int)b.hi; k++)
        if (!pair_multiply(out, *out, a)) return false;
    return true;
}

static bool binary_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    const struct binary_function *f = node->parameters;
    char operation = binary_operation(f);
    bool is_power = !strcmp(f->name, "pow");
    struct pair a, b;
    if ((!operation && !is_power) ||
        !enclosure_pair(enclosure, &a, node->inputs[0],
                        broadcast_offset(node, node->inputs[0], i)) ||
        !enclosure_pair(enclosure, &b, node->inputs[1], broadcast_offset(node, node->inputs[1], i)))
        return false;
    if (is_power) return pair_power(out, a, b);
    if (operation == '-') b = (struct pair){ -b.hi, -b.lo, b.error };
    return operation == '*'   ? pair_multiply(out, a, b)
           : operation == '/' ? pair_divide(out, a, b)
                              : pair_add(out, a, b);
}

static const struct primitive binary_primitive = { "a function of two", binary_backward,
                                                   binary_enclose, binary_pair };

/* What an element costs beside an addition: a quotient about 4, a library function about 16. */
static int cost_of(const struct binary_context *c)
{
    return c->operation == '/' ? 4 : c->operation ? 1 : c->f->vector ? 16 : 64;
}

static bool is_alike(const struct node *a, const struct node *b)
{
    return a->parameters == b->parameters;
}

/* The values that the other model has of a large step, or NULL. Quotients change some of theirs (open_quotients). */
static double *take_known(const struct binary_context *c, struct tape *tape, struct node *node)
{
    enum { LEAST_SHARED = 256 };
    if (!tape_is_model(tape) || node->n < LEAST_SHARED || c->operation == '/') return NULL;
    return known_values_share(tape, node, is_alike);
}

/* `lost`: more error where the step has bounds of its elements, times the size of b. */
static struct node *evaluate_binary(struct tape *tape, const struct binary_function *f,
                                    struct node *a, struct node *b, double lost)
{
    struct node *operands[2] = { node_to_real(tape, a), node_to_real(tape, b) };
    int64_t shape[TENSOR_MAX_RANK];
    size_t n = 0;
    int rank;

    if (tape_failed(tape)) return node_scalar(tape, 0);
    struct binary_context *c = binary_open(tape, f, operands);
    if (!c || !walk_open(&c->walk, tape, 2, operands, &rank, shape)) return node_scalar(tape, 0);
    c->lost = lost;
    enum dtype dtype = dtype_promote(operands[0]->dtype, operands[1]->dtype);
    bool defers = shape_elements(&n, rank, shape) &&
                  tape_may_defer(tape, n, cost_of(c), 2, operands);
    for (int k = 0; k < 2; k++)
        if (!node_is_deferred(operands[k]) && (!defers || operands[k]->n != n))
            (void)node_values(tape, operands[k]);
    struct node *node = node_step(tape, &binary_primitive, dtype, rank, shape, 2, operands, f);
    if (tape_failed(tape)) return tape_failure(tape);
    bool bounded = tape_is_reference(tape) &&
                   binary_choose_bounds(node, c, tape, operands[0], operands[1]);
    double *known = take_known(c, tape, node);
    node_evaluate(tape, node,
                  (struct deferral){ .elements = binary_elements,
                                     .context = c,
                                     .cost = cost_of(c),
                                     .bounded = bounded,
                                     .values = known,
                                     .apart = true },
                  defers);
    return tape_failed(tape) ? tape_failure(tape) : node;
}

/* Does a result beyond the largest number overflow in any kernel? Products and quotients do in any order of their factors: what
 * comes before the last one is not 0 where the result overflows, and of its sign. Sums may be infinite less infinite before. */
static bool overflows_by_itself(const struct binary_function *f, const struct node *a,
                                const struct node *b)
{
    char operation = binary_operation(f);
    return operation == '*' || operation == '/' || (node_is_exact(a) && node_is_exact(b));
}

/* The values of the composition, with the gradient of f. */
static struct node *compose(struct tape *tape, const struct binary_function *f, struct node *steps,
                            struct node *a, struct node *b)
{
    struct node *operands[2] = { node_to_real(tape, a), node_to_real(tape, b) };
    if (tape_failed(tape)) return tape_failure(tape);
    struct node *node = node_sharing(tape, &binary_primitive, steps, 2, operands, f);
    node->is_step = true;
    return node;
}

/* In the model of staged kernels, a quotient rounded down: kernels round one to the nearest whole number that has three roundings (composed
 * functions), so nothing is off where those are below a half. */
static struct node *with_rounded_quotients(struct tape *tape, struct node *y)
{
    struct node *more = node_new_real(tape, DT_NONE, y->rank, y->shape);
    const double *value = node_values(tape, y);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++) {
        double error = 3 * tape->stage * fabs(value[i]);
        more->value[i] = error >= 0.5 && isfinite(error) ? error + 0.5 : 0;
    }
    return node_model_error(tape, y, more, 1 / tape->unit);
}

struct node *node_binary(struct tape *tape, const struct binary_function *f, struct node *a,
                         struct node *b)
{
    struct node *steps = composes(tape) ? composed_function2(tape, f->name, a, b) : NULL;
    if (steps && composes_values(tape)) return compose(tape, f, steps, a, b);
    a = node_to_real(tape, a);
    b = node_to_real(tape, b);
    struct node *first = node_rounded_number(tape, a, b, false),
                *second = node_rounded_number(tape, b, a, !strcmp(f->name, "pow"));
    struct node *node = evaluate_binary(tape, f, first, second, 0);
    model_overflows(tape, node, overflows_by_itself(f, a, b));
    model_stages(tape, node);
    bool staged = tape_is_model(tape) && tape->stage > 0;
    if (staged && !strcmp(f->name, "floor_divide")) node = with_rounded_quotients(tape, node);
    return node_as_steps(tape, node, steps, f->name);
}

char node_operation(const struct node *node)
{
    return node->primitive == &binary_primitive ? binary_operation(node->parameters) : 0;
}

struct node *node_apply2(struct tape *tape, const char *name, struct node *a, struct node *b)
{
    const struct binary_function *f = binary_find(name);
    if (f) return node_binary(tape, f, a, b);
    tape_fail(tape, STATUS_INTERNAL, "there is no function %s of two variables", name);
    return tape_failure(tape);
}
