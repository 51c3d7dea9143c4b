/* Numbers in CSV cells.
 *
 * A three-way comparison of a million rows reads ten million numbers and prints five million.
 * printf takes 250 ns for one with 14 decimals, because it is ready for a thousand digits; the
 * values here are of moderate size, so that the exact decimal expansion m * 10^d * 2^e fits 128
 * bits and one shift rounds it. Both directions give the digits of the C library.
 */
#include "formats/csv.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"

__extension__ typedef unsigned __int128 wide;

enum {
    MOST_DECIMALS = 20,
    /* Sign, 309 digits, point, decimals and the NUL. */
    MOST_BYTES = 312 + MOST_DECIMALS + 2,
    /* A double's rounding boundary has 767 significant digits at most. */
    MOST_NUMBER_BYTES = 1200
};

/* ---- writing ---------------------------------------------------------------------------- */

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
    if (decimals >= (int)(sizeof powers_of_ten / sizeof *powers_of_ten)) return false;
    int exponent;
    uint64_t significand = (uint64_t)ldexp(frexp(magnitude, &exponent), 53); /* < 2^53 */
    wide product = (wide)significand * powers_of_ten[decimals];              /* < 2^117 */
    exponent -= 53;

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
    for (; x || least > 0; least--) {
        *--end = (char)('0' + x % 10);
        x /= 10;
    }
    return end;
}

struct status csv_append_fixed(struct csv_buffer *buffer, double value, int decimals)
{
    char text[MOST_BYTES], *start, *end = text + sizeof text;
    wide scaled;

    assert(decimals >= 0 && decimals <= MOST_DECIMALS);
    if (!isfinite(value)) {
        const char *word = isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
        return csv_append_cell(buffer, word, strlen(word));
    }
    if (scale_exactly(&scaled, fabs(value), decimals)) {
        uint64_t whole = (uint64_t)(scaled / powers_of_ten[decimals]);
        start = print_digits(end, (uint64_t)(scaled % powers_of_ten[decimals]), decimals);
        if (decimals) *--start = '.';
        start = print_digits(start, whole, 1);
        if (signbit(value)) *--start = '-';
    } else {
        start = text;
        end = text + snprintf(text, sizeof text, "%.*f", decimals, value);
    }
    return csv_append_cell(buffer, start, (size_t)(end - start));
}

/* ---- reading ---------------------------------------------------------------------------- */

enum { EXACT_FRACTION = 22, MOST_DIGITS = 19 };

static const double exact_powers_of_ten[EXACT_FRACTION + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* Digits, perhaps a point and more digits, perhaps a minus before them, no needless zeros in
 * front: what nearly all cells are, and what JSON calls a number. */
enum plain { PLAIN_NOT, PLAIN_NUMBER, PLAIN_VALUE /* and *value is set */ };

/* An integer below 2^53 and a power of ten up to 10^22 are doubles, so their quotient is rounded
 * once (Clinger 1990). That is the case for values below 90 with 14 decimals. */
static enum plain read_plain(double *value, struct csv_text text)
{
    const char *at = text.bytes, *end = at + text.length;
    uint64_t digits = 0;
    bool negative = at < end && *at == '-';

    at += negative;
    const char *whole = at;
    for (; at < end && *at >= '0' && *at <= '9'; at++) digits = digits * 10 + (uint64_t)(*at - '0');
    ptrdiff_t wholes = at - whole, fraction = 0;
    if (!wholes || (*whole == '0' && wholes > 1)) return PLAIN_NOT;
    if (at < end) {
        if (*at++ != '.') return PLAIN_NOT;
        const char *point = at;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            digits = digits * 10 + (uint64_t)(*at - '0');
        fraction = at - point;
        if (at != end || !fraction) return PLAIN_NOT;
    }
    if (wholes + fraction > MOST_DIGITS || digits >= UINT64_C(1) << 53) return PLAIN_NUMBER;
    double quotient = (double)digits / exact_powers_of_ten[fraction];
    *value = negative ? -quotient : quotient;
    return PLAIN_VALUE;
}

bool csv_read_number(double *value, struct csv_text text)
{
    enum plain plain = read_plain(value, text);
    if (plain == PLAIN_VALUE) return true;
    if (plain == PLAIN_NUMBER) {
        struct json_number number;
        json_number_read(&number, text.bytes, text.length);
        *value = number.real;
        return true;
    }
    char copy[MOST_NUMBER_BYTES];
    if (text.length >= sizeof copy || !csv_is_number(text.bytes, text.length)) return false;
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    *value = strtod(copy, NULL);
    return true;
}
