/* Fixed decimals by printf; the shortest digits by trying precisions until the value reads back. */
#include "standards/number_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void number_text_fixed(char text[NUMBER_TEXT_BYTES], double x, int decimals)
{
    if (isnan(x)) strcpy(text, "nan");
    else if (isinf(x)) strcpy(text, x > 0 ? "inf" : "-inf");
    else snprintf(text, NUMBER_TEXT_BYTES, "%.*f", decimals, x);
}

static double round_to(double x, enum dtype dtype)
{
    union {
        double f64;
        float f32;
        uint16_t f16;
    } stored;
    double rounded;

    dtype_from_double(&stored, dtype, &x, 1);
    dtype_to_double(&rounded, &stored, dtype, 1);
    return rounded;
}

/* The fewest decimal digits that read back as x: "d.ddde[+-]dd". Seventeen always do. */
static void shortest_scientific(char digits[32], double x, enum dtype dtype)
{
    int decimals = 0;
    do snprintf(digits, 32, "%.*e", decimals++, x);
    while (round_to(strtod(digits, NULL), dtype) != x);
}

/* Digits d.ddd times 10^exponent in positional notation, with at least one digit on each side
 * of the point. */
static void write_positional(char *text, const char *digits, int count, int exponent)
{
    if (exponent < 0) {
        text += sprintf(text, "0.%.*s", -exponent - 1, "0000");
        sprintf(text, "%.*s", count, digits);
        return;
    }
    for (int i = 0; i <= exponent; i++) *text++ = i < count ? digits[i] : '0';
    *text++ = '.';
    sprintf(text, "%.*s", count > exponent + 1 ? count - exponent - 1 : 1,
            count > exponent + 1 ? digits + exponent + 1 : "0");
}

void number_text_shortest(char text[NUMBER_TEXT_BYTES], double x, enum dtype dtype)
{
    char scientific[32] = "", digits[24];
    int count = 0;

    x = round_to(x, dtype);
    if (!isfinite(x) || x == 0) {
        number_text_fixed(text, x, 1);
        return;
    }
    shortest_scientific(scientific, x, dtype);
    if (fabs(x) < 1e-4 || fabs(x) >= 1e16) {
        strcpy(text, scientific);
        return;
    }
    char *exponent = strchr(scientific, 'e');
    for (const char *c = scientific; c < exponent; c++)
        if (*c != '-' && *c != '.') digits[count++] = *c;
    if (x < 0) *text++ = '-';
    write_positional(text, digits, count, (int)strtol(exponent + 1, NULL, 10));
}
