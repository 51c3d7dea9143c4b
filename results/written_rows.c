/* Three files side by side. The result row of a call is written last, so it leads. */
#include "results/written_rows.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "results/details_file.h"
#include "results/evidence_excess.h"
#include "results/result_row.h"
#include "results/resume.h"

static struct status not_whole(const struct written_rows *rows, int file, const char *what)
{
    return status_error(STATUS_BAD_INPUT, "%s is not whole: %s%s%s",
                        file_shown(rows->paths[file]).text, what, rows->name.length ? " " : "",
                        rows->name.length ? rows->name.data : "");
}

/* ---- opening ---------------------------------------------------------------------------- */

static struct status open_rows(struct row_source *out, bool *is_open,
                               const struct written_rows *rows, int file, size_t columns)
{
    bool usable = false;
    TRY(row_source_open(out, &rows->files[file], false));
    *is_open = true;
    TRY(row_source_header(&usable, out, columns));
    return usable ? status_ok() : not_whole(rows, file, "it has no header");
}

static struct status open_results(struct written_rows *rows)
{
    TRY(open_rows(&rows->results, &rows->results_open, rows, RESULT_CALLS, RESULT_COLUMNS - 1));
    rows->result_body = rows->results.row.end;
    return row_source_next(&rows->results);
}

static struct status open_details(struct written_rows *rows)
{
    struct row_source *details = &rows->details;
    size_t places[COLUMN_COUNT];
    TRY(open_rows(details, &rows->details_open, rows, RESULT_DETAILS, 1));
    rows->details_body = details->row.end;
    rows->columns = details->row.count;
    details_find_columns(places, &details->row);
    rows->status = places[COLUMN_STATUS];
    rows->message = places[COLUMN_MESSAGE];
    if (rows->status >= rows->columns || rows->message >= rows->columns)
        return not_whole(rows, RESULT_DETAILS, "its header has no status and message");
    return row_source_next(details);
}

struct status written_rows_open(struct written_rows *out, char *const paths[RESULT_FILES],
                                enum evidence_extent extent, struct file_policy policy)
{
    *out = (struct written_rows){ .paths = (const char *const *)paths, .extent = extent };
    for (int i = 0; i < RESULT_RUN; i++) out->files[i] = FILE_NONE;
    policy.any_size = true;
    for (int i = 0; i < RESULT_RUN; i++) TRY(file_open_read(&out->files[i], paths[i], policy));
    TRY(open_results(out));
    TRY(open_details(out));
    out->reader = memory_allocate_zeroed(1, sizeof *out->reader);
    if (!out->reader) return status_no_memory(sizeof *out->reader);
    out->reader->file = &out->files[RESULT_EVIDENCE];
    return status_ok();
}

void written_rows_close(struct written_rows *rows)
{
    if (rows->results_open) row_source_close(&rows->results);
    if (rows->details_open) row_source_close(&rows->details);
    for (int i = 0; i < RESULT_RUN; i++) (void)file_close(&rows->files[i]);
    memory_release(rows->reader);
    csv_buffer_release(&rows->name);
    csv_buffer_release(&rows->texts);
}

/* ---- a row ------------------------------------------------------------------------------ */

/* A copy of the text with a NUL behind it; *at is where it stands among the texts, which move. */
static struct status keep_text(size_t *at, struct written_rows *rows, struct csv_text text)
{
    *at = rows->texts.length;
    TRY(csv_append_bytes(&rows->texts, text.bytes, text.length));
    return csv_append_bytes(&rows->texts, "", 1);
}

/* What a summary is to know of the row in hand, which has this line of evidence. */
static struct status note_row(struct case_outcome *outcome, struct written_rows *rows,
                              enum verdict verdict, enum row_cause cause)
{
    struct evidence_story story;
    size_t name, sentence, source;
    evidence_tell(&story, rows->reader);
    csv_buffer_clear(&rows->texts);
    if (!story.sentence.length) story.sentence = rows->details.row.cells[rows->message];
    TRY(keep_text(&name, rows, rows->details.row.cells[COLUMN_NAME]));
    TRY(keep_text(&sentence, rows, story.sentence));
    TRY(keep_text(&source, rows, story.source));
    const char *texts = rows->texts.data, *line = rows->reader->start;
    const struct row_read row = { .verdict = verdict,
                                  .cause = cause,
                                  .name = texts + name,
                                  .sentence = texts + sentence,
                                  .source = texts + source,
                                  .excess = cause ? INFINITY
                                                  : evidence_excess(line, strlen(line)) };
    outcome->internal_error |= cause == CAUSE_INTERNAL;
    return case_outcome_note_read(outcome, &row);
}

static struct status take_details_row(struct case_outcome *outcome, struct written_rows *rows)
{
    const enum verdict verdict = details_verdict(rows->details.row.cells[rows->status]);
    const struct csv_text name = rows->details.row.cells[COLUMN_NAME];
    struct evidence_line line;
    bool whole;
    if (!evidence_has_line(rows->extent, verdict)) return status_ok();
    TRY(evidence_next(rows->reader, &whole, &line));
    if (!whole || line.name.length != name.length ||
        memcmp(line.name.bytes, name.bytes, name.length) != 0)
        return not_whole(rows, RESULT_EVIDENCE, "it lacks a line of");
    if (verdict == VERDICT_PASS || verdict == VERDICT_BLANK) return status_ok();
    return note_row(outcome, rows, verdict, line.cause);
}

/* ---- a call ----------------------------------------------------------------------------- */

/* The name of the call in hand. */
static struct status take_name(struct written_rows *rows)
{
    const struct csv_text cell = rows->results.row.cells[RESULT_NAME];
    csv_buffer_clear(&rows->name);
    TRY(csv_append_bytes(&rows->name, cell.bytes, cell.length));
    return csv_append_bytes(&rows->name, "", 1);
}

static struct status end_of_files(struct written_rows *rows)
{
    struct evidence_line line;
    bool whole;
    csv_buffer_clear(&rows->name);
    if (rows->results.more) return not_whole(rows, RESULT_CALLS, "its last row is cut");
    if (rows->details.more)
        return not_whole(rows, RESULT_DETAILS, "it goes on behind the last call");
    TRY(evidence_next(rows->reader, &whole, &line));
    if (whole) return not_whole(rows, RESULT_EVIDENCE, "it goes on behind the last call");
    return status_ok();
}

/* Is the row in hand one of the call's, and whole? */
static bool has_details_row(const struct written_rows *rows)
{
    const struct csv_row *row = &rows->details.row;
    return rows->details.more && !row->torn && row->count == rows->columns &&
           resume_row_belongs(row->cells[COLUMN_NAME], rows->name.data);
}

struct status written_rows_next(struct written_rows *rows, const char **name,
                                struct case_outcome *outcome)
{
    size_t count = 0;
    case_outcome_clear(outcome);
    *name = NULL;
    if (!row_source_is_result(&rows->results)) return end_of_files(rows);
    TRY(take_name(rows));
    outcome->forward = details_verdict(rows->results.row.cells[RESULT_FORWARD]);
    outcome->backward = details_verdict(rows->results.row.cells[RESULT_BACKWARD]);
    for (; has_details_row(rows); count++) {
        TRY(take_details_row(outcome, rows));
        TRY(row_source_next(&rows->details));
    }
    if (!count) return not_whole(rows, RESULT_DETAILS, "it lacks the rows of");
    *name = rows->name.data;
    return row_source_next(&rows->results);
}
