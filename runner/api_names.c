/* The catalogue's names and the few that it can never have. */
#include "runner/api_names.h"

#include <string.h>

#include "bench/bench.h"
#include "core/nearest_name.h"

static const char *const garbage[] = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_with_format",
};
/* Tensor.to converts and moves; the catalogue has it under the names of what it does. */
static const char *const others[] = { "to" };
enum {
    N_GARBAGE = sizeof garbage / sizeof *garbage,
    N_OTHERS = sizeof others / sizeof *others,
};

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

bool api_returns_garbage(const char *name) { return is_among(name, garbage, N_GARBAGE); }

struct status api_names_list(const char *const **names, size_t *count, struct arena *arena)
{
    const struct bench_entry *entries;
    size_t n = 0;

    TRY(bench_catalogue(&entries, count, arena));
    const char **list = arena_allocate_array(arena, *count + N_GARBAGE + N_OTHERS, sizeof *list);
    if (!list) return status_no_memory(0);
    for (size_t i = 0; i < *count; i++) list[n++] = entries[i].name;
    for (size_t i = 0; i < N_GARBAGE; i++) list[n++] = garbage[i];
    for (size_t i = 0; i < N_OTHERS; i++) list[n++] = others[i];
    *names = list;
    *count = n;
    return status_ok();
}

bool api_name_is_known(const char **nearest, struct arena *arena, const char *name)
{
    static const char *const groups[] = { "Functional", "Tensor", "Torch",
                                          "NPU",        "Aten",   "MindSpeed" };
    struct bench_entry entry;
    const char *const *names;
    size_t count;

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (bench_find_entry(&entry, groups[i], name)) return true;
    *nearest = "";
    if (bench_is_mindspore_name(name)) return true;
    if (api_names_list(&names, &count, arena).code) return is_among(name, garbage, N_GARBAGE);
    if (is_among(name, names, count)) return true;
    *nearest = nearest_name(name, names, count);
    return false;
}
