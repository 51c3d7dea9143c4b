/* Columns are found by their headers in all spellings; rows are read by the numbers of those. */
#include "results/details_file.h"

#include <stdio.h>
#include <string.h>

#include "formats/json_words.h"
#include "standards/header_language.h"
#include "standards/row_layout.h"

/* A header without blanks and in lower case, as far as ASCII goes: the documents write
 * "inf / nan 错误率", "API name" and "message" where the files have "inf/nan错误率", "API Name"
 * and "Message". */
static void normalize(char *out, size_t bytes, const char *text, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < bytes; i++) {
        char c = text[i];
        if (c == ' ' || c == '\t') continue;
        out[used++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    out[used] = '\0';
}

enum { HEADER_BYTES = 128 };

static size_t find_spelling(const struct csv_row *header, const char *name)
{
    char wanted[HEADER_BYTES], found[HEADER_BYTES];
    normalize(wanted, sizeof wanted, name, strlen(name));
    for (size_t i = 0; i < header->count; i++) {
        normalize(found, sizeof found, header->cells[i].bytes, header->cells[i].length);
        if (strcmp(found, wanted) == 0) return i;
    }
    return SIZE_MAX;
}

size_t details_find_column(const struct csv_row *header, const char *name)
{
    size_t place = find_spelling(header, name);
    return place != SIZE_MAX ? place : find_spelling(header, header_in_english(name));
}

void details_find_columns(size_t places[COLUMN_COUNT], const struct csv_row *header)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        places[column] = details_find_column(header, details_headers[column]);
    for (size_t i = 0; i < layout_distances.count; i++) {
        const struct layout_column *other = &layout_distances.columns[i];
        if (places[other->column] == SIZE_MAX)
            places[other->column] = details_find_column(header, other->header);
    }
}

static struct status check_columns(const struct details_file *details,
                                   const enum details_column *required, size_t count)
{
    char missing[400] = "";
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (details->places[required[i]] != SIZE_MAX || used >= sizeof missing) continue;
        int added = snprintf(missing + used, sizeof missing - used, "%s%s", used ? ", " : "",
                             details_headers[required[i]]);
        if (added > 0) used += (size_t)added;
    }
    if (!used) return status_ok();
    return status_error(STATUS_BAD_INPUT,
                        "%s is not a details file of a run (accuracy_checking_details_*.csv); "
                        "these columns are missing: %s",
                        details->reader.name, missing);
}

static struct status read_header(struct details_file *details, const enum details_column *required,
                                 size_t count)
{
    struct csv_row header;
    bool more;

    TRY(csv_next(&details->reader, &header, &more));
    if (!more)
        return status_error(STATUS_BAD_INPUT, "%s is empty; a details file starts with a header",
                            details->reader.name);
    details->columns = header.count;
    details_find_columns(details->places, &header);
    details->in_order = true;
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        details->in_order &= details->places[column] == column;
    return check_columns(details, required, count);
}

struct status details_file_open(struct details_file *out, const char *path,
                                struct file_policy policy, const enum details_column *required,
                                size_t count)
{
    *out = DETAILS_FILE_NONE;
    policy.any_size = true;
    TRY(file_open_read(&out->file, path, policy));
    struct status status = csv_open_file(&out->reader, &out->file, NULL);
    if (!status.code) status = read_header(out, required, count);
    if (status.code) details_file_close(out);
    return status;
}

struct status details_file_open_text(struct details_file *out, const char *name, const char *text,
                                     size_t bytes, const enum details_column *required,
                                     size_t count)
{
    *out = DETAILS_FILE_NONE;
    struct status status = csv_open_text(&out->reader, name, text, bytes, NULL);
    if (!status.code) status = read_header(out, required, count);
    if (status.code) details_file_close(out);
    return status;
}

/* Mostly the columns are ours, in our order, and nothing has to be moved. */
static const struct csv_text *cells_by_column(struct details_file *details,
                                              const struct csv_row *csv)
{
    if (details->in_order && csv->count >= COLUMN_COUNT) return csv->cells;
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        size_t place = details->places[column];
        details->mapped[column] = place < csv->count ? csv->cells[place]
                                                     : (struct csv_text){ "", 0 };
    }
    return details->mapped;
}

struct status details_file_next(struct details_file *details, struct details_row *row, bool *more)
{
    struct csv_row csv;

    TRY(csv_next(&details->reader, &csv, more));
    if (!*more) return status_ok();
    if (csv.torn && csv.count < details->columns) {
        details->torn = true;
        *more = false;
        return status_ok();
    }
    row->cells = cells_by_column(details, &csv);
    row->number = csv.number;
    row->overlong = csv.count > details->columns;
    details->rows++;
    return status_ok();
}

void details_file_close(struct details_file *details)
{
    csv_close(&details->reader);
    (void)file_close(&details->file); /* nothing was written */
}

/* Letters only, so that the bit of their case can be left out. */
static bool spells(const struct verdict_word *word, struct csv_text cell)
{
    size_t same = 0;
    if (word->length != cell.length) return false;
    while (same < cell.length && ((word->text[same] ^ cell.bytes[same]) & ~0x20) == 0) same++;
    return same == cell.length;
}

enum verdict details_verdict(struct csv_text cell)
{
    while (cell.length && cell.bytes[cell.length - 1] == ' ') cell.length--;
    while (cell.length && *cell.bytes == ' ') cell.bytes++, cell.length--;
    for (enum verdict verdict = VERDICT_PASS; verdict <= VERDICT_SKIP; verdict++)
        if (spells(&verdict_words[verdict], cell)) return verdict;
    return VERDICT_BLANK;
}

enum { MOST_SEGMENTS = 7 };

/* Where each segment of a text of eight bytes or more begins, and how many there are; 0 where there are too many. The
 * last eight bytes overlap those before them. */
static size_t find_segments(size_t begin[MOST_SEGMENTS], struct csv_text text)
{
    size_t n = 1;
    begin[0] = 0;
    for (size_t i = 0; i < text.length; i += 8) {
        size_t seen = text.length - i < 8 ? 8 - (text.length - i) : 0, at = i - seen;
        uint64_t dots = find_byte(load8(text.bytes + at), '.') & UINT64_MAX << 8 * seen;
        for (; dots; dots &= dots - 1) {
            if (n == MOST_SEGMENTS) return 0;
            begin[n++] = at + (size_t)count_unflagged(dots) + 1;
        }
    }
    return n;
}

bool row_name_split(struct row_name *out, struct csv_text text)
{
    size_t begin[MOST_SEGMENTS + 1], n = text.length < 8 ? 0 : find_segments(begin, text);
    if (n < MOST_SEGMENTS - 1) return false;
    begin[n] = text.length + 1;
    struct csv_text segment[MOST_SEGMENTS];
    for (size_t i = 0; i < n; i++) {
        segment[i] = (struct csv_text){ text.bytes + begin[i], begin[i + 1] - begin[i] - 1 };
        if (!segment[i].length) return false;
    }
    out->backward = csv_text_equal(segment[n - 3], "backward");
    if (!out->backward && !csv_text_equal(segment[n - 3], "forward")) return false;
    if (!csv_text_equal(segment[n - 2], "output")) return false;
    out->index = segment[n - 1];
    out->full_name = (struct csv_text){ text.bytes, begin[n - 3] - 1 };
    out->api = (struct csv_text){ segment[1].bytes, begin[n - 4] - begin[1] - 1 };
    return true;
}
