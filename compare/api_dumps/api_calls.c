/* Reads the calls of one step from its dump, in order, with the places of their data. */
#include "compare/api_dumps/api_calls.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/directory.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_pool.h"
#include "formats/csv.h"
#include "formats/json.h"

enum { MAX_NAME = 512, MAX_NPY_FILES = 1 << 22 };

const char *const api_framework_names[API_FRAMEWORKS] = { "mindtorch", "mindspore", "pytorch" };

/* By framework, in the order in which they are looked for. */
static const char *const prefixes[API_FRAMEWORKS] = { "mindtorch", "mindspore", "torch" };

/* A data name in its parts. Texts end behind their length, not with a NUL. */
struct data_name {
    const char *type, *name;
    size_t type_length, name_length;
    size_t shown_length; /* of the whole name's beginning that is the call's */
    bool is_layer;
    enum api_section section;
    int i, j;
};

struct calls_reader {
    struct api_calls *calls;
    struct api_vocabulary *vocabulary;
    struct text_pool texts;
    struct text_table known; /* shown names of the calls of this step */
    size_t *by_name;         /* by number there: the last call of that name */
    size_t by_name_room;
    struct api_step *step; /* that is being read, or NULL */
    bool in_backward;
    struct csv_buffer text; /* scratch */
    const char *path;
    uint64_t line;
};

struct status api_vocabulary_create(struct api_vocabulary *out)
{
    *out = (struct api_vocabulary){ 0 };
    TRY(api_names_load(&out->names));
    struct status status = text_table_create(&out->texts);
    if (!status.code) status = text_table_add(&out->no_shapes, NULL, &out->texts, "", 1);
    if (status.code) api_vocabulary_release(out);
    return status;
}

void api_vocabulary_release(struct api_vocabulary *vocabulary)
{
    api_names_release(&vocabulary->names);
    text_table_release(&vocabulary->texts);
}

/* ---- data names ------------------------------------------------------------------------- */

/* Take ".3" off the end. */
static bool take_index(int *index, const char *text, size_t *length)
{
    size_t digits = 0;
    while (digits < *length && isdigit((unsigned char)text[*length - digits - 1])) digits++;
    if (!digits || digits > 6 || digits == *length || text[*length - digits - 1] != '.')
        return false;
    *index = (int)strtol(text + *length - digits, NULL, 10);
    *length -= digits + 1;
    return true;
}

static bool take_end(const char *text, size_t *length, const char *end)
{
    size_t bytes = strlen(end);
    if (*length <= bytes || memcmp(text + *length - bytes, end, bytes) != 0) return false;
    *length -= bytes;
    return true;
}

static bool take_section(enum api_section *section, const char *text, size_t *length)
{
    static const char *const ends[API_SECTIONS] = { "_forward_input", "_forward_output",
                                                    "_backward_input", "_backward_output" };
    for (int i = 0; i < API_SECTIONS; i++) {
        *section = (enum api_section)i;
        if (take_end(text, length, ends[i])) return true;
    }
    return false;
}

/* {type}_{name}_{count}: the type has no underscore, the count is digits, the name is the rest. */
static bool split_call(struct data_name *out, const char *text, size_t length)
{
    const char *under = memchr(text, '_', length);
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)text[length - digits - 1])) digits++;
    if (!under || under == text || !digits || digits == length || text[length - digits - 1] != '_')
        return false;
    const char *end = text + length - digits - 1;
    if (under + 1 >= end) return false;
    out->type = text;
    out->type_length = (size_t)(under - text);
    out->name = under + 1;
    out->name_length = (size_t)(end - under - 1);
    return true;
}

static bool split_name(struct data_name *out, const char *text, size_t length)
{
    int last = 0, before = 0;

    *out = (struct data_name){ 0 };
    if (take_index(&last, text, &length)) {
        bool both = take_index(&before, text, &length);
        out->i = both ? before : last;
        out->j = both ? last : 0;
    }
    if (!take_section(&out->section, text, &length)) return false;
    out->shown_length = length;
    out->is_layer = length > 6 && !memcmp(text, "LAYER_", 6);
    if (!out->is_layer) return split_call(out, text, length);
    out->type = text;
    out->type_length = 5;
    out->name = text + 6;
    out->name_length = length - 6;
    return true;
}

/* ---- calls ------------------------------------------------------------------------------ */

static struct status begin_step(struct calls_reader *reader)
{
    struct api_calls *calls = reader->calls;

    TRY(array_make_room(&calls->steps, &calls->steps_room, calls->n_steps, sizeof *calls->steps));
    reader->step = &calls->steps[calls->n_steps++];
    *reader->step = (struct api_step){ 0 };
    reader->in_backward = false;
    text_table_release(&reader->known);
    reader->known = (struct text_table){ 0 };
    return text_table_create(&reader->known);
}

static int kind_of(const struct data_name *name)
{
    static const char *const types[] = { "nn", "functional", "tensor" };
    int kind = 0;
    while (kind < 3 && (strlen(types[kind]) != name->type_length ||
                        strncasecmp(types[kind], name->type, name->type_length) != 0))
        kind++;
    return kind;
}

/* A call of the step begins. */
static struct status add_call(struct calls_reader *reader, const struct data_name *name,
                              const char *text)
{
    struct api_step *step = reader->step;
    uint32_t number;

    TRY(array_make_room(&step->calls, &step->room, step->count, sizeof *step->calls));
    struct api_call *call = &step->calls[step->count];
    *call = (struct api_call){ .is_layer = name->is_layer, .kind = kind_of(name) };
    call->shown = text_pool_copy(&reader->texts, text, name->shown_length);
    call->name = text_pool_copy(&reader->texts, name->name, name->name_length);
    if (!call->shown || !call->name) return status_no_memory(0);
    TRY(text_table_add(&number, NULL, &reader->known, text, name->shown_length));
    TRY(array_make_room(&reader->by_name, &reader->by_name_room, number, sizeof *reader->by_name));
    reader->by_name[number] = step->count++;
    return status_ok();
}

/* The call that a forward line belongs to: the last one, or a new one. */
static struct status forward_call(struct api_call **out, struct calls_reader *reader,
                                  const struct data_name *name, const char *text)
{
    if (!reader->step || reader->in_backward) TRY(begin_step(reader));
    struct api_step *step = reader->step;
    const struct api_call *last = step->count ? &step->calls[step->count - 1] : NULL;
    bool same = last && strlen(last->shown) == name->shown_length &&
                !memcmp(last->shown, text, name->shown_length);
    if (!same) TRY(add_call(reader, name, text));
    *out = &step->calls[step->count - 1];
    return status_ok();
}

/* The call that a backward line belongs to, NULL when there was none. */
static struct api_call *backward_call(struct calls_reader *reader, const struct data_name *name,
                                      const char *text)
{
    if (!reader->step) return NULL;
    reader->in_backward = true;
    uint32_t number = text_table_find(&reader->known, text, name->shown_length);
    return number == TEXT_NONE ? NULL : &reader->step->calls[reader->by_name[number]];
}

/* ---- lines ------------------------------------------------------------------------------ */

static struct status line_fault(const struct calls_reader *reader, const char *problem)
{
    return status_error(STATUS_BAD_INPUT, "%s, line %llu: %s", file_shown(reader->path).text,
                        (unsigned long long)reader->line, problem);
}

/* The list of extents. What is no list of sizes counts as a shape of its own without extents. */
static bool read_shape(struct json *json, struct api_data *data, int64_t shape[TENSOR_MAX_RANK])
{
    enum json_kind kind;
    struct json_number extent;

    if (!json_peek(json, &kind)) return false;
    if (kind != JSON_ARRAY) return json_skip(json);
    if (!json_enter_array(json)) return false;
    while (json_array_next(json)) {
        if (!json_number(json, &extent)) return false;
        if (!extent.is_int64 || extent.integer < 0 || data->rank == TENSOR_MAX_RANK)
            return json_fail(json, json->at, "not a shape of at most 16 extents");
        shape[data->rank++] = extent.integer;
    }
    return !json->problem;
}

/* [max, min, mean], as far as they are numbers. */
static bool read_statistics(struct json *json, struct api_data *data)
{
    double *const values[] = { &data->max, &data->min, &data->mean };
    enum json_kind kind;
    struct json_number number;

    if (!json_peek(json, &kind)) return false;
    if (kind != JSON_ARRAY) return json_skip(json);
    if (!json_enter_array(json)) return false;
    for (int i = 0; json_array_next(json); i++) {
        if (!json_peek(json, &kind)) return false;
        if (kind != JSON_NUMBER || i >= 3) {
            if (!json_skip(json)) return false;
        } else {
            if (!json_number(json, &number)) return false;
            *values[i] = number.real;
        }
    }
    return !json->problem;
}

/* The array of a line; its name as it stands between the quotes. */
static bool read_record(struct json *json, struct json_slice *name, struct api_data *data,
                        int64_t shape[TENSOR_MAX_RANK])
{
    size_t column = 0;
    if (!json_enter_array(json)) return false;
    for (; json_array_next(json); column++) {
        bool read = column == 0   ? json_string(json, name)
                    : column == 4 ? read_shape(json, data, shape)
                    : column == 5 ? read_statistics(json, data)
                                  : json_skip(json);
        if (!read) return false;
    }
    if (!json->problem && column < 5) return json_fail(json, json->at, "fewer than five items");
    return !json->problem && json_finish(json);
}

static struct status number_shape(struct calls_reader *reader, struct api_data *data,
                                  const int64_t *shape)
{
    int64_t *copy = arena_allocate_array(&reader->calls->arena, (size_t)data->rank, sizeof *copy);
    if (!copy) return status_no_memory(0);
    if (data->rank) memcpy(copy, shape, (size_t)data->rank * sizeof *copy);
    data->shape = copy;
    return text_table_add(&data->shape_id, NULL, &reader->vocabulary->texts,
                          data->rank ? (const char *)copy : "", (size_t)data->rank * sizeof *copy);
}

static struct status take_line(struct calls_reader *reader, const char *text, size_t bytes)
{
    struct api_data data = { .max = NAN, .min = NAN, .mean = NAN };
    int64_t shape[TENSOR_MAX_RANK];
    struct json json;
    struct json_slice slice = { 0 };
    struct data_name name;
    struct api_call *call;
    char problem[300];

    json_open(&json, text, bytes);
    if (!read_record(&json, &slice, &data, shape)) {
        json_describe_problem(problem, sizeof problem, &json);
        return line_fault(reader, problem);
    }
    if (slice.escaped || slice.bytes >= MAX_NAME || !split_name(&name, slice.text, slice.bytes)) {
        reader->calls->ignored++;
        return status_ok();
    }
    if (name.section >= BACKWARD_INPUT) call = backward_call(reader, &name, slice.text);
    else TRY(forward_call(&call, reader, &name, slice.text));
    if (!call) return status_ok();
    data.name = text_pool_copy(&reader->texts, slice.text, slice.bytes);
    if (!data.name) return status_no_memory(slice.bytes);
    data.i = name.i;
    data.j = name.j;
    TRY(number_shape(reader, &data, shape));
    struct api_data_list *list = &call->data[name.section];
    TRY(array_make_room(&list->items, &list->room, list->count, sizeof *list->items));
    list->items[list->count++] = data;
    return status_ok();
}

static struct status read_lines(struct calls_reader *reader, const char *text, size_t bytes)
{
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((line_end ? line_end : end) - at), blank = 0;
        reader->line++;
        while (blank < length && isspace((unsigned char)at[blank])) blank++;
        if (blank == length) break;
        TRY(take_line(reader, at, length));
        at += length + (line_end != NULL);
    }
    return status_ok();
}

/* ---- what calls are matched by ---------------------------------------------------------- */

/* Drop the data that do not take part, and number the others anew. */
static void reorder(struct api_call *call, const struct api_names *names, const char *type)
{
    static const char *const sections[] = { "input", "output" };
    for (int s = FORWARD_INPUT; s <= FORWARD_OUTPUT; s++) {
        struct api_data_list *list = &call->data[s];
        size_t kept = 0;
        for (size_t k = 0; k < list->count; k++) {
            int keep;
            if (!api_names_reorder(&keep, names, type, call->name, sections[s], list->items[k].i))
                keep = list->items[k].i;
            if (keep < 0) continue;
            list->items[kept] = list->items[k];
            list->items[kept++].i = keep;
        }
        list->count = kept;
    }
}

static double size_of(const struct api_data_list *list)
{
    double size = 1;
    for (size_t i = 0; i < list->count; i++)
        for (int d = 0; d < list->items[i].rank; d++) size *= (double)list->items[i].shape[d];
    return size;
}

/* A number for the list of shapes. */
static struct status number_shapes(uint32_t *id, struct calls_reader *reader,
                                   const struct api_data_list *list)
{
    csv_buffer_clear(&reader->text);
    TRY(csv_append_bytes(&reader->text, "", 1)); /* an empty list has a text, too */
    for (size_t i = 0; i < list->count; i++)
        TRY(csv_append_bytes(&reader->text, (const char *)&list->items[i].shape_id,
                             sizeof list->items[i].shape_id));
    return text_table_add(id, NULL, &reader->vocabulary->texts, reader->text.data,
                          reader->text.length);
}

static struct status describe(struct calls_reader *reader, struct api_call *call)
{
    struct api_vocabulary *vocabulary = reader->vocabulary;
    enum api_framework framework = reader->calls->framework;
    char type[MAX_NAME], unified[2 * MAX_NAME];
    int type_length = (int)(strchr(call->shown, '_') - call->shown);

    (void)snprintf(type, sizeof type, "%.*s", type_length, call->shown);
    if (framework != API_MINDTORCH) reorder(call, &vocabulary->names, type);
    TRY(number_shapes(&call->inputs_id, reader, &call->data[FORWARD_INPUT]));
    TRY(number_shapes(&call->outputs_id, reader, &call->data[FORWARD_OUTPUT]));
    TRY(text_table_add(&call->name_id, NULL, &vocabulary->texts, call->name, strlen(call->name)));
    size_t length = api_names_unify(unified, sizeof unified, &vocabulary->names,
                                    framework == API_PYTORCH, type, call->name);
    csv_buffer_clear(&reader->text);
    TRY(csv_append_bytes(&reader->text, unified, length + 1));
    TRY(csv_append_bytes(&reader->text, (const char *)&call->inputs_id, sizeof call->inputs_id));
    TRY(csv_append_bytes(&reader->text, (const char *)&call->outputs_id, sizeof call->outputs_id));
    TRY(text_table_add(&call->attribute, NULL, &vocabulary->texts, reader->text.data,
                       reader->text.length));
    double in = size_of(&call->data[FORWARD_INPUT]), out = size_of(&call->data[FORWARD_OUTPUT]);
    call->ratio = in < out ? in / (out + 1e-6) : out / (in + 1e-6);
    return status_ok();
}

static int by_place(const void *a, const void *b)
{
    const struct api_data *x = a, *y = b;
    if (x->i != y->i) return (x->i > y->i) - (x->i < y->i);
    if (x->j != y->j) return (x->j > y->j) - (x->j < y->j);
    return strcmp(x->name, y->name);
}

static struct status describe_calls(struct calls_reader *reader)
{
    struct api_calls *calls = reader->calls;
    for (size_t s = 0; s < calls->n_steps; s++)
        for (size_t i = 0; i < calls->steps[s].count; i++) {
            struct api_call *call = &calls->steps[s].calls[i];
            for (int k = 0; k < API_SECTIONS; k++)
                if (call->data[k].count)
                    qsort(call->data[k].items, call->data[k].count, sizeof *call->data[k].items,
                          by_place);
            TRY(describe(reader, call));
        }
    return status_ok();
}

/* ---- files ------------------------------------------------------------------------------ */

/* The info file of the first framework that has one. */
static struct status find_info(char **path, struct api_calls *calls, const char *folder)
{
    static const char *const suffixes[] = { "pkl", "csv" };
    for (int f = 0; f < API_FRAMEWORKS; f++)
        for (int s = 0; s < 2; s++) {
            char *name = arena_format(&calls->arena, "%s/rank0/%s_api_dump_info.%s", folder,
                                      prefixes[f], suffixes[s]);
            if (!name) return status_no_memory(0);
            if (!file_exists(name)) continue;
            calls->framework = (enum api_framework)f;
            *path = name;
            return status_ok();
        }
    return status_error(STATUS_BAD_INPUT,
                        "%s is no API dump: it has no rank0/{mindtorch|mindspore|torch}"
                        "_api_dump_info.{pkl|csv}",
                        file_shown(folder).text);
}

/* The folder of the data, when there are any. */
static struct status find_data(struct api_calls *calls, const char *folder)
{
    struct directory_names names;
    char *path =
        arena_format(&calls->arena, "%s/rank0/%s_api_dump", folder, prefixes[calls->framework]);

    if (!path) return status_no_memory(0);
    if (!directory_exists(path)) return status_ok();
    TRY(directory_list(&names, path, MAX_NPY_FILES));
    if (names.count) calls->data_folder = path;
    directory_release(&names);
    return status_ok();
}

struct status api_calls_parse(struct api_calls *out, struct api_vocabulary *vocabulary,
                              enum api_framework framework, const char *name, const char *text,
                              size_t bytes)
{
    struct calls_reader reader = { .calls = out, .vocabulary = vocabulary, .path = name };

    out->framework = framework;
    reader.texts.arena = &out->arena;
    struct status status = read_lines(&reader, text, bytes);
    if (!status.code) status = describe_calls(&reader);
    text_table_release(&reader.known);
    memory_release(reader.by_name);
    csv_buffer_release(&reader.text);
    return status;
}

struct status api_calls_read(struct api_calls *out, struct api_vocabulary *vocabulary,
                             const char *folder, struct file_policy policy)
{
    struct file file = FILE_NONE;
    struct file_map map = { 0 };
    char *path = NULL;

    *out = (struct api_calls){ 0 };
    TRY(find_info(&path, out, folder));
    TRY(find_data(out, folder));
    TRY(file_open_read(&file, path, policy));
    struct status status = file_map(&map, &file);
    if (!status.code)
        status = api_calls_parse(out, vocabulary, out->framework, path, map.data, map.bytes);
    if (map.data) file_unmap(&map);
    (void)file_close(&file);
    return status;
}

void api_calls_release(struct api_calls *calls)
{
    for (size_t s = 0; s < calls->n_steps; s++) {
        for (size_t i = 0; i < calls->steps[s].count; i++)
            for (int k = 0; k < API_SECTIONS; k++)
                memory_release(calls->steps[s].calls[i].data[k].items);
        memory_release(calls->steps[s].calls);
    }
    memory_release(calls->steps);
    arena_release(&calls->arena);
    *calls = (struct api_calls){ 0 };
}
