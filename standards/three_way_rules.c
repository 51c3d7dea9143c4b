/* Reading config/three_way.json and, over it, a user's file of the same form. Every object is
 * read by a table of its keys, so that an unknown one is an error and nothing is forgotten. */
#include "standards/three_way_rules.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/embedded.h"
#include "core/memory.h"
#include "standards/json_source.h"

static const char *const profiles[] = { "doc", "v2", "v3", "strict", NULL };

const char *const *three_way_profiles(void)
{
    return profiles;
}

static const char *embedded_text(const char *name)
{
    for (const struct embedded_file *file = config_files; file->name; file++) {
        if (strcmp(file->name, name) == 0) return file->text;
    }
    return NULL;
}

/* ---- API lists -------------------------------------------------------------------------- */

static const char *const list_names[LIST_COUNT] = {
    [LIST_BINARY] = "BinaryCompareStandard",
    [LIST_ABSOLUTE] = "AbsoluteThreshStandard",
    [LIST_ULP] = "ULPStandard",
    [LIST_THOUSANDTH] = "ThousandthStandard",
    [LIST_ACCUMULATIVE] = "AccumulativeErrorStandard",
};

static const char *const level_names[LEVELS] = { "L0", "L1", "L2" };

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct api_rules *)a)->name, ((const struct api_rules *)b)->name);
}

static int is_named(const void *name, const void *api)
{
    return strcmp(name, ((const struct api_rules *)api)->name);
}

static struct api_rules *find_api(const struct three_way_rules *rules, const char *name)
{
    return bsearch(name, rules->apis, rules->n_apis, sizeof *rules->apis, is_named);
}

const struct api_rules *three_way_find_api(const struct three_way_rules *rules, const char *name)
{
    return find_api(rules, name);
}

/* The entry of a name; a new one when it is not there yet. */
static struct api_rules *add_api(struct three_way_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->n_apis; i++) {
        if (strcmp(rules->apis[i].name, name) == 0) return &rules->apis[i];
    }
    struct api_rules *api = &rules->apis[rules->n_apis];
    *api = (struct api_rules){ .name = arena_copy_string(&rules->arena, name) };
    if (!api->name) return NULL;
    rules->n_apis++;
    return api;
}

static bool read_lists(struct three_way_rules *rules, const cJSON *standards,
                       const cJSON *levels)
{
    for (size_t list = 0; list < LIST_COUNT; list++) {
        const cJSON *item;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(standards, list_names[list]))
        {
            struct api_rules *api = add_api(rules, item->valuestring);
            if (!api) return false;
            api->lists |= 1u << list;
        }
    }
    for (enum operator_level level = LEVEL_1; level < LEVELS; level++) {
        const cJSON *item;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(levels, level_names[level]))
        {
            struct api_rules *api = add_api(rules, item->valuestring);
            if (!api) return false;
            api->level = level;
        }
    }
    return true;
}

static size_t count_strings(const cJSON *tree)
{
    size_t n = cJSON_IsString(tree) ? 1 : 0;
    for (const cJSON *item = tree->child; item; item = item->next) n += count_strings(item);
    return n;
}

static struct status read_api_lists(struct three_way_rules *rules)
{
    const char *name = "api_precision_standard.json", *text = embedded_text(name);
    cJSON *tree = text ? cJSON_Parse(text) : NULL;
    const cJSON *standards = cJSON_GetObjectItemCaseSensitive(tree, "standards");
    const cJSON *levels = cJSON_GetObjectItemCaseSensitive(tree, "operator_levels_2026_08");
    struct status status = status_ok();

    if (!standards || !levels) {
        status = status_error(STATUS_INTERNAL, "the built-in %s cannot be read", name);
    } else {
        size_t most = count_strings(standards) + count_strings(levels);
        rules->apis = arena_allocate_zeroed(&rules->arena, most, sizeof *rules->apis);
        if (!rules->apis || !read_lists(rules, standards, levels))
            status = status_no_memory(most * sizeof *rules->apis);
        else
            qsort(rules->apis, rules->n_apis, sizeof *rules->apis, by_name);
    }
    cJSON_Delete(tree);
    return status;
}

/* ---- reading objects -------------------------------------------------------------------- */

struct reading {
    struct three_way_rules *rules;
    struct three_way_thresholds *thresholds; /* being read: the profile's or an override's */
    struct three_way_override *override; /* being read */
    const char *profile;
    struct json_source source;
    const char *within; /* key of the list or object around the current item */
    struct status status;
};

struct key {
    const char *name;
    void (*read)(struct reading *, const cJSON *item);
};

static void fail(struct reading *r, const cJSON *item, const char *problem)
{
    if (r->status.code) return;
    if (item->string)
        r->status = json_source_fault(&r->source, item, "'%s' %s", item->string, problem);
    else
        r->status = json_source_fault(&r->source, item, "an item of '%s' %s", r->within, problem);
}

/* The first member of an object, the first item of a list; NULL, with a fault, for anything
 * else. */
static const cJSON *members(struct reading *r, const cJSON *object)
{
    if (cJSON_IsObject(object)) return object->child;
    fail(r, object, "must be an object");
    return NULL;
}

static const cJSON *items(struct reading *r, const cJSON *array)
{
    if (cJSON_IsArray(array)) return array->child;
    fail(r, array, "must be a list");
    return NULL;
}

static void read_object(struct reading *r, const cJSON *object, const struct key *keys, size_t n)
{
    const char *outer = r->within;
    if (object->string) r->within = object->string;
    for (const cJSON *item = members(r, object); item && !r->status.code; item = item->next) {
        size_t k = 0;
        while (k < n && strcmp(keys[k].name, item->string) != 0) k++;
        if (k == n) fail(r, item, "is not a key that is known");
        else keys[k].read(r, item);
    }
    r->within = outer;
}
#define READ_OBJECT(r, object, keys) read_object(r, object, keys, sizeof(keys) / sizeof *(keys))

static double read_number(struct reading *r, const cJSON *item)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0)) {
        fail(r, item, "must be a number that is not negative");
        return 0;
    }
    return item->valuedouble;
}

static bool read_bool(struct reading *r, const cJSON *item)
{
    if (!cJSON_IsBool(item)) fail(r, item, "must be true or false");
    return cJSON_IsTrue(item);
}

/* Place of the item's text among names; n when it is none of them. */
static size_t read_word(struct reading *r, const cJSON *item, const char *const *names, size_t n)
{
    if (cJSON_IsString(item)) {
        for (size_t i = 0; i < n; i++) {
            if (strcmp(item->valuestring, names[i]) == 0) return i;
        }
    }
    fail(r, item, "has a value that is not known");
    return n;
}

static const char *copy_text(struct reading *r, const char *text)
{
    const char *copy = arena_copy_string(&r->rules->arena, text);
    if (!copy && !r->status.code) r->status = status_no_memory(strlen(text));
    return copy;
}

static void ignore(struct reading *r, const cJSON *item)
{
    (void)r;
    (void)item;
}

/* A dtype that is a key. "default" stands for all that the object does not name. */
static enum three_way_dtype key_dtype(struct reading *r, const cJSON *item)
{
    if (strcmp(item->string, "float8") == 0) return THREE_WAY_F8;
    enum three_way_dtype dtype = three_way_dtype(item->string, strlen(item->string));
    if (dtype == THREE_WAY_OTHER || dtype == THREE_WAY_BLANK)
        fail(r, item, "is not a floating dtype");
    return dtype;
}

/* ---- thresholds ------------------------------------------------------------------------- */

static void read_ratio_limits(struct reading *r, const cJSON *object, struct ratio_limit *limit)
{
    for (const cJSON *item = members(r, object); item && !r->status.code; item = item->next) {
        if (strcmp(item->string, "error") == 0) limit->error = read_number(r, item);
        else if (strcmp(item->string, "warning") == 0) limit->warning = read_number(r, item);
        else fail(r, item, "is not a key that is known");
    }
}

static void read_level(struct reading *r, const cJSON *object, struct ratio_limit *limits)
{
    static const char *const names[RATIO_METRICS] = {
        [METRIC_SMALL_VALUE] = "small_value",   [METRIC_RMSE] = "rmse",
        [METRIC_MAX_RELATIVE] = "max_rel_err",  [METRIC_MEAN_RELATIVE] = "mean_rel_err",
        [METRIC_BALANCE] = "eb",
    };
    for (const cJSON *item = members(r, object); item && !r->status.code; item = item->next) {
        size_t m = 0;
        while (m < RATIO_METRICS && strcmp(item->string, names[m]) != 0) m++;
        if (m == RATIO_METRICS) fail(r, item, "is not a key that is known");
        else read_ratio_limits(r, item, &limits[m]);
    }
}

static void read_ratio(struct reading *r, const cJSON *object)
{
    for (const cJSON *item = members(r, object); item && !r->status.code; item = item->next) {
        size_t level = 0;
        while (level < LEVELS && strcmp(item->string, level_names[level]) != 0) level++;
        if (level == LEVELS) {
            fail(r, item, "is not an operator level, L0 to L2");
            return;
        }
        read_level(r, item, r->thresholds->ratio[level]);
    }
}

static void read_thousandth_limit(struct reading *r, const cJSON *item)
{
    r->thresholds->thousandth = read_number(r, item);
}

static void read_thousandth_inclusive(struct reading *r, const cJSON *item)
{
    r->thresholds->thousandth_inclusive = read_bool(r, item) ? 1 : 0;
}

static void read_thousandth(struct reading *r, const cJSON *item)
{
    static const struct key keys[] = { { "limit", read_thousandth_limit },
                                       { "inclusive", read_thousandth_inclusive } };
    READ_OBJECT(r, item, keys);
}

static void read_ulp(struct reading *r, const cJSON *object)
{
    for (const cJSON *item = members(r, object); item && !r->status.code; item = item->next) {
        struct ulp_limit *limit = &r->thresholds->ulp[key_dtype(r, item)];
        for (const cJSON *value = members(r, item); value && !r->status.code; value = value->next) {
            if (strcmp(value->string, "mean") == 0) limit->mean = read_number(r, value);
            else if (strcmp(value->string, "proportion") == 0)
                limit->proportion = read_number(r, value);
            else if (strcmp(value->string, "ratio") == 0) limit->ratio = read_number(r, value);
            else fail(r, value, "is not a key that is known");
        }
    }
}

static void read_accumulative(struct reading *r, const cJSON *object)
{
    for (const cJSON *item = members(r, object); item && !r->status.code; item = item->next)
        r->thresholds->accumulative_balance[key_dtype(r, item)] = read_number(r, item);
}

static const struct key threshold_keys[] = {
    { "ratio", read_ratio },
    { "thousandth", read_thousandth },
    { "ulp", read_ulp },
    { "accumulative_eb", read_accumulative },
};

static void read_thresholds(struct reading *r, const cJSON *item)
{
    r->thresholds = &r->rules->thresholds;
    READ_OBJECT(r, item, threshold_keys);
}

/* ---- a profile -------------------------------------------------------------------------- */

static void read_order(struct reading *r, const cJSON *array)
{
    static const char *const names[STEP_COUNT] = {
        [STEP_F8_ULP] = "fp8 output: ULP",
        [STEP_RELATIVE_PRESENT] = "relative error ratio present: absolute",
        [STEP_FLOAT_BENCHMARK] = "float: benchmark",
        [STEP_NOT_FLOAT_BINARY] = "not a float: binary",
        [STEP_BINARY_LIST] = "BinaryCompareStandard",
        [STEP_ABSOLUTE_LIST] = "AbsoluteThreshStandard",
        [STEP_ULP_LIST] = "ULPStandard",
        [STEP_THOUSANDTH_LIST] = "ThousandthStandard",
        [STEP_ACCUMULATIVE_LIST] = "AccumulativeErrorStandard",
        [STEP_BENCHMARK] = "benchmark",
    };
    r->rules->steps = 0;
    for (const cJSON *item = items(r, array); item && !r->status.code; item = item->next) {
        size_t step = read_word(r, item, names, STEP_COUNT);
        if (r->rules->steps == STEP_COUNT) fail(r, array, "has too many steps");
        if (!r->status.code) r->rules->order[r->rules->steps++] = (enum three_way_step)step;
    }
}

static void read_by_metrics(struct reading *r, const cJSON *item)
{
    r->rules->by_metrics = read_bool(r, item);
}

static void read_blank_metrics(struct reading *r, const cJSON *item)
{
    static const char *const names[] = { [BLANK_REASON] = "reason",
                                         [BLANK_EXCEPTION] = "exception",
                                         [BLANK_ZERO] = "zero" };
    r->rules->blank_metrics = (enum blank_policy)read_word(r, item, names, 3);
}

static void read_peer_rows(struct reading *r, const cJSON *item)
{
    r->rules->peer_rows = read_bool(r, item);
}

static void read_first_stage(struct reading *r, const cJSON *item)
{
    r->rules->first_stage = read_bool(r, item);
}

static void read_operator_levels(struct reading *r, const cJSON *item)
{
    r->rules->operator_levels = read_bool(r, item);
}

static void read_unsupported(struct reading *r, const cJSON *array)
{
    memset(r->rules->unsupported, 0, sizeof r->rules->unsupported);
    for (const cJSON *item = items(r, array); item && !r->status.code; item = item->next) {
        enum three_way_dtype dtype = THREE_WAY_OTHER;
        if (cJSON_IsString(item))
            dtype = three_way_dtype(item->valuestring, strlen(item->valuestring));
        if (dtype == THREE_WAY_OTHER || dtype == THREE_WAY_BLANK)
            fail(r, array, "names a dtype that is not a floating one");
        else r->rules->unsupported[dtype] = true;
    }
}

static void read_both_zero(struct reading *r, const cJSON *item)
{
    r->rules->both_zero = read_number(r, item);
}

static void read_npu_nonzero(struct reading *r, const cJSON *item)
{
    r->rules->npu_nonzero = read_number(r, item);
}

static void read_ratio_of_zero(struct reading *r, const cJSON *item)
{
    static const struct key keys[] = { { "both_zero", read_both_zero },
                                       { "npu_nonzero", read_npu_nonzero } };
    r->rules->has_floor = false;
    READ_OBJECT(r, item, keys);
}

static void read_ratio_floor(struct reading *r, const cJSON *object)
{
    const cJSON *rest = cJSON_GetObjectItemCaseSensitive(object, "default");
    r->rules->has_floor = true;
    for (size_t dtype = 0; rest && dtype < THREE_WAY_DTYPES; dtype++)
        r->rules->floor[dtype] = read_number(r, rest);
    for (const cJSON *item = members(r, object); item && !r->status.code; item = item->next) {
        if (item != rest) r->rules->floor[key_dtype(r, item)] = read_number(r, item);
    }
}

/* An API list of this profile differs from the built-in one. */
static void read_lists_without(struct reading *r, const cJSON *object)
{
    for (const cJSON *list = members(r, object); list && !r->status.code; list = list->next) {
        size_t which = 0;
        while (which < LIST_COUNT && strcmp(list->string, list_names[which]) != 0) which++;
        if (which == LIST_COUNT) fail(r, list, "is not a list of APIs");
        for (const cJSON *item = items(r, list); item && !r->status.code; item = item->next) {
            struct api_rules *api = NULL;
            if (cJSON_IsString(item)) api = find_api(r->rules, item->valuestring);
            if (api) api->lists &= ~(1u << which);
            else fail(r, item, "is not an API of that list");
        }
    }
}

/* ---- the file --------------------------------------------------------------------------- */

static void read_profile(struct reading *r, const cJSON *item)
{
    static const struct key keys[] = {
        { "origin", ignore },
        { "order", read_order },
        { "lists_without", read_lists_without },
        { "by_metrics", read_by_metrics },
        { "blank_metrics", read_blank_metrics },
        { "peer_rows", read_peer_rows },
        { "first_stage", read_first_stage },
        { "operator_levels", read_operator_levels },
        { "unsupported_dtypes", read_unsupported },
        { "ratio_of_zero", read_ratio_of_zero },
        { "ratio_floor", read_ratio_floor },
        { "thresholds", read_thresholds },
    };
    READ_OBJECT(r, item, keys);
}

static void read_profiles(struct reading *r, const cJSON *object)
{
    for (const cJSON *item = members(r, object); item && !r->status.code; item = item->next) {
        size_t k = 0;
        while (profiles[k] && strcmp(profiles[k], item->string) != 0) k++;
        if (!profiles[k]) fail(r, item, "is not a profile");
        else if (strcmp(item->string, r->profile) == 0) read_profile(r, item);
    }
}

static struct status read_file(struct three_way_rules *rules, const char *profile,
                               const char *name, const char *text, const struct key *keys,
                               size_t n)
{
    struct reading r = { .rules = rules, .profile = profile, .within = "the file",
                         .status = status_ok() };
    TRY(json_source_parse(&r.source, name, text, strlen(text)));
    read_object(&r, r.source.root, keys, n);
    cJSON_Delete(r.source.root);
    return r.status;
}

/* ---- the user's file -------------------------------------------------------------------- */

static void read_override_apis(struct reading *r, const cJSON *item)
{
    struct three_way_override *o = r->override;
    const cJSON *name = cJSON_IsArray(item) ? item->child : item;
    size_t n = cJSON_IsArray(item) ? (size_t)cJSON_GetArraySize(item) : 1;

    o->apis = arena_allocate_zeroed(&r->rules->arena, n, sizeof *o->apis);
    if (!o->apis && !r->status.code) r->status = status_no_memory(n * sizeof *o->apis);
    for (; name && !r->status.code && o->n_apis < n; name = name->next) {
        if (!cJSON_IsString(name)) fail(r, item, "must be an API name or a list of them");
        else o->apis[o->n_apis++] = copy_text(r, name->valuestring);
    }
}

static void read_override_dtypes(struct reading *r, const cJSON *item)
{
    const cJSON *name = cJSON_IsArray(item) ? item->child : item;
    size_t left = cJSON_IsArray(item) ? (size_t)cJSON_GetArraySize(item) : 1;

    for (; name && !r->status.code && left--; name = name->next) {
        enum three_way_dtype dtype = THREE_WAY_BLANK;
        if (cJSON_IsString(name))
            dtype = three_way_dtype(name->valuestring, strlen(name->valuestring));
        if (dtype == THREE_WAY_BLANK) fail(r, item, "must be a dtype or a list of them");
        r->override->dtypes |= 1u << dtype;
    }
}

static void read_override_standard(struct reading *r, const cJSON *item)
{
    /* The words of the run's own overrides; what the comparison does not know, it ignores. */
    static const struct {
        const char *word;
        enum comparison standard;
    } words[] = {
        { "benchmark", COMPARE_BENCHMARK },   { "binary", COMPARE_BINARY },
        { "absolute", COMPARE_ABSOLUTE },     { "ulp", COMPARE_ULP },
        { "thousandth", COMPARE_THOUSANDTH }, { "accumulative", COMPARE_ACCUMULATIVE },
    };
    if (!cJSON_IsString(item)) fail(r, item, "must be the name of a standard");
    for (size_t i = 0; !r->status.code && i < COMPARE_COUNT; i++) {
        if (strcmp(item->valuestring, words[i].word) != 0) continue;
        r->override->has_standard = true;
        r->override->standard = words[i].standard;
    }
}

static void read_override_thresholds(struct reading *r, const cJSON *item)
{
    r->thresholds = &r->override->thresholds;
    READ_OBJECT(r, item, threshold_keys);
}

static void read_overrides(struct reading *r, const cJSON *array)
{
    static const struct key keys[] = {
        { "about", ignore },
        { "api", read_override_apis },
        { "dtype", read_override_dtypes },
        { "limits", ignore }, /* of the run */
        { "standard", read_override_standard },
        { "three_way", read_override_thresholds },
    };
    size_t n = cJSON_IsArray(array) ? (size_t)cJSON_GetArraySize(array) : 0;
    struct three_way_override *overrides =
        arena_allocate_zeroed(&r->rules->arena, n, sizeof *overrides);

    if (!overrides && !r->status.code) r->status = status_no_memory(n * sizeof *overrides);
    r->rules->overrides = overrides;
    for (const cJSON *item = items(r, array); item && !r->status.code; item = item->next) {
        double nothing[THRESHOLDS];
        for (size_t i = 0; i < THRESHOLDS; i++) nothing[i] = NAN;
        r->override = &overrides[r->rules->n_overrides++];
        memcpy(&r->override->thresholds, nothing, sizeof nothing);
        READ_OBJECT(r, item, keys);
    }
}

/* ---- loading ---------------------------------------------------------------------------- */

/* Without a word in the file nothing is limited, and no ULP limit can be kept. */
static void set_no_limits(struct three_way_thresholds *thresholds)
{
    for (size_t level = 0; level < LEVELS; level++) {
        for (size_t m = 0; m < RATIO_METRICS; m++)
            thresholds->ratio[level][m] = (struct ratio_limit){ INFINITY, INFINITY };
    }
    for (size_t dtype = 0; dtype < THREE_WAY_DTYPES; dtype++)
        thresholds->ulp[dtype] = (struct ulp_limit){ -1, -1, -1 };
}

static struct status load(struct three_way_rules *rules, const char *profile,
                          const char *override_name, const char *override_text)
{
    static const struct key keys[] = { { "about", ignore }, { "profiles", read_profiles } };
    static const struct key override_keys[] = { { "$schema", ignore }, { "about", ignore },
                                                { "overrides", read_overrides } };
    const char *text = embedded_text("three_way.json");
    if (!text) return status_error(STATUS_INTERNAL, "three_way.json is not built in");
    set_no_limits(&rules->thresholds);
    TRY(read_api_lists(rules));
    TRY(read_file(rules, profile, "three_way.json", text, keys, 2));
    if (!override_text) return status_ok();
    return read_file(rules, profile, override_name, override_text, override_keys, 3);
}

struct status three_way_rules_load(struct three_way_rules **out, const char *profile,
                                   const char *override_name, const char *override_text)
{
    size_t known = 0;
    while (profiles[known] && strcmp(profiles[known], profile) != 0) known++;
    if (!profiles[known])
        return status_error(STATUS_BAD_ARGUMENT,
                            "there is no profile '%s'; the profiles are doc, v2, v3 and strict",
                            profile);
    struct three_way_rules *rules = memory_allocate_zeroed(1, sizeof *rules);
    if (!rules) return status_no_memory(sizeof *rules);
    struct status status = load(rules, profile, override_name, override_text);
    if (status.code) three_way_rules_release(rules);
    else *out = rules;
    return status;
}

void three_way_rules_release(struct three_way_rules *rules)
{
    if (!rules) return;
    arena_release(&rules->arena);
    memory_release(rules);
}
