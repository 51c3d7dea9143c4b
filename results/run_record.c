/* Members of the run file as a tree of cJSON, compared key by key when a run is resumed. */
#include "results/run_record.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/whole_file.h"
#include "formats/json_tree.h"

struct status run_record_create(struct run_record *out)
{
    struct cJSON *object = cJSON_CreateObject();
    if (!object) return status_no_memory(0);
    out->object = object;
    return status_ok();
}

void run_record_release(struct run_record *record)
{
    cJSON_Delete(record->object);
    record->object = NULL;
}

/* Take `item` into the record; a NULL item is one that found no memory. */
static struct status add(struct run_record *record, const char *key, struct cJSON *item)
{
    if (item && cJSON_AddItemToObject(record->object, key, item)) return status_ok();
    cJSON_Delete(item);
    return status_no_memory(0);
}

struct status run_record_add_text(struct run_record *record, const char *key, const char *text)
{
    return add(record, key, cJSON_CreateString(text));
}

struct status run_record_add_number(struct run_record *record, const char *key, double number)
{
    return add(record, key, cJSON_CreateNumber(number));
}

struct status run_record_add_flag(struct run_record *record, const char *key, int flag)
{
    return add(record, key, cJSON_CreateBool(flag));
}

struct status run_record_add_digest(struct run_record *record, const char *key, uint64_t digest)
{
    /* As text: a JSON number holds 53 bits only. */
    char text[17];
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)digest);
    return run_record_add_text(record, key, text);
}

struct status run_record_add_texts(struct run_record *record, const char *key,
                                   const char *const *texts, size_t count)
{
    struct cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; array && i < count; i++) {
        struct cJSON *item = cJSON_CreateString(texts[i]);
        if (!item || !cJSON_AddItemToArray(array, item)) {
            cJSON_Delete(item);
            cJSON_Delete(array);
            return status_no_memory(0);
        }
    }
    return add(record, key, array);
}

struct status run_record_name_core(struct run_record *record, const char *core)
{
    struct cJSON *about = cJSON_DetachItemFromObjectCaseSensitive(record->object, "about");
    struct status status = run_record_add_text(record, RUN_RECORD_CORE, core);
    if (about && !cJSON_AddItemToObject(record->object, "about", about)) {
        cJSON_Delete(about);
        return status_no_memory(0);
    }
    return status;
}

struct status run_record_add_about(struct run_record *record, const char *key, const char *text)
{
    struct cJSON *about = cJSON_GetObjectItemCaseSensitive(record->object, "about");
    if (!about) about = cJSON_AddObjectToObject(record->object, "about");
    bool added = about && cJSON_AddStringToObject(about, key, text);
    return added ? status_ok() : status_no_memory(0);
}

struct status run_record_set_number(struct run_record *record, const char *key, double number)
{
    struct cJSON *item = cJSON_CreateNumber(number);
    if (item && cJSON_ReplaceItemInObjectCaseSensitive(record->object, key, item))
        return status_ok();
    cJSON_Delete(item);
    return status_no_memory(0);
}

void run_record_remove(struct run_record *record, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(record->object, key);
}

double run_record_number(const struct run_record *record, const char *key)
{
    const struct cJSON *number = cJSON_GetObjectItemCaseSensitive(record->object, key);
    return cJSON_IsNumber(number) ? number->valuedouble : NAN;
}

const char *run_record_text(const struct run_record *record, const char *key)
{
    const struct cJSON *text = cJSON_GetObjectItemCaseSensitive(record->object, key);
    return cJSON_IsString(text) ? text->valuestring : NULL;
}

const char *run_record_about(const struct run_record *record, const char *key)
{
    const cJSON *about = cJSON_GetObjectItemCaseSensitive(record->object, "about");
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(about, key));
}

struct status run_record_print(struct csv_buffer *out, const struct run_record *record)
{
    char *json = cJSON_Print(record->object);
    struct status status = json ? csv_append_bytes(out, json, strlen(json)) : status_no_memory(0);
    if (!status.code) status = csv_append_bytes(out, "\n", 1);
    cJSON_free(json);
    return status;
}

struct status run_record_write(const struct run_record *record, const char *path)
{
    struct csv_buffer text = { 0 };
    struct status status = run_record_print(&text, record);
    if (!status.code) status = whole_file_write_later(path, text.data, text.length);
    csv_buffer_release(&text);
    return status;
}

/* Appends to a list of differences, which may be cut. */
static void note_difference(char *list, size_t bytes, const struct cJSON *then,
                            const struct cJSON *now, const char *key)
{
    char *a = then ? cJSON_PrintUnformatted(then) : NULL;
    char *b = now ? cJSON_PrintUnformatted(now) : NULL;
    size_t used = strlen(list);
    (void)snprintf(list + used, bytes - used, "%s%s was %.60s, is %.60s", used ? "; " : "", key,
                   a ? a : "absent", b ? b : "absent");
    cJSON_free(a);
    cJSON_free(b);
}

static bool is_compared(const struct cJSON *item) { return strcmp(item->string, "about") != 0; }

static bool may_be_absent(const struct cJSON *item)
{
    return !strcmp(item->string, RUN_RECORD_CORE);
}

static void find_differences(char *list, size_t bytes, const struct cJSON *then,
                             const struct cJSON *now)
{
    const struct cJSON *item;
    cJSON_ArrayForEach(item, now)
    {
        const struct cJSON *other = cJSON_GetObjectItemCaseSensitive(then, item->string);
        if (!is_compared(item) || (!other && may_be_absent(item))) continue;
        if (!other || !cJSON_Compare(item, other, 1))
            note_difference(list, bytes, other, item, item->string);
    }
    cJSON_ArrayForEach(item, then)
    {
        if (!is_compared(item) || may_be_absent(item)) continue;
        if (!cJSON_GetObjectItemCaseSensitive(now, item->string))
            note_difference(list, bytes, item, NULL, item->string);
    }
}

/* The text of a record is small; one that is not is none. */
static struct status read_text(char **text, size_t *bytes, const char *path,
                               struct file_policy policy)
{
    struct file file;
    uint64_t size;
    *text = NULL;
    TRY(file_open_read(&file, path, policy));
    struct status status = file_size(&size, &file);
    if (!status.code && size <= FILE_TEXT_BYTES) status = file_read_all(text, bytes, &file);
    (void)file_close(&file);
    return status;
}

struct status run_record_read(struct run_record *out, const char *path, struct file_policy policy)
{
    char *text;
    size_t bytes;
    cJSON *tree = NULL;
    out->object = NULL;
    TRY(read_text(&text, &bytes, path, policy));
    if (!text) return status_ok();
    struct status status = json_tree_parse(&tree, NULL, text, bytes);
    memory_release(text);
    if (status.code == STATUS_NO_MEMORY) return status;
    if (!status.code && cJSON_IsObject(tree)) out->object = tree;
    else if (!status.code) cJSON_Delete(tree);
    return status_ok();
}

struct status run_record_compare(const struct run_record *then, const struct run_record *now,
                                 const char *path)
{
    char list[400] = "";
    find_differences(list, sizeof list, then->object, now->object);
    if (!list[0]) return status_ok();
    return status_error(STATUS_BAD_INPUT, "%s is of a run that differs: %s", path, list);
}

struct status run_record_check(bool *readable, const struct run_record *record, const char *path,
                               struct file_policy policy)
{
    struct run_record then;
    TRY(run_record_read(&then, path, policy));
    *readable = then.object != NULL;
    if (!then.object) return status_ok();
    struct status status = run_record_compare(&then, record, path);
    run_record_release(&then);
    return status;
}
