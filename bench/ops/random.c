/* Random APIs: no value oracle. Legal values and the distribution are checked. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/arithmetic/independence.h"
#include "bench/call/call.h"
#include "bench/ops/properties.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/softmax.h"
#include "bench/tape/broadcast.h"

/* ---- distributions ------------------------------------------------------------------------ */

static double clamp01(double p) { return p < 0 ? 0 : p > 1 ? 1 : p; }

/* parameters: low, high */
static double uniform_cdf(double x, const double *p)
{
    return p[1] > p[0] ? clamp01((x - p[0]) / (p[1] - p[0])) : x >= p[0];
}
static double uniform_quantile(double u, const double *p) { return p[0] + u * (p[1] - p[0]); }

/* Whole numbers low .. high - 1. */
static double whole_cdf(double x, const double *p)
{
    return clamp01((floor(x) - p[0] + 1) / (p[1] - p[0]));
}
static double whole_below(double x, const double *p)
{
    return clamp01((ceil(x) - p[0]) / (p[1] - p[0]));
}
static double whole_quantile(double u, const double *p) { return floor(p[0] + u * (p[1] - p[0])); }

/* mean, standard deviation */
static double normal_cdf(double x, const double *p)
{
    return p[1] > 0 ? 0.5 * erfc((p[0] - x) / p[1] * 0.70710678118654752) : x >= p[0];
}
/* By bisection on the cdf: fine for the few draws a check makes. */
static double bisect(double (*cdf)(double, const double *), double u, const double *p, double low,
                     double high)
{
    for (int i = 0; i < 80; i++) {
        double middle = 0.5 * (low + high);
        if (cdf(middle, p) < u) low = middle;
        else high = middle;
    }
    return 0.5 * (low + high);
}
static double normal_quantile(double u, const double *p)
{
    return bisect(normal_cdf, u, p, p[0] - 10 * p[1], p[0] + 10 * p[1]);
}

static double log_normal_cdf(double x, const double *p)
{
    return x > 0 ? normal_cdf(log(x), p) : 0;
}
static double log_normal_quantile(double u, const double *p) { return exp(normal_quantile(u, p)); }

static double exponential_cdf(double x, const double *p) { return x > 0 ? -expm1(-p[0] * x) : 0; }
static double exponential_quantile(double u, const double *p) { return -log1p(-u) / p[0]; }

/* median, scale; a negative scale mirrors a law that is symmetric, and 0 leaves the median alone */
static double cauchy_cdf(double x, const double *p)
{
    if (p[1] == 0) return x >= p[0];
    return 0.5 + atan((x - p[0]) / fabs(p[1])) / M_PI;
}
static double cauchy_quantile(double u, const double *p)
{
    return p[0] + p[1] * tan(M_PI * (u - 0.5));
}

/* mean, scale */
static double laplace_cdf(double x, const double *p)
{
    double tail = 0.5 * exp(-fabs(x - p[0]) / p[1]);
    return x < p[0] ? tail : 1 - tail;
}
static double laplace_quantile(double u, const double *p)
{
    return u < 0.5 ? p[0] + p[1] * log(2 * u) : p[0] - p[1] * log(2 * (1 - u));
}

/* Number of trials, from 1. */
static double geometric_cdf(double x, const double *p)
{
    return x >= 1 ? 1 - pow(1 - p[0], floor(x)) : 0;
}
static double geometric_below(double x, const double *p)
{
    return x > 1 ? 1 - pow(1 - p[0], ceil(x) - 1) : 0;
}
static double geometric_quantile(double u, const double *p)
{
    return ceil(log1p(-u) / log1p(-p[0]));
}

/* clang-format off */
static const struct distribution
    uniform     = { "a uniform distribution",     uniform_cdf,     NULL,            uniform_quantile,     -INFINITY, INFINITY, false, true },
    whole       = { "uniform whole numbers",      whole_cdf,       whole_below,     whole_quantile,       -0x1p63,   0x1p63,   true, true },
    normal_law  = { "a normal distribution",      normal_cdf,      NULL,            normal_quantile,      -INFINITY, INFINITY, false, false },
    log_normal  = { "a log-normal distribution",  log_normal_cdf,  NULL,            log_normal_quantile,  0,         INFINITY, false, false },
    exponential = { "an exponential distribution", exponential_cdf, NULL,           exponential_quantile, 0,         INFINITY, false, false },
    cauchy      = { "a Cauchy distribution",      cauchy_cdf,      NULL,            cauchy_quantile,      -INFINITY, INFINITY, false, false },
    laplace     = { "a Laplace distribution",     laplace_cdf,     NULL,            laplace_quantile,     -INFINITY, INFINITY, false, false },
    geometric   = { "a geometric distribution",   geometric_cdf,   geometric_below, geometric_quantile,   1,         INFINITY, true, false };
/* clang-format on */

/* ---- factories and fills ------------------------------------------------------------------- */

/* In-place fills: self gives shape and dtype; text names the two parameters, "from to". */
struct fill {
    const struct distribution *distribution;
    const char *names[2];
};

/* clang-format off */
static const struct fill fills[] = {
    { &uniform, { "from", "to" } }, { &normal_law, { "mean", "std" } },
    { &log_normal, { "mean", "std" } }, { &exponential, { "lambd", NULL } },
    { &cauchy, { "median", "sigma" } }, { &geometric, { "p", NULL } },
};
/* clang-format on */

static void fill_in_place(struct call *call)
{
    const struct fill *fill = &fills[call->op->detail];
    struct node *x = call_tensor(call, "input");
    double parameters[4] = { 0 };
    for (int k = 0; k < 2 && fill->names[k]; k++) parameters[k] = call_real(call, fill->names[k]);
    if (!tape_failed(call->tape))
        random_return(call, fill->distribution, parameters, x->dtype, x->rank, x->shape);
}

/* rand, randn, randint; text names the distribution, with "=" for the _like forms, whose shape
 * is that of a tensor. detail: `low` is an argument. */
static void factory(struct call *call)
{
    int64_t shape[TENSOR_MAX_RANK];
    double parameters[4] = { 0, 1 };
    const struct distribution *distribution = &uniform;
    enum dtype dtype = call_dtype(call, "dtype");
    int rank;

    if (strchr(call->op->text, '=')) { /* _like */
        struct node *x = call_tensor(call, "input");
        rank = x->rank;
        memcpy(shape, x->shape, sizeof shape);
        if (dtype == DT_NONE) dtype = x->dtype;
    } else {
        rank = call_ints(call, "size", shape, TENSOR_MAX_RANK);
    }
    if (call->op->text[0] == 'n') distribution = &normal_law;
    if (call->op->text[0] == 'i') {
        distribution = &whole;
        parameters[0] = call->op->detail ? call_real(call, "low") : 0;
        parameters[1] = call_real(call, "high");
        if (dtype == DT_NONE) dtype = DT_I64;
    }
    if (dtype == DT_NONE) dtype = DT_F32;
    if (!tape_failed(call->tape)) random_return(call, distribution, parameters, dtype, rank, shape);
}

/* MindSpore's uniform (detail 0; whole numbers of an integral dtype) and laplace, of a shape and two numbers. */
static void factory_of_two(struct call *call)
{
    static const char *const names[2][2] = { { "minval", "maxval" }, { "mean", "lambda_param" } };
    int64_t shape[TENSOR_MAX_RANK];
    int kind = (int)call->op->detail, rank = call_ints(call, "shape", shape, TENSOR_MAX_RANK);
    double parameters[4] = { call_real(call, names[kind][0]), call_real(call, names[kind][1]) };
    enum dtype dtype = kind ? DT_F32 : call_dtype(call, "dtype");
    if (dtype == DT_NONE) dtype = DT_F32;
    if (!call_require(call, kind == 0 || parameters[1] > 0, "a scale of %g", parameters[1])) return;
    const struct distribution *law = kind ? &laplace : dtype_is_float(dtype) ? &uniform : &whole;
    random_return(call, law, parameters, dtype, rank, shape);
}

/* random_: whole numbers in [from, to), by default all that the dtype holds exactly. */
static void random_whole(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (tape_failed(call->tape)) return;
    const struct dtype_info *info = dtype_info(x->dtype);
    double limit = info->kind == KIND_FLOAT  ? ldexp(1, info->significand_bits) + 1
                   : info->kind == KIND_BOOL ? 2
                                             : info->largest + 1;
    double parameters[4] = { 0, limit };
    bool has_from = !call_is_none(call, "from"), has_to = !call_is_none(call, "to");
    if (has_to) {
        parameters[0] = has_from ? call_real(call, "from") : 0;
        parameters[1] = call_real(call, "to");
    } else if (has_from) {
        parameters[1] = call_real(call, "from"); /* random_(to) */
    }
    random_return(call, &whole, parameters, x->dtype, x->rank, x->shape);
}

/* ---- element-wise probabilities --------------------------------------------------------------- */

static void bernoulli(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *p = x;
    if (call->in_place && call_is_none(call, "p")) p = node_scalar(tape, 0.5);
    if (!call_is_none(call, "p")) p = call_node(call, call_value(call, "p"));
    p = node_broadcast(tape, node_to_real(tape, p), x->rank, x->shape);
    const double *probability = node_values(tape, p);
    const struct bench_property *property = random_chances(tape, probability, p->n);
    if (tape_failed(tape)) return;
    struct node *draws = NULL;
    if (!tape_is_reference(tape)) {
        draws = node_new_real(tape, x->dtype, x->rank, x->shape);
        for (size_t i = 0; !tape_failed(tape) && i < draws->n; i++)
            draws->value[i] = random_uniform(call, i) < probability[i];
    }
    call_return_random(call, draws, x->dtype, x->rank, x->shape, property);
}

/* normal(mean, std) with tensors: standardized draws are standard normal. Where std is 0 the draw is the mean. */
struct standardized {
    const double *mean, *deviation;
    struct bench_property standard;
};

static bool standardized_holds(const struct bench_property *property, const struct tensor *got,
                               char *reason, size_t bytes)
{
    const struct standardized *standardized = property->context;
    struct arena arena = { 0 };
    struct tensor dense, unit;
    bool holds = false;
    size_t n = tensor_elements(got), drawn = 0;
    int64_t flat[1] = { (int64_t)n };
    if (tensor_densify(&dense, &arena, got).code ||
        tensor_create(&unit, &arena, DT_F64, 1, flat).code) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
        goto done;
    }
    double *x = unit.data;
    dtype_to_double(x, dense.data, dense.dtype, n);
    for (size_t i = 0; i < n; i++) {
        if (standardized->deviation[i] > 0) {
            x[drawn++] = (x[i] - standardized->mean[i]) / standardized->deviation[i];
        } else if (!(fabs(x[i] - standardized->mean[i]) <=
                     dtype_ulp(dense.dtype, standardized->mean[i]))) {
            (void)snprintf(reason, bytes, "element %zu is %.9g where the mean is %.9g and std is 0",
                           i, x[i], standardized->mean[i]);
            goto done;
        }
    }
    unit.shape[0] = (int64_t)drawn;
    holds = standardized->standard.holds(&standardized->standard, &unit, reason, bytes);
done:
    arena_release(&arena);
    return holds;
}

static void normal(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *mean = call_node(call, call_value(call, "mean")),
                *deviation = call_node(call, call_value(call, "std"));
    enum dtype dtype = call_float_type(call, (struct node *[]){ mean, deviation }, 2);
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    if (!call_require(call,
                      shape_broadcast(&rank, shape, mean->rank, mean->shape, deviation->rank,
                                      deviation->shape),
                      "mean and std do not broadcast"))
        return;
    if (!call_is_none(call, "size")) rank = call_ints(call, "size", shape, TENSOR_MAX_RANK);
    mean = node_broadcast(tape, node_to_real(tape, mean), rank, shape);
    deviation = node_broadcast(tape, node_to_real(tape, deviation), rank, shape);
    struct standardized *standardized = tape_allocate(tape, 1, sizeof *standardized);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    double parameters[4] = { 0, 1 };
    const struct bench_property *standard = random_property(call, &normal_law, parameters);
    if (tape_failed(tape)) return;
    *standardized =
        (struct standardized){ node_values(tape, mean), node_values(tape, deviation), *standard };
    *property = (struct bench_property){ standard->test, standardized_holds, standardized };
    struct node *draws = NULL;
    if (!tape_is_reference(tape)) {
        draws = node_new_real(tape, dtype, rank, shape);
        for (size_t i = 0; !tape_failed(tape) && i < draws->n; i++)
            draws->value[i] = standardized->mean[i] +
                              standardized->deviation[i] *
                                  normal_quantile(random_uniform(call, i), parameters);
    }
    call_return_random(call, draws, dtype, rank, shape, property);
}

/* clang-format off */
#define FACTORY(names, arguments, detail, kind) \
    { names, TORCH, arguments ", *, ScalarType? dtype=None, ...)", factory, OP_RANDOM | OP_NO_GRADIENT, detail, kind }
#define FILL(name, arguments, row) \
    { name, TENSOR, "(Tensor input" arguments ", *, ...)", fill_in_place, OP_RANDOM | OP_NO_GRADIENT, row, NULL }
const struct op ops_random[] = {
    FACTORY("rand", "(*int[] size", 0, "uniform"),
    FACTORY("rand_like", "(Tensor input", 0, "uniform="),
    FACTORY("randn", "(*int[] size", 0, "normal"),
    FACTORY("randn_like", "(Tensor input", 0, "normal="),
    FACTORY("randint", "(int low, int high, int[] size", 1, "integers"),
    FACTORY("randint", "(int high, int[] size", 0, "integers"),
    FACTORY("randint_like", "(Tensor input, int low, int high", 1, "integers="),
    FACTORY("randint_like", "(Tensor input, int high", 0, "integers="),
    FILL("uniform", ", float from=0, float to=1", 0),
    FILL("normal", ", float mean=0, float std=1", 1),
    FILL("log_normal", ", float mean=1, float std=2", 2),
    FILL("exponential", ", float lambd=1", 3),
    { "npu_sim_exponential", NPU, "(Tensor input, float lambd=1, *, ...)", fill_in_place, OP_RANDOM | OP_NO_GRADIENT, 3, NULL },
    FILL("cauchy", ", float median=0, float sigma=1", 4),
    FILL("geometric", ", float p", 5),
    { "uniform", MINDSPORE, "(int[] shape, float minval, float maxval, ScalarType? dtype)", factory_of_two, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "laplace", MINDSPORE, "(int[] shape, float mean, float lambda_param)", factory_of_two, OP_RANDOM | OP_NO_GRADIENT, 1, NULL },
    { "random", TENSOR, "(Tensor input, int? from=None, int? to=None, *, ...)", random_whole, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "bernoulli", TENSOR | TORCH, "(Tensor input, Any p=None, *, ...)", bernoulli, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "normal", TORCH, "(Tensor mean, Tensor std=1, int[]? size=None, *, ...)", normal, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(random);
