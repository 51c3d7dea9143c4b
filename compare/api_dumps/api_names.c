/* Reads the embedded table of names; a name that is not listed stays as it is. */
#include "compare/api_dumps/api_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "core/embedded.h"
#include "core/memory.h"
#include "formats/json_tree.h"

#define TABLE "api_flow_names.json"
enum { MAX_NAME = 512 };

static struct status parse_table(struct api_names *out)
{
    const struct embedded_file *file = config_files;
    while (file->name && strcmp(file->name, TABLE) != 0) file++;
    if (!file->name) return status_error(STATUS_INTERNAL, "config/" TABLE " is not compiled in");
    return json_tree_parse(&out->root, NULL, file->text, file->bytes);
}

static struct status index_names(struct api_names *out)
{
    const cJSON *table = cJSON_GetObjectItemCaseSensitive(out->root, "pt_to_ms"), *item;
    size_t count = (size_t)cJSON_GetArraySize(table);

    out->unified = memory_allocate_zeroed(count + 1, sizeof *out->unified);
    if (!out->unified) return status_no_memory(count * sizeof *out->unified);
    cJSON_ArrayForEach(item, table)
    {
        uint32_t number;
        if (!cJSON_IsString(item))
            return status_error(STATUS_INTERNAL, "config/" TABLE ": %s", item->string);
        TRY(text_table_add(&number, NULL, &out->known, item->string, strlen(item->string)));
        char *dot = strchr(item->valuestring, '.');
        if (dot) *dot = '_';
        out->unified[number] = item->valuestring;
    }
    return status_ok();
}

struct status api_names_load(struct api_names *out)
{
    *out = (struct api_names){ 0 };
    TRY(text_table_create(&out->known));
    struct status status = parse_table(out);
    if (!status.code) status = index_names(out);
    if (status.code) api_names_release(out);
    return status;
}

void api_names_release(struct api_names *names)
{
    cJSON_Delete(names->root);
    memory_release(names->unified);
    text_table_release(&names->known);
    *names = (struct api_names){ 0 };
}

/* "{type in lower case}{separator}{name}". */
static size_t join_names(char *text, size_t bytes, const char *type, char separator,
                         const char *name)
{
    int length = snprintf(text, bytes, "%s%c%s", type, separator, name);
    for (size_t i = 0; i < bytes && text[i] && text[i] != separator; i++)
        text[i] = (char)tolower((unsigned char)text[i]);
    return length < 0 ? 0 : (size_t)length < bytes ? (size_t)length : bytes - 1;
}

size_t api_names_unify(char *text, size_t bytes, const struct api_names *names, bool is_pytorch,
                       const char *type, const char *name)
{
    char known[MAX_NAME];
    size_t length = join_names(known, sizeof known, type, '.', name);
    uint32_t number = is_pytorch ? text_table_find(&names->known, known, length) : TEXT_NONE;

    if (number == TEXT_NONE) return join_names(text, bytes, type, '_', name);
    int unified = snprintf(text, bytes, "%s", names->unified[number]);
    return unified < 0 ? 0 : (size_t)unified < bytes ? (size_t)unified : bytes - 1;
}

bool api_names_reorder(int *keep, const struct api_names *names, const char *type, const char *name,
                       const char *section, int index)
{
    char key[MAX_NAME];
    const cJSON *table = cJSON_GetObjectItemCaseSensitive(names->root, "pt_io_reorder"), *item;

    (void)snprintf(key, sizeof key, "%s.%s", type, name);
    table = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(table, key), section);
    if (!table) return false;
    *keep = -1;
    cJSON_ArrayForEach(item, table)
    {
        if (cJSON_IsString(item) && strtol(item->valuestring, NULL, 10) == index)
            *keep = (int)strtol(item->string, NULL, 10);
    }
    return true;
}
