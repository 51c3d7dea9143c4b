/* One outcome per call in flight: cleared and filled again, so that a run of a million calls
 * allocates as often as one of a hundred. */
#include "results/outcome.h"

#include <math.h>
#include <string.h>

#include "core/growing.h"
#include "core/memory.h"
#include "results/row_sentence.h"

/* A limit may be one to stay below (an error) or one to reach (a similarity); either way the further
 * apart the worse. Where rounding has been measured, that says more. */
static double excess_of(const struct judged *judged, enum row_cause cause)
{
    bool measured = !cause && judged->deciding_metric && *judged->deciding_metric;
    if (!measured) return INFINITY;
    return row_excess(judged->deciding_value, judged->deciding_limit,
                      judged->has_over_rounding ? judged->over_rounding : NAN);
}

/* Files of earlier versions have 15 digits of a number: what was equal before it was written is equal again
 * after it was read. */
static double rounded(double excess) { return excess < 0x1p126 ? (double)(float)excess : excess; }

double row_excess(double value, double limit, double over_rounding)
{
    if (isnan(value) || isinf(value)) return INFINITY;
    if (!isnan(over_rounding)) return rounded(over_rounding);
    double a = fabs(value), b = fabs(limit), small = fmin(a, b), large = fmax(a, b);
    if (a == b || isnan(limit)) return 1;
    return small > 0 ? rounded(large / small) : 1e300;
}

struct status case_outcome_note(struct case_outcome *outcome, const struct judged *judged,
                                enum row_cause cause, const char *source)
{
    char sentence[ROW_SENTENCE_BYTES];
    if (judged->verdict == VERDICT_PASS || judged->verdict == VERDICT_BLANK) return status_ok();
    row_sentence(sentence, judged, cause);
    const struct row_read row = { .verdict = judged->verdict,
                                  .cause = cause,
                                  .name = judged->cells[COLUMN_NAME],
                                  .sentence = sentence,
                                  .source = source ? source : "",
                                  .excess = excess_of(judged, cause) };
    return case_outcome_note_read(outcome, &row);
}

struct status case_outcome_note_read(struct case_outcome *outcome, const struct row_read *row)
{
    TRY(array_make_room(&outcome->notes, &outcome->notes_capacity, outcome->n_notes,
                        sizeof *outcome->notes));
    struct row_note *note = &outcome->notes[outcome->n_notes++];
    *note = (struct row_note){
        .verdict = row->verdict,
        .cause = row->cause,
        .name = memory_copy_string(row->name),
        .sentence = memory_copy_string(row->sentence),
        .source = memory_copy_string(row->source),
        .excess = row->excess,
    };
    return note->name && note->sentence && note->source ? status_ok() : status_no_memory(0);
}

static void release_notes(struct case_outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_notes; i++) {
        memory_release(outcome->notes[i].name);
        memory_release(outcome->notes[i].sentence);
        memory_release(outcome->notes[i].source);
    }
    outcome->n_notes = 0;
}

void reference_use_add(struct reference_use *all, const struct reference_use *more)
{
    all->components += more->components;
    all->certified += more->certified;
    all->recomputed += more->recomputed;
    all->costly_outputs += more->costly_outputs;
}

void case_outcome_clear(struct case_outcome *outcome)
{
    release_notes(outcome);
    csv_buffer_clear(&outcome->details);
    csv_buffer_clear(&outcome->result);
    csv_buffer_clear(&outcome->evidence);
    outcome->fatal = status_ok();
    outcome->internal_error = false;
    outcome->unstable_rows = 0;
    outcome->forward = outcome->backward = VERDICT_BLANK;
    outcome->references = (struct reference_use){ .components = 0 };
    outcome->times = (struct stage_times){ .inputs_s = 0 };
}

void case_outcome_release(struct case_outcome *outcome)
{
    release_notes(outcome);
    memory_release(outcome->notes);
    csv_buffer_release(&outcome->details);
    csv_buffer_release(&outcome->result);
    csv_buffer_release(&outcome->evidence);
    *outcome = (struct case_outcome){ .n_notes = 0 };
}
