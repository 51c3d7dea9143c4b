#include "runner/ops_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "bench/bench.h"
#include "standards/profile.h"

struct ops_options {
    bool json;
    struct operands names;
};

/* The standard that judges an API's float32 output under the default profile. */
static const char *standard_of(const struct profile *profile, const char *api)
{
    return standard_name(profile_select(profile, api, DT_F32, DT_F32).standard);
}

static bool is_wanted(const struct operands *names, const struct bench_entry *entry)
{
    if (!names->count) return true;
    char full[256];
    (void)snprintf(full, sizeof full, "%s.%s", entry->group, entry->name);
    for (size_t i = 0; i < names->count; i++)
        if (!strcmp(names->items[i], entry->name) || !strcmp(names->items[i], full)) return true;
    return false;
}

static void print_table(const struct bench_entry *entries, size_t count,
                        const struct operands *names)
{
    size_t shown = 0, forward = 0, backward = 0;
    printf("%-44s %-8s %-9s %s\n", "API", "forward", "backward", "schema");
    for (size_t i = 0; i < count; i++) {
        const struct bench_entry *entry = &entries[i];
        char full[256];
        if (!is_wanted(names, entry)) continue;
        (void)snprintf(full, sizeof full, "%s.%s", entry->group, entry->name);
        printf("%-44s %-8s %-9s %s\n", full, entry->forward ? "yes" : "no",
               entry->backward ? "yes" : "no", entry->schema);
        shown++;
        forward += entry->forward;
        backward += entry->backward;
    }
    printf("%zu APIs, %zu run forward, %zu backward\n", shown, forward, backward);
}

static bool add_entry(cJSON *array, const struct bench_entry *entry, const struct profile *profile)
{
    char full[256];
    cJSON *object = cJSON_CreateObject();
    (void)snprintf(full, sizeof full, "%s.%s", entry->group, entry->name);
    bool complete =
        object && cJSON_AddStringToObject(object, "api", full) &&
        cJSON_AddStringToObject(object, "schema", entry->schema) &&
        cJSON_AddBoolToObject(object, "forward", entry->forward) &&
        cJSON_AddBoolToObject(object, "backward", entry->backward) &&
        cJSON_AddStringToObject(object, "certificate",
                                entry->certificate ? entry->certificate : "") &&
        cJSON_AddStringToObject(object, "standard", standard_of(profile, entry->name)) &&
        cJSON_AddStringToObject(object, "reason",
                                entry->random ? "random: judged by a property" : "");
    if (complete && cJSON_AddItemToArray(array, object)) return true;
    cJSON_Delete(object);
    return false;
}

static struct status print_json(const struct bench_entry *entries, size_t count,
                                const struct operands *names, const struct profile *profile)
{
    cJSON *array = cJSON_CreateArray();
    bool complete = array != NULL;
    for (size_t i = 0; complete && i < count; i++)
        if (is_wanted(names, &entries[i])) complete = add_entry(array, &entries[i], profile);
    char *text = complete ? cJSON_Print(array) : NULL;
    cJSON_Delete(array);
    if (!text) return status_no_memory(0);
    printf("%s\n", text);
    cJSON_free(text);
    return status_ok();
}

static struct status ops_run(int *exit_status, const void *values)
{
    const struct ops_options *options = values;
    const struct bench_entry *entries;
    struct profile *profile = NULL;
    struct arena arena = { 0 };
    size_t count;

    struct status status = profile_load(&profile, profile_names()[0], NULL);
    if (!status.code) status = bench_catalogue(&entries, &count, &arena);
    if (!status.code && options->json)
        status = print_json(entries, count, &options->names, profile);
    else if (!status.code) print_table(entries, count, &options->names);
    if (profile) profile_release(profile);
    arena_release(&arena);
    *exit_status = 0;
    return status;
}

static const struct option_row rows[] = {
    { { "json" }, OPTION_FLAG, offsetof(struct ops_options, json),
      .help = "One JSON array of objects with api, schema, forward, backward, certificate, "
              "standard and reason." },
    { .names = { NULL } },
};

const struct command ops_command = {
    .word = "ops",
    .summary = "list the APIs that can be checked",
    .text = "List the catalogue: every API with its schema, and whether its forward and its "
            "backward are checked. With names, bare or with their group (softmax, "
            "Functional.softmax), only those.",
    .options = rows,
    .operands = "[NAME ...]",
    .operands_maximum = OPERANDS_MAX,
    .operands_offset = offsetof(struct ops_options, names),
    .bytes = sizeof(struct ops_options),
    .run = ops_run,
};
