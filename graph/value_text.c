/* How values become texts in the result files. */
#include "graph/value_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/shortest.h"

enum { DECIMALS = 6, MOST_DIGITS = 20, NUMBER_BYTES = 2 * MOST_DIGITS + 8 };

static size_t digits_at(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && text[n] >= '0' && text[n] <= '9') n++;
    return n;
}

/* ---- rounding ----------------------------------------------------------------------------------- */

/* A number is rounded as its double is, to the nearest, ties to even, which printf does in a microsecond.
 * The digits of its text round alike when the double cannot lie on the other side of a tie: it is at most
 * 2^-32 from the text below 2^20, and digits that begin with neither 4999 nor 5000 are 10^-10 away from
 * the tie. */
static bool rounds_as_text(const char *rest, size_t length, size_t whole_digits)
{
    enum { MOST_WHOLE = 6, NEAR = 4 };
    char begin[NEAR] = { '0', '0', '0', '0' };
    memcpy(begin, rest, length < NEAR ? length : NEAR);
    return whole_digits <= MOST_WHOLE && memcmp(begin, "4999", NEAR) && memcmp(begin, "5000", NEAR);
}

/* Add one to the last digit of a number with a point; true when it needs another digit in front. */
static bool carry(char *text, size_t length)
{
    for (size_t i = length; i-- > 0;) {
        if (text[i] == '.') continue;
        if (text[i] != '9') {
            text[i]++;
            return false;
        }
        text[i] = '0';
    }
    return true;
}

/* Digits, a point and more than six digits (`length` bytes), rounded to six; the length of the result. */
static size_t round_decimal(char out[NUMBER_BYTES], const char *text, size_t length)
{
    char copy[NUMBER_BYTES];
    size_t whole = digits_at(text, length), kept = whole + 1 + DECIMALS;
    const char *rest = text + kept;
    if (!rounds_as_text(rest, length - kept, whole)) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        return (size_t)snprintf(out, NUMBER_BYTES, "%.*f", DECIMALS, strtod(copy, NULL));
    }
    out[0] = '1'; /* in front of nines that become zeros */
    memcpy(out + 1, text, kept);
    if (*rest >= '5' && carry(out + 1, kept)) return kept + 1;
    memmove(out, out + 1, kept);
    return kept;
}

/* The shortest text of a number in exponent form ("1.2345e-07") as %.6e has it. Its digits round as the
 * number does but for an exact tie: another tie in between would be a shorter text of the number. Numbers
 * that have less than seven digits themselves are printed. */
static size_t round_exponent(char out[NUMBER_BYTES], const char *text, size_t length, double value)
{
    enum { KEPT = 2 + DECIMALS }; /* a digit, the point, six digits */
    const char *e = memchr(text, 'e', length);
    size_t sign = *text == '-', digits = (size_t)(e - text) - sign;
    size_t tail = length - (size_t)(e - text), n = digits < KEPT ? digits : KEPT;
    const char *rest = text + sign + n;
    memcpy(out, text, sign + n);
    if (n == 1) out[sign + n++] = '.';
    for (; n < KEPT; n++) out[sign + n] = '0';
    bool tie = digits == KEPT + 1 && *rest == '5', coarse = fabs(value) < 1e-300;
    if (tie || coarse || (digits > KEPT && *rest >= '5' && carry(out + sign, KEPT)))
        return (size_t)snprintf(out, NUMBER_BYTES, "%.*e", DECIMALS, value);
    memcpy(out + sign + KEPT, e, tail);
    return sign + KEPT + tail;
}

struct status value_text_append_real(struct csv_buffer *out, double value)
{
    char text[SHORTEST_BYTES], rounded[NUMBER_BYTES];
    size_t length = shortest_double(text, value);
    if (!isfinite(value)) return csv_append_bytes(out, text, length);
    if (memchr(text, 'e', length))
        return csv_append_bytes(out, rounded, round_exponent(rounded, text, length, value));
    size_t sign = *text == '-', whole = digits_at(text + sign, length - sign);
    if (length - sign <= whole + 1 + DECIMALS) return csv_append_bytes(out, text, length);
    size_t n = round_decimal(rounded, text + sign, length - sign);
    while (rounded[n - 1] == '0' && rounded[n - 2] != '.') n--;
    TRY(csv_append_bytes(out, "-", sign));
    return csv_append_bytes(out, rounded, n);
}

/* ---- texts -------------------------------------------------------------------------------------- */

/* Is the text digits, a point, more than six digits and perhaps a per cent sign? */
static bool is_long_decimal(const char *text, size_t length)
{
    size_t whole = digits_at(text, length);
    if (!whole || whole > MOST_DIGITS || whole == length || text[whole] != '.') return false;
    size_t decimals = digits_at(text + whole + 1, length - whole - 1);
    size_t rest = length - whole - 1 - decimals;
    if (decimals <= DECIMALS || decimals > MOST_DIGITS) return false;
    return rest == 0 || (rest == 1 && text[length - 1] == '%');
}

static struct status append_shortened(struct csv_buffer *out, const char *text, size_t length)
{
    char rounded[NUMBER_BYTES];
    bool percent = text[length - 1] == '%';
    TRY(csv_append_bytes(out, rounded, round_decimal(rounded, text, length - percent)));
    return csv_append_bytes(out, "%", percent);
}

struct status value_text_append(struct csv_buffer *out, const char *text, size_t length)
{
    static const char none[] = "None";
    size_t plain = 0; /* where the run begins that is copied as it is */
    if (length == 0 || (length == 1 && *text == ' ')) return csv_append_bytes(out, "null", 4);
    if (is_long_decimal(text, length)) return append_shortened(out, text, length);
    for (size_t i = 0; i < length; i++) {
        bool is_none = text[i] == 'N' && length - i >= 4 && !memcmp(text + i, none, 4);
        if (!is_none && text[i] != '\'') continue;
        TRY(csv_append_bytes(out, text + plain, i - plain));
        if (is_none) TRY(csv_append_bytes(out, "null", 4));
        i += is_none ? 3 : 0;
        plain = i + 1;
    }
    return csv_append_bytes(out, text + plain, length - plain);
}
