/* Names with the place of their frames in the mapped file; frames are read when they are shown. */
#include "formats/stacks.h"

#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_table.h"
#include "formats/csv.h"

struct stacks {
    struct file_map map;
    bool is_mapped; /* `map` is ours to unmap */
    struct text_table names;
    size_t *frames; /* by name: where in the map the array begins */
    size_t room;
    struct csv_buffer text;
};

static struct status add_name(struct stacks *stacks, const struct json_slice *name, size_t frames)
{
    uint32_t number;

    csv_buffer_clear(&stacks->text);
    TRY(csv_append_bytes(&stacks->text, name->text, name->bytes));
    TRY(csv_append_bytes(&stacks->text, "", 1));
    size_t length = name->bytes;
    if (name->escaped) length = json_slice_decode_into(stacks->text.data, name);
    TRY(text_table_add(&number, NULL, &stacks->names, stacks->text.data, length));
    TRY(array_make_room(&stacks->frames, &stacks->room, number, sizeof *stacks->frames));
    stacks->frames[number] = frames;
    return status_ok();
}

/* The array of frames that comes next: strings. */
static bool skip_frames(struct json *json)
{
    enum json_kind kind;
    struct json_slice frame;

    if (!json_peek(json, &kind)) return false;
    if (kind != JSON_ARRAY) return json_fail_expected(json, json->at, "a list of frames");
    if (!json_enter_array(json)) return false;
    while (json_array_next(json))
        if (!json_string(json, &frame)) return false;
    return !json->problem;
}

static size_t offset_of(const struct json *json) { return (size_t)(json->at - json->start); }

/* [[api, ...], [frame, ...]]: the names are read when it is known where the frames are. */
static struct status read_group(struct stacks *stacks, struct json *json)
{
    struct json names = { 0 };
    struct json_slice name;
    size_t items = 0, frames = 0;

    if (!json_enter_array(json)) return status_ok();
    for (; json_array_next(json); items++) {
        if (items == 0) names = *json;
        if (items == 1) frames = offset_of(json);
        if (items == 1 ? !skip_frames(json) : !json_skip(json)) return status_ok();
    }
    if (json->problem) return status_ok();
    if (items != 2) {
        (void)json_fail_expected(json, json->at, "a list of calls and a list of frames");
        return status_ok();
    }
    if (json_enter_array(&names))
        while (json_array_next(&names) && json_string(&names, &name))
            TRY(add_name(stacks, &name, frames));
    if (names.problem) *json = names;
    return status_ok();
}

/* Is it the grouped layout: has it a key "0" with something in it? */
static bool is_grouped(struct json json)
{
    struct json_slice key;
    enum json_kind kind;

    if (!json_enter_object(&json)) return false;
    while (json_object_next(&json, &key)) {
        if (json_slice_is(&key, "0") && json_peek(&json, &kind) && kind == JSON_ARRAY)
            return json_enter_array(&json) && json_array_next(&json);
        if (!json_skip(&json)) return false;
    }
    return false;
}

static struct status read_all(struct stacks *stacks, struct json *json)
{
    bool grouped = is_grouped(*json);
    struct json_slice key;

    if (!json_enter_object(json)) return status_ok();
    while (json_object_next(json, &key)) {
        if (grouped) TRY(read_group(stacks, json));
        else {
            enum json_kind kind;
            if (!json_peek(json, &kind)) break;
            size_t frames = offset_of(json);
            if (!skip_frames(json)) break;
            TRY(add_name(stacks, &key, frames));
        }
        if (json->problem) return status_ok();
    }
    (void)json_finish(json);
    return status_ok();
}

/* Read what stacks->map has; the stacks are closed on failure. */
static struct status read_map(struct stacks **out, struct stacks *stacks, const char *name)
{
    struct json json;
    struct status status = text_table_create(&stacks->names);
    if (!status.code) {
        json_open(&json, stacks->map.data, stacks->map.bytes);
        status = read_all(stacks, &json);
        if (!status.code) status = json_status(&json, name, STATUS_BAD_INPUT);
    }
    if (status.code) stacks_close(stacks);
    else *out = stacks;
    return status;
}

struct status stacks_open_beside(struct stacks **out, const char *dump_path,
                                 struct file_policy file_policy)
{
    char path[4096 + sizeof "stack.json"];
    const char *slash = strrchr(dump_path, '/');
    int length = snprintf(path, sizeof path, "%.*sstack.json",
                          slash ? (int)(slash - dump_path + 1) : 0, dump_path);
    *out = NULL;
    if (length >= (int)sizeof path || !file_exists(path)) return status_ok();
    return stacks_open(out, path, file_policy);
}

struct status stacks_open(struct stacks **out, const char *path, struct file_policy file_policy)
{
    struct file file = FILE_NONE;

    *out = NULL;
    TRY(file_open_read(&file, path, file_policy));
    struct stacks *stacks = memory_allocate_zeroed(1, sizeof *stacks);
    struct status status = stacks ? file_map(&stacks->map, &file)
                                  : status_no_memory(sizeof *stacks);
    (void)file_close(&file);
    if (status.code) {
        stacks_close(stacks);
        return status;
    }
    stacks->is_mapped = true;
    return read_map(out, stacks, file_shown(path).text);
}

struct status stacks_read(struct stacks **out, const char *name, const char *text, size_t bytes)
{
    *out = NULL;
    struct stacks *stacks = memory_allocate_zeroed(1, sizeof *stacks);
    if (!stacks) return status_no_memory(sizeof *stacks);
    stacks->map = (struct file_map){ text, bytes };
    return read_map(out, stacks, name);
}

void stacks_close(struct stacks *stacks)
{
    if (!stacks) return;
    if (stacks->is_mapped) file_unmap(&stacks->map);
    if (stacks->names.slots) text_table_release(&stacks->names);
    memory_release(stacks->frames);
    csv_buffer_release(&stacks->text);
    memory_release(stacks);
}

bool stacks_find(struct json *json, const struct stacks *stacks, const char *entry, size_t length)
{
    uint32_t number = text_table_find(&stacks->names, entry, length);
    if (number == TEXT_NONE) return false;
    const char *start = stacks->map.data;
    json_open(json, start + stacks->frames[number], stacks->map.bytes - stacks->frames[number]);
    return true;
}

bool stacks_have(const struct stacks *stacks, const char *entry, size_t length)
{
    return text_table_find(&stacks->names, entry, length) != TEXT_NONE;
}
