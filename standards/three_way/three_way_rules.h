/* The rules of the comparison: what config/three_way.json, api_precision_standard.json and a user's
 * overrides say, read once and immutable then. */
#ifndef PROBE_STANDARDS_THREE_WAY_THREE_WAY_RULES_H
#define PROBE_STANDARDS_THREE_WAY_THREE_WAY_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "core/text_table.h"
#include "formats/config_json.h"
#include "standards/three_way/three_way_row.h"

/* How a standard is chosen: the first step that holds for a row decides. */
enum three_way_step {
    STEP_F8_ULP,           /* the output is an 8-bit float */
    STEP_RELATIVE_PRESENT, /* the row has a relative error ratio: absolute threshold */
    STEP_FLOAT_BENCHMARK,
    STEP_NOT_FLOAT_BINARY,
    STEP_BINARY_LIST, /* the API stands in the list of that standard */
    STEP_ABSOLUTE_LIST,
    STEP_ULP_LIST, /* and the dtype is float16, bfloat16 or float32 */
    STEP_THOUSANDTH_LIST,
    STEP_ACCUMULATIVE_LIST,
    STEP_BENCHMARK,
    STEP_COUNT
};

/* The standards of the comparison. */
enum three_way_standard {
    COMPARE_BENCHMARK,
    COMPARE_BINARY,
    COMPARE_ABSOLUTE,
    COMPARE_ULP,
    COMPARE_THOUSANDTH,
    COMPARE_ACCUMULATIVE,
    COMPARE_COUNT
};

/* Lists an API can stand in; bits of api_rules.lists are 1 << list. */
enum api_list {
    LIST_BINARY,
    LIST_ABSOLUTE,
    LIST_ULP,
    LIST_THOUSANDTH,
    LIST_ACCUMULATIVE,
    LIST_COUNT
};

enum operator_level { LEVEL_0, LEVEL_1, LEVEL_2, LEVELS };

struct api_rules {
    const char *name;
    unsigned lists;
    enum operator_level level;
};

/* A ratio above `error` is an error, one above `warning` a warning; INFINITY for no limit. */
struct ratio_limit {
    double error, warning;
};

/* A row passes when any of the three is kept; a negative limit cannot be kept. */
struct ulp_limit {
    double mean, proportion, ratio; /* pass below */
};

/* Doubles only, so that an override can be laid over it; see three_way_override. */
struct three_way_thresholds {
    struct ratio_limit ratio[LEVELS][RATIO_METRICS];
    double thousandth;
    double thousandth_inclusive; /* 1: `thousandth` itself passes */
    struct ulp_limit ulp[THREE_WAY_DTYPES];
    double accumulative_balance[THREE_WAY_DTYPES]; /* at most this */
};
enum { THRESHOLDS = sizeof(struct three_way_thresholds) / sizeof(double) };

/* What a user sets for some APIs and dtypes. */
struct three_way_override {
    const char **apis; /* NULL: every API */
    size_t n_apis;
    unsigned dtypes; /* bits by three_way_dtype; 0: every dtype */
    bool has_standard;
    enum three_way_standard standard;
    struct three_way_thresholds thresholds; /* NaN where nothing is set */
};

enum blank_policy {
    BLANK_REASON,    /* the row says what is missing; the first stage's verdict may stand in */
    BLANK_EXCEPTION, /* as the peer: SKIP with the text of its exception */
    BLANK_ZERO       /* as the peer: a missing number of a ratio is 0 */
};

struct three_way_rules {
    enum three_way_step order[STEP_COUNT]; /* ends with STEP_BENCHMARK, which always holds */
    bool by_metrics;
    enum blank_policy blank_metrics;
    bool peer_rows;
    bool
        by_evidence; /* of the error model in both runs (by_evidence.h); nothing else counts then */
    bool operator_levels; /* every API is of level 0 otherwise */
    bool unsupported[THREE_WAY_DTYPES];
    /* Ratio x / y with y = 0: these two values, or y raised to the floor of the dtype. */
    bool has_floor;
    double both_zero, npu_nonzero;
    double floor[THREE_WAY_DTYPES];
    struct three_way_thresholds thresholds;
    struct three_way_override *overrides; /* later ones lie over earlier ones */
    size_t n_overrides;
    const char **override_names; /* the APIs of all overrides */
    size_t n_override_names;
    struct api_rules *apis; /* sorted by name */
    size_t n_apis;
    struct text_table api_names;    /* whose numbers are theirs */
    struct config_json lists, user; /* the files, which hold the names */
};

/* The rules of a profile.
 *
 *   out            to be released with three_way_rules_release; untouched on failure
 *   profile        one of three_way_profiles()
 *   override_text  a user's JSON of the form config/standards_override.schema.json, or NULL;
 *                  override_name names it in messages
 *   errors         STATUS_BAD_ARGUMENT for an unknown profile; STATUS_BAD_INPUT for the user's
 *                  text, with the line and the key at fault
 */
struct status three_way_rules_load(struct three_way_rules **out, const char *profile,
                                   const char *override_name, const char *override_text);
void three_way_rules_release(struct three_way_rules *rules);

/* Names of the profiles, default first, ended by NULL. */
const char *const *three_way_profiles(void);

/* The JSON texts that make up the rules. */
struct three_way_texts {
    const char *rules, *lists;    /* three_way.json, api_precision_standard.json */
    const char *user_name, *user; /* overrides; `user` may be NULL */
};

/* three_way_rules_load with built-in files of the caller's. `lists` must have the form of the
 * built-in one; the other two are checked. */
struct status three_way_rules_read(struct three_way_rules **out, const char *profile,
                                   const struct three_way_texts *texts);

/* What is known of an API; NULL when it stands in no list. */
const struct api_rules *three_way_find_api(const struct three_way_rules *rules,
                                           struct csv_text name);

#endif
