/* Runs of plain bytes are copied as a whole: of names and values hardly a byte needs an escape. */
#include "formats/json_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/decimal.h"

/* Bytes that stand for themselves: ASCII without control characters, quotes and backslashes. */
static bool is_plain(unsigned char c) { return c >= ' ' && c < 0x80 && c != '"' && c != '\\'; }

/* Length of the character that begins at `at`, 0 when it is no UTF-8 (RFC 3629). */
static size_t character_bytes(const unsigned char *at, size_t left)
{
    /* By the first byte: length, and the range of the second byte. */
    static const struct {
        unsigned char first, last, bytes, low, high;
    } rows[] = {
        { 0x00, 0x7f, 1, 0, 0 },       { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
        { 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
        { 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (*at < rows[r].first || *at > rows[r].last) continue;
        if (rows[r].bytes > left) return 0;
        if (rows[r].bytes > 1 && (at[1] < rows[r].low || at[1] > rows[r].high)) return 0;
        for (size_t i = 2; i < rows[r].bytes; i++)
            if ((at[i] & 0xc0) != 0x80) return 0;
        return rows[r].bytes;
    }
    return 0;
}

/* How the byte that needs an escape is written, in `escape`; its length. */
static size_t escape_of(char escape[8], unsigned char c)
{
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: byte, letter */
    for (const char *pair = short_forms; *pair; pair += 2)
        if ((unsigned char)*pair == c) return (size_t)snprintf(escape, 8, "\\%c", pair[1]);
    if (c >= 0x80) return (size_t)snprintf(escape, 8, "\xef\xbf\xbd");
    return (size_t)snprintf(escape, 8, "\\u%04x", c);
}

struct status json_append_string(struct csv_buffer *out, const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t plain = 0; /* where the run of plain bytes begins */
    char escape[8];

    TRY(csv_append_bytes(out, "\"", 1));
    for (size_t i = 0;;) {
        while (i < length && is_plain(bytes[i])) i++;
        if (i == length) break;
        size_t width = bytes[i] < 0x80 ? 0 : character_bytes(bytes + i, length - i);
        if (width) {
            i += width;
            continue;
        }
        TRY(csv_append_bytes(out, text + plain, i - plain));
        TRY(csv_append_bytes(out, escape, escape_of(escape, bytes[i])));
        plain = ++i;
    }
    TRY(csv_append_bytes(out, text + plain, length - plain));
    return csv_append_bytes(out, "\"", 1);
}

/* A line of evidence has three hundred pieces of some bytes, and a status takes more of them than most. */
static void put(struct json_writer *out, const char *text, size_t length)
{
    struct csv_buffer *to = out->text;
    if (length <= to->capacity - to->length && !out->status.code) {
        memcpy(to->data + to->length, text, length);
        to->length += length;
    } else if (!out->status.code) {
        out->status = csv_append_bytes(to, text, length);
    }
}

/* A value: behind the one before it. */
static void put_value(struct json_writer *out, const char *text, size_t length)
{
    if (out->comma) put(out, ",", 1);
    put(out, text, length);
    out->comma = true;
}

void json_put_bytes(struct json_writer *out, const char *text, size_t length)
{
    if (out->comma) put(out, ",", 1);
    if (!out->status.code) out->status = json_append_string(out->text, text, length);
    out->comma = true;
}

void json_put_string(struct json_writer *out, const char *text)
{
    json_put_bytes(out, text, strlen(text));
}

void json_put_key(struct json_writer *out, const char *key)
{
    if (out->comma) put(out, ",\"", 2);
    else put(out, "\"", 1);
    put(out, key, strlen(key));
    put(out, "\":", 2);
    out->comma = false;
}

void json_put_bool(struct json_writer *out, bool value)
{
    put_value(out, value ? "true" : "false", value ? 4 : 5);
}

void json_put_count(struct json_writer *out, uint64_t value)
{
    char digits[DECIMAL_BYTES];
    put_value(out, digits, decimal_text(digits, value));
}

void json_put_integer(struct json_writer *out, int64_t value)
{
    char digits[DECIMAL_BYTES + 1] = "-";
    bool negative = value < 0;
    uint64_t magnitude = negative ? -(uint64_t)value : (uint64_t)value;
    size_t length = decimal_text(digits + negative, magnitude);
    put_value(out, digits, length + negative);
}

/* Whole numbers without the ".0" of Python. */
size_t json_number_text(char text[SHORTEST_BYTES], double value)
{
    size_t length = shortest_double(text, value);
    if (length > 2 && !memcmp(text + length - 2, ".0", 2)) length -= 2;
    text[length] = '\0';
    return length;
}

void json_put_number(struct json_writer *out, double value)
{
    char text[SHORTEST_BYTES];
    size_t length = json_number_text(text, value);
    if (isfinite(value)) put_value(out, text, length);
    else json_put_bytes(out, text, length);
}

void json_put_begin(struct json_writer *out, char bracket)
{
    put_value(out, &bracket, 1);
    out->comma = false;
}

void json_put_end(struct json_writer *out, char bracket)
{
    put(out, &bracket, 1);
    out->comma = true;
}
