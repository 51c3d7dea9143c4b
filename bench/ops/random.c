/* Random APIs: no value oracle. Legal values and the distribution are checked; dropout also
 * checks that what is kept is x / (1 - p), and its gradient against the device's own mask. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/arithmetic/independence.h"
#include "bench/call/call.h"
#include "bench/ops/properties.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
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

struct chance {
    const double *probability; /* of a 1, per element */
    size_t n;
};

static size_t row_of(const struct tensor *t)
{
    int64_t last = t->rank ? t->shape[t->rank - 1] : 1;
    return last > 0 ? (size_t)last : 1;
}

bool random_choices_hold(double *x, const double *chances, double p, size_t n, size_t row,
                         char *reason, size_t bytes)
{
    double most = 1;
    for (size_t i = 0; i < n; i++) {
        double chance = chances ? chances[i] : p, deviation = sqrt(chance * (1 - chance));
        x[i] = isnan(x[i]) || !(deviation > 0) ? 0 : (x[i] - chance) / deviation;
        most = fmax(most, fabs(x[i]));
    }
    return draws_are_independent(&(struct draws){ x, n, row && n % row == 0 ? row : 1, most },
                                 reason, bytes);
}

/* 0 or 1 only; certain elements as they must be; the number of ones within six sigma. */
static bool chances_hold(const struct bench_property *property, const struct tensor *got,
                         char *reason, size_t bytes)
{
    const struct chance *chance = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    double ones = 0, mean = 0, variance = 0;
    bool holds = false;
    double *x = arena_allocate_array(&arena, 2 * chance->n, sizeof *x);

    if (!x || tensor_densify(&dense, &arena, got).code) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
        goto done;
    }
    dtype_to_double(x, dense.data, dense.dtype, chance->n);
    for (size_t i = 0; i < chance->n; i++) {
        double p = chance->probability[i];
        if ((x[i] != 0 && x[i] != 1) || (p == 0 && x[i] != 0) || (p == 1 && x[i] != 1)) {
            (void)snprintf(reason, bytes, "element %zu is %g where the probability of 1 is %g", i,
                           x[i], p);
            goto done;
        }
        ones += x[i];
        mean += p;
        variance += p * (1 - p);
    }
    holds = fabs(ones - mean) <= 6.2 * sqrt(variance) + 12;
    if (!holds)
        (void)snprintf(reason, bytes, "%g ones where %g +- %g are expected", ones, mean,
                       sqrt(variance));
    else
        holds =
            random_choices_hold(x, chance->probability, 0, chance->n, row_of(got), reason, bytes);
done:
    arena_release(&arena);
    return holds;
}

static void bernoulli(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *p = x;
    if (call->in_place && call_is_none(call, "p")) p = node_scalar(tape, 0.5);
    if (!call_is_none(call, "p")) p = call_node(call, call_value(call, "p"));
    p = node_broadcast(tape, node_to_real(tape, p), x->rank, x->shape);
    struct chance *chance = tape_allocate(tape, 1, sizeof *chance);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    const double *probability = node_values(tape, p);
    if (tape_failed(tape)) return;
    *chance = (struct chance){ probability, p->n };
    *property = (struct bench_property){ "zeros and ones; their number within 6.2 sigma (1e-9)",
                                         chances_hold, chance };
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

/* ---- dropout -------------------------------------------------------------------------------------- */

struct dropout {
    const double *x; /* input, or cotangent for the gradient */
    const struct dropout *
        mask; /* gradient: the forward, whose output on the device tells what was kept; else NULL */
    const struct tensor *output; /* gradient: that output, or NULL */
    double p, scale, shift;      /* what is kept becomes scale x + shift, */
    double dropped;              /* the rest this */
    double roundings;            /* of the kernel, in ulps of the terms */
    size_t n, channel;           /* elements that share one draw */
};

enum fate { KEPT, DROPPED, EITHER, NEITHER };

/* What became of element i, read from its value. */
static enum fate fate_of(const struct dropout *dropout, size_t i, double y, enum dtype dtype)
{
    double want = dropout->scale * dropout->x[i] + dropout->shift;
    double unit = dropout->roundings *
                  (dtype_ulp(dtype, dropout->scale * dropout->x[i]) +
                   dtype_ulp(dtype, dropout->dropped) * (dropout->dropped != 0));
    if (isnan(y) && !isfinite(dropout->x[i])) return EITHER; /* 0 times infinity */
    if (fabs(want) > dtype_info(dtype)->largest) want = copysign(INFINITY, want);
    bool kept = fabs(y - want) <= unit || (isnan(want) && isnan(y)) || y == want;
    bool dropped = dropout->dropped == 0 ? y == 0 : fabs(y - dropout->dropped) <= unit;
    if (!kept && !dropped) return NEITHER;
    return (kept && dropped) || fabs(want - dropout->dropped) <= unit ? EITHER
           : kept                                                     ? KEPT
                                                                      : DROPPED;
}

/* Each element is kept or dropped, whole channels alike; the dropped ones within 6.2 sigma. Where
 * both give the same value the element tells nothing. */
static bool dropout_holds(const struct bench_property *property, const struct tensor *got,
                          char *reason, size_t bytes)
{
    const struct dropout *dropout = property->context;
    struct arena arena = { 0 };
    struct tensor dense, mask;
    double dropped = 0, told = 0;
    bool holds = false;
    double *y = arena_allocate_array(&arena, 3 * dropout->n + 1, sizeof *y), *m = NULL;
    size_t channels = 0;

    if (!y || tensor_densify(&dense, &arena, got).code) goto no_memory;
    double *choice = y + 2 * dropout->n;
    dtype_to_double(y, dense.data, dense.dtype, dropout->n);
    if (dropout->output) {
        m = arena_allocate_array(&arena, 2 * dropout->n, sizeof *m);
        if (!m || tensor_densify(&mask, &arena, dropout->output).code) goto no_memory;
        dtype_to_double(m, mask.data, mask.dtype, dropout->n);
    }
    for (size_t first = 0; first < dropout->n; first += dropout->channel) {
        enum fate state = EITHER; /* of the channel */
        for (size_t i = first; i < first + dropout->channel && i < dropout->n; i++) {
            enum fate here = fate_of(dropout, i, y[i], dense.dtype);
            if (here == NEITHER) {
                (void)snprintf(reason, bytes, "element %zu is %.9g; it must be %.9g or %.9g", i,
                               y[i], dropout->dropped,
                               dropout->scale * dropout->x[i] + dropout->shift);
                goto done;
            }
            if (here == EITHER) continue;
            enum fate before = m ? fate_of(dropout->mask, i, m[i], mask.dtype) : EITHER;
            if ((before == KEPT || before == DROPPED) && before != here) {
                (void)snprintf(reason, bytes,
                               "the gradient of element %zu does not follow the mask", i);
                goto done;
            }
            if (state != EITHER && state != here) {
                (void)snprintf(reason, bytes, "element %zu differs from its channel", i);
                goto done;
            }
            state = here;
        }
        told += state != EITHER;
        dropped += state == DROPPED;
        choice[channels++] = state == EITHER ? NAN : state == DROPPED;
    }
    holds = fabs(dropped - told * dropout->p) <=
            6.2 * sqrt(told * dropout->p * (1 - dropout->p)) + 12;
    if (!holds)
        (void)snprintf(reason, bytes, "%g of %g draws are dropped; p is %g", dropped, told,
                       dropout->p);
    else
        holds = random_choices_hold(choice, NULL, dropout->p, channels,
                                    dropout->channel > 1 ? 1 : row_of(got), reason, bytes);
    goto done;
no_memory:
    (void)snprintf(reason, bytes, "there is no memory to test the distribution");
done:
    arena_release(&arena);
    return holds;
}

static const struct bench_property *dropout_property(struct tape *tape, struct dropout d)
{
    struct dropout *context = tape_allocate(tape, 1, sizeof *context);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    if (tape_failed(tape)) return NULL;
    *context = d;
    *property = (struct bench_property){
        "each element kept or dropped; dropped ones within 6.2 sigma (1e-9)", dropout_holds, context
    };
    return property;
}

/* The gradient is 0 or scale times the cotangent, by the mask that the device's output shows. */
static const struct bench_property *dropout_gradient(struct call *call, struct node *cotangent,
                                                     size_t leaf)
{
    if (leaf != 0) return NULL;
    const struct dropout *forward = call->results.items[0].property->context;
    struct dropout d = *forward;
    d.x = node_values(call->tape, cotangent);
    d.mask = forward;
    d.output = call_device_output(call, 0);
    d.shift = d.dropped = 0;
    return dropout_property(call->tape, d);
}

/* The value that alpha_dropout gives what it drops before it scales: minus selu's scale times alpha. */
static const double selu_limit = -1.7580993408473766;

/* dropout; detail: bit 1 whole channels are dropped, bit 0 alpha_dropout. */
static void dropout(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    double p = call_real(call, "p");
    if (tape_failed(tape)) return;
    bool training = call_bool(call, call->op->text);
    if (!training || p == 0 || x->n == 0) {
        call_return(call, node_scale(tape, x, 1));
        return;
    }
    bool alpha = call->op->detail & 1;
    if (p == 1) {
        call_return_typed(call,
                          node_select(tape, node_integer_constant(tape, DT_BOOL, 0, 0, NULL), x,
                                      node_scalar(tape, 0)),
                          x->dtype);
        return;
    }
    size_t channel = 1;
    if (call->op->detail & 2) /* whole channels: everything behind batch and channel */
        for (int d = 2; d < x->rank; d++) channel *= (size_t)x->shape[d];
    struct dropout d = { .x = node_values(tape, x),
                         .p = p,
                         .scale = 1 / (1 - p),
                         .roundings = 2,
                         .n = x->n,
                         .channel = channel };
    if (alpha) { /* keeps mean and variance of selu's outputs */
        d.scale = 1 / sqrt((selu_limit * selu_limit * p + 1) * (1 - p));
        d.shift = -d.scale * selu_limit * p;
        d.dropped = d.scale * selu_limit + d.shift;
        d.roundings = 4;
    }
    struct node *y = NULL;
    if (!tape_is_reference(tape)) {
        struct node *mask = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
        for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++)
            mask->integer[i] = random_uniform(call, i / channel) >= p;
        y = node_select(tape, mask, node_offset(tape, node_scale(tape, x, d.scale), d.shift),
                        node_scalar(tape, d.dropped));
    }
    call_return_random(call, y, x->dtype, x->rank, x->shape, dropout_property(tape, d));
    call->results.gradient_property = dropout_gradient;
}

/* ---- aten's dropout, which returns its mask ----------------------------------------------------------- */

/* The mask that the device drew, or one of our own for the native arithmetic; NULL: not known. */
static struct node *drawn_mask(struct call *call, const struct node *x, double keep)
{
    struct tape *tape = call->tape;
    struct node *mask = NULL;
    if (tape_is_reference(tape)) {
        mask = call_device_numbers(call, 1, x->n);
        return mask && mask->integer ? node_reshape(tape, mask, x->rank, x->shape) : NULL;
    }
    mask = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++)
        mask->integer[i] = random_uniform(call, i) < keep;
    return mask;
}

/* The output by the mask where that is known, else by the law of dropout; then the mask. detail 1:
 * _fused_dropout, whose p is the chance to be kept and whose mask is a byte. */
static void dropout_with_mask(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_to_real(tape, call_tensor(call, "input"));
    double p = call_real(call, "p"), keep = call->op->detail ? p : 1 - p;
    enum dtype mask_dtype = call->op->detail ? DT_U8 : DT_BOOL;
    bool training = call->op->detail || call_is_none(call, "train") || call_bool(call, "train");
    if (tape_failed(tape)) return;
    if (!training || keep == 1) {
        call_return(call, x);
        call_return(call, node_integer_constant(tape, mask_dtype, 1, x->rank, x->shape));
        return;
    }
    struct node *mask = drawn_mask(call, x, keep);
    struct node *kept = keep == 0 ? x : node_divide(tape, x, node_scalar(tape, keep));
    struct chance *chance = tape_allocate(tape, 1, sizeof *chance);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    struct node *probability = node_constant(tape, DT_NONE, keep, x->rank, x->shape);
    struct dropout law = { .x = node_values(tape, x),
                           .p = 1 - keep,
                           .scale = keep == 0 ? 0 : 1 / keep,
                           .roundings = 2,
                           .n = x->n,
                           .channel = 1 };
    if (tape_failed(tape)) return;
    *chance = (struct chance){ probability->value, x->n };
    *property = (struct bench_property){ "zeros and ones; their number within 6.2 sigma (1e-9)",
                                         chances_hold, chance };
    struct node *y = mask ? node_select(tape, mask, kept, node_scalar(tape, 0)) : NULL;
    if (mask && tape_is_reference(tape)) {
        call_return_typed(call, y, x->dtype);
    } else {
        call_return_random(call, y, x->dtype, x->rank, x->shape, dropout_property(tape, law));
        call->results.gradient_property = dropout_gradient;
    }
    call_return_random(call, mask, mask_dtype, x->rank, x->shape, property);
}

/* c mask scale */
static void dropout_by_mask_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *c = call_tensor(call, "grad_output");
    struct node *kept = node_multiply(tape, c, node_to_real(tape, call_tensor(call, "mask")));
    call_return_typed(call, node_multiply(tape, kept, node_scalar(tape, call_real(call, "scale"))),
                      c->dtype);
}

/* ---- torch_npu's dropout of a softmax ------------------------------------------------------------------ */

/* What is kept of a softmax, as its result shows: 1, 0 or NaN where that is 0 itself. */
struct kept {
    const double *kept;
    double p; /* of being dropped */
    size_t n, row;
};

/* The mask itself has an order of its own; what it did to the result follows the law. */
static bool kept_holds(const struct bench_property *property, const struct tensor *got,
                       char *reason, size_t bytes)
{
    const struct kept *k = property->context;
    struct arena arena = { 0 };
    double *x = arena_allocate_array(&arena, k->n + 1, sizeof *x), dropped = 0, told = 0;
    bool holds = x != NULL;
    (void)got;
    if (!x) (void)snprintf(reason, bytes, "there is no memory to test the distribution");
    for (size_t i = 0; x && i < k->n; i++) {
        x[i] = 1 - k->kept[i];
        told += !isnan(x[i]);
        dropped += x[i] == 1;
    }
    if (holds && fabs(dropped - told * k->p) > 6.2 * sqrt(told * k->p * (1 - k->p)) + 12) {
        (void)snprintf(reason, bytes, "%g of %g draws are dropped; p is %g", dropped, told, k->p);
        holds = false;
    }
    holds = holds && random_choices_hold(x, NULL, k->p, k->n, k->row, reason, bytes);
    arena_release(&arena);
    return holds;
}

/* What the device kept of `softmax`, from its result; a node of 1 and 0 is made of it. NULL: not known. */
static struct node *mask_of_result(struct call *call, struct node *softmax, double *kept)
{
    struct tape *tape = call->tape;
    struct node *mask = NULL, *result = NULL;
    if (tape_is_reference(tape)) {
        result = call_device_numbers(call, 2, softmax->n);
        if (!result || result->integer) return NULL;
    }
    mask = node_new_integer(tape, DT_BOOL, softmax->rank, softmax->shape);
    for (size_t i = 0; !tape_failed(tape) && i < mask->n; i++) {
        mask->integer[i] = result ? result->value[i] != 0
                                  : random_uniform(call, i) >= call_real(call, "prob");
        /* The least numbers of float16, which it may be computed in, vanish. */
        kept[i] = softmax->value[i] < 0x1p-23 ? NAN : (double)mask->integer[i];
    }
    return mask;
}

/* softmax(x1 + alpha self) along dim, and dropout of it: mask, softmax, result. */
static void dropout_with_add_softmax(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *added = call_tensor(call, "x1");
    double p = call_real(call, "prob");
    if (!call_require(call, !x->integer && !added->integer && x->n && p >= 0 && p < 1,
                      "floats and a probability below 1 are needed"))
        return;
    struct node *z = node_add(tape, added, node_scale(tape, x, call_real(call, "alpha")));
    struct node *softmax = node_softmax(tape, z, call_dim(call, "dim", z->rank));
    const struct tensor *bits = call_device_output(call, 0);
    int64_t bytes = ((int64_t)softmax->n + 127) / 128 * 128,
            last = z->rank ? z->shape[z->rank - 1] : 1;
    double *kept = tape_allocate(tape, softmax->n, sizeof *kept);
    struct kept *law = tape_allocate(tape, 1, sizeof *law);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    const double *likely = node_values(tape, softmax);
    if (tape_failed(tape)) return;
    struct node *mask = mask_of_result(call, softmax, kept), *drawn = NULL;
    if (!mask)
        for (size_t i = 0; i < softmax->n; i++) kept[i] = NAN;
    *law = (struct kept){ kept, p, softmax->n, (size_t)last };
    *property =
        (struct bench_property){ "what is dropped, independent draws within 6.2 sigma (1e-9)",
                                 kept_holds, law };
    if (!tape_is_reference(tape)) drawn = node_integer_constant(tape, DT_U8, 0, 1, &bytes);
    call_return_random(call, drawn, DT_U8, bits ? bits->rank : 1, bits ? bits->shape : &bytes,
                       property);
    call_return_typed(call, softmax, added->dtype);
    struct node *scaled = node_divide(tape, softmax, node_scalar(tape, 1 - p));
    if (mask) {
        call_return_typed(call, node_select(tape, mask, scaled, node_scalar(tape, 0)), x->dtype);
        return;
    }
    struct dropout d = {
        .x = likely, .p = p, .scale = 1 / (1 - p), .roundings = 2, .n = softmax->n, .channel = 1
    };
    call_return_random(call, NULL, x->dtype, softmax->rank, softmax->shape,
                       dropout_property(tape, d));
}

/* clang-format off */
#define FACTORY(names, arguments, detail, kind) \
    { names, TORCH, arguments ", *, ScalarType? dtype=None, ...)", factory, OP_RANDOM | OP_NO_GRADIENT, detail, kind }
#define FILL(name, arguments, row) \
    { name, TENSOR, "(Tensor input" arguments ", *, ...)", fill_in_place, OP_RANDOM | OP_NO_GRADIENT, row, NULL }
#define DROPOUT(names, groups, arguments, lead, flag) \
    { names, groups, arguments, dropout, OP_RANDOM | OP_ONE_NODE, lead, flag }
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
    DROPOUT("dropout", FUNCTIONAL, "(Tensor input, float p=0.5, bool training=True, bool inplace=False)", 0, "training"),
    DROPOUT("dropout", TORCH, "(Tensor input, float p, bool train)", 0, "train"),
    /* The mask that it returns too has bits in an order of its own: it is not judged. */
    DROPOUT("_npu_dropout", NPU, "(Tensor input, float p, *, bool train=True)", 0, "train"),
    DROPOUT("dropout1d|dropout2d|dropout3d", FUNCTIONAL, "(Tensor input, float p=0.5, bool training=True, bool inplace=False)", 2, "training"),
    DROPOUT("feature_dropout", TORCH, "(Tensor input, float p, bool train)", 2, "train"),
    DROPOUT("alpha_dropout", FUNCTIONAL, "(Tensor input, float p=0.5, bool training=False, bool inplace=False)", 1, "training"),
    DROPOUT("feature_alpha_dropout", FUNCTIONAL, "(Tensor input, float p=0.5, bool training=False, bool inplace=False)", 3, "training"),
    DROPOUT("alpha_dropout", TORCH, "(Tensor input, float p, bool train)", 1, "train"),
    DROPOUT("feature_alpha_dropout", TORCH, "(Tensor input, float p, bool train)", 3, "train"),
    { "npu_dropout_with_add_softmax", NPU, "(Tensor self, Tensor x1, Scalar alpha, float prob, int dim)", dropout_with_add_softmax, OP_RANDOM | OP_ONE_NODE, 0, NULL },
    { "native_dropout", ATEN, "(Tensor input, float p, bool? train)", dropout_with_mask, OP_RANDOM | OP_ONE_NODE, 0, NULL },
    { "_fused_dropout", ATEN, "(Tensor input, float p, Generator? generator=None)", dropout_with_mask, OP_RANDOM | OP_ONE_NODE, 1, NULL },
    { "native_dropout_backward", ATEN, "(Tensor grad_output, Tensor mask, float scale)", dropout_by_mask_backward, OP_ONE_NODE, 0, NULL },
    { "_masked_scale", ATEN, "(Tensor grad_output, Tensor mask, float scale)", dropout_by_mask_backward, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(random);
