/* Rows become text from the record in the dump, member by member as it stands there, then what the
 * comparison adds. */
#include "graph/row_text.h"

#include <stdio.h>
#include <string.h>

#include "compare/dumps/python_text.h"
#include "core/memory.h"
#include "formats/json_write.h"
#include "graph/value_text.h"

void row_writer_open(struct row_writer *out, const struct graph_side *side,
                     const struct comparison *comparison, bool shows_checksums)
{
    *out = (struct row_writer){ .side = side,
                                .comparison = comparison,
                                .shows_checksums = shows_checksums };
    if (comparison) out->metrics = column_list_make_metrics(comparison);
}

void row_writer_close(struct row_writer *writer)
{
    row_cells_release(&writer->cells);
    csv_buffer_release(&writer->name);
    csv_buffer_release(&writer->value);
    csv_buffer_release(&writer->shown);
}

/* ---- members ------------------------------------------------------------------------------- */

/* An object while its members are appended. */
struct object {
    struct csv_buffer *out;
    unsigned indent;
    bool empty;
};

static struct status next_member(struct object *object)
{
    char blanks[64];
    if (!object->empty) TRY(csv_append_bytes(object->out, ",", 1));
    if (object->indent) {
        int length = snprintf(blanks, sizeof blanks, "\n%*s", (int)object->indent, "");
        TRY(csv_append_bytes(object->out, blanks, (size_t)length));
    } else if (!object->empty) {
        TRY(csv_append_bytes(object->out, " ", 1));
    }
    object->empty = false;
    return status_ok();
}

static struct status begin(struct object *object)
{
    object->empty = true;
    return csv_append_bytes(object->out, "{", 1);
}

static struct status end(struct object *object)
{
    char blanks[64];
    if (object->indent && !object->empty) {
        unsigned outer = object->indent < 4 ? 0 : object->indent - 4;
        int length = snprintf(blanks, sizeof blanks, "\n%*s", (int)outer, "");
        TRY(csv_append_bytes(object->out, blanks, (size_t)length));
    }
    return csv_append_bytes(object->out, "}", 1);
}

/* "key": "text" */
static struct status add(struct object *object, const char *key, size_t key_length,
                         const char *text, size_t length)
{
    TRY(next_member(object));
    TRY(json_append_string(object->out, key, key_length));
    TRY(csv_append_bytes(object->out, ": ", 2));
    return json_append_string(object->out, text, length);
}

static struct status add_text(struct object *object, const char *key, const char *text)
{
    return add(object, key, strlen(key), text, strlen(text));
}

/* What is in writer->value, as the files show it. */
static struct status add_value(struct object *object, struct row_writer *w, const char *key,
                               size_t key_length)
{
    csv_buffer_clear(&w->shown);
    TRY(value_text_append(&w->shown, w->value.data, w->value.length));
    return add(object, key, key_length, w->shown.data, w->shown.length);
}

/* ---- the record in the dump ------------------------------------------------------------------ */

/* Members that the files do not show, and those that a process group has left. */
static bool is_shown(const struct json_slice *key, bool is_group, bool shows_checksums)
{
    static const char *const hidden[] = {
        "state", "full_op_name", "op", "peer", "tag", "group_id"
    };
    static const char *const of_groups[] = { "type", "group_ranks", "group_id", "data_name" };
    const char *const *list = is_group ? of_groups : hidden;
    size_t count = is_group ? sizeof of_groups / sizeof *of_groups : sizeof hidden / sizeof *hidden;
    for (size_t i = 0; i < count; i++)
        if (json_slice_is(key, list[i])) return is_group;
    if (is_group) return false;
    return shows_checksums || !json_slice_is(key, "md5");
}

enum { KNOWN_DATA_NAME = 1, KNOWN_CHECKSUM = 2, KNOWN_DTYPE = 4 };

static struct status add_member(struct object *object, struct row_writer *w,
                                const struct json_slice *key, struct json *value)
{
    enum json_kind kind;
    struct json_number number;
    csv_buffer_clear(&w->value);
    if (!json_peek(value, &kind)) return status_ok();
    if (kind == JSON_NUMBER) {
        struct json copy = *value;
        if (json_number(&copy, &number) && !number.is_integer) {
            *value = copy;
            TRY(value_text_append_real(&w->value, number.real));
            return add(object, key->text, key->bytes, w->value.data, w->value.length);
        }
    }
    TRY(python_append_value(&w->value, value));
    return add_value(object, w, key->text, key->bytes);
}

/* The members of the record in the order of the dump. */
static struct status add_record(unsigned *known, struct object *object, struct row_writer *w,
                                struct json record)
{
    struct json_slice key, type = { "", 0, false };
    struct json look = record;
    enum json_kind kind;
    bool is_group = false;

    if (json_enter_object(&look) && json_object_next(&look, &key) && json_slice_is(&key, "type") &&
        json_peek(&look, &kind) && kind == JSON_STRING && json_string(&look, &type))
        is_group = json_slice_is(&type, "torch.ProcessGroup");
    if (!json_enter_object(&record)) return status_ok();
    while (json_object_next(&record, &key)) {
        if (json_slice_is(&key, "data_name")) *known |= KNOWN_DATA_NAME;
        if (json_slice_is(&key, "md5")) *known |= KNOWN_CHECKSUM;
        if (json_slice_is(&key, "dtype") || is_group) *known |= KNOWN_DTYPE;
        if (is_shown(&key, is_group, w->shows_checksums)) TRY(add_member(object, w, &key, &record));
        else if (!json_skip(&record)) break;
        if (record.problem) break;
    }
    return status_ok();
}

/* What the comparison takes an argument for that is no tensor: values in place of statistics. */
static struct status add_as_statistics(struct object *object, struct row_writer *w,
                                       const struct dump_row *row)
{
    static const char *const keys[ROW_STATISTICS] = { "Max", "Min", "Mean", "Norm" };
    const struct dump_rows *dump = w->side->rows;

    TRY(add_text(object, "requires_grad", "null"));
    for (enum row_statistic s = 0; s < ROW_STATISTICS; s++) {
        struct row_value value = dump_row_statistic(row, s);
        csv_buffer_clear(&w->value);
        if (value.kind == VALUE_IS_REAL) {
            TRY(value_text_append_real(&w->value, value.real));
            TRY(add(object, keys[s], strlen(keys[s]), w->value.data, w->value.length));
            continue;
        }
        TRY(row_value_append(&w->value, dump, value));
        TRY(add_value(object, w, keys[s], strlen(keys[s])));
    }
    csv_buffer_clear(&w->value);
    const char *dtype = dump_text(dump, row->dtype), *shape = dump_text(dump, row->shape);
    TRY(csv_append_bytes(&w->value, dtype, strlen(dtype)));
    TRY(add_value(object, w, "dtype", 5));
    return add_text(object, "shape", shape);
}

static struct status add_checksum(struct object *object, struct row_writer *w,
                                  const struct dump_row *row)
{
    char text[16];
    if (row->checksum_kind == CHECKSUM_TEXT)
        return add_text(object, "md5", dump_text(w->side->rows, row->checksum));
    if (row->checksum_kind == CHECKSUM_NONE) return status_ok();
    (void)snprintf(text, sizeof text, "%08x", row->checksum);
    return add_text(object, "md5", text);
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* The difference of two integers is one. */
static bool is_of_integers(const struct comparison *c, uint32_t row, const char *header)
{
    static const char behind[] = " diff";
    const struct dump_row *bench = comparison_bench_row(c, row);
    size_t length = strlen(header);
    if (length < sizeof behind || strcmp(header + length - (sizeof behind - 1), behind))
        return false;
    return bench && c->npu.rows[row].statistic_kind[STATISTIC_MAX] == VALUE_IS_INTEGER &&
           bench->statistic_kind[STATISTIC_MAX] == VALUE_IS_INTEGER;
}

static struct status add_metric(struct object *object, struct row_writer *w, uint32_t row,
                                const char *header, const struct table_cell *cell)
{
    char text[32];
    csv_buffer_clear(&w->value);
    switch (cell->kind) {
    case TABLE_NUMBER:
        if (is_of_integers(w->comparison, row, header)) {
            (void)snprintf(text, sizeof text, "%.0f", cell->number);
            return add_text(object, header, text);
        }
        TRY(value_text_append_real(&w->value, cell->number));
        return add(object, header, strlen(header), w->value.data, w->value.length);
    case TABLE_TEXT:
        TRY(csv_append_bytes(&w->value, cell->text.bytes, cell->text.length));
        return add_value(object, w, header, strlen(header));
    case TABLE_BOOLEAN: return add_text(object, header, cell->boolean ? "True" : "False");
    case TABLE_INTEGER:
        (void)snprintf(text, sizeof text, "%lld", (long long)cell->integer);
        return add_text(object, header, text);
    default: return add_text(object, header, "null");
    }
}

/* Rows of matched nodes without a partner of their own have metrics that say so. */
static struct status add_metrics(struct object *object, struct row_writer *w, uint32_t row)
{
    bool matched = comparison_bench_row(w->comparison, row) != NULL;
    if (matched) TRY(row_cells_make(&w->cells, w->comparison, &w->metrics, row));
    for (size_t i = 0; i < w->metrics.count; i++) {
        const char *header = column_header(&w->metrics, i);
        TRY(matched ? add_metric(object, w, row, header, &w->cells.cell[i])
                    : add_text(object, header, "Nan"));
    }
    return status_ok();
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct status append_row(struct csv_buffer *out, struct row_writer *w, uint32_t row,
                                bool with_metrics, unsigned indent)
{
    const struct dump_row *r = &w->side->rows->rows[row];
    struct object object = { .out = out, .indent = indent };
    struct json record;
    unsigned known = 0;

    TRY(begin(&object));
    bool has_record = row_record(&record, w->side, row);
    if (!has_record || (r->statistic_kind[STATISTIC_MAX] == VALUE_IS_NONE && !r->is_tensor) ||
        (r->is_tensor && r->statistic_kind[STATISTIC_MAX] == VALUE_IS_NONE &&
         w->side->rows->kind != DUMP_STRUCTURE)) {
        TRY(add_text(&object, "value", "null"));
        return end(&object);
    }
    TRY(add_record(&known, &object, w, record));
    if (!(known & KNOWN_DATA_NAME)) TRY(add_text(&object, "data_name", "-1"));
    if (!(known & KNOWN_DTYPE)) TRY(add_as_statistics(&object, w, r));
    if (w->shows_checksums && !(known & KNOWN_CHECKSUM)) TRY(add_checksum(&object, w, r));
    if (with_metrics) TRY(add_metrics(&object, w, row));
    return end(&object);
}

struct status row_writer_append(struct csv_buffer *out, struct row_writer *writer, uint32_t node,
                                bool outputs, unsigned indent)
{
    struct row_range rows = node_rows(writer->side, node);
    struct object object = { .out = out, .indent = indent };
    bool with_metrics = writer->comparison && writer->side->match[node] != NODE_NONE;

    TRY(begin(&object));
    for (uint32_t row = rows.first; row < rows.first + rows.count; row++) {
        if (row_is_shown_as_output(writer->side, row) != outputs) continue;
        csv_buffer_clear(&writer->name);
        TRY(dump_row_append_name(&writer->name, writer->side->rows,
                                 &writer->side->rows->rows[row]));
        TRY(next_member(&object));
        TRY(json_append_string(out, writer->name.data, writer->name.length));
        TRY(csv_append_bytes(out, ": ", 2));
        TRY(append_row(out, writer, row, with_metrics, indent ? indent + 4 : 0));
    }
    return end(&object);
}
