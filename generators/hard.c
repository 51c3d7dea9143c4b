/* Every pattern is made from the element that was drawn, so that lines of one kind differ. A line that overflows spoils
 * one row of a product or sum and no more. */
#include "generators/hard.h"

#include <math.h>

#include "core/dtype.h"
#include "generators/fill.h"

enum { LINE_OF_A_VECTOR = 32 }; /* elements that go together in one dimension */

struct hard {
    const struct range *range;
    enum dtype dtype;
    uint64_t key;
    double scale;   /* of the range */
    double tiniest; /* normal number of the dtype, or of float32, which kernels compute in */
};

enum hard_line hard_line_of(uint64_t key, size_t line)
{
    return (enum hard_line)(fill_key_derive(key, line) % HARD_LINES);
}

static bool has(const struct hard *h, double x) { return x >= h->range->lo && x <= h->range->hi; }

/* c, -c + small, c, ...: sums lose nearly all of what they add up. Where only one sign is legal, a large offset: so
 * do variances. */
static double cancelling(const struct hard *h, double x, size_t i)
{
    double small = ldexp(x, -12);
    double most = fmin(fabs(h->range->lo), fabs(h->range->hi));
    if (h->range->lo < 0 && h->range->hi > 0) return (i % 2 ? -0.75 : 0.75) * most + small / 4;
    return h->range->lo + (h->range->hi - h->range->lo) * 0.5 + (x - h->range->lo) * 0x1p-10;
}

/* Five leading bits and a half: sums and products of these have ties in short formats. */
static double tie(double x)
{
    if (x == 0) return x;
    double step = ldexp(1, ilogb(x) - 4);
    return (floor(x / step) + 0.5) * step;
}

static double tiny(const struct hard *h, double x, size_t i)
{
    return h->scale > 0 ? x / h->scale * h->tiniest * (i % 2 ? 0.5 : 4) : x;
}

static double wide(const struct hard *h, double x, size_t i)
{
    return ldexp(x, -(int)(fill_key_derive(h->key, i) % 30));
}

/* Roots, poles and branch points of the functions of the catalogue, and their neighbours. */
static double special(const struct hard *h, double x, size_t i)
{
    static const double values[] = {
        0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        2,
        -2,
        3,
        -3,
        4,
        6,
        -6,
        10,
        1.5707963267948966,
        -1.5707963267948966,
        3.1415926535897931,
        -3.1415926535897931,
        6.2831853071795862,
        0.69314718055994529,
        2.7182818284590451,
        0.36787944117144233,
        0.70710678118654757,
        1.4616321449683623,   /* the minimum of gamma, */
        -1.2784645427610738,  /* of silu, */
        -0.75179162180000003, /* and of gelu */
    };
    enum { VALUES = sizeof values / sizeof *values };
    uint64_t random = fill_key_derive(h->key, i);
    double value = values[random % VALUES];
    double beside = value + ((double)(random >> 32 & 3) - 1) * dtype_ulp(h->dtype, value);
    return has(h, beside) ? beside : has(h, value) ? value : x;
}

/* Where exp, and what is made of it, leaves float32 and float16. */
static double edge(const struct hard *h, double x, size_t i)
{
    static const double values[] = { 88.5,  88.722839, 89,    -87.336544, -103.5,
                                     -104,  11.0898,   11.09, -9.7,       -16.7,
                                     -17.4, 15.9,      127.5, -126.5,     -149 };
    uint64_t random = fill_key_derive(h->key, i);
    double value = values[random % (sizeof values / sizeof *values)];
    return random >> 32 & 1 && has(h, value) ? value : x;
}

static double changed(const struct hard *h, enum hard_line kind, double x, size_t i)
{
    switch (kind) {
    case HARD_CANCELLING: return cancelling(h, x, i);
    case HARD_TIES: return tie(x);
    case HARD_TINY: return tiny(h, x, i);
    case HARD_WIDE: return wide(h, x, i);
    case HARD_SPECIAL: return special(h, x, i);
    case HARD_EDGES: return edge(h, x, i);
    default: return x;
    }
}

void hard_fill(struct tensor *out, const struct range *range, uint64_t key)
{
    size_t n = tensor_elements(out), width = dtype_info(out->dtype)->bytes;
    size_t line = out->rank > 1 ? (size_t)out->shape[out->rank - 1] : LINE_OF_A_VECTOR;
    if (!dtype_is_float(out->dtype) || range->constant || !n) return;
    double normal = ldexp(1, dtype_info(out->dtype)->exponent_min);
    const struct hard h = { range, out->dtype, fill_key_derive(key, STREAM_RULE),
                            fmax(fabs(range->lo), fabs(range->hi)), normal };
    for (size_t i = 0; i < n; i++) {
        enum hard_line kind = hard_line_of(h.key, i / line);
        double x;
        void *place = (char *)out->data + i * width;
        if (kind == HARD_KEPT) continue;
        dtype_to_double(&x, place, out->dtype, 1);
        if (!isfinite(x)) continue;
        double y = changed(&h, kind, x, i);
        if (has(&h, y)) dtype_from_double(place, out->dtype, &y, 1);
    }
}
