/* Normalizations: batch, layer, group, instance, rms, local response, and their native forms
 * with saved statistics. All are (x - mean) * rstd * weight + bias over some dimensions. */
#include "bench/ops/normalization.h"

#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/ops/integers.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/taps.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/updated_moments.h"

struct node *per_channel(struct tape *tape, struct node *vector, const struct node *x)
{
    int64_t shape[TENSOR_MAX_RANK];
    for (int d = 0; d < x->rank; d++) shape[d] = 1;
    if (x->rank > 1) shape[1] = -1;
    else shape[0] = -1;
    return node_reshape(tape, vector, x->rank, shape);
}

static bool is_finite(struct tape *tape, struct node *x)
{
    const double *value = x ? node_values(tape, x) : NULL;
    for (size_t i = 0; value && !tape_failed(tape) && i < x->n; i++)
        if (!isfinite(value[i])) return false;
    return true;
}

struct node *scale_and_shift(struct tape *tape, struct node *y, struct node *weight,
                             struct node *bias)
{
    if (weight) y = node_multiply(tape, y, weight);
    if (bias) y = node_add(tape, y, bias); /* or bias - mean * scale first */
    if (!tape_is_model(tape)) return y;
    /* Infinite scales make an infinite x scale + (bias - mean scale) NaN. */
    if (!is_finite(tape, weight) || !is_finite(tape, bias))
        y = node_model_open_at_infinity(tape, y);
    return bias ? node_model_own_error(tape, y, node_broadcast(tape, bias, y->rank, y->shape), 2)
                : y;
}

/* The dtype that statistics are returned in. */
static enum dtype statistics_dtype(const struct node *x)
{
    return x->dtype == DT_F64 ? DT_F64 : DT_F32;
}

/* Dimensions other than the channel. */
static uint32_t all_but_channel(const struct node *x) { return all_dims(x) & ~2u; }

static struct node *flattened(struct tape *tape, struct node *x)
{
    int64_t shape[1] = { (int64_t)x->n };
    return node_reshape(tape, x, 1, shape);
}

static struct node *normalize_by_running(struct call *call, struct node *x, double eps,
                                         struct node **mean, struct node **rstd,
                                         struct node *weight, struct node *bias)
{
    struct tape *tape = call->tape;
    struct node *m = per_channel(tape, call_tensor(call, "running_mean"), x);
    struct node *variance = per_channel(tape, call_tensor(call, "running_var"), x);
    struct node *r = node_apply(tape, "rsqrt", node_offset(tape, variance, eps));
    struct node *y = node_multiply(tape, node_subtract(tape, x, m), r);
    *mean = m;
    *rstd = r;
    return scale_and_shift(tape, compose_folded(tape, y, x, m, r), weight, bias);
}

/* Batch statistics or, when not training, the running ones. Returns y; mean and rstd as (C). */
static struct node *batch_normalize(struct call *call, struct node *x, bool training, double eps,
                                    struct node **mean, struct node **rstd)
{
    struct tape *tape = call->tape;
    struct node *m, *r, *y;
    *mean = *rstd = x;
    if (x->rank == 1 && !x->n) return x; /* nothing is normalised */
    if (!call_require(call, x->rank >= 2, "batch_norm needs at least two dimensions")) return x;
    struct node *weight = call_optional_tensor(call, "weight"),
                *bias = call_optional_tensor(call, "bias");
    if (weight) weight = per_channel(tape, weight, x);
    if (bias) bias = per_channel(tape, bias, x);
    if (training)
        y = scale_and_shift(tape, compose_normalize(tape, x, all_but_channel(x), eps, &m, &r),
                            weight, bias);
    else y = normalize_by_running(call, x, eps, &m, &r, weight, bias);
    *mean = flattened(tape, m);
    *rstd = flattened(tape, r);
    return y;
}

/* detail 1: also return the saved mean and rstd (native_batch_norm). */
static void batch_norm(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *mean, *rstd;
    bool training = call_bool(call, "training") ||
                    (!call->op->detail && call_is_none(call, "running_mean"));
    struct node *y = batch_normalize(call, x, training, call_real(call, "eps"), &mean, &rstd);
    call_return_typed(call, y, x->dtype);
    if (!call->op->detail) return;
    enum dtype saved = statistics_dtype(x);
    if (!training) {
        int64_t none[1] = { 0 };
        mean = rstd = node_constant(call->tape, saved, 0, 1, none);
    }
    call_return_typed(call, mean, saved);
    call_return_typed(call, rstd, saved);
}

static void instance_norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *y;
    const char *own = call->op->text; /* name of the flag */
    struct node *weight = call_optional_tensor(call, "weight"),
                *bias = call_optional_tensor(call, "bias"), *mean, *rstd;
    double eps = call_real(call, "eps");
    if (weight) weight = per_channel(tape, weight, x);
    if (bias) bias = per_channel(tape, bias, x);
    if (call_bool(call, own)) {
        uint32_t dims = all_dims(x) & ~3u;
        y = scale_and_shift(tape, compose_normalize(tape, x, dims, eps, NULL, NULL), weight, bias);
    } else {
        y = normalize_by_running(call, x, eps, &mean, &rstd, weight, bias);
    }
    call_return_typed(call, y, x->dtype);
}

uint32_t normalized_dims(struct call *call, const struct node *x)
{
    int64_t shape[TENSOR_MAX_RANK];
    int count = call_ints(call, "normalized_shape", shape, TENSOR_MAX_RANK);
    bool fits = count <= x->rank;
    for (int i = 0; i < count && fits; i++) fits = x->shape[x->rank - count + i] == shape[i];
    if (!fits) call_fail(call, "normalized_shape does not match the input");
    return fits ? last_dims(x, count) : 0;
}

static void layer_norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mean, *rstd;
    uint32_t dims = normalized_dims(call, x);
    struct node *y = compose_normalize(tape, x, dims, call_real(call, "eps"), &mean, &rstd);
    y = compose_folded_gradient(tape, y, dims, mean, rstd);
    y = scale_and_shift(tape, y, call_optional_tensor(call, "weight"),
                        call_optional_tensor(call, "bias"));
    call_return_typed(call, y, x->dtype);
    if (!call->op->detail) return;
    enum dtype saved = statistics_dtype(x);
    call_return_typed(call, mean, saved);
    call_return_typed(call, rstd, saved);
}

static void rms_norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    /* eps None: the machine epsilon of the input's dtype. */
    double eps = call_is_none(call, "eps")
                     ? dtype_ulp(dtype_is_float(x->dtype) ? x->dtype : DT_F32, 1)
                     : call_real(call, "eps");
    struct node *square = node_multiply(tape, x, x);
    struct node *r =
        node_apply(tape, "rsqrt",
                   node_offset(tape, node_mean(tape, square, normalized_dims(call, x), true), eps));
    struct node *y = node_multiply(tape, x, r);
    call_return_typed(call, scale_and_shift(tape, y, call_optional_tensor(call, "weight"), NULL),
                      x->dtype);
}

struct node *normalize_groups(struct call *call, struct node *x, int64_t groups, double eps,
                              struct node **mean, struct node **rstd)
{
    struct tape *tape = call->tape;
    *mean = *rstd = x;
    if (!call_require(call, groups >= 1 && x->rank >= 2 && x->shape[1] % groups == 0,
                      "%lld channels do not divide into %lld groups",
                      x->rank > 1 ? (long long)x->shape[1] : 0LL, (long long)groups))
        return x;
    int64_t rest = x->shape[1] / groups, shape[3] = { x->shape[0], groups, 1 };
    for (int d = 2; d < x->rank; d++) rest *= x->shape[d];
    shape[2] = rest;
    struct node *y = compose_normalize(tape, node_reshape(tape, x, 3, shape), 4, eps, mean, rstd);
    y = compose_folded_gradient(tape, y, 4, *mean, *rstd);
    y = node_reshape(tape, y, x->rank, x->shape);
    struct node *weight = call_optional_tensor(call, "weight"),
                *bias = call_optional_tensor(call, "bias");
    return scale_and_shift(tape, y, weight ? per_channel(tape, weight, x) : NULL,
                           bias ? per_channel(tape, bias, x) : NULL);
}

static void group_norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mean, *rstd;
    int64_t groups = call_int(call, call->op->detail ? "group" : "num_groups");
    struct node *y = normalize_groups(call, x, groups, call_real(call, "eps"), &mean, &rstd);
    call_return_typed(call, y, x->dtype);
    if (!call->op->detail) return;
    int64_t shape[2] = { x->shape[0], groups };
    enum dtype saved = statistics_dtype(x);
    call_return_typed(call, node_reshape(tape, mean, 2, shape), saved);
    call_return_typed(call, node_reshape(tape, rstd, 2, shape), saved);
}

/* x / (k + alpha / size * sum of squares of the channels around)^beta, x itself where it is empty. The mean of the squares of integers is one: avg_pool divides
 * in their dtype. */
static void local_response_norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_float_type(call, &x, 1);
    int64_t size = call_int(call, "size");
    if (!call_require(call, x->rank >= 3 && size >= 1,
                      "local_response_norm needs three dimensions and a positive size"))
        return;
    if (!x->n) {
        call_return(call, x);
        return;
    }
    int64_t channels = x->shape[1], below = size / 2, above = (size - 1) / 2;
    int64_t *start = tape_allocate(tape, 2 * (size_t)channels, sizeof *start);
    if (!start) return;
    int64_t *end = start + channels;
    for (int64_t c = 0; c < channels; c++) { /* windows of channels, cut at the ends */
        start[c] = below < c ? c - below : 0;
        end[c] = above < channels - 1 - c ? c + above + 1 : channels;
    }
    struct node *sum =
        node_taps(tape, node_multiply(tape, x, x), 1,
                  taps_windows(tape, (size_t)channels, (size_t)channels, start, end));
    double count = (double)size;
    if (x->integer) {
        struct node *divisor = node_integer_constant(tape, DT_I64, size, 0, NULL);
        sum = node_integer_binary(tape, DT_I64, truncated_quotient,
                                  node_to_integer(tape, sum, DT_I64), divisor);
        count = 1;
    }
    struct node *base = node_offset(tape, node_scale(tape, sum, call_real(call, "alpha") / count),
                                    call_real(call, "k"));
    struct node *power = node_apply2(tape, "pow", base, node_scalar(tape, call_real(call, "beta")));
    call_return_typed(call, node_divide(tape, x, power), dtype);
}

/* Mean and rstd per channel of a batch: batch_norm_stats. */
static void batch_norm_stats(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mean, *rstd;
    (void)compose_normalize(tape, x, all_but_channel(x), call_real(call, "eps"), &mean, &rstd);
    enum dtype saved = statistics_dtype(x);
    call_return_typed(call, flattened(tape, mean), saved);
    call_return_typed(call, flattened(tape, rstd), saved);
}

/* (x - mean) * invstd * weight + bias with given statistics: batch_norm_elemt. */
static void batch_norm_elementwise(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct node *weight = call_optional_tensor(call, "weight"),
                *bias = call_optional_tensor(call, "bias");
    struct node *d = node_subtract(tape, x, per_channel(tape, call_tensor(call, "mean"), x));
    struct node *y = node_multiply(tape, d, per_channel(tape, call_tensor(call, "invstd"), x));
    y = scale_and_shift(tape, y, weight ? per_channel(tape, weight, x) : NULL,
                        bias ? per_channel(tape, bias, x) : NULL);
    call_return_typed(call, y, x->dtype);
}

/* The mean of each channel and the sum of squared deviations from it, divided by the elements less `correction`. */
static struct node *channel_variance(struct tape *tape, struct node *x, double correction,
                                     struct node **mean)
{
    uint32_t dims = all_but_channel(x);
    struct node *m = node_mean(tape, x, dims, true), *d = node_subtract(tape, x, m);
    struct node *total = node_sum(tape, node_multiply(tape, d, d), dims, true);
    double count = (double)x->n / (double)m->n;
    *mean = updated_mean(tape, m, total, count);
    return node_divide(tape, updated_total(tape, total, *mean, count),
                       node_scalar(tape, count - correction));
}

/* New running mean and variance: batch_norm_update_stats. */
static void batch_norm_update_stats(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mean;
    struct node *variance = channel_variance(tape, x, 0, &mean);
    enum dtype saved = statistics_dtype(x);
    call_return_typed(call, flattened(tape, mean), saved);
    call_return_typed(call, flattened(tape, variance), saved);
}

/* The statistics of several ranks joined: mean and invstd over all of them. The counts are one
 * number or one per rank. */
static void batch_norm_gather_stats(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *means = call_tensor(call, "mean");
    struct node *invstds = call_tensor(call, "invstd"), *counts;
    int64_t column[2] = { -1, 1 };
    if (call->op->detail)
        counts = node_reshape(tape, node_to_real(tape, call_tensor(call, "counts")), 2, column);
    else counts = node_scalar(tape, (double)call_int(call, "count"));
    struct node *ranks = node_constant(tape, DT_F64, 1, means->rank, means->shape);
    struct node *weights = node_multiply(tape, ranks, counts);
    struct node *total = node_sum(tape, weights, 1, true);
    struct node *mean =
        node_divide(tape, node_sum(tape, node_multiply(tape, weights, means), 1, true), total);
    struct node *variance = node_offset(
        tape, node_apply2(tape, "pow", invstds, node_scalar(tape, -2)), -call_real(call, "eps"));
    struct node *d = node_subtract(tape, means, mean);
    struct node *second = node_add(tape, variance, node_multiply(tape, d, d));
    variance =
        node_divide(tape, node_sum(tape, node_multiply(tape, weights, second), 1, true), total);
    struct node *r = node_apply(tape, "rsqrt", node_offset(tape, variance, call_real(call, "eps")));
    enum dtype saved = statistics_dtype(x);
    call_return_typed(call, flattened(tape, mean), saved);
    call_return_typed(call, flattened(tape, r), saved);
}

/* sum dy, sum dy (x - mean), and the gradients of weight and bias. */
static void batch_norm_backward_reduce(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *dy = call_tensor(call, "grad_out"), *x = call_tensor(call, "input");
    struct node *mean = call_tensor(call, "mean"), *invstd = call_tensor(call, "invstd");
    uint32_t dims = all_but_channel(x);
    struct node *d = node_subtract(tape, x, per_channel(tape, mean, x));
    struct node *sum = flattened(tape, node_sum(tape, dy, dims, true));
    struct node *product = flattened(tape, node_sum(tape, node_multiply(tape, dy, d), dims, true));
    enum dtype saved = statistics_dtype(x);
    call_return_typed(call, sum, saved);
    call_return_typed(call, product, saved);
    call_return_typed(call, node_multiply(tape, product, invstd), saved);
    call_return_typed(call, sum, saved);
}

/* dx from those sums over all ranks: (dy - sum/N - (x - mean) invstd^2 sum_xmu/N) invstd weight. */
static void batch_norm_backward_elementwise(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *dy = call_tensor(call, "grad_out"), *x = call_tensor(call, "input");
    struct node *invstd = per_channel(tape, call_tensor(call, "invstd"), x);
    struct node *d = node_subtract(tape, x, per_channel(tape, call_tensor(call, "mean"), x));
    struct node *weight = call_optional_tensor(call, "weight");
    struct node *sum = per_channel(tape, call_tensor(call, "sum_dy"), x);
    struct node *product = per_channel(tape, call_tensor(call, "sum_dy_xmu"), x);
    struct node *count = node_sum(tape, node_to_real(tape, call_tensor(call, "count")), ~0u, false);
    struct node *spread =
        node_multiply(tape, node_multiply(tape, invstd, invstd), node_divide(tape, product, count));
    struct node *dx = node_subtract(tape, node_subtract(tape, dy, node_divide(tape, sum, count)),
                                    node_multiply(tape, d, spread));
    dx = node_multiply(tape, dx, invstd);
    call_return_typed(call, weight ? node_multiply(tape, dx, per_channel(tape, weight, x)) : dx,
                      x->dtype);
}

/* ---- gradients by saved statistics ---------------------------------------------------------- */

/* For y = (x - mean) rstd, the statistics being those of x over `dims`:
 * rstd (c - mean(c) - y mean(c y)). */
static void normalized_gradient(struct tape *tape, struct node *y, struct node *cotangent,
                                const void *parameters)
{
    const uint32_t *dims = parameters;
    struct node *x = y->inputs[1], *rstd = y->inputs[2];
    struct node *along = node_mean(tape, node_multiply(tape, cotangent, y), *dims, true);
    struct node *centred = node_subtract(tape, cotangent, node_mean(tape, cotangent, *dims, true));
    struct node *rest = node_subtract(tape, centred, node_multiply(tape, y, along));
    tape_accumulate(tape, x, node_multiply(tape, rest, rstd));
}

/* (x - mean) rstd, the statistics as the forward returned them: rounded, so not quite those of x. */
static struct node *normalized_by(struct tape *tape, struct node *x, struct node *mean,
                                  struct node *rstd, uint32_t dims)
{
    uint32_t *kept = tape_allocate(tape, 1, sizeof *kept);
    if (!kept) return x;
    *kept = dims;
    struct node *y = node_multiply(tape, node_subtract(tape, x, mean), rstd);
    y = compose_folded(tape, node_detach(tape, y), x, mean, rstd);
    return node_stated_gradient(tape, y, 2, (struct node *[]){ x, rstd }, normalized_gradient,
                                kept);
}

/* The gradients of x, weight and bias, which are tracked, of y weight + bias; `channels`: one for each
 * channel. A weight that the call lacks has a gradient only where `always`. */
static void return_affine_gradients(struct call *call, struct node *x, struct node *y,
                                    struct node *weight, struct node *bias, bool channels,
                                    bool always)
{
    struct tape *tape = call->tape;
    struct node *gradients[3] = { x, weight, bias };
    y = scale_and_shift(tape, y, channels ? per_channel(tape, weight, y) : weight,
                        channels ? per_channel(tape, bias, y) : bias);
    call_pull_back(call, y, call_tensor(call, "grad_out"), 3, gradients);
    for (int k = 0; k < 3; k++)
        if (call_wants_output(call, (size_t)k) &&
            (k != 1 || always || !call_is_none(call, "weight")))
            call_return(call, gradients[k]);
        else call_return_none(call);
}

/* The weight of the call, or ones of this shape. */
static struct node *tracked_weight(struct call *call, enum dtype dtype, int rank,
                                   const int64_t *shape)
{
    struct node *weight = call_optional_tensor(call, "weight");
    if (!weight) weight = node_constant(call->tape, dtype, 1, rank, shape);
    return node_tracked(call->tape, weight);
}

static void layer_norm_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_tracked(tape, node_to_real(tape, call_tensor(call, "input")));
    uint32_t dims = normalized_dims(call, x);
    if (tape_failed(tape)) return;
    int rank = __builtin_popcount(dims);
    const int64_t *shape = x->shape + x->rank - rank;
    struct node *weight = tracked_weight(call, x->dtype, rank, shape);
    struct node *bias = node_tracked_zero(tape, weight->dtype, rank, shape);
    struct node *y =
        normalized_by(tape, x, call_tensor(call, "mean"), call_tensor(call, "rstd"), dims);
    return_affine_gradients(call, x, y, weight, bias, false, false);
}

/* detail 1: cuDNN's, which is for training alone. */
static void batch_norm_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_tracked(tape, node_to_real(tape, call_tensor(call, "input"))), *y;
    if (!call_require(call, x->rank >= 2, "batch_norm needs at least two dimensions")) return;
    bool cudnn = call->op->detail;
    struct node *weight = tracked_weight(call, x->dtype, 1, &x->shape[1]);
    struct node *bias = node_tracked_zero(tape, weight->dtype, 1, &x->shape[1]);
    if (cudnn || call_bool(call, "train")) {
        struct node *mean = call_tensor(call, "save_mean");
        struct node *rstd = call_tensor(call, cudnn ? "save_var" : "save_invstd");
        y = normalized_by(tape, x, per_channel(tape, mean, x), per_channel(tape, rstd, x),
                          all_but_channel(x));
    } else {
        struct node *mean, *rstd;
        y = normalize_by_running(call, x, call_real(call, "eps"), &mean, &rstd, NULL, NULL);
    }
    return_affine_gradients(call, x, y, weight, bias, true, true);
}

/* Statistics of shape (N, groups), of whatever shape x has with its N x C x HxW elements. */
static void group_norm_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_tracked(tape, node_to_real(tape, call_tensor(call, "input")));
    int64_t batch = call_int(call, "N"), channels = call_int(call, "C"),
            groups = call_int(call, "group");
    if (!call_require(call,
                      x->rank >= 2 && x->shape[0] == batch && x->shape[1] == channels &&
                          groups >= 1 && channels % groups == 0,
                      "N, C and group do not fit the input"))
        return;
    int64_t grouped[3] = { batch, groups, batch && groups ? (int64_t)x->n / batch / groups : 0 };
    int64_t saved[3] = { batch, groups, 1 };
    struct node *weight = tracked_weight(call, x->dtype, 1, &channels);
    struct node *bias = node_tracked_zero(tape, weight->dtype, 1, &channels);
    struct node *y = normalized_by(tape, node_reshape(tape, x, 3, grouped),
                                   node_reshape(tape, call_tensor(call, "mean"), 3, saved),
                                   node_reshape(tape, call_tensor(call, "rstd"), 3, saved), 4);
    return_affine_gradients(call, x, node_reshape(tape, y, x->rank, x->shape), weight, bias, true,
                            false);
}

/* ---- aten's further forms of batch_norm ----------------------------------------------------- */

/* The running statistics after this batch: (1 - momentum) running + momentum batch, the variance
 * unbiased. */
static void return_updated(struct call *call, struct node *x, const char *name, bool variance)
{
    struct tape *tape = call->tape;
    struct node *running = call_tensor(call, name), *batch;
    double momentum = call_real(call, "momentum");
    struct node *second = channel_variance(tape, x, 1, &batch);
    if (variance) batch = second;
    struct node *keep = node_subtract(tape, node_scalar(tape, 1), node_scalar(tape, momentum));
    struct node *updated = node_add(tape, node_multiply(tape, running, keep),
                                    node_scale(tape, flattened(tape, batch), momentum));
    call_return_typed(call, updated, running->dtype);
}

/* native_batch_norm whose new running statistics are results. */
static void batch_norm_functional(struct call *call)
{
    struct node *x = node_to_real(call->tape, call_tensor(call, "input"));
    batch_norm(call);
    if (tape_failed(call->tape)) return;
    bool training = call_bool(call, "training");
    static const char *const names[] = { "running_mean", "running_var" };
    for (int k = 0; k < 2; k++)
        if (training) return_updated(call, x, names[k], k == 1);
        else call_return(call, call_tensor(call, names[k]));
}

/* With the rstd of the batch as `save_var`, and memory that the gradient's kernel needs. */
static void cudnn_batch_norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mean, *rstd;
    struct node *y = batch_normalize(call, x, call_bool(call, "training"),
                                     call_real(call, "epsilon"), &mean, &rstd);
    int64_t none = 0;
    if (!call_bool(call, "training")) mean = rstd = node_constant(tape, DT_F32, 0, 1, &none);
    call_return_typed(call, y, x->dtype);
    call_return_typed(call, mean, statistics_dtype(x));
    call_return_typed(call, rstd, statistics_dtype(x));
    call_return_none(call);
}

/* clang-format off */
#define RUNNING "Tensor? running_mean=None, Tensor? running_var=None"
const struct op ops_norm[] = {
    { "batch_norm", FUNCTIONAL, "(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05)", batch_norm, OP_ONE_NODE, 0, NULL },
    { "batch_norm", TORCH, "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float? momentum, float eps, bool cudnn_enabled=True)", batch_norm, OP_ONE_NODE, 0, NULL },
    { "native_batch_norm", TORCH, "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps)", batch_norm, OP_ONE_NODE, 1, NULL },
    { "_batch_norm_impl_index", TORCH, "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled)", batch_norm, 0, 1, NULL },
    { "instance_norm", FUNCTIONAL, "(Tensor input, " RUNNING ", Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05)", instance_norm, 0, 0, "use_input_stats" },
    { "instance_norm", TORCH, "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled=True)", instance_norm, 0, 0, "use_input_stats" },
    { "layer_norm", FUNCTIONAL | TORCH, "(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True)", layer_norm, OP_ONE_NODE, 0, NULL },
    { "native_layer_norm", TORCH, "(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps)", layer_norm, OP_ONE_NODE, 1, NULL },
    { "rms_norm", FUNCTIONAL | TORCH, "(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)", rms_norm, 0, 0, NULL },
    { "group_norm", FUNCTIONAL | TORCH, "(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True)", group_norm, OP_ONE_NODE, 0, NULL },
    { "native_group_norm", TORCH, "(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps)", group_norm, OP_ONE_NODE, 1, NULL },
    { "local_response_norm", FUNCTIONAL, "(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0)", local_response_norm, 0, 0, NULL },
    { "batch_norm_stats", TORCH, "(Tensor input, float eps)", batch_norm_stats, OP_NO_GRADIENT, 0, NULL },
    { "batch_norm_elemt", TORCH, "(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float eps)", batch_norm_elementwise, OP_NO_GRADIENT, 0, NULL },
    { "batch_norm_update_stats", TORCH, "(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum)", batch_norm_update_stats, OP_NO_GRADIENT, 0, NULL },
    { "batch_norm_gather_stats", TORCH, "(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, float momentum, float eps, int count)", batch_norm_gather_stats, OP_NO_GRADIENT, 0, NULL },
    { "batch_norm_gather_stats_with_counts", TORCH, "(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, float momentum, float eps, Tensor counts)", batch_norm_gather_stats, OP_NO_GRADIENT, 1, NULL },
    { "batch_norm_backward_reduce", TORCH, "(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, bool input_g, bool weight_g, bool bias_g)", batch_norm_backward_reduce, OP_NO_GRADIENT, 0, NULL },
    { "batch_norm_backward_elemt", TORCH, "(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, Tensor sum_dy, Tensor sum_dy_xmu, Tensor count)", batch_norm_backward_elementwise, OP_NO_GRADIENT, 0, NULL },
    /* aten */
    { "native_layer_norm_backward", ATEN, "(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[] output_mask)", layer_norm_backward, OP_NO_GRADIENT, 0, NULL },
    { "native_batch_norm_backward", ATEN, "(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[] output_mask)", batch_norm_backward, OP_NO_GRADIENT, 0, NULL },
    { "cudnn_batch_norm_backward", ATEN, "(Tensor input, Tensor grad_out, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var, float epsilon, Tensor? reserveSpace)", batch_norm_backward, OP_NO_GRADIENT, 1, NULL },
    { "native_group_norm_backward", ATEN, "(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group, bool[] output_mask)", group_norm_backward, OP_NO_GRADIENT, 0, NULL },
    { "_native_batch_norm_legit", ATEN, "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps)", batch_norm, OP_ONE_NODE, 1, NULL },
    { "_native_batch_norm_legit", ATEN, "(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps, *, Tensor? running_mean=None, Tensor? running_var=None)", batch_norm, OP_ONE_NODE, 1, NULL },
    { "_native_batch_norm_legit_functional", ATEN, "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps)", batch_norm_functional, OP_NO_GRADIENT, 1, NULL },
    { "_native_batch_norm_legit_no_training", ATEN, "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps, *, bool training=False)", batch_norm, OP_ONE_NODE, 1, NULL },
    { "cudnn_batch_norm", ATEN, "(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float exponential_average_factor, float epsilon)", cudnn_batch_norm, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(norm);
