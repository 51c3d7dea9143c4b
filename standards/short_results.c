/* One look at the first elements settles nearly all results: the chance that a right one has two zeros is a quarter. */
#include "standards/short_results.h"

#include <math.h>
#include <string.h>

enum { FRACTION_BITS = 23, FEWEST_BITS = 2 };

/* Different results that count, those with the largest exponent that are looked at, and those that are on no one grid. */
enum { FEWEST = 64, FEWEST_LARGEST = 32, FEWEST_OFF_GRID = 16 };

/* Subnormal and other special results do not count. */
enum { EXPONENTS = 256 };

struct result {
    int exponent; /* as stored */
    int zeros;    /* at the end of the significand */
};

static struct result result_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t significand = (bits & 0x7fffff) | 0x800000;
    return (struct result){ (int)(bits >> FRACTION_BITS & 0xff), __builtin_ctz(significand) };
}

static bool has_error(const struct reference *want, size_t i, const struct result *result)
{
    return result->exponent > 0 && result->exponent < EXPONENTS - 1 && isfinite(want->hi[i]) &&
           want->kernel_bound[i] > 0 && isfinite(want->kernel_bound[i]);
}

static int zeros_of_all(const float *got, const struct reference *want)
{
    int zeros = FRACTION_BITS + 1;
    for (size_t i = 0; i < want->n && zeros >= FEWEST_BITS; i++) {
        const struct result result = result_of(got[i]);
        if (has_error(want, i, &result) && result.zeros < zeros) zeros = result.zeros;
    }
    return zeros > FRACTION_BITS || zeros < FEWEST_BITS ? 0 : zeros;
}

/* Does the exact result lie an eighth of such a step or more from numbers with these zeros, and would a grid of such steps alone, whose errors
 * have an rms of step / sqrt 12, make at least half of the errors that are expected? */
static bool counts(const struct reference *want, size_t i, const struct result *result, int zeros)
{
    double step = ldexp(dtype_ulp(DT_F32, want->hi[i]), zeros), x = want->hi[i] / step;
    return has_error(want, i, result) && fabs(x - nearbyint(x)) >= 0.125 &&
           step >= sqrt(3) * want->kernel_rms[i];
}

/* What the results that count have. */
struct census {
    double seen[FEWEST];
    size_t different, by_exponent[EXPONENTS];
};

static void add(struct census *census, double want, int exponent)
{
    size_t k = 0;
    while (k < census->different && census->seen[k] != want) k++;
    if (k == census->different && k < FEWEST) census->seen[census->different++] = want;
    census->by_exponent[exponent]++;
}

/* The largest exponent that, with larger ones, enough results have. */
static int largest_exponent(const struct census *census)
{
    size_t count = 0;
    int exponent = EXPONENTS;
    while (exponent > 0 && count < FEWEST_LARGEST) count += census->by_exponent[--exponent];
    return exponent;
}

int short_results_find(const struct tensor *got, const struct reference *want)
{
    const float *x = got->data;
    struct census census = { .different = 0 };
    size_t off_grid = 0;
    if (got->dtype != DT_F32 || !want->kernel_own_bits || !want->kernel_bound || !want->kernel_rms)
        return 0;
    int zeros = zeros_of_all(x, want);
    for (size_t i = 0; zeros && i < want->n; i++) {
        const struct result result = result_of(x[i]);
        if (counts(want, i, &result, zeros)) add(&census, want->hi[i], result.exponent);
    }
    if (!zeros || census.different < FEWEST) return 0;
    int largest = largest_exponent(&census);
    for (size_t i = 0; i < want->n; i++) {
        const struct result result = result_of(x[i]);
        off_grid += counts(want, i, &result, zeros) &&
                    result.zeros < zeros + largest - result.exponent;
    }
    return off_grid >= FEWEST_OFF_GRID ? zeros : 0;
}
