/* The record of a leaf of a dump.json, and the cells that a row takes from it: dtype, shape,
 * statistics, checksum, name. Each kind of argument (tensor, torch.Size, slice, ...) fills them in
 * its own way.
 */
#include "compare/dumps/dump_leaf.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "compare/dumps/python_text.h"

/* ---- texts ------------------------------------------------------------------------------ */

struct status dump_text_intern(uint32_t *out, struct dump_reading *r, const char *text,
                               size_t length)
{
    return text_table_add(out, NULL, &r->dump->texts, text, length);
}

struct status dump_text_decode(struct csv_buffer *out, const struct json_slice *slice)
{
    csv_buffer_clear(out);
    TRY(csv_append_bytes(out, slice->text, slice->bytes));
    if (slice->escaped) out->length = json_slice_decode_into(out->data, slice);
    return status_ok();
}

static struct status intern_slice(uint32_t *out, struct dump_reading *r,
                                  const struct json_slice *slice, struct dump_row *row)
{
    TRY(dump_text_decode(&r->text, slice));
    if (!row->fault && csv_is_formula(r->text.data, r->text.length))
        row->fault = FAULT_FORMULA_TEXT;
    return dump_text_intern(out, r, r->text.data, r->text.length);
}

/* Python's text of the value at `json`, in r->text. */
static struct status value_text(struct dump_reading *r, struct json json)
{
    csv_buffer_clear(&r->text);
    return python_append_value(&r->text, &json);
}

static struct status intern_value(uint32_t *out, struct dump_reading *r, struct json json)
{
    TRY(value_text(r, json));
    return dump_text_intern(out, r, r->text.data, r->text.length);
}

/* ---- the record of a leaf --------------------------------------------------------------- */

static const char *const statistic_keys[ROW_STATISTICS] = {
    [STATISTIC_MAX] = "Max",
    [STATISTIC_MIN] = "Min",
    [STATISTIC_MEAN] = "Mean",
    [STATISTIC_L2NORM] = "Norm",
};

bool dump_take_string(struct json *json, struct json_slice *out)
{
    enum json_kind kind;
    if (!json_peek(json, &kind)) return false;
    return kind == JSON_STRING ? json_string(json, out) : json_skip(json);
}

static bool take_requires_grad(struct json *json, struct dump_leaf *leaf)
{
    enum json_kind kind;
    if (!json_peek(json, &kind)) return false;
    leaf->has_requires_grad = kind == JSON_BOOL;
    leaf->odd_requires_grad = kind != JSON_BOOL && kind != JSON_NULL;
    return kind == JSON_BOOL ? json_bool(json, &leaf->requires_grad) : json_skip(json);
}

static bool take_shape(struct json *json, struct dump_leaf *leaf)
{
    enum json_kind kind;
    if (!json_peek(json, &kind)) return false;
    leaf->has_shape = true;
    leaf->odd_shape = kind != JSON_ARRAY && kind != JSON_NULL;
    leaf->shape = *json;
    return json_skip(json);
}

/* Remember where a value is, and pass over it. */
static bool take_place(struct json *json, struct json *place, bool *has)
{
    *place = *json;
    *has = true;
    return json_skip(json);
}

static bool take_member(struct json *json, const struct json_slice *key, struct dump_leaf *leaf)
{
    for (int i = 0; i < ROW_STATISTICS; i++)
        if (json_slice_is(key, statistic_keys[i]))
            return take_place(json, &leaf->at_start[i], &leaf->has_statistic[i]);
    if (json_slice_is(key, "type")) return dump_take_string(json, &leaf->type);
    if (json_slice_is(key, "dtype")) return dump_take_string(json, &leaf->dtype);
    if (json_slice_is(key, "shape")) return take_shape(json, leaf);
    if (json_slice_is(key, "requires_grad")) return take_requires_grad(json, leaf);
    if (json_slice_is(key, "data_name")) return dump_take_string(json, &leaf->data_name);
    if (json_slice_is(key, "md5")) {
        leaf->has_md5 = true;
        return dump_take_string(json, &leaf->md5);
    }
    if (json_slice_is(key, "value")) return take_place(json, &leaf->value, &leaf->has_value);
    if (json_slice_is(key, "group_ranks"))
        return take_place(json, &leaf->group_ranks, &leaf->has_group_ranks);
    return json_skip(json);
}

bool dump_leaf_take(struct json *json, struct dump_leaf *leaf)
{
    struct json_slice key;
    if (!json_enter_object(json)) return false;
    while (json_object_next(json, &key))
        if (!take_member(json, &key, leaf)) return false;
    return !json->problem;
}

/* ---- cells of a row --------------------------------------------------------------------- */

/* A value as statistic `which`: numbers and truth values as they are, others as text. */
static struct status set_statistic(struct dump_row *row, struct dump_reading *r,
                                   enum row_statistic which, struct json json)
{
    enum json_kind kind;
    struct json_number number;
    bool boolean;

    if (!json_peek(&json, &kind)) return status_ok();
    switch (kind) {
    case JSON_NULL: row->statistic_kind[which] = VALUE_IS_NONE; return status_ok();
    case JSON_BOOL:
        (void)json_bool(&json, &boolean);
        row->statistic_kind[which] = VALUE_IS_BOOLEAN;
        row->statistic[which].boolean = boolean;
        return status_ok();
    case JSON_NUMBER:
        (void)json_number(&json, &number);
        row->statistic_kind[which] = number.is_int64 ? VALUE_IS_INTEGER : VALUE_IS_REAL;
        if (number.is_int64) row->statistic[which].integer = number.integer;
        else row->statistic[which].real = number.real;
        return status_ok();
    default:
        row->statistic_kind[which] = VALUE_IS_TEXT;
        TRY(intern_value(&row->statistic[which].text, r, json));
        if (!row->fault && csv_is_formula(r->text.data, r->text.length))
            row->fault = FAULT_FORMULA_TEXT;
        return status_ok();
    }
}

static struct status set_all_statistics(struct dump_row *row, struct dump_reading *r,
                                        struct json json)
{
    TRY(set_statistic(row, r, STATISTIC_MAX, json));
    for (int i = 1; i < ROW_STATISTICS; i++) {
        row->statistic_kind[i] = row->statistic_kind[0];
        row->statistic[i] = row->statistic[0];
    }
    return status_ok();
}

/* The checksum of what is in r->text. */
static void set_crc_of_text(struct dump_row *row, struct dump_reading *r)
{
    row->checksum_kind = CHECKSUM_CRC;
    row->checksum =
        (uint32_t)crc32(0, (const unsigned char *)r->text.data, (unsigned)r->text.length);
}

static struct status set_value_crc(struct dump_row *row, struct dump_reading *r,
                                   const struct dump_leaf *leaf)
{
    csv_buffer_clear(&r->text);
    if (leaf->has_value) TRY(value_text(r, leaf->value));
    set_crc_of_text(row, r);
    return status_ok();
}

static struct status set_checksum_text(struct dump_row *row, struct dump_reading *r,
                                       const char *text, size_t length)
{
    row->checksum_kind = CHECKSUM_TEXT;
    return dump_text_intern(&row->checksum, r, text, length);
}

/* Eight lower-case hex digits are kept as their number. */
static struct status set_recorded_checksum(struct dump_row *row, struct dump_reading *r,
                                           const struct json_slice *md5)
{
    static const char digits[] = { '0', '1', '2', '3', '4', '5', '6', '7',
                                   '8', '9', 'a', 'b', 'c', 'd', 'e', 'f' };
    uint32_t crc = 0;
    for (size_t i = 0; i < md5->bytes && md5->bytes == 8; i++) {
        const char *digit = memchr(digits, md5->text[i], sizeof digits);
        if (!digit) break;
        crc = crc << 4 | (uint32_t)(digit - digits);
        if (i < 7) continue;
        row->checksum_kind = CHECKSUM_CRC;
        row->checksum = crc;
        return status_ok();
    }
    row->checksum_kind = CHECKSUM_TEXT;
    return intern_slice(&row->checksum, r, md5, row);
}

/* ---- kinds of rows ---------------------------------------------------------------------- */

static struct status fill_tensor(struct dump_row *row, struct dump_reading *r,
                                 const struct dump_leaf *leaf)
{
    row->is_tensor = true;
    TRY(intern_slice(&row->dtype, r, &leaf->dtype, row));
    row->shape = r->texts_none;
    if (leaf->has_shape) TRY(intern_value(&row->shape, r, leaf->shape));
    if (leaf->odd_shape) row->fault = FAULT_SHAPE;
    for (int i = 0; i < ROW_STATISTICS; i++)
        if (leaf->has_statistic[i])
            TRY(set_statistic(row, r, (enum row_statistic)i, leaf->at_start[i]));
    if (leaf->md5.text) return set_recorded_checksum(row, r, &leaf->md5);
    return set_value_crc(row, r, leaf);
}

/* numpy's shape of a slice's value: "(3,)" for its three numbers. */
static struct status intern_slice_shape(uint32_t *out, struct dump_reading *r, struct json json)
{
    char text[32] = "()";
    enum json_kind kind;
    size_t count = 0;

    if (json_peek(&json, &kind) && kind == JSON_ARRAY && json_enter_array(&json)) {
        while (json_array_next(&json) && json_skip(&json)) count++;
        (void)snprintf(text, sizeof text, "(%zu,)", count);
    }
    return dump_text_intern(out, r, text, strlen(text));
}

/* Dtype, shape and values of the leaves that torch and the language have beside tensors. */
static struct status fill_size(struct dump_row *row, struct dump_reading *r,
                               const struct dump_leaf *leaf)
{
    if (leaf->has_value) TRY(intern_value(&row->shape, r, leaf->value));
    return set_value_crc(row, r, leaf);
}

static struct status fill_slice(struct dump_row *row, struct dump_reading *r,
                                const struct dump_leaf *leaf)
{
    if (leaf->has_value) TRY(intern_slice_shape(&row->shape, r, leaf->value));
    return set_value_crc(row, r, leaf);
}

static struct status fill_ellipsis(struct dump_row *row, struct dump_reading *r,
                                   const struct dump_leaf *leaf)
{
    row->shape = r->texts_empty_list;
    if (leaf->has_value) TRY(set_all_statistics(row, r, leaf->value));
    return set_value_crc(row, r, leaf);
}

/* Members of a group: their text is value and checksum. */
static struct status fill_text(struct dump_row *row, struct dump_reading *r, struct json json,
                               bool has)
{
    row->shape = r->texts_empty_list;
    csv_buffer_clear(&r->text);
    if (has) TRY(value_text(r, json));
    else TRY(csv_append_bytes(&r->text, "None", 4));
    TRY(set_checksum_text(row, r, r->text.data, r->text.length));
    for (int i = 0; i < ROW_STATISTICS; i++) {
        row->statistic_kind[i] = VALUE_IS_TEXT;
        row->statistic[i].text = row->checksum;
    }
    return status_ok();
}

static struct status fill_process_group(struct dump_row *row, struct dump_reading *r,
                                        const struct dump_leaf *leaf)
{
    return fill_text(row, r, leaf->group_ranks, leaf->has_group_ranks);
}

/* <class 'int'> and so on, by the value. */
static struct status fill_scalar(struct dump_row *row, struct dump_reading *r,
                                 const struct dump_leaf *leaf)
{
    static const char *const classes[] = {
        [JSON_NULL] = "<class 'NoneType'>", [JSON_BOOL] = "<class 'bool'>",
        [JSON_NUMBER] = "<class 'int'>",    [JSON_STRING] = "<class 'str'>",
        [JSON_ARRAY] = "<class 'list'>",    [JSON_OBJECT] = "<class 'dict'>",
    };
    enum json_kind kind = JSON_NULL;
    struct json json = leaf->value;
    struct json_number number;

    if (leaf->has_value) (void)json_peek(&json, &kind);
    const char *class = classes[kind];
    if (kind == JSON_NUMBER && json_number(&json, &number) && !number.is_integer)
        class = "<class 'float'>";
    row->shape = r->texts_empty_list;
    TRY(dump_text_intern(&row->dtype, r, class, strlen(class)));
    if (leaf->has_value) TRY(set_all_statistics(row, r, leaf->value));
    return set_value_crc(row, r, leaf);
}

/* The last part of the row's name says what some arguments of communication calls are. */
static bool names_rank(const struct dump_reading *r)
{
    static const char *const names[] = { "src", "dst", "group_src", "group_dst" };
    const struct csv_buffer *suffix = &r->suffix;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (suffix->length > length && suffix->data[suffix->length - length - 1] == '.' &&
            !memcmp(suffix->data + suffix->length - length, names[i], length))
            return true;
    }
    return false;
}

static struct status fill_other(struct dump_row *row, struct dump_reading *r,
                                const struct dump_leaf *leaf)
{
    static const struct {
        const char *type;
        struct status (*fill)(struct dump_row *row, struct dump_reading *r,
                              const struct dump_leaf *leaf);
    } kinds[] = {
        { "torch.Size", fill_size },
        { "slice", fill_slice },
        { "ellipsis", fill_ellipsis },
        { "torch.ProcessGroup", fill_process_group },
    };

    row->shape = r->texts_none;
    TRY(intern_slice(&row->dtype, r, &leaf->type, row));
    if (names_rank(r)) return fill_text(row, r, leaf->value, leaf->has_value);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (json_slice_is(&leaf->type, kinds[i].type)) return kinds[i].fill(row, r, leaf);
    return fill_scalar(row, r, leaf);
}

/* ---- names of rows ---------------------------------------------------------------------- */

/* The name of the data file names the row, without its extension. Mostly it is the name that the
 * row would have anyway. */
static struct status name_by_data(struct dump_row *row, struct dump_reading *r)
{
    const char *name = r->text.data, *dot = memrchr(name, '.', r->text.length);
    size_t stem = dot ? (size_t)(dot - name) : r->text.length;

    if (stem == r->entry.length + r->suffix.length &&
        !memcmp(name, r->entry.data, r->entry.length) &&
        !memcmp(name + r->entry.length, r->suffix.data, r->suffix.length)) {
        row->data_named_so = true;
        return dump_text_intern(&row->data_name, r, name + stem, r->text.length - stem);
    }
    TRY(dump_text_intern(&row->data_name, r, name, r->text.length));
    row->own_name = true;
    return dump_text_intern(&row->suffix, r, name, stem);
}

static struct status name_row(struct dump_row *row, struct dump_reading *r,
                              const struct dump_leaf *leaf)
{
    TRY(dump_text_intern(&row->suffix, r, r->suffix.data, r->suffix.length));
    if (!leaf || !leaf->data_name.text || !leaf->data_name.bytes) return status_ok();
    TRY(dump_text_decode(&r->text, &leaf->data_name));
    if (r->text.length == 2 && !memcmp(r->text.data, "-1", 2)) return status_ok();
    if (csv_is_formula(r->text.data, r->text.length)) row->fault = FAULT_FORMULA_TEXT;
    return name_by_data(row, r);
}

struct status dump_row_fill(struct dump_row *row, struct dump_reading *r,
                            const struct dump_leaf *leaf)
{
    if (!leaf) {
        row->is_null = true;
        row->dtype = row->shape = r->texts_none;
    } else {
        TRY(leaf->dtype.text ? fill_tensor(row, r, leaf) : fill_other(row, r, leaf));
        row->has_requires_grad = leaf->has_requires_grad;
        row->requires_grad = leaf->requires_grad;
        if (leaf->odd_requires_grad) row->fault = FAULT_REQUIRES_GRAD;
        r->has_checksums |= leaf->has_md5;
    }
    TRY(name_row(row, r, leaf));
    if (csv_is_formula(r->suffix.data, r->suffix.length)) row->fault = FAULT_FORMULA_NAME;
    return status_ok();
}
