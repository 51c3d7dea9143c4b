/* {"overrides": [{"api": "matmul" or ["matmul", "bmm"], ...}]}, in the files of run_ut and of
 * api_precision_compare alike. */
#include "runner/threshold_names.h"

#include "formats/config_json.h"
#include "runner/api_names.h"

static struct status check_name(const struct config_json *file, const cJSON *name,
                                struct arena *arena)
{
    const char *nearest;
    if (!cJSON_IsString(name) || api_name_is_known(&nearest, arena, name->valuestring))
        return status_ok();
    return config_json_fault(file, name, "there is no API '%s', the nearest is '%s'",
                             name->valuestring, nearest);
}

static struct status check_all(const struct config_json *file, struct arena *arena)
{
    const cJSON *item, *name;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(file->root, "overrides"))
    {
        const cJSON *api = cJSON_GetObjectItem(item, "api");
        TRY(check_name(file, api, arena));
        if (cJSON_IsArray(api)) cJSON_ArrayForEach(name, api) TRY(check_name(file, name, arena));
    }
    return status_ok();
}

struct status threshold_names_check(const char *path, struct file_policy policy)
{
    struct config_json file;
    struct arena arena = { 0 };
    if (!path) return status_ok();
    TRY(config_json_open(&file, path, policy));
    struct status status = check_all(&file, &arena);
    config_json_close(&file);
    arena_release(&arena);
    return status;
}
