#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct status status_ok(void)
{
    struct status status;
    status.code = STATUS_OK;
    status.text[0] = '\0';
    return status;
}

struct status status_error(enum status_code code, const char *format, ...)
{
    struct status status;
    va_list arguments;

    status.code = code;
    va_start(arguments, format);
    (void)vsnprintf(status.text, sizeof status.text, format, arguments);
    va_end(arguments);
    return status;
}

struct status status_within(struct status inner, const char *format, ...)
{
    struct status status;
    va_list arguments;
    size_t used;

    status.code = inner.code;
    va_start(arguments, format);
    (void)vsnprintf(status.text, sizeof status.text, format, arguments);
    va_end(arguments);
    used = strlen(status.text);
    if (used + 3 < sizeof status.text) {
        size_t room = sizeof status.text - used - 3, length = strlen(inner.text);
        memcpy(status.text + used, ": ", 2);
        if (length > room) length = room;
        memcpy(status.text + used + 2, inner.text, length);
        status.text[used + 2 + length] = '\0';
    }
    return status;
}

struct status status_no_memory(unsigned long long bytes)
{
    if (!bytes) return status_error(STATUS_NO_MEMORY, "out of memory");
    return status_error(STATUS_NO_MEMORY, "out of memory: %llu bytes were needed", bytes);
}
