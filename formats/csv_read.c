/* Cells in with one pass over a window of the file. */
#include "formats/csv.h"

#include <string.h>

#include "core/memory.h"
#include "formats/csv_flags.h"

enum { FIRST_WINDOW_BYTES = 1 << 18, FIRST_CELLS = 128 };

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
    reader->ends.flags = 0;

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

/* Room for the cells that may end in a block, behind `n` others, and for the last one of a file. */
static bool make_room_for_cells(struct csv_reader *reader, size_t n)
{
    size_t capacity = reader->cell_capacity ? reader->cell_capacity : FIRST_CELLS;
    while (capacity < n + CSV_BLOCK + 1) capacity *= 2;
    if (capacity == reader->cell_capacity) return true;
    struct csv_text *cells = memory_resize(reader->cells, capacity * sizeof *cells);
    if (!cells) return false;
    reader->cells = cells;
    reader->cell_capacity = capacity;
    return true;
}

/* ---- ends of cells ---------------------------------------------------------------------- */

/* The flags of the block of the window that begins at `block`; behind the window there is nothing. */
static inline uint64_t ends_in_block(const char *text, size_t bytes, size_t block)
{
    if (bytes - block >= CSV_BLOCK) return csv_cell_ends(text + block);
    char rest[CSV_BLOCK] = { 0 };
    memcpy(rest, text + block, bytes - block);
    return csv_cell_ends(rest);
}

/* Those from `at` on, of the block that it is in. */
static struct csv_ends ends_from(const struct csv_reader *reader, size_t at)
{
    struct csv_ends ends = { .block = at - at % CSV_BLOCK };
    bool is_known = reader->ends.flags && reader->ends.block == ends.block;
    ends.flags = is_known ? reader->ends.flags
                          : ends_in_block(reader->text, reader->bytes, ends.block);
    ends.flags &= UINT64_MAX << at % CSV_BLOCK;
    return ends;
}

/* ---- cells ------------------------------------------------------------------------------ */

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
        if (csv_reserve(&reader->unquoted, 1).code) return SCAN_NO_MEMORY;
        reader->unquoted.data[reader->unquoted.length++] = c;
    }
    if (position == end && !reader->at_end) return SCAN_NEED_MORE;
    *at = position;
    *cell = (struct csv_text){ NULL, reader->unquoted.length - before };
    return SCAN_DONE;
}

/* A cell from the quote at *at; *at is left at the byte that ends it, or at the end of the file. An open quote takes
 * everything up to the end of the file. */
static enum scan scan_quoted(struct csv_reader *reader, size_t *at, struct csv_text *cell)
{
    const char *window = reader->text;
    size_t end = reader->bytes, begin = *at + 1;
    const char *quote = memchr(window + begin, '"', end - begin);
    size_t close = quote ? (size_t)(quote - window) : end;
    if (close + 1 >= end && !reader->at_end) return SCAN_NEED_MORE;
    *at = begin;
    if (close + 1 < end && !ends_cell[(unsigned char)window[close + 1]])
        return copy_quoted(reader, at, cell);
    *cell = (struct csv_text){ window + begin, close - begin };
    *at = close == end ? end : close + 1;
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

/* A row as far as it is scanned. */
struct row_scan {
    size_t at;            /* where the next cell begins, or the row ends */
    size_t count;         /* of cells */
    struct csv_ends ends; /* that lie ahead */
};

/* Plain cells up to the end of the row (true), to a quoted one, to the end of the window, or as long as there is room for
 * those of the next block. That a row goes on is guessed (by the processor) before its byte is there, so that no cell
 * waits for the one before it. */
static bool take_plain_cells(struct row_scan *scan, const struct csv_reader *reader)
{
    const char *text = reader->text, *window_end = text + reader->bytes, *at = text + scan->at;
    const char *block = text + scan->ends.block;
    const struct csv_text *last = reader->cells + reader->cell_capacity - CSV_BLOCK;
    struct csv_text *cell = reader->cells + scan->count;
    uint64_t flags = scan->ends.flags;
    bool ended = false;
    for (;;) {
        while (flags && *at != '"') {
            const char *end = block + (unsigned)__builtin_ctzll(flags);
            *cell++ = (struct csv_text){ at, (size_t)(end - at) };
            at = end;
            ended = *end != ',';
            if (ended) break;
            flags &= flags - 1;
            at++;
        }
        if (flags || window_end - block <= CSV_BLOCK || cell >= last) break;
        if (at < window_end && *at == '"') break;
        block += CSV_BLOCK;
        flags = ends_in_block(text, reader->bytes, (size_t)(block - text));
    }
    *scan = (struct row_scan){ (size_t)(at - text),
                               (size_t)(cell - reader->cells),
                               { (size_t)(block - text), flags } };
    return ended;
}

/* The row at reader->position; *after is the place of the next one. */
static enum scan scan_row(struct csv_reader *reader, size_t *count, size_t *after, bool *torn)
{
    const char *text = reader->text;
    struct row_scan scan = { .at = reader->position, .ends = ends_from(reader, reader->position) };

    csv_buffer_clear(&reader->unquoted);
    for (;;) {
        if (!make_room_for_cells(reader, scan.count)) return SCAN_NO_MEMORY;
        if (take_plain_cells(&scan, reader)) break;
        if (scan.count >= reader->limits.columns) return SCAN_TOO_MANY_CELLS;
        if (scan.at < reader->bytes && text[scan.at] == '"') {
            enum scan quoted = scan_quoted(reader, &scan.at, &reader->cells[scan.count++]);
            if (quoted != SCAN_DONE) return quoted;
            if (scan.at == reader->bytes) break;
            reader->ends = scan.ends;
            scan.ends = ends_from(reader, scan.at);
            if (text[scan.at] != ',') break;
            scan.ends.flags &= scan.ends.flags - 1;
            scan.at++;
        } else if (reader->bytes - scan.ends.block <= CSV_BLOCK) {
            if (!reader->at_end) return SCAN_NEED_MORE;
            reader->cells[scan.count++] =
                (struct csv_text){ text + scan.at, reader->bytes - scan.at };
            scan.at = reader->bytes;
            break;
        }
    }
    if (scan.count > reader->limits.columns) return SCAN_TOO_MANY_CELLS;
    *count = scan.count;
    reader->ends = scan.ends;
    enum scan result = scan_row_end(reader, &scan.at, torn);
    *after = scan.at;
    return result;
}

/* Copied cells, of a byte at least, lie behind each other in `unquoted`, which no longer moves. */
static void place_copied_cells(struct csv_reader *reader, size_t count)
{
    const char *next = reader->unquoted.data;
    for (size_t i = 0; reader->unquoted.length && i < count; i++) {
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
