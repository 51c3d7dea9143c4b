/* Functions of one variable, element by element. */
#include <math.h>
#include <string.h>

#include "bench/bounds.h"
#include "bench/functions.h"
#include "bench/graph.h"
#include "bench/pull.h"

static void unary_backward(struct graph *graph, struct node *node, struct node *cotangent)
{
    const struct unary_function *f = node->parameters;
    if (!f->derivative) { /* flat: a zero gradient, not none */
        graph_accumulate(graph, node->inputs[0],
                         node_constant(graph, DT_NONE, 0, node->rank, node->shape));
        return;
    }
    struct node *slope = f->derivative(graph, node->inputs[0], node);
    graph_accumulate(graph, node->inputs[0], node_multiply(graph, cotangent, slope));
}

static void unary_pull(struct pull *pull, void *ball, struct node *node, size_t i)
{
    const struct unary_function *f = node->parameters;
    arb_t x;
    arb_init(x);
    pull_element(pull, x, node->inputs[0], i);
    f->ball(ball, x, pull->precision);
    arb_clear(x);
}

static bool pair_abs(struct pair *out, struct pair x)
{
    if (x.hi != 0 && x.error >= fabs(x.hi) * (1 - 0x1p-50)) return false; /* the sign is open */
    *out = signbit(x.hi) ? (struct pair){ -x.hi, -x.lo, x.error } : x;
    return true;
}

static bool pair_reciprocal(struct pair *out, struct pair x)
{
    return pair_divide(out, pair_exact(1), x);
}

static bool pair_rsqrt(struct pair *out, struct pair x)
{
    return pair_sqrt(out, x) && pair_reciprocal(out, *out);
}

static bool pair_square(struct pair *out, struct pair x)
{
    return pair_multiply(out, x, x);
}

static bool unary_pair(struct pull *pull, struct pair *out, struct node *node, size_t i)
{
    static const struct {
        const char *name;
        bool (*pair)(struct pair *out, struct pair x);
    } known[] = { { "abs", pair_abs },       { "reciprocal", pair_reciprocal }, { "rsqrt", pair_rsqrt },
                  { "sqrt", pair_sqrt },     { "square", pair_square } };
    const struct unary_function *f = node->parameters;
    struct pair x;
    if (f->ulps == 0 && node_is_exact(node->inputs[0])) { /* no rounding at all */
        *out = pair_exact(node->value[i]);
        return true;
    }
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (!strcmp(f->name, known[k].name))
            return pull_pair(pull, &x, node->inputs[0], i) && known[k].pair(out, x);
    return false;
}

static const struct primitive unary_primitive = { "a function", unary_backward, unary_pull, unary_pair };

/* Functions with zeros at inexact places, near which no kernel keeps a relative accuracy: an
 * absolute error in units of roundoff. */
static double kernel_absolute(const struct unary_function *f)
{
    static const struct {
        const char *name;
        double roundings;
    } crossing[] = { { "sinc", 6 }, { "sinpi", 6 }, { "cospi", 6 }, { "lgamma", 16 }, { "digamma", 16 } };
    for (size_t i = 0; i < sizeof crossing / sizeof *crossing; i++)
        if (!strcmp(f->name, crossing[i].name)) return crossing[i].roundings;
    return isinf(f->ulps) ? 16 : 0;
}

/* The declared error of a function in units in the last place: ours, or, in a model, what a
 * kernel's may be: nothing where the function is exact; 1.5 for the roots and quotients that
 * fast hardware does not round correctly; 4 for library functions (1 in the mean), more for those
 * without a good formula. */
static double function_ulps(const struct graph *graph, const struct unary_function *f)
{
    if (!graph_is_model(graph) || f->ulps == 0) return f->ulps;
    bool basic = f->ulps <= 0.5 || !strcmp(f->name, "rsqrt");
    double worst = basic ? 1.5 : isinf(f->ulps) ? 16 : 4;
    return graph->arithmetic == BENCH_MODEL_TYPICAL ? worst / 4 : worst;
}

static struct node *evaluate_unary(struct graph *graph, const struct unary_function *f, struct node *x)
{
    x = node_to_real(graph, x);
    const double *in = node_values(graph, x);
    struct node *node = node_new(graph, &unary_primitive, x->dtype, x->rank, x->shape, 1, &x, f);
    if (graph_failed(graph)) return node;
    double *out = node->value;
    size_t n = node->n;

    if (f->vector) f->vector(out, in, n);
    else
        for (size_t i = 0; i < n; i++) out[i] = f->scalar(in[i]);
    node_round(graph, node);
    if (!graph_is_reference(graph)) return node;

    double ulps = function_ulps(graph, f);
    node->relative = ulps * 2 * graph->unit;
    node->absolute = unary_underflow(f) * graph->tiny;
    if (graph_is_model(graph)) node->absolute += kernel_absolute(f) * graph->unit;
    if (node_is_exact(x)) return node;
    double relative = node->relative, absolute = node->absolute;
    if (!node_need_errors(graph, node)) return node;
    for (size_t i = 0; i < n; i++) {
        double e = node_error(x, i);
        double bound = relative * fabs(out[i]) + absolute;
        if (e > 0) bound = (bound + (f->slope ? f->slope(in[i], e) * e : INFINITY)) * (1 + 0x1p-40);
        node->error[i] = tidy_bound(bound, out[i]);
    }
    return node;
}

struct node *node_unary(struct graph *graph, const struct unary_function *f, struct node *x)
{
    struct node *node = evaluate_unary(graph, f, x);
    model_overflows(graph, node);
    return node;
}
