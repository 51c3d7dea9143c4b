/* Reading profiles. A built-in file and a user's file go through the same functions, so that a
 * key that one may have is checked in the other as well. */
#include "standards/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "formats/config_json.h"
#include "standards/metrics/metrics.h"
#include "standards/profile_read.h"
#include "standards/row_layout.h"

static const char *const names[] = { "doc", "v2", "v3", "strict", NULL };
/* What doc, v2 and v3 are for dumps of MindSpore. */
static const char *const variant_names[] = { "mindspore_doc", "mindspore_v2", "mindspore_v3" };

/* clang-format off */
static const char *const standard_names[STANDARD_COUNT + 1] = {
    [STANDARD_NONE] = "", [STANDARD_ABSOLUTE] = "absolute",
    [STANDARD_BENCHMARK] = "benchmark", [STANDARD_BINARY] = "binary", [STANDARD_ULP] = "ulp",
    [STANDARD_THOUSANDTH] = "thousandth", [STANDARD_ACCUMULATIVE] = "accumulative",
    [STANDARD_ERROR_MODEL] = "error model",
};
/* clang-format on */

static const char *const limit_names[LIMIT_COUNT + 1] = {
    [LIMIT_COSINE] = "cosine",
    [LIMIT_MAX_ABS_ERROR] = "max_abs_error",
    [LIMIT_HUNDREDTH] = "hundredth",
    [LIMIT_THOUSANDTH] = "thousandth",
    [LIMIT_TEN_THOUSANDTH] = "ten_thousandth",
    [LIMIT_SMALL_VALUE] = "small_value",
    [LIMIT_ABSOLUTE_SMALL_VALUE_ATOL] = "absolute_small_value_atol",
    [LIMIT_BENCHMARK_SMALL_VALUE_ATOL] = "benchmark_small_value_atol",
    [LIMIT_RELATIVE_TOLERANCE] = "relative_tolerance",
    [LIMIT_ACCUMULATIVE_SMALL_VALUE] = "accumulative_small_value",
    [LIMIT_ACCUMULATIVE_BOUND] = "accumulative_bound",
    [LIMIT_ULP_COUNTED] = "ulp_counted",
    [LIMIT_FLOAT8_PROPORTION] = "float8_proportion",
    [LIMIT_INTEGER_MAX_ABS_ERROR] = "integer_max_abs_error",
    [LIMIT_MODEL_WORST] = "model_worst",
    [LIMIT_MODEL_RMS] = "model_rms",
    [LIMIT_MODEL_BIAS] = "model_bias",
    [LIMIT_MODEL_LARGEST] = "model_largest",
    [LIMIT_MODEL_EQUAL] = "model_equal",
    [LIMIT_MODEL_BITS] = "model_bits",
    [LIMIT_MODEL_OUTLIER] = "model_outlier",
    [LIMIT_MODEL_FLIPS] = "model_flips",
    [LIMIT_MODEL_NATS] = "model_nats",
    [LIMIT_MODEL_SIGNATURE] = "model_signature",
    [LIMIT_MODEL_LINE] = "model_line",
    [LIMIT_MODEL_STAGED] = "model_staged",
    [LIMIT_MODEL_FALLBACK_ULP] = "model_fallback_ulp",
    [LIMIT_MODEL_FALLBACK_SCALE] = "model_fallback_scale",
};

/* A set of API names; NULL holds every name. */
struct api_set {
    char **names;
    size_t count;
};

typedef unsigned dtype_mask; /* bit d for enum dtype d */
#define EVERY_DTYPE (~0u)

/* First match wins. */
struct rule {
    struct api_set apis;
    dtype_mask outputs, inputs;
    enum standard standard;
    bool in_addition; /* thousandth: print its ratio and go on to the next match */
};

struct rules {
    struct rule *items;
    size_t count;
};

/* One limit given for some APIs and dtypes. The last match wins. */
struct assignment {
    struct api_set apis; /* borrowed from its group */
    dtype_mask dtypes;
    enum limit limit;
    double value;
};

/* Modes of kernels allowed for some APIs and dtypes. */
struct allowance {
    struct api_set apis; /* borrowed from its group */
    dtype_mask dtypes;
    struct kernel_modes modes;
};

struct profile {
    const char *name;
    struct profile_rules rules;
    char *integer_message;
    dtype_mask standard_dtypes;
    struct api_set by_distance, exact;
    struct rules selection;
    struct rules user_standards;
    double base[LIMIT_COUNT][DT_COUNT];
    struct assignment *assignments;
    size_t assignment_count, built_in_count;
    struct kernel_modes allowed; /* for all */
    struct allowance *allowances;
    size_t allowance_count;
    struct api_set *groups; /* owners of the assignments' names */
    size_t group_count;
};

const char *standard_name(enum standard standard) { return standard_names[standard]; }

const char *limit_name(enum limit limit) { return limit_names[limit]; }

const char *const *profile_names(void) { return names; }

const char *profile_name(const struct profile *profile) { return profile->name; }

const struct profile_rules *profile_rules(const struct profile *profile) { return &profile->rules; }

/* The name as it is kept here; NULL when no profile has it. */
static const char *known_name(const char *name)
{
    for (size_t i = 0; names[i]; i++)
        if (!strcmp(names[i], name)) return names[i];
    for (size_t i = 0; i < sizeof variant_names / sizeof *variant_names; i++)
        if (!strcmp(variant_names[i], name)) return variant_names[i];
    return NULL;
}

/* ---- memory ------------------------------------------------------------------------------- */

static void api_set_release(struct api_set *set)
{
    for (size_t i = 0; i < set->count; i++) memory_release(set->names[i]);
    memory_release(set->names);
}

static void rules_release(struct rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) api_set_release(&rules->items[i].apis);
    memory_release(rules->items);
}

void profile_release(struct profile *profile)
{
    if (!profile) return;
    memory_release(profile->integer_message);
    api_set_release(&profile->by_distance);
    api_set_release(&profile->exact);
    rules_release(&profile->selection);
    rules_release(&profile->user_standards);
    memory_release(profile->assignments);
    memory_release(profile->allowances);
    for (size_t i = 0; i < profile->group_count; i++) api_set_release(&profile->groups[i]);
    memory_release(profile->groups);
    memory_release(profile);
}

/* Room for one more item at the end of an array; NULL when there is no memory. */
static void *grow(void **items, size_t count, size_t bytes)
{
    void *larger = memory_resize(*items, (count + 1) * bytes);
    if (!larger) return NULL;
    *items = larger;
    void *item = (char *)larger + count * bytes;
    memset(item, 0, bytes);
    return item;
}

static struct status api_set_add(struct api_set *set, const char *name)
{
    char **place = grow((void **)&set->names, set->count, sizeof *set->names);
    if (!place || !(*place = memory_copy_string(name))) return status_no_memory(0);
    set->count++;
    return status_ok();
}

static bool api_set_has(const struct api_set *set, const char *api)
{
    if (!set->names) return true;
    for (size_t i = 0; i < set->count; i++)
        if (!strcmp(set->names[i], api)) return true;
    return false;
}

/* ---- pieces of JSON ----------------------------------------------------------------------- */

static struct status read_text(const char **out, const struct config_json *file, const cJSON *item)
{
    if (!cJSON_IsString(item)) return config_json_fault(file, item, "expected a string here");
    *out = item->valuestring;
    return status_ok();
}

/* Position of a word in a table ended by NULL. */
static struct status read_choice(int *out, const struct config_json *file, const cJSON *item,
                                 const char *const *choices, const char *kind)
{
    const char *word = NULL;

    TRY(read_text(&word, file, item));
    for (int i = 0; choices[i]; i++)
        if (!strcmp(word, choices[i])) {
            *out = i;
            return status_ok();
        }
    return config_json_fault(file, item, "\"%s\" is no %s", word, kind);
}

static struct status read_dtype(enum dtype *out, const struct config_json *file, const cJSON *item,
                                const char *name)
{
    *out = dtype_from_name(name);
    if (*out == DT_NONE) return config_json_fault(file, item, "\"%s\" is no dtype", name);
    return status_ok();
}

/* A dtype or an array of dtypes. */
static struct status read_dtypes(dtype_mask *out, const struct config_json *file, const cJSON *item)
{
    const cJSON *child = cJSON_IsArray(item) ? item->child : item;
    dtype_mask mask = 0;

    for (; child; child = cJSON_IsArray(item) ? child->next : NULL) {
        const char *name = NULL;
        enum dtype dtype;
        TRY(read_text(&name, file, child));
        TRY(read_dtype(&dtype, file, child, name));
        mask |= 1u << dtype;
    }
    *out = mask;
    return status_ok();
}

/* An API name or an array of them. */
static struct status read_apis(struct api_set *out, const struct config_json *file,
                               const cJSON *item)
{
    const cJSON *child = cJSON_IsArray(item) ? item->child : item;

    if (!child) return config_json_fault(file, item, "expected at least one API name");
    for (; child; child = cJSON_IsArray(item) ? child->next : NULL) {
        const char *name = NULL;
        TRY(read_text(&name, file, child));
        TRY(api_set_add(out, name));
    }
    return status_ok();
}

/* A number; null stands for infinity, a limit that is never met. */
static struct status read_number(double *out, const struct config_json *file, const cJSON *item)
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
        grow((void **)&profile->assignments, profile->assignment_count, sizeof *item);
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
        TRY(read_number(&value, file, item));
        return add_assignment(profile, apis, dtypes, limit, value);
    }
    const cJSON *fallback = cJSON_GetObjectItemCaseSensitive(item, "default"), *child;
    if (fallback) {
        TRY(read_number(&value, file, fallback));
        TRY(add_assignment(profile, apis, dtypes, limit, value));
    }
    for (child = item->child; child; child = child->next) {
        enum dtype dtype;
        if (child == fallback) continue;
        TRY(read_dtype(&dtype, file, child, child->string));
        TRY(read_number(&value, file, child));
        TRY(add_assignment(profile, apis, dtypes & 1u << dtype, limit, value));
    }
    return status_ok();
}

static struct status read_limits(struct profile *profile, const struct config_json *file,
                                 const cJSON *object, struct api_set apis, dtype_mask dtypes)
{
    const cJSON *child;

    if (!cJSON_IsObject(object))
        return config_json_fault(file, object, "expected an object of limits");
    TRY(config_json_check_names(file, object, limit_names));
    for (child = object->child; child; child = child->next) {
        int limit = 0;
        while (limit_names[limit] && strcmp(limit_names[limit], child->string)) limit++;
        if (!limit_names[limit]) continue; /* a comment */
        TRY(read_limit(profile, file, child, apis, dtypes, (enum limit)limit));
    }
    return status_ok();
}

/* The names of a group, owned by the profile; every API when `item` is NULL. */
static struct status read_group(struct api_set *out, struct profile *profile,
                                const struct config_json *file, const cJSON *item)
{
    *out = (struct api_set){ 0 };
    if (!item) return status_ok();
    struct api_set *group = grow((void **)&profile->groups, profile->group_count, sizeof *group);
    if (!group) return status_no_memory(0);
    profile->group_count++;
    TRY(read_apis(group, file, item));
    *out = *group;
    return status_ok();
}

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
                                         limit_names[limit]);
    return status_ok();
}

/* ---- selection ---------------------------------------------------------------------------- */

/* The names of one list of api_precision_standard.json, less those that this profile's file
 * takes out. */
static struct status read_api_list(struct api_set *out, const struct config_json *file,
                                   const cJSON *item, const cJSON *lists)
{
    const char *name = NULL;

    TRY(read_text(&name, file, item));
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
        TRY(read_dtypes(&rule->outputs, file, item));
    if ((item = cJSON_GetObjectItem(object, "input"))) TRY(read_dtypes(&rule->inputs, file, item));
    TRY(read_choice(&standard, file, cJSON_GetObjectItem(object, "standard"), standard_names,
                    "standard"));
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
        struct rule *rule = grow((void **)&out->items, out->count, sizeof *rule);
        if (!rule) return status_no_memory(0);
        out->count++;
        TRY(read_rule(rule, file, object, lists));
    }
    return status_ok();
}

/* ---- the built-in file -------------------------------------------------------------------- */

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
    TRY(read_choice(&choice, file, cJSON_GetObjectItem(object, key), choices, key))
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
    TRY(read_text(&message, file, cJSON_GetObjectItem(object, "integer_message")));
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
    TRY(read_dtypes(&profile->standard_dtypes, file, cJSON_GetObjectItem(root, "standard_dtypes")));
    TRY(read_rules(&profile->selection, file, "selection", lists));
    if ((item = cJSON_GetObjectItem(root, "integers_by_distance")))
        TRY(read_apis(&profile->by_distance, file, item));
    if ((item = cJSON_GetObjectItem(root, "exact"))) TRY(read_apis(&profile->exact, file, item));
    TRY(read_limits(profile, file, cJSON_GetObjectItem(root, "limits"), every, EVERY_DTYPE));
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

static struct status load_built_in(struct profile *profile, const struct embedded_file *files)
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

/* ---- the user's file ---------------------------------------------------------------------- */

/* A mode or an array of modes. */
static struct status read_allowance(struct profile *profile, const struct config_json *file,
                                    const cJSON *item, struct api_set apis, dtype_mask dtypes)
{
    struct allowance *allowance =
        grow((void **)&profile->allowances, profile->allowance_count, sizeof *allowance);
    if (!allowance) return status_no_memory(0);
    profile->allowance_count++;
    allowance->apis = apis;
    allowance->dtypes = dtypes;
    const cJSON *child = cJSON_IsArray(item) ? item->child : item;
    for (; child; child = cJSON_IsArray(item) ? child->next : NULL) {
        const char *mode = NULL;
        TRY(read_text(&mode, file, child));
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
    if ((item = cJSON_GetObjectItem(object, "dtype"))) TRY(read_dtypes(&dtypes, file, item));
    if ((item = cJSON_GetObjectItem(object, "limits")))
        TRY(read_limits(profile, file, item, apis, dtypes));
    if ((item = cJSON_GetObjectItem(object, "allow")))
        TRY(read_allowance(profile, file, item, apis, dtypes));
    if (!(item = cJSON_GetObjectItem(object, "standard"))) return status_ok();

    struct rules *rules = &profile->user_standards;
    struct rule *rule = grow((void **)&rules->items, rules->count, sizeof *rule);
    if (!rule) return status_no_memory(0);
    rules->count++;
    rule->outputs = dtypes;
    rule->inputs = EVERY_DTYPE;
    if (cJSON_GetObjectItem(object, "api"))
        TRY(read_apis(&rule->apis, file, cJSON_GetObjectItem(object, "api")));
    int standard = 0;
    TRY(read_choice(&standard, file, item, standard_names, "standard"));
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

static struct status load_overrides(struct profile *profile, const char *path,
                                    struct file_policy policy)
{
    struct config_json source;

    TRY(config_json_open(&source, path, policy));
    struct status status = read_overrides(profile, &source);
    config_json_close(&source);
    return status;
}

struct status profile_load(struct profile **out, const char *name, const char *override_path,
                           struct file_policy policy)
{
    return profile_read(out, name, config_files, override_path, policy);
}

struct status profile_load_for(struct profile **out, const char *prefix, const char *name,
                               const char *override_path, struct file_policy policy)
{
    char own[64];
    (void)snprintf(own, sizeof own, "%s%s", prefix, name);
    return profile_load(out, known_name(own) ? own : name, override_path, policy);
}

struct status profile_read(struct profile **out, const char *name,
                           const struct embedded_file *files, const char *override_path,
                           struct file_policy policy)
{
    const char *known = known_name(name);

    if (!known)
        return status_error(STATUS_BAD_ARGUMENT,
                            "unknown profile \"%s\"; the profiles are doc, v2, v3 and strict",
                            name);
    struct profile *profile = memory_allocate_zeroed(1, sizeof *profile);
    if (!profile) return status_no_memory(sizeof *profile);
    profile->name = known;
    struct status status = load_built_in(profile, files);
    if (status.code == STATUS_OK && override_path)
        status = load_overrides(profile, override_path, policy);
    if (status.code == STATUS_OK) *out = profile;
    else profile_release(profile);
    return status;
}

/* ---- answers ------------------------------------------------------------------------------ */

double profile_limit(const struct profile *profile, enum limit limit, const char *api,
                     enum dtype dtype)
{
    dtype = metrics_component_dtype(dtype);
    for (size_t i = profile->assignment_count; i-- > 0;) {
        const struct assignment *item = &profile->assignments[i];
        if (item->limit == limit && item->dtypes >> dtype & 1 && api_set_has(&item->apis, api))
            return item->value;
    }
    return profile->base[limit][dtype];
}

bool profile_is_overridden(const struct profile *profile, const char *api, enum dtype dtype)
{
    dtype = metrics_component_dtype(dtype);
    for (size_t i = profile->built_in_count; i < profile->assignment_count; i++)
        if (profile->assignments[i].dtypes >> dtype & 1 &&
            api_set_has(&profile->assignments[i].apis, api))
            return true;
    return false;
}

bool profile_is_exact(const struct profile *profile, const char *api)
{
    return profile->exact.names && api_set_has(&profile->exact, api);
}

static const struct rule *find_rule(const struct rules *rules, const char *api, enum dtype output,
                                    enum dtype input, bool in_addition)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->items[i];
        if (rule->in_addition == in_addition && rule->outputs >> output & 1 &&
            rule->inputs >> input & 1 && api_set_has(&rule->apis, api))
            return rule;
    }
    return NULL;
}

struct status profile_allow(struct profile *profile, const struct kernel_modes *modes)
{
    return kernel_modes_add(&profile->allowed, modes);
}

struct status profile_allowed(struct kernel_modes *out, const struct profile *profile,
                              const char *api, enum dtype dtype)
{
    *out = profile->allowed;
    for (size_t i = 0; i < profile->allowance_count; i++) {
        const struct allowance *item = &profile->allowances[i];
        if (!api || (item->dtypes >> dtype & 1 && api_set_has(&item->apis, api)))
            TRY(kernel_modes_add(out, &item->modes));
    }
    return status_ok();
}

struct profile_selection profile_select(const struct profile *profile, const char *api,
                                        enum dtype output, enum dtype input)
{
    struct profile_selection selection = { STANDARD_NONE, false, false, false };

    output = metrics_component_dtype(output);
    selection.integer_by_distance = profile->by_distance.names &&
                                    api_set_has(&profile->by_distance, api);
    selection.supported = profile->standard_dtypes >> output & 1;
    if (!selection.supported) return selection;
    selection.also_thousandth = find_rule(&profile->selection, api, output, input, true) != NULL;
    const struct rule *rule = find_rule(&profile->user_standards, api, output, input, false);
    if (!rule) rule = find_rule(&profile->selection, api, output, input, false);
    if (rule) selection.standard = rule->standard;
    return selection;
}
