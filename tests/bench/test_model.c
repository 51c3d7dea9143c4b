/* The model of a legitimate kernel against a kernel: BENCH_NATIVE computes as a device does, and what
 * it returns must lie within `kernel_bound` of the exact value, its last rounding apart.
 *
 *   |native - exact| <= kernel_bound + rounding to the dtype (half an ulp of what was rounded)
 *
 * for every output and gradient of every sample. `kernel_rms` is no bound; its property is
 * statistical: over all elements of an API the root mean square of error / kernel_rms stays below 1.5.
 *
 * `bench-model NAME` runs the samples whose API contains NAME.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/evaluation.h"
#include "bench/samples.h"
#include "support/suite.h"

static const char *filter;

enum { MOST_COMPLAINTS = 400 };

struct tally {
    size_t samples, tensors, elements, wrong, without;
    double ratio_squares; /* of (error beyond the rounding) / kernel_rms */
    size_t ratios;
};

/* Half an ulp of the dtype at a value off by at most `slack`, and the first ulps of an overflow. */
static double rounding_of(enum dtype dtype, double value, double slack)
{
    double magnitude = fabs(value) + slack;
    const struct dtype_info *info = dtype_info(dtype);
    if (magnitude > info->largest) magnitude = info->largest;
    return dtype_ulp(dtype, magnitude) / 2 * (1 + 0x1p-20);
}

static void check_tensor(struct tally *tally, const struct sample *sample, const char *what,
                         const struct reference *r, const struct value *native, struct arena *arena)
{
    if (r->integer || native->kind != VALUE_TENSOR) return;
    if (!r->kernel_bound || !r->kernel_rms) {
        tally->without++;
        return;
    }
    struct tensor dense;
    ck_assert_int_eq(tensor_densify(&dense, arena, native->tensor.tensor).code, 0);
    size_t n = tensor_elements(&dense) * (dtype_is_complex(dense.dtype) ? 2 : 1);
    double *got = arena_allocate_array(arena, n, sizeof *got);
    dtype_to_double(got, dense.data, dense.dtype, tensor_elements(&dense));
    ck_assert_uint_eq(n, r->n);
    tally->tensors++;
    for (size_t i = 0; i < n; i++) {
        double want = r->hi[i], error = fabs(got[i] - want);
        if (!isfinite(want) || fabs(want) + r->kernel_bound[i] > dtype_info(r->dtype)->largest)
            continue;
        double rounding = rounding_of(r->dtype, want, r->kernel_bound[i]);
        double allowed = (r->kernel_bound[i] + rounding) * (1 + 0x1p-20) + reference_bound(r, i);
        tally->elements++;
        if (r->kernel_rms[i] > 0 && isfinite(error)) {
            double own = fmax(error - rounding - reference_bound(r, i), 0);
            tally->ratio_squares += own / r->kernel_rms[i] * (own / r->kernel_rms[i]);
            tally->ratios++;
        }
        if (error <= allowed) continue;
        if (tally->wrong++ < MOST_COMPLAINTS)
            fprintf(
                stderr,
                "%-44s %s[%zu] native %.9g, exact %.9g: off by %.3g, model %.3g + rounding %.3g\n",
                sample->place, what, i, got[i], want, error, r->kernel_bound[i], rounding);
        return;
    }
}

static void check_sample(void *context, struct sample *sample, struct arena *arena)
{
    struct tally *tally = context;
    struct bench *reference, *native;
    struct value outputs, slopes;
    struct bench_output *gradients;
    size_t count;
    char what[64];

    if (bench_open(&reference, &sample->c, arena, BENCH_REFERENCE).code ||
        bench_model(reference).code || bench_open(&native, &sample->c, arena, BENCH_NATIVE).code ||
        bench_native_outputs(&outputs, native).code || bench_settle(reference, &outputs).code)
        return; /* the goldens' and the catalogue's tests complain */
    const struct op *op = bench_call(reference)->op;
    if (op->flags & OP_RANDOM) return;
    tally->samples++;
    for (size_t k = 0; k < bench_output_count(reference); k++) {
        if (bench_output(reference, k)->kind != BENCH_OUTPUT_TENSOR) continue;
        snprintf(what, sizeof what, "output %zu", k);
        check_tensor(tally, sample, what, &bench_output(reference, k)->reference,
                     &outputs.list.items[k], arena);
    }
    if (!sample->golden && !(op->flags & OP_NO_GRADIENT)) {
        struct numbers numbers = { 1 };
        sample_cotangents(&sample->c.cotangents, reference, arena, &numbers);
        sample->c.has_backward = true;
    }
    if (!sample->c.has_backward ||
        bench_backward(&gradients, &count, reference, &sample->c.cotangents).code ||
        bench_native_gradients(&slopes, native, &sample->c.cotangents).code)
        return;
    for (size_t k = 0; k < count; k++) {
        if (gradients[k].kind != BENCH_OUTPUT_TENSOR) continue;
        snprintf(what, sizeof what, "gradient %zu", k);
        check_tensor(tally, sample, what, &gradients[k].reference, &slopes.list.items[k], arena);
    }
}

START_TEST(native_results_lie_within_the_model)
{
    struct tally tally = { 0 };
    samples_each(filter, check_sample, &tally);
    double rms = tally.ratios ? sqrt(tally.ratio_squares / (double)tally.ratios) : 0;
    printf("%zu samples: %zu elements of %zu tensors, %zu beyond the model, %zu tensors without "
           "one; error "
           "/ kernel_rms has root mean square %.2f\n",
           tally.samples, tally.elements, tally.tensors, tally.wrong, tally.without, rms);
    ck_assert_uint_gt(tally.samples, 0);
    ck_assert_uint_eq(tally.wrong, 0);
}
END_TEST

/* What rounding leaves open is open in the model, and nothing else is: a bound is infinite at these elements of the first
 * gradient that is asked for (of argument `of`; -1: of the output), and finite at all others. */
static const struct {
    const char *call;
    int of;
    unsigned open; /* bits: the elements */
} unknowns[] = {
    /* What is infinite is NaN where a kernel folds an infinite scale, transforms tiles, or adds infinities in another order. */
    { "Functional.layer_norm(f32(1,2)[1 3], [2], f32(2)[inf 1])", -1, 0x1 },
    { "Functional.conv1d(f32(1,1,3)[inf 1 1], f32(1,1,2)[1 1])", -1, 0x1 },
    /* Of a largest element that is NaN. */
    { "Torch.max(f32(2)[nan 1])", 0, 0x1 },
    /* A sum that overflows on the way, 2 2^127 - 2^127, and one that is as large and cannot. */
    { "Torch.mm(f32(1,3)[0x1p127 0x1p127 -0x1p127], f32(3,1)[1 1 1])", -1, 0x1 },
    { "Torch.mm(f32(1,1)[0x1p127], f32(1,1)[1])", -1, 0 },
    /* exp(1000) is infinite, and what else a kernel makes of it its own business. */
    { "NPU.npu_dense_lightning_indexer_grad_kl_loss(f32(1,1,1,1)[0], f32(1,1,1,1)[0], "
      "f32(1,1,1,1)[1], f32(1,1,1,1)[1], f32(1,1,1)[1000], f32(1,1,1,1)[0], f32(1,1,1,1)[1], "
      "f32(1,1,1)[0], f32(1,1,1)[1], 1.0)",
      -1, 0x1 },
    /* Places between two inputs, on one, beyond the border, and on it. */
    { "Functional.grid_sample(f32(1,1,2,5)[1 2 4 3 1 2 2 9 1 0], f32(1,1,4,2)[0.3 0.4 0 0.4 7 0.4 "
      "-1 0.4], align_corners=True)",
      1, 0x44 },
    { "Functional.grid_sample(f32(1,1,2,5)[1 2 4 3 1 2 2 9 1 0], f32(1,1,4,2)[0.3 0.4 0 0.4 7 0.4 "
      "0.5 0.4], padding_mode=\"border\", align_corners=True)",
      1, 0x44 },
    /* A divisor that underflows. */
    { "Torch.atan2(f32(3)[1 1e-30 1e-21], f32(3)[1 1e-30 2])", 0, 0x2 },
    /* A matrix that rounding makes singular, and one that it does not. */
    { "Torch.linalg.inv(f32(2,2)[1 1 1 1.0000001])", -1, 0xf },
    { "Torch.linalg.inv(f32(2,2)[1 1 1 1.01])", -1, 0 },
    /* The largest of two components that are nearly equal. */
    { "Torch.cdist(f32(1,2)[1 3], f32(1,2)[0 0.5], inf)", 0, 0 },
    /* A root of what underflows, and a divisor that is 0 and exact. */
    { "Torch.std(f64(3)[1e-308 3e-309 2e-308])", 0, 0x7 },
    { "Torch.std(f64(3)[1e-100 3e-100 2e-100])", 0, 0 },
    { "Torch.sqrt(f32(2)[0 1])", 0, 0 },
    /* Inverses that overflow in float32, and what is singular in double. */
    { "Torch.linalg.inv(f32(2,2)[1e-39 0 0 1])", -1, 0xf },
    { "Torch.pinverse(f32(2,1)[1e-38 1e-39])", -1, 0x3 },
    /* A sum of gates that rounding may make 0. */
    { "Torch.rnn_relu_cell(f32(1,2)[0.1 -0.3], f32(1,1)[0], f32(1,2)[0.3 0.1], f32(1,1)[1])", 0,
      0x3 },
    /* A hinge next to its corner, from the side that passes nothing. */
    { "Functional.margin_ranking_loss(f32(1)[0.3], f32(1)[0.1], f32(1)[1]', 0.19999999)", 0, 0x1 },
    { "Functional.multilabel_margin_loss(f32(2)[0.1 1.1], i64(2)[1 -1])", 0, 0x3 },
    { "Functional.multilabel_margin_loss(f32(2)[0.1 0.8999999], i64(2)[0 -1])", 0, 0 },
    { "Functional.multi_margin_loss(f32(1,2)[0.3 0.1], i64(1)[0], margin=0.2)", 0, 0x3 },
    /* Errors beyond float16 are no overflow of a float32 kernel. */
    { "Torch.matmul(f16(1,2)[60000 60000], f16(2,1)[60000 60000])", -1, 0 },
    /* A slope that vectors and what is left over take from either side. */
    { "Functional.hardswish(f32(3)[3 2.9 -3])", 0, 0x1 },
    /* A pivot that errors choose. */
    { "Torch.lu_factor(f32(3,3)[3 1 2 3 1.0000001 5 3 1 7])", -1, 0x1f8 },
    /* Complex infinities, and an overflow times 0. */
    { "Torch.cos(c64(2)[inf 0 1 0])", -1, 0x3 },
    { "Torch.cos(c64(2)[inf 0 1 0])", 0, 0x3 },
    { "Torch.sinh(c64(2)[1e4 0 1 0])", -1, 0x3 },
    /* Exponents that a long line of logarithms rounds. */
    { "Torch.logcumsumexp(f32(4)[60000 0.5 -60000 59990], 0)", 0, 0 },
    /* What overflows as a result has the infinity of its sign; what is made of it may be anything, and so may sums. */
    { "Torch.div(f32(3)[1 -2 1e38], f32(3)[-1e-40 1e-40 -0.1])", -1, 0 },
    { "Torch.mul(f32(2)[1e30 1], f32(2)[-1e30 2])", -1, 0 },
    { "Torch.exp(f32(2)[100 1])", -1, 0 },
    { "Torch.add(f32(2)[3e38 1], f32(2)[3e38 2])", -1, 0 },
    { "Torch.addcdiv(f32(2)[1 1], f32(2)[1 1], f32(2)[-1e-40 2])", -1, 0x1 },
    { "Torch.addcmul(f32(2)[-3e38 1], f32(2)[3e30 1], f32(2)[3e30 1])", -1, 0x1 },
};

/* The output of a call or, with `of` >= 0, the gradient of that argument, with the model; `device`: a call whose arguments are what
 * a device returned, or NULL. */
static const struct reference *modelled_of(struct arena *arena, const char *call, int of,
                                           const char *device)
{
    struct numbers numbers = { 1 };
    struct sample *sample = arena_allocate_zeroed(arena, 1, sizeof *sample);
    struct sample *returned = arena_allocate_zeroed(arena, 1, sizeof *returned);
    struct bench *bench;
    struct bench_output *gradients;
    size_t count;

    ck_assert_ptr_null(sample_parse(sample, call, arena));
    ck_assert_int_eq(bench_open(&bench, &sample->c, arena, BENCH_REFERENCE).code, 0);
    if (device) {
        ck_assert_ptr_null(sample_parse(returned, device, arena));
        ck_assert_int_eq(bench_settle(bench, &returned->c.args).code, 0);
    }
    ck_assert_int_eq(bench_model(bench).code, 0);
    const struct reference *r = &bench_output(bench, 0)->reference;
    if (of >= 0) {
        sample_cotangents(&sample->c.cotangents, bench, arena, &numbers);
        sample->c.has_backward = true;
        ck_assert_int_eq(bench_backward(&gradients, &count, bench, &sample->c.cotangents).code, 0);
        ck_assert_uint_gt(count, (size_t)of);
        r = &gradients[of].reference;
    }
    ck_assert_ptr_nonnull(r->kernel_bound);
    return r;
}

static const struct reference *modelled(struct arena *arena, const char *call, int of)
{
    return modelled_of(arena, call, of, NULL);
}

/* Gradients that depend on a choice which the device's result does not show: bits of the elements that are open. */
static const struct {
    const char *call, *device;
    unsigned open;
} hidden[] = {
    { "Functional.rrelu(f32(3)[0 -1 2], 0.25, 0.75, True)", "Torch.abs(f32(3)[0 -0.5 2])", 0x1 },
    { "Functional.rrelu(f32(2)[inf -1], 0.25, 0.75, True)", "Torch.abs(f32(2)[inf -0.5])", 0 },
    { "Functional.grid_sample(f32(1,1,1,2)[1 1], f32(1,1,1,2)[0 0], mode=\"nearest\", "
      "align_corners=True)",
      "Torch.abs(f32(1,1,1,1)[1])", 0x3 },
    { "Functional.grid_sample(f32(1,1,1,2)[1 2], f32(1,1,1,2)[0 0], mode=\"nearest\", "
      "align_corners=True)",
      "Torch.abs(f32(1,1,1,1)[2])", 0 },
    /* Windows of three begin at 0, then 1 or 2, then 3. */
    { "Functional.fractional_max_pool2d(f32(1,1,6)[9 1 5 5 5 5], (1,3), (1,3))",
      "Torch.abs(f32(1,1,3)[9 5 5])", 0 },
    { "Functional.fractional_max_pool2d(f32(1,1,6)[9 5 5 5 5 5], (1,3), (1,3))",
      "Torch.abs(f32(1,1,3)[9 5 5])", 0x6 },
};

START_TEST(choices_that_a_result_does_not_show)
{
    struct arena arena = { 0 };
    const struct reference *r = modelled_of(&arena, hidden[_i].call, 0, hidden[_i].device);
    for (size_t k = 0; k < r->n; k++)
        ck_assert_msg(isfinite(r->hi[k]) &&
                          (unsigned)(r->kernel_bound[k] > 0.01) == (hidden[_i].open >> k & 1),
                      "%s, element %zu: %g off by %g", hidden[_i].call, k, r->hi[k],
                      r->kernel_bound[k]);
    arena_release(&arena);
}
END_TEST

/* How far a kernel may be off, from two sides: at least `reach` at the elements of `far`, at most `most` at all others. */
static const struct {
    const char *call;
    int of;
    unsigned far; /* bits: the elements */
    double reach, most;
} reaches[] = {
    /* What is inexact goes into lgamma, digamma and the quantiles with their slopes. */
    { "Torch.mvlgamma(f32(3)[6.9 3.1 20], 3)", -1, 0, 0, 1e-4 },
    { "Torch.mvlgamma(f32(3)[6.9 3.1 20], 3)", 0, 0, 0, 1e-3 },
    /* A quotient that rounding may take to the next integer is off by one. */
    { "Torch.floor_divide(f32(2)[-7 2.86], 0.7)", -1, 0x1, 0.9, 1e-5 },
    { "Torch.floor_divide(f32(2)[-7 2.86], 0.7)", -1, 0, 0, 1.1 },
    /* Singular vectors are off by the norm of the whole: 1e-4 beside 1 by 1e-7, its inverse by 10. */
    { "Torch.pinverse(f32(2,2)[1 0 0 1e-4])", -1, 0x8, 1, 0.1 },
    { "Torch.pinverse(f32(2,2)[1 0 0 0.5])", -1, 0, 0, 2e-5 },
    { "Torch.pinverse(f32(1,2)[1 1e-6])", -1, 0x3, 1e-7, 0 },
    { "Torch.pinverse(f32(1,2)[1 1e-6])", -1, 0, 0, 1e-5 },
    /* A kernel adds the logarithms of pivots, which cancel here. */
    { "Torch.logdet(f32(2,2)[1e30 0 0 1e-30])", -1, 0x1, 4e-6, 0 },
    { "Torch.logdet(f32(2,2)[1e30 0 0 1e-30])", -1, 0, 0, 5e-5 },
    /* Of a distance of 0 any slope from -1 to 1 is one. */
    { "Functional.smooth_l1_loss(f32(2)[1 2], f32(2)[1 1]', reduction=\"none\", beta=0.0)", 0, 0x1,
      0.02, 1e-6 },
    { "Functional.smooth_l1_loss(f32(2)[1 2], f32(2)[1 1]', reduction=\"none\", beta=0.0)", 0, 0, 0,
      10 },
    /* Which of equal elements came first is not returned. */
    { "Torch.msort(f32(5,1)[1 0 1 2 -0])", 0, 0x17, 1e30, 1e-6 },
    /* w t + 1 is rounded before t is taken from it. */
    { "Functional.binary_cross_entropy_with_logits(f32(1)[3], f32(1)[1]', reduction=\"sum\", "
      "pos_weight=f32(1)[0.001]')",
      0, 0x1, 1e-9, 0 },
    { "Functional.binary_cross_entropy_with_logits(f32(1)[3], f32(1)[1]', reduction=\"sum\")", 0, 0,
      0, 1e-6 },
    /* erf(y) is rounded as x is: Newton's step is off by a share of it. */
    { "Torch.erfinv(f32(3)[1e-8 0.001 -1e-20])", -1, 0, 0, 2e-9 },
    { "Torch.erfinv(f32(1)[0.9999])", -1, 1, 1e-4, 0 },
    /* What is cast to a narrower float first is computed in its arithmetic, and so is its gradient. */
    { "Functional.softmax(f64(3)[1.25 0.5 -3], 0, dtype=torch.float32)", -1, 0x3, 1e-8, 1e-7 },
    { "Functional.softmax(f64(3)[1.25 0.5 -3], 0, dtype=torch.float32)", 0, 0x3, 1e-9, 1e-6 },
    { "Torch.mean(f64(3)[0.1 0.7 0.4], 0, dtype=torch.float32)", -1, 0x3, 4e-9, 0 },
    { "Functional.softmax(f64(3)[1.25 0.5 -3], 0)", -1, 0, 0, 1e-15 },
    /* The loss may be x less its rounded logsumexp, 40. */
    { "Functional.cross_entropy(f32(1,2)[40 36.4], i64(1)[0])", -1, 1, 2e-6, 0 },
    /* Its gradient through softmax that was stored as a logarithm, 5, and one that adds up logarithms. */
    { "Functional.cross_entropy(f32(1,3)[0 5 -1], i64(1)[2])", 0, 1, 4.5e-10, 1 },
    /* exp(-101.5) is rounded to 6 subnormals before it is multiplied by 9. */
    { "Functional.cross_entropy(f32(1,2)[0 -101.5], i64(1)[0], f32(2)[9 9], reduction=\"sum\")", 0,
      0x2, 2.8e-45, 1e-6 },
    { "Torch.logcumsumexp(f32(4)[0 -30 1 40], 0)", 0, 1, 5e-6, 1 },
    /* Cotangents of the variance and of the values in one sum, whose terms repeat. */
    { "Functional.layer_norm(f32(1,8)[0 1 0 1 1 0 1 0], [8])", 0, 1, 1.5e-5, 1 },
    /* Slopes of cubic weights cancel, too. */
    { "Functional.grid_sample(f32(1,1,4,4), f32(1,1,1,2)[0.1 0.2], mode=\"bicubic\", "
      "padding_mode=\"zeros\", align_corners=False)",
      1, 1, 3.1e-6, 1 },
    /* What a step of logcumsumexp adds is more than it rounds. */
    { "Torch.logcumsumexp(f32(4)[60000 1 2 3], 0)", -1, 0, 0, 1e-3 },
    /* Components of a maximum norm that rounding may exchange take all of the gradient or nothing. */
    { "Functional.pairwise_distance(f32(1,3)[1 1.0000001 0.3], f32(1,3)[0 0 0], inf)", 0, 0x3, 0.05,
      1e-6 },
    /* The exponent less 1 is rounded: 25 log 20 units. */
    { "Torch.pow(f32(2)[1e-20 2], f32(2)[-0.30000001 2])", 0, 0x1, 1e7, 1e-4 },
    /* Products below 2^-1074 are lost, and multiplied by 1e5. */
    { "Torch.linalg.multi_dot([f64(1,1)[1e-200], f64(1,1)[1e-123], f64(1,1)[1e5]])", -1, 1, 1e-319,
      0 },
    /* (1 + erf(x / sqrt 2)) / 2 cancels; exp(y) underflows behind the gradient of its logarithm. */
    { "Torch.special.ndtr(f32(2)[-7 -0.1])", -1, 0x3, 1e-7, 0 },
    { "Torch.special.log_ndtr(f32(2)[-13.5 -1])", 0, 0x1, 2e-4, 1e-5 },
    /* The angle pi x is rounded, and pi before it. */
    { "Torch.sinc(f32(1)[5480.4658])", 0, 0x1, 1.25e-8, 0 },
    /* Slopes are formed from results next to 1, and inverse functions by logarithms of what is next to 1. */
    { "Torch.tanh(c64(1)[6 0])", 0, 0x1, 1e-8, 1e-4 },
    { "Torch.sigmoid(c64(1)[9 0])", 0, 0x1, 1e-8, 1e-5 },
    { "Torch.atan(c64(1)[1e-4 0])", -1, 0x1, 1e-7, 1e-5 },
    { "Torch.acosh(c64(1)[3 0])", -1, 0, 0, 1e-5 },
    /* 1 - x^2 beside 1, which cancels. */
    { "Torch.asin(f32(1)[0.9999])", 0, 0x1, 4e-4, 0 },
    { "Torch.acosh(f32(1)[1.0001])", 0, 0x1, 4e-4, 0 },
    { "Torch.atanh(f32(1)[0.9999])", 0, 0x1, 0.06, 0 },
    /* 1 - z^2 beside 1, its root in the function and the quotient of it in the slope. */
    { "Torch.asin(c64(1)[0.9999 0])", -1, 0x1, 1e-5, 1e-4 },
    { "Torch.asin(c64(1)[0.9999 0])", -1, 0, 0, 3e-4 },
    { "Torch.asin(c64(1)[0.9999 0])", 0, 0x1, 1e-4, 1 },
    { "Torch.atanh(c64(1)[0.999 0])", 0, 0x1, 1e-4, 1 },
    /* A place that rounding may take to the other side of an input: 100 is next to it. */
    { "Functional.interpolate(f32(1,1,4)[100 1 1 1], None, 1.5, \"linear\", False)", -1, 0, 0,
      1e-3 },
    { "Functional.interpolate(f32(1,1,4)[1 100 1 1], None, 0.6, \"linear\", False)", -1, 0x2, 1e-5,
      1e-4 },
    /* Both weights of an input between two places are 0, and in a gradient that is 0 may be others. */
    { "Functional.interpolate(f32(1,1,5,5), [3, 3], None, \"bilinear\", True)", 0, 0x40, 1e-14, 1 },
    /* What is broadcast has a gradient of products that are summed, not of a sum that is multiplied. */
    /* A constant is rounded once. */
    { "Torch.rad2deg(f32(2)[1 1])", 0, 0, 0, 1.5e-5 },
    { "Torch.addmm(f64(1)[1], f64(2,1)[1 1], f64(1,2)[1 1], beta=0.3)", 0, 0x1, 5e-17, 1e-15 },
    /* Three convolutions in place of four: 1e-3 is what is left of two products of 1. */
    { "Functional.conv1d(c64(1,1,1)[1 1e-3], c64(1,1,1)[1 0])", -1, 0x2, 1e-7, 2e-6 },
    /* A convolution that begins its sums with the bias. */
    { "Functional.conv1d(f32(1,1,5)[1e-9 1e-9 1e-9 1e-9 1e-9], f32(1,1,5)[1 1 1 1 1], f32(1)[1])",
      -1, 0x1, 2.5e-7, 1e-6 },
    /* (1 - 1.00001) 1 or 1 - 1.00001, each product rounded: from either end. */
    { "Torch.linalg.multi_dot([f32(1,2)[1 1], f32(2,1)[1e4 1], f32(1,1)[1e-4]])", -1, 0x1, 1e-8,
      1e-5 },
    { "Torch.linalg.multi_dot([f32(1,1)[1], f32(1,2)[1e4 1e4], f32(2,1)[1 -1.0001]])", -1, 0x1,
      1e-3, 1 },
    /* Of a factor that may be singular the columns before its small pivots are known, and the others by their rows' lengths. */
    { "Torch.linalg.cholesky(f32(3,3)[1 1 1 1 1.0000001 1 1 1 1.0000002])", -1, 0x190, 1, 1e-6 },
    { "Torch.linalg.cholesky(f32(3,3)[1 1 1 1 1.0000001 1 1 1 1.0000002])", -1, 0, 0, 1.1 },
    /* Errors of a factor turn it as a whole. */
    { "Torch.linalg.cholesky(f32(4,4)[4 2 1 3 2 2 1.5 1 1 1.5 3 0 3 1 0 9])", 0, 0, 0, 5e-5 },
    /* A solution is off by X E x, where x = 1 and E = 1e-7 hardly move it, and not by what its inverse is: 1e4 times products of 1. */
    { "Torch.linalg.solve(f32(2,2)[1 1 1 1.0001], f32(2,1)[2 2.0001])", -1, 0, 0, 5e-2 },
    /* A pivot that cancels has the errors of what cancelled. */
    { "Torch.lu_factor(f32(2,2)[3 -3 -3 3.001])", -1, 0x8, 1.5e-7, 1e-6 },
    /* A batch of products that is summed from what it is added to. */
    { "Torch.baddbmm(f32(1,1,1)[1], f32(1,1,5)[1e-9 1e-9 1e-9 1e-9 1e-9], f32(1,5,1)[1 1 1 1 1])",
      -1, 0x1, 2.5e-7, 1e-6 },
    /* An input in double is cast to the dtype of the factors, which the product is computed in. */
    { "Torch.baddbmm(f64(1,1,1)[1], f32(1,1,2)[1.1 2.3], f32(1,2,1)[0.3 0.7])", -1, 0x1, 2e-7,
      1e-6 },
    { "Torch.addmm(f32(1,1)[1], f32(1,5)[1e-9 1e-9 1e-9 1e-9 1e-9], f32(5,1)[1 1 1 1 1])", -1, 0, 0,
      1.5e-7 },
    /* I1e(x) / x where 1 / x overflows. */
    { "Torch.special.i1e(f64(2)[1e-310 1])", 0, 0x3, 1e-17, 0 },
    /* A place half-way between two inputs has its gradient at either. */
    { "Aten.grid_sampler_2d_backward(f32(1,1,1,1)[1], f32(1,1,1,3)[1 2 3], f32(1,1,1,2)[0.5 0], 1, "
      "0, True, [True,True])",
      -1, 0x6, 0.9, 1e-6 },
    /* Squarings carry what the polynomial is off by: exp(25) units of 1e-11, and not of the result's units alone. */
    { "Torch.matrix_exp(f32(2,2)[-25 25 25 -25])", -1, 0xf, 3e-6, 0 },
    { "Torch.matrix_exp(f32(2,2)[-25 25 25 -25])", -1, 0, 0, 1e-3 },
    { "Torch.matrix_exp(f32(2,2)[0.5 0.25 0.125 0.5])", -1, 0, 0, 2e-5 },
    /* Other factors of 6 points leave a rounding where these cancel to 0. */
    { "Torch.fft.fft(f32(6)[1 2 3 3 2 1])", -1, 0xc0, 2e-6, 1e-4 },
    { "Torch.fft.fft(f32(6)[1 2 3 3 2 1])", 0, 0x3f, 1e-7, 1e-4 },
    /* Updates of a mean and of squared deviations have the errors of all means so far. */
    { "Torch.var(f32(4)[1000 1000.5 1001 999.5])", -1, 0x1, 2e-4, 2e-2 },
    { "Functional.batch_norm(f32(4,1)[1000 1000.5 1001 999.5], None, None, None, None, True)", -1,
      0xf, 2e-4, 2e-2 },
    /* q and the rank are rounded, and what is left of 3.6 with them. */
    { "Torch.nanquantile(f32(7)[3 1 4 1.5 9 2 6], 0.6)", 0, 0x5, 5e-9, 1e-7 },
    /* 8 fl(0.3) is a number, so nothing but 0.3 is. */
    { "Torch.quantile(f32(9)[1 2 3 4 5 6 7 8 9], 0.3)", 0, 0xc, 4e-9, 1e-9 },
    { "Torch.quantile(f32(9)[1 2 3 4 5 6 7 8 9], 0.3)", 0, 0, 0, 1e-8 },
    /* The ends cancel before their difference is multiplied. */
    { "Torch.lerp(f32(1)[1000], f32(1)[1000.001], f32(1)[0.3])", 2, 0, 0, 1e-9 },
    /* A product by what a kernel knows to be 1 is x, by what it does not exp(log x); a gradient c y / x of one number is c. */
    { "Torch.float_power(c128(1)[0.25 4], bool()[1])", -1, 0x3, 1e-15, 1e-14 },
    { "Torch.pow(c128(1)[0.25 4], 1)", -1, 0, 0, 0 },
    { "Torch.pow(c128(1)[3 0], 9)", -1, 0x1, 1e-11, 1e-8 },
    { "Torch.prod(c64(1)[0.5 0.25])", 0, 0x3, 1e-7, 1e-5 },
    { "Torch.cumprod(c64(1)[0.5 0.25], 0)", 0, 0x3, 1e-8, 1e-5 },
    /* A cotangent is multiplied before it is summed over what was broadcast. */
    { "Torch.add(f64(2,1)[1 1], f64(1)[1], alpha=0.3)", 1, 0x1, 5e-17, 1e-15 },
    { "Torch.igammac(f32(1)[0.0003373], f32(1)[0.685])", -1, 0x1, 3e-8, 0 },
    /* log(1 + e), of a sum that is rounded beside 1. */
    { "Functional.soft_margin_loss(f32(1)[9], f32(1)[1])", -1, 0x1, 5e-8, 0 },
    /* Beside a pole the angle of a reflection is rounded, and terms of a sum from there on cancel. */
    { "Torch.digamma(f32(2)[-2.999 0.7])", -1, 0x1, 0.1, 1e-5 },
    { "Torch.lgamma(f32(2)[-2.999 0.7])", 0, 0x1, 5e-3, 1e-4 },
    { "Torch.polygamma(4, f64(2)[-3.5 2])", -1, 0x1, 1e-12, 1e-13 },
    /* Vectors of a value that is 0 are anything, and its cotangent's share with them. */
    { "Torch.svdvals(f32(2,2)[1 0 0 0])", 0, 0x8, 0.01, 1e-5 },
    /* Of a running product, whose gradient is divided and summed. */
    { "Torch.linalg.vander(f32(3)[-0.1 0.5 2])", 0, 0x7, 2.4e-7, 1e-5 },
    /* A margin to which distances are added one after the other. */
    { "Torch.triplet_margin_loss(f32(1,2)[1e-3 2e-3], f32(1,2)[3e-3 -1e-3], f32(1,2)[-1e-3 1e-3])",
      -1, 0x1, 1e-7, 1e-6 },
    /* Powers of 0 are 0 in every kernel, and so is their root. */
    { "Torch.norm(f32(3)[0 0 0], 3)", -1, 0, 0, 1e-30 },
    /* A product with 0 is 0, however often the other factors are rounded. */
    { "Torch.prod(f32(3)[0 2 0])", 0, 0, 0, 1e-30 },
    /* x - max is rounded as far down as exp is no 0: in double precision to -745. */
    { "Functional.softmax(f64(1,2)[300 1.1], 1)", -1, 0x2, 4e-144, 1e-15 },
    /* Terms that are sums without a rounding have some where they are added to a number with more bits, or scaled. */
    { "Functional.linear(f32(1,2)[1 -1], f32(1,2)[4096 4096], f32(1)[0.1])", -1, 0x1, 2.4e-4,
      1e-2 },
    { "Functional.linear(f32(1,2)[1 -1], f32(1,2)[4096 4096], f32(1)[1])", -1, 0, 0, 1e-6 },
    { "Torch.addmm(f32(1,1)[0], f32(1,2)[1 -1], f32(2,1)[4096 4096], alpha=0.3)", -1, 0x1, 7e-5,
      1e-3 },
    { "Torch.addmm(c128(1,1)[0.1 0.1], c128(1,2)[1 0 -1 0], c128(2,1)[4096 0 4096 0])", -1, 0x1,
      4.5e-13, 1e-11 },
    /* |a|^2 + |b|^2 - 2 a b cancels, and may be infinite less infinite. */
    { "Aten._euclidean_dist(f32(1,2)[1000 1], f32(1,2)[1000 1.5])", -1, 0x1, 0.05, 0 },
    { "Torch.cdist(f32(1,2)[1000 1], f32(1,2)[1000 1.5])", -1, 0, 0, 1e-6 },
    /* And its gradient, by that distance, is a difference of sums. */
    { "Aten._euclidean_dist(f32(1,2)[1000 1], f32(1,2)[1000 3])", 0, 0x3, 1e-5, INFINITY },
    { "Torch.cdist(f32(1,2)[1000 1], f32(1,2)[1000 3])", 0, 0, 0, 1e-6 },
    { "Torch.cdist(f32(1,2)[1000 1], f32(1,2)[1000 3], 2.0, \"use_mm_for_euclid_dist\")", 0, 0x2,
      1e-3, 1e-6 },
    { "Torch.cdist(f32(1,2)[1000 1], f32(1,2)[1000 1.5], 2.0, \"use_mm_for_euclid_dist\")", -1, 0x1,
      0.05, 0 },
};

/* exp(90) overflows in float32, and the slope of silu with it: an expected error, not an outlier of the statistics. */
START_TEST(overflows_are_expected)
{
    struct arena arena = { 0 };
    const struct reference *r = modelled(&arena, "Functional.silu(f32(2)[-90 -1])", 0);
    ck_assert_double_ge(r->kernel_rms[0], 0.9 * fabs(r->hi[0]));
    ck_assert_double_le(r->kernel_rms[1], 1e-6);
    arena_release(&arena);
}
END_TEST

/* c / 16 is subnormal, each of 15 such terms is off by the same, and their sum by 15 times that. */
START_TEST(equal_terms_err_alike)
{
    struct arena arena = { 0 };
    const struct reference *r =
        modelled(&arena,
                 "Aten.multilabel_margin_loss_backward(f32(1)[3.2e-43], f32(1,16)[0.5..0.5], "
                 "i64(1,16)[0 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1], 0, "
                 "f32(1,16)[1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0])",
                 -1);
    ck_assert_double_ge(r->kernel_rms[0], 7 * r->kernel_rms[1]); /* independent: 2 */
    ck_assert_double_le(r->kernel_rms[0], 0x1p-144);
    arena_release(&arena);
}
END_TEST

/* How many errors the elements of a result may share: of its rows' statistics, of its own. */
static const struct {
    const char *call;
    size_t draws;
} shares[] = {
    { "Functional.layer_norm(f32(4,256), [256])", 4 },
    { "Torch.exp(f32(4,256))", 1024 },
    { "Torch.mul(f32(4,256), f32(4,256))", 0 }, /* which has none but the last rounding's */
    { "Functional.normalize(f32(3,64), dim=1)", 3 },
    { "Torch.linalg.vector_norm(f32(30,64), 3, -1)", 30 },
};

START_TEST(errors_that_are_shared)
{
    struct arena arena = { 0 };
    ck_assert_uint_eq(modelled(&arena, shares[_i].call, -1)->kernel_draws, shares[_i].draws);
    arena_release(&arena);
}
END_TEST

/* How much of what is expected of them all errors may have in common. */
static const struct {
    const char *call;
    int of;
    double common;
} commons[] = {
    { "Torch.matmul(f32(16,30)[-1..1], f32(30,16)[-1..1])", -1, 0.3 },
    { "Torch.matmul(f32(16,30)[0.3..0.3], f32(30,16)[0.7..0.7])", -1, 0 }, /* terms repeat */
    { "Torch.add(f32(80)[-1..1], f32(80)[-1..1], alpha=0.3)", -1, 0 },
    { "Torch.addcmul(f32(80)[-1..1], f32(80)[-1..1], f32(80)[-1..1], value=0.5)", -1, 0.3 },
    { "Torch.exp(f32(80)[-1..1])", -1, 1 },
    { "Torch.div(f32(80)[-1..1], f32(80)[1..2])", -1, 1 },
    { "Torch.div(f32(80)[-1..1], 3)", -1, 0 },
    { "Functional.softmax(f32(8,80)[-1..1], 1)", -1, 0 },
    /* 1 / 3 is off by less than the sum. */
    { "Torch.mean(f32(30,300)[-1..1], 1)", -1, 0.3 },
};

START_TEST(errors_in_common)
{
    struct arena arena = { 0 };
    const struct reference *r = modelled(&arena, commons[_i].call, commons[_i].of);
    ck_assert_msg(r->kernel_common == commons[_i].common, "%s: %g", commons[_i].call,
                  r->kernel_common);
    arena_release(&arena);
}
END_TEST

/* What is expected of element 0, in units of 2^-24: not below `least`, not above `most`. */
static const struct {
    const char *call;
    int of;
    double least, most;
} expectations[] = {
    /* erf as 1 - p(t) exp(-t^2) is off by units of 1, halved, beside 0 as well. */
    { "Aten.gelu_backward(f32(2)[1 1], f32(2)[0.01 -0.02])", -1, 0.9, 1.5 },
    /* One exponential in a sum of 1 and that, and three roundings of x. */
    { "Functional.binary_cross_entropy_with_logits(f32(2)[0.5 -2], f32(2)[0.25 0.5], "
      "reduction=\"none\")",
      -1, 1, 2 },
    /* x E x, with E of the roundings that elimination makes. */
    { "Torch.linalg.inv(f32(2,2)[2 1 1 2])", -1, 0.8, 1.8 },
    /* Of one elimination, without solves; with square roots and quotients that round more than once. */
    { "Torch.linalg.det(f32(2,2)[2 1 1 2])", -1, 5.5, 7 },
    { "Torch.linalg.cholesky(f32(2,2)[2 1 1 2])", -1, 0.5, 0.65 },
    /* Exponentials whose errors are independent, and, in the gradient, what all terms share of their sum's. */
    { "Functional.softmax(f32(1,64)[-3..3], 1)", -1, 0.0035, 0.0038 },
    { "Functional.softmax(f32(1,8)[3 1 -2 0.5 2.5 -1 0.1 2], 1)", 0, 0.55, 0.58 },
    /* Weights of one place are off by errors that cancel where the inputs are equal. */
    { "Functional.interpolate(f32(1,1,5)[10 10 10 10 10], None, 0.4, \"linear\", False)", -1, 5,
      9 },
    { "Functional.grid_sample(f32(1,1,4,4)[10..10], f32(1,1,1,2)[0.1 0.2], align_corners=False)",
      -1, 10, 18 },
    { "Functional.grid_sample(f32(1,1,2,2)[10 -10 10 -10], f32(1,1,1,2)[0.01 0.2], "
      "align_corners=False)",
      -1, 15.5, 20 },
    /* 1,024 numbers in a row, whose roundings repeat. */
    { "Functional.avg_pool2d(f32(1,1,32,32)[0.7..0.7], 32)", -1, 7, 100 },
    /* More numbers than a model copies, by dimension: sums of 1,100 that stand for one of all. */
    { "Functional.avg_pool2d(f32(1,1,1100,1100)[0.7..0.7], 1100)", -1, 400, 700 },
    /* Eight products, and what the polynomial leaves out: a quarter of 3 exp(3). */
    { "Torch.matrix_exp(f32(2,2)[3 0 0 3])", -1, 56.5, 59 },
    /* Deviations from a rounded mean are all alike: five times e^2 over 4, not its root. */
    { "Torch.cov(f32(1,5)[0.7 0.7 0.7 0.7 0.7])", -1, 3.5e-8, 1e-7 },
    /* Nothing rounds: a remainder, a share of a cotangent that is all or nothing, a quotient by a power of two, sums and
     * products of few bits. */
    { "Torch.fmod(f32(2)[7.3 0.7], f32(2)[2.1 0.9])", -1, 0, 0x1p-100 },
    { "Torch.fmax(f32(2)[7.3 0.7], f32(2)[8.1 0.9])", 1, 0, 0x1p-100 },
    { "Torch.maximum(f32(2)[7.3 0.7], f32(2)[7.3 0.9])", 0, 0, 0x1p-100 },
    { "Torch.mean(f32(4)[0.7 0.1 0.2 0.3])", 0, 0, 0x1p-100 },
    /* Moved to where nothing else is added: the error of a quotient alone. */
    { "Functional.avg_pool1d(f32(1,1,5)[1 2 3 4 5], 3, 2)", 0, 0.011, 0.013 },
    { "Torch.matmul(f32(2,2)[1 2 3 5], f32(2,2)[0.5 -7 0.25 9])", -1, 0, 0x1p-100 },
    { "Torch.scatter_add(f32(2)[1 2], 0, i64(4)[0 0 1 0], f32(4)[1 2 3 5])", -1, 0, 0x1p-100 },
    /* With strides a kernel adds an element's own terms, whose norms are 1,000 times what they come to; without, it may transform
     * tiles. */
    { "Functional.conv1d(f32(1,1,4)[1000 1.1 1.3 1000], f32(1,1,2)[0.001 1.3], None, 2)", -1, 0.5,
      3 },
    { "Functional.conv1d(f32(1,1,3)[1000 1.1 1.3], f32(1,1,2)[0.001 1.3])", -1, 500, 2000 },
    /* Of few bits, but for the bias that the sum begins with. */
    { "Functional.conv_transpose1d(f32(1,2,1)[1 -1], f32(2,1,1)[4096 4096], f32(1)[0.1], 2)", -1,
      3000, 12000 },
    { "Functional.conv1d(f32(1,1,4)[1000 1.1 1.3 1000], f32(1,1,2)[0.001 1.3], None, 2)", 0, 0, 1 },
    { "Functional.conv1d(f32(1,1,4)[1000 1.1 1.3 1000], f32(1,1,2)[0.001 1.3], None, 2)", 1, 0.5,
      3000 },
};

START_TEST(what_is_expected)
{
    struct arena arena = { 0 };
    const struct reference *r = modelled(&arena, expectations[_i].call, expectations[_i].of);
    double units = r->kernel_rms[0] * 0x1p24;
    ck_assert_msg(units >= expectations[_i].least && units <= expectations[_i].most, "%s: %g",
                  expectations[_i].call, units);
    arena_release(&arena);
}
END_TEST

START_TEST(how_far_a_kernel_may_be_off)
{
    struct arena arena = { 0 };
    const struct reference *r = modelled(&arena, reaches[_i].call, reaches[_i].of);
    for (size_t k = 0; k < r->n; k++) {
        bool far = reaches[_i].far >> k & 1;
        ck_assert_msg(far ? r->kernel_bound[k] >= reaches[_i].reach
                          : r->kernel_bound[k] <= reaches[_i].most,
                      "%s, element %zu: %g", reaches[_i].call, k, r->kernel_bound[k]);
    }
    arena_release(&arena);
}
END_TEST

/* Of max(input) and min(input), where there are any; the other elements have none. */
START_TEST(nans_share_the_gradient_of_an_extremum)
{
    static const char *const calls[] = { "Torch.max(f32(4)[1 nan inf nan])",
                                         "Torch.min(f32(2,2)[1 nan -inf nan])" };
    for (size_t c = 0; c < 2; c++) {
        struct arena arena = { 0 };
        const struct reference *r = modelled(&arena, calls[c], 0);
        ck_assert_double_eq(r->hi[0], 0);
        ck_assert_double_eq(r->hi[2], 0);
        ck_assert_msg(r->hi[1] != 0 && r->hi[1] == r->hi[3], "%g %g", r->hi[1], r->hi[3]);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(what_rounding_leaves_open_is_open)
{
    struct arena arena = { 0 };
    size_t i = (size_t)_i;
    const struct reference *r = modelled(&arena, unknowns[i].call, unknowns[i].of);
    for (size_t k = 0; k < r->n; k++)
        ck_assert_msg((unsigned)(isinf(r->kernel_bound[k]) != 0) == (unknowns[i].open >> k & 1),
                      "%s, element %zu: %g", unknowns[i].call, k, r->kernel_bound[k]);
    arena_release(&arena);
}
END_TEST

/* The gradient of layer_norm of a line of numbers as PyTorch's kernel for the processor folds it, term after term. */
enum { FOLDED_LINES = 400, FOLDED = 17 };

static void folded_gradient(float *dx, const float *x, const float *dy, const float *weight)
{
    double sum = 0, squares = 0;
    float ds = 0, db = 0;
    for (int i = 0; i < FOLDED; i++) sum += x[i];
    for (int i = 0; i < FOLDED; i++) squares += (x[i] - sum / FOLDED) * (x[i] - sum / FOLDED);
    float mean = (float)(sum / FOLDED), a = (float)(1 / sqrt(squares / FOLDED + 1e-5));
    for (int i = 0; i < FOLDED; i++) {
        float product = dy[i] * x[i], term = product * weight[i], plain = dy[i] * weight[i];
        ds += term;
        db += plain;
    }
    float b = (db * mean - ds) * a * a * a / FOLDED, c = -b * mean - db * a / FOLDED;
    for (int i = 0; i < FOLDED; i++) {
        float first = a * dy[i] * weight[i], second = b * x[i];
        dx[i] = first + second + c;
    }
}

/* Lines far from 0, of which some have cotangents c of sum 0: what sums of c x and of c round is left then. */
START_TEST(sums_of_folded_gradients)
{
    struct arena arena = { 0 };
    struct numbers numbers = { 1 };
    struct sample sample = { 0 };
    struct bench *bench;
    struct bench_output *gradients;
    size_t count;
    ck_assert_ptr_null(sample_parse(&sample,
                                    "Functional.layer_norm(f32(400,17)[-101..-100.5], [17], "
                                    "f32(17)[-0.8..0.8], f32(17)[0.5..0.5])",
                                    &arena));
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    sample_cotangents(&sample.c.cotangents, bench, &arena, &numbers);
    const struct value *arguments = sample.c.args.list.items;
    const float *x = arguments[0].tensor.tensor->data, *weight = arguments[2].tensor.tensor->data;
    const float *dy = sample.c.cotangents.list.items[0].tensor.tensor->data;
    sample.c.has_backward = true;
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &sample.c.cotangents).code, 0);
    const struct reference *r = &gradients[0].reference;
    double worst = 0, squares = 0;
    for (size_t line = 0; line < FOLDED_LINES; line++) {
        float dx[FOLDED];
        folded_gradient(dx, x + line * FOLDED, dy + line * FOLDED, weight);
        for (size_t i = 0; i < FOLDED; i++) {
            size_t at = line * FOLDED + i;
            double error = fabs(dx[i] - r->hi[at]), z = error / r->kernel_rms[at];
            ck_assert_double_le(error, r->kernel_bound[at]);
            worst = fmax(worst, z);
            squares += z * z;
        }
    }
    printf("folded gradients: rms %.2f and at most %.2f times what is expected\n",
           sqrt(squares / (FOLDED * FOLDED_LINES)), worst);
    ck_assert_double_le(worst, 4.25);
    ck_assert_double_ge(worst, 0.5);
    arena_release(&arena);
}
END_TEST

/* The typical model is evaluated where a kernel may err, forward or backward, and the values of a function are the reference's, though
 * these were made in blocks. */
START_TEST(models_that_are_evaluated)
{
    static const struct {
        const char *call;
        bool forward, backward, shares;
    } calls[] = { { "Functional.relu(f32(300,200))", false, false, false },
                  { "Torch.add(f32(300,200)[0.5..2], f32(300,200)[0.5..2])", false, false, false },
                  { "Torch.mul(f32(300,1)[0.5..2], f32(1,200)[0.5..2])", false, true, false },
                  /* the first two sums are rounded once at most */
                  { "Torch.cumsum(f32(3)[1.1 2.3 3.7], 0)", true, true, false },
                  { "Functional.gelu(f32(300,200))", true, true, true } };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct arena arena = { 0 };
        struct numbers numbers = { 1 };
        struct sample sample = { 0 };
        struct bench *bench;
        struct bench_output *gradients;
        size_t count;
        ck_assert_ptr_null(sample_parse(&sample, calls[i].call, &arena));
        ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
        ck_assert_int_eq(bench_model(bench).code, 0);
        ck_assert_msg(!bench->models[1] == !calls[i].forward, "%s", calls[i].call);
        const struct reference *r = &bench_output(bench, 0)->reference;
        const struct node *result = bench->models[0]->call.results.items[0].node;
        if (calls[i].shares) ck_assert_ptr_eq(result->value, r->hi);
        sample_cotangents(&sample.c.cotangents, bench, &arena, &numbers);
        sample.c.has_backward = true;
        ck_assert_int_eq(bench_backward(&gradients, &count, bench, &sample.c.cotangents).code, 0);
        ck_assert_msg(!bench->models[1] == !calls[i].backward, "%s", calls[i].call);
        arena_release(&arena);
    }
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("model");
    TCase *tests = tcase_create("model");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, native_results_lie_within_the_model);
    tcase_add_test(tests, nans_share_the_gradient_of_an_extremum);
    tcase_add_loop_test(tests, what_rounding_leaves_open_is_open, 0,
                        sizeof unknowns / sizeof *unknowns);
    tcase_add_test(tests, overflows_are_expected);
    tcase_add_test(tests, equal_terms_err_alike);
    tcase_add_test(tests, sums_of_folded_gradients);
    tcase_add_test(tests, models_that_are_evaluated);
    tcase_add_loop_test(tests, how_far_a_kernel_may_be_off, 0, sizeof reaches / sizeof *reaches);
    tcase_add_loop_test(tests, choices_that_a_result_does_not_show, 0,
                        sizeof hidden / sizeof *hidden);
    tcase_add_loop_test(tests, errors_that_are_shared, 0, sizeof shares / sizeof *shares);
    tcase_add_loop_test(tests, errors_in_common, 0, sizeof commons / sizeof *commons);
    tcase_add_loop_test(tests, what_is_expected, 0, sizeof expectations / sizeof *expectations);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
