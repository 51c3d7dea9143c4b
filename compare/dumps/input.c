/* The keys of a comparison file, each checked where it is taken; a fault is named with its line. */
#include "compare/dumps/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "formats/config_json.h"

static struct status take_text(char **out, const struct config_json *source, const char *key)
{
    const cJSON *item = config_json_get(source->root, key);
    if (!item) return status_ok();
    if (!cJSON_IsString(item)) return config_json_fault(source, item, "'%s' must be a text", key);
    if (!*item->valuestring) return config_json_fault(source, item, "'%s' is empty", key);
    *out = memory_copy_string(item->valuestring);
    return *out ? status_ok() : status_no_memory(strlen(item->valuestring));
}

static struct status take_bool(bool *out, const struct config_json *source, const char *key)
{
    const cJSON *item = config_json_get(source->root, key);
    if (!item) return status_ok();
    if (!cJSON_IsBool(item))
        return config_json_fault(source, item, "'%s' must be true or false", key);
    *out = cJSON_IsTrue(item);
    return status_ok();
}

/* A whole number, also one in quotes; -1 for anything else. */
static int64_t number_of(const cJSON *item)
{
    char *end;
    if (cJSON_IsNumber(item))
        return item->valuedouble == floor(item->valuedouble) && fabs(item->valuedouble) < 1e15
                   ? (int64_t)item->valuedouble
                   : -1;
    if (!cJSON_IsString(item) || !*item->valuestring) return -1;
    long long number = strtoll(item->valuestring, &end, 10);
    return *end ? -1 : number;
}

static struct status take_filter(struct number_filter *out, const struct config_json *source,
                                 const char *key)
{
    const cJSON *list = config_json_get(source->root, key), *item;
    if (!list) return status_ok();
    if (!cJSON_IsArray(list)) return config_json_fault(source, list, "'%s' must be a list", key);
    size_t count = (size_t)cJSON_GetArraySize(list);
    out->given = true;
    out->items = memory_allocate((count + 1) * sizeof *out->items);
    if (!out->items) return status_no_memory(count * sizeof *out->items);
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsBool(item))
            return config_json_fault(source, item, "'%s' must hold numbers, not true or false",
                                     key);
        out->items[out->count++] = number_of(item);
    }
    return status_ok();
}

static struct status take_map(struct comparison_input *out, const struct config_json *source)
{
    const cJSON *map = config_json_get(source->root, "map_dict"), *item;
    if (!map) return status_ok();
    if (!cJSON_IsObject(map)) return config_json_fault(source, map, "'map_dict' must be an object");
    size_t count = (size_t)cJSON_GetArraySize(map);
    out->map = memory_allocate_zeroed(count + 1, sizeof *out->map);
    if (!out->map) return status_no_memory(count * sizeof *out->map);
    cJSON_ArrayForEach(item, map)
    {
        if (!cJSON_IsString(item))
            return config_json_fault(source, item, "'map_dict' must hold texts");
        struct name_pair *pair = &out->map[out->n_map++];
        pair->npu = memory_copy_string(item->string);
        pair->bench = memory_copy_string(item->valuestring);
        if (!pair->npu || !pair->bench) return status_no_memory(0);
    }
    return status_ok();
}

static struct status take_all(struct comparison_input *out, const struct config_json *source,
                              bool needs_bench)
{
    if (!cJSON_IsObject(source->root))
        return config_json_fault(source, source->root, "a comparison file is an object");
    TRY(take_text(&out->npu_path, source, "npu_path"));
    TRY(take_text(&out->bench_path, source, "bench_path"));
    TRY(take_text(&out->stack_path, source, "stack_path"));
    TRY(take_bool(&out->print_rows, source, "is_print_compare_log"));
    TRY(take_bool(&out->common, source, "common"));
    TRY(take_filter(&out->ranks, source, "rank_id"));
    TRY(take_filter(&out->steps, source, "step_id"));
    TRY(take_map(out, source));
    if (!out->npu_path) return config_json_fault(source, source->root, "'npu_path' is missing");
    if (needs_bench && !out->bench_path)
        return config_json_fault(source, source->root, "'bench_path' is missing");
    return status_ok();
}

struct status comparison_input_read(struct comparison_input *out, const char *path,
                                    bool needs_bench, struct file_policy policy)
{
    struct config_json source;

    *out = (struct comparison_input){ .print_rows = true };
    TRY(config_json_open(&source, path, policy));
    struct status status = take_all(out, &source, needs_bench);
    config_json_close(&source);
    if (status.code) comparison_input_release(out);
    return status;
}

struct status comparison_input_of_paths(struct comparison_input *out, const char *npu_path,
                                        const char *bench_path)
{
    *out = (struct comparison_input){ .npu_path = memory_copy_string(npu_path) };
    if (bench_path) out->bench_path = memory_copy_string(bench_path);
    if (out->npu_path && (!bench_path || out->bench_path)) return status_ok();
    comparison_input_release(out);
    return status_no_memory(0);
}

void comparison_input_release(struct comparison_input *input)
{
    for (size_t i = 0; i < input->n_map; i++) {
        memory_release(input->map[i].npu);
        memory_release(input->map[i].bench);
    }
    memory_release(input->map);
    memory_release(input->ranks.items);
    memory_release(input->steps.items);
    memory_release(input->npu_path);
    memory_release(input->bench_path);
    memory_release(input->stack_path);
    *input = (struct comparison_input){ 0 };
}
