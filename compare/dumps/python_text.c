/* Printing of JSON values as Python prints them, read straight from the text. */
#include "compare/dumps/python_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/shortest.h"

static struct status append_string(struct csv_buffer *out, const char *text)
{
    return csv_append_bytes(out, text, strlen(text));
}

/* ---- strings ---------------------------------------------------------------------------- */

/* The character at `text` and its bytes. The text is valid UTF-8. */
static uint32_t decode(const unsigned char *text, size_t *bytes)
{
    unsigned char c = text[0];
    *bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t code = *bytes == 1 ? c : c & (0x7fu >> *bytes);
    for (size_t i = 1; i < *bytes; i++) code = code << 6 | (text[i] & 0x3f);
    return code;
}

/* Does str.isprintable() say no? Of Unicode's tables only what occurs in names and source lines:
 * control characters, separators, formats, surrogates and private use. */
static bool is_escaped(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        { 0, 0x1f },        { 0x7f, 0xa0 },       { 0xad, 0xad },        { 0x600, 0x605 },
        { 0x61c, 0x61c },   { 0x6dd, 0x6dd },     { 0x70f, 0x70f },      { 0x1680, 0x1680 },
        { 0x180e, 0x180e }, { 0x2000, 0x200f },   { 0x2028, 0x202f },    { 0x205f, 0x206f },
        { 0x3000, 0x3000 }, { 0xd800, 0xf8ff },   { 0xfeff, 0xfeff },    { 0xfff0, 0xfffb },
        { 0xfffe, 0xffff }, { 0xe0000, 0xe0fff }, { 0xf0000, 0x10ffff },
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c <= ranges[i].last) return c >= ranges[i].first;
    return false;
}

static struct status append_character(struct csv_buffer *out, const char *text, size_t bytes,
                                      uint32_t code, char quote)
{
    char escape[16];
    if (code == (unsigned char)quote || code == '\\')
        (void)snprintf(escape, sizeof escape, "\\%c", (char)code);
    else if (code == '\n') strcpy(escape, "\\n");
    else if (code == '\r') strcpy(escape, "\\r");
    else if (code == '\t') strcpy(escape, "\\t");
    else if (!is_escaped(code)) return csv_append_bytes(out, text, bytes);
    else
        (void)snprintf(escape, sizeof escape,
                       code < 0x100     ? "\\x%02x"
                       : code < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                       (unsigned)code);
    return append_string(out, escape);
}

struct status python_append_quoted(struct csv_buffer *out, const char *text, size_t length)
{
    char quote = memchr(text, '\'', length) && !memchr(text, '"', length) ? '"' : '\'';

    TRY(csv_append_bytes(out, &quote, 1));
    for (size_t at = 0, plain = 0; at <= length;) {
        size_t bytes = 1;
        unsigned char c = at < length ? (unsigned char)text[at] : 0;
        bool harmless = at < length && c >= ' ' && c < 0x7f && c != (unsigned char)quote &&
                        c != '\\';
        if (!harmless) {
            TRY(csv_append_bytes(out, text + plain, at - plain));
            if (at == length) break;
            uint32_t code = decode((const unsigned char *)text + at, &bytes);
            TRY(append_character(out, text + at, bytes, code, quote));
            plain = at + bytes;
        }
        at += bytes;
    }
    return csv_append_bytes(out, &quote, 1);
}

static struct status append_slice(struct csv_buffer *out, const struct json_slice *slice,
                                  bool quoted)
{
    const char *text = slice->text;
    size_t length = slice->bytes;
    char *decoded = NULL;

    if (slice->escaped) {
        text = decoded = memory_allocate(slice->bytes ? slice->bytes : 1);
        if (!decoded) return status_no_memory(slice->bytes);
        length = json_slice_decode_into(decoded, slice);
    }
    struct status status = quoted ? python_append_quoted(out, text, length)
                                  : csv_append_bytes(out, text, length);
    memory_release(decoded);
    return status;
}

/* ---- values ----------------------------------------------------------------------------- */

static struct status append_number(struct csv_buffer *out, const char *text, size_t bytes,
                                   const struct json_number *number)
{
    char real[SHORTEST_BYTES];
    /* Python's integers have any size, and its JSON writes them plainly; "-0" is 0. */
    if (number->is_integer && number->is_int64 && !number->integer) return append_string(out, "0");
    if (number->is_integer) return csv_append_bytes(out, text, bytes);
    return csv_append_bytes(out, real, shortest_double(real, number->real));
}

static struct status append_value(struct csv_buffer *out, struct json *json, bool quoted);

static struct status append_array(struct csv_buffer *out, struct json *json)
{
    TRY(append_string(out, "["));
    bool first = true;
    if (json_enter_array(json)) {
        while (json_array_next(json)) {
            if (!first) TRY(append_string(out, ", "));
            first = false;
            TRY(append_value(out, json, true));
        }
    }
    return append_string(out, "]");
}

static struct status append_object(struct csv_buffer *out, struct json *json)
{
    struct json_slice key;
    bool first = true;

    TRY(append_string(out, "{"));
    if (json_enter_object(json)) {
        while (json_object_next(json, &key)) {
            if (!first) TRY(append_string(out, ", "));
            first = false;
            TRY(append_slice(out, &key, true));
            TRY(append_string(out, ": "));
            TRY(append_value(out, json, true));
        }
    }
    return append_string(out, "}");
}

static struct status append_value(struct csv_buffer *out, struct json *json, bool quoted)
{
    enum json_kind kind;
    struct json_slice slice;
    struct json_number number;
    bool boolean;

    if (!json_peek(json, &kind)) return status_ok();
    const char *start = json->at;
    switch (kind) {
    case JSON_NULL: return json_null(json) ? append_string(out, "None") : status_ok();
    case JSON_BOOL:
        return json_bool(json, &boolean) ? append_string(out, boolean ? "True" : "False")
                                         : status_ok();
    case JSON_NUMBER:
        if (!json_number(json, &number)) return status_ok();
        return append_number(out, start, (size_t)(json->at - start), &number);
    case JSON_STRING:
        return json_string(json, &slice) ? append_slice(out, &slice, quoted) : status_ok();
    case JSON_ARRAY: return append_array(out, json);
    default: return append_object(out, json);
    }
}

struct status python_append_value(struct csv_buffer *out, struct json *json)
{
    return append_value(out, json, false);
}
