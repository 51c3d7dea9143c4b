/* Numbers in CSV cells: printed by core/fixed.h, and read here, since a three-way comparison of a
 * million rows reads ten million of them. What most cells are is one division; the rest gives the
 * digits of the C library.
 */
#include "formats/csv.h"

#include <stdlib.h>
#include <string.h>

#include "core/fixed.h"
#include "formats/json.h"
#include "formats/json_words.h"

enum {
    /* A double's rounding boundary has 767 significant digits at most. */
    MOST_NUMBER_BYTES = 1200
};

/* ---- writing ---------------------------------------------------------------------------- */

struct status csv_append_fixed(struct csv_buffer *buffer, double value, int decimals)
{
    char text[FIXED_BYTES];
    return csv_append_plain(buffer, text, fixed_double(text, value, decimals));
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

/* Append the digits from `at` to `end`; false where one is none. Of 9 to 16, which the fraction of a printed number has,
 * the last eight are read in one word that overlaps the first. */
static bool read_digits(uint64_t *digits, const char *at, const char *end)
{
    static const uint64_t tens[9] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000
    };
    ptrdiff_t count = end - at, rest = count - 8;

    if (rest > 0 && rest <= 8) {
        uint64_t first = load8(at), last = load8(end - 8);
        if (count_digits(first) < 8 || count_digits(last) < 8) return false;
        *digits = (*digits * tens[8] + read_digits8(first)) * tens[rest] +
                  read_digits8(last & UINT64_MAX << (64 - 8 * rest));
        return true;
    }
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        *digits = *digits * 10 + (uint64_t)(*at - '0');
    return at == end;
}

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
        fraction = end - at;
        if (!fraction || !read_digits(&digits, at, end)) return PLAIN_NOT;
    }
    if (wholes + fraction > MOST_DIGITS || digits >= UINT64_C(1) << 53) return PLAIN_NUMBER;
    double quotient = (double)digits / exact_powers_of_ten[fraction];
    *value = negative ? -quotient : quotient;
    return PLAIN_VALUE;
}

bool csv_read_number(double *value, struct csv_text text)
{
    if (text.length == 1 && *text.bytes >= '0' && *text.bytes <= '9') {
        *value = *text.bytes - '0';
        return true;
    }
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
