/* The parts of a profile in memory: sets of names, arrays that grow, and what is released at the end. */
#include "standards/profile_parts.h"

#include <string.h>

#include "core/memory.h"

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

void *profile_grow(void **items, size_t count, size_t bytes)
{
    void *larger = memory_resize(*items, (count + 1) * bytes);
    if (!larger) return NULL;
    *items = larger;
    void *item = (char *)larger + count * bytes;
    memset(item, 0, bytes);
    return item;
}

struct status api_set_add(struct api_set *set, const char *name)
{
    char **place = profile_grow((void **)&set->names, set->count, sizeof *set->names);
    if (!place || !(*place = memory_copy_string(name))) return status_no_memory(0);
    set->count++;
    return status_ok();
}

bool api_set_has(const struct api_set *set, const char *api)
{
    if (!set->names) return true;
    for (size_t i = 0; i < set->count; i++)
        if (!strcmp(set->names[i], api)) return true;
    return false;
}
