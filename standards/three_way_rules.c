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

/* ---- reading objects -------------------------------------------------------------------- */

struct reading {
    struct three_way_rules *rules;
    struct three_way_thresholds *thresholds; /* being read: the profile's or an override's */
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

static const char *const level_names[LEVELS] = { "L0", "L1", "L2" };

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
    r->thresholds->thousandth_inclusive = read_bool(r, item);
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

static void read_override(struct reading *r, const cJSON *object)
{
    struct three_way_override *o = &r->rules->overrides[r->rules->n_overrides];
    const cJSON *api = cJSON_GetObjectItemCaseSensitive(object, "api");
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(object, "dtype");

    *o = (struct three_way_override){ .thresholds = r->rules->thresholds };
    if (cJSON_IsString(api)) o->api = copy_text(r, api->valuestring);
    if (cJSON_IsString(dtype)) {
        o->dtype = strcmp(dtype->valuestring, "float8") == 0
                       ? THREE_WAY_F8
                       : three_way_dtype(dtype->valuestring, strlen(dtype->valuestring));
        if (o->dtype == THREE_WAY_OTHER) fail(r, dtype, "is not a floating dtype");
    }
    r->thresholds = &o->thresholds;
    for (const cJSON *item = members(r, object); item && !r->status.code; item = item->next) {
        if (item == api || item == dtype) {
            if (!cJSON_IsString(item)) fail(r, item, "must be a string");
            continue;
        }
        size_t k = 0, n = sizeof threshold_keys / sizeof *threshold_keys;
        while (k < n && strcmp(threshold_keys[k].name, item->string) != 0) k++;
        if (k == n) fail(r, item, "is not a key that is known");
        else threshold_keys[k].read(r, item);
    }
    r->rules->n_overrides++;
}

static void read_overrides(struct reading *r, const cJSON *array)
{
    size_t n = (size_t)cJSON_GetArraySize(array);
    r->rules->n_overrides = 0;
    r->rules->overrides = arena_allocate_zeroed(&r->rules->arena, n,
                                                sizeof *r->rules->overrides);
    if (!r->rules->overrides) {
        r->status = status_no_memory(n * sizeof *r->rules->overrides);
        return;
    }
    const char *outer = r->within;
    r->within = array->string;
    for (const cJSON *item = items(r, array); item && !r->status.code; item = item->next) {
        read_override(r, item);
    }
    r->within = outer;
}

/* ---- the file --------------------------------------------------------------------------- */

static void read_profile(struct reading *r, const cJSON *item)
{
    /* Overrides are copies of the profile's thresholds, so they come last. */
    static const struct key keys[] = {
        { "origin", ignore },
        { "order", read_order },
        { "by_metrics", read_by_metrics },
        { "blank_metrics", read_blank_metrics },
        { "peer_rows", read_peer_rows },
        { "first_stage", read_first_stage },
        { "operator_levels", read_operator_levels },
        { "unsupported_dtypes", read_unsupported },
        { "ratio_of_zero", read_ratio_of_zero },
        { "ratio_floor", read_ratio_floor },
        { "thresholds", read_thresholds },
        { "overrides", ignore },
    };
    READ_OBJECT(r, item, keys);
    const cJSON *overrides = cJSON_GetObjectItemCaseSensitive(item, "overrides");
    if (overrides && !r->status.code) read_overrides(r, overrides);
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
                               const char *name, const char *text)
{
    static const struct key keys[] = { { "about", ignore }, { "profiles", read_profiles } };
    struct reading r = { .rules = rules, .profile = profile, .within = "the file",
                         .status = status_ok() };
    TRY(json_source_parse(&r.source, name, text, strlen(text)));
    READ_OBJECT(&r, r.source.root, keys);
    cJSON_Delete(r.source.root);
    return r.status;
}

static const char *embedded_text(const char *name)
{
    for (const struct embedded_file *file = config_files; file->name; file++) {
        if (strcmp(file->name, name) == 0) return file->text;
    }
    return NULL;
}

/* ---- API lists -------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct api_rules *)a)->name, ((const struct api_rules *)b)->name);
}

static int is_named(const void *name, const void *api)
{
    return strcmp(name, ((const struct api_rules *)api)->name);
}

const struct api_rules *three_way_find_api(const struct three_way_rules *rules, const char *name)
{
    return bsearch(name, rules->apis, rules->n_apis, sizeof *rules->apis, is_named);
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
    static const char *const lists[LIST_COUNT] = {
        [LIST_BINARY] = "BinaryCompareStandard",
        [LIST_ABSOLUTE] = "AbsoluteThreshStandard",
        [LIST_ULP] = "ULPStandard",
        [LIST_THOUSANDTH] = "ThousandthStandard",
        [LIST_ACCUMULATIVE] = "AccumulativeErrorStandard",
    };
    for (size_t list = 0; list < LIST_COUNT; list++) {
        const cJSON *item;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(standards, lists[list]))
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
    const char *text = embedded_text("three_way.json");
    if (!text) return status_error(STATUS_INTERNAL, "three_way.json is not built in");
    set_no_limits(&rules->thresholds);
    TRY(read_file(rules, profile, "three_way.json", text));
    TRY(read_api_lists(rules));
    if (override_text) TRY(read_file(rules, profile, override_name, override_text));
    return status_ok();
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
