/* One outcome per call in flight: cleared and filled again, so that a run of a million calls
 * allocates as often as one of a hundred. */
#include "results/outcome.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "results/row_sentence.h"

/* ---- causes ----------------------------------------------------------------------------- */

static const char *const cause_names[CAUSES] = {
    [CAUSE_NONE] = "",
    [CAUSE_LISTS] = "not listed",
    [CAUSE_NEVER_CHECKED] = "never checked",
    [CAUSE_NO_INPUTS] = "no inputs",
    [CAUSE_NO_REFERENCE] = "no reference",
    [CAUSE_NOTHING_TO_JUDGE] = "nothing to judge",
    [CAUSE_NO_GRADIENT] = "no gradient",
    [CAUSE_MEMORY] = "memory",
    [CAUSE_DEVICE_DECLINED] = "device declined",
    [CAUSE_DEVICE_FAILED] = "device failed",
    [CAUSE_OUTPUT_MISSING] = "output missing",
    [CAUSE_INTERNAL] = "internal error",
};

bool row_cause_before_device(enum row_cause cause)
{
    switch (cause) {
    case CAUSE_LISTS:
    case CAUSE_NEVER_CHECKED:
    case CAUSE_NO_INPUTS:
    case CAUSE_NO_REFERENCE:
    case CAUSE_MEMORY:
    case CAUSE_DEVICE_DECLINED:
    case CAUSE_INTERNAL: return true;
    default: return false;
    }
}

const char *row_cause_name(enum row_cause cause) { return cause_names[cause]; }

enum row_cause row_cause_from_name(const char *name, size_t length)
{
    for (enum row_cause cause = CAUSE_NONE; cause < CAUSES; cause++)
        if (strlen(cause_names[cause]) == length && !memcmp(cause_names[cause], name, length))
            return cause;
    return CAUSE_NONE;
}

/* ---- outcomes --------------------------------------------------------------------------- */

/* A limit may be one to stay below (an error) or one to reach (a similarity); either way the further
 * apart the worse. Where rounding has been measured, that says more. */
static double excess_of(const struct judged *judged, enum row_cause cause)
{
    double value = judged->deciding_value, limit = judged->deciding_limit;
    bool measured = !cause && judged->deciding_metric && *judged->deciding_metric;
    if (!measured || isnan(value) || isinf(value)) return INFINITY;
    if (judged->has_over_rounding) return judged->over_rounding;
    double a = fabs(value), b = fabs(limit), small = fmin(a, b), large = fmax(a, b);
    if (a == b || isnan(limit)) return 1;
    return small > 0 ? large / small : 1e300;
}

struct status case_outcome_note(struct case_outcome *outcome, const struct judged *judged,
                                enum row_cause cause)
{
    char sentence[ROW_SENTENCE_BYTES];
    if (judged->verdict == VERDICT_PASS || judged->verdict == VERDICT_BLANK) return status_ok();
    if (outcome->n_notes == outcome->notes_capacity) {
        size_t capacity = outcome->notes_capacity ? 2 * outcome->notes_capacity : 4;
        struct row_note *notes = memory_resize(outcome->notes, capacity * sizeof *notes);
        if (!notes) return status_no_memory(capacity * sizeof *notes);
        outcome->notes = notes;
        outcome->notes_capacity = capacity;
    }
    row_sentence(sentence, judged, cause);
    struct row_note *note = &outcome->notes[outcome->n_notes++];
    *note = (struct row_note){
        .verdict = judged->verdict,
        .cause = cause,
        .name = memory_copy_string(judged->cells[COLUMN_NAME]),
        .sentence = memory_copy_string(sentence),
        .excess = excess_of(judged, cause),
    };
    return note->name && note->sentence ? status_ok() : status_no_memory(0);
}

static void release_notes(struct case_outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_notes; i++) {
        memory_release(outcome->notes[i].name);
        memory_release(outcome->notes[i].sentence);
    }
    outcome->n_notes = 0;
}

void case_outcome_clear(struct case_outcome *outcome)
{
    release_notes(outcome);
    csv_buffer_clear(&outcome->details);
    csv_buffer_clear(&outcome->result);
    csv_buffer_clear(&outcome->evidence);
    outcome->fatal = status_ok();
    outcome->internal_error = false;
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
