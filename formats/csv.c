/* Cells out with the quotes that they need, and in with one pass over a window of the file. */
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

/* Has one of sixteen bytes or more a meaning for cell_kind? The last sixteen overlap those before them. */
static bool has_meaning(const char *text, size_t length)
{
    words2 found = { 0 };
    for (size_t i = 0; i < length; i += sizeof(bytes16)) {
        size_t at = length - i < sizeof(bytes16) ? length - sizeof(bytes16) : i;
        bytes16 bytes;
        memcpy(&bytes, text + at, sizeof bytes);
        found |= (words2)((bytes == ',') | (bytes == '"') | (bytes == '\n') | (bytes == '\r') |
                          (bytes == ';'));
    }
    return (found[0] | found[1]) != 0;
}

/* How a cell is written. Cells are mostly blanks and numbers, so the usual answer is found in
 * one look at each byte. */
static enum cell_kind cell_kind(const char *text, size_t length)
{
    enum { QUOTE = 1, SUSPICIOUS = 2 };
    static const unsigned char meaning[256] = {
        [','] = QUOTE, ['"'] = QUOTE, ['\n'] = QUOTE, ['\r'] = QUOTE, [';'] = SUSPICIOUS
    };
    unsigned found = starts_formula(text, length) ? SUSPICIOUS : 0;
    if (length < sizeof(bytes16) || has_meaning(text, length))
        for (size_t i = 0; i < length; i++) found |= meaning[(unsigned char)text[i]];
    if ((found & SUSPICIOUS) && csv_is_formula(text, length)) return CELL_FORMULA;
    return (found & QUOTE) ? CELL_QUOTED : CELL_PLAIN;
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
    if (kind == CELL_PLAIN) {
        memcpy(out, text, length);
        out += length;
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

/* ---- reading ---------------------------------------------------------------------------- */

enum { FIRST_WINDOW_BYTES = 1 << 18, FIRST_CELLS = 32 };

/* Bytes that end a plain cell. */
static const bool ends_cell[256] = { [','] = true, ['\n'] = true, ['\r'] = true };

/* What scanning the window came to. */
enum scan { SCAN_DONE, SCAN_NEED_MORE, SCAN_TOO_MANY_CELLS, SCAN_NO_MEMORY };

static struct csv_limits limits_or_defaults(const struct csv_limits *limits)
{
    struct csv_limits result = { .row_bytes = (size_t)64 << 20, .columns = 1024 };
    if (limits && limits->row_bytes) result.row_bytes = limits->row_bytes;
    if (limits && limits->columns) result.columns = limits->columns;
    result.ends_at_nul = limits && limits->ends_at_nul;
    return result;
}

/* Look at bytes that are new in the window: no CSV writer makes a NUL, a torn disk page does. */
static struct status accept_bytes(struct csv_reader *reader, size_t from)
{
    const char *nul = memchr(reader->text + from, '\0', reader->bytes - from);
    if (!nul) return status_ok();
    if (reader->limits.ends_at_nul) {
        reader->bytes = (size_t)(nul - reader->text);
        reader->at_end = true;
        return status_ok();
    }
    return status_error(STATUS_BAD_INPUT, "%s: a NUL byte at byte %llu", reader->name,
                        (unsigned long long)(reader->window_begin + (size_t)(nul - reader->text)));
}

static void skip_mark(struct csv_reader *reader)
{
    if (reader->bytes >= 3 && memcmp(reader->text, "\xef\xbb\xbf", 3) == 0) reader->position = 3;
}

struct status csv_open_text(struct csv_reader *out, const char *name, const char *text,
                            size_t bytes, const struct csv_limits *limits)
{
    *out = (struct csv_reader){ .name = name,
                                .text = text ? text : "",
                                .bytes = text ? bytes : 0,
                                .at_end = true,
                                .limits = limits_or_defaults(limits) };
    TRY(accept_bytes(out, 0));
    skip_mark(out);
    return status_ok();
}

/* Move the unread rest of the window to its start and read behind it. The window doubles when
 * the rest fills half of it, so a long row is scanned a logarithmic number of times. */
static struct status refill(struct csv_reader *reader)
{
    size_t rest = reader->bytes - reader->position, got;
    if (rest && reader->position) memmove(reader->window, reader->window + reader->position, rest);
    reader->window_begin += reader->position;
    reader->position = 0;
    reader->bytes = rest;

    if (!reader->window || rest > reader->window_capacity / 2) {
        size_t capacity = reader->window ? reader->window_capacity * 2 : FIRST_WINDOW_BYTES;
        char *window = memory_resize(reader->window, capacity);
        if (!window) return status_no_memory(capacity);
        reader->text = reader->window = window;
        reader->window_capacity = capacity;
    }
    TRY(file_read_at(&got, reader->file, reader->window + rest, reader->window_capacity - rest,
                     reader->window_begin + rest));
    reader->at_end = got < reader->window_capacity - rest;
    reader->bytes = rest + got;
    return accept_bytes(reader, rest);
}

struct status csv_open_file(struct csv_reader *out, const struct file *file,
                            const struct csv_limits *limits)
{
    *out = (struct csv_reader){ .name = file->path,
                                .file = file,
                                .limits = limits_or_defaults(limits) };
    struct status status = refill(out);
    if (status.code) csv_close(out);
    else skip_mark(out);
    return status;
}

void csv_close(struct csv_reader *reader)
{
    memory_release(reader->window);
    memory_release(reader->cells);
    csv_buffer_release(&reader->unquoted);
    *reader = (struct csv_reader){ 0 };
}

static struct csv_text *cell_slot(struct csv_reader *reader, size_t index)
{
    if (index >= reader->cell_capacity) {
        size_t capacity = reader->cell_capacity ? reader->cell_capacity * 2 : FIRST_CELLS;
        struct csv_text *cells = memory_resize(reader->cells, capacity * sizeof *cells);
        if (!cells) return NULL;
        reader->cells = cells;
        reader->cell_capacity = capacity;
    }
    return &reader->cells[index];
}

/* Where a plain cell from `at` ends: at a comma, at a line end, or at `end`. Sixteen bytes at once; the first of them
 * that ends a cell is the lowest that is set, as both kinds of hosts are little-endian. */
static size_t plain_end(const char *text, size_t at, size_t end)
{
    for (; at + sizeof(bytes16) <= end; at += sizeof(bytes16)) {
        bytes16 bytes;
        memcpy(&bytes, text + at, sizeof bytes);
        words2 found = (words2)((bytes == ',') | (bytes == '\n') | (bytes == '\r'));
        if (found[0]) return at + (size_t)__builtin_ctzll(found[0]) / 8;
        if (found[1]) return at + 8 + (size_t)__builtin_ctzll(found[1]) / 8;
    }
    while (at < end && !ends_cell[(unsigned char)text[at]]) at++;
    return at;
}

/* The rest of a quoted cell that is not simply text between two quotes, from behind its opening
 * quote. It is copied behind `unquoted`, and cell->bytes is NULL until the row is complete,
 * because that buffer may still move. */
static enum scan copy_quoted(struct csv_reader *reader, size_t *at, struct csv_text *cell)
{
    const char *window = reader->text;
    size_t end = reader->bytes, position = *at, before = reader->unquoted.length;
    bool inside = true;

    for (; position < end; position++) {
        char c = window[position];
        if (inside && c == '"') {
            if (position + 1 == end && !reader->at_end) return SCAN_NEED_MORE;
            if (position + 1 == end || window[position + 1] != '"') {
                inside = false;
                continue;
            }
            position++;
        } else if (!inside && ends_cell[(unsigned char)c]) {
            break;
        }
        if (reserve(&reader->unquoted, 1).code) return SCAN_NO_MEMORY;
        reader->unquoted.data[reader->unquoted.length++] = c;
    }
    if (position == end && !reader->at_end) return SCAN_NEED_MORE;
    *at = position;
    *cell = (struct csv_text){ NULL, reader->unquoted.length - before };
    return SCAN_DONE;
}

/* One cell from *at; *at is left at the byte that ends it, or at the end of the file. An open
 * quote takes everything up to the end of the file. */
static enum scan scan_cell(struct csv_reader *reader, size_t *at, struct csv_text *cell)
{
    const char *window = reader->text;
    size_t end = reader->bytes, begin = *at, position;

    if (begin < end && window[begin] == '"') {
        const char *quote = memchr(window + begin + 1, '"', end - begin - 1);
        size_t close = quote ? (size_t)(quote - window) : end;
        if (close + 1 >= end && !reader->at_end) return SCAN_NEED_MORE;
        *at = begin + 1;
        if (close + 1 < end && !ends_cell[(unsigned char)window[close + 1]])
            return copy_quoted(reader, at, cell);
        *cell = (struct csv_text){ window + begin + 1, close - begin - 1 };
        *at = close == end ? end : close + 1;
        return SCAN_DONE;
    }
    /* Most cells are one blank. */
    bool is_short = end - begin > 1 && ends_cell[(unsigned char)window[begin + 1]] &&
                    !ends_cell[(unsigned char)window[begin]];
    position = is_short ? begin + 1 : plain_end(window, begin, end);
    if (position == end && !reader->at_end) return SCAN_NEED_MORE;
    *cell = (struct csv_text){ window + begin, position - begin };
    *at = position;
    return SCAN_DONE;
}

/* The line end at *at, or the end of the file. A row without a whole line end is torn; so is one
 * that ends with the carriage return that is the file's last byte. */
static enum scan scan_row_end(const struct csv_reader *reader, size_t *at, bool *torn)
{
    const char *window = reader->text;

    *torn = *at == reader->bytes;
    if (*torn) return SCAN_DONE;
    if (window[(*at)++] == '\n') return SCAN_DONE;
    if (*at == reader->bytes) {
        *torn = true;
        return reader->at_end ? SCAN_DONE : SCAN_NEED_MORE;
    }
    if (window[*at] == '\n') (*at)++;
    return SCAN_DONE;
}

/* The row at reader->position; *after is the place of the next one. */
static enum scan scan_row(struct csv_reader *reader, size_t *count, size_t *after, bool *torn)
{
    size_t at = reader->position, n = 0;

    csv_buffer_clear(&reader->unquoted);
    for (;;) {
        if (n == reader->limits.columns) return SCAN_TOO_MANY_CELLS;
        struct csv_text *cell = cell_slot(reader, n++);
        if (!cell) return SCAN_NO_MEMORY;
        enum scan scan = scan_cell(reader, &at, cell);
        if (scan != SCAN_DONE) return scan;
        if (at == reader->bytes || reader->text[at] != ',') break;
        at++;
    }
    *count = n;
    enum scan scan = scan_row_end(reader, &at, torn);
    *after = at;
    return scan;
}

/* Copied cells lie behind each other in `unquoted`, which no longer moves. */
static void place_copied_cells(struct csv_reader *reader, size_t count)
{
    const char *next = reader->unquoted.data;
    if (!reader->unquoted.length && !next) next = "";
    for (size_t i = 0; i < count; i++) {
        if (reader->cells[i].bytes) continue;
        reader->cells[i].bytes = next;
        next += reader->cells[i].length;
    }
}

static struct status row_too_long(const struct csv_reader *reader)
{
    return status_error(STATUS_BAD_INPUT, "%s: row %llu, from byte %llu, is longer than %zu bytes",
                        reader->name, (unsigned long long)reader->rows + 1,
                        (unsigned long long)(reader->window_begin + reader->position),
                        reader->limits.row_bytes);
}

static void skip_line_ends(struct csv_reader *reader)
{
    while (reader->position < reader->bytes &&
           (reader->text[reader->position] == '\n' || reader->text[reader->position] == '\r'))
        reader->position++;
}

struct status csv_next(struct csv_reader *reader, struct csv_row *row, bool *more)
{
    size_t count = 0, after = 0;
    bool torn = false;
    enum scan scan;

    for (;;) {
        skip_line_ends(reader);
        if (reader->position == reader->bytes && reader->at_end) {
            *more = false;
            return status_ok();
        }
        scan = scan_row(reader, &count, &after, &torn);
        if (scan != SCAN_NEED_MORE) break;
        if (reader->bytes - reader->position > reader->limits.row_bytes)
            return row_too_long(reader);
        TRY(refill(reader));
    }
    if (scan == SCAN_NO_MEMORY) return status_no_memory(0);
    if (scan == SCAN_TOO_MANY_CELLS)
        return status_error(
            STATUS_BAD_INPUT, "%s: row %llu, from byte %llu, has more than %zu cells", reader->name,
            (unsigned long long)reader->rows + 1,
            (unsigned long long)(reader->window_begin + reader->position), reader->limits.columns);
    if (after - reader->position > reader->limits.row_bytes) return row_too_long(reader);

    place_copied_cells(reader, count);
    *row = (struct csv_row){ .cells = reader->cells,
                             .count = count,
                             .begin = reader->window_begin + reader->position,
                             .end = reader->window_begin + after,
                             .number = ++reader->rows,
                             .torn = torn };
    reader->position = after;
    *more = true;
    return status_ok();
}
