/* A refusal is a failure of the tape: the first one counts, and nothing after it. */
#include "bench/call/failure.h"

#include <stdarg.h>
#include <stdio.h>

void call_fail(struct call *call, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tape_fail(call->tape, STATUS_SKIP, "%s", text);
}
