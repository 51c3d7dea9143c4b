/* The value of a decimal number, correctly rounded.
 *
 * Dumps print floats with repr, that is, with up to 17 digits and small exponents, and they are
 * mostly numbers: strtod at 80 to 200 ns each would be half of the reading time. With up to 19
 * digits w < 2^64 and w * 10^q = w * 5^q * 2^q with 5^|q| < 2^63 for |q| <= 27, the product or
 * quotient of w and 5^|q| fits 128-bit integers, with a remainder that says on which side of a
 * rounding boundary the exact value lies; so one division rounds correctly, without tables of
 * truncated powers. What does not fit (more digits, larger exponents) goes to strtod.
 */
#include "formats/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_DIGITS = 19, EXACT_POWER = 27, STRTOD_DIGITS = 800 };

/* 5^0 .. 5^27; the last is below 2^63. */
static const uint64_t powers_of_five[EXACT_POWER + 1] = {
    UINT64_C(1),
    UINT64_C(5),
    UINT64_C(25),
    UINT64_C(125),
    UINT64_C(625),
    UINT64_C(3125),
    UINT64_C(15625),
    UINT64_C(78125),
    UINT64_C(390625),
    UINT64_C(1953125),
    UINT64_C(9765625),
    UINT64_C(48828125),
    UINT64_C(244140625),
    UINT64_C(1220703125),
    UINT64_C(6103515625),
    UINT64_C(30517578125),
    UINT64_C(152587890625),
    UINT64_C(762939453125),
    UINT64_C(3814697265625),
    UINT64_C(19073486328125),
    UINT64_C(95367431640625),
    UINT64_C(476837158203125),
    UINT64_C(2384185791015625),
    UINT64_C(11920928955078125),
    UINT64_C(59604644775390625),
    UINT64_C(298023223876953125),
    UINT64_C(1490116119384765625),
    UINT64_C(7450580596923828125),
};

__extension__ typedef unsigned __int128 wide;

/* A number taken apart: sign, the first 19 significant digits, and the rest as an exponent. */
struct decimal {
    bool negative;
    bool is_integer; /* no fraction and no exponent are written */
    bool inexact;    /* there are more digits than `digits` holds */
    uint64_t digits;
    int64_t power; /* of ten */
};

static void decimal_read(struct decimal *out, const char *at, const char *end)
{
    int64_t exponent = 0;
    int count = 0;

    *out = (struct decimal){ .is_integer = true };
    if (at < end && *at == '-') {
        out->negative = true;
        at++;
    }
    bool fraction = false;
    for (; at < end; at++) {
        if (*at == '.') {
            fraction = true;
            out->is_integer = false;
            continue;
        }
        if (*at < '0' || *at > '9') break;
        int digit = *at - '0';
        if (count < EXACT_DIGITS) {
            out->digits = out->digits * 10 + (uint64_t)digit;
            if (out->digits) count++;
            if (fraction) out->power--;
        } else {
            if (digit) out->inexact = true;
            if (!fraction) out->power++;
        }
    }
    if (at == end) return;
    out->is_integer = false;
    at++; /* e or E */
    bool minus = *at == '-';
    if (*at == '-' || *at == '+') at++;
    for (; at < end; at++)
        if (exponent < 100000000) exponent = exponent * 10 + (*at - '0');
    out->power += minus ? -exponent : exponent;
}

static int leading_zeros(uint64_t x)
{
    return __builtin_clzll(x);
}

/* m * 2^power with m in [2^62, 2^64) and `sticky` for a part of it below the last bit, rounded
 * to nearest even. The caller's ranges keep the result normal. */
static double round_to_double(uint64_t m, bool sticky, int power)
{
    int shift = leading_zeros(m) ? 10 : 11; /* keep 53 bits */
    uint64_t kept = m >> shift, rest = m & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);

    if (rest > half || (rest == half && (sticky || (kept & 1)))) kept++;
    uint64_t scale_bits = (uint64_t)(power + shift + 1023) << 52;
    double scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    return (double)kept * scale;
}

/* digits / 5^k * 2^-k. */
static double divide(uint64_t digits, int k)
{
    uint64_t five = powers_of_five[k];
    int up = leading_zeros(digits), five_up = leading_zeros(five);
    uint64_t dividend = digits << up, divisor = five << five_up;

    /* The dividend's upper half is below 2^63 <= divisor, so the quotient fits 64 bits. */
    wide numerator = (wide)dividend << 63;
    uint64_t quotient = (uint64_t)(numerator / divisor);
    bool sticky = (uint64_t)(numerator - (wide)quotient * divisor) != 0;
    return round_to_double(quotient, sticky, five_up - up - 63 - k);
}

/* digits * 5^k * 2^k. */
static double multiply(uint64_t digits, int k)
{
    wide product = (wide)digits * powers_of_five[k];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;

    if (!high) {
        int up = leading_zeros(low);
        return round_to_double(low << up, false, k - up);
    }
    int up = leading_zeros(high);
    uint64_t m = up ? high << up | low >> (64 - up) : high;
    return round_to_double(m, (uint64_t)(low << up) != 0, k + 64 - up);
}

/* Through strtod, with a bounded copy: a double's rounding boundary has at most 767 significant
 * digits, so of more than 800 only "is any of the rest nonzero" matters. */
static double convert_slowly(const char *text, size_t bytes)
{
    char copy[STRTOD_DIGITS + 40];
    size_t used = 0;
    int digits = 0;
    bool fraction = false, rest = false;
    int64_t power = 0;
    const char *at = text, *end = text + bytes;

    if (at < end && *at == '-') copy[used++] = *at++;
    for (; at < end && (*at == '.' || (*at >= '0' && *at <= '9')); at++) {
        if (*at == '.') {
            fraction = true;
        } else if (digits < STRTOD_DIGITS) {
            if (digits || *at != '0') {
                copy[used++] = *at;
                digits++;
            }
            if (fraction) power--;
        } else {
            if (*at != '0') rest = true;
            if (!fraction) power++;
        }
    }
    if (!digits) copy[used++] = '0';
    if (rest) {
        copy[used++] = '1';
        power--;
    }
    if (at < end) {
        struct decimal written;
        decimal_read(&written, at - 1, end); /* the last digit and the exponent */
        power += written.power;
    }
    if (power > 100000000) power = 100000000;
    if (power < -100000000) power = -100000000;
    copy[used++] = 'e';
    if (power < 0) copy[used++] = '-';
    uint64_t magnitude = power < 0 ? (uint64_t)-power : (uint64_t)power;
    char reversed[24];
    int n = 0;
    do {
        reversed[n++] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude);
    while (n) copy[used++] = reversed[--n];
    copy[used] = '\0';
    return strtod(copy, NULL);
}

static void set_integer(struct json_number *out, const struct decimal *d)
{
    uint64_t limit = (uint64_t)INT64_MAX + (d->negative ? 1 : 0);

    out->is_integer = true;
    if (d->inexact || d->power != 0 || d->digits > limit) return;
    out->is_int64 = true;
    out->integer = d->negative ? (int64_t)(0 - d->digits) : (int64_t)d->digits;
}

void json_number_read(struct json_number *out, const char *text, size_t bytes)
{
    struct decimal d;

    *out = (struct json_number){ 0 };
    if (text[0] == 'N') {
        out->real = NAN;
        return;
    }
    if (text[0] == 'I' || (bytes > 1 && text[1] == 'I')) {
        out->real = text[0] == '-' ? -INFINITY : INFINITY;
        return;
    }
    decimal_read(&d, text, text + bytes);
    if (d.is_integer) set_integer(out, &d);
    if (!d.digits && !d.inexact) out->real = 0;
    else if (d.inexact || d.power > EXACT_POWER || d.power < -EXACT_POWER) {
        out->real = convert_slowly(text, bytes);
        return;
    } else {
        int power = (int)d.power;
        out->real = power < 0 ? divide(d.digits, -power) : multiply(d.digits, power);
    }
    if (d.negative) out->real = -out->real;
}
