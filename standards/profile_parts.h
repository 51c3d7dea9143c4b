/* What a profile is made of, for those that read one and those that ask it. */
#ifndef PROBE_STANDARDS_PROFILE_PARTS_H
#define PROBE_STANDARDS_PROFILE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/kernel_modes.h"
#include "core/status.h"
#include "standards/profile.h"

/* Names of the standards and the limits, ended by NULL. */
extern const char *const profile_standard_names[STANDARD_COUNT + 1];
extern const char *const profile_limit_names[LIMIT_COUNT + 1];

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

/* Room for one more item at the end of an array; NULL when there is no memory. */
void *profile_grow(void **items, size_t count, size_t bytes);

struct status api_set_add(struct api_set *set, const char *name);
bool api_set_has(const struct api_set *set, const char *api);

#endif
