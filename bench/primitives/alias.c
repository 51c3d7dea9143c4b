/* The elements of a node under another dtype, without its gradient, or with more error. */
#include "bench/primitives/alias.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/chain_rule.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"
#include "core/vectorize.h"

static void alias_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    tape_accumulate(tape, node->inputs[0], cotangent);
}

static const struct primitive alias_primitive = { "alias", alias_backward, input_enclose,
                                                  input_pair };

struct node *node_alias(struct tape *tape, struct node *x, enum dtype dtype)
{
    struct node *node = node_sharing(tape, &alias_primitive, x, 1, &x, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    node->dtype = dtype;
    if (x->imaginary) node->imaginary = node_alias(tape, x->imaginary, dtype);
    return node;
}

struct node *node_again(struct tape *tape, struct node *x)
{
    return node_sharing_unread(tape, &alias_primitive, x);
}

/* What is joined to the errors of a value: `more` times its size. */
struct joined_error {
    double relative, absolute; /* of the errors where there are no arrays */
    double more;
    bool typical;
};

VECTORIZED static void join_errors(double *restrict out, const double *restrict error,
                                   const double *restrict y, const double *restrict x,
                                   const struct joined_error *joined, size_t n)
{
    const struct joined_error j = *joined;
    const double *restrict stored = readable(error, y);
    for (size_t i = 0; i < n; i++) {
        double size = fabs(y[i]), more = j.more * fabs(x[i]);
        double before = error ? stored[i] : j.relative * size + j.absolute;
        double e = j.typical ? sqrt(before * before + more * more) : before + more;
        out[i] = size < INFINITY ? e : 0;
    }
}

/* Squares of float64 errors may underflow. */
static void join_wide_errors(double *out, const struct node *y, const double *x, double more)
{
    for (size_t i = 0; i < y->n; i++)
        out[i] = isfinite(y->value[i]) ? hypot(node_error(y, i), more * fabs(x[i])) : 0;
}

/* In place, where the errors are in an array. */
static void join_own_errors(const struct node *y, const double *x,
                            const struct joined_error *joined)
{
    enum { BLOCK = 512 };
    double before[BLOCK];
    for (size_t i = 0; i < y->n; i += BLOCK) {
        size_t count = y->n - i < BLOCK ? y->n - i : BLOCK;
        memcpy(before, y->error + i, count * sizeof *before);
        join_errors(y->error + i, before, y->value + i, x + i, joined, count);
    }
}

/* y with more error; `takes`: its array of errors is used for those of the new node. */
static struct node *with_more_error(struct tape *tape, struct node *y, struct node *x,
                                    double roundings, bool takes)
{
    if (!tape_is_model(tape)) return y;
    const double *value = node_values(tape, x);
    struct node *out = node_alias(tape, y, y->dtype);
    bool typical = tape_is_typical(tape), wide = typical && tape->wide;
    double more = (typical ? roundings / 4 : roundings) * tape->unit;
    const struct joined_error joined = { y->relative, y->absolute, more, typical };
    if (tape_failed(tape) || x->n != y->n) return y;
    if (takes && y->error && !wide) {
        join_own_errors(y, value, &joined);
        return out;
    }
    double *error = tape_allocate(tape, y->n, sizeof *error);
    if (!error) return y;
    if (wide) join_wide_errors(error, out, value, more);
    else join_errors(error, y->error, out->value, value, &joined, y->n);
    out->error = error;
    return out;
}

struct node *node_model_error(struct tape *tape, struct node *y, struct node *x, double roundings)
{
    return with_more_error(tape, y, x, roundings, false);
}

struct node *node_model_own_error(struct tape *tape, struct node *y, struct node *x,
                                  double roundings)
{
    return with_more_error(tape, y, x, roundings, true);
}

static const struct primitive anything = { "anything", alias_backward, NULL, NULL };

/* A number with an unbounded error; what is next to an infinity or a NaN is not said in errors. */
struct node *node_model_anything(struct tape *tape, struct node *y, struct node *lost)
{
    if (!tape_is_model(tape) || tape_failed(tape) || lost->n != y->n) return y;
    struct node *node = node_new(tape, &anything, y->dtype, y->rank, y->shape, 1, &y, NULL);
    const double *value = node_values(tape, y);
    if (!node_need_errors(tape, node)) return y;
    for (size_t i = 0; i < y->n; i++) {
        node->value[i] = lost->integer[i] ? 0 : value[i];
        node->error[i] = lost->integer[i] ? INFINITY : node_error(y, i);
    }
    return node;
}

struct node *node_model_open_at_infinity(struct tape *tape, struct node *y)
{
    if (!tape_is_model(tape) || y->integer || y->imaginary) return y;
    const double *value = node_values(tape, y);
    bool any = false;
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++) any |= isinf(value[i]) != 0;
    if (!any) return y;
    struct node *lost = node_new_integer(tape, DT_BOOL, y->rank, y->shape);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++) lost->integer[i] = isinf(value[i]) != 0;
    return node_model_anything(tape, y, lost);
}

static void any_slope_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *lost = (struct node *)node->parameters;
    tape_accumulate(tape, node->inputs[0], node_model_anything(tape, cotangent, lost));
}

static const struct primitive any_slope = { "any slope", any_slope_backward, input_enclose,
                                            input_pair };

struct node *node_model_any_slope(struct tape *tape, struct node *x, struct node *lost)
{
    if (!tape_is_model(tape) || tape_failed(tape) || !x->tracked || lost->n != x->n) return x;
    return node_sharing(tape, &any_slope, x, 1, &x, lost);
}

struct node *node_model_any_slope_at_nan(struct tape *tape, struct node *x)
{
    if (!tape_is_model(tape) || !x->tracked || x->integer || x->imaginary) return x;
    const double *value = node_values(tape, x);
    bool any = false;
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++) any |= isnan(value[i]);
    if (!any) return x;
    struct node *lost = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++) lost->integer[i] = isnan(value[i]) != 0;
    return node_model_any_slope(tape, x, lost);
}

static void either_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    for (int k = 0; k < 2; k++) tape_accumulate(tape, node->inputs[k], cotangent);
}

static const struct primitive either = { "one of two formulas", either_backward, NULL, NULL };

struct node *node_model_either(struct tape *tape, struct node *y, struct node *other)
{
    if (tape->deviation && tape->deviation->other_formulas && other->n == y->n) return other;
    if (!tape_is_model(tape) || tape_failed(tape) || other->n != y->n) return y;
    struct node *node = node_new(tape, &either, y->dtype, y->rank, y->shape, 2,
                                 (struct node *[]){ y, other }, NULL);
    const double *value = node_values(tape, y);
    (void)node_values(tape, other);
    if (!node_need_errors(tape, node)) return y;
    for (size_t i = 0; i < y->n; i++) {
        bool lost = isnan(other->value[i]) != isnan(value[i]) || /* infinity less infinity, say */
                    isinf(other->value[i]) != isinf(value[i]);
        node->value[i] = lost && !isfinite(value[i]) ? 1 : value[i]; /* what may be divided by */
        node->error[i] = lost ? INFINITY : fmax(node_error(y, i), node_error(other, i));
    }
    return node;
}

static void unknown_slope_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct node *unknown = node->parameters;
    (void)node_values(tape, cotangent);
    struct node *back = node_alias(tape, cotangent, cotangent->dtype);
    double *error = tape_allocate(tape, cotangent->n, sizeof *error);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < cotangent->n; i++)
        error[i] = unknown->integer[i] ? INFINITY : node_error(cotangent, i);
    back->error = error;
    tape_accumulate(tape, node->inputs[0], back);
}

static const struct primitive unknown_slope = { "a slope that may jump", unknown_slope_backward,
                                                input_enclose, input_pair };

struct node *node_model_unknown_slope(struct tape *tape, struct node *y, struct node *unknown)
{
    if (!tape_is_model(tape) || tape_failed(tape) || !y->tracked || unknown->n != y->n) return y;
    return node_sharing(tape, &unknown_slope, y, 1, &y, unknown);
}

struct node *node_model_choice(struct tape *tape, struct node *y, struct node *a, struct node *b)
{
    if (!tape_is_model(tape) || tape_failed(tape) || (node_is_exact(a) && node_is_exact(b)))
        return y;
    const double *first = node_values(tape, a), *second = node_values(tape, b);
    (void)node_values(tape, y);
    struct node *unknown = node_new_integer(tape, DT_BOOL, y->rank, y->shape);
    struct node *out = node_alias(tape, y, y->dtype);
    double *error = tape_allocate(tape, y->n, sizeof *error);
    if (tape_failed(tape) || (a->n != y->n && a->n != 1) || (b->n != y->n && b->n != 1)) return y;
    /* The reference's side is that of the doubles where balls were too much work, which are off as far as a kernel's. */
    double doubt = tape->wide ? 2 : 1;
    for (size_t i = 0; i < y->n; i++) {
        size_t j = a->n == 1 ? 0 : i, k = b->n == 1 ? 0 : i;
        double ea = node_error(a, j), eb = node_error(b, k);
        unknown->integer[i] = fabs(first[j] - second[k]) <= doubt * (ea + eb) && ea + eb > 0;
        error[i] = unknown->integer[i] ? fmax(ea, eb) : node_error(y, i);
    }
    out->error = error;
    return node_model_unknown_slope(tape, out, unknown);
}

struct node *node_with_dtype(struct tape *tape, struct node *x, enum dtype dtype)
{
    return x->dtype == dtype ? x : node_alias(tape, x, dtype);
}

struct node *node_detach(struct tape *tape, struct node *x)
{
    if (x->integer) return x;
    struct node *node = node_alias(tape, x, x->dtype);
    if (tape_failed(tape)) return tape_failure(tape);
    node->primitive = NULL;
    node->tracked = false;
    node->error = NULL;
    node->relative = node->absolute = 0;
    if (node->imaginary) node->imaginary = node_detach(tape, node->imaginary);
    return node;
}
