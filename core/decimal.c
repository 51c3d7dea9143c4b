/* From the last digit to the first. */
#include "core/decimal.h"

#include <string.h>

size_t decimal_text(char text[DECIMAL_BYTES], uint64_t value)
{
    char digits[DECIMAL_BYTES], *end = digits + sizeof digits, *at = end;
    do *--at = (char)('0' + value % 10);
    while (value /= 10);
    size_t length = (size_t)(end - at);
    memcpy(text, at, length);
    text[length] = '\0';
    return length;
}
