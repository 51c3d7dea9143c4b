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

/* Eight decimal digits of x < 10^8, as the bytes of a word: halves, quarters and single digits are divided side by side
 * in its lanes. The factors are 2^20 / 100 and 2^10 / 10, rounded up; the quotients are exact for all numbers of four and
 * two digits. */
static uint64_t digits8(uint32_t x)
{
    uint64_t fours = x / 10000 | (uint64_t)(x % 10000) << 32;
    uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = twos * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    return (tens | (twos - 10 * tens) << 8) | UINT64_C(0x3030303030303030);
}

/* The last `count` decimal digits of x, at least one; where they end. Up to seven bytes behind them are written, too. */
static char *print_digits(char *at, uint64_t x, int count)
{
    const uint64_t unit = UINT64_C(100000000);
    if (!x) return (char *)memset(at, '0', (size_t)count) + count;
    if (count > 8) {
        at = print_digits(at, x / unit, count - 8);
        count = 8;
    }
    uint64_t digits = digits8((uint32_t)(x % unit)) >> (64 - 8 * count);
    memcpy(at, &digits, sizeof digits);
    return at + count;
}

static int count_digits(uint64_t x)
{
    int count = 1;
    while (count < 20 && x >= powers_of_ten[count]) count++;
    return count;
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
    char *at = text;
    uint64_t whole, fraction;
    wide scaled;

    assert(decimals >= 0 && decimals <= FIXED_DECIMALS);
    if (!isfinite(x)) return strlen(strcpy(text, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf"));
    if (!scale_exactly(&scaled, fabs(x), decimals))
        return (size_t)snprintf(text, FIXED_BYTES, "%.*f", decimals, x);
    split_at_point(&whole, &fraction, scaled, decimals);
    if (signbit(x)) *at++ = '-';
    if (whole < 10) *at++ = (char)('0' + whole);
    else at = print_digits(at, whole, count_digits(whole));
    if (decimals) {
        *at++ = '.';
        at = print_digits(at, fraction, decimals);
    }
    *at = '\0';
    return (size_t)(at - text);
}
