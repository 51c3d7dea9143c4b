/* Overrides are kept in the order of the file; the last one that fits an API and a dtype holds. */
#include "standards/profile_override.h"

#include "standards/profile_json.h"

/* The names of a group, owned by the profile; every API when `item` is NULL. */
static struct status read_group(struct api_set *out, struct profile *profile,
                                const struct config_json *file, const cJSON *item)
{
    *out = (struct api_set){ 0 };
    if (!item) return status_ok();
    struct api_set *group =
        profile_grow((void **)&profile->groups, profile->group_count, sizeof *group);
    if (!group) return status_no_memory(0);
    profile->group_count++;
    TRY(profile_read_apis(group, file, item));
    *out = *group;
    return status_ok();
}

/* A mode or an array of modes. */
static struct status read_allowance(struct profile *profile, const struct config_json *file,
                                    const cJSON *item, struct api_set apis, dtype_mask dtypes)
{
    struct allowance *allowance =
        profile_grow((void **)&profile->allowances, profile->allowance_count, sizeof *allowance);
    if (!allowance) return status_no_memory(0);
    profile->allowance_count++;
    allowance->apis = apis;
    allowance->dtypes = dtypes;
    const cJSON *child = cJSON_IsArray(item) ? item->child : item;
    for (; child; child = cJSON_IsArray(item) ? child->next : NULL) {
        const char *mode = NULL;
        TRY(profile_read_text(&mode, file, child));
        struct status status = kernel_modes_read(&allowance->modes, mode);
        if (status.code) return config_json_fault(file, child, "%s", status.text);
    }
    return status_ok();
}

static struct status read_override(struct profile *profile, const struct config_json *file,
                                   const cJSON *object)
{
    static const char *const keys[] = { "about",    "api",       "dtype", "limits",
                                        "standard", "three_way", "allow", NULL };
    const cJSON *item;
    struct api_set apis;
    dtype_mask dtypes = EVERY_DTYPE;

    if (!cJSON_IsObject(object))
        return config_json_fault(file, object, "expected an object with \"api\" and \"limits\"");
    TRY(config_json_check_names(file, object, keys));
    TRY(read_group(&apis, profile, file, cJSON_GetObjectItem(object, "api")));
    if ((item = cJSON_GetObjectItem(object, "dtype")))
        TRY(profile_read_dtypes(&dtypes, file, item));
    if ((item = cJSON_GetObjectItem(object, "limits")))
        TRY(profile_read_limits(profile, file, item, apis, dtypes));
    if ((item = cJSON_GetObjectItem(object, "allow")))
        TRY(read_allowance(profile, file, item, apis, dtypes));
    if (!(item = cJSON_GetObjectItem(object, "standard"))) return status_ok();

    struct rules *rules = &profile->user_standards;
    struct rule *rule = profile_grow((void **)&rules->items, rules->count, sizeof *rule);
    if (!rule) return status_no_memory(0);
    rules->count++;
    rule->outputs = dtypes;
    rule->inputs = EVERY_DTYPE;
    if (cJSON_GetObjectItem(object, "api"))
        TRY(profile_read_apis(&rule->apis, file, cJSON_GetObjectItem(object, "api")));
    int standard = 0;
    TRY(profile_read_choice(&standard, file, item, profile_standard_names, "standard"));
    rule->standard = (enum standard)standard;
    return status_ok();
}

static struct status read_overrides(struct profile *profile, const struct config_json *file)
{
    static const char *const keys[] = { "$schema", "about", "overrides", NULL };
    const cJSON *object;

    if (!cJSON_IsObject(file->root))
        return config_json_fault(file, file->root, "expected an object with \"overrides\"");
    TRY(config_json_check_names(file, file->root, keys));
    const cJSON *overrides = cJSON_GetObjectItem(file->root, "overrides");
    if (overrides && !cJSON_IsArray(overrides))
        return config_json_fault(file, overrides, "\"overrides\" must be an array");
    cJSON_ArrayForEach(object, overrides) TRY(read_override(profile, file, object));
    return status_ok();
}

struct status profile_load_overrides(struct profile *profile, const char *path,
                                     struct file_policy policy)
{
    struct config_json source;

    TRY(config_json_open(&source, path, policy));
    struct status status = read_overrides(profile, &source);
    config_json_close(&source);
    return status;
}
