/* Punctuation and numbers of JSON. */
#include "pages/json_out.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "formats/json_write.h"

void json_out_format(struct text_out *out, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length > 0) text_out_bytes(out, text, (size_t)length);
}

void json_out_string(struct text_out *out, const char *text, size_t length)
{
    if (!out->status.code) out->status = json_append_string(&out->text, text, length);
}

void json_out_number(struct text_out *out, double value)
{
    if (isfinite(value)) json_out_format(out, "%.9g", value);
    else json_out_format(out, isnan(value) ? "null" : value > 0 ? "\"inf\"" : "\"-inf\"");
}
