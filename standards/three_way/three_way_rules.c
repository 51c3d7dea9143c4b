/* Reading config/three_way.json, the API lists, and a user's overrides. Every object is read by
 * a table of its keys, which says what stands where, so that an unknown key is an error and
 * nothing is forgotten. */
#include "standards/three_way/three_way_rules.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/embedded.h"
#include "core/memory.h"
#include "formats/config_json.h"

static const char *const profiles[] = { "doc", "v2", "v3", "strict", NULL };

const char *const *three_way_profiles(void) { return profiles; }

/* ---- reading objects -------------------------------------------------------------------- */

struct reading {
    struct three_way_rules *rules;
    const char *profile;
    const struct config_json *file;
    struct status status;
};

/* What a key's value is, and where it goes, counted from the struct of its object. */
struct key {
    const char *name;
    void (*read)(struct reading *, const cJSON *item, void *place);
    size_t offset;
};

static void fail(struct reading *r, const cJSON *item, const char *problem)
{
    r->status = config_json_fault(r->file, item, "%s", problem);
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

#define EACH(item, r, first) \
    for (const cJSON *item = (first); item && !(r)->status.code; item = item->next)

/* Place of a text in a table; n when it is not there. */
static size_t find_word(const char *word, const char *const *words, size_t n)
{
    size_t i = 0;
    while (i < n && strcmp(words[i], word) != 0) i++;
    return i;
}

static void read_object(struct reading *r, const cJSON *object, void *base, const struct key *keys,
                        size_t n)
{
    EACH(item, r, members(r, object))
    {
        size_t k = 0;
        while (k < n && strcmp(keys[k].name, item->string) != 0) k++;
        if (k == n) fail(r, item, "no such key");
        else keys[k].read(r, item, (char *)base + keys[k].offset);
    }
}
#define READ_OBJECT(r, object, base, keys) \
    read_object(r, object, base, keys, sizeof(keys) / sizeof *(keys))

static void read_number(struct reading *r, const cJSON *item, void *place)
{
    double value = cJSON_GetNumberValue(item); /* NaN when it is none */
    if (value >= 0) memcpy(place, &value, sizeof value);
    else fail(r, item, "must be a number that is not negative");
}

static void read_bool(struct reading *r, const cJSON *item, void *place)
{
    bool value = cJSON_IsTrue(item);
    if (cJSON_IsBool(item)) memcpy(place, &value, sizeof value);
    else fail(r, item, "must be true or false");
}

static void read_bool_as_number(struct reading *r, const cJSON *item, void *place)
{
    double value = cJSON_IsTrue(item) ? 1 : 0;
    if (cJSON_IsBool(item)) memcpy(place, &value, sizeof value);
    else fail(r, item, "must be true or false");
}

static void ignore(struct reading *r, const cJSON *item, void *place)
{
    (void)r;
    (void)item;
    (void)place;
}

/* ---- thresholds ------------------------------------------------------------------------- */

/* A table of keys for an array by dtype. */
#define BY_DTYPE(read, size)                                     \
    {                                                            \
        { "torch.float16", read, THREE_WAY_F16 * (size) },       \
            { "torch.bfloat16", read, THREE_WAY_BF16 * (size) }, \
            { "torch.float32", read, THREE_WAY_F32 * (size) },   \
            { "torch.float64", read, THREE_WAY_F64 * (size) },   \
            { "float8", read, THREE_WAY_F8 * (size) },           \
    }

static void read_ratio_limit(struct reading *r, const cJSON *item, void *place)
{
    static const struct key keys[] = {
        { "error", read_number, offsetof(struct ratio_limit, error) },
        { "warning", read_number, offsetof(struct ratio_limit, warning) },
    };
    READ_OBJECT(r, item, place, keys);
}

static void read_level(struct reading *r, const cJSON *item, void *place)
{
    static const struct key keys[] = {
        { "small_value", read_ratio_limit, METRIC_SMALL_VALUE * sizeof(struct ratio_limit) },
        { "rmse", read_ratio_limit, METRIC_RMSE * sizeof(struct ratio_limit) },
        { "max_rel_err", read_ratio_limit, METRIC_MAX_RELATIVE * sizeof(struct ratio_limit) },
        { "mean_rel_err", read_ratio_limit, METRIC_MEAN_RELATIVE * sizeof(struct ratio_limit) },
        { "eb", read_ratio_limit, METRIC_BALANCE * sizeof(struct ratio_limit) },
    };
    READ_OBJECT(r, item, place, keys);
}

static void read_ratio(struct reading *r, const cJSON *item, void *place)
{
    enum { LEVEL_BYTES = RATIO_METRICS * sizeof(struct ratio_limit) };
    static const struct key keys[] = {
        { "L0", read_level, LEVEL_0 * LEVEL_BYTES },
        { "L1", read_level, LEVEL_1 * LEVEL_BYTES },
        { "L2", read_level, LEVEL_2 * LEVEL_BYTES },
    };
    READ_OBJECT(r, item, place, keys);
}

static void read_thousandth(struct reading *r, const cJSON *item, void *place)
{
    static const struct key keys[] = {
        { "limit", read_number, offsetof(struct three_way_thresholds, thousandth) },
        { "inclusive", read_bool_as_number,
          offsetof(struct three_way_thresholds, thousandth_inclusive) },
    };
    READ_OBJECT(r, item, place, keys);
}

static void read_ulp_limit(struct reading *r, const cJSON *item, void *place)
{
    static const struct key keys[] = {
        { "mean", read_number, offsetof(struct ulp_limit, mean) },
        { "proportion", read_number, offsetof(struct ulp_limit, proportion) },
        { "ratio", read_number, offsetof(struct ulp_limit, ratio) },
    };
    READ_OBJECT(r, item, place, keys);
}

static void read_ulp(struct reading *r, const cJSON *item, void *place)
{
    static const struct key keys[] = BY_DTYPE(read_ulp_limit, sizeof(struct ulp_limit));
    READ_OBJECT(r, item, place, keys);
}

static void read_numbers_by_dtype(struct reading *r, const cJSON *item, void *place)
{
    static const struct key keys[] = BY_DTYPE(read_number, sizeof(double));
    READ_OBJECT(r, item, place, keys);
}

static void read_thresholds(struct reading *r, const cJSON *item, void *place)
{
    static const struct key keys[] = {
        { "ratio", read_ratio, offsetof(struct three_way_thresholds, ratio) },
        { "thousandth", read_thousandth, 0 },
        { "ulp", read_ulp, offsetof(struct three_way_thresholds, ulp) },
        { "accumulative_eb", read_numbers_by_dtype,
          offsetof(struct three_way_thresholds, accumulative_balance) },
    };
    READ_OBJECT(r, item, place, keys);
}

/* ---- API lists -------------------------------------------------------------------------- */

static const char *const list_names[LIST_COUNT] = {
    [LIST_BINARY] = "BinaryCompareStandard",
    [LIST_ABSOLUTE] = "AbsoluteThreshStandard",
    [LIST_ULP] = "ULPStandard",
    [LIST_THOUSANDTH] = "ThousandthStandard",
    [LIST_ACCUMULATIVE] = "AccumulativeErrorStandard",
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct api_rules *)a)->name, ((const struct api_rules *)b)->name);
}

static struct api_rules *find_api(const struct three_way_rules *rules, struct csv_text name)
{
    uint32_t number = text_table_find(&rules->api_names, name.bytes, name.length);
    return number == TEXT_NONE ? NULL : &rules->apis[number];
}

const struct api_rules *three_way_find_api(const struct three_way_rules *rules,
                                           struct csv_text name)
{
    return find_api(rules, name);
}

/* The entry of a name; a new one when it is not there yet. */
static struct api_rules *add_api(struct three_way_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->n_apis; i++) {
        if (strcmp(rules->apis[i].name, name) == 0) return &rules->apis[i];
    }
    rules->apis[rules->n_apis] = (struct api_rules){ .name = name };
    return &rules->apis[rules->n_apis++];
}

static void add_list(struct three_way_rules *rules, const cJSON *list, unsigned lists,
                     enum operator_level level)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        struct api_rules *api = add_api(rules, item->valuestring);
        api->lists |= lists;
        if (level) api->level = level;
    }
}

static size_t count_strings(const cJSON *tree)
{
    size_t n = cJSON_IsString(tree) ? 1 : 0;
    for (const cJSON *item = tree->child; item; item = item->next) n += count_strings(item);
    return n;
}

/* The names stay in the tree, which the rules own. */
static struct status read_api_lists(struct three_way_rules *rules, const char *text)
{
    static const char *const levels[LEVELS] = { "L0", "L1", "L2" };

    TRY(config_json_parse(&rules->lists, "api_precision_standard.json", text, strlen(text)));
    const cJSON *root = rules->lists.root;
    rules->apis = memory_allocate_zeroed(count_strings(root), sizeof *rules->apis);
    if (!rules->apis) return status_no_memory(0);
    const cJSON *standards = config_json_get(root, "standards");
    for (size_t list = 0; list < LIST_COUNT; list++)
        add_list(rules, cJSON_GetObjectItemCaseSensitive(standards, list_names[list]), 1u << list,
                 LEVEL_0);
    const cJSON *of_levels = config_json_get(root, "operator_levels_2026_08");
    for (enum operator_level level = LEVEL_1; level < LEVELS; level++)
        add_list(rules, cJSON_GetObjectItemCaseSensitive(of_levels, levels[level]), 0, level);
    qsort(rules->apis, rules->n_apis, sizeof *rules->apis, by_name);
    TRY(text_table_create(&rules->api_names));
    for (size_t i = 0; i < rules->n_apis; i++)
        TRY(text_table_add(&(uint32_t){ 0 }, NULL, &rules->api_names, rules->apis[i].name,
                           strlen(rules->apis[i].name)));
    return status_ok();
}

/* ---- a profile -------------------------------------------------------------------------- */

static void read_order(struct reading *r, const cJSON *array, void *place)
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
    enum three_way_step *order = place, *end = order + STEP_COUNT, last = STEP_COUNT;

    EACH(item, r, items(r, array))
    {
        const char *word = cJSON_GetStringValue(item);
        last = (enum three_way_step)find_word(word ? word : "", names, STEP_COUNT);
        if (last == STEP_COUNT) fail(r, item, "is no step of the choice");
        else if (order == end) fail(r, array, "has too many steps");
        else *order++ = last;
    }
    if (!r->status.code && last != STEP_BENCHMARK) fail(r, array, "must end with 'benchmark'");
}

static void read_blank_policy(struct reading *r, const cJSON *item, void *place)
{
    static const char *const names[] = {
        [BLANK_REASON] = "reason", [BLANK_EXCEPTION] = "exception", [BLANK_ZERO] = "zero"
    };
    const char *word = cJSON_GetStringValue(item);
    size_t policy = find_word(word ? word : "", names, 3);
    if (policy == 3) fail(r, item, "must be 'reason', 'exception' or 'zero'");
    else *(enum blank_policy *)place = (enum blank_policy)policy;
}

/* A list of dtypes into flags by dtype. */
static void read_dtype_flags(struct reading *r, const cJSON *array, void *place)
{
    bool *flags = place;
    EACH(item, r, items(r, array))
    {
        const char *word = cJSON_GetStringValue(item);
        enum three_way_dtype dtype = three_way_dtype(word ? word : "", word ? strlen(word) : 0);
        if (dtype == THREE_WAY_BLANK) fail(r, array, "must list dtypes");
        else flags[dtype] = true;
    }
}

static void read_ratio_of_zero(struct reading *r, const cJSON *item, void *place)
{
    static const struct key keys[] = {
        { "both_zero", read_number, offsetof(struct three_way_rules, both_zero) },
        { "npu_nonzero", read_number, offsetof(struct three_way_rules, npu_nonzero) },
    };
    READ_OBJECT(r, item, place, keys);
}

static void read_ratio_floor(struct reading *r, const cJSON *item, void *place)
{
    r->rules->has_floor = true;
    read_numbers_by_dtype(r, item, place);
}

/* An API list of this profile lacks some that stand in the common one. */
static void read_lists_without(struct reading *r, const cJSON *object, void *place)
{
    (void)place;
    EACH(list, r, members(r, object))
    {
        size_t which = find_word(list->string, list_names, LIST_COUNT);
        if (which == LIST_COUNT) {
            fail(r, list, "is not a list of APIs");
            return;
        }
        EACH(item, r, items(r, list))
        {
            const char *name = cJSON_GetStringValue(item);
            struct api_rules *api = find_api(r->rules, csv_text_of(name ? name : ""));
            if (api) api->lists &= ~(1u << which);
            else fail(r, list, "has an API that is not in that list");
        }
    }
}

#define AT(member) offsetof(struct three_way_rules, member)

static void read_profile(struct reading *r, const cJSON *item)
{
    static const struct key keys[] = {
        { "origin", ignore, 0 },
        { "order", read_order, AT(order) },
        { "lists_without", read_lists_without, 0 },
        { "by_metrics", read_bool, AT(by_metrics) },
        { "blank_metrics", read_blank_policy, AT(blank_metrics) },
        { "peer_rows", read_bool, AT(peer_rows) },
        { "by_evidence", read_bool, AT(by_evidence) },
        { "operator_levels", read_bool, AT(operator_levels) },
        { "unsupported_dtypes", read_dtype_flags, AT(unsupported) },
        { "ratio_of_zero", read_ratio_of_zero, 0 },
        { "ratio_floor", read_ratio_floor, AT(floor) },
        { "thresholds", read_thresholds, AT(thresholds) },
    };
    READ_OBJECT(r, item, r->rules, keys);
}

static void read_profiles(struct reading *r, const cJSON *object, void *place)
{
    (void)place;
    EACH(item, r, members(r, object))
    {
        if (find_word(item->string, profiles, 4) == 4) fail(r, item, "is not a profile");
        else if (strcmp(item->string, r->profile) == 0) read_profile(r, item);
    }
}

/* ---- the user's overrides --------------------------------------------------------------- */

static void read_override_apis(struct reading *r, const cJSON *item, void *place)
{
    struct three_way_override *o = place;
    bool is_list = cJSON_IsArray(item);

    o->apis = r->rules->override_names + r->rules->n_override_names;
    for (const cJSON *name = is_list ? item->child : item; name; name = name->next) {
        if (!cJSON_IsString(name)) {
            fail(r, item, "must be an API name or a list of them");
            return;
        }
        o->apis[o->n_apis++] = name->valuestring;
        r->rules->n_override_names++;
        if (!is_list) return;
    }
}

static void read_override_dtypes(struct reading *r, const cJSON *item, void *place)
{
    bool is_list = cJSON_IsArray(item);
    unsigned *dtypes = place;

    for (const cJSON *name = is_list ? item->child : item; name; name = name->next) {
        const char *word = cJSON_GetStringValue(name);
        enum three_way_dtype dtype = three_way_dtype(word ? word : "", word ? strlen(word) : 0);
        if (dtype == THREE_WAY_BLANK) {
            fail(r, item, "must be a dtype or a list of them");
            return;
        }
        *dtypes |= 1u << dtype;
        if (!is_list) return;
    }
}

static void read_override_standard(struct reading *r, const cJSON *item, void *place)
{
    /* The words of the run's own overrides; what the comparison does not know, it ignores. */
    static const char *const words[COMPARE_COUNT] = {
        [COMPARE_BENCHMARK] = "benchmark",   [COMPARE_BINARY] = "binary",
        [COMPARE_ABSOLUTE] = "absolute",     [COMPARE_ULP] = "ulp",
        [COMPARE_THOUSANDTH] = "thousandth", [COMPARE_ACCUMULATIVE] = "accumulative",
    };
    struct three_way_override *o = place;
    const char *word = cJSON_GetStringValue(item);

    if (!word) {
        fail(r, item, "must be the name of a standard");
        return;
    }
    size_t standard = find_word(word, words, COMPARE_COUNT);
    o->has_standard = standard < COMPARE_COUNT;
    if (o->has_standard) o->standard = (enum three_way_standard)standard;
}

static void read_overrides(struct reading *r, const cJSON *array, void *place)
{
    static const struct key keys[] = {
        { "about", ignore, 0 },
        { "api", read_override_apis, 0 },
        { "dtype", read_override_dtypes, offsetof(struct three_way_override, dtypes) },
        { "allow", ignore, 0 },  /* of the run, */
        { "limits", ignore, 0 }, /* likewise */
        { "standard", read_override_standard, 0 },
        { "three_way", read_thresholds, offsetof(struct three_way_override, thresholds) },
    };
    (void)place;
    EACH(item, r, items(r, array))
    {
        struct three_way_override *o = &r->rules->overrides[r->rules->n_overrides++];
        double nothing[THRESHOLDS];
        for (size_t i = 0; i < THRESHOLDS; i++) nothing[i] = NAN;
        memcpy(&o->thresholds, nothing, sizeof nothing);
        READ_OBJECT(r, item, o, keys);
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

static struct status read_rules(struct three_way_rules *rules, const char *profile,
                                const char *text)
{
    static const struct key keys[] = { { "about", ignore, 0 }, { "profiles", read_profiles, 0 } };
    struct config_json file;

    TRY(config_json_parse(&file, "three_way.json", text, strlen(text)));
    struct reading r = { .rules = rules, .profile = profile, .file = &file, .status = status_ok() };
    READ_OBJECT(&r, file.root, rules, keys);
    config_json_close(&file);
    return r.status;
}

static struct status read_user_file(struct three_way_rules *rules, const char *name,
                                    const char *text)
{
    static const struct key keys[] = { { "$schema", ignore, 0 },
                                       { "about", ignore, 0 },
                                       { "overrides", read_overrides, 0 } };
    struct reading r = { .rules = rules, .file = &rules->user, .status = status_ok() };

    TRY(config_json_parse(&rules->user, name, text, strlen(text)));
    const cJSON *root = rules->user.root, *list = config_json_get(root, "overrides");
    rules->overrides =
        memory_allocate_zeroed((size_t)cJSON_GetArraySize(list), sizeof *rules->overrides);
    rules->override_names =
        memory_allocate_zeroed(count_strings(root), sizeof *rules->override_names);
    if (!rules->overrides || !rules->override_names) return status_no_memory(0);
    READ_OBJECT(&r, root, rules, keys);
    return r.status;
}

static struct status read_texts(struct three_way_rules *rules, const char *profile,
                                const struct three_way_texts *texts)
{
    set_no_limits(&rules->thresholds);
    TRY(read_api_lists(rules, texts->lists));
    TRY(read_rules(rules, profile, texts->rules));
    if (!texts->user) return status_ok();
    return read_user_file(rules, texts->user_name, texts->user);
}

struct status three_way_rules_read(struct three_way_rules **out, const char *profile,
                                   const struct three_way_texts *texts)
{
    if (find_word(profile, profiles, 4) == 4)
        return status_error(STATUS_BAD_ARGUMENT,
                            "there is no profile '%s'; the profiles are doc, v2, v3 and strict",
                            profile);
    struct three_way_rules *rules = memory_allocate_zeroed(1, sizeof *rules);
    if (!rules) return status_no_memory(sizeof *rules);
    struct status status = read_texts(rules, profile, texts);
    if (status.code) three_way_rules_release(rules);
    else *out = rules;
    return status;
}

/* The text of a built-in file, which is there: the build puts it there. */
static const char *embedded_text(const char *name)
{
    const struct embedded_file *file = config_files;
    while (strcmp(file->name, name) != 0) file++;
    return file->text;
}

struct status three_way_rules_load(struct three_way_rules **out, const char *profile,
                                   const char *override_name, const char *override_text)
{
    struct three_way_texts texts = { .rules = embedded_text("three_way.json"),
                                     .lists = embedded_text("api_precision_standard.json"),
                                     .user_name = override_name,
                                     .user = override_text };
    return three_way_rules_read(out, profile, &texts);
}

void three_way_rules_release(struct three_way_rules *rules)
{
    if (!rules) return;
    config_json_close(&rules->lists);
    config_json_close(&rules->user);
    text_table_release(&rules->api_names);
    memory_release(rules->apis);
    memory_release(rules->overrides);
    memory_release(rules->override_names);
    memory_release(rules);
}
