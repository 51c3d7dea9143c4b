/* Reading of packed goldens: one JSON record per line, tensors as .npy inside one blob. */
#include "bench/golden.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "formats/npy.h"

struct golden_file {
    FILE *index;
    char *line;
    size_t capacity;
    unsigned char *blob;
};

struct golden_file *golden_open(const char *folder)
{
    char path[1024];
    struct golden_file *file = calloc(1, sizeof *file);

    snprintf(path, sizeof path, "%s/index.jsonl", folder);
    file->index = fopen(path, "r");
    snprintf(path, sizeof path, "%s/tensors.bin", folder);
    FILE *blob = fopen(path, "rb");
    if (!file->index || !blob) return NULL;
    fseek(blob, 0, SEEK_END);
    size_t bytes = (size_t)ftell(blob);
    rewind(blob);
    file->blob = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    bool complete = fread(file->blob, 1, bytes, blob) == bytes;
    fclose(blob);
    return complete ? file : NULL;
}

void golden_close(struct golden_file *file)
{
    fclose(file->index);
    free(file->line);
    free(file->blob);
    free(file);
}

static struct tensor *read_tensor(struct golden_file *file, const cJSON *place, enum dtype dtype,
                                  struct arena *arena)
{
    struct tensor stored, *out = arena_allocate(arena, sizeof *out);
    size_t offset = (size_t)cJSON_GetArrayItem(place, 0)->valuedouble;
    size_t bytes = (size_t)cJSON_GetArrayItem(place, 1)->valuedouble;
    struct status st = npy_read(&stored, arena, file->blob + offset, bytes, "golden");
    if (st.code) {
        fprintf(stderr, "%s\n", st.text);
        exit(1);
    }
    if (dtype == DT_NONE || dtype == stored.dtype) {
        *out = stored;
        return out;
    }
    /* bfloat16 is stored as float32. */
    struct tensor dense;
    if (tensor_densify(&dense, arena, &stored).code ||
        tensor_create(out, arena, dtype, stored.rank, stored.shape).code)
        exit(1);
    size_t n = tensor_elements(&dense);
    double *pairs = arena_allocate(arena, 2 * n * sizeof *pairs);
    dtype_to_double(pairs, dense.data, dense.dtype, n);
    dtype_from_double(out->data, dtype, pairs, n);
    return out;
}

static struct value to_value(struct golden_file *file, const cJSON *json, struct arena *arena);

static struct value list_value(struct golden_file *file, const cJSON *json, enum value_kind kind,
                               struct arena *arena)
{
    struct value v = { .kind = kind };
    v.list.count = (size_t)cJSON_GetArraySize(json);
    v.list.items = arena_allocate_zeroed(arena, v.list.count, sizeof *v.list.items);
    v.list.keys = arena_allocate_zeroed(arena, v.list.count, sizeof *v.list.keys);
    size_t i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        v.list.items[i] = to_value(file, item, arena);
        v.list.keys[i] = item->string ? arena_copy_string(arena, item->string) : NULL;
        i++;
    }
    return v;
}

static struct value tensor_value(struct golden_file *file, const cJSON *json, struct arena *arena)
{
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    struct value v = { .kind = VALUE_TENSOR };
    const cJSON *place = cJSON_GetObjectItem(json, "file");
    const cJSON *dtype = cJSON_GetObjectItem(json, "dtype");
    record->dtype_name = cJSON_IsString(dtype) ? arena_copy_string(arena, dtype->valuestring) : "";
    record->dtype = dtype_from_name(record->dtype_name);
    record->requires_grad = cJSON_IsTrue(cJSON_GetObjectItem(json, "requires_grad"));
    const cJSON *extent;
    cJSON_ArrayForEach(extent, cJSON_GetObjectItem(json, "shape"))
        record->shape[record->rank++] = (int64_t)extent->valuedouble;
    v.tensor.record = record;
    v.tensor.tensor = place && !cJSON_GetObjectItem(json, "file_dtype")
                          ? read_tensor(file, place, record->dtype, arena)
                          : NULL;
    return v;
}

static struct value to_value(struct golden_file *file, const cJSON *json, struct arena *arena)
{
    struct value v = { .kind = VALUE_NONE };
    if (cJSON_IsArray(json)) return list_value(file, json, VALUE_LIST, arena);
    if (!cJSON_IsObject(json)) return v;
    const cJSON *type = cJSON_GetObjectItem(json, "type"),
                *value = cJSON_GetObjectItem(json, "value");
    if (!type) return list_value(file, json, VALUE_DICT, arena);
    const char *name = type->valuestring;
    if (!strcmp(name, "torch.Tensor")) return tensor_value(file, json, arena);
    if (!strcmp(name, "bool")) {
        v.kind = VALUE_BOOL;
        v.boolean = cJSON_IsTrue(value);
    } else if (!strcmp(name, "int")) {
        v.kind = VALUE_INT;
        v.integer = cJSON_IsString(value) ? strtoll(value->valuestring, NULL, 10)
                                          : (int64_t)value->valuedouble;
    } else if (!strcmp(name, "float")) {
        v.kind = VALUE_FLOAT;
        v.real = cJSON_IsString(value) ? strtod(value->valuestring, NULL) : value->valuedouble;
    } else if (!strcmp(name, "str")) {
        v.kind = VALUE_STRING;
        v.string = arena_copy_string(arena, value->valuestring);
    } else if (!strcmp(name, "torch.dtype")) {
        v.kind = VALUE_DTYPE;
        v.dtype = dtype_from_name(value->valuestring);
    } else if (!strcmp(name, "ellipsis")) {
        v.kind = VALUE_ELLIPSIS;
    } else if (!strcmp(name, "slice")) {
        v = list_value(file, value, VALUE_SLICE, arena);
        int i = 0;
        const cJSON *part;
        cJSON_ArrayForEach(part, value)
        {
            v.list.items[i] =
                (struct value){ .kind = cJSON_IsNumber(part) ? VALUE_INT : VALUE_NONE };
            if (cJSON_IsNumber(part)) v.list.items[i].integer = (int64_t)part->valuedouble;
            i++;
        }
    }
    return v;
}

/* Python's bare NaN and Infinity as what cJSON can read: strings. */
static void quote_specials(char *line)
{
    static const char *const words[] = { ":NaN", ":Infinity", ":-Infinity" };
    static const char *const swaps[] = { ":\"nan\"", ":\"inf\"", ":\"-inf\"" };
    for (int k = 0; k < 3; k++)
        for (char *at = strstr(line, words[k]); at; at = strstr(at + 1, words[k])) {
            size_t from = strlen(words[k]), to = strlen(swaps[k]);
            if (to > from) memmove(at + to, at + from, strlen(at + from) + 1);
            memcpy(at, swaps[k], to);
            for (size_t i = to; i < from; i++) at[i] = ' ';
        }
}

static void read_outputs(struct golden_file *file, struct golden *out, const cJSON *json,
                         struct arena *arena)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        if (cJSON_IsArray(item)) {
            read_outputs(file, out, item, arena);
            continue;
        }
        struct golden_tensor *t = &out->outputs[out->output_count++];
        const cJSON *place = cJSON_GetObjectItem(item, "file"),
                    *kind = cJSON_GetObjectItem(item, "file_dtype");
        const cJSON *dtype = cJSON_GetObjectItem(item, "dtype");
        if (!place) continue;
        t->present = true;
        t->dtype = cJSON_IsString(dtype) ? dtype_from_name(dtype->valuestring) : DT_NONE;
        t->is_float64 = kind && (!strcmp(kind->valuestring, "float64") ||
                                 !strcmp(kind->valuestring, "complex128"));
        t->tensor = *read_tensor(file, place, DT_NONE, arena);
    }
}

struct dtype_list {
    enum dtype dtype[GOLDEN_MOST];
    size_t count;
};

static bool note_dtype(struct value *tensor, void *context)
{
    struct dtype_list *list = context;
    list->dtype[list->count++] = tensor->tensor.record ? tensor->tensor.record->dtype : DT_NONE;
    return list->count < GOLDEN_MOST;
}

/* A record of MindSpore becomes the call of PyTorch that computes the same. */
static void translate(struct golden *out, const cJSON *json, struct arena *arena)
{
    if (!cJSON_HasObjectItem(json, "framework")) return;
    struct api_case *recorded = arena_allocate(arena, sizeof *recorded), translated;
    out->c.framework = &framework_mindspore;
    *recorded = out->c;
    struct status status = bench_translate(&translated, arena, recorded);
    if (status.code) fprintf(stderr, "%s: %s\n", out->api, status.text);
    else out->c = translated;
}

/* The next line as JSON; NULL at the end. */
static cJSON *next_record(struct golden_file *file)
{
    if (getline(&file->line, &file->capacity, file->index) < 2) return NULL;
    size_t length = strlen(file->line);
    file->line = realloc(file->line, length + 256);
    file->capacity = length + 256;
    quote_specials(file->line);
    cJSON *json = cJSON_Parse(file->line);
    if (json) return json;
    fprintf(stderr, "golden record is not JSON: %.80s\n", file->line);
    exit(1);
}

static void read_case(struct golden_file *file, struct golden *out, const cJSON *json,
                      struct arena *arena)
{
    struct api_case *c = &out->c;
    char *type = arena_copy_string(arena, out->api), *api = strchr(type, '.');
    *api++ = '\0';
    *strrchr(api, '.') = '\0';
    c->full_name = arena_copy_string(arena, out->api);
    c->type = type;
    c->api = api;
    c->args = list_value(file, cJSON_GetObjectItem(json, "input_args"), VALUE_LIST, arena);
    c->kwargs = list_value(file, cJSON_GetObjectItem(json, "input_kwargs"), VALUE_DICT, arena);
    c->outputs = list_value(file, cJSON_GetObjectItem(json, "output"), VALUE_LIST, arena);
}

static void read_cotangents(struct golden_file *file, struct golden *out, const cJSON *json,
                            struct arena *arena)
{
    const cJSON *cotangents = cJSON_GetObjectItem(json, "grad_output"), *item;
    struct api_case *c = &out->c;
    if (cJSON_GetArraySize(cotangents) <= 0) return;
    c->has_backward = true;
    c->cotangents = (struct value){ .kind = VALUE_LIST };
    c->cotangents.list.count = out->output_count;
    c->cotangents.list.items =
        arena_allocate_zeroed(arena, out->output_count, sizeof(struct value));
    cJSON_ArrayForEach(item, cotangents)
    {
        struct value *v =
            &c->cotangents.list.items[cJSON_GetObjectItem(item, "output_index")->valueint];
        v->kind = VALUE_TENSOR;
        v->tensor.tensor = read_tensor(file, cJSON_GetObjectItem(item, "file"), DT_NONE, arena);
    }
}

/* Native gradients are rounded to the dtype of their argument; those of results that the call asked for in float32 are float32. */
static bool has_native_gradients(const struct golden *out, const cJSON *json)
{
    const cJSON *precision = cJSON_GetObjectItem(json, "precision");
    for (size_t i = 0; i < out->output_count; i++)
        if (out->outputs[i].present && !out->outputs[i].is_float64 &&
            !dtype_is_integral(out->outputs[i].tensor.dtype))
            return true;
    return cJSON_IsString(precision) && !strcmp(precision->valuestring, "native");
}

static void read_gradients(struct golden_file *file, struct golden *out, const cJSON *json,
                           struct arena *arena)
{
    bool native = has_native_gradients(out, json);
    struct dtype_list dtypes = { 0 };
    const cJSON *item;
    (void)value_each_tensor(&out->c.args, note_dtype, &dtypes);
    (void)value_each_tensor(&out->c.kwargs, note_dtype, &dtypes);
    out->gradient_count = value_count_tensors(&out->c.args) + value_count_tensors(&out->c.kwargs);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "grad_input"))
    {
        const cJSON *place = cJSON_GetObjectItem(item, "file");
        int index = cJSON_GetObjectItem(item, "tensor_index")->valueint;
        struct golden_tensor *t = &out->gradients[index];
        if (!cJSON_IsArray(place)) continue;
        t->present = true;
        t->is_float64 = !native;
        t->dtype = native ? dtypes.dtype[index] : DT_NONE;
        for (size_t k = 0; native && k < out->output_count;
             k++) /* cotangents have the dtypes of results */
            if (t->dtype != DT_NONE && dtype_info(out->outputs[k].dtype)->bytes == 2)
                t->dtype = out->outputs[k].dtype;
        t->tensor = *read_tensor(file, place, DT_NONE, arena);
    }
}

bool golden_next(struct golden_file *file, struct golden *out, struct arena *arena)
{
    cJSON *json = next_record(file);
    if (!json) return false;
    memset(out, 0, sizeof *out);
    snprintf(out->api, sizeof out->api, "%s", cJSON_GetObjectItem(json, "api")->valuestring);
    snprintf(out->family, sizeof out->family, "%s",
             cJSON_GetObjectItem(json, "family")->valuestring);
    out->refused = cJSON_HasObjectItem(json, "refused");
    out->native_refused = cJSON_HasObjectItem(json, "native_refused");
    read_case(file, out, json, arena);
    read_outputs(file, out, cJSON_GetObjectItem(json, "output"), arena);
    read_cotangents(file, out, json, arena);
    read_gradients(file, out, json, arena);
    translate(out, json, arena);
    cJSON_Delete(json);
    return true;
}

void golden_list(struct value *out, struct golden_tensor *tensors, size_t count,
                 struct arena *arena)
{
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.count = count;
    out->list.items = arena_allocate_zeroed(arena, count, sizeof *out->list.items);
    for (size_t i = 0; i < count; i++)
        if (tensors[i].present) {
            out->list.items[i].kind = VALUE_TENSOR;
            out->list.items[i].tensor.tensor = &tensors[i].tensor;
        }
}
