/* Rows become text from the record in the dump, member by member as it stands there, then what the
 * comparison adds. */
#include "graph/row_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/dumps/python_text.h"
#include "compare/dumps/statistics.h"
#include "core/memory.h"
#include "formats/json_write.h"
#include "graph/precision.h"
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
    csv_buffer_release(&writer->keys);
}

/* ---- members ------------------------------------------------------------------------------- */

/* An object while its members are appended. */
struct object {
    struct csv_buffer *out;
    unsigned indent;
    bool empty;
};

/* A line end and blanks. */
static struct status next_line(struct csv_buffer *out, unsigned indent)
{
    static const char blanks[] = "\n                                                ";
    size_t length = indent + 1 < sizeof blanks ? indent + 1 : sizeof blanks - 1;
    return csv_append_bytes(out, blanks, length);
}

static struct status next_member(struct object *object)
{
    if (!object->empty) TRY(csv_append_bytes(object->out, ",", 1));
    if (object->indent) TRY(next_line(object->out, object->indent));
    else if (!object->empty) TRY(csv_append_bytes(object->out, " ", 1));
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
    if (object->indent && !object->empty)
        TRY(next_line(object->out, object->indent < 4 ? 0 : object->indent - 4));
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

#define KEY_IS(key, word) \
    ((key)->bytes == sizeof(word) - 1 && !memcmp((key)->text, word, sizeof(word) - 1))

/* Members that the files do not show, and those that a process group has left. */
static bool is_shown(const struct row_writer *w, const struct json_slice *key, bool is_group)
{
    if (is_group)
        return KEY_IS(key, "type") || KEY_IS(key, "group_ranks") || KEY_IS(key, "group_id") ||
               KEY_IS(key, "data_name");
    if (KEY_IS(key, "state") || KEY_IS(key, "full_op_name")) return false;
    if (w->is_batch &&
        (KEY_IS(key, "op") || KEY_IS(key, "peer") || KEY_IS(key, "tag") || KEY_IS(key, "group_id")))
        return false;
    return w->shows_checksums || !KEY_IS(key, "md5");
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
        if (KEY_IS(&key, "data_name")) *known |= KNOWN_DATA_NAME;
        if (KEY_IS(&key, "md5")) *known |= KNOWN_CHECKSUM;
        if (KEY_IS(&key, "dtype") || is_group) *known |= KNOWN_DTYPE;
        if (is_shown(w, &key, is_group)) TRY(add_member(object, w, &key, &record));
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

/* Was the largest value recorded as an integer on both sides? Then differences are integers. */
static bool is_of_integers(const struct comparison *c, uint32_t row)
{
    const struct dump_row *bench = comparison_bench_row(c, row);
    return bench && c->npu.rows[row].statistic_kind[STATISTIC_MAX] == VALUE_IS_INTEGER &&
           bench->statistic_kind[STATISTIC_MAX] == VALUE_IS_INTEGER;
}

/* The text of a cell in w->shown. */
static struct status show_metric(struct row_writer *w, const struct table_cell *cell, bool integer)
{
    char text[64];
    csv_buffer_clear(&w->shown);
    switch (cell->kind) {
    case TABLE_NUMBER:
        if (!integer) return value_text_append_real(&w->shown, cell->number);
        return csv_append_bytes(&w->shown, text,
                                (size_t)snprintf(text, sizeof text, "%.0f", cell->number));
    case TABLE_TEXT: return value_text_append(&w->shown, cell->text.bytes, cell->text.length);
    case TABLE_BOOLEAN:
        return csv_append_bytes(&w->shown, cell->boolean ? "True" : "False", cell->boolean ? 4 : 5);
    case TABLE_INTEGER:
        return csv_append_bytes(
            &w->shown, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)cell->integer));
    default: return csv_append_bytes(&w->shown, "null", 4);
    }
}

static bool is_difference(const char *header)
{
    static const char behind[] = " diff";
    size_t length = strlen(header);
    return length >= sizeof behind && !strcmp(header + length - (sizeof behind - 1), behind);
}

/* The statistic whose relative error a column has; ROW_STATISTICS: of none. */
static enum row_statistic relative_of(const char *header)
{
    static const char *const headers[ROW_STATISTICS] = { "MaxRelativeErr", "MinRelativeErr",
                                                         "MeanRelativeErr", "NormRelativeErr" };
    enum row_statistic s = 0;
    while (s < ROW_STATISTICS && strcmp(header, headers[s]) != 0) s++;
    return s;
}

/* A relative error of a value so small that the first generation does not count it. */
static struct status remark_small(struct row_writer *w, uint32_t row, enum row_statistic s)
{
    char text[64];
    double value;
    const struct dump_rows *dump = &w->comparison->npu;
    if (s == ROW_STATISTICS || w->comparison->generation != GENERATION_1) return status_ok();
    double small = small_value(dump, &dump->rows[row]);
    if (!row_value_number(&value, dump, dump_row_statistic(&dump->rows[row], s)) ||
        !(fabs(value) <= small))
        return status_ok();
    int length = snprintf(text, sizeof text, ", below %g: see the absolute error", small);
    return csv_append_bytes(&w->shown, text, (size_t)length);
}

/* Keys of the metrics as members have them: `"Max diff": `. */
static struct status write_keys(struct row_writer *w)
{
    for (size_t i = 0; i < w->metrics.count; i++) {
        const char *header = column_header(&w->metrics, i);
        w->metric_key[i].is_difference = is_difference(header);
        w->metric_key[i].relative = (uint8_t)relative_of(header);
        w->metric_key[i].begin = w->keys.length;
        TRY(json_append_string(&w->keys, header, strlen(header)));
        TRY(csv_append_bytes(&w->keys, ": ", 2));
        w->metric_key[i].end = w->keys.length;
    }
    return status_ok();
}

/* Rows of matched nodes without a partner of their own have metrics that say so. */
static struct status add_metrics(struct object *object, struct row_writer *w, uint32_t row)
{
    bool matched = comparison_bench_row(w->comparison, row) != NULL;
    bool integers = is_of_integers(w->comparison, row);
    if (!w->keys.length) TRY(write_keys(w));
    if (matched) TRY(row_cells_make(&w->cells, w->comparison, &w->metrics, row));
    for (size_t i = 0; i < w->metrics.count; i++) {
        const struct metric_key *key = &w->metric_key[i];
        TRY(next_member(object));
        TRY(csv_append_bytes(object->out, w->keys.data + key->begin, key->end - key->begin));
        if (matched) {
            TRY(show_metric(w, &w->cells.cell[i], integers && key->is_difference));
            TRY(remark_small(w, row, (enum row_statistic)key->relative));
        }
        TRY(matched ? json_append_string(object->out, w->shown.data, w->shown.length)
                    : json_append_string(object->out, "Nan", 3));
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
    struct name_slice name = model_name(&writer->side->model, node);
    writer->is_batch = memmem(name.text, name.length, "batch_isend_irecv", 17) != NULL;

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
