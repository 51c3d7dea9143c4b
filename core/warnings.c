/* Hands a warning to whoever was set to print it. */
#include "core/warnings.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/status.h"

void warn(struct warnings warnings, const char *format, ...)
{
    char text[600];
    va_list arguments;

    if (!warnings.tell) return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_tidy(text);
    warnings.tell(warnings.context, text);
}
