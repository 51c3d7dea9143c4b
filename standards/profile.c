/* Profiles by name, loaded from the built-in tables and a user's file, and their answers. */
#include "standards/profile.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "standards/metrics/metrics.h"
#include "standards/profile_built_in.h"
#include "standards/profile_override.h"
#include "standards/profile_parts.h"
#include "standards/profile_read.h"

static const char *const names[] = { "doc", "v2", "v3", "strict", NULL };
/* What doc, v2 and v3 are for dumps of MindSpore. */
static const char *const variant_names[] = { "mindspore_doc", "mindspore_v2", "mindspore_v3" };

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
    struct status status = profile_load_built_in(profile, files);
    if (status.code == STATUS_OK && override_path)
        status = profile_load_overrides(profile, override_path, policy);
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
