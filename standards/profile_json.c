/* Words, dtypes, API names and limits in JSON. */
#include "standards/profile_json.h"

#include <math.h>
#include <string.h>

struct status profile_read_text(const char **out, const struct config_json *file, const cJSON *item)
{
    if (!cJSON_IsString(item)) return config_json_fault(file, item, "expected a string here");
    *out = item->valuestring;
    return status_ok();
}

struct status profile_read_choice(int *out, const struct config_json *file, const cJSON *item,
                                  const char *const *choices, const char *kind)
{
    const char *word = NULL;

    TRY(profile_read_text(&word, file, item));
    for (int i = 0; choices[i]; i++)
        if (!strcmp(word, choices[i])) {
            *out = i;
            return status_ok();
        }
    return config_json_fault(file, item, "\"%s\" is no %s", word, kind);
}

static struct status profile_read_dtype(enum dtype *out, const struct config_json *file,
                                        const cJSON *item, const char *name)
{
    *out = dtype_from_name(name);
    if (*out == DT_NONE) return config_json_fault(file, item, "\"%s\" is no dtype", name);
    return status_ok();
}

struct status profile_read_dtypes(dtype_mask *out, const struct config_json *file,
                                  const cJSON *item)
{
    const cJSON *child = cJSON_IsArray(item) ? item->child : item;
    dtype_mask mask = 0;

    for (; child; child = cJSON_IsArray(item) ? child->next : NULL) {
        const char *name = NULL;
        enum dtype dtype;
        TRY(profile_read_text(&name, file, child));
        TRY(profile_read_dtype(&dtype, file, child, name));
        mask |= 1u << dtype;
    }
    *out = mask;
    return status_ok();
}

struct status profile_read_apis(struct api_set *out, const struct config_json *file,
                                const cJSON *item)
{
    const cJSON *child = cJSON_IsArray(item) ? item->child : item;

    if (!child) return config_json_fault(file, item, "expected at least one API name");
    for (; child; child = cJSON_IsArray(item) ? child->next : NULL) {
        const char *name = NULL;
        TRY(profile_read_text(&name, file, child));
        TRY(api_set_add(out, name));
    }
    return status_ok();
}

/* A number; null stands for infinity, a limit that is never met. */
static struct status profile_read_number(double *out, const struct config_json *file,
                                         const cJSON *item)
{
    if (cJSON_IsNull(item)) {
        *out = INFINITY;
        return status_ok();
    }
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0))
        return config_json_fault(file, item, "expected a number that is not negative");
    *out = item->valuedouble;
    return status_ok();
}

/* ---- limits ------------------------------------------------------------------------------- */

static struct status add_assignment(struct profile *profile, struct api_set apis, dtype_mask dtypes,
                                    enum limit limit, double value)
{
    struct assignment *item =
        profile_grow((void **)&profile->assignments, profile->assignment_count, sizeof *item);
    if (!item) return status_no_memory(0);
    *item = (struct assignment){ apis, dtypes, limit, value };
    profile->assignment_count++;
    return status_ok();
}

/* One limit: a number, or an object of numbers by dtype in which "default" stands first in
 * effect, wherever it is written. */
static struct status read_limit(struct profile *profile, const struct config_json *file,
                                const cJSON *item, struct api_set apis, dtype_mask dtypes,
                                enum limit limit)
{
    double value = 0;

    if (!cJSON_IsObject(item)) {
        TRY(profile_read_number(&value, file, item));
        return add_assignment(profile, apis, dtypes, limit, value);
    }
    const cJSON *fallback = cJSON_GetObjectItemCaseSensitive(item, "default"), *child;
    if (fallback) {
        TRY(profile_read_number(&value, file, fallback));
        TRY(add_assignment(profile, apis, dtypes, limit, value));
    }
    for (child = item->child; child; child = child->next) {
        enum dtype dtype;
        if (child == fallback) continue;
        TRY(profile_read_dtype(&dtype, file, child, child->string));
        TRY(profile_read_number(&value, file, child));
        TRY(add_assignment(profile, apis, dtypes & 1u << dtype, limit, value));
    }
    return status_ok();
}

struct status profile_read_limits(struct profile *profile, const struct config_json *file,
                                  const cJSON *object, struct api_set apis, dtype_mask dtypes)
{
    const cJSON *child;

    if (!cJSON_IsObject(object))
        return config_json_fault(file, object, "expected an object of limits");
    TRY(config_json_check_names(file, object, profile_limit_names));
    for (child = object->child; child; child = child->next) {
        int limit = 0;
        while (profile_limit_names[limit] && strcmp(profile_limit_names[limit], child->string))
            limit++;
        if (!profile_limit_names[limit]) continue; /* a comment */
        TRY(read_limit(profile, file, child, apis, dtypes, (enum limit)limit));
    }
    return status_ok();
}
