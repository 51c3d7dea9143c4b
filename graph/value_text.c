/* How values become texts in the result files. */
#include "graph/value_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/shortest.h"

enum { DECIMALS = 6, MOST_DIGITS = 20 };

struct status value_text_append_real(struct csv_buffer *out, double value)
{
    char text[64];
    size_t length = shortest_double(text, value);
    if (!isfinite(value)) return csv_append_bytes(out, text, length);
    if (memchr(text, 'e', length))
        return csv_append_bytes(out, text, (size_t)snprintf(text, sizeof text, "%.6e", value));
    /* Decimal rounding of the exact value, ties to even, is what printf does. */
    (void)snprintf(text, sizeof text, "%.*f", DECIMALS, value);
    return csv_append_bytes(out, text, shortest_double(text, strtod(text, NULL)));
}

static size_t digits_at(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && text[n] >= '0' && text[n] <= '9') n++;
    return n;
}

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
    char number[2 * MOST_DIGITS + 3], shortened[2 * MOST_DIGITS + 8];
    memcpy(number, text, length);
    number[length] = '\0';
    const char *sign = text[length - 1] == '%' ? "%" : "";
    int n = snprintf(shortened, sizeof shortened, "%.*f%s", DECIMALS, strtod(number, NULL), sign);
    return csv_append_bytes(out, shortened, (size_t)n);
}

struct status value_text_append(struct csv_buffer *out, const char *text, size_t length)
{
    static const char none[] = "None";
    if (length == 0 || (length == 1 && *text == ' ')) return csv_append_bytes(out, "null", 4);
    if (is_long_decimal(text, length)) return append_shortened(out, text, length);
    for (size_t i = 0; i < length; i++) {
        if (length - i >= 4 && !memcmp(text + i, none, 4)) {
            TRY(csv_append_bytes(out, "null", 4));
            i += 3;
        } else if (text[i] != '\'') {
            TRY(csv_append_bytes(out, text + i, 1));
        }
    }
    return status_ok();
}
