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

static void add_text(struct json_writer *line, const char *key, const char *text)
{
    json_put_key(line, key);
    json_put_string(line, text);
}

static void add_inputs(struct json_writer *line, const struct evidence_row *row)
{
    json_put_key(line, "inputs");
    json_put_begin(line, '[');
    for (size_t i = 0; i < row->n_inputs; i++) json_put_string(line, row->inputs[i]);
    json_put_end(line, ']');
}

/* A command on a call or row. The name comes from the dump, the command goes to a shell. */
static void add_command(struct json_writer *line, const char *key, const char *before,
                        const char *name)
{
    struct text_out command = { .status.code = STATUS_OK };
    text_out_string(&command, before);
    text_out_shell_word(&command, name);
    json_put_key(line, key);
    json_put_bytes(line, command.text.data, command.text.length);
    if (command.status.code && !line->status.code) line->status = command.status;
    csv_buffer_release(&command.text);
}

/* Does the device do something wrong here, that somebody can be shown? */
static bool is_failure(const struct evidence_row *row)
{
    bool failing = row->judged->verdict == VERDICT_ERROR || row->judged->verdict == VERDICT_WARNING;
    return failing && (row->cause == CAUSE_NONE || row->cause == CAUSE_DEVICE_FAILED);
}

/* What happened, where, and how to see it again: for rows that are not a pass. */
static void add_story(struct json_writer *line, const struct evidence_row *row)
{
    char sentence[ROW_SENTENCE_BYTES];
    const struct judged *judged = row->judged;
    row_sentence(sentence, judged, row->cause);
    add_text(line, "sentence", sentence);
    if (row->source && *row->source) add_text(line, "called from", row->source);
    if (row->repeat) add_command(line, "repeat", row->repeat, row->call);
    if (row->reproduce && is_failure(row))
        add_command(line, "reproducer", row->reproduce, judged->cells[COLUMN_NAME]);
    add_text(line, "message", judged->cells[COLUMN_MESSAGE]);
}

static void add_finding(struct json_writer *line, const struct finding *finding)
{
    char text[FINDING_BYTES];
    finding_text(text, finding);
    json_put_begin(line, '{');
    add_text(line, "class", finding->class);
    add_text(line, "text", text);
    add_text(line, "mistake", finding->sentence);
    json_put_key(line, "explains");
    json_put_number(line, finding->explains);
    json_put_key(line, "exact");
    json_put_count(line, finding->exact);
    json_put_key(line, "within rounding");
    json_put_count(line, finding->close);
    json_put_key(line, "elements");
    json_put_count(line, finding->elements);
    json_put_end(line, '}');
}

/* What the row looks like: a list of findings, or one that says that it is unknown. */
static void add_findings(struct json_writer *line, const struct findings *findings)
{
    json_put_key(line, "diagnosis");
    json_put_begin(line, '[');
    for (size_t i = 0; i < findings->count; i++) add_finding(line, &findings->items[i]);
    if (!findings->count) {
        json_put_begin(line, '{');
        add_text(line, "class", "unknown");
        add_text(line, "text", "looks like: unknown");
        json_put_end(line, '}');
    }
    json_put_end(line, ']');
}

static void add_place(struct json_writer *line, const struct call_place *place)
{
    json_put_key(line, "step");
    json_put_integer(line, place->step);
    json_put_key(line, "sequence");
    json_put_count(line, place->sequence);
    if (place->session) add_text(line, "session", place->session);
}

/* The cause stands in front, where whoever resumes finds it without reading the line. */
static void build_line(struct json_writer *line, const struct evidence_row *row)
{
    const struct judged *judged = row->judged;
    add_text(line, "name", judged->cells[COLUMN_NAME]);
    if (row->cause) add_text(line, "cause", row_cause_name(row->cause));
    add_text(line, "verdict", verdict_name(judged->verdict));
    if (row->place) add_place(line, row->place);
    if (judged->verdict != VERDICT_PASS) add_story(line, row);
    judged_json_add_evidence(line, judged);
    if (judged->has_over_rounding) {
        json_put_key(line, "error over what rounding explains");
        json_put_number(line, judged->over_rounding);
    }
    if (judged->findings.sought) add_findings(line, &judged->findings);
    if (row->n_inputs) add_inputs(line, row);
}

static struct json_writer begin_line(struct csv_buffer *out)
{
    struct json_writer line = JSON_WRITER(out);
    json_put_begin(&line, '{');
    return line;
}

/* All of the line that began at `start`, or none of it. */
static struct status end_line(struct json_writer *line, size_t start)
{
    json_put_end(line, '}');
    if (!line->status.code) line->status = csv_append_bytes(line->text, "\n", 1);
    if (line->status.code) line->text->length = start;
    return line->status;
}

struct status evidence_append(struct csv_buffer *out, const struct evidence_row *row)
{
    size_t start = out->length;
    struct json_writer line = begin_line(out);
    build_line(&line, row);
    return end_line(&line, start);
}

struct status evidence_append_lost(struct csv_buffer *out, struct csv_text name,
                                   enum verdict verdict, struct csv_text message,
                                   const char *repeat, const char *call)
{
    size_t start = out->length;
    struct json_writer line = begin_line(out);
    json_put_key(&line, "name");
    json_put_bytes(&line, name.bytes, name.length);
    add_text(&line, "verdict", verdict_name(verdict));
    if (verdict != VERDICT_PASS) {
        json_put_key(&line, "message");
        json_put_bytes(&line, message.bytes, message.length);
    }
    add_command(&line, "repeat", repeat, call);
    json_put_key(&line, "lost");
    json_put_bool(&line, true);
    return end_line(&line, start);
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
