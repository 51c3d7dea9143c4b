/* A small flat object of cJSON. */
#include "cluster/shard_note.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/whole_file.h"
#include "formats/json_tree.h"

/* The numbers of a note, read and written by one table. */
struct number_place {
    const char *key;
    double value;
};
enum { NOTE_NUMBERS = 11 };

static void list_numbers(struct number_place out[NOTE_NUMBERS], const struct shard_note *note)
{
    const struct reference_use *use = &note->references;
    const struct number_place places[NOTE_NUMBERS] = {
        { "began", (double)note->began },
        { "ended", (double)note->ended },
        { "threads", (double)note->threads },
        { "calls", (double)note->calls },
        { "failing", (double)note->failing },
        { "done_here", (double)note->done_here },
        { "work_seconds", note->work_seconds },
        { "reference_values", (double)use->components },
        { "reference_certified", (double)use->certified },
        { "reference_recomputed", (double)use->recomputed },
        { "reference_costly_outputs", (double)use->costly_outputs },
    };
    memcpy(out, places, sizeof places);
}

static void take_numbers(struct shard_note *note, const struct number_place in[NOTE_NUMBERS])
{
    note->began = (int64_t)in[0].value;
    note->ended = (int64_t)in[1].value;
    note->threads = (size_t)in[2].value;
    note->calls = (size_t)in[3].value;
    note->failing = (size_t)in[4].value;
    note->done_here = (size_t)in[5].value;
    note->work_seconds = in[6].value;
    note->references = (struct reference_use){ (size_t)in[7].value, (size_t)in[8].value,
                                               (size_t)in[9].value, (size_t)in[10].value };
}

struct status shard_note_write(const struct shard_note *note, const char *path)
{
    struct number_place numbers[NOTE_NUMBERS];
    cJSON *object = cJSON_CreateObject();
    bool ok = object && cJSON_AddStringToObject(object, "host", note->host);
    list_numbers(numbers, note);
    for (int i = 0; i < NOTE_NUMBERS && ok; i++)
        ok = cJSON_AddNumberToObject(object, numbers[i].key, numbers[i].value) != NULL;
    char *text = ok ? cJSON_Print(object) : NULL;
    struct status status = text ? whole_file_write(path, text, strlen(text), READERS_GROUP)
                                : status_no_memory(0);
    cJSON_free(text);
    cJSON_Delete(object);
    return status;
}

/* Counts of a file: what no double can count is none. */
static bool is_count(double value) { return value >= 0 && value < 9e15; }

static bool take_note(struct shard_note *out, struct arena *arena, const cJSON *object)
{
    struct number_place numbers[NOTE_NUMBERS];
    const char *host = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "host"));
    list_numbers(numbers, out);
    for (int i = 0; i < NOTE_NUMBERS; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, numbers[i].key);
        if (!cJSON_IsNumber(item) || !is_count(item->valuedouble)) return false;
        numbers[i].value = item->valuedouble;
    }
    take_numbers(out, numbers);
    out->host = host ? arena_copy_string(arena, host) : NULL;
    return out->host != NULL;
}

struct status shard_note_read(struct shard_note *out, struct arena *arena, const char *path,
                              struct file_policy policy)
{
    char *text;
    size_t bytes;
    cJSON *tree = NULL;
    *out = (struct shard_note){ .host = NULL };
    TRY(file_read_text(&text, &bytes, path, policy));
    struct status status = json_tree_parse(&tree, NULL, text, bytes);
    memory_release(text);
    if (status.code == STATUS_NO_MEMORY) return status;
    bool taken = !status.code && take_note(out, arena, tree);
    cJSON_Delete(tree);
    if (taken) return status_ok();
    return status_error(STATUS_BAD_INPUT, "%s does not say how the shard was done",
                        file_shown(path).text);
}
