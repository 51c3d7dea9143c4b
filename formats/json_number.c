/* The value of a decimal number, correctly rounded.
 *
 * Dumps print floats with repr, that is, with up to 17 digits and small exponents, and they are
 * mostly numbers: strtod at 80 to 200 ns each would be half of the reading time. With up to 19
 * digits w < 2^64 and w * 10^q = w * 5^q * 2^q with 5^|q| < 2^63 for |q| <= 27, the product or
 * quotient of w and 5^|q| fits 128-bit integers, with a remainder that says on which side of a
 * rounding boundary the exact value lies; so one division rounds correctly, without tables of
 * truncated powers. What does not fit (more digits, larger exponents) goes to strtod. Digits are
 * taken eight at a time, as the bytes of a word.
 */
#include "formats/json.h"
#include "formats/json_words.h"

#include <math.h>
#include <stdio.h>
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

/* A number taken apart. */
struct decimal {
    bool negative;
    bool is_integer; /* no fraction and no exponent are written */
    uint64_t digits; /* of the whole and the fraction; valid up to 19 of them */
    size_t count;    /* how many, with leading zeros */
    int64_t power;   /* of ten; what is written as exponent, less the digits of the fraction */
    int64_t exponent;
};

/* Pass over digits and append them to `digits`, whatever overflows. */
static inline const char *take_digits(const char *at, const char *end, uint64_t *digits)
{
    static const uint64_t tens[9] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000
    };
    uint64_t value = *digits;

    while (end - at >= 8) {
        uint64_t word = load8(at);
        int n = count_digits(word);
        if (!n) break;
        /* The digits at the top of the word, zeros below. */
        value = value * tens[n] + read_digits8(word << (64 - 8 * n));
        at += n;
        if (n < 8) {
            *digits = value;
            return at;
        }
    }
    for (; at < end && *at >= '0' && *at <= '9'; at++) value = value * 10 + (uint64_t)(*at - '0');
    *digits = value;
    return at;
}

/* Take a number apart: its end, or NULL when it is not one. */
static const char *decimal_take(struct decimal *out, const char *at, const char *end)
{
    const char *start;

    *out = (struct decimal){ .is_integer = true };
    if (at < end && *at == '-') {
        out->negative = true;
        at++;
    }
    start = at;
    at = take_digits(at, end, &out->digits);
    out->count = (size_t)(at - start);
    if (!out->count || (*start == '0' && out->count > 1)) return NULL;
    if (at < end && *at == '.') {
        start = ++at;
        at = take_digits(at, end, &out->digits);
        if (at == start) return NULL;
        out->count += (size_t)(at - start);
        out->power = start - at;
        out->is_integer = false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        out->is_integer = false;
        at++;
        bool minus = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) at++;
        start = at;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            if (out->exponent < 100000000) out->exponent = out->exponent * 10 + (*at - '0');
        if (at == start) return NULL;
        if (minus) out->exponent = -out->exponent;
        out->power += out->exponent;
    }
    return at;
}

static int leading_zeros(uint64_t x) { return __builtin_clzll(x); }

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
static double convert_slowly(const char *text, const char *end, int64_t exponent)
{
    char copy[STRTOD_DIGITS + 40];
    size_t used = 0;
    int digits = 0;
    bool fraction = false, rest = false;
    int64_t power = exponent;
    const char *at = text;

    if (*at == '-') copy[used++] = *at++;
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
    (void)snprintf(copy + used, sizeof copy - used, "e%lld", (long long)power);
    return strtod(copy, NULL);
}

/* NaN, Infinity and -Infinity. */
static const char *take_word(struct json_number *out, const char *at, const char *end)
{
    static const struct {
        const char *word;
        double real;
    } words[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(end - at) < length || memcmp(at, words[i].word, length)) continue;
        *out = (struct json_number){ .real = words[i].real };
        return at + length;
    }
    return NULL;
}

static void set_integer(struct json_number *out, const struct decimal *d)
{
    uint64_t limit = (uint64_t)INT64_MAX + (d->negative ? 1 : 0);

    out->is_integer = true;
    if (d->count > EXACT_DIGITS || d->digits > limit) return;
    out->is_int64 = true;
    out->integer = d->negative ? (int64_t)(0 - d->digits) : (int64_t)d->digits;
}

const char *json_number_take(struct json_number *out, const char *at, const char *end)
{
    struct decimal d;

    if (at < end && (*at == 'N' || *at == 'I' || (*at == '-' && end - at > 1 && at[1] == 'I')))
        return take_word(out, at, end);
    const char *after = decimal_take(&d, at, end);
    if (!after) return NULL;
    *out = (struct json_number){ 0 };
    if (d.is_integer) set_integer(out, &d);
    if (d.count > EXACT_DIGITS || d.power > EXACT_POWER || d.power < -EXACT_POWER) {
        out->real = convert_slowly(at, after, d.exponent);
        return after;
    }
    int power = (int)d.power;
    if (d.digits) out->real = power < 0 ? divide(d.digits, -power) : multiply(d.digits, power);
    if (d.negative) out->real = -out->real;
    return after;
}

void json_number_read(struct json_number *out, const char *text, size_t bytes)
{
    (void)json_number_take(out, text, text + bytes);
}
