/* Lines of JSON, written whole and read only as far as resuming has to. */
#include "results/evidence.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "formats/json.h"
#include "formats/text_out.h"
#include "results/judged_json.h"
#include "results/row_sentence.h"

/* ---- which rows --------------------------------------------------------------------------- */

const char *const *evidence_extent_names(void)
{
    static const char *const names[] = {
        [EVIDENCE_ALL] = "all", [EVIDENCE_FAILING] = "failing", NULL
    };
    return names;
}

enum evidence_extent evidence_extent_from_name(const char *name)
{
    bool failing = name && !strcmp(name, evidence_extent_names()[EVIDENCE_FAILING]);
    return failing ? EVIDENCE_FAILING : EVIDENCE_ALL;
}

bool evidence_has_line(enum evidence_extent extent, enum verdict verdict)
{
    return extent == EVIDENCE_ALL || verdict != VERDICT_PASS;
}

/* ---- writing ------------------------------------------------------------------------------ */

static struct status add_inputs(cJSON *line, const struct evidence_row *row)
{
    cJSON *list = cJSON_AddArrayToObject(line, "inputs");
    if (!list) return status_no_memory(0);
    for (size_t i = 0; i < row->n_inputs; i++) {
        cJSON *text = cJSON_CreateString(row->inputs[i]);
        if (!text || !cJSON_AddItemToArray(list, text)) return status_no_memory(0);
    }
    return status_ok();
}

/* A command on a call or row. The name comes from the dump, the command goes to a shell. */
static struct status add_command(cJSON *line, const char *key, const char *before, const char *name)
{
    struct text_out command = { .status.code = STATUS_OK };
    text_out_string(&command, before);
    text_out_shell_word(&command, name);
    text_out_bytes(&command, "", 1);
    struct status status = command.status;
    if (!status.code && !cJSON_AddStringToObject(line, key, command.text.data))
        status = status_no_memory(0);
    csv_buffer_release(&command.text);
    return status;
}

/* Does the device do something wrong here, that somebody can be shown? */
static bool is_failure(const struct evidence_row *row)
{
    bool failing = row->judged->verdict == VERDICT_ERROR || row->judged->verdict == VERDICT_WARNING;
    return failing && (row->cause == CAUSE_NONE || row->cause == CAUSE_DEVICE_FAILED);
}

/* What happened, where, and how to see it again: for rows that are not a pass. */
static struct status add_story(cJSON *line, const struct evidence_row *row)
{
    char sentence[ROW_SENTENCE_BYTES];
    const struct judged *judged = row->judged;
    row_sentence(sentence, judged, row->cause);
    if (!cJSON_AddStringToObject(line, "sentence", sentence)) return status_no_memory(0);
    if (row->source && *row->source && !cJSON_AddStringToObject(line, "called from", row->source))
        return status_no_memory(0);
    if (row->repeat) TRY(add_command(line, "repeat", row->repeat, row->call));
    if (row->reproduce && is_failure(row))
        TRY(add_command(line, "reproducer", row->reproduce, judged->cells[COLUMN_NAME]));
    bool added = cJSON_AddStringToObject(line, "message", judged->cells[COLUMN_MESSAGE]) != NULL;
    return added ? status_ok() : status_no_memory(0);
}

/* What the row looks like: a list of findings, or one that says that it is unknown. */
static struct status add_findings(cJSON *line, const struct findings *findings)
{
    cJSON *list = cJSON_AddArrayToObject(line, "diagnosis");
    if (!list) return status_no_memory(0);
    for (size_t i = 0; i < (findings->count ? findings->count : 1); i++) {
        const struct finding *finding = &findings->items[i];
        cJSON *item = cJSON_CreateObject();
        char text[FINDING_BYTES] = "looks like: unknown";
        if (!item || !cJSON_AddItemToArray(list, item)) return status_no_memory(0);
        if (findings->count) finding_text(text, finding);
        bool ok = cJSON_AddStringToObject(item, "class",
                                          findings->count ? finding->class : "unknown") != NULL;
        if (ok) ok = cJSON_AddStringToObject(item, "text", text) != NULL;
        if (!findings->count) return ok ? status_ok() : status_no_memory(0);
        if (ok) ok = cJSON_AddStringToObject(item, "mistake", finding->sentence) != NULL;
        if (ok) ok = cJSON_AddNumberToObject(item, "explains", finding->explains) != NULL;
        if (ok) ok = cJSON_AddNumberToObject(item, "exact", (double)finding->exact) != NULL;
        if (ok)
            ok = cJSON_AddNumberToObject(item, "within rounding", (double)finding->close) != NULL;
        if (ok) ok = cJSON_AddNumberToObject(item, "elements", (double)finding->elements) != NULL;
        if (!ok) return status_no_memory(0);
    }
    return status_ok();
}

static struct status add_integer(cJSON *line, const char *key, unsigned long long number)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%llu", number);
    return cJSON_AddRawToObject(line, key, digits) ? status_ok() : status_no_memory(0);
}

static struct status add_place(cJSON *line, const struct call_place *place)
{
    TRY(add_integer(line, "step", (unsigned long long)place->step));
    TRY(add_integer(line, "sequence", place->sequence));
    if (place->session && !cJSON_AddStringToObject(line, "session", place->session))
        return status_no_memory(0);
    return status_ok();
}

/* The cause stands in front, where whoever resumes finds it without reading the line. */
static struct status build_line(cJSON *line, const struct evidence_row *row)
{
    const struct judged *judged = row->judged;
    bool ok = cJSON_AddStringToObject(line, "name", judged->cells[COLUMN_NAME]) != NULL;
    if (ok && row->cause)
        ok = cJSON_AddStringToObject(line, "cause", row_cause_name(row->cause)) != NULL;
    if (ok) ok = cJSON_AddStringToObject(line, "verdict", verdict_name(judged->verdict)) != NULL;
    if (!ok) return status_no_memory(0);
    if (row->place) TRY(add_place(line, row->place));
    if (judged->verdict != VERDICT_PASS) TRY(add_story(line, row));
    TRY(judged_json_add_evidence(line, judged));
    if (judged->has_over_rounding &&
        !cJSON_AddNumberToObject(line, "error over what rounding explains", judged->over_rounding))
        return status_no_memory(0);
    if (judged->findings.sought) TRY(add_findings(line, &judged->findings));
    return row->n_inputs ? add_inputs(line, row) : status_ok();
}

static struct status append_line(struct csv_buffer *out, const cJSON *line)
{
    char *text = cJSON_PrintUnformatted(line);
    struct status status = text ? csv_append_bytes(out, text, strlen(text)) : status_no_memory(0);
    if (!status.code) status = csv_append_bytes(out, "\n", 1);
    cJSON_free(text);
    return status;
}

struct status evidence_append(struct csv_buffer *out, const struct evidence_row *row)
{
    cJSON *line = cJSON_CreateObject();
    struct status status = line ? build_line(line, row) : status_no_memory(0);
    if (!status.code) status = append_line(out, line);
    cJSON_Delete(line);
    return status;
}

static struct status add_cell(cJSON *line, const char *key, struct csv_text cell)
{
    char *text = memory_copy_bytes(cell.bytes, cell.length);
    if (!text) return status_no_memory(cell.length + 1);
    bool added = cJSON_AddStringToObject(line, key, text) != NULL;
    memory_release(text);
    return added ? status_ok() : status_no_memory(0);
}

static struct status build_lost_line(cJSON *line, struct csv_text name, enum verdict verdict,
                                     struct csv_text message, const char *repeat, const char *call)
{
    TRY(add_cell(line, "name", name));
    if (!cJSON_AddStringToObject(line, "verdict", verdict_name(verdict)))
        return status_no_memory(0);
    if (verdict != VERDICT_PASS) TRY(add_cell(line, "message", message));
    TRY(add_command(line, "repeat", repeat, call));
    return cJSON_AddTrueToObject(line, "lost") ? status_ok() : status_no_memory(0);
}

struct status evidence_append_lost(struct csv_buffer *out, struct csv_text name,
                                   enum verdict verdict, struct csv_text message,
                                   const char *repeat, const char *call)
{
    cJSON *line = cJSON_CreateObject();
    struct status status = line ? build_lost_line(line, name, verdict, message, repeat, call)
                                : status_no_memory(0);
    if (!status.code) status = append_line(out, line);
    cJSON_Delete(line);
    return status;
}

/* ---- resuming --------------------------------------------------------------------------- */

/* The next whole line: *end is the offset behind it. False at the end or for a torn line. */
static struct status next_line(bool *whole, uint64_t *end, struct evidence_reader *reader)
{
    size_t length = 0;
    *whole = false;
    for (;;) {
        if (reader->at == reader->have) {
            TRY(file_read_at(&reader->have, reader->file, reader->chunk, sizeof reader->chunk,
                             reader->offset));
            reader->at = 0;
            if (!reader->have) return status_ok();
            reader->offset += reader->have;
        }
        char c = reader->chunk[reader->at++];
        if (c == '\n') break;
        if (length + 1 < sizeof reader->start) reader->start[length++] = c;
    }
    reader->start[length] = '\0';
    *end = reader->offset - (reader->have - reader->at);
    *whole = true;
    return status_ok();
}

/* The string of a member in front of a line, as this program writes it. Returns what is behind it,
 * NULL when `at` has no such member. */
static const char *take_member(struct json_slice *value, const char *at, const char *key)
{
    struct json json;
    if (strncmp(at, key, strlen(key)) != 0) return NULL;
    json_open(&json, at + strlen(key), strlen(at + strlen(key)));
    return json_string(&json, value) ? json.at : NULL;
}

struct status evidence_next(struct evidence_reader *reader, bool *whole, struct evidence_line *line)
{
    struct json_slice name, cause;
    TRY(next_line(whole, &line->end, reader));
    if (!*whole) return status_ok();
    const char *rest = take_member(&name, reader->start, "{\"name\":");
    *whole = rest != NULL;
    if (!*whole) return status_ok();
    line->name = (struct csv_text){ reader->name, json_slice_decode_into(reader->name, &name) };
    bool has_cause = take_member(&cause, rest, ",\"cause\":") != NULL;
    line->cause = has_cause ? row_cause_from_name(cause.text, cause.bytes) : CAUSE_NONE;
    return status_ok();
}

void evidence_tell(struct evidence_story *out, struct evidence_reader *reader)
{
    struct json json;
    struct json_slice key, value;
    size_t used = 0;
    *out =
        (struct evidence_story){ .sentence = { "", 0 }, .source = { "", 0 }, .repeat = { "", 0 } };
    json_open(&json, reader->start, strlen(reader->start));
    for (json_enter_object(&json); json_object_next(&json, &key);) {
        struct csv_text *text = json_slice_is(&key, "sentence")      ? &out->sentence
                                : json_slice_is(&key, "called from") ? &out->source
                                : json_slice_is(&key, "repeat")      ? &out->repeat
                                                                     : NULL;
        enum json_kind kind;
        if (!json_peek(&json, &kind)) return;
        if (!text || kind != JSON_STRING) {
            if (!json_skip(&json)) return;
            continue;
        }
        if (!json_string(&json, &value)) return;
        *text = (struct csv_text){ reader->story + used,
                                   json_slice_decode_into(reader->story + used, &value) };
        used += text->length;
    }
}
