/* Reads the embedded list of names once; a name is looked up in its group. */
#include "cli/api_surface.h"

#include <stdbool.h>
#include <string.h>

#include "core/embedded.h"
#include "formats/json_tree.h"

/* The table is compiled in and tested: what does not fit its format is an internal fault. */
static struct status broken(const char *what)
{
    return status_error(STATUS_INTERNAL, "config/api_surface.json: %s", what);
}

static size_t count_names(const cJSON *groups)
{
    size_t count = 0;
    const cJSON *group, *family;
    cJSON_ArrayForEach(group, groups) cJSON_ArrayForEach(family, group)
        count += (size_t)cJSON_GetArraySize(family);
    return count;
}

/* Does a name of the reasons' lists mean this one? "name", "GROUP:family" or "GROUP:*". */
static bool is_meant(const char *pattern, const struct surface_name *name)
{
    const char *colon = strchr(pattern, ':');
    size_t length = strlen(name->group);
    if (!colon) return !strcmp(pattern, name->name);
    return (size_t)(colon - pattern) == length && !strncmp(pattern, name->group, length) &&
           (!strcmp(colon + 1, "*") || !strcmp(colon + 1, name->family));
}

/* clang-format off */
static const char *find_reason(const cJSON *reasons, const struct surface_name *name)
{
    const cJSON *row, *pattern;
    cJSON_ArrayForEach(row, reasons)
    {
        cJSON_ArrayForEach(pattern, cJSON_GetObjectItem(row, "names"))
            if (cJSON_IsString(pattern) && is_meant(pattern->valuestring, name))
                return cJSON_GetStringValue(cJSON_GetObjectItem(row, "reason"));
    }
    return NULL;
}
/* clang-format on */

static struct status copy_names(struct surface_name *names, const cJSON *root, struct arena *arena)
{
    const cJSON *group, *family, *item;
    const cJSON *reasons = cJSON_GetObjectItem(root, "reasons");
    cJSON_ArrayForEach(group, cJSON_GetObjectItem(root, "groups")) cJSON_ArrayForEach(family, group)
        cJSON_ArrayForEach(item, family)
    {
        if (!cJSON_IsString(item)) return broken("a name is no string");
        names->group = arena_copy_string(arena, group->string);
        names->family = arena_copy_string(arena, family->string);
        names->name = arena_copy_string(arena, item->valuestring);
        if (!names->group || !names->family || !names->name) return status_no_memory(0);
        const char *reason = find_reason(reasons, names);
        names->reason = reason ? arena_copy_string(arena, reason) : NULL;
        if (reason && !names->reason) return status_no_memory(0);
        names++;
    }
    return status_ok();
}

struct status api_surface_read(struct surface_name **names, size_t *count, struct arena *arena)
{
    const struct embedded_file *file = config_files;
    while (file->name && strcmp(file->name, "api_surface.json") != 0) file++;
    if (!file->name) return broken("not compiled in");
    cJSON *root;
    TRY(json_tree_parse(&root, NULL, file->text, file->bytes));
    *count = count_names(cJSON_GetObjectItem(root, "groups"));
    *names = arena_allocate_zeroed(arena, *count, sizeof **names);
    struct status status = *names ? copy_names(*names, root, arena) : status_no_memory(0);
    cJSON_Delete(root);
    return status;
}
