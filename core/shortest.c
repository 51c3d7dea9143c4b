/* Raffaello Giulietti, "The Schubfach way to render doubles" (2021), as in the JDK since 19: the
 * rounding interval of the double is scaled by one power of ten from a table so that its length
 * lies between 2 and 20 units, and the digits are those of one or two of four integers. Printing
 * with printf at growing precision takes 1.2 us a number instead of 0.03, and a comparison of
 * large dumps prints ten million.
 */
#include "core/shortest.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/decimal.h"
#include "core/shortest_powers.h"

__extension__ typedef unsigned __int128 wide;

struct decimal {
    uint64_t digits;
    int exponent; /* value = digits * 10^exponent */
};

/* floor(log10(2^e)), floor(log10(3/4 * 2^e)), floor(log2(10^e)); exact for the exponents of doubles
 * (Giulietti, section 8). */
static int floor_log10_pow2(int e) { return (int)((int64_t)e * 661971961083 >> 41); }
static int floor_log10_three_quarters_pow2(int e)
{
    return (int)(((int64_t)e * 661971961083 - 274743187321) >> 41);
}
static int floor_log2_pow10(int e) { return (int)((int64_t)e * 913124641741 >> 38); }

/* 2^-127 * power * x rounded to odd: the lowest bit also says whether anything was cut off. */
static uint64_t multiply_to_odd(const struct shortest_power *power, uint64_t x)
{
    uint64_t x1 = (uint64_t)((wide)power->low * x >> 64);
    wide product = (wide)power->high * x;
    uint64_t y0 = (uint64_t)product, y1 = (uint64_t)(product >> 64);
    const uint64_t mask = UINT64_MAX >> 1;
    uint64_t z = (y0 >> 1) + x1;
    uint64_t w = y1 + (z >> 63);
    return w | ((z & mask) + mask) >> 63;
}

/* c * 2^q, positive and finite; `irregular`: the next smaller number of its format is closer than the
 * next larger one. The table has the digits that doubles need, and the numbers of narrower formats
 * are doubles whose intervals are wider. */
static struct decimal shortest_decimal(uint64_t c, int q, bool irregular)
{
    uint64_t out = c & 1;
    uint64_t cb = c << 2, cb_right = cb + 2, cb_left = irregular ? cb - 1 : cb - 2;
    int k = irregular ? floor_log10_three_quarters_pow2(q) : floor_log10_pow2(q);
    int h = q + floor_log2_pow10(-k) + 2;
    const struct shortest_power *power = &shortest_powers[-k - SHORTEST_POWER_MIN];
    uint64_t vb = multiply_to_odd(power, cb << h);
    uint64_t left = multiply_to_odd(power, cb_left << h) + out;
    uint64_t right = multiply_to_odd(power, cb_right << h);
    uint64_t s = vb >> 2;

    if (s >= 10) {
        uint64_t tens = s / 10 * 10, next = tens + 10;
        bool low_in = left <= tens << 2, high_in = (next << 2) + out <= right;
        if (low_in != high_in) return (struct decimal){ low_in ? tens : next, k };
    }
    uint64_t t = s + 1;
    bool low_in = left <= s << 2, high_in = (t << 2) + out <= right;
    if (low_in != high_in) return (struct decimal){ low_in ? s : t, k };
    int64_t side = (int64_t)(vb - ((s + t) << 1));
    return (struct decimal){ side < 0 || (side == 0 && !(s & 1)) ? s : t, k };
}

static char *write_exponent(char *at, int exponent)
{
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    if (exponent < 0) exponent = -exponent;
    if (exponent < 10) *at++ = '0';
    return at + decimal_text(at, (uint64_t)exponent);
}

/* `n` digits d.ddd times 10^exponent. */
static char *write_notation(char *at, const char *digits, size_t n, int exponent, bool scientific)
{
    if (scientific) {
        *at++ = digits[0];
        if (n > 1) {
            *at++ = '.';
            memcpy(at, digits + 1, n - 1);
            at += n - 1;
        }
        return write_exponent(at, exponent);
    }
    if (exponent < 0) {
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the digits follow */
        memcpy(at, "0.0000", 6);
        at += 1 - exponent;
        memcpy(at, digits, n);
        return at + n;
    }
    size_t whole = (size_t)exponent + 1;
    for (size_t i = 0; i < whole; i++) *at++ = i < n ? digits[i] : '0';
    *at++ = '.';
    if (n <= whole) {
        *at++ = '0';
        return at;
    }
    memcpy(at, digits + whole, n - whole);
    return at + (n - whole);
}

/* x > 0 of a format with `p` significant bits and normal numbers from 2^least on. */
static struct decimal decimal_of(double x, int p, int least)
{
    uint64_t bits, hidden = UINT64_C(1) << 52, fraction;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023; /* of the first bit */
    fraction = bits & (hidden - 1);
    if (exponent > -1023) {
        fraction |= hidden;
    } else {
        exponent = -1022; /* a subnormal double: only doubles have numbers so small */
    }
    int last = exponent < least ? least
                                : exponent; /* the exponent that numbers of its spacing have */
    int q = last - (p - 1), cut = q - (exponent - 52);
    uint64_t c = fraction >> cut;
    return shortest_decimal(c, q, c == UINT64_C(1) << (p - 1) && last > least);
}

size_t shortest_typed(char text[SHORTEST_BYTES], double x, enum dtype dtype)
{
    const struct dtype_info *info = dtype_info(dtype);
    char digits[DECIMAL_BYTES], *at = text;

    if (isnan(x)) return strlen(strcpy(text, "nan"));
    if (signbit(x)) *at++ = '-';
    if (isinf(x)) return strlen(strcpy(at, "inf")) + (size_t)(at - text);
    if (x == 0) return strlen(strcpy(at, "0.0")) + (size_t)(at - text);

    struct decimal decimal = decimal_of(fabs(x), info->significand_bits, info->exponent_min);
    size_t n = decimal_text(digits, decimal.digits);
    int exponent = decimal.exponent + (int)n - 1;
    while (n > 1 && digits[n - 1] == '0') n--;
    /* By the value, as numpy does: the f32 nearest to 0.0001 lies below it. */
    bool scientific = fabs(x) < 1e-4 || fabs(x) >= 1e16;
    at = write_notation(at, digits, n, exponent, scientific);
    *at = '\0';
    return (size_t)(at - text);
}

size_t shortest_double(char text[SHORTEST_BYTES], double x)
{
    return shortest_typed(text, x, DT_F64);
}
