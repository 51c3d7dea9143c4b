/* The walk over a dump.json: sections of entries become rows as they are met. An object is a leaf,
 * that is a row, when it has a string `type`, which dumpers write first, so that mostly one key
 * is looked at; otherwise its keys are looked through and then walked.
 */
#include "compare/dumps/dump_reader.h"

#include <stdio.h>
#include <string.h>

#include "compare/dumps/dump_leaf.h"
#include "core/growing.h"
#include "core/memory.h"

enum {
    NAME_LIMIT = 1024,      /* of an entry and of what stands behind it: they become cells */
    FORGET_BYTES = 4 << 20, /* walked pages are given back in steps of this */
};

static const char debug_file[] = "debug.json";

/* ---- rows ------------------------------------------------------------------------------- */

/* Room for one more of `count` elements, which are numbered by 32 bits. */
static struct status make_room(void *items, size_t *room, uint32_t count, size_t bytes)
{
    if (count > UINT32_MAX / 4)
        return status_error(STATUS_BAD_INPUT, "a dump of more than %u rows", count);
    return array_make_room(items, room, count, bytes);
}

/* The row of a leaf, whose record begins at `place`; of null without one. */
static struct status add_row(struct dump_reading *r, const struct dump_leaf *leaf, uint64_t place)
{
    struct dump_rows *dump = r->dump;
    struct dump_row row = { .entry = dump->n_entries - 1,
                            .data_name = TEXT_NONE,
                            .state = (uint8_t)r->state,
                            .section = r->section & 3,
                            .fault = r->entry_is_formula ? FAULT_FORMULA_NAME : FAULT_NONE };

    TRY(make_room(&dump->rows, &dump->row_room, dump->n_rows, sizeof *dump->rows));
    TRY(make_room(&dump->places, &dump->place_room, dump->n_rows, sizeof *dump->places));
    TRY(dump_row_fill(&row, r, leaf));
    dump->places[dump->n_rows] = place;
    dump->rows[dump->n_rows++] = row;
    return status_ok();
}

static struct status walk(struct dump_reading *r);

/* Append ".<text>" to the suffix. */
static struct status push(struct dump_reading *r, const char *text, size_t length)
{
    if (r->suffix.length + length > NAME_LIMIT) {
        (void)json_fail(&r->json, r->json.at, "the name of an argument is too long");
        return status_ok();
    }
    TRY(csv_append_bytes(&r->suffix, ".", 1));
    return csv_append_bytes(&r->suffix, text, length);
}

static struct status walk_array(struct dump_reading *r)
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

static struct status walk_object(struct dump_reading *r)
{
    size_t length = r->suffix.length;
    struct json_slice key;

    if (!json_enter_object(&r->json)) return status_ok();
    while (json_object_next(&r->json, &key)) {
        TRY(dump_text_decode(&r->text, &key));
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

static struct status add_leaf(struct dump_reading *r, struct json *json)
{
    struct dump_leaf leaf;
    enum json_kind kind;

    memset(&leaf, 0, sizeof leaf);
    if (!json_peek(json, &kind)) return status_ok();
    if (kind != JSON_OBJECT) return add_row(r, NULL, PLACE_NONE);
    uint64_t place = (uint64_t)(json->at - json->start);
    return dump_leaf_take(json, &leaf) ? add_row(r, &leaf, place) : status_ok();
}

/* One operation of a batch of sends and receives: its tensor is the row. */
static struct status add_p2p(struct dump_reading *r, struct json tensor)
{
    if (tensor.start) TRY(add_leaf(r, &tensor));
    else TRY(add_row(r, NULL, PLACE_NONE));
    (void)json_skip(&r->json);
    return status_ok();
}

static struct status walk(struct dump_reading *r)
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

static struct status walk_section(struct dump_reading *r, const struct json_slice *key)
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

static struct status walk_entry(struct dump_reading *r)
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

static struct status add_entry(struct dump_reading *r, const struct json_slice *key)
{
    struct dump_rows *dump = r->dump;

    TRY(make_room(&dump->entries, &dump->entry_room, dump->n_entries, sizeof *dump->entries));
    if (key->bytes > NAME_LIMIT || !key->bytes) {
        (void)json_fail(&r->json, key->text, "the name of an entry has 1 to 1024 bytes");
        return status_ok();
    }
    TRY(dump_text_decode(&r->entry, key));
    r->entry_is_formula = csv_is_formula(r->entry.data, r->entry.length);
    struct dump_entry *entry = &dump->entries[dump->n_entries++];
    entry->first_row = dump->n_rows;
    TRY(text_table_add(&entry->name, NULL, &dump->names, r->entry.data, r->entry.length));
    TRY(walk_entry(r));
    entry->n_rows = dump->n_rows - entry->first_row;
    return sort_rows(dump, entry->first_row);
}

static struct status walk_data(struct dump_reading *r)
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

static struct status walk_file(bool *has_data, struct dump_reading *r)
{
    struct json_slice key;

    if (!json_enter_object(&r->json)) return status_ok();
    while (json_object_next(&r->json, &key)) {
        if (json_slice_is(&key, "data")) {
            *has_data = true;
            TRY(walk_data(r));
        } else if (json_slice_is(&key, "task")) (void)dump_take_string(&r->json, &r->task);
        else if (json_slice_is(&key, "framework")) (void)dump_take_string(&r->json, &r->framework);
        else (void)json_skip(&r->json);
    }
    (void)json_finish(&r->json);
    return status_ok();
}

static struct status set_kind(struct dump_reading *r)
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
static struct status set_framework(struct dump_reading *r)
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

static struct status read_map(struct dump_reading *r)
{
    bool has_data = false;

    /* From now on the buffers point somewhere, whatever their length. */
    TRY(csv_append_bytes(&r->entry, "", 1));
    TRY(csv_append_bytes(&r->suffix, "", 1));
    TRY(csv_append_bytes(&r->text, "", 1));
    TRY(dump_text_intern(&r->texts_none, r, "None", 4));
    TRY(dump_text_intern(&r->texts_empty_list, r, "[]", 2));
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
static struct status read_all(struct dump_reading *r)
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
    struct dump_reading r = { .dump = out, .name = shown.text, .is_mapped = true };
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
    struct dump_reading r = { .dump = out, .name = name, .map = { text, bytes } };
    *out = (struct dump_rows){ .is_debug = false };
    return read_all(&r);
}
