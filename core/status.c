/* Texts of errors: formatted, cut at a character boundary, kept to one line without control
 * characters, because names in them come from files of other people. */
#include "core/status.h"
#include "core/quantity.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct status status_ok(void)
{
    struct status status;
    status.code = STATUS_OK;
    status.text[0] = '\0';
    return status;
}

/* Bytes of the UTF-8 character at `text`, 0 when it is none (Unicode 15, table 3-7). `text` ends with
 * a NUL, which is no continuation. */
static size_t character_bytes(const unsigned char *text)
{
    unsigned char c = text[0], low = 0x80, high = 0xbf;
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (n > 1 && (c < 0xc2 || c > 0xf4)) return 0;
    if (c == 0xe0) low = 0xa0;  /* overlong */
    if (c == 0xed) high = 0x9f; /* surrogates */
    if (c == 0xf0) low = 0x90;  /* overlong */
    if (c == 0xf4) high = 0x8f; /* beyond U+10FFFF */
    for (size_t i = 1; i < n; i++, low = 0x80, high = 0xbf)
        if (text[i] < low || text[i] > high) return 0;
    return n;
}

/* Texts quote names and messages that come from files and other programs, and go to terminals,
 * logs, CSV and JSON: no control character may reach those (an escape sequence could rewrite a
 * screen, a newline forge a line of a log), nor bytes that are no UTF-8. */
void text_tidy(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at;) {
        size_t n = character_bytes(at);
        bool control = (n == 1 && (*at < 0x20 || *at == 0x7f)) ||
                       (n == 2 && at[0] == 0xc2 && at[1] < 0xa0); /* U+0080 to U+009F */
        if (!n) *at = '?';
        if (control) memset(at, ' ', n);
        at += n ? n : 1;
    }
}

/* Format into `bytes` bytes; what is too long is cut behind a whole character. */
static void format_text(char *text, size_t bytes, const char *format, va_list arguments)
{
    int length = vsnprintf(text, bytes, format, arguments);
    if (length >= 0 && (size_t)length >= bytes) {
        size_t end = bytes - 1;
        while (end && ((unsigned char)text[end - 1] & 0xc0) == 0x80) end--;
        if (end && (unsigned char)text[end - 1] >= 0xc0 &&
            !character_bytes((unsigned char *)text + end - 1))
            text[end - 1] = '\0';
    }
    text_tidy(text);
}

struct status status_error(enum status_code code, const char *format, ...)
{
    struct status status;
    va_list arguments;

    status.code = code;
    va_start(arguments, format);
    format_text(status.text, sizeof status.text, format, arguments);
    va_end(arguments);
    return status;
}

/* ": <text>", which is tidy already, into `bytes` bytes. */
static void join(char *out, size_t bytes, const char *text)
{
    size_t room = bytes - 3, length = strlen(text);
    if (length > room) {
        length = room;
        while (length && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
    }
    memcpy(out, ": ", 2);
    memcpy(out + 2, text, length);
    out[2 + length] = '\0';
}

struct status status_within(struct status inner, const char *format, ...)
{
    struct status status;
    va_list arguments;
    size_t used;

    status.code = inner.code;
    va_start(arguments, format);
    format_text(status.text, sizeof status.text, format, arguments);
    va_end(arguments);
    used = strlen(status.text);
    if (used + 3 < sizeof status.text)
        join(status.text + used, sizeof status.text - used, inner.text);
    return status;
}

struct status status_no_memory(unsigned long long bytes)
{
    if (!bytes) return status_error(STATUS_NO_MEMORY, "out of memory");
    return status_error(STATUS_NO_MEMORY, "out of memory: %s were needed",
                        quantity_bytes(bytes).text);
}
