/* The formats of matrix units, one evaluation of the reference each. */
#include "standards/judge_signature.h"

#include <math.h>

#include "standards/metrics/metrics.h"

const char *short_format_text(enum short_format format)
{
    static const char *const texts[SHORT_FORMAT_COUNT] = {
        [SHORT_TF32] = "TF32 (10 fraction bits)",    [SHORT_HF32] = "HF32 (11 fraction bits)",
        [SHORT_BF16] = "bfloat16 (7 fraction bits)", [SHORT_F16] = "float16 (10 fraction bits)",
        [SHORT_BF16X2] = "pairs of bfloat16",
    };
    return texts[format];
}

/* Sums over the elements that are finite on both sides, e the exact ones, and how many the format changes. */
struct products {
    double rr, rd, dd, re, de, ee;
    size_t count;
};

static struct products multiply(const struct reference *want, const struct tensor *got,
                                const double *shortened)
{
    enum dtype dtype = metrics_component_dtype(got->dtype);
    size_t bytes = dtype_info(dtype)->bytes;
    struct products sums = { .count = 0 };
    for (size_t i = 0; i < want->n; i++) {
        double value;
        dtype_to_double(&value, (const char *)got->data + i * bytes, dtype, 1);
        double e = want->hi[i], r = value - e, d = shortened[i] - e;
        if (!isfinite(r) || !isfinite(d)) continue;
        sums.rr += r * r;
        sums.rd += r * d;
        sums.dd += d * d;
        sums.re += r * e;
        sums.de += d * e;
        sums.ee += e * e;
        sums.count += fabs(d) > reference_bound(want, i);
    }
    return sums;
}

/* Both errors without the share of each that is a factor of the exact result. A sum of equal terms is off by one, whatever its
 * kernel, and what a format makes of factors that are all equal is one: the two are alike by that alone. */
static struct products without_scale(const struct products *sums)
{
    struct products out = *sums;
    if (!(sums->ee > 0 && sums->ee < INFINITY)) return out;
    out.rr = fmax(sums->rr - sums->re * sums->re / sums->ee, 0);
    out.rd = sums->rd - sums->re * sums->de / sums->ee;
    out.dd = fmax(sums->dd - sums->de * sums->de / sums->ee, 0);
    return out;
}

struct status judge_signature(struct signature *out, bool *found, struct row *row,
                              struct reference *want, const struct tensor *got)
{
    enum { LEAST = 16 };
    static const double cancelled = 1e-6; /* of squares: what is left is the roundings here */
    *found = false;
    *out = (struct signature){ .correlation = row_limit(row, LIMIT_MODEL_SIGNATURE) };
    for (int format = 0; format < SHORT_FORMAT_COUNT && want->shorten; format++) {
        double *shortened;
        TRY(want->shorten(&shortened, want, (enum short_format)format));
        if (!shortened) return status_ok();
        const struct products all = multiply(want, got, shortened), sums = without_scale(&all);
        if (all.count < LEAST || !(sums.rr > 0) || !(sums.dd > cancelled * all.dd)) continue;
        double share = sums.rd / sums.dd, correlation = sums.rd / sqrt(sums.rr * sums.dd);
        if (share <= 0.5 || share >= 2 || correlation <= out->correlation) continue;
        *out = (struct signature){ (enum short_format)format, share, correlation };
        *found = true;
    }
    return status_ok();
}
