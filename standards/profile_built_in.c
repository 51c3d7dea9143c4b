/* Each limit that is needed must be given, and a key that nobody knows is refused: a table with a gap would judge by a stray zero. */
#include "standards/profile_built_in.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "standards/profile_json.h"
#include "standards/row_layout.h"

/* Limits of the error model are given only where it judges; distances have two. */
static bool is_needed(const struct profile *profile, int limit)
{
    if (profile->rules.distances) return limit <= LIMIT_MAX_ABS_ERROR;
    return profile->rules.error_model || limit < LIMIT_MODEL_WORST;
}

/* The value of every limit and dtype where no override says otherwise. Each limit that is needed
 * must be given: a table with a gap would judge by a stray zero. */
static struct status fill_base(struct profile *profile, const struct config_json *file)
{
    for (int limit = 0; limit < LIMIT_COUNT; limit++)
        for (int dtype = 0; dtype < DT_COUNT; dtype++) profile->base[limit][dtype] = NAN;
    for (size_t i = 0; i < profile->assignment_count; i++) {
        const struct assignment *item = &profile->assignments[i];
        for (int dtype = 0; dtype < DT_COUNT; dtype++)
            if (item->dtypes >> dtype & 1) profile->base[item->limit][dtype] = item->value;
    }
    profile->assignment_count = 0;
    for (int limit = 0; limit < LIMIT_COUNT; limit++)
        for (int dtype = 0; dtype < DT_COUNT; dtype++)
            if (isnan(profile->base[limit][dtype]) && is_needed(profile, limit))
                return config_json_fault(file, file->root, "the limit \"%s\" is missing",
                                         profile_limit_names[limit]);
    return status_ok();
}

/* ---- selection ---------------------------------------------------------------------------- */

/* The names of one list of api_precision_standard.json, less those that this profile's file
 * takes out. */
static struct status read_api_list(struct api_set *out, const struct config_json *file,
                                   const cJSON *item, const cJSON *lists)
{
    const char *name = NULL;

    TRY(profile_read_text(&name, file, item));
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(lists, name);
    if (!list) return config_json_fault(file, item, "\"%s\" is no list of APIs", name);
    const cJSON *without = cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(file->root, "lists_without"), name);
    const cJSON *api, *left_out;
    for (api = list->child; api; api = api->next) {
        bool take = true;
        cJSON_ArrayForEach(left_out, without) if (!strcmp(left_out->valuestring, api->valuestring))
            take = false;
        if (take) TRY(api_set_add(out, api->valuestring));
    }
    return status_ok();
}

static struct status read_rule(struct rule *rule, const struct config_json *file,
                               const cJSON *object, const cJSON *lists)
{
    static const char *const keys[] = {
        "list", "output", "input", "standard", "in_addition", NULL
    };
    const cJSON *item;
    int standard = 0;

    rule->outputs = rule->inputs = EVERY_DTYPE;
    TRY(config_json_check_names(file, object, keys));
    if ((item = cJSON_GetObjectItem(object, "list")))
        TRY(read_api_list(&rule->apis, file, item, lists));
    if ((item = cJSON_GetObjectItem(object, "output")))
        TRY(profile_read_dtypes(&rule->outputs, file, item));
    if ((item = cJSON_GetObjectItem(object, "input")))
        TRY(profile_read_dtypes(&rule->inputs, file, item));
    TRY(profile_read_choice(&standard, file, cJSON_GetObjectItem(object, "standard"),
                            profile_standard_names, "standard"));
    rule->standard = (enum standard)standard;
    rule->in_addition = cJSON_IsTrue(cJSON_GetObjectItem(object, "in_addition"));
    return status_ok();
}

static struct status read_rules(struct rules *out, const struct config_json *file, const char *key,
                                const cJSON *lists)
{
    const cJSON *object;

    cJSON_ArrayForEach(object, cJSON_GetObjectItem(file->root, key))
    {
        struct rule *rule = profile_grow((void **)&out->items, out->count, sizeof *rule);
        if (!rule) return status_no_memory(0);
        out->count++;
        TRY(read_rule(rule, file, object, lists));
    }
    return status_ok();
}

/* ---- the file ----------------------------------------------------------------------------- */

static struct status read_switches(struct profile *profile, const struct config_json *file)
{
    static const char *const keys[] = { "arithmetic", "cosine_nan", "verdict",         "integers",
                                        "complex",    "empty",      "integer_message", NULL };
    static const char *const arithmetics[] = { "exact", "numpy", NULL };
    static const char *const cosine_nans[] = { "pass", "error", NULL };
    static const char *const verdicts[] = { "chain", "error model", "distances", NULL };
    static const char *const integers[] = { "int32 and int64", "every", NULL };
    static const char *const empties[] = { "pass", "error", "skip", NULL };
    const cJSON *object = cJSON_GetObjectItem(file->root, "rules");
    struct profile_rules *rules = &profile->rules;
    const char *message = NULL;
    int choice = 0;

    TRY(config_json_check_names(file, object, keys));
#define CHOICE(key, choices) \
    TRY(profile_read_choice(&choice, file, cJSON_GetObjectItem(object, key), choices, key))
    CHOICE("arithmetic", arithmetics);
    rules->numpy_arithmetic = choice == 1;
    CHOICE("cosine_nan", cosine_nans);
    rules->cosine_nan_is_error = choice == 1;
    CHOICE("verdict", verdicts);
    rules->error_model = choice == 1;
    rules->distances = rules->listed_names_only = choice == 2;
    rules->layout = choice == 2 ? &layout_distances : &layout_precheck;
    CHOICE("integers", integers);
    rules->every_integer = choice == 1;
    CHOICE("empty", empties);
    rules->empty = (enum empty_rule)choice;
#undef CHOICE
    rules->complex_numbers = cJSON_IsTrue(cJSON_GetObjectItem(object, "complex"));
    TRY(profile_read_text(&message, file, cJSON_GetObjectItem(object, "integer_message")));
    if (!strstr(message, "%s"))
        return config_json_fault(file, cJSON_GetObjectItem(object, "integer_message"),
                                 "the message must contain %%s");
    profile->integer_message = memory_copy_string(message);
    if (!profile->integer_message) return status_no_memory(0);
    rules->integer_message = profile->integer_message;
    return status_ok();
}

static struct status read_built_in(struct profile *profile, const struct config_json *file,
                                   const cJSON *lists)
{
    static const char *const keys[] = { "name",
                                        "about",
                                        "rules",
                                        "lists_without",
                                        "standard_dtypes",
                                        "selection",
                                        "integers_by_distance",
                                        "exact",
                                        "limits",
                                        NULL };
    const cJSON *root = file->root, *item;
    struct api_set every = { 0 };

    TRY(config_json_check_names(file, root, keys));
    TRY(read_switches(profile, file));
    TRY(profile_read_dtypes(&profile->standard_dtypes, file,
                            cJSON_GetObjectItem(root, "standard_dtypes")));
    TRY(read_rules(&profile->selection, file, "selection", lists));
    if ((item = cJSON_GetObjectItem(root, "integers_by_distance")))
        TRY(profile_read_apis(&profile->by_distance, file, item));
    if ((item = cJSON_GetObjectItem(root, "exact")))
        TRY(profile_read_apis(&profile->exact, file, item));
    TRY(profile_read_limits(profile, file, cJSON_GetObjectItem(root, "limits"), every,
                            EVERY_DTYPE));
    TRY(fill_base(profile, file));
    profile->built_in_count = profile->assignment_count;
    return status_ok();
}

static struct status parse_embedded(struct config_json *out, const struct embedded_file *files,
                                    const char *name)
{
    for (; files->name; files++)
        if (!strcmp(files->name, name))
            return config_json_parse(out, files->name, files->text, files->bytes);
    return status_error(STATUS_INTERNAL, "the table %s is not compiled in", name);
}

struct status profile_load_built_in(struct profile *profile, const struct embedded_file *files)
{
    struct config_json source, lists;
    char file[64] = "profile_";

    strcat(strcat(file, profile->name), ".json");
    TRY(parse_embedded(&source, files, file));
    struct status status = parse_embedded(&lists, files, "api_precision_standard.json");
    if (status.code == STATUS_OK) {
        status = read_built_in(profile, &source, cJSON_GetObjectItem(lists.root, "standards"));
        config_json_close(&lists);
    }
    config_json_close(&source);
    return status;
}
