/* printf takes 250 ns for a number with 14 decimals, because it is ready for a thousand digits, and a run
 * prints twenty of them a call. The values here are of moderate size, so that the exact decimal
 * expansion m * 10^d * 2^e fits 128 bits and one shift rounds it.
 */
#include "core/fixed.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

static const uint64_t powers_of_ten[] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

/* round(magnitude * 10^decimals) to nearest even; false when it does not fit the arithmetic:
 * magnitudes of 2^60 and more, 20 decimals. */
static bool scale_exactly(wide *out, double magnitude, int decimals)
{
    enum { FRACTION_BITS = 52, BIAS = 1075 };
    if (decimals >= (int)(sizeof powers_of_ten / sizeof *powers_of_ten)) return false;
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    int exponent = (int)(bits >> FRACTION_BITS);
    uint64_t significand = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    if (exponent) significand |= UINT64_C(1) << FRACTION_BITS;
    else exponent = 1;
    wide product = (wide)significand * powers_of_ten[decimals]; /* < 2^117 */
    exponent -= BIAS;

    if (exponent >= 0) {
        if (exponent > 7) return false;
        *out = product << exponent;
    } else if (exponent <= -128) {
        *out = 0; /* below 2^117 / 2^128: less than half a unit */
    } else {
        wide rest = product & (((wide)1 << -exponent) - 1), half = (wide)1 << (-exponent - 1);
        *out = product >> -exponent;
        if (rest > half || (rest == half && (*out & 1))) ++*out;
    }
    return true;
}

/* Decimal digits of x, at least `least` of them, ending before `end`. Returns their start. */
static char *print_digits(char *end, uint64_t x, int least)
{
    char *start = end - least;
    for (; x >= 10; x /= 100) {
        unsigned pair = (unsigned)(x % 100);
        *--end = (char)('0' + pair % 10);
        *--end = (char)('0' + pair / 10);
    }
    if (x) *--end = (char)('0' + x);
    while (end > start) *--end = '0';
    return end;
}

/* The digits before and behind the point. Nearly all values fit one word, whose division is ten times as fast. */
static void split_at_point(uint64_t *whole, uint64_t *fraction, wide scaled, int decimals)
{
    uint64_t unit = powers_of_ten[decimals];
    if (scaled <= UINT64_MAX) {
        *whole = (uint64_t)scaled / unit;
        *fraction = (uint64_t)scaled % unit;
    } else {
        *whole = (uint64_t)(scaled / unit);
        *fraction = (uint64_t)(scaled % unit);
    }
}

size_t fixed_double(char text[FIXED_BYTES], double x, int decimals)
{
    char digits[FIXED_BYTES], *start, *end = digits + sizeof digits;
    uint64_t whole, fraction;
    wide scaled;

    assert(decimals >= 0 && decimals <= FIXED_DECIMALS);
    if (!isfinite(x)) return strlen(strcpy(text, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf"));
    if (!scale_exactly(&scaled, fabs(x), decimals))
        return (size_t)snprintf(text, FIXED_BYTES, "%.*f", decimals, x);
    split_at_point(&whole, &fraction, scaled, decimals);
    start = print_digits(end, fraction, decimals);
    if (decimals) *--start = '.';
    start = print_digits(start, whole, 1);
    if (signbit(x)) *--start = '-';
    memcpy(text, start, (size_t)(end - start));
    text[end - start] = '\0';
    return (size_t)(end - start);
}
