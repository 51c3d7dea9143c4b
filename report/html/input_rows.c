/* Rows of the table, with the lines of evidence that have the same name beside them. */
#include "report/html/input_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "formats/line_reader.h"
#include "report/html/table_rows.h"
#include "results/details_file.h"

enum { CELLS_MOST = 64, EVIDENCE_LONGEST = 1 << 20 };

const char *const input_note_names[NOTE_KINDS] = {
    [NOTE_TORN_ROWS] = "torn rows",         [NOTE_UNREADABLE] = "unreadable",
    [NOTE_NO_EVIDENCE] = "no evidence",     [NOTE_OTHER_EVIDENCE] = "other evidence",
    [NOTE_TORN_EVIDENCE] = "torn evidence", [NOTE_OTHER_TIMINGS] = "other timings",
    [NOTE_ROW_FORM] = "row form",           [NOTE_FAILING_EVIDENCE] = "failing evidence",
};

static void note(struct input_notes *notes, enum input_note_kind kind, uint64_t number,
                 const char *text)
{
    struct input_note *item = &notes->items[kind];
    item->set = true;
    item->number = number;
    (void)snprintf(item->text, sizeof item->text, "%s", text);
}

/* ---- evidence --------------------------------------------------------------------------------- */

/* The next line of evidence, until a row takes it. */
struct evidence_stream {
    struct file file;
    struct line_reader reader;
    struct text_line line;
    bool waiting;
    struct csv_buffer compact;
    struct evidence_row row;
    uint64_t unreadable; /* lines */
};

static struct status evidence_open(struct evidence_stream *out, const char *path,
                                   struct file_policy policy)
{
    *out = (struct evidence_stream){ .file = FILE_NONE };
    if (!path) return status_ok();
    TRY(file_open_read(&out->file, path, policy));
    out->reader = (struct line_reader){ .file = &out->file, .longest = EVIDENCE_LONGEST };
    return line_reader_next(&out->reader, &out->line, &out->waiting);
}

static void evidence_close(struct evidence_stream *stream)
{
    line_reader_release(&stream->reader);
    csv_buffer_release(&stream->compact);
    (void)file_close(&stream->file);
}

/* The evidence of the row with this name in stream->row and stream->compact, if the next line is its. */
static struct status evidence_take(struct evidence_stream *stream, bool *taken,
                                   struct csv_text name)
{
    *taken = false;
    if (!stream->waiting || !evidence_row_is_of(stream->line.text, stream->line.length, name))
        return status_ok();
    TRY(evidence_row_read(&stream->row, &stream->compact, taken, stream->line.text,
                          stream->line.length));
    if (!*taken) stream->unreadable++;
    return line_reader_next(&stream->reader, &stream->line, &stream->waiting);
}

/* ---- timings ---------------------------------------------------------------------------------- */

struct timings_stream {
    struct file file;
    struct csv_reader reader;
    struct csv_row row;
    bool open, waiting;
    double seconds; /* of the call taken last */
};

static struct status timings_next(struct timings_stream *stream)
{
    struct status status = csv_next(&stream->reader, &stream->row, &stream->waiting);
    if (status.code == STATUS_BAD_INPUT) {
        stream->waiting = false;
        return status_ok();
    }
    return status;
}

static struct status timings_open(struct timings_stream *out, const char *path,
                                  struct file_policy policy)
{
    *out = (struct timings_stream){ .file = FILE_NONE, .seconds = NAN };
    if (!path) return status_ok();
    TRY(file_open_read(&out->file, path, policy));
    TRY(csv_open_file(&out->reader, &out->file, NULL));
    out->open = true;
    TRY(timings_next(out)); /* the header */
    return out->waiting ? timings_next(out) : status_ok();
}

static void timings_close(struct timings_stream *stream)
{
    if (stream->open) csv_close(&stream->reader);
    (void)file_close(&stream->file);
}

static double timings_cell(const struct timings_stream *stream, size_t at)
{
    double seconds;
    if (at >= stream->row.count || !csv_read_number(&seconds, stream->row.cells[at])) return 0;
    return seconds >= 0 && isfinite(seconds) ? seconds : 0;
}

static bool same_text(struct csv_text a, struct csv_text b)
{
    return a.length == b.length && (!a.length || memcmp(a.bytes, b.bytes, a.length) == 0);
}

/* At the first row of a call: what it took, if the next timings are its. */
static struct status timings_take(struct timings_stream *stream, struct overview *overview,
                                  const struct page_name *name)
{
    stream->seconds = NAN;
    if (!stream->waiting || !same_text(stream->row.cells[0], name->call)) return status_ok();
    struct overview_seconds seconds = { timings_cell(stream, 1), timings_cell(stream, 2),
                                        timings_cell(stream, 3) };
    stream->seconds = seconds.reference + seconds.device + seconds.comparison;
    TRY(overview_add_seconds(overview, name->call, name->api, seconds));
    return timings_next(stream);
}

/* ---- rows --------------------------------------------------------------------------------------- */

struct row_reader {
    struct columns *columns;
    struct overview *overview;
    const struct layout *layout;
    size_t places[CELLS_MOST]; /* where each cell of the layout stands in a row */
    size_t header_cells;
    struct evidence_stream evidence;
    struct timings_stream timings;
    struct csv_buffer call; /* of the last row */
    uint64_t misshapen;
    uint64_t passes_without_evidence;
    double error; /* of the row: its largest relative error, NaN when unknown */
};

static struct csv_text trimmed(struct csv_text text)
{
    while (text.length && (unsigned char)text.bytes[text.length - 1] <= ' ') text.length--;
    while (text.length && (unsigned char)*text.bytes <= ' ') text.bytes++, text.length--;
    return text;
}

/* A number, or a percentage; nothing for "N/A" and the like. */
static struct status put_number(struct row_reader *rows, enum page_column column,
                                struct csv_text cell)
{
    double value;
    bool percent = cell.length && cell.bytes[cell.length - 1] == '%';
    if (percent) cell.length--;
    if (!cell.length || !csv_read_number(&value, cell)) return status_ok();
    if (percent) value /= 100;
    if (column == PAGE_MAX_RELATIVE_ERROR) rows->error = value;
    return columns_put_number(rows->columns, column, value);
}

struct row_cells {
    struct csv_text name, message, dtype, partner;
    enum verdict verdict;
    bool decided, own_verdict;
};

static struct status put_cell(struct row_reader *rows, struct row_cells *row,
                              const struct layout_cell *cell, struct csv_text text)
{
    const char *metric = page_forms[cell->column].id;
    enum verdict verdict;
    switch (cell->use) {
    case CELL_NAME: row->name = text; return columns_put_text(rows->columns, PAGE_NAME, text);
    case CELL_NUMBER: return put_number(rows, cell->column, text);
    case CELL_CODE:
        if (cell->column == PAGE_DTYPE) row->dtype = text;
        return columns_put_code(rows->columns, NULL, cell->column, text);
    case CELL_TEXT:
        if (cell->column == PAGE_MESSAGE) row->message = text;
        if (cell->column == PAGE_PARTNER) row->partner = text;
        return columns_put_text(rows->columns, cell->column, text);
    case CELL_VERDICT:
        /* Of several columns with a verdict the last decides. */
        row->verdict = layout_verdict(rows->layout, text);
        return status_ok();
    case CELL_OWN_VERDICT:
        row->own_verdict = true;
        row->verdict = text.length ? layout_verdict(rows->layout, text) : VERDICT_SKIP;
        return status_ok();
    case CELL_BACKWARD:
        verdict = layout_verdict(rows->layout, text);
        row->verdict = verdict_combine((enum verdict[]){ row->verdict, verdict }, 2);
        return status_ok();
    case CELL_JUDGEMENT:
        verdict = layout_verdict(rows->layout, text);
        if (row->decided || (verdict != VERDICT_ERROR && verdict != VERDICT_WARNING))
            return status_ok();
        row->decided = true;
        return columns_put_code(rows->columns, NULL, PAGE_DECIDED_BY,
                                (struct csv_text){ metric, strlen(metric) });
    }
    return status_ok();
}

/* FNV-1a: equal names of other inputs are found by it, and compared then. */
static uint32_t hash_name(struct csv_text name)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ (unsigned char)name.bytes[i]) * 16777619u;
    return hash == COLUMN_BLANK ? 0 : hash;
}

static struct status put_known(struct row_reader *rows, enum page_column column, double value)
{
    return isnan(value) ? status_ok() : columns_put_number(rows->columns, column, value);
}

static struct status put_word(struct row_reader *rows, enum page_column column, const char *word)
{
    return columns_put_code(rows->columns, NULL, column, (struct csv_text){ word, strlen(word) });
}

static struct status put_evidence(struct row_reader *rows)
{
    const struct evidence_row *evidence = &rows->evidence.row;
    struct csv_buffer *compact = &rows->evidence.compact;
    struct csv_text text = { compact->data, compact->length };
    /* The column cuts texts that are too long, which would leave no JSON. */
    if (text.length <= columns_longest_text(rows->columns, PAGE_EVIDENCE))
        TRY(columns_put_text(rows->columns, PAGE_EVIDENCE, text));
    else
        TRY(columns_put_text(rows->columns, PAGE_EVIDENCE,
                             (struct csv_text){ "{\"cut\":true}", 12 }));
    TRY(put_word(rows, PAGE_STANDARD, evidence->standard));
    TRY(put_word(rows, PAGE_DECIDED_BY, evidence->decided_by));
    TRY(put_word(rows, PAGE_REFERENCE, evidence->reference));
    TRY(put_known(rows, PAGE_ALLOWANCE, evidence->allowance));
    TRY(put_known(rows, PAGE_WORST_ULP, evidence->worst_ulp));
    TRY(put_known(rows, PAGE_BOUND_ULP, evidence->bound_ulp));
    TRY(put_known(rows, PAGE_ROUNDING, evidence->rounding));
    return put_known(rows, PAGE_ELEMENTS, evidence->elements);
}

/* A call that differs from that of the row before. */
static struct status begin_call(struct row_reader *rows, const struct page_name *name)
{
    struct csv_text last = { rows->call.data, rows->call.length };
    if (rows->overview->rows && same_text(last, name->call)) return status_ok();
    csv_buffer_clear(&rows->call);
    TRY(csv_append_bytes(&rows->call, name->call.bytes, name->call.length));
    return timings_take(&rows->timings, rows->overview, name);
}

/* msprobe has no verdict on a value of one element or no tensor; ours has. */
static bool row_agrees(const struct row_cells *row)
{
    bool alone = same_text(row->partner, (struct csv_text){ "N/A", 3 });
    return row->verdict == VERDICT_PASS ||
           (row->verdict == VERDICT_SKIP && !row->own_verdict && !alone);
}

static struct status read_row(struct row_reader *rows, const struct csv_row *csv)
{
    static const struct csv_text none = { "", 0 };
    struct row_cells row = { none, none, none, none, rows->layout->empty_verdict, false, false };
    bool has_evidence;

    rows->error = NAN;
    if (csv->count != rows->header_cells) rows->misshapen++;
    for (size_t i = 0; i < rows->layout->count; i++) {
        if (rows->places[i] >= csv->count) continue;
        struct csv_text text = trimmed(csv->cells[rows->places[i]]);
        const struct layout_cell *cell = &rows->layout->cells[i];
        if (text.length || cell->use == CELL_OWN_VERDICT) TRY(put_cell(rows, &row, cell, text));
    }
    struct page_name name = page_name_split(row.name);
    TRY(begin_call(rows, &name));
    TRY(evidence_take(&rows->evidence, &has_evidence, row.name));
    if (has_evidence) TRY(put_evidence(rows));
    rows->passes_without_evidence += !has_evidence && row.verdict == VERDICT_PASS;

    TRY(columns_put_bits(rows->columns, PAGE_NAME_HASH, hash_name(row.name)));
    TRY(columns_put_code(rows->columns, NULL, PAGE_API, name.api));
    TRY(put_word(rows, PAGE_DIRECTION, name.backward ? "backward" : "forward"));
    if (row.verdict != VERDICT_BLANK) TRY(put_word(rows, PAGE_VERDICT, verdict_name(row.verdict)));
    TRY(put_known(rows, PAGE_CALL_SECONDS, rows->timings.seconds));

    struct overview_row seen = {
        .row = rows->columns->rows,
        .verdict = row.verdict,
        .backward = name.backward,
        .name = row.name,
        .call = name.call,
        .api = name.api,
        .dtype = row.dtype,
        .message = row.message,
        .agrees = row_agrees(&row),
        .allowance = has_evidence ? rows->evidence.row.allowance : NAN,
        .error = rows->error,
        .evidence = has_evidence ? &rows->evidence.row : NULL,
    };
    TRY(overview_add_row(rows->overview, &seen));
    return columns_end_row(rows->columns);
}

static void note_ends(const struct row_reader *rows, struct input_notes *notes,
                      const struct input *input)
{
    const struct evidence_stream *evidence = &rows->evidence;
    if (rows->misshapen) note(notes, NOTE_ROW_FORM, rows->misshapen, "");
    if (evidence->unreadable) note(notes, NOTE_TORN_EVIDENCE, evidence->unreadable, "");
    if (evidence->waiting && evidence->line.torn) note(notes, NOTE_TORN_EVIDENCE, 1, "");
    else if (evidence->waiting) note(notes, NOTE_OTHER_EVIDENCE, evidence->reader.lines, "");
    if (rows->timings.waiting) note(notes, NOTE_OTHER_TIMINGS, rows->timings.row.number, "");
    bool ended_well = !evidence->waiting && !evidence->unreadable;
    if (!layout_is_of_run(rows->layout)) return;
    if (!input->paths[PART_EVIDENCE]) note(notes, NOTE_NO_EVIDENCE, 0, "");
    else if (ended_well && rows->passes_without_evidence)
        note(notes, NOTE_FAILING_EVIDENCE, rows->passes_without_evidence, "");
}

static struct status read_all(struct row_reader *rows, struct table_rows *table,
                              struct input_notes *notes, struct stop stop)
{
    enum { ROWS_BETWEEN_STOPS = 256 };
    struct csv_row csv;
    bool more;
    TRY(table_rows_next(table, &csv, &more));
    rows->header_cells = more ? csv.count : 0;
    for (size_t i = 0; more && i < rows->layout->count; i++)
        rows->places[i] = details_find_column(&csv, rows->layout->cells[i].header);
    while (more) {
        struct status status = table_rows_next(table, &csv, &more);
        if (status.code == STATUS_BAD_INPUT) {
            note(notes, NOTE_UNREADABLE, rows->overview->rows, status.text);
            return status_ok();
        }
        if (status.code || !more) return status;
        if (csv.torn && csv.count < rows->header_cells) {
            note(notes, NOTE_TORN_ROWS, rows->overview->rows, "");
            return status_ok();
        }
        TRY(read_row(rows, &csv));
        if (rows->overview->rows % ROWS_BETWEEN_STOPS == 0) TRY(stop_check(stop));
    }
    return status_ok();
}

struct status input_rows_read(struct columns *columns, struct overview *overview,
                              struct input_notes *notes, const struct input *input,
                              struct file_policy policy, struct stop stop)
{
    struct row_reader rows = { .columns = columns, .overview = overview, .layout = input->layout };
    struct table_rows table;
    struct status status = table_rows_open(&table, input->paths[PART_ROWS], policy);
    struct status proof = evidence_open(&rows.evidence, input->paths[PART_EVIDENCE], policy);
    struct status timed = timings_open(&rows.timings, input->paths[PART_TIMINGS], policy);
    if (!status.code) status = proof;
    if (!status.code) status = timed;
    if (!status.code) status = read_all(&rows, &table, notes, stop);
    if (!status.code) note_ends(&rows, notes, input);
    table_rows_close(&table);
    evidence_close(&rows.evidence);
    timings_close(&rows.timings);
    csv_buffer_release(&rows.call);
    return status;
}
