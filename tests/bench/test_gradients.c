/* Gradients against central differences in extended precision, for every sample.
 *
 * The call runs in float64. L = sum of cotangent times output is evaluated at x +- h and x +- 2h in
 * a few elements of each tensor argument, every output recomputed by balls to 2^-30 ulp, so that
 * only the truncation of the five-point formula remains (h = 2^-16 of the element: about 2^-60 of
 * the fifth derivative). An element where the one-sided slopes differ sits on a kink: there
 * PyTorch's convention counts, which the goldens show. Other conventions are listed below.
 *
 * `bench-gradients NAME` runs the samples whose API contains NAME.
 */
#include <arb.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/evaluation.h"
#include "bench/samples.h"
#include "bench/wide_call.h"
#include "support/suite.h"

static const char *filter;

enum { MOST_COMPLAINTS = 80, ELEMENTS = 2 };

struct tally {
    size_t samples, slopes, kinks, vague, wrong, excused;
};

/* Where PyTorch's gradient is by convention not the derivative, in the cases at hand. */
static const struct {
    const char *api, *reason;
    /* clang-format off */
} conventions[] = {
    { "cholesky", "the gradient is made symmetric although one triangle is read" },
    { "cholesky_ex", "likewise" },
    { "linalg_cholesky_ex", "likewise" },
    { "cholesky_inverse", "the formula multiplies by the whole matrix although a triangle is read" },
    { "cholesky_solve", "the formula multiplies by the whole matrix although a triangle is read" },
    { "embedding", "rows of padding_idx get no gradient; scale_grad_by_freq scales it" },
    { "embedding_bag", "likewise; max_norm rescales outside of the tape" },
    { "median", "of equal elements the one at the returned position gets it" },
    { "nanmedian", "likewise" },
    { "_fused_moving_avg_obs_fq_helper", "rounding passes the gradient of what is not clamped" },
    { "fused_moving_avg_obs_fake_quant", "likewise" },
    { "npu_ciou", "the weight of the difference of shapes passes none" },
    { "npu_cross_entropy_loss", "the logarithms that it returns too pass none" },
    { "npu_fused_floyd_attention", "the statistics that it returns too pass none" },
    { "npu_softmax_cross_entropy_with_logits", "that of labels that add up to 1" },
    { "scatter_reduce", "equal extrema share it" },
};
/* clang-format on */

static bool is_convention(const struct api_case *c)
{
    const char *dot = strrchr(c->api, '.'), *name = dot ? dot + 1 : c->api;
    /* The formula takes the matrix as it is, of which one triangle is read. */
    if (!strcmp(name, "pinv") && value_find(&c->kwargs, "hermitian")) return true;
    for (size_t i = 0; i < sizeof conventions / sizeof *conventions; i++)
        if (!strcmp(name, conventions[i].api)) return true;
    return false;
}

/* ---- the call in float64 -------------------------------------------------------------------------- */

/* L at the present inputs, as hi + lo; false when it is not a number or not sharp. */
static bool evaluate(double *hi, double *lo, const struct api_case *c,
                     const struct value *cotangents, size_t outputs)
{
    struct arena arena = { 0 };
    struct bench *bench;
    bool sharp = true;
    arb_t sum, term, factor;

    arb_init(sum);
    arb_init(term);
    arb_init(factor);
    if (bench_open(&bench, c, &arena, BENCH_REFERENCE).code || bench_output_count(bench) != outputs)
        sharp = false;
    for (size_t k = 0; sharp && k < outputs; k++) {
        struct bench_output *output = bench_output(bench, k);
        struct reference *r = &output->reference;
        const struct value *cotangent = &cotangents->list.items[k];
        if (output->kind != BENCH_OUTPUT_TENSOR || cotangent->kind != VALUE_TENSOR || r->integer)
            continue;
        const struct tensor *t = cotangent->tensor.tensor;
        if (tensor_elements(t) * (dtype_is_complex(t->dtype) ? 2 : 1) != r->n) sharp = false;
        double *weight = arena_allocate_array(&arena, r->n, sizeof *weight);
        size_t *all = arena_allocate_array(&arena, r->n, sizeof *all);
        if (!sharp) break;
        dtype_to_double(weight, t->data, t->dtype, tensor_elements(t));
        for (size_t i = 0; i < r->n; i++) all[i] = i;
        if (!r->error) {
            double *error = arena_allocate_array(&arena, r->n, sizeof *error);
            for (size_t i = 0; i < r->n; i++) error[i] = reference_bound(r, i);
            r->error = error;
        }
        if (!r->lo) r->lo = arena_allocate_zeroed(&arena, r->n, sizeof *r->lo);
        if (r->refine && r->refine(r, r->n, all, 0x1p-30).code) sharp = false;
        for (size_t i = 0; i < r->n && sharp; i++) {
            if (weight[i] == 0) continue;
            if (!isfinite(r->hi[i]) || reference_bound(r, i) > 0x1p-70 * (fabs(r->hi[i]) + 0x1p-20))
                sharp = false;
            arb_set_d(factor, weight[i]);
            arb_set_d(term, r->hi[i]);
            arb_addmul(sum, term, factor, 300);
            arb_set_d(term, r->lo[i]);
            arb_addmul(sum, term, factor, 300);
        }
    }
    *hi = arf_get_d(arb_midref(sum), ARF_RND_NEAR);
    arb_set_d(term, *hi);
    arb_sub(sum, sum, term, 300);
    *lo = arf_get_d(arb_midref(sum), ARF_RND_NEAR);
    arb_clear(sum);
    arb_clear(term);
    arb_clear(factor);
    arena_release(&arena);
    return sharp;
}

struct stencil {
    double value[5][2]; /* at -2h, -h, 0, h, 2h: hi and lo */
    double h;
};

static bool fill_stencil(struct stencil *s, double *x, const struct api_case *c,
                         const struct value *cotangents, size_t outputs)
{
    double at = *x;
    bool sharp = true;
    s->h = ldexp(1, at == 0 ? -20 : ilogb(at) - 16);
    for (int k = 0; k < 5 && sharp; k++) {
        *x = at + (k - 2) * s->h; /* exact */
        sharp = evaluate(&s->value[k][0], &s->value[k][1], c, cotangents, outputs);
    }
    *x = at;
    return sharp;
}

/* The difference value[a] - value[b] over steps * h. */
static double slope(const struct stencil *s, int a, int b)
{
    return ((s->value[a][0] - s->value[b][0]) + (s->value[a][1] - s->value[b][1])) /
           ((a - b) * s->h);
}

static void check_slope(struct tally *tally, const struct sample *sample, const struct stencil *s,
                        size_t leaf, size_t i, double gradient, double bound)
{
    double near = slope(s, 3, 1), far = slope(s, 4, 0), central = (4 * near - far) / 3;
    double left = slope(s, 2, 1), right = slope(s, 3, 2);
    double scale = fabs(near) + fabs(far) + fabs(gradient) + 1e-9;
    if (!isfinite(gradient) || isinf(bound) || !isfinite(central)) {
        tally->vague++;
        return;
    }
    if (fabs(left - right) > 1e-3 * scale || fabs(near - far) > 1e-4 * scale) {
        tally->kinks++;
        return;
    }
    tally->slopes++;
    if (fabs(central - gradient) <= 1e-8 * scale + bound) return;
    if (is_convention(&sample->c) || !strncmp(sample->remark, "no difference", 13)) {
        tally->excused++;
        return;
    }
    if (tally->wrong++ < MOST_COMPLAINTS)
        fprintf(stderr, "%-44s gradient %zu[%zu] = %.12g, differences %.12g\n", sample->place, leaf,
                i, gradient, central);
}

static void check_sample(void *context, struct sample *sample, struct arena *arena)
{
    struct tally *tally = context;
    struct bench *bench;
    struct bench_output *gradients;
    size_t count;
    struct value cotangents;
    struct numbers numbers = { 5 };

    (void)widen_call(&sample->c, arena);
    if (bench_open(&bench, &sample->c, arena, BENCH_REFERENCE).code) return;
    const struct call *call = bench_call(bench);
    if (call->op->flags & (OP_NO_GRADIENT | OP_RANDOM)) return;
    sample_cotangents(&cotangents, bench, arena, &numbers);
    if (bench_backward(&gradients, &count, bench, &cotangents).code) return;
    tally->samples++;
    for (size_t leaf = 0; leaf < count; leaf++) {
        struct tensor *x = call->arguments.leaves[leaf].value->tensor.tensor;
        struct reference *r = &gradients[leaf].reference;
        if (gradients[leaf].kind != BENCH_OUTPUT_TENSOR || r->integer || !r->n) continue;
        for (int k = 0; k < ELEMENTS; k++) {
            struct stencil stencil;
            size_t i = numbers_next(&numbers) % r->n;
            if (!isfinite(((double *)x->data)[i])) continue;
            if (fill_stencil(&stencil, (double *)x->data + i, &sample->c, &cotangents,
                             bench_output_count(bench)))
                check_slope(tally, sample, &stencil, leaf, i, r->hi[i], reference_bound(r, i));
            else tally->vague++;
        }
    }
}

START_TEST(gradients_match_differences)
{
    struct tally tally = { 0 };
    samples_each(filter, check_sample, &tally);
    flint_cleanup();
    printf("%zu samples: %zu slopes compared, %zu wrong; %zu on kinks, %zu without a sharp value, "
           "%zu slopes "
           "that are a convention\n",
           tally.samples, tally.slopes, tally.wrong, tally.kinks, tally.vague, tally.excused);
    ck_assert_uint_gt(tally.slopes, 0);
    ck_assert_uint_eq(tally.wrong, 0);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("gradients");
    TCase *tests = tcase_create("gradients");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, gradients_match_differences);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
