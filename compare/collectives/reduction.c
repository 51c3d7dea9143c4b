/* Elements are judged in blocks that stay in the cache: each rank's are converted and added to the sums of the block, so
 * that tensors of any size are read once, in order. */
#include "compare/collectives/reduction.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/vectorize.h"

enum { BLOCK = 1024 };

static const char *const names[REDUCTIONS] = {
    [REDUCTION_COPY] = "copy",       [REDUCTION_SUM] = "sum",
    [REDUCTION_AVERAGE] = "average", [REDUCTION_PRODUCT] = "product",
    [REDUCTION_MINIMUM] = "minimum", [REDUCTION_MAXIMUM] = "maximum",
    [REDUCTION_AND] = "and",         [REDUCTION_OR] = "or",
    [REDUCTION_XOR] = "xor",
};

const char *reduction_name(enum reduction reduction) { return names[reduction]; }

const char *reduction_obstacle(enum reduction reduction, enum dtype dtype)
{
    bool bitwise = reduction == REDUCTION_AND || reduction == REDUCTION_OR ||
                   reduction == REDUCTION_XOR;
    if (reduction == REDUCTION_COPY) return NULL;
    if (bitwise && !dtype_is_integral(dtype))
        return "bits of numbers with a point are not combined";
    if (reduction == REDUCTION_AVERAGE && dtype_is_integral(dtype))
        return "how an average of integers is rounded is not specified";
    if (dtype_is_complex(dtype) && reduction != REDUCTION_SUM && reduction != REDUCTION_AVERAGE)
        return "complex numbers are only added";
    return NULL;
}

struct reduction_weights reduction_usual_weights(enum reduction reduction, enum dtype dtype,
                                                 size_t ranks)
{
    return (struct reduction_weights){
        .scale = reduction == REDUCTION_AVERAGE ? 1.0 / (double)ranks : 1,
        .roundoff = ldexp(1, -dtype_info(dtype_component(dtype))->significand_bits),
    };
}

/* Of `ranks` terms added in any order. No restriction on k u (Rump, Error estimation of floating-point summation and dot
 * product, BIT 52, 2012), which is above 1 for bfloat16 on many ranks. */
static double bound_of_sum(double ranks, double u) { return ranks * u; }

/* With a rounded factor and a product or quotient more, before or behind the sum: (1 + k u) (1 + u)^3 - 1. */
static double bound_of_average(double ranks, double u)
{
    return (1 + ranks * u) * (1 + u) * (1 + u) * (1 + u) - 1;
}

static double bound_of_product(double ranks, double u) { return expm1(ranks * log1p(u)); }

/* One more element judged. An error of 0 is none, whatever is allowed. */
static void note(struct reduction_error *out, size_t element, double got, double want, double error,
                 double allowed)
{
    double quotient = error == 0 ? 0 : error / allowed;
    if (isnan(quotient)) quotient = INFINITY;
    if (quotient > 1) out->wrong++;
    if (quotient <= out->quotient) return;
    *out = (struct reduction_error){ out->wrong, out->unjudged, element, got,
                                     want,       error,         allowed, quotient };
}

/* ---- copies --------------------------------------------------------------------------------- */

static double one_value(enum dtype dtype, const unsigned char *element)
{
    double parts[2];
    dtype_to_double(parts, element, dtype, 1);
    return parts[0];
}

/* Where there is no room for error, bytes decide. */
static void judge_bytes(struct reduction_error *out, enum dtype dtype, const unsigned char *want,
                        const unsigned char *got, size_t begin, size_t count)
{
    size_t bytes = dtype_info(dtype)->bytes;
    if (!memcmp(want, got, count * bytes)) return;
    for (size_t i = 0; i < count; i++, want += bytes, got += bytes) {
        if (!memcmp(want, got, bytes)) continue;
        double x = one_value(dtype, got), y = one_value(dtype, want);
        note(out, begin + i, x, y, x == y || isnan(x - y) ? INFINITY : fabs(x - y), 0);
    }
}

/* ---- sums ----------------------------------------------------------------------------------- */

struct sums {
    double high[2 * BLOCK], low[2 * BLOCK], magnitude[2 * BLOCK];
};

/* Knuth's TwoSum: high + low is the sum so far but for roundings of low. */
VECTORIZED static void add_block(struct sums *sums, const double *x, double factor, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double a = sums->high[i], b = factor * x[i], s = a + b, t = s - a;
        sums->high[i] = s;
        sums->low[i] += (a - (s - t)) + (b - t);
        sums->magnitude[i] += fabs(b);
    }
}

static bool all_finite(const struct piece *given, size_t ranks, enum dtype dtype, size_t element,
                       size_t part)
{
    size_t bytes = dtype_info(dtype)->bytes;
    double parts[2];
    for (size_t r = 0; r < ranks; r++) {
        dtype_to_double(parts, given[r].data + element * bytes, dtype, 1);
        if (!isfinite(parts[part])) return false;
    }
    return true;
}

/* Infinities and NaN have one right answer in every order unless finite ones overflow on the way. */
static void judge_special(struct reduction_error *out, size_t element, double got, double want)
{
    bool right = isnan(want) ? isnan(got) : got == want;
    note(out, element, got, want, right ? 0 : INFINITY, 0);
}

static void judge_sum_block(struct reduction_error *out, enum dtype dtype,
                            const struct piece *given, size_t ranks, const struct piece *piece,
                            const struct reduction_weights *weights, size_t begin, size_t count)
{
    const struct dtype_info *info = dtype_info(dtype_component(dtype));
    size_t parts = dtype_is_complex(dtype) ? 2 : 1, bytes = dtype_info(dtype)->bytes;
    size_t n = count * parts;
    double x[2 * BLOCK], got[2 * BLOCK];
    struct sums sums;

    memset(sums.high, 0, n * sizeof(double));
    memset(sums.low, 0, n * sizeof(double));
    memset(sums.magnitude, 0, n * sizeof(double));
    for (size_t r = 0; r < ranks; r++) {
        dtype_to_double(x, given[r].data + begin * bytes, dtype, count);
        add_block(&sums, x, weights->factors ? weights->factors[r] : 1, n);
    }
    dtype_to_double(got, piece->data + begin * bytes, dtype, count);

    bool averages = weights->scale != 1;
    double bound = averages ? bound_of_average((double)ranks, weights->roundoff)
                            : bound_of_sum((double)ranks, weights->roundoff);
    double smallest = ldexp(1, info->exponent_min - info->significand_bits + 1);
    for (size_t i = 0; i < n; i++) {
        double high = weights->scale * sums.high[i], magnitude = weights->scale * sums.magnitude[i];
        size_t element = begin + i / parts;
        if (!(sums.magnitude[i] * (1 + bound) < info->largest)) {
            if (all_finite(given, ranks, dtype, element, i % parts)) out->unjudged++;
            else judge_special(out, element, got[i], sums.high[i]);
            continue;
        }
        double want = high + weights->scale * sums.low[i];
        double error = fabs(got[i] - high - weights->scale * sums.low[i]);
        if (isnan(error)) error = INFINITY;
        note(out, element, got[i], want, error,
             bound * magnitude + (averages ? (double)ranks * smallest : 0));
    }
}

/* ---- products, minima, maxima ------------------------------------------------------------------ */

struct product {
    double value, large, small; /* large, small: of the factors above and below 1 alone */
};

static void judge_product(struct reduction_error *out, enum dtype dtype, size_t element, double got,
                          const struct product *product, size_t ranks, double roundoff)
{
    const struct dtype_info *info = dtype_info(dtype);
    if (isnan(product->value) || isinf(product->large)) {
        /* Infinite factors, or an overflow of double: what an order makes of it is not followed. */
        out->unjudged++;
    } else if (product->large >= info->largest ||
               (product->small < ldexp(1, info->exponent_min) && product->value != 0)) {
        out->unjudged++;
    } else {
        double bound = bound_of_product((double)ranks, roundoff) +
                       bound_of_product((double)ranks, 0x1p-53);
        double error = fabs(got - product->value);
        note(out, element, got, product->value, isnan(error) ? INFINITY : error,
             bound * fabs(product->value));
    }
}

/* A NaN among the elements may win or be passed over. */
static void judge_extreme(struct reduction_error *out, size_t element, double got, double want,
                          bool has_nan)
{
    if (has_nan && isnan(got)) return;
    note(out, element, got, want,
         got == want         ? 0
         : isnan(got - want) ? INFINITY
                             : fabs(got - want),
         0);
}

static void judge_selection_block(struct reduction_error *out, enum reduction reduction,
                                  enum dtype dtype, const struct piece *given, size_t ranks,
                                  const struct piece *piece, double roundoff, size_t begin,
                                  size_t count)
{
    size_t bytes = dtype_info(dtype)->bytes;
    double x[BLOCK], got[BLOCK], extreme[BLOCK];
    struct product products[BLOCK];
    bool has_nan[BLOCK];

    for (size_t i = 0; i < count; i++) {
        products[i] = (struct product){ 1, 1, 1 };
        has_nan[i] = false;
        extreme[i] = NAN;
    }
    for (size_t r = 0; r < ranks; r++) {
        dtype_to_double(x, given[r].data + begin * bytes, dtype, count);
        for (size_t i = 0; i < count; i++) {
            has_nan[i] |= isnan(x[i]);
            extreme[i] = reduction == REDUCTION_MINIMUM ? fmin(extreme[i], x[i])
                                                        : fmax(extreme[i], x[i]);
            products[i].value *= x[i];
            products[i].large *= fmax(fabs(x[i]), 1);
            products[i].small *= fmin(fabs(x[i]), 1);
        }
    }
    dtype_to_double(got, piece->data + begin * bytes, dtype, count);
    for (size_t i = 0; i < count; i++)
        if (reduction == REDUCTION_PRODUCT)
            judge_product(out, dtype, begin + i, got[i], &products[i], ranks, roundoff);
        else judge_extreme(out, begin + i, got[i], extreme[i], has_nan[i]);
}

/* ---- integers ----------------------------------------------------------------------------------- */

static int64_t combine(enum reduction reduction, int64_t a, int64_t b)
{
    switch (reduction) {
    case REDUCTION_SUM: return (int64_t)((uint64_t)a + (uint64_t)b);
    case REDUCTION_PRODUCT: return (int64_t)((uint64_t)a * (uint64_t)b);
    case REDUCTION_MINIMUM: return a < b ? a : b;
    case REDUCTION_MAXIMUM: return a > b ? a : b;
    case REDUCTION_AND: return a & b;
    case REDUCTION_OR: return a | b;
    default: return a ^ b;
    }
}

/* Integers wrap around; a boolean is true where its sum, product, ... is not 0. */
static void judge_integer_block(struct reduction_error *out, enum reduction reduction,
                                enum dtype dtype, const struct piece *given, size_t ranks,
                                const struct piece *piece, size_t begin, size_t count)
{
    size_t bytes = dtype_info(dtype)->bytes;
    int64_t x[BLOCK], all[BLOCK];
    unsigned char want[BLOCK * sizeof(int64_t)];

    dtype_to_int64(all, given[0].data + begin * bytes, dtype, count);
    for (size_t r = 1; r < ranks; r++) {
        dtype_to_int64(x, given[r].data + begin * bytes, dtype, count);
        for (size_t i = 0; i < count; i++) all[i] = combine(reduction, all[i], x[i]);
    }
    for (size_t i = 0; dtype == DT_BOOL && i < count; i++) all[i] = all[i] != 0;
    dtype_from_int64(want, dtype, all, count);
    judge_bytes(out, dtype, want, piece->data + begin * bytes, begin, count);
}

/* ---- all ----------------------------------------------------------------------------------------- */

void reduction_judge(struct reduction_error *out, enum reduction reduction, enum dtype dtype,
                     const struct piece *given, size_t ranks, const struct piece *got,
                     const struct reduction_weights *weights, size_t begin, size_t end)
{
    const struct reduction_weights usual = reduction_usual_weights(reduction, dtype, ranks);
    size_t bytes = dtype_info(dtype)->bytes;

    if (!weights) weights = &usual;
    for (size_t at = begin; at < end; at += BLOCK) {
        size_t count = end - at < BLOCK ? end - at : BLOCK;
        if (reduction == REDUCTION_COPY)
            judge_bytes(out, dtype, given[0].data + at * bytes, got->data + at * bytes, at, count);
        else if (dtype_is_integral(dtype))
            judge_integer_block(out, reduction, dtype, given, ranks, got, at, count);
        else if (reduction == REDUCTION_SUM || reduction == REDUCTION_AVERAGE)
            judge_sum_block(out, dtype, given, ranks, got, weights, at, count);
        else
            judge_selection_block(out, reduction, dtype, given, ranks, got, weights->roundoff, at,
                                  count);
    }
}
