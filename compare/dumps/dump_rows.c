/* The walk over a dump.json: sections of entries become rows as they are met. An object is a leaf,
 * that is a row, when it has a string `type`, which dumpers write first, so that mostly one key
 * is looked at; otherwise its keys are looked through and then walked.
 */
#include "compare/dumps/dump_rows.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "compare/dumps/python_text.h"
#include "core/file.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/shortest.h"
#include "formats/json.h"

enum {
    NAME_LIMIT = 1024,      /* of an entry and of what stands behind it: they become cells */
    FORGET_BYTES = 4 << 20, /* walked pages are given back in steps of this */
};

static const char debug_file[] = "debug.json";

struct reading {
    struct dump_rows *dump;
    struct json json;
    struct file_map map;
    bool is_mapped; /* from a file: pages that have been read may go */
    size_t forgotten;
    const char *name;         /* of the file, for messages */
    struct csv_buffer entry;  /* decoded name of the entry */
    struct csv_buffer suffix; /* what the walk has appended to it */
    struct csv_buffer text;   /* scratch */
    enum row_state state;
    unsigned section;
    bool entry_is_formula, out_of_order, has_checksums;
    uint32_t texts_none, texts_empty_list; /* "None", "[]" */
    struct json_slice task, framework;
};

/* ---- texts ------------------------------------------------------------------------------ */

static struct status intern(uint32_t *out, struct reading *r, const char *text, size_t length)
{
    return text_table_add(out, NULL, &r->dump->texts, text, length);
}

/* Decode a string into a buffer, over what was there. */
static struct status decode(struct csv_buffer *out, const struct json_slice *slice)
{
    csv_buffer_clear(out);
    TRY(csv_append_bytes(out, slice->text, slice->bytes));
    if (slice->escaped) out->length = json_slice_decode_into(out->data, slice);
    return status_ok();
}

static struct status intern_slice(uint32_t *out, struct reading *r, const struct json_slice *slice,
                                  struct dump_row *row)
{
    TRY(decode(&r->text, slice));
    if (!row->fault && csv_is_formula(r->text.data, r->text.length))
        row->fault = FAULT_FORMULA_TEXT;
    return intern(out, r, r->text.data, r->text.length);
}

/* Python's text of the value at `json`, in r->text. */
static struct status value_text(struct reading *r, struct json json)
{
    csv_buffer_clear(&r->text);
    return python_append_value(&r->text, &json);
}

static struct status intern_value(uint32_t *out, struct reading *r, struct json json)
{
    TRY(value_text(r, json));
    return intern(out, r, r->text.data, r->text.length);
}

/* ---- the record of a leaf --------------------------------------------------------------- */

/* Where the members of a leaf are; a text of NULL is absent. */
struct leaf {
    struct json_slice type, dtype, md5, data_name;
    struct json at_start[ROW_STATISTICS], shape, value, group_ranks;
    bool has_statistic[ROW_STATISTICS], has_shape, has_value, has_group_ranks, has_md5;
    bool has_requires_grad, requires_grad, odd_requires_grad, odd_shape;
};

static const char *const statistic_keys[ROW_STATISTICS] = {
    [STATISTIC_MAX] = "Max",
    [STATISTIC_MIN] = "Min",
    [STATISTIC_MEAN] = "Mean",
    [STATISTIC_L2NORM] = "Norm",
};

static bool take_string(struct json *json, struct json_slice *out)
{
    enum json_kind kind;
    if (!json_peek(json, &kind)) return false;
    return kind == JSON_STRING ? json_string(json, out) : json_skip(json);
}

static bool take_requires_grad(struct json *json, struct leaf *leaf)
{
    enum json_kind kind;
    if (!json_peek(json, &kind)) return false;
    leaf->has_requires_grad = kind == JSON_BOOL;
    leaf->odd_requires_grad = kind != JSON_BOOL && kind != JSON_NULL;
    return kind == JSON_BOOL ? json_bool(json, &leaf->requires_grad) : json_skip(json);
}

static bool take_shape(struct json *json, struct leaf *leaf)
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

static bool take_member(struct json *json, const struct json_slice *key, struct leaf *leaf)
{
    for (int i = 0; i < ROW_STATISTICS; i++)
        if (json_slice_is(key, statistic_keys[i]))
            return take_place(json, &leaf->at_start[i], &leaf->has_statistic[i]);
    if (json_slice_is(key, "type")) return take_string(json, &leaf->type);
    if (json_slice_is(key, "dtype")) return take_string(json, &leaf->dtype);
    if (json_slice_is(key, "shape")) return take_shape(json, leaf);
    if (json_slice_is(key, "requires_grad")) return take_requires_grad(json, leaf);
    if (json_slice_is(key, "data_name")) return take_string(json, &leaf->data_name);
    if (json_slice_is(key, "md5")) {
        leaf->has_md5 = true;
        return take_string(json, &leaf->md5);
    }
    if (json_slice_is(key, "value")) return take_place(json, &leaf->value, &leaf->has_value);
    if (json_slice_is(key, "group_ranks"))
        return take_place(json, &leaf->group_ranks, &leaf->has_group_ranks);
    return json_skip(json);
}

static bool take_leaf(struct json *json, struct leaf *leaf)
{
    struct json_slice key;
    if (!json_enter_object(json)) return false;
    while (json_object_next(json, &key))
        if (!take_member(json, &key, leaf)) return false;
    return !json->problem;
}

/* ---- cells of a row --------------------------------------------------------------------- */

/* A value as statistic `which`: numbers and truth values as they are, others as text. */
static struct status set_statistic(struct dump_row *row, struct reading *r,
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

static struct status set_all_statistics(struct dump_row *row, struct reading *r, struct json json)
{
    TRY(set_statistic(row, r, STATISTIC_MAX, json));
    for (int i = 1; i < ROW_STATISTICS; i++) {
        row->statistic_kind[i] = row->statistic_kind[0];
        row->statistic[i] = row->statistic[0];
    }
    return status_ok();
}

/* The checksum of what is in r->text. */
static void set_crc_of_text(struct dump_row *row, struct reading *r)
{
    row->checksum_kind = CHECKSUM_CRC;
    row->checksum =
        (uint32_t)crc32(0, (const unsigned char *)r->text.data, (unsigned)r->text.length);
}

static struct status set_value_crc(struct dump_row *row, struct reading *r, const struct leaf *leaf)
{
    csv_buffer_clear(&r->text);
    if (leaf->has_value) TRY(value_text(r, leaf->value));
    set_crc_of_text(row, r);
    return status_ok();
}

static struct status set_checksum_text(struct dump_row *row, struct reading *r, const char *text,
                                       size_t length)
{
    row->checksum_kind = CHECKSUM_TEXT;
    return intern(&row->checksum, r, text, length);
}

/* Eight lower-case hex digits are kept as their number. */
static struct status set_recorded_checksum(struct dump_row *row, struct reading *r,
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

static struct status fill_tensor(struct dump_row *row, struct reading *r, const struct leaf *leaf)
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
static struct status intern_slice_shape(uint32_t *out, struct reading *r, struct json json)
{
    char text[32] = "()";
    enum json_kind kind;
    size_t count = 0;

    if (json_peek(&json, &kind) && kind == JSON_ARRAY && json_enter_array(&json)) {
        while (json_array_next(&json) && json_skip(&json)) count++;
        (void)snprintf(text, sizeof text, "(%zu,)", count);
    }
    return intern(out, r, text, strlen(text));
}

/* Dtype, shape and values of the leaves that torch and the language have beside tensors. */
static struct status fill_size(struct dump_row *row, struct reading *r, const struct leaf *leaf)
{
    if (leaf->has_value) TRY(intern_value(&row->shape, r, leaf->value));
    return set_value_crc(row, r, leaf);
}

static struct status fill_slice(struct dump_row *row, struct reading *r, const struct leaf *leaf)
{
    if (leaf->has_value) TRY(intern_slice_shape(&row->shape, r, leaf->value));
    return set_value_crc(row, r, leaf);
}

static struct status fill_ellipsis(struct dump_row *row, struct reading *r, const struct leaf *leaf)
{
    row->shape = r->texts_empty_list;
    if (leaf->has_value) TRY(set_all_statistics(row, r, leaf->value));
    return set_value_crc(row, r, leaf);
}

/* Members of a group: their text is value and checksum. */
static struct status fill_text(struct dump_row *row, struct reading *r, struct json json, bool has)
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

static struct status fill_process_group(struct dump_row *row, struct reading *r,
                                        const struct leaf *leaf)
{
    return fill_text(row, r, leaf->group_ranks, leaf->has_group_ranks);
}

/* <class 'int'> and so on, by the value. */
static struct status fill_scalar(struct dump_row *row, struct reading *r, const struct leaf *leaf)
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
    TRY(intern(&row->dtype, r, class, strlen(class)));
    if (leaf->has_value) TRY(set_all_statistics(row, r, leaf->value));
    return set_value_crc(row, r, leaf);
}

/* The last part of the row's name says what some arguments of communication calls are. */
static bool names_rank(const struct reading *r)
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

static struct status fill_other(struct dump_row *row, struct reading *r, const struct leaf *leaf)
{
    static const struct {
        const char *type;
        struct status (*fill)(struct dump_row *row, struct reading *r, const struct leaf *leaf);
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
static struct status name_by_data(struct dump_row *row, struct reading *r)
{
    const char *name = r->text.data, *dot = memrchr(name, '.', r->text.length);
    size_t stem = dot ? (size_t)(dot - name) : r->text.length;

    if (stem == r->entry.length + r->suffix.length &&
        !memcmp(name, r->entry.data, r->entry.length) &&
        !memcmp(name + r->entry.length, r->suffix.data, r->suffix.length)) {
        row->data_named_so = true;
        return intern(&row->data_name, r, name + stem, r->text.length - stem);
    }
    TRY(intern(&row->data_name, r, name, r->text.length));
    row->own_name = true;
    return intern(&row->suffix, r, name, stem);
}

static struct status name_row(struct dump_row *row, struct reading *r, const struct leaf *leaf)
{
    TRY(intern(&row->suffix, r, r->suffix.data, r->suffix.length));
    if (!leaf || !leaf->data_name.text || !leaf->data_name.bytes) return status_ok();
    TRY(decode(&r->text, &leaf->data_name));
    if (r->text.length == 2 && !memcmp(r->text.data, "-1", 2)) return status_ok();
    if (csv_is_formula(r->text.data, r->text.length)) row->fault = FAULT_FORMULA_TEXT;
    return name_by_data(row, r);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Room for one more of `count` elements, which are numbered by 32 bits. */
static struct status make_room(void *items, size_t *room, uint32_t count, size_t bytes)
{
    if (count > UINT32_MAX / 4)
        return status_error(STATUS_BAD_INPUT, "a dump of more than %u rows", count);
    return array_make_room(items, room, count, bytes);
}

/* The row of a leaf, whose record begins at `place`; of null without one. */
static struct status add_row(struct reading *r, const struct leaf *leaf, uint64_t place)
{
    struct dump_rows *dump = r->dump;
    struct dump_row row = { .entry = dump->n_entries - 1,
                            .data_name = TEXT_NONE,
                            .state = (uint8_t)r->state,
                            .section = r->section & 3,
                            .fault = r->entry_is_formula ? FAULT_FORMULA_NAME : FAULT_NONE };

    TRY(make_room(&dump->rows, &dump->row_room, dump->n_rows, sizeof *dump->rows));
    TRY(make_room(&dump->places, &dump->place_room, dump->n_rows, sizeof *dump->places));
    if (!leaf) {
        row.is_null = true;
        row.dtype = row.shape = r->texts_none;
    } else {
        TRY(leaf->dtype.text ? fill_tensor(&row, r, leaf) : fill_other(&row, r, leaf));
        row.has_requires_grad = leaf->has_requires_grad;
        row.requires_grad = leaf->requires_grad;
        if (leaf->odd_requires_grad) row.fault = FAULT_REQUIRES_GRAD;
        r->has_checksums |= leaf->has_md5;
    }
    TRY(name_row(&row, r, leaf));
    if (csv_is_formula(r->suffix.data, r->suffix.length)) row.fault = FAULT_FORMULA_NAME;
    dump->places[dump->n_rows] = place;
    dump->rows[dump->n_rows++] = row;
    return status_ok();
}

static struct status walk(struct reading *r);

/* Append ".<text>" to the suffix. */
static struct status push(struct reading *r, const char *text, size_t length)
{
    if (r->suffix.length + length > NAME_LIMIT) {
        (void)json_fail(&r->json, r->json.at, "the name of an argument is too long");
        return status_ok();
    }
    TRY(csv_append_bytes(&r->suffix, ".", 1));
    return csv_append_bytes(&r->suffix, text, length);
}

static struct status walk_array(struct reading *r)
{
    size_t length = r->suffix.length;
    char index[24];

    if (!json_enter_array(&r->json)) return status_ok();
    for (size_t i = 0; json_array_next(&r->json); i++) {
        if (r->state != STATE_PARAMETERS_GRAD)
            TRY(push(r, index, (size_t)snprintf(index, sizeof index, "%zu", i)));
        TRY(walk(r));
        r->suffix.length = length;
    }
    return status_ok();
}

static struct status walk_object(struct reading *r)
{
    size_t length = r->suffix.length;
    struct json_slice key;

    if (!json_enter_object(&r->json)) return status_ok();
    while (json_object_next(&r->json, &key)) {
        TRY(decode(&r->text, &key));
        TRY(push(r, r->text.data, r->text.length));
        if (r->json.problem) return status_ok();
        TRY(walk(r));
        r->suffix.length = length;
    }
    return status_ok();
}

enum object_role { OBJECT_CONTAINER, OBJECT_LEAF, OBJECT_P2P };

/* What the object that comes next is. `json` is a copy of the reader's. */
static enum object_role object_role(struct json json, struct json *tensor)
{
    struct json_slice key, text;
    enum object_role role = OBJECT_CONTAINER;
    enum json_kind kind;

    tensor->start = NULL;
    if (!json_enter_object(&json)) return role;
    while (json_object_next(&json, &key) && json_peek(&json, &kind)) {
        if (kind == JSON_STRING && json_slice_is(&key, "type")) return OBJECT_LEAF;
        if (json_slice_is(&key, "tensor")) *tensor = json;
        if (kind == JSON_STRING && json_slice_is(&key, "class_type") && json_string(&json, &text)) {
            if (json_slice_is(&text, "torch.distributed.P2POp")) role = OBJECT_P2P;
            continue;
        }
        if (!json_skip(&json)) return OBJECT_CONTAINER; /* the walk meets the problem */
    }
    return role;
}

static struct status add_leaf(struct reading *r, struct json *json)
{
    struct leaf leaf;
    enum json_kind kind;

    memset(&leaf, 0, sizeof leaf);
    if (!json_peek(json, &kind)) return status_ok();
    if (kind != JSON_OBJECT) return add_row(r, NULL, PLACE_NONE);
    uint64_t place = (uint64_t)(json->at - json->start);
    return take_leaf(json, &leaf) ? add_row(r, &leaf, place) : status_ok();
}

/* One operation of a batch of sends and receives: its tensor is the row. */
static struct status add_p2p(struct reading *r, struct json tensor)
{
    if (tensor.start) TRY(add_leaf(r, &tensor));
    else TRY(add_row(r, NULL, PLACE_NONE));
    (void)json_skip(&r->json);
    return status_ok();
}

static struct status walk(struct reading *r)
{
    enum json_kind kind;
    struct json tensor;

    if (!json_peek(&r->json, &kind)) return status_ok();
    switch (kind) {
    case JSON_ARRAY: return walk_array(r);
    case JSON_NULL: return json_null(&r->json) ? add_row(r, NULL, PLACE_NONE) : status_ok();
    case JSON_OBJECT:
        switch (object_role(r->json, &tensor)) {
        case OBJECT_LEAF: return add_leaf(r, &r->json);
        case OBJECT_P2P: return add_p2p(r, tensor);
        default: return walk_object(r);
        }
    default: (void)json_skip(&r->json); return status_ok();
    }
}

/* ---- entries ---------------------------------------------------------------------------- */

static const struct section {
    const char *key, *suffix;
    enum row_state state;
    unsigned order; /* among the inputs */
} sections[] = {
    { "input_args", ".input", STATE_INPUT, 0 },
    { "input_kwargs", ".input", STATE_INPUT, 1 },
    { "input", ".input", STATE_INPUT, 2 },
    { "output", ".output", STATE_OUTPUT, 0 },
    { "parameters", ".parameters", STATE_PARAMETERS, 0 },
};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

static struct status walk_section(struct reading *r, const struct json_slice *key)
{
    for (size_t i = 0; i < N_SECTIONS; i++) {
        if (!json_slice_is(key, sections[i].key)) continue;
        r->state = sections[i].state;
        r->section = sections[i].order;
        csv_buffer_clear(&r->suffix);
        TRY(csv_append_bytes(&r->suffix, sections[i].suffix, strlen(sections[i].suffix)));
        return walk(r);
    }
    (void)json_skip(&r->json);
    return status_ok();
}

static unsigned row_rank(const struct dump_row *row) { return row->state * 4u + row->section; }

/* Rows in the order of the sections, when the file had another. */
static struct status sort_rows(struct dump_rows *dump, uint32_t first)
{
    uint32_t count = dump->n_rows - first, placed = first;
    bool in_order = true;

    for (uint32_t i = 1; i < count; i++)
        in_order &= row_rank(&dump->rows[first + i - 1]) <= row_rank(&dump->rows[first + i]);
    if (in_order) return status_ok();
    struct placed_row {
        struct dump_row row;
        uint64_t place;
    } *copy = memory_allocate(count * sizeof *copy);
    if (!copy) return status_no_memory(count * sizeof *copy);
    for (uint32_t i = 0; i < count; i++)
        copy[i] = (struct placed_row){ dump->rows[first + i], dump->places[first + i] };
    for (unsigned rank = 0; rank < ROW_STATES * 4; rank++)
        for (uint32_t i = 0; i < count; i++) {
            if (row_rank(&copy[i].row) != rank) continue;
            dump->places[placed] = copy[i].place;
            dump->rows[placed++] = copy[i].row;
        }
    memory_release(copy);
    return status_ok();
}

/* Is part `index` from the end (1: the last) of a dotted name this word? */
static bool part_is(const struct csv_buffer *name, int index, const char *word)
{
    const char *end = name->data + name->length;
    for (;;) {
        const char *dot = memrchr(name->data, '.', (size_t)(end - name->data));
        const char *start = dot ? dot + 1 : name->data;
        if (--index == 0)
            return strlen(word) == (size_t)(end - start) && !memcmp(start, word, strlen(word));
        if (!dot) return false;
        end = dot;
    }
}

static struct status walk_entry(struct reading *r)
{
    struct json_slice key;
    enum json_kind kind;
    bool is_debug = part_is(&r->entry, 1, "debug");

    csv_buffer_clear(&r->suffix);
    r->section = 0;
    if (is_debug || part_is(&r->entry, 1, "parameters_grad") ||
        part_is(&r->entry, 2, "parameters_grad")) {
        r->state = is_debug ? STATE_DEBUG : STATE_PARAMETERS_GRAD;
        return walk(r);
    }
    if (!json_peek(&r->json, &kind)) return status_ok();
    if (kind != JSON_OBJECT) {
        (void)json_skip(&r->json);
        return status_ok();
    }
    if (!json_enter_object(&r->json)) return status_ok();
    while (json_object_next(&r->json, &key)) TRY(walk_section(r, &key));
    return status_ok();
}

static struct status add_entry(struct reading *r, const struct json_slice *key)
{
    struct dump_rows *dump = r->dump;

    TRY(make_room(&dump->entries, &dump->entry_room, dump->n_entries, sizeof *dump->entries));
    if (key->bytes > NAME_LIMIT || !key->bytes) {
        (void)json_fail(&r->json, key->text, "the name of an entry has 1 to 1024 bytes");
        return status_ok();
    }
    TRY(decode(&r->entry, key));
    r->entry_is_formula = csv_is_formula(r->entry.data, r->entry.length);
    struct dump_entry *entry = &dump->entries[dump->n_entries++];
    entry->first_row = dump->n_rows;
    TRY(text_table_add(&entry->name, NULL, &dump->names, r->entry.data, r->entry.length));
    TRY(walk_entry(r));
    entry->n_rows = dump->n_rows - entry->first_row;
    return sort_rows(dump, entry->first_row);
}

static struct status walk_data(struct reading *r)
{
    struct json_slice key;
    enum json_kind kind;

    if (!json_peek(&r->json, &kind)) return status_ok();
    if (kind != JSON_OBJECT) {
        (void)json_fail_expected(&r->json, r->json.at, "an object of entries");
        return status_ok();
    }
    if (!json_enter_object(&r->json)) return status_ok();
    while (json_object_next(&r->json, &key)) {
        TRY(add_entry(r, &key));
        size_t at = (size_t)(r->json.at - r->json.start);
        if (!r->is_mapped || at < r->forgotten + FORGET_BYTES) continue;
        file_map_forget(&r->map, r->forgotten, at);
        r->forgotten = at;
    }
    return status_ok();
}

/* ---- the file --------------------------------------------------------------------------- */

static struct status walk_file(bool *has_data, struct reading *r)
{
    struct json_slice key;

    if (!json_enter_object(&r->json)) return status_ok();
    while (json_object_next(&r->json, &key)) {
        if (json_slice_is(&key, "data")) {
            *has_data = true;
            TRY(walk_data(r));
        } else if (json_slice_is(&key, "task")) (void)take_string(&r->json, &r->task);
        else if (json_slice_is(&key, "framework")) (void)take_string(&r->json, &r->framework);
        else (void)json_skip(&r->json);
    }
    (void)json_finish(&r->json);
    return status_ok();
}

static struct status set_kind(struct reading *r)
{
    static const struct {
        const char *task;
        enum dump_kind kind;
    } tasks[] = {
        { "tensor", DUMP_TENSOR },
        { "statistics", DUMP_STATISTICS },
        { "structure", DUMP_STRUCTURE },
    };

    if (!r->task.text || !r->task.bytes)
        return status_error(STATUS_BAD_INPUT, "%s: it names no task", r->name);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        if (!json_slice_is(&r->task, tasks[i].task)) continue;
        r->dump->kind = tasks[i].kind;
        if (r->dump->kind == DUMP_STATISTICS && r->has_checksums) r->dump->kind = DUMP_MD5;
        return status_ok();
    }
    return status_error(STATUS_BAD_INPUT,
                        "%s: task '%.*s' is none of tensor, statistics, structure", r->name,
                        (int)(r->task.bytes < 60 ? r->task.bytes : 60), r->task.text);
}

/* Where a dump does not name its framework, the type of its first tensor does. */
static struct status set_framework(struct reading *r)
{
    static const char mindspore[] = "\"type\": \"mindspore", torch[] = "\"type\": \"torch";

    if (json_slice_is(&r->framework, "pytorch") || json_slice_is(&r->framework, "mindspore")) {
        r->dump->framework = r->framework.text[0] == 'm' ? FRAMEWORK_MINDSPORE : FRAMEWORK_PYTORCH;
        return status_ok();
    }
    const char *m = memmem(r->map.data, r->map.bytes, mindspore, sizeof mindspore - 1);
    size_t before = m ? (size_t)(m - (const char *)r->map.data) : r->map.bytes;
    const char *t = memmem(r->map.data, before, torch, sizeof torch - 1);
    if (!m && !t)
        return status_error(STATUS_BAD_INPUT,
                            "%s: its framework is unknown: it has no 'framework', and no tensor "
                            "of PyTorch or MindSpore",
                            r->name);
    r->dump->framework = t ? FRAMEWORK_PYTORCH : FRAMEWORK_MINDSPORE;
    return status_ok();
}

static struct status read_map(struct reading *r)
{
    bool has_data = false;

    /* From now on the buffers point somewhere, whatever their length. */
    TRY(csv_append_bytes(&r->entry, "", 1));
    TRY(csv_append_bytes(&r->suffix, "", 1));
    TRY(csv_append_bytes(&r->text, "", 1));
    TRY(intern(&r->texts_none, r, "None", 4));
    TRY(intern(&r->texts_empty_list, r, "[]", 2));
    json_open(&r->json, r->map.data, r->map.bytes);
    TRY(walk_file(&has_data, r));
    TRY(json_status(&r->json, r->name, STATUS_BAD_INPUT));
    TRY(set_kind(r));
    if (!has_data) return status_error(STATUS_BAD_INPUT, "%s: it has no 'data'", r->name);
    return r->dump->n_entries ? set_framework(r) : status_ok();
}

static bool ends_in(const char *path, const char *suffix)
{
    size_t length = strlen(path), n = strlen(suffix);
    return length >= n && !strcmp(path + length - n, suffix);
}

/* Read what is in r->map; the dump is empty on failure. */
static struct status read_all(struct reading *r)
{
    struct status status = text_table_create(&r->dump->names);
    if (!status.code) status = text_table_create(&r->dump->texts);
    if (!status.code) status = read_map(r);
    csv_buffer_release(&r->entry);
    csv_buffer_release(&r->suffix);
    csv_buffer_release(&r->text);
    if (status.code) dump_rows_close(r->dump);
    return status;
}

struct status dump_rows_open(struct dump_rows *out, const char *path,
                             struct file_policy file_policy)
{
    struct file_shown_name shown = file_shown(path);
    struct reading r = { .dump = out, .name = shown.text, .is_mapped = true };
    struct file file = FILE_NONE;

    *out = (struct dump_rows){ .is_debug = ends_in(path, debug_file) };
    TRY(file_open_read(&file, path, file_policy));
    struct status status = file_map(&r.map, &file);
    if (!status.code) {
        status = read_all(&r);
        file_unmap(&r.map);
    }
    (void)file_close(&file);
    return status;
}

struct status dump_rows_read(struct dump_rows *out, const char *name, const char *text,
                             size_t bytes)
{
    struct reading r = { .dump = out, .name = name, .map = { text, bytes } };
    *out = (struct dump_rows){ .is_debug = false };
    return read_all(&r);
}

void dump_rows_close(struct dump_rows *dump)
{
    if (dump->names.slots) text_table_release(&dump->names);
    if (dump->texts.slots) text_table_release(&dump->texts);
    memory_release(dump->entries);
    memory_release(dump->rows);
    memory_release(dump->places);
    *dump = (struct dump_rows){ 0 };
}

/* ---- what others ask -------------------------------------------------------------------- */

const char *dump_entry_name(const struct dump_rows *dump, uint32_t entry, size_t *length)
{
    return text_table_get(&dump->names, dump->entries[entry].name, length);
}

static struct status append_text(struct csv_buffer *out, const struct dump_rows *dump,
                                 uint32_t text)
{
    size_t length;
    const char *bytes = text_table_get(&dump->texts, text, &length);
    return csv_append_bytes(out, bytes, length);
}

struct status dump_row_append_name(struct csv_buffer *out, const struct dump_rows *dump,
                                   const struct dump_row *row)
{
    size_t length;
    if (!row->own_name) {
        const char *entry = dump_entry_name(dump, row->entry, &length);
        TRY(csv_append_bytes(out, entry, length));
    }
    return append_text(out, dump, row->suffix);
}

struct status dump_row_append_data_name(struct csv_buffer *out, const struct dump_rows *dump,
                                        const struct dump_row *row)
{
    if (row->data_name == TEXT_NONE) return status_ok();
    if (row->data_named_so) TRY(dump_row_append_name(out, dump, row));
    return append_text(out, dump, row->data_name);
}

struct status row_value_append(struct csv_buffer *out, const struct dump_rows *dump,
                               struct row_value value)
{
    char text[SHORTEST_BYTES];

    switch (value.kind) {
    case VALUE_IS_NONE: return csv_append_bytes(out, "None", 4);
    case VALUE_IS_INTEGER:
        return csv_append_bytes(
            out, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value.integer));
    case VALUE_IS_REAL: return csv_append_bytes(out, text, shortest_double(text, value.real));
    case VALUE_IS_BOOLEAN:
        return csv_append_bytes(out, value.boolean ? "True" : "False", value.boolean ? 4 : 5);
    default: return append_text(out, dump, value.text);
    }
}
