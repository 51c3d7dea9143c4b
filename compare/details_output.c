/* Rows and results, in the order in which they come. */
#include "compare/details_output.h"

#include <assert.h>
#include <string.h>

#include "compare/background_writer.h"
#include "core/fixed.h"

/* All cells of a row that are not copied: numbers, verdicts and blanks. */
enum { WRITE_BYTES = 1 << 20, CELLS_BYTES = THREE_WAY_COLUMNS * (FIXED_BYTES + 1) };

/* ---- files ------------------------------------------------------------------------------ */

static struct status flush(struct csv_buffer *text, const struct file *file, size_t least)
{
    if (!file || text->length < least || !text->length) return status_ok();
    TRY(file_write_all(file, text->data, text->length));
    csv_buffer_clear(text);
    return status_ok();
}

static struct status write_headers(struct comparison_output *out)
{
    static const char *const result_header[] = { "API Name", "Forward Test Success",
                                                 "Backward Test Success", "Message" };
    const char *headers[THREE_WAY_COLUMNS];
    memcpy(headers, three_way_headers, sizeof headers);
    headers_translate(headers, THREE_WAY_COLUMNS, out->request->language);
    TRY(csv_append_mark(&out->details_text));
    TRY(csv_append_row(&out->details_text, headers, THREE_WAY_COLUMNS));
    TRY(csv_append_mark(&out->result_text));
    return csv_append_row(&out->result_text, result_header, 4);
}

/* Nothing may be left of an earlier start; a file that nothing was written to need not be one that can be
 * cut. */
static struct status empty(const struct file *file)
{
    uint64_t bytes;
    if (!file) return status_ok();
    TRY(file_size(&bytes, file));
    return bytes ? file_truncate(file, 0) : status_ok();
}

/* Details come by the megabyte. */
static struct status flush_details(struct comparison_output *out)
{
    if (!out->details || out->details_text.length < WRITE_BYTES) return status_ok();
    if (!out->writer) TRY(background_writer_open(&out->writer, out->details));
    return background_writer_append(out->writer, &out->details_text);
}

struct status comparison_output_start(struct comparison_output *out)
{
    if (out->writer) TRY(background_writer_wait(out->writer));
    csv_buffer_clear(&out->details_text);
    csv_buffer_clear(&out->result_text);
    out->counts = (struct compare_counts){ .apis = 0 };
    TRY(empty(out->details));
    TRY(empty(out->result));
    return write_headers(out);
}

struct status comparison_output_finish(struct comparison_output *out)
{
    if (out->writer) TRY(background_writer_wait(out->writer));
    TRY(flush(&out->details_text, out->details, 0));
    return flush(&out->result_text, out->result, 0);
}

void comparison_output_release(struct comparison_output *out)
{
    background_writer_close(out->writer);
    out->writer = NULL;
    csv_buffer_release(&out->details_text);
    csv_buffer_release(&out->result_text);
}

/* ---- details ---------------------------------------------------------------------------- */

static struct status append_verdict(struct csv_buffer *text, enum verdict verdict)
{
    return csv_append_plain(text, verdict_words[verdict].text, verdict_words[verdict].length);
}

/* Most cells are blank, in long runs: `count` of them at once. */
static char *put_blanks(char *out, size_t count)
{
    static const char blanks[] = " , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , ,";
    _Static_assert(sizeof blanks > 2 * THREE_WAY_COLUMNS, "a row's blanks fit");
    memcpy(out, blanks, 2 * count);
    return out + 2 * count;
}

static char *put_verdict(char *out, enum verdict verdict)
{
    const struct verdict_word *word = &verdict_words[verdict];
    memcpy(out, word->text, sizeof word->text); /* of which the cells behind it cover the rest */
    out[word->length] = ',';
    return out + word->length + 1;
}

static char *put_number(char *out, double number, int decimals)
{
    size_t length = fixed_double(out, number, decimals);
    out[length] = ',';
    return out + length + 1;
}

struct csv_text compared_row_metric(const struct compared_row *row, enum three_way_metric metric)
{
    if (metric == METRIC_BINARY) return row->texts[ROW_BINARY];
    if (metric == METRIC_THOUSANDTH) return row->texts[ROW_THOUSANDTH];
    return (struct csv_text){ "", 0 };
}

/* The cells between the name and the verdict. There is room for all that are ours before the first. */
static struct status append_cells(struct comparison_output *out,
                                  const struct three_way_verdict *verdict,
                                  const struct compared_row *row)
{
    struct csv_buffer *text = &out->details_text;
    if (!csv_has_room(text, CELLS_BYTES)) TRY(csv_reserve(text, CELLS_BYTES));
    char *at = text->data + text->length;
    for (size_t column = THREE_WAY_NAME + 1; column < THREE_WAY_STATUS; column++) {
        const struct three_way_cell *cell = &verdict->cells[column];
        size_t blanks = 0;
        while (column + blanks < THREE_WAY_STATUS && cell[blanks].kind == CELL_BLANK) blanks++;
        if (blanks) {
            at = put_blanks(at, blanks);
            column += blanks - 1;
        } else if (cell->kind == CELL_NUMBER) {
            at = put_number(at, cell->number, out->request->precision);
        } else if (cell->kind == CELL_VERDICT) {
            at = put_verdict(at, cell->verdict);
        } else {
            struct csv_text npu = compared_row_metric(row, cell->metric);
            text->length = (size_t)(at - text->data);
            TRY(csv_append_cell(text, npu.bytes, npu.length));
            TRY(csv_reserve(text, CELLS_BYTES));
            at = text->data + text->length;
        }
    }
    text->length = (size_t)(at - text->data);
    return status_ok();
}

struct csv_text comparison_message(const struct three_way_verdict *verdict,
                                   const struct compared_row *row)
{
    if (verdict->npu_message && row) return row->texts[ROW_MESSAGE];
    return (struct csv_text){ verdict->message, verdict->message_length };
}

/* `row` may be NULL for a verdict without cells. */
static struct status append_details(struct comparison_output *out, struct csv_text name,
                                    const struct three_way_verdict *verdict,
                                    const struct compared_row *row)
{
    struct csv_text message = comparison_message(verdict, row);

    TRY(csv_append_cell(&out->details_text, name.bytes, name.length));
    TRY(append_cells(out, verdict, row));
    TRY(append_verdict(&out->details_text, verdict->verdict));
    TRY(csv_append_plain(&out->details_text, verdict->algorithm, strlen(verdict->algorithm)));
    TRY(csv_append_cell(&out->details_text, message.bytes, message.length));
    TRY(csv_end_row(&out->details_text));
    return flush_details(out);
}

static struct status tell(const struct comparison_output *out, const struct compared_row *row,
                          struct csv_text row_name, const struct row_name *name,
                          const struct three_way_verdict *verdict)
{
    struct csv_text npu[THREE_WAY_METRICS];
    bool fails = verdict->verdict == VERDICT_ERROR || verdict->verdict == VERDICT_WARNING;
    if (!fails || !out->request->tell) return status_ok();
    for (enum three_way_metric metric = 0; row && metric < THREE_WAY_METRICS; metric++)
        npu[metric] = compared_row_metric(row, metric);
    const struct compare_note note = { .row = row_name,
                                       .call = name ? name->full_name : row_name,
                                       .verdict = verdict,
                                       .npu = row ? npu : NULL,
                                       .message = comparison_message(verdict, row) };
    return out->request->tell(out->request->context, &note);
}

struct status comparison_output_row(struct comparison_output *out, const struct compared_row *row,
                                    struct csv_text row_name, const struct row_name *name,
                                    const struct three_way_verdict *verdict)
{
    TRY(append_details(out, row_name, verdict, row));
    return tell(out, row, row_name, name, verdict);
}

/* ---- results ---------------------------------------------------------------------------- */

bool call_verdicts_add(struct call_verdicts *call, const struct row_name *name,
                       const struct three_way_verdict *verdict)
{
    call->unsupported = verdict->unsupported;
    if (verdict->unattributed) return false;
    call->verdicts[name->backward] |= (uint8_t)(1u << verdict->verdict);
    return !name->backward && verdict->verdict == VERDICT_SKIP;
}

/* The worst of a set of verdicts; SKIP only when there is nothing else. */
static enum verdict combine(unsigned verdicts)
{
    static const enum verdict worst_first[] = { VERDICT_ERROR, VERDICT_WARNING, VERDICT_PASS,
                                                VERDICT_SKIP };
    for (size_t i = 0; i < sizeof worst_first / sizeof *worst_first; i++) {
        if (verdicts & (1u << worst_first[i])) return worst_first[i];
    }
    return VERDICT_BLANK;
}

static const char topk_hint[] = "On the NPU, sorted=False of topk has no effect: its results are "
                                "in order. Compare with sorted=True.";

struct compare_result call_verdicts_result(const struct call_verdicts *call, const char *name,
                                           const char *skipped)
{
    struct compare_result result = {
        .name = name, .forward = VERDICT_SKIP, .backward = VERDICT_SKIP, .message = ""
    };
    if (call->unsupported) {
        result.message = three_way_unsupported;
        return result;
    }
    result.forward = combine(call->verdicts[0]);
    result.backward = combine(call->verdicts[1]);
    if (result.forward == VERDICT_ERROR && call->is_topk) result.message = topk_hint;
    /* Where nothing but SKIP rows made the verdict, the last of them has left its message. */
    assert(result.forward != VERDICT_SKIP || skipped);
    if (result.forward == VERDICT_SKIP) result.message = skipped;
    return result;
}

struct status comparison_output_result(struct comparison_output *out,
                                       const struct compare_result *result)
{
    out->counts.apis++;
    out->counts.verdicts[0][result->forward]++;
    out->counts.verdicts[1][result->backward]++;
    out->counts.judged += verdict_is_judgement(result->forward) ||
                          verdict_is_judgement(result->backward);
    TRY(csv_append_cell(&out->result_text, result->name, strlen(result->name)));
    TRY(append_verdict(&out->result_text, result->forward));
    TRY(append_verdict(&out->result_text, result->backward));
    TRY(csv_append_cell(&out->result_text, result->message, strlen(result->message)));
    TRY(csv_end_row(&out->result_text));
    TRY(flush(&out->result_text, out->result, WRITE_BYTES));
    if (!out->request->tell_result) return status_ok();
    return out->request->tell_result(out->request->context, result);
}
