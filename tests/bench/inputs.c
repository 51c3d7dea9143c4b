/* Arguments for functions of one and two variables: edges first, then random ones. */
#include "bench/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_around(double *x, size_t *count, double value, int steps)
{
    double up = value, down = value;
    x[(*count)++] = value;
    x[(*count)++] = -value;
    for (int k = 0; k < steps; k++) {
        up = nextafter(up, INFINITY);
        down = nextafter(down, -INFINITY);
        x[(*count)++] = up;
        x[(*count)++] = -up;
        x[(*count)++] = down;
        x[(*count)++] = -down;
    }
}

size_t special_inputs(double *x, const struct oracle *oracle)
{
    size_t count = 0;
    add_around(x, &count, 0, 3);
    x[count++] = INFINITY;
    x[count++] = -INFINITY;
    x[count++] = NAN;
    for (int e = -1074; e < 1024; e++) add_around(x, &count, ldexp(1, e), 1);
    for (int k = 0; k < 8 && oracle->points[k] != 0; k++)
        add_around(x, &count, oracle->points[k], 3);
    for (int k = 1; k <= 40; k++) add_around(x, &count, k * M_PI_2, 1);
    for (int k = 1; k <= 80; k++) add_around(x, &count, k * 0.5, 2);
    for (int k = 0; k < 40; k++) add_around(x, &count, 0x1p-1022 * (1 + k / 8.0), 1);
    add_around(x, &count, 0x1.fffffffffffffp+1023, 0);
    return count;
}

/* clang-format off */
const double few_specials[FEW_SPECIALS] = {
    0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, -1.5, 10, -10, 1e-3, -1e-3, 0x1p-1074, -0x1p-1074,
    0x1p-1022, -0x1p-1022, 0x1p-1060, 1e-300, -1e-300, 1e300, -1e300, 0x1.fffffffffffffp+1023,
    -0x1.fffffffffffffp+1023, INFINITY, -INFINITY, NAN, 0x1.fffffffffffffp-1, 0x1.0000000000001p+0,
    -0x1.0000000000001p+0, 0x1p52, 0x1p53, 0x1.8p53, -0x1p53, 0x1p63, 1e15, 1e-15, -1e-15, 7, -7, 100,
    -100, 0.1, -0.1, 1e22, -1e22, 709, -709, 745, -745, 0x1p-53, 0x1p-26, 1e5,
};
/* clang-format on */

double any_double(struct numbers *numbers)
{
    uint64_t bits = numbers_next(numbers);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double mixed_input(struct numbers *numbers, size_t i, double low, double high)
{
    uint32_t bits;
    float single;
    switch (i & 7) {
    case 0:
    case 1: return any_double(numbers);
    case 2:
    case 3:
        bits = (uint32_t)numbers_next(numbers);
        memcpy(&single, &bits, sizeof single);
        return single;
    case 4: { /* small ones, by exponent */
        double scale = ldexp(1, -(int)(numbers_next(numbers) % 70));
        return (low + (high - low) * numbers_uniform(numbers)) * scale;
    }
    case 5: return (float)(low + (high - low) * numbers_uniform(numbers));
    default: return low + (high - low) * numbers_uniform(numbers);
    }
}

size_t thinned_inputs(size_t count)
{
    const char *text = getenv("PROBE_TEST_THIN");
    unsigned long thin = text ? strtoul(text, NULL, 10) : 1;
    return thin ? (count + thin - 1) / thin : count;
}
