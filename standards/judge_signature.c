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

/* Sums over the elements that are finite on both sides and that the format changes. */
struct products {
    double rr, rd, dd;
    size_t count;
};

static struct products multiply(const struct reference *want, const struct tensor *got,
                                const double *shortened)
{
    enum dtype dtype = metrics_component_dtype(got->dtype);
    size_t bytes = dtype_info(dtype)->bytes;
    struct products sums = { 0, 0, 0, 0 };
    for (size_t i = 0; i < want->n; i++) {
        double value;
        dtype_to_double(&value, (const char *)got->data + i * bytes, dtype, 1);
        double r = value - want->hi[i], d = shortened[i] - want->hi[i];
        if (!isfinite(r) || !isfinite(d)) continue;
        sums.rr += r * r;
        sums.rd += r * d;
        sums.dd += d * d;
        sums.count += fabs(d) > reference_bound(want, i);
    }
    return sums;
}

struct status judge_signature(struct signature *out, bool *found, struct row *row,
                              struct reference *want, const struct tensor *got)
{
    enum { LEAST = 16 };
    *found = false;
    *out = (struct signature){ .correlation = row_limit(row, LIMIT_MODEL_SIGNATURE) };
    for (int format = 0; format < SHORT_FORMAT_COUNT && want->shorten; format++) {
        double *shortened;
        TRY(want->shorten(&shortened, want, (enum short_format)format));
        if (!shortened) return status_ok();
        const struct products sums = multiply(want, got, shortened);
        if (sums.count < LEAST || !(sums.rr > 0)) continue;
        double share = sums.rd / sums.dd, correlation = sums.rd / sqrt(sums.rr * sums.dd);
        if (share <= 0.5 || share >= 2 || correlation <= out->correlation) continue;
        *out = (struct signature){ (enum short_format)format, share, correlation };
        *found = true;
    }
    return status_ok();
}
