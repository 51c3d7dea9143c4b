/* Mistakes within the composition: a step that is left out, scaled or rounded, and formulas that lose what the usual ones
 * keep. The steps are those of the bench's definition, forward and, for gradients, of its walk back. */
#include <stdio.h>
#include <string.h>

#include "diagnosis/changed_call.h"
#include "diagnosis/hypothesis.h"

enum { MOST_STEPS = 48 };

static struct status offer_deviation(struct subject *s, const struct claim *claim,
                                     const struct deviation *deviation, double slower)
{
    const struct what_if change = { .deviation = deviation };
    return subject_offer_change(s, claim, &change, slower);
}

/* ---- one step ------------------------------------------------------------------------------------------------ */

static struct status left_out(struct subject *s, const struct hypothesis *h,
                              const struct what_step *step)
{
    static const struct {
        enum step_change change;
        const char *words;
        double bits;
    } ways[] = { { STEP_FIRST_INPUT, "step left out: %s", 0 },
                 { STEP_SECOND_INPUT, "step left out: %s, but for its second operand", 2 },
                 { STEP_ZERO, "step left out: %s, taken for 0", 0 },
                 { STEP_ONE, "step left out: %s, taken for 1", 1 } };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        bool constant = ways[k].change == STEP_ZERO || ways[k].change == STEP_ONE;
        if ((constant && step->last) || (ways[k].change == STEP_SECOND_INPUT && step->inputs < 2))
            continue;
        struct deviation deviation = { .block = 0 };
        deviation.step.change = ways[k].change;
        deviation.step.node = step->node;
        struct claim claim = { .class = h->class,
                               .bits = h->bits + ways[k].bits,
                               .scope = CLAIM_ANY };
        const char *name = strstr(ways[k].words, "%s");
        (void)snprintf(claim.sentence, sizeof claim.sentence, "%.*s%s%s",
                       (int)(name - ways[k].words), ways[k].words, step->name, name + 2);
        TRY(offer_deviation(s, &claim, &deviation, 1));
    }
    return status_ok();
}

/* A sum or mean of n terms divided by one more or one less. */
static struct status other_divisor(struct subject *s, const struct what_step *step)
{
    double n = (double)step->terms;
    if (step->terms < 2) return status_ok();
    for (int less = 0; less < 2; less++) {
        struct deviation deviation = { .block = 0 };
        deviation.step.change = STEP_SCALED;
        deviation.step.node = step->node;
        deviation.step.factor = less ? n / (n - 1) : (n - 1) / n;
        struct claim claim = claim_make("divisor", 6, CLAIM_ANY,
                                        less ? "%s of %.0f divided by n - 1 instead of n"
                                             : "%s of %.0f divided by n instead of n - 1",
                                        step->name, n);
        TRY(offer_deviation(s, &claim, &deviation, 1));
    }
    return status_ok();
}

/* One step rounded: a mean that is kept in the dtype, say. */
static struct status narrow_step(struct subject *s, const struct what_step *step)
{
    static const enum dtype dtypes[] = { DT_F16, DT_BF16 };
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes && !step->last; k++) {
        struct deviation deviation = { .block = 0 };
        deviation.step.change = STEP_ROUNDED;
        deviation.step.node = step->node;
        deviation.step.rounding = rounding_to(dtypes[k]);
        struct claim claim = claim_make("rounded intermediates", 7, CLAIM_ANY,
                                        "intermediate result rounded to %s: %s",
                                        dtype_short_name(dtypes[k]), step->name);
        TRY(offer_deviation(s, &claim, &deviation, 1));
    }
    return status_ok();
}

static struct status changed_step(struct subject *s, const struct hypothesis *h)
{
    struct what_step steps[MOST_STEPS];
    size_t count;
    if (!dtype_is_float(s->dtype) || !subject_spend(s, s->call_work)) return status_ok();
    struct arena_mark mark = arena_mark(s->arena);
    const struct deviation none = { .block = 0 };
    const struct what_if unchanged = { .deviation = &none };
    TRY(bench_what_steps(steps, &count, MOST_STEPS, s->request->bench, s->result, &unchanged,
                         s->arena));
    arena_rewind(s->arena, mark);
    for (size_t i = 0; count > 1 && i < count; i++) {
        TRY(left_out(s, h, &steps[i]));
        TRY(other_divisor(s, &steps[i]));
        TRY(narrow_step(s, &steps[i]));
    }
    return status_ok();
}

/* ---- forms ----------------------------------------------------------------------------------------------------- */

/* Everything in the arithmetic of the kernel, where the form loses what it loses: float32, or double for its own dtype;
 * sums one after the other, or in blocks. */
static struct status other_form(struct subject *s, const struct hypothesis *h,
                                enum deviation_form form, const char *words)
{
    if (!dtype_is_float(s->dtype)) return status_ok();
    struct rounding arithmetic = rounding_to(s->dtype == DT_F64 ? DT_F64 : DT_F32);
    for (size_t block = 0; block <= 512; block = block ? 4 * block : 8) {
        struct deviation deviation = {
            .steps = arithmetic, .sums = arithmetic, .form = form, .block = block
        };
        struct claim claim =
            claim_make(h->class, h->bits + (block ? 1 : 0), CLAIM_ANY, "%s", words);
        TRY(offer_deviation(s, &claim, &deviation, 8));
    }
    return status_ok();
}

static struct status one_pass(struct subject *s, const struct hypothesis *h)
{
    return other_form(s, h, FORM_ONE_PASS,
                      "variance as mean of squares less square of the mean, in one pass");
}

static struct status no_maximum(struct subject *s, const struct hypothesis *h)
{
    return other_form(s, h, FORM_NO_MAXIMUM, "exponentials without the maximum subtracted first");
}

static struct status log_of_softmax(struct subject *s, const struct hypothesis *h)
{
    static const enum dtype dtypes[] = { DT_F32, DT_F16, DT_BF16 };
    if (!strstr(bench_api(s->request->bench), "log_softmax")) return status_ok();
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        struct deviation deviation = { .steps = rounding_to(dtypes[k]),
                                       .form = FORM_LOG_OF_SOFTMAX };
        struct claim claim = claim_make(h->class, h->bits, CLAIM_ANY,
                                        "logarithm of a softmax rounded to %s",
                                        dtype_short_name(dtypes[k]));
        TRY(offer_deviation(s, &claim, &deviation, 2));
    }
    return status_ok();
}

/* clang-format off */
const struct hypothesis step_hypotheses[] = {
    { "missing step",          7, changed_step },
    { "one-pass variance",     3, one_pass },
    { "no max subtraction",    1, no_maximum },
    { "rounded intermediates", 3, log_of_softmax },
    { .class = NULL },
};
/* clang-format on */
