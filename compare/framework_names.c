/* The type and the API are exchanged; number, direction and output stay. */
#include "compare/framework_names.h"

#include <stdio.h>
#include <string.h>

#include "core/embedded.h"
#include "core/memory.h"
#include "formats/json_tree.h"

struct framework_names {
    cJSON *tree;
    const cJSON *apis; /* "Functional.abs": "Torch.abs" */
};

struct status framework_names_load(struct framework_names **out)
{
    const struct embedded_file *file = config_files;
    while (file->name && strcmp(file->name, "ms_to_pt_api.json") != 0) file++;
    if (!file->name) return status_error(STATUS_INTERNAL, "ms_to_pt_api.json is not built in");
    struct framework_names *names = memory_allocate_zeroed(1, sizeof *names);
    if (!names) return status_no_memory(sizeof *names);
    struct status status = json_tree_parse(&names->tree, NULL, file->text, file->bytes);
    names->apis = cJSON_GetObjectItemCaseSensitive(names->tree, "ms_to_pt");
    if (status.code) framework_names_release(names);
    else *out = names;
    return status;
}

void framework_names_release(struct framework_names *names)
{
    if (!names) return;
    cJSON_Delete(names->tree);
    memory_release(names);
}

/* Types that take the place of one, in the order in which they are tried. */
static const struct {
    const char *type, *others[2];
} types[] = {
    { "Mint", { "Torch", "Functional" } },
    { "MintFunctional", { "Functional", "Torch" } },
};

/* "Torch.abs" for "Functional.abs"; NULL when the table has no such API. */
static const char *mapped_api(const struct framework_names *names, struct csv_text type_and_api)
{
    char key[128];
    if (type_and_api.length >= sizeof key) return NULL;
    memcpy(key, type_and_api.bytes, type_and_api.length);
    key[type_and_api.length] = '\0';
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(names->apis, key));
}

static size_t write_name(char *text, size_t bytes, const char *start, struct csv_text rest)
{
    int length = snprintf(text, bytes, "%s%.*s", start, (int)rest.length, rest.bytes);
    return length > 0 && (size_t)length < bytes ? (size_t)length : 0;
}

size_t framework_names_map(char *text, size_t bytes, const struct framework_names *names,
                           struct csv_text row, const struct row_name *parts, int choice)
{
    size_t type = (size_t)(parts->api.bytes - row.bytes) - 1, own = type + 1 + parts->api.length;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strlen(types[i].type) != type || memcmp(types[i].type, row.bytes, type) != 0) continue;
        struct csv_text rest = { row.bytes + type, row.length - type };
        return choice < 2 ? write_name(text, bytes, types[i].others[choice], rest) : 0;
    }
    const char *api = choice ? NULL : mapped_api(names, (struct csv_text){ row.bytes, own });
    if (!api) return 0;
    return write_name(text, bytes, api, (struct csv_text){ row.bytes + own, row.length - own });
}
