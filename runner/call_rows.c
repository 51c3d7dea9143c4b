/* Where a verdict becomes text: every row of a call passes through add_row, so that its four
 * places (details, evidence, notes, the verdict of the call) agree. */
#include "runner/call_rows.h"

#include "formats/source_line.h"
#include "results/evidence.h"
#include "results/result_row.h"
#include "standards/row_layout.h"

void call_rows_clear(struct call_rows *rows)
{
    case_outcome_clear(rows->out);
    rows->counts[0] = rows->counts[1] = 0;
    rows->message[0] = rows->message[1] = NULL;
}

static void add_reference_use(struct reference_use *use, const struct judged *judged)
{
    if (!judged->has_metrics) return;
    size_t n = judged->metrics.n;
    use->components += n;
    if (judged->reference_state != REFERENCE_BOUNDED) use->certified += n;
    use->recomputed += judged->recomputed < n ? judged->recomputed : n;
    use->costly_outputs += judged->recomputed > n / 1000;
}

/* The first row of a call says its sizes, in its own message and so in that of the result row. */
static struct status with_sizes(struct judged *out, const struct call_rows *rows,
                                const struct row_subject *subject, const struct judged *judged)
{
    *out = *judged;
    if (!subject->sizes || rows->counts[0] || rows->counts[1]) return status_ok();
    const char *message = judged->cells[COLUMN_MESSAGE];
    out->cells[COLUMN_MESSAGE] = arena_format(rows->arena, "%s.%s%s", subject->sizes,
                                              message && *message ? "\n" : "",
                                              message ? message : "");
    return out->cells[COLUMN_MESSAGE] ? status_ok() : status_no_memory(0);
}

static struct status add_row(struct call_rows *rows, const struct row_subject *subject,
                             bool backward, const struct judged *plain, enum row_cause cause)
{
    struct judged named;
    const struct judged *judged = &named;
    TRY(with_sizes(&named, rows, subject, plain));
    struct case_outcome *out = rows->out;
    enum verdict *verdict = backward ? &out->backward : &out->forward;
    bool first = !out->evidence.length;
    char source[SOURCE_LINE_BYTES] = "";
    bool fails = judged->verdict == VERDICT_WARNING || judged->verdict == VERDICT_ERROR;
    if (fails && rows->style->stacks)
        (void)source_line_of_call(source, rows->style->stacks, subject->c->full_name);
    const struct evidence_row line = {
        .judged = judged,
        .cause = cause,
        .repeat = rows->style->repeat,
        .reproduce = rows->style->reproduce,
        .call = subject->c->full_name,
        .source = source,
        .place = rows->place,
        .inputs = subject->inputs->lines,
        .n_inputs = first ? subject->inputs->count : 0,
    };
    const struct row_layout *layout = profile_rules(rows->style->profile)->layout;
    const char *cells[COLUMN_COUNT];
    layout_cells(cells, layout, judged->cells);
    TRY(csv_append_row(&out->details, cells, layout->count));
    if (evidence_has_line(rows->style->evidence, judged->verdict))
        TRY(evidence_append(&out->evidence, &line));
    TRY(case_outcome_note(out, judged, cause, source));
    add_reference_use(&out->references, judged);
    *verdict = result_row_verdict(*verdict, judged->verdict);
    if (rows->counts[backward]++ && !layout->joins_messages) return status_ok();
    const char *before = rows->message[backward] ? rows->message[backward] : "";
    rows->message[backward] =
        arena_format(rows->arena, "%s%s", before, judged->cells[COLUMN_MESSAGE]);
    return rows->message[backward] ? status_ok() : status_no_memory(0);
}

struct judge_request call_rows_request(const struct call_rows *rows,
                                       const struct row_subject *subject, bool backward,
                                       enum dtype returned)
{
    const struct bench_precision *precision = subject->precision;
    return (struct judge_request){
        .profile = rows->style->profile,
        .c = subject->c,
        .backward = backward,
        .index = rows->counts[backward],
        .bench_dtype = backward ? precision_backward(precision, returned)
                                : precision_forward(precision, returned),
        .input_dtype = precision->first_float,
        .precision = rows->style->precision,
    };
}

struct status call_rows_add(struct call_rows *rows, const struct row_subject *subject,
                            bool backward, const struct judged *judged)
{
    return add_row(rows, subject, backward, judged, CAUSE_NONE);
}

struct status call_rows_add_plain(struct call_rows *rows, const struct row_subject *subject,
                                  bool backward, enum verdict verdict, enum row_cause cause,
                                  const char *message)
{
    struct judged judged;
    struct judge_request request = call_rows_request(rows, subject, backward, DT_NONE);
    TRY(judge_without_comparison(&judged, rows->arena, &request, verdict, message));
    return add_row(rows, subject, backward, &judged, cause);
}

struct status call_rows_end(struct call_rows *rows, const char *full_name)
{
    const enum verdict verdicts[2] = { rows->out->forward, rows->out->backward };
    const char *const messages[2] = { rows->message[0], rows->message[1] };
    return result_row_append(&rows->out->result, profile_rules(rows->style->profile)->layout,
                             full_name, verdicts, messages);
}
