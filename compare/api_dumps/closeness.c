/* One pass over two tensors, in double. */
#include "compare/api_dumps/closeness.h"

#include <math.h>

/* Elements in the buffers of one chunk, which stay in the first cache; its sums are added to those of
 * the whole, so an error of rounding grows with the square root of the size at most. */
enum { CHUNK = 1024 };

struct sums {
    double difference, dot, a_squared, b_squared;
};

static bool is_close(double a, double b, double difference, struct tolerance tolerance)
{
    if (isfinite(a) && isfinite(b)) return difference <= tolerance.atol + tolerance.rtol * fabs(b);
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) && tolerance.equal_nan;
    return a == b;
}

/* `unequal` counts the elements that differ; NaN differs from everything. */
static void fold(struct sums *sums, struct closeness *out, size_t *unequal, const double *a,
                 const double *b, size_t n, struct tolerance tolerance)
{
    struct sums chunk = { 0 };
    for (size_t i = 0; i < n; i++) {
        double difference = fabs(a[i] - b[i]);
        chunk.dot += a[i] * b[i];
        chunk.a_squared += a[i] * a[i];
        chunk.b_squared += b[i] * b[i];
        out->close += is_close(a[i], b[i], difference, tolerance);
        if (a[i] == b[i]) continue;
        ++*unequal;
        chunk.difference += difference;
        if (!(difference <= out->max_difference) && !isnan(out->max_difference))
            out->max_difference = difference;
    }
    sums->difference += chunk.difference;
    sums->dot += chunk.dot;
    sums->a_squared += chunk.a_squared;
    sums->b_squared += chunk.b_squared;
}

static double cosine(const struct sums *sums)
{
    double tiny = ldexp(1, -52), a = sqrt(sums->a_squared), b = sqrt(sums->b_squared);
    if (a <= tiny && b <= tiny) return 1;
    if (a <= tiny || b <= tiny) return NAN;
    double value = sums->dot / (a * b);
    return value > 1 ? 1 : value < -1 ? -1 : value;
}

/* Elements at..at+n as doubles; of a real tensor beside a complex one with imaginary parts of 0. */
static void load(double *out, const struct tensor *tensor, size_t at, size_t n, size_t parts)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    dtype_to_double(out, (const char *)tensor->data + at * info->bytes, tensor->dtype, n);
    if (parts == 1 || info->kind == KIND_COMPLEX) return;
    for (size_t i = n; i-- > 0;) {
        out[2 * i] = out[i];
        out[2 * i + 1] = 0;
    }
}

void closeness_measure(struct closeness *out, const struct tensor *a, const struct tensor *b,
                       struct tolerance tolerance)
{
    double x[2 * CHUNK], y[2 * CHUNK];
    size_t elements = tensor_elements(a), unequal = 0;
    size_t parts = dtype_is_complex(a->dtype) || dtype_is_complex(b->dtype) ? 2 : 1;
    struct sums sums = { 0 };

    *out = (struct closeness){ .n = elements * parts };
    for (size_t at = 0; at < elements; at += CHUNK) {
        size_t n = elements - at < CHUNK ? elements - at : CHUNK;
        load(x, a, at, n, parts);
        load(y, b, at, n, parts);
        fold(&sums, out, &unequal, x, y, n * parts, tolerance);
    }
    out->all_close = !unequal || out->close == out->n;
    if (!unequal) out->close = out->n;
    out->cosine = unequal ? cosine(&sums) : 1;
    out->mean_difference = unequal ? sums.difference / (double)unequal : 0;
}
