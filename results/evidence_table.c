/* Lines pass through a streaming reader that takes the name and the limits and skips the rest: some 2 KB become
 * some 200 bytes. Names of metrics are few, and kept once. */
#include "results/evidence_table.h"

#include <math.h>
#include <string.h>

#include "core/arena.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_table.h"
#include "formats/json.h"
#include "formats/line_reader.h"
#include "results/evidence_members.h"

enum { LONGEST_LINE = 1 << 20, LONGEST_NAME = 8192, LONGEST_METRIC = 64, MOST_LIMITS = 64 };

struct evidence_table {
    struct arena arena; /* of the rows and their limits */
    struct text_table names, metrics;
    struct row_evidence *rows; /* by number in `names` */
    size_t capacity;
    uint64_t unreadable;
};

/* A line while it is read. */
struct line_facts {
    char name[LONGEST_NAME];
    size_t name_length;
    struct evidence_limit limits[MOST_LIMITS];
    size_t count;
    struct status status;
};

/* ---- one line --------------------------------------------------------------------------------- */

/* A text of at most `most` bytes; its length, 0 for what is none. */
static size_t read_text(char *out, size_t most, struct json *json)
{
    enum json_kind kind;
    struct json_slice text;
    if (!json_peek(json, &kind) || kind != JSON_STRING) {
        (void)json_skip(json);
        return 0;
    }
    return json_string(json, &text) && text.bytes <= most ? json_slice_decode_into(out, &text) : 0;
}

static void read_limit(struct line_facts *facts, struct json *json, struct text_table *metrics)
{
    char metric[LONGEST_METRIC];
    size_t length = 0;
    struct evidence_limit limit = { "", NAN, NAN, false };
    struct json_slice key;
    for (json_enter_object(json); json_object_next(json, &key);) {
        if (json_slice_is(&key, "metric")) length = read_text(metric, sizeof metric, json);
        else if (json_slice_is(&key, "value")) limit.value = evidence_read_number(json);
        else if (json_slice_is(&key, "limit")) limit.limit = evidence_read_number(json);
        else if (json_slice_is(&key, "holds")) limit.holds = evidence_read_flag(json);
        else (void)json_skip(json);
    }
    uint32_t number;
    if (json->problem || !length || facts->count == MOST_LIMITS || facts->status.code) return;
    facts->status = text_table_add(&number, NULL, metrics, metric, length);
    if (facts->status.code) return;
    limit.metric = text_table_get(metrics, number, NULL);
    facts->limits[facts->count++] = limit;
}

static void read_limits(struct line_facts *facts, struct json *json, struct text_table *metrics)
{
    enum json_kind kind;
    if (!json_peek(json, &kind) || kind != JSON_ARRAY) {
        (void)json_skip(json);
        return;
    }
    for (json_enter_array(json); json_array_next(json);) {
        if (json_peek(json, &kind) && kind == JSON_OBJECT) read_limit(facts, json, metrics);
        else (void)json_skip(json);
    }
}

static void read_evidence(struct line_facts *facts, struct json *json, struct text_table *metrics)
{
    enum json_kind kind;
    struct json_slice key;
    if (!json_peek(json, &kind) || kind != JSON_OBJECT) {
        (void)json_skip(json);
        return;
    }
    for (json_enter_object(json); json_object_next(json, &key);) {
        if (json_slice_is(&key, "limits")) read_limits(facts, json, metrics);
        else (void)json_skip(json);
    }
}

/* False for a line that is no evidence of a row. */
static bool read_line(struct line_facts *facts, const struct text_line *line,
                      struct text_table *metrics)
{
    struct json json;
    struct json_slice key;
    enum json_kind kind;
    facts->name_length = facts->count = 0;
    json_open(&json, line->text, line->length);
    if (!json_peek(&json, &kind) || kind != JSON_OBJECT) return false;
    for (json_enter_object(&json); json_object_next(&json, &key);) {
        if (json_slice_is(&key, "name"))
            facts->name_length = read_text(facts->name, sizeof facts->name, &json);
        else if (json_slice_is(&key, "evidence")) read_evidence(facts, &json, metrics);
        else (void)json_skip(&json);
    }
    return json_finish(&json) && facts->name_length > 0;
}

/* ---- the table -------------------------------------------------------------------------------- */

static struct status keep(struct evidence_table *table, const struct line_facts *facts)
{
    uint32_t number;
    bool added;
    TRY(facts->status);
    TRY(text_table_add(&number, &added, &table->names, facts->name, facts->name_length));
    if (!added) return status_ok();
    TRY(array_make_room(&table->rows, &table->capacity, number, sizeof *table->rows));
    struct evidence_limit *limits =
        arena_allocate_array(&table->arena, facts->count, sizeof *limits);
    if (!limits) return status_no_memory(facts->count * sizeof *limits);
    memcpy(limits, facts->limits, facts->count * sizeof *limits);
    table->rows[number] = (struct row_evidence){ limits, facts->count };
    return status_ok();
}

static struct status read_lines(struct evidence_table *table, struct line_reader *reader,
                                struct line_facts *facts)
{
    struct text_line line;
    bool more;
    for (;;) {
        TRY(line_reader_next(reader, &line, &more));
        if (!more) return status_ok();
        if (!line.torn && !line.too_long && read_line(facts, &line, &table->metrics))
            TRY(keep(table, facts));
        else table->unreadable++;
    }
}

static struct status read_file(struct evidence_table *table, const struct file *file)
{
    struct line_reader reader = { .file = file, .longest = LONGEST_LINE };
    struct line_facts *facts = memory_allocate_zeroed(1, sizeof *facts);
    struct status status = facts ? text_table_create(&table->names)
                                 : status_no_memory(sizeof *facts);
    if (!status.code) status = text_table_create(&table->metrics);
    if (!status.code) status = read_lines(table, &reader, facts);
    line_reader_release(&reader);
    memory_release(facts);
    return status;
}

struct status evidence_table_read(struct evidence_table **out, const char *path,
                                  struct file_policy policy)
{
    struct file file;
    TRY(file_open_read(&file, path, policy));
    struct evidence_table *table = memory_allocate_zeroed(1, sizeof *table);
    struct status status = table ? read_file(table, &file) : status_no_memory(sizeof *table);
    (void)file_close(&file);
    if (status.code) evidence_table_release(table);
    else *out = table;
    return status;
}

void evidence_table_release(struct evidence_table *table)
{
    if (!table) return;
    text_table_release(&table->names);
    text_table_release(&table->metrics);
    arena_release(&table->arena);
    memory_release(table->rows);
    memory_release(table);
}

const struct row_evidence *evidence_table_find(const struct evidence_table *table,
                                               struct csv_text name)
{
    uint32_t number = table ? text_table_find(&table->names, name.bytes, name.length) : TEXT_NONE;
    return number == TEXT_NONE ? NULL : &table->rows[number];
}

uint64_t evidence_table_unreadable(const struct evidence_table *table) { return table->unreadable; }

bool row_evidence_is_of_model(const struct row_evidence *evidence)
{
    for (size_t i = 0; evidence && i < evidence->count; i++)
        if (!strncmp(evidence->limits[i].metric, "model_", sizeof "model_" - 1)) return true;
    return false;
}
