/* Mistakes of precision: the call evaluated in the arithmetic of a kernel that has them. */
#include <stdio.h>

#include "diagnosis/changed_call.h"
#include "diagnosis/hypothesis.h"

/* Formats of factors, of intermediate results and of sums. */
static const struct format {
    const char *name;
    struct rounding rounding;
    int stored;  /* bits of the significand behind the leading one */
    double bits; /* how much less likely than the others */
} formats[] = {
    { "TF32", { 11, -126, 0x1.ffcp127, false }, 10, 0 },
    { "bfloat16", { 8, -126, 0x1.fep127, false }, 7, 0 },
    { "float16", { 11, -14, 65504, false }, 10, 3 },
    { "HF32", { 12, -126, 0x1.ffep127, false }, 11, 1 },
    { "float8_e4m3", { 4, -6, 448, false }, 3, 1 },
    { "float8_e5m2", { 3, -14, 57344, false }, 2, 1 },
};
enum { TF32, BF16, F16, HF32, FORMATS = sizeof formats / sizeof *formats };

/* Has the format less than the dtype of the result? */
static bool is_narrower(const struct format *format, enum dtype dtype)
{
    return format->rounding.bits < dtype_info(dtype)->significand_bits ||
           (format->rounding.exponent_min > dtype_info(dtype)->exponent_min);
}

static struct status offer_deviation(struct subject *s, const struct claim *claim,
                                     const struct deviation *deviation, double slower)
{
    const struct what_if change = { .deviation = deviation };
    return subject_offer_change(s, claim, &change, slower);
}

/* ---- factors ---------------------------------------------------------------------------------------- */

static const char *const operand_names[] = { "inputs", "first operand", "second operand" };

static struct status offer_factors(struct subject *s, const struct hypothesis *h,
                                   const struct format *format, int which, bool cut)
{
    struct deviation deviation = { .block = 0 };
    struct rounding rounding = format->rounding;
    if (!is_narrower(format, s->dtype)) return status_ok();
    rounding.toward_zero = cut;
    if (which != 2) deviation.operands[0] = rounding;
    if (which != 1) deviation.operands[1] = rounding;
    struct claim claim = claim_make(h->class, h->bits + (which ? 2 : 0) + cut + format->bits,
                                    CLAIM_ANY, "%s %s to %d bits (%s)", operand_names[which],
                                    cut ? "cut off" : "rounded", format->stored, format->name);
    return offer_deviation(s, &claim, &deviation, 1);
}

/* Both factors rounded, as matrix units do; of one factor only, or cut off, later. */
static struct status narrow_factors(struct subject *s, const struct hypothesis *h)
{
    if (!bench_steps(s->request->bench).products || !dtype_is_float(s->dtype)) return status_ok();
    for (int f = 0; f <= F16; f++) TRY(offer_factors(s, h, &formats[f], 0, false));
    return status_ok();
}

static struct status other_narrow_factors(struct subject *s, const struct hypothesis *h)
{
    if (!bench_steps(s->request->bench).products || !dtype_is_float(s->dtype)) return status_ok();
    for (int f = 0; f < FORMATS; f++)
        for (int which = 0; which < 3; which++)
            for (int cut = 0; cut < 2; cut++)
                if (f > F16 || which || cut) TRY(offer_factors(s, h, &formats[f], which, cut));
    return status_ok();
}

/* A float32 product from products of two halves, without that of the lower ones. */
static struct status split_factors(struct subject *s, const struct hypothesis *h)
{
    if (!bench_steps(s->request->bench).products || s->dtype != DT_F32) return status_ok();
    for (int f = TF32; f <= F16; f++) {
        struct deviation deviation = { .operands = { formats[f].rounding, formats[f].rounding },
                                       .split = true };
        struct claim claim = claim_make(h->class, h->bits + 1, CLAIM_ANY,
                                        "inputs split into two of %s (%sx2)", formats[f].name,
                                        formats[f].name);
        TRY(offer_deviation(s, &claim, &deviation, 2));
    }
    return status_ok();
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static struct status narrow_sums(struct subject *s, const struct hypothesis *h)
{
    static const int order[] = { F16, BF16, TF32 };
    /* One term after the other, where BLAS takes several at a time. */
    double slower = bench_steps(s->request->bench).products ? 64 : 8;
    if (!bench_steps(s->request->bench).sums || !dtype_is_float(s->dtype)) return status_ok();
    for (size_t block = 0; block <= 256; block = block ? 2 * block : 4)
        for (size_t f = 0; f < sizeof order / sizeof *order; f++) {
            const struct format *format = &formats[order[f]];
            for (int wide = block ? 1 : 0; wide >= 0; wide--) {
                struct deviation deviation = { .sums = format->rounding,
                                               .block = block,
                                               .wide_blocks = wide };
                char blocks[48] = "";
                if (block) (void)snprintf(blocks, sizeof blocks, ", in blocks of %zu", block);
                struct claim claim = claim_make(
                    h->class, h->bits + (block ? 3 : 0), CLAIM_ANY, "%s in %s%s",
                    wide ? "partial sums kept" : "sums accumulated", format->name, blocks);
                TRY(offer_deviation(s, &claim, &deviation, slower));
            }
        }
    return status_ok();
}

/* ---- steps ----------------------------------------------------------------------------------------------- */

static struct status narrow_steps(struct subject *s, const struct hypothesis *h)
{
    if (!bench_steps(s->request->bench).several || !dtype_is_float(s->dtype)) return status_ok();
    for (int f = 0; f < FORMATS; f++) {
        struct deviation deviation = { .steps = formats[f].rounding };
        struct claim claim = claim_make(h->class, h->bits + formats[f].bits, CLAIM_ANY,
                                        "intermediate results rounded to %s", formats[f].name);
        TRY(offer_deviation(s, &claim, &deviation, 2));
        if (bench_steps(s->request->bench).products) continue; /* narrow_sums has tried it */
        deviation.sums = formats[f].rounding;
        claim = claim_make(h->class, h->bits + 2, CLAIM_ANY, "everything computed in %s",
                           formats[f].name);
        TRY(offer_deviation(s, &claim, &deviation, 8));
    }
    return status_ok();
}

/* clang-format off */
const struct hypothesis factor_hypotheses[] = {
    { "rounded inputs",        2, narrow_factors },
    { .class = NULL },
};
const struct hypothesis other_factor_hypotheses[] = {
    { "rounded inputs",        2, other_narrow_factors },
    { "rounded inputs",        3, split_factors },
    { .class = NULL },
};
const struct hypothesis sum_hypotheses[] = {
    { "narrow accumulation",   3, narrow_sums },
    { "rounded intermediates", 4, narrow_steps },
    { .class = NULL },
};
/* clang-format on */
