/* Cells out with the quotes that they need. */
#include "formats/csv.h"

#include <assert.h>
#include <string.h>

#include "core/checked.h"
#include "core/memory.h"

/* Bytes that are looked at together. */
typedef unsigned char bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

/* ---- writing ---------------------------------------------------------------------------- */

/* Room for `bytes` more bytes. */
static struct status reserve(struct csv_buffer *buffer, size_t bytes)
{
    size_t needed, capacity = buffer->capacity ? buffer->capacity : 256;
    if (!size_add(&needed, buffer->length, bytes)) return status_no_memory(0);
    if (needed <= buffer->capacity) return status_ok();
    while (capacity < needed) {
        if (!size_multiply(&capacity, capacity, 2)) return status_no_memory(needed);
    }
    char *data = memory_resize(buffer->data, capacity);
    if (!data) return status_no_memory(capacity);
    buffer->data = data;
    buffer->capacity = capacity;
    return status_ok();
}

struct status csv_reserve(struct csv_buffer *buffer, size_t bytes)
{
    return bytes > buffer->capacity - buffer->length ? reserve(buffer, bytes) : status_ok();
}

struct status csv_append_bytes(struct csv_buffer *buffer, const char *bytes, size_t length)
{
    if (length > buffer->capacity - buffer->length) TRY(reserve(buffer, length));
    if (length) memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
    return status_ok();
}

struct status csv_append_plain(struct csv_buffer *buffer, const char *text, size_t length)
{
    if (length >= buffer->capacity - buffer->length) TRY(reserve(buffer, length + 1));
    char *out = buffer->data + buffer->length;
    memcpy(out, text, length);
    out[length] = ',';
    buffer->length += length + 1;
    return status_ok();
}

struct status csv_append_mark(struct csv_buffer *buffer)
{
    return csv_append_bytes(buffer, "\xef\xbb\xbf", 3);
}

/* Does the text begin with a character that makes a spreadsheet compute? The full-width forms
 * are U+FF05, FF0B, FF0D, FF1D and FF20. A tab and a carriage return count, because importers drop
 * them and look at what follows. */
static bool starts_formula(const char *text, size_t length)
{
    static const bool starts[256] = { ['+'] = true, ['-'] = true,  ['='] = true, ['%'] = true,
                                      ['@'] = true, ['\t'] = true, ['\r'] = true };
    if (!length) return false;
    if (starts[(unsigned char)text[0]]) return true;
    if (length < 3 || memcmp(text, "\xef\xbc", 2) != 0) return false;
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): five bytes, not a string */
    return memchr("\x85\x8b\x8d\x9d\xa0", text[2], 5) != NULL;
}

static bool holds_formula(const char *text, size_t length)
{
    if (starts_formula(text, length)) return true;
    const char *end = text + length;
    for (const char *at = text; (at = memchr(at, ';', (size_t)(end - at))); at++) {
        if (starts_formula(at + 1, (size_t)(end - at - 1))) return true;
    }
    return false;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t skip_digits(const char *text, size_t length, size_t at)
{
    while (at < length && is_digit(text[at])) at++;
    return at;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    if (strlen(word) != length) return false;
    for (size_t i = 0; i < length; i++) {
        if ((text[i] | 0x20) != word[i]) return false;
    }
    return true;
}

bool csv_is_number(const char *text, size_t length)
{
    while (length && (*text == ' ' || *text == '\t')) text++, length--;
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    if (length && (*text == '+' || *text == '-')) text++, length--;
    if (is_word(text, length, "nan") || is_word(text, length, "inf") ||
        is_word(text, length, "infinity"))
        return true;

    size_t at = skip_digits(text, length, 0), digits = at;
    if (at < length && text[at] == '.') {
        size_t fraction = at + 1;
        at = skip_digits(text, length, fraction);
        digits += at - fraction;
    }
    if (!digits) return false;
    if (at < length && (text[at] | 0x20) == 'e') {
        at++;
        if (at < length && (text[at] == '+' || text[at] == '-')) at++;
        size_t exponent = at;
        at = skip_digits(text, length, exponent);
        if (at == exponent) return false;
    }
    return at == length;
}

bool csv_is_formula(const char *text, size_t length)
{
    return holds_formula(text, length) && !csv_is_number(text, length);
}

enum cell_kind { CELL_PLAIN, CELL_QUOTED, CELL_FORMULA };

enum { NEEDS_QUOTES = 1, SUSPICIOUS = 2 };

/* What sixteen bytes or more hold: the flags of cell_kind. The last sixteen overlap those before them. */
static unsigned look_at_many(const char *text, size_t length)
{
    words2 quotes = { 0 }, suspicious = { 0 };
    for (size_t i = 0; i < length; i += sizeof(bytes16)) {
        size_t at = length - i < sizeof(bytes16) ? length - sizeof(bytes16) : i;
        bytes16 bytes;
        memcpy(&bytes, text + at, sizeof bytes);
        quotes |= (words2)((bytes == ',') | (bytes == '"') | (bytes == '\n') | (bytes == '\r'));
        suspicious |= (words2)(bytes == ';');
    }
    return (quotes[0] | quotes[1] ? NEEDS_QUOTES : 0) |
           (suspicious[0] | suspicious[1] ? SUSPICIOUS : 0);
}

static unsigned look_at_few(const char *text, size_t length)
{
    static const unsigned char meaning[256] = { [','] = NEEDS_QUOTES,
                                                ['"'] = NEEDS_QUOTES,
                                                ['\n'] = NEEDS_QUOTES,
                                                ['\r'] = NEEDS_QUOTES,
                                                [';'] = SUSPICIOUS };
    unsigned found = 0;
    for (size_t i = 0; i < length; i++) found |= meaning[(unsigned char)text[i]];
    return found;
}

/* How a cell is written. Cells are mostly blanks and numbers, so the usual answer is found in
 * one look at each byte. */
static enum cell_kind cell_kind(const char *text, size_t length)
{
    unsigned found = length < sizeof(bytes16) ? look_at_few(text, length)
                                              : look_at_many(text, length);
    if (starts_formula(text, length)) found |= SUSPICIOUS;
    if ((found & SUSPICIOUS) && csv_is_formula(text, length)) return CELL_FORMULA;
    return (found & NEEDS_QUOTES) ? CELL_QUOTED : CELL_PLAIN;
}

struct status csv_append_cell(struct csv_buffer *buffer, const char *text, size_t length)
{
    /* Each byte becomes two at most, and there are quotes, an apostrophe and the comma. */
    size_t most;
    if (!size_multiply(&most, length, 2) || !size_add(&most, most, 4))
        return status_no_memory(length);
    if (most > buffer->capacity - buffer->length) TRY(reserve(buffer, most));

    enum cell_kind kind = cell_kind(text, length);
    char *out = buffer->data + buffer->length;
    if (kind == CELL_PLAIN || (kind == CELL_QUOTED && !memchr(text, '"', length))) {
        if (kind == CELL_QUOTED) *out++ = '"';
        memcpy(out, text, length);
        out += length;
        if (kind == CELL_QUOTED) *out++ = '"';
    } else {
        /* A disarmed cell is quoted whether it must be or not: one less case to be wrong. */
        *out++ = '"';
        if (kind == CELL_FORMULA) *out++ = '\'';
        for (size_t i = 0; i < length; i++) {
            if (text[i] == '"') *out++ = '"';
            *out++ = text[i];
            if (kind == CELL_FORMULA && text[i] == ';' &&
                starts_formula(text + i + 1, length - i - 1))
                *out++ = '\'';
        }
        *out++ = '"';
    }
    *out++ = ',';
    buffer->length = (size_t)(out - buffer->data);
    return status_ok();
}

struct status csv_end_row(struct csv_buffer *buffer)
{
    assert(buffer->length && buffer->data[buffer->length - 1] == ',');
    if (buffer->length == buffer->capacity) TRY(reserve(buffer, 1));
    memcpy(buffer->data + buffer->length - 1, "\r\n", 2);
    buffer->length++;
    return status_ok();
}

struct status csv_append_row(struct csv_buffer *buffer, const char *const *cells, size_t count)
{
    size_t before = buffer->length;
    struct status status = status_ok();
    for (size_t i = 0; i < count && !status.code; i++)
        status = csv_append_cell(buffer, cells[i], strlen(cells[i]));
    if (!status.code && count == 1 && buffer->length == before + 1) {
        /* A lone empty cell would be a blank line, which readers skip. */
        status = reserve(buffer, 2);
        if (!status.code) {
            memcpy(buffer->data + before, "\"\",", 3);
            buffer->length = before + 3;
        }
    }
    if (!status.code) status = csv_end_row(buffer);
    if (status.code) buffer->length = before;
    return status;
}

void csv_buffer_clear(struct csv_buffer *buffer) { buffer->length = 0; }

void csv_buffer_release(struct csv_buffer *buffer)
{
    memory_release(buffer->data);
    *buffer = (struct csv_buffer){ 0 };
}
