/* CSV texts of any bytes: rows lie behind each other in the text, only the last can be torn, what
 * is read can be written and read again with the same cells, and no written cell starts a formula. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/csv.h"

/* Full-width and ASCII + - = % @, tab and carriage return, at the start or behind a semicolon. */
static void check_harmless(struct csv_text cell)
{
    double number;
    if (csv_read_number(&number, cell)) return;
    for (size_t i = 0; i < cell.length; i++) {
        if (i && cell.bytes[i - 1] != ';') continue;
        assert(!memchr("+-=%@\t\r", cell.bytes[i], 7));
        bool wide = cell.length - i >= 3 && !memcmp(cell.bytes + i, "\xef\xbc", 2);
        assert(!wide || !memchr("\x85\x8b\x8d\x9d\xa0", cell.bytes[i + 2], 5));
    }
}

static bool begins_formula(struct csv_text cell, size_t at)
{
    if (at >= cell.length) return false;
    if (memchr("+-=%@\t\r", cell.bytes[at], 7)) return true;
    return cell.length - at >= 3 && !memcmp(cell.bytes + at, "\xef\xbc", 2) &&
           memchr("\x85\x8b\x8d\x9d\xa0", cell.bytes[at + 2], 5);
}

/* The cell comes back as it was, or, when it starts a formula somewhere and is no number, with an
 * apostrophe in front and behind each semicolon that a formula follows. */
static void check_same(struct csv_text before, struct csv_text after)
{
    double number;
    bool formula = begins_formula(before, 0);
    for (size_t i = 0; i < before.length; i++)
        formula |= before.bytes[i] == ';' && begins_formula(before, i + 1);
    if (csv_read_number(&number, before)) formula = false;
    size_t k = 0;
    if (formula) assert(after.length > 0 && after.bytes[k++] == '\'');
    for (size_t i = 0; i < before.length; i++) {
        assert(k < after.length && after.bytes[k++] == before.bytes[i]);
        if (formula && before.bytes[i] == ';' && begins_formula(before, i + 1))
            assert(k < after.length && after.bytes[k++] == '\'');
    }
    assert(k == after.length);
}

static void check_number(struct csv_text cell)
{
    char copy[1300];
    double number;
    if (cell.length >= sizeof copy || !csv_read_number(&number, cell)) return;
    memcpy(copy, cell.bytes, cell.length);
    copy[cell.length] = '\0';
    double expected = strtod(copy, NULL);
    assert(number == expected || (isnan(number) && isnan(expected)));
}

static void check_written(const struct csv_row *row, struct csv_buffer *out)
{
    struct csv_reader reader;
    struct csv_row again;
    bool more;

    csv_buffer_clear(out);
    for (size_t i = 0; i < row->count; i++)
        assert(!csv_append_cell(out, row->cells[i].bytes, row->cells[i].length).code);
    assert(!csv_end_row(out).code);
    assert(!csv_open_text(&reader, "written", out->data, out->length, NULL).code);
    assert(!csv_next(&reader, &again, &more).code);
    /* a lone empty cell is a blank line, and a leading mark is no text */
    if (more && again.count == row->count) {
        for (size_t i = 0; i < row->count; i++) {
            check_same(row->cells[i], again.cells[i]);
            check_harmless(again.cells[i]);
        }
    } else {
        assert(row->count == 1 && row->cells[0].length == 0);
    }
    csv_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_limits limits = { .row_bytes = 1 << 16, .columns = 64 };
    struct csv_reader reader;
    struct csv_row row;
    struct csv_buffer out = { 0 };
    bool more = true, torn = false;
    uint64_t end = 0;

    struct status status = csv_open_text(&reader, "input.csv", (const char *)data, size, &limits);
    while (!status.code) {
        status = csv_next(&reader, &row, &more);
        if (status.code || !more) break;
        assert(!torn && row.count >= 1 && row.count <= limits.columns);
        assert(row.begin >= end && row.end > row.begin && row.end <= size);
        end = row.end;
        torn = row.torn;
        for (size_t i = 0; i < row.count; i++) check_number(row.cells[i]);
        bool mark = row.cells[0].length >= 3 && !memcmp(row.cells[0].bytes, "\xef\xbb\xbf", 3);
        if (!mark) check_written(&row, &out);
    }
    assert(!status.code || status.text[0]);
    csv_close(&reader);
    csv_buffer_release(&out);
    return 0;
}
