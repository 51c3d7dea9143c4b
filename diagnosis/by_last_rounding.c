/* Mistakes in the last step: the right value, wrongly put into the dtype. */
#include <math.h>

#include "diagnosis/hypothesis.h"

/* Formats through which a result may have gone, narrowest last. */
static const struct {
    const char *name;
    enum dtype dtype;
} formats[] = { { "float32", DT_F32 },
                { "float16", DT_F16 },
                { "bfloat16", DT_BF16 },
                { "float8_e5m2", DT_F8E5M2 } };
enum { FORMATS = sizeof formats / sizeof *formats };

static double predict_rounded(const struct subject *s, const void *rounding, size_t i)
{
    return rounding_apply(rounding, s->exact_want[i]);
}

static struct status truncated(struct subject *s, const struct hypothesis *h)
{
    struct rounding rounding;
    if (!dtype_is_float(s->dtype)) return status_ok();
    rounding = rounding_to(s->dtype);
    rounding.toward_zero = true;
    struct claim claim = claim_make(h->class, h->bits, CLAIM_ANY,
                                    "result cut off toward zero instead of rounded to %s",
                                    dtype_short_name(s->dtype));
    return subject_offer_each(s, &claim, predict_rounded, &rounding);
}

static struct status through_format(struct subject *s, const struct hypothesis *h)
{
    for (int f = 0; f < FORMATS; f++)
        for (int cut = 0; cut < 2; cut++) {
            if (!dtype_is_float(s->dtype) || formats[f].dtype == s->dtype) continue;
            struct rounding rounding = rounding_to(formats[f].dtype);
            rounding.toward_zero = cut;
            struct claim claim = claim_make(
                h->class, h->bits + 2, CLAIM_ANY, "result %s to %s before it becomes %s",
                cut ? "cut off" : "rounded", formats[f].name, dtype_short_name(s->dtype));
            TRY(subject_offer_each(s, &claim, predict_rounded, &rounding));
        }
    return status_ok();
}

/* To any number of bits, by estimates that are not refined or tables. */
static struct status to_fewer_bits(struct subject *s, const struct hypothesis *h)
{
    if (!dtype_is_float(s->dtype)) return status_ok();
    struct rounding rounding = rounding_to(s->dtype);
    for (int bits = rounding.bits - 2; bits >= 5; bits--)
        for (int cut = 0; cut < 2; cut++) {
            rounding.bits = bits;
            rounding.toward_zero = cut;
            struct claim claim = claim_make(h->class, h->bits + 4, CLAIM_ANY,
                                            "result %s to %d bits", cut ? "cut off" : "rounded",
                                            bits - 1);
            TRY(subject_offer_each(s, &claim, predict_rounded, &rounding));
        }
    return status_ok();
}

static struct status flushed(struct subject *s, const struct hypothesis *h)
{
    if (!dtype_is_float(s->dtype)) return status_ok();
    double least = ldexp(1, dtype_info(s->dtype)->exponent_min);
    for (size_t i = 0; i < s->n; i++) s->guess[i] = fabs(s->want[i]) < least ? 0 : s->want[i];
    struct claim claim =
        claim_make(h->class, h->bits, CLAIM_ANY, "subnormal results flushed to zero");
    return subject_offer(s, &claim, s->guess);
}

static struct status saturated(struct subject *s, const struct hypothesis *h)
{
    if (!dtype_is_float(s->dtype)) return status_ok();
    double largest = dtype_info(s->dtype)->largest;
    for (size_t i = 0; i < s->n; i++)
        s->guess[i] = isnan(s->want[i]) ? NAN : fmax(fmin(s->want[i], largest), -largest);
    struct claim claim = claim_make(h->class, h->bits, CLAIM_ANY,
                                    "results saturate at %g instead of becoming infinite", largest);
    return subject_offer(s, &claim, s->guess);
}

/* Infinite long before the dtype's range ends, as an intermediate result of a narrower one would be. */
static struct status overflowed(struct subject *s, const struct hypothesis *h)
{
    double largest = dtype_info(DT_F16)->largest;
    if (!dtype_is_float(s->dtype) || s->dtype == DT_F16) return status_ok();
    for (size_t i = 0; i < s->n; i++)
        s->guess[i] = fabs(s->want[i]) > largest ? copysign(INFINITY, s->want[i]) : s->want[i];
    struct claim claim =
        claim_make(h->class, h->bits, CLAIM_ANY, "results overflow the range of float16");
    return subject_offer(s, &claim, s->guess);
}

/* clang-format off */
const struct hypothesis last_rounding_hypotheses[] = {
    { "truncated output",     2, truncated },
    { "output rounded twice", 2, through_format },
    { "output rounded twice", 3, to_fewer_bits },
    { "flushed subnormals",   1, flushed },
    { "saturated output",     0, saturated },
    { "overflow",             4, overflowed },
    { .class = NULL },
};
/* clang-format on */
