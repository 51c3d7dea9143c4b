/* Lines of JSON, written whole and read only as far as resuming has to. */
#include "results/evidence.h"

#include <string.h>

#include "core/memory.h"
#include "formats/json.h"
#include "formats/json_tree.h"
#include "formats/text_out.h"
#include "results/judged_json.h"

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

/* The command that repeats the call. Its name comes from the dump, the command goes to a shell. */
static struct status add_repeat(cJSON *line, const char *repeat, const char *call)
{
    struct text_out command = { .status.code = STATUS_OK };
    text_out_string(&command, repeat);
    text_out_shell_word(&command, call);
    text_out_bytes(&command, "", 1);
    struct status status = command.status;
    if (!status.code && !cJSON_AddStringToObject(line, "repeat", command.text.data))
        status = status_no_memory(0);
    csv_buffer_release(&command.text);
    return status;
}

/* The cause stands in front, where whoever resumes finds it without reading the line. */
static struct status build_line(cJSON *line, const struct evidence_row *row)
{
    const struct judged *judged = row->judged;
    bool ok = cJSON_AddStringToObject(line, "name", judged->cells[COLUMN_NAME]) != NULL;
    if (ok && row->cause)
        ok = cJSON_AddStringToObject(line, "cause", row_cause_name(row->cause)) != NULL;
    if (ok) ok = cJSON_AddStringToObject(line, "verdict", verdict_name(judged->verdict)) != NULL;
    if (ok && judged->verdict != VERDICT_PASS)
        ok = cJSON_AddStringToObject(line, "message", judged->cells[COLUMN_MESSAGE]) != NULL;
    if (!ok) return status_no_memory(0);
    if (judged->verdict != VERDICT_PASS) TRY(add_repeat(line, row->repeat, row->call));
    TRY(judged_json_add_evidence(line, judged));
    if (judged->has_over_rounding &&
        !cJSON_AddNumberToObject(line, "error over what rounding explains", judged->over_rounding))
        return status_no_memory(0);
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
    char *text = memory_allocate(cell.length + 1);
    if (!text) return status_no_memory(cell.length + 1);
    memcpy(text, cell.bytes, cell.length);
    text[cell.length] = '\0';
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
    TRY(add_repeat(line, repeat, call));
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

/* ---- for a reader ------------------------------------------------------------------------------------ */

static void print_value(FILE *out, const cJSON *item)
{
    if (cJSON_IsString(item)) fprintf(out, "%s", item->valuestring);
    else if (cJSON_IsBool(item)) fprintf(out, "%s", cJSON_IsTrue(item) ? "yes" : "no");
    else if (cJSON_IsNumber(item)) fprintf(out, "%.9g", item->valuedouble);
}

/* Bars of up to 40 characters. */
static void print_histogram(FILE *out, const cJSON *histogram)
{
    double most = 1;
    const cJSON *bin;
    cJSON_ArrayForEach(bin, histogram) if (bin->valuedouble > most) most = bin->valuedouble;
    fprintf(out, "  error in ulp\n");
    cJSON_ArrayForEach(bin, histogram)
    {
        int bar = (int)(40 * bin->valuedouble / most + 0.5);
        fprintf(out, "    %-12s %10.0f  ", bin->string, bin->valuedouble);
        for (int i = 0; i < (bar ? bar : 1); i++) fputc('#', out);
        fputc('\n', out);
    }
}

static void print_limits(FILE *out, const cJSON *limits)
{
    const cJSON *limit;
    cJSON_ArrayForEach(limit, limits)
    {
        const cJSON *metric = cJSON_GetObjectItem(limit, "metric");
        fprintf(out, "  %-28s ", cJSON_IsString(metric) ? metric->valuestring : "");
        print_value(out, cJSON_GetObjectItem(limit, "value"));
        fprintf(out, ", limit ");
        print_value(out, cJSON_GetObjectItem(limit, "limit"));
        fprintf(out, "%s\n",
                cJSON_IsTrue(cJSON_GetObjectItem(limit, "holds")) ? "" : "   <- broken");
    }
}

static void print_evidence(FILE *out, const cJSON *evidence)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, evidence)
    {
        if (!strcmp(item->string, "limits")) {
            print_limits(out, item);
        } else if (!strcmp(item->string, "ulp histogram")) {
            print_histogram(out, item);
        } else if (cJSON_IsObject(item)) {
            const cJSON *part;
            fprintf(out, "  %-28s ", item->string);
            cJSON_ArrayForEach(part, item)
            {
                fprintf(out, "%s%s ", part == item->child ? "" : ", ", part->string);
                print_value(out, part);
            }
            fputc('\n', out);
        } else {
            fprintf(out, "  %-28s ", item->string);
            print_value(out, item);
            fputc('\n', out);
        }
    }
}

/* The lines of a message, blank ones left out. */
static void print_lines(FILE *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (strspn(text, " ") < length) fprintf(out, "  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

struct status evidence_print(FILE *out, const char *line, size_t length)
{
    cJSON *json;
    TRY(json_tree_parse(&json, NULL, line, length));
    const cJSON *name = cJSON_GetObjectItem(json, "name"),
                *verdict = cJSON_GetObjectItem(json, "verdict");
    const cJSON *message = cJSON_GetObjectItem(json, "message"), *note;
    const cJSON *rounding = cJSON_GetObjectItem(json, "error over what rounding explains");
    fprintf(out, "%s: %s\n", cJSON_IsString(name) ? name->valuestring : "",
            cJSON_IsString(verdict) ? verdict->valuestring : "");
    if (cJSON_IsString(message)) print_lines(out, message->valuestring);
    print_evidence(out, cJSON_GetObjectItem(json, "evidence"));
    if (rounding) {
        fprintf(out, "  %-28s ", "error / explained by rounding");
        print_value(out, rounding);
        fputc('\n', out);
    }
    cJSON_ArrayForEach(note, cJSON_GetObjectItem(json, "inputs"))
        fprintf(out, "  input: %s\n", note->valuestring);
    cJSON_Delete(json);
    return status_ok();
}
