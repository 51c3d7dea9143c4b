/* Escaping, in one place for both languages. */
#include "repro/source_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_plain(unsigned char c, const char *others)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr(others, c));
}

void source_put(struct text_out *out, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_out_string(out, text);
}

/* Three octal digits are an escape in both languages, and end by themselves. */
void source_put_string(struct text_out *out, const char *text)
{
    text_out_string(out, "\"");
    for (; *text; text++) {
        if (is_plain((unsigned char)*text, " _-+=.,:;/()[]{}<>@#%&*!|~^'"))
            text_out_bytes(out, text, 1);
        else source_put(out, "\\%03o", (unsigned)(unsigned char)*text);
    }
    text_out_string(out, "\"");
}

void source_put_comment(struct text_out *out, const char *text)
{
    for (; *text; text++) {
        bool plain = is_plain((unsigned char)*text, " _-+=.,:;()[]<>@%");
        text_out_bytes(out, plain ? text : "_", 1);
    }
}

void source_identifier(char out[64], const char *text)
{
    size_t n = 0;
    if (!is_plain((unsigned char)*text, "_") || (*text >= '0' && *text <= '9')) out[n++] = 'x';
    for (; *text && n < 60; text++) out[n++] = is_plain((unsigned char)*text, "_") ? *text : '_';
    out[n] = '\0';
}

static bool is_keyword(const char *word, size_t length)
{
    static const char *const keywords[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
    };
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i]) == length && !memcmp(keywords[i], word, length)) return true;
    return false;
}

bool source_is_python_name(const char *text)
{
    for (;;) {
        size_t length = strcspn(text, ".");
        if (!length || (*text >= '0' && *text <= '9') || is_keyword(text, length)) return false;
        for (size_t i = 0; i < length; i++)
            if (!is_plain((unsigned char)text[i], "_")) return false;
        if (!text[length]) return true;
        text += length + 1;
    }
}

void source_put_real(struct text_out *out, double x, int digits, const char *nan, const char *inf)
{
    char text[64];
    if (isnan(x)) {
        text_out_string(out, nan);
        return;
    }
    if (isinf(x)) {
        source_put(out, "%s%s", x < 0 ? "-" : "", inf);
        return;
    }
    (void)snprintf(text, sizeof text, "%.*g", digits, x);
    text_out_string(out, text);
    if (!strpbrk(text, ".e")) text_out_string(out, ".0");
}
