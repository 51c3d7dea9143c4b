/* Mistakes in which every wrong element is a simple function of the right one, of its bits, or of nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnosis/hypothesis.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- one value ------------------------------------------------------------------------------------- */

/* The value that most of the wrong elements looked at have, if several have it; NaN counts as a value. */
static bool commonest(double *out, const struct subject *s)
{
    double value[4096] = { 0 };
    size_t n = 0, nans = 0, best = 1;
    for (size_t k = 0; k < s->n_probes && n < sizeof value / sizeof *value; k++) {
        size_t i = s->probes[k];
        if (!subject_is_wrong(s, i)) continue;
        if (isnan(s->got[i])) nans++;
        else value[n++] = s->got[i];
    }
    qsort(value, n, sizeof *value, ascending);
    bool found = false;
    for (size_t i = 0, run = 0; i < n; i++) {
        run = i && value[i] == value[i - 1] ? run + 1 : 1;
        if (run > best || (run == best && n + nans == 1)) *out = value[i], best = run, found = true;
    }
    if (nans > best || (nans && !found)) *out = NAN, found = true;
    return found;
}

static struct status unwritten(struct subject *s, const struct hypothesis *h)
{
    double value;
    if (!commonest(&value, s)) return status_ok();
    for (size_t i = 0; i < s->n; i++) s->guess[i] = value;
    bool usual = isnan(value) || value == 0;
    struct claim claim = claim_make(h->class, h->bits + (usual ? 0 : 12), CLAIM_ANY,
                                    "result not written: %.9g instead", value);
    return subject_offer(s, &claim, s->guess);
}

/* ---- NaN ---------------------------------------------------------------------------------------------- */

static struct status nan_swallowed(struct subject *s, const struct hypothesis *h)
{
    size_t lost = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->guess[i] = isnan(s->want[i]) && !isnan(s->got[i]) ? s->got[i] : s->want[i];
        lost += isnan(s->want[i]) && !isnan(s->got[i]);
    }
    if (!lost) return status_ok();
    struct claim claim = claim_make(h->class, h->bits, CLAIM_ANY, "NaN swallowed");
    return subject_offer(s, &claim, s->guess);
}

static struct status nan_made(struct subject *s, const struct hypothesis *h)
{
    size_t made = 0;
    for (size_t i = 0; i < s->n; i++) {
        bool here = !isnan(s->want[i]) && isnan(s->got[i]);
        s->guess[i] = here ? NAN : s->want[i];
        made += here;
    }
    if (!made) return status_ok();
    double bits = h->bits + subject_choice_bits(made, s->n);
    struct claim claim = claim_make(h->class, bits, CLAIM_WHOLE, "NaN made of numbers");
    return subject_offer(s, &claim, s->guess);
}

/* ---- a factor or an offset for all ------------------------------------------------------------------------ */

/* The median of got / want or got - want over the wrong elements looked at; false when there is none. */
static bool median_relation(double *out, const struct subject *s, bool ratio)
{
    double value[4096] = { 0 };
    size_t n = 0;
    for (size_t k = 0; k < s->n_probes && n < sizeof value / sizeof *value; k++) {
        size_t i = s->probes[k];
        double x = ratio ? s->got[i] / s->want[i] : s->got[i] - s->want[i];
        if (subject_is_wrong(s, i) && isfinite(x) && (!ratio || s->want[i] != 0)) value[n++] = x;
    }
    if (!n) return false;
    qsort(value, n, sizeof *value, ascending);
    *out = value[n / 2];
    return true;
}

/* Counts that a factor may come from: extents of the tensors of the call. */
static size_t extents_of(double out[64], const struct subject *s)
{
    size_t n = 0;
    for (size_t t = 0; t < bench_tensor_count(s->request->bench) && n < 32; t++) {
        const struct tensor *tensor = bench_tensor(s->request->bench, t)->tensor.tensor;
        double all = 1;
        for (int d = 0; tensor && d < tensor->rank && n + 2 < 64; d++) {
            out[n++] = (double)tensor->shape[d];
            all *= (double)tensor->shape[d];
        }
        if (tensor) out[n++] = all;
    }
    return n;
}

struct factor {
    double value, bits;
    char name[64];
};

static void consider(struct factor *best, double wanted, double slack, double value, double bits,
                     const char *before, double count, const char *after)
{
    if (!(fabs(wanted - value) <= slack * fabs(value)) || bits >= best->bits) return;
    best->value = value;
    best->bits = bits;
    if (count > 0) (void)snprintf(best->name, sizeof best->name, "%s%.0f%s", before, count, after);
    else (void)snprintf(best->name, sizeof best->name, "%s", before);
}

/* The name of a factor, when it is one of those that mistakes make. `slack` is how well it is known. */
static struct factor name_factor(const struct subject *s, double factor, double slack)
{
    struct factor best = { factor, 28, "" };
    double extent[64];
    size_t n = extents_of(extent, s);
    (void)snprintf(best.name, sizeof best.name, "%.6g", factor);
    consider(&best, factor, slack, 2, 2, "2", 0, "");
    consider(&best, factor, slack, 0.5, 2, "1/2", 0, "");
    consider(&best, factor, slack, -1, 2, "-1", 0, "");
    consider(&best, factor, slack, sqrt(2), 6, "sqrt 2", 0, "");
    consider(&best, factor, slack, sqrt(0.5), 6, "1/sqrt 2", 0, "");
    consider(&best, factor, slack, log(2), 6, "ln 2", 0, "");
    consider(&best, factor, slack, 1 / log(2), 6, "1/ln 2", 0, "");
    for (double k = 3; k <= 10; k++) {
        consider(&best, factor, slack, k, 6, "", k, "");
        consider(&best, factor, slack, 1 / k, 6, "1/", k, "");
    }
    for (size_t i = 0; i < n; i++) {
        double k = extent[i];
        if (k < 2) continue;
        consider(&best, factor, slack, k, 4, "", k, ", an extent");
        consider(&best, factor, slack, 1 / k, 4, "1/", k, ", an extent");
        consider(&best, factor, slack, sqrt(k), 4, "the root of ", k, ", an extent");
        consider(&best, factor, slack, 1 / sqrt(k), 4, "1 over the root of ", k, ", an extent");
        consider(&best, factor, slack, k / (k - 1), 4, "n/(n - 1), n = ", k, "");
        consider(&best, factor, slack, (k - 1) / k, 4, "(n - 1)/n, n = ", k, "");
        for (double m = 2; m <= 128; m *= 2) {
            double padded = ceil(k / m) * m;
            consider(&best, factor, slack, k / padded, 8, "n over n rounded up, n = ", k, "");
            consider(&best, factor, slack, k / (padded + m), 9, "n over n rounded up, n = ", k, "");
        }
    }
    return best;
}

static struct status scaled(struct subject *s, const struct hypothesis *h)
{
    double ratio;
    if (dtype_is_integral(s->dtype) || !median_relation(&ratio, s, true) || ratio == 0)
        return status_ok();
    double slack = 4 * ldexp(1, -dtype_info(s->dtype)->significand_bits);
    struct factor factor = name_factor(s, ratio, slack);
    for (size_t i = 0; i < s->n; i++) s->guess[i] = factor.value * s->exact_want[i];
    struct claim claim = factor.value == -1 ? claim_make("wrong sign", h->bits + factor.bits,
                                                         CLAIM_ANY, "sign turned round")
                                            : claim_make(h->class, h->bits + factor.bits, CLAIM_ANY,
                                                         "result times %s", factor.name);
    return subject_offer(s, &claim, s->guess);
}

static struct status offset(struct subject *s, const struct hypothesis *h)
{
    double offset;
    if (dtype_is_integral(s->dtype) || s->n < 4 || !median_relation(&offset, s, false))
        return status_ok();
    for (size_t i = 0; i < s->n; i++) s->guess[i] = s->exact_want[i] + offset;
    struct claim claim =
        claim_make(h->class, h->bits + 28, CLAIM_ANY, "%.6g added to the result", offset);
    return subject_offer(s, &claim, s->guess);
}

/* An integer that is one too many or too few: an index that counts from the wrong end. */
static struct status off_by_one(struct subject *s, const struct hypothesis *h)
{
    if (!dtype_is_integral(s->dtype) || s->dtype == DT_BOOL) return status_ok();
    for (int step = -1; step <= 1; step += 2) {
        for (size_t i = 0; i < s->n; i++) s->guess[i] = s->want[i] + step;
        struct claim claim = claim_make(h->class, h->bits + 1, CLAIM_ANY, "result one too %s",
                                        step > 0 ? "large" : "small");
        TRY(subject_offer(s, &claim, s->guess));
    }
    return status_ok();
}

static struct status inverted(struct subject *s, const struct hypothesis *h)
{
    if (s->dtype != DT_BOOL) return status_ok();
    for (size_t i = 0; i < s->n; i++) s->guess[i] = s->want[i] == 0;
    struct claim claim = claim_make(h->class, h->bits, CLAIM_ANY, "true and false exchanged");
    return subject_offer(s, &claim, s->guess);
}

/* ---- something of a neighbour --------------------------------------------------------------------------------- */

/* An accumulator that is not cleared: the result and the one before, along an axis. What came for the one before
 * is what the accumulator held. */
static struct status not_cleared(struct subject *s, const struct hypothesis *h)
{
    if (!dtype_is_float(s->dtype)) return status_ok();
    for (int axis = 0; axis < s->rank; axis++) {
        size_t stride = subject_stride(s, axis), extent = (size_t)s->shape[axis];
        for (size_t i = 0; i < s->n; i++) {
            bool first = i / stride % extent == 0;
            double before = first                             ? 0
                            : subject_is_wrong(s, i - stride) ? s->got[i - stride]
                                                              : s->exact_want[i - stride];
            s->guess[i] = s->exact_want[i] + before;
        }
        struct claim claim =
            claim_make(h->class, h->bits + bits_of(s->rank), CLAIM_ANY,
                       "accumulator not cleared: the element before along axis %d is in it", axis);
        TRY(subject_offer(s, &claim, s->guess));
    }
    return status_ok();
}

/* ---- bits ------------------------------------------------------------------------------------------------- */

static uint64_t pattern_of(enum dtype dtype, double x)
{
    uint64_t pattern = 0;
    dtype_from_double(&pattern, dtype, &x, 1);
    return pattern;
}

static double value_of(enum dtype dtype, uint64_t pattern)
{
    double x;
    dtype_to_double(&x, &pattern, dtype, 1);
    return x;
}

static struct status stuck_bit(struct subject *s, const struct hypothesis *h)
{
    unsigned width = 8 * (unsigned)dtype_info(s->dtype)->bytes;
    uint64_t differs = ~(uint64_t)0, always = 0, ones = ~(uint64_t)0, zeros = ~(uint64_t)0;
    for (size_t k = 0; k < s->n_probes; k++) {
        size_t i = s->probes[k];
        if (!subject_is_wrong(s, i)) continue;
        uint64_t got = pattern_of(s->dtype, s->got[i]);
        differs &= got ^ pattern_of(s->dtype, s->want[i]);
        always |= got ^ pattern_of(s->dtype, s->want[i]);
        ones &= got;
        zeros &= ~got;
    }
    for (unsigned b = 0; b < width; b++) {
        uint64_t bit = (uint64_t)1 << b;
        bool set = ones & bit;
        if (!(differs & bit) || !((ones | zeros) & bit)) continue;
        if (always >> b >> 1 && b + 8 > width) continue;
        for (size_t i = 0; i < s->n; i++) {
            uint64_t pattern = pattern_of(s->dtype, s->want[i]);
            s->guess[i] = value_of(s->dtype, set ? pattern | bit : pattern & ~bit);
        }
        struct claim claim = claim_make(h->class, h->bits + bits_of(width) + 1, CLAIM_ANY,
                                        "bit %u of the result always %d", b, set);
        TRY(subject_offer(s, &claim, s->guess));
    }
    return status_ok();
}

/* The result's bits taken for another dtype of the same width. */
static struct status reinterpreted(struct subject *s, const struct hypothesis *h)
{
    static const enum dtype dtypes[] = { DT_F32, DT_F16,    DT_BF16,  DT_I32,
                                         DT_I16, DT_F8E4M3, DT_F8E5M2 };
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        enum dtype other = dtypes[k];
        if (other == s->dtype || dtype_info(other)->bytes != dtype_info(s->dtype)->bytes) continue;
        for (size_t i = 0; i < s->n; i++)
            s->guess[i] = value_of(s->dtype, pattern_of(other, s->exact_want[i]));
        struct claim claim = claim_make(h->class, h->bits + 2, CLAIM_ANY,
                                        "result written as %s and read as %s",
                                        dtype_short_name(other), dtype_short_name(s->dtype));
        TRY(subject_offer(s, &claim, s->guess));
    }
    return status_ok();
}

/* clang-format off */
const struct hypothesis value_hypotheses[] = {
    { "nan swallowed",        2, nan_swallowed },
    { "nan made",             6, nan_made },
    { "unwritten",            3, unwritten },
    { "wrong scale",          3, scaled },
    { "wrong offset",         6, offset },
    { "index off by one",     3, off_by_one },
    { "inverted condition",   3, inverted },
    { "stale",                4, not_cleared },
    { "stuck bit",            4, stuck_bit },
    { "wrong dtype",          3, reinterpreted },
    { .class = NULL },
};
/* clang-format on */
