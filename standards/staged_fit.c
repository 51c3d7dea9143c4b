/* One pass of sums. */
#include "standards/staged_fit.h"

#include <math.h>

#include "standards/metrics/metrics.h"

/* Further off is further off: one wild element is not about how the others came to be. */
enum { MOST_UNITS = 8 };

static double in_units(double difference, double unit)
{
    return fmax(fmin(difference / unit, MOST_UNITS), -MOST_UNITS);
}

struct staged_fit staged_fit_measure(const struct reference *want, const double *staged,
                                     const struct tensor *got)
{
    enum dtype dtype = metrics_component_dtype(got->dtype);
    size_t bytes = dtype_info(dtype)->bytes;
    struct staged_fit fit = { 0, 0, 0 };
    double rr = 0, rd = 0, dd = 0, larger = 0, farther = 0;
    for (size_t i = 0; i < want->n; i++) {
        double value, rounded, unit = dtype_ulp(dtype, want->hi[i]);
        char nearest[8];
        dtype_to_double(&value, (const char *)got->data + i * bytes, dtype, 1);
        dtype_from_double(nearest, dtype, &want->hi[i], 1);
        dtype_to_double(&rounded, nearest, dtype, 1);
        double r = value - rounded, d = staged[i] - want->hi[i];
        if (!isfinite(r) || !isfinite(d)) continue;
        r = in_units(r, unit);
        d = in_units(d, unit);
        fit.differing += r != 0;
        larger += (r > 0) - (r < 0);
        farther += ((r > 0) - (r < 0)) * (rounded < 0 ? -1 : 1);
        rr += r * r;
        rd += r * d;
        dd += d * d;
    }
    if (fit.differing) fit.one_sided = fmax(fabs(larger), fabs(farther)) / (double)fit.differing;
    if (rr > 0 && dd > 0) fit.correlation = rd / sqrt(rr * dd);
    return fit;
}
