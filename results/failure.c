/* Rows of an outcome that are no pass are its notes. */
#include "results/failure.h"

#include <stdlib.h>
#include <string.h>

/* How a device failed: the text up to a function, an address or a number. */
static void device_kind(char out[FAILURE_KIND_BYTES], const char *text)
{
    static const char *const ends[] = { " in ", " at ", " (" };
    size_t length = strcspn(text, "0123456789");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(text, ends[i]);
        if (end && (size_t)(end - text) < length) length = (size_t)(end - text);
    }
    if (length >= FAILURE_KIND_BYTES) length = FAILURE_KIND_BYTES - 1;
    memcpy(out, text, length);
    out[length] = '\0';
}

static bool is_failure(const struct row_note *note)
{
    return note->verdict == VERDICT_ERROR || note->verdict == VERDICT_WARNING;
}

static void describe(struct failure *out, const struct row_note *note)
{
    *out = (struct failure){ .row = note->name,
                             .verdict = note->verdict,
                             .cause = note->cause,
                             .sentence = note->sentence };
    if (note->cause == CAUSE_DEVICE_FAILED) device_kind(out->kind, note->sentence);
}

/* "….backward.output.1": direction and index from the end of the name. */
static void place(struct failure *out)
{
    static const char backward[] = ".backward.";
    const char *dot = strrchr(out->row, '.'), *at = out->row;
    out->index = dot ? (size_t)strtoul(dot + 1, NULL, 10) : 0;
    for (const char *next; (next = strstr(at, backward)); at = next + 1) out->backward = true;
    if (out->backward) out->backward = strstr(at, ".forward.") == NULL;
}

struct status failure_find(struct failure *out, bool *found, struct arena *arena,
                           const struct case_outcome *outcome, const char *wanted)
{
    const struct row_note *worst = NULL;
    bool is_row = strstr(wanted, ".forward.output.") || strstr(wanted, ".backward.output.");
    for (size_t i = 0; i < outcome->n_notes; i++) {
        const struct row_note *note = &outcome->notes[i];
        if (!is_failure(note) || (is_row && strcmp(note->name, wanted) != 0)) continue;
        if (!worst || (worst->verdict == VERDICT_WARNING && note->verdict == VERDICT_ERROR))
            worst = note;
    }
    *found = worst != NULL;
    if (!worst) return status_ok();
    describe(out, worst);
    out->row = arena_copy_string(arena, worst->name);
    out->sentence = arena_copy_string(arena, worst->sentence);
    if (!out->row || !out->sentence) return status_no_memory(0);
    place(out);
    return status_ok();
}

bool failure_is_in(const struct failure *failure, const struct case_outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_notes; i++) {
        struct failure other;
        if (!is_failure(&outcome->notes[i]) || strcmp(outcome->notes[i].name, failure->row) != 0)
            continue;
        describe(&other, &outcome->notes[i]);
        return other.verdict == failure->verdict && other.cause == failure->cause &&
               !strcmp(other.kind, failure->kind);
    }
    return false;
}
