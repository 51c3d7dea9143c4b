/* A rank folder as one side of a graph. */
#include "graph/side.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "graph/build.h"

static struct status path_in(char path[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    if (length > 0 && length < PATH_MAX) return status_ok();
    return status_error(STATUS_BAD_INPUT, "'%s' is too long a path", file_shown(folder).text);
}

/* ---- the hierarchy ---------------------------------------------------------------------- */

static bool is_gradient(struct name_slice name)
{
    struct name_slice last = name_part_from_end(name, 1);
    if (name_is_number(last)) last = name_part_from_end(name, 2);
    return name_slice_is(last, "parameters_grad");
}

/* The names of entries that hold gradients of parameters. */
static struct status list_gradients(struct name_slice **out, size_t *count,
                                    const struct dump_rows *rows)
{
    *count = 0;
    *out = memory_allocate(((size_t)rows->n_entries + 1) * sizeof **out);
    if (!*out) return status_no_memory(rows->n_entries * sizeof **out);
    for (uint32_t entry = 0; entry < rows->n_entries; entry++) {
        size_t length;
        const char *name = dump_entry_name(rows, entry, &length);
        struct name_slice slice = name_slice_of(name, length);
        if (is_gradient(slice)) (*out)[(*count)++] = slice;
    }
    return status_ok();
}

static struct status build_model(struct graph_side *side, const char *folder,
                                 struct file_policy policy)
{
    char path[PATH_MAX];
    struct construct construct;
    struct name_slice *gradients;
    size_t n_gradients;

    TRY(path_in(path, folder, "construct.json"));
    TRY(construct_read(&construct, path, policy));
    struct status status = list_gradients(&gradients, &n_gradients, side->rows);
    if (!status.code && !construct.n_links)
        status = status_error(STATUS_BAD_INPUT,
                              "%s: it is empty, so the structure of the model is not known; dump "
                              "with level L0 or mix",
                              file_shown(path).text);
    if (!status.code) status = model_build(&side->model, &construct, gradients, n_gradients);
    memory_release(gradients);
    construct_close(&construct);
    return status;
}

enum { WORD_INPUT = 1, WORD_OUTPUT = 2 };

static uint8_t words_in(const char *name, size_t length)
{
    return (uint8_t)((memmem(name, length, ".input.", 7) ? WORD_INPUT : 0) |
                     (memmem(name, length, ".output.", 8) ? WORD_OUTPUT : 0));
}

static struct status link_entries(struct graph_side *side)
{
    size_t bytes = side->model.n_nodes * sizeof *side->entry_of;
    side->entry_of = memory_allocate(bytes);
    side->match = memory_allocate(bytes);
    if (!side->entry_of || !side->match) return status_no_memory(bytes);
    memset(side->entry_of, 0xff, bytes);
    memset(side->match, 0xff, bytes);
    side->entry_words = memory_allocate((size_t)side->rows->n_entries + 1);
    if (!side->entry_words) return status_no_memory(side->rows->n_entries);
    for (uint32_t entry = 0; entry < side->rows->n_entries; entry++) {
        size_t length;
        const char *name = dump_entry_name(side->rows, entry, &length);
        uint32_t node = model_find(&side->model, name, length);
        if (node != NODE_NONE) side->entry_of[node] = entry;
        side->entry_words[entry] = words_in(name, length);
    }
    return status_ok();
}

/* ---- the texts -------------------------------------------------------------------------- */

static struct status map_dump(struct graph_side *side, const char *folder,
                              struct file_policy policy)
{
    char path[PATH_MAX];
    struct file file;
    TRY(path_in(path, folder, "dump.json"));
    TRY(file_open_read(&file, path, policy));
    struct status status = file_map(&side->dump, &file);
    (void)file_close(&file);
    return status;
}

/* `dump_data_dir` stands before the data. */
static struct status read_data_folder(struct graph_side *side)
{
    struct json json;
    struct json_slice key, value = { "", 0, false };
    enum json_kind kind;

    json_open(&json, side->dump.data, side->dump.bytes);
    if (json_enter_object(&json))
        while (json_object_next(&json, &key) && !json_slice_is(&key, "data")) {
            bool wanted = json_slice_is(&key, "dump_data_dir") && json_peek(&json, &kind) &&
                          kind == JSON_STRING;
            if (!(wanted ? json_string(&json, &value) : json_skip(&json))) break;
        }
    side->data_folder = memory_allocate(value.bytes + 1);
    if (!side->data_folder) return status_no_memory(value.bytes + 1);
    side->data_folder[json_slice_decode_into(side->data_folder, &value)] = '\0';
    return status_ok();
}

static struct status read_stacks(struct graph_side *side, const char *folder,
                                 struct file_policy policy)
{
    char path[PATH_MAX];
    TRY(path_in(path, folder, "stack.json"));
    return stacks_open(&side->stacks, path, policy);
}

static struct status open_parts(struct graph_side *side, const char *folder,
                                struct file_policy policy)
{
    TRY(map_dump(side, folder, policy));
    TRY(read_data_folder(side));
    TRY(build_model(side, folder, policy));
    TRY(link_entries(side));
    return read_stacks(side, folder, policy);
}

struct status graph_side_open(struct graph_side *out, const char *folder,
                              const struct dump_rows *rows, struct file_policy policy)
{
    *out = (struct graph_side){ .rows = rows };
    struct status status = open_parts(out, folder, policy);
    if (status.code) graph_side_close(out);
    return status;
}

void side_parts_release(struct side_parts *parts)
{
    model_close(&parts->model);
    csv_buffer_release(&parts->dump);
    csv_buffer_release(&parts->stacks);
    if (parts->notes.slots) text_table_release(&parts->notes);
    memory_release(parts->note_of);
    *parts = (struct side_parts){ .note_of = NULL };
}

static struct status take_parts(struct graph_side *side, struct side_parts *parts)
{
    side->model = parts->model;
    parts->model = (struct model){ 0 };
    TRY(read_data_folder(side));
    TRY(link_entries(side));
    return stacks_read(&side->stacks, "the merged stacks", parts->stacks.data,
                       parts->stacks.length);
}

struct status graph_side_take(struct graph_side *out, struct side_parts *parts,
                              const struct dump_rows *rows)
{
    *out = (struct graph_side){ .rows = rows,
                                .dump = { parts->dump.data, parts->dump.length },
                                .is_merged = true,
                                .merge_notes = &parts->notes,
                                .merge_note_of = parts->note_of };
    struct status status = take_parts(out, parts);
    if (status.code) graph_side_close(out);
    return status;
}

void graph_side_close(struct graph_side *side)
{
    model_close(&side->model);
    if (side->dump.data && !side->is_merged) file_unmap(&side->dump);
    stacks_close(side->stacks);
    memory_release(side->data_folder);
    memory_release(side->entry_of);
    memory_release(side->entry_words);
    memory_release(side->match);
    *side = (struct graph_side){ 0 };
}

const char *node_merge_notes(const struct graph_side *side, uint32_t node, size_t *length)
{
    if (!side->merge_note_of || side->merge_note_of[node] == TEXT_NONE) return NULL;
    return text_table_get(side->merge_notes, side->merge_note_of[node], length);
}

/* ---- what others ask -------------------------------------------------------------------- */

struct row_range node_rows(const struct graph_side *side, uint32_t node)
{
    uint32_t entry = side->entry_of[node];
    if (entry == ENTRY_NONE) return (struct row_range){ 0, 0 };
    const struct dump_entry *e = &side->rows->entries[entry];
    return (struct row_range){ e->first_row, e->n_rows };
}

bool row_record(struct json *record, const struct graph_side *side, uint32_t row)
{
    uint64_t place = side->rows->places[row];
    if (place == PLACE_NONE || place >= side->dump.bytes) return false;
    json_open(record, (const char *)side->dump.data + place, side->dump.bytes - place);
    return true;
}

static uint32_t node_of_key(const struct graph_side *side, const struct json_slice *key,
                            const char *prefix)
{
    char name[NAME_BUFFER];
    struct name_slice slice = name_slice_of(key->text, key->bytes);
    if (key->escaped && key->bytes < sizeof name)
        slice = name_slice_of(name, json_slice_decode_into(name, key));
    return name_starts_with(slice, prefix) ? model_find(&side->model, slice.text, slice.length)
                                           : NODE_NONE;
}

static void note_records(uint64_t *places, const struct graph_side *side, const char *prefix)
{
    struct json json;
    struct json_slice key;
    enum json_kind kind;
    json_open(&json, side->dump.data, side->dump.bytes);
    if (!json_enter_object(&json)) return;
    while (json_object_next(&json, &key) && !json_slice_is(&key, "data"))
        if (!json_skip(&json)) return;
    if (json.problem || !json_peek(&json, &kind) || kind != JSON_OBJECT) return;
    if (!json_enter_object(&json)) return;
    while (json_object_next(&json, &key)) {
        uint32_t node = node_of_key(side, &key, prefix);
        if (node != NODE_NONE) places[node] = (uint64_t)(json.at - json.start);
        if (!json_skip(&json)) return;
    }
}

struct status side_find_records(uint64_t **places, const struct graph_side *side,
                                const char *prefix)
{
    size_t bytes = (size_t)side->model.n_nodes * sizeof **places;
    *places = memory_allocate(bytes);
    if (!*places) return status_no_memory(bytes);
    memset(*places, 0xff, bytes);
    note_records(*places, side, prefix);
    return status_ok();
}

bool row_is_shown_as_output(const struct graph_side *side, uint32_t row)
{
    const struct dump_row *r = &side->rows->rows[row];
    unsigned words = side->entry_words[r->entry];
    if (r->state == STATE_INPUT) words |= WORD_INPUT;
    else if (r->state == STATE_OUTPUT) words |= WORD_OUTPUT;
    else {
        size_t length;
        const char *suffix = text_table_get(&side->rows->texts, r->suffix, &length);
        words |= words_in(suffix, length);
    }
    return words == WORD_OUTPUT;
}

/* The forward call whose stack a backward one takes: of a module that was called several times the first
 * tells where it was. The length of its name, 0 when the node does not go backward. */
static size_t stack_twin(char twin[NAME_BUFFER], struct name_slice name)
{
    struct name_slice number = name_part_from_end(name, 1);
    if (name_direction(name) != DIRECTION_BACKWARD) return 0;
    size_t length = name_turn(twin, name, DIRECTION_FORWARD);
    if (length && name_is_number(number)) {
        length -= number.length;
        twin[length++] = '0';
    }
    return length;
}

bool node_stack(struct json *frames, const struct graph_side *side, uint32_t node)
{
    char twin[NAME_BUFFER];
    struct name_slice name = model_name(&side->model, node);
    if (!side->stacks) return false;
    if (stacks_find(frames, side->stacks, name.text, name.length)) return true;
    size_t length = stack_twin(twin, name);
    return length && stacks_find(frames, side->stacks, twin, length);
}

bool node_lacks_forward(const struct graph_side *side, uint32_t node)
{
    char twin[NAME_BUFFER];
    struct name_slice name = model_name(&side->model, node);
    size_t length = stack_twin(twin, name);
    if (!length || model_find(&side->model, twin, length) != NODE_NONE) return false;
    return !side->stacks || !stacks_have(side->stacks, name.text, name.length);
}
