/* One pass over the names of the dump. A name that was typed and means nothing would go unnoticed: a
 * call that --skip should have left out takes an hour, one that --only should have had is missed. */
#include "runner/call_selection.h"

#include <string.h>

#include "core/memory.h"
#include "core/nearest_name.h"
#include "core/text_table.h"
#include "runner/api_names.h"
#include "runner/dump_framework.h"

/* ---- choosing --------------------------------------------------------------------------- */

enum { ONLY, SKIP, WHITE, BLACK, N_LISTS };

/* The lists, and which of their names meant a call. */
struct selection {
    const struct dump *dump;
    const struct call_patterns *lists[N_LISTS];
    bool *met[N_LISTS];
    struct arena arena;
};

/* Every list is asked, so that each of its names is seen to mean something. */
static bool is_selected(const struct selection *s, const struct api_case *c)
{
    bool matches[N_LISTS];
    for (int i = 0; i < N_LISTS; i++) matches[i] = call_patterns_match(s->lists[i], c, s->met[i]);
    return (matches[ONLY] || !s->lists[ONLY]->count) && !matches[SKIP];
}

static struct status select_calls(bool *keep, struct selection *s)
{
    struct arena scratch = { 0 };
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < dump_count(s->dump); i++) {
        struct api_case c;
        if (!keep[i]) continue;
        status = dump_read_name(&c, &scratch, s->dump, i);
        if (!status.code) keep[i] = is_selected(s, &c);
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    return status;
}

/* ---- names that mean nothing -------------------------------------------------------------- */

/* The names that a message may offer: APIs with and without their group, and calls where the name
 * has a number as theirs do. */
static struct status offer_names(struct text_table *names, const struct dump *dump, bool calls)
{
    struct arena scratch = { 0 };
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < dump_count(dump); i++) {
        struct api_case c;
        uint32_t number;
        const char *full_name = dump_name(dump, i);
        status = dump_read_name(&c, &scratch, dump, i);
        if (status.code) break;
        size_t group = c.type[0] ? strlen(c.type) + 1 : 0;
        size_t api = group + strlen(c.api);
        status = text_table_add(&number, NULL, names, full_name + group, api - group);
        if (!status.code) status = text_table_add(&number, NULL, names, full_name, api);
        if (!status.code && calls)
            status = text_table_add(&number, NULL, names, full_name, strlen(full_name));
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    return status;
}

static struct status find_nearest(const char **nearest, const struct text_table *names,
                                  const char *name)
{
    const char **items = memory_allocate(names->count * sizeof *items);
    if (!items) return status_no_memory(names->count * sizeof *items);
    for (uint32_t i = 0; i < names->count; i++) items[i] = text_table_get(names, i, NULL);
    *nearest = nearest_name(name, items, names->count);
    memory_release(items);
    return status_ok();
}

/* "no call of dump.json is named 'linaer'; the nearest is 'linear'" */
static struct status no_such_call(const struct selection *s, const char *path, const char *name)
{
    struct text_table names;
    const char *nearest = "";
    TRY(text_table_create(&names));
    struct status status = offer_names(&names, s->dump, strpbrk(name, "0123456789") != NULL);
    if (!status.code) status = find_nearest(&nearest, &names, name);
    if (!status.code)
        status = status_error(
            STATUS_BAD_ARGUMENT, "no call of %s is named '%s'%s; the nearest is '%s'", path, name,
            call_pattern_is_glob(name) ? " (* and ? stand for any characters)" : "", nearest);
    text_table_release(&names);
    return status;
}

/* A configuration serves many dumps: an API that exists need not be in this one. */
static bool may_be_absent(struct selection *s, int list, const char *name)
{
    const char *nearest;
    return list >= WHITE && api_name_is_known(&nearest, &s->arena, name);
}

static struct status tell_unmet(struct selection *s, const char *path, struct warnings warnings)
{
    static const char *const titles[N_LISTS] = { "--only", "--skip", "white_list", "black_list" };
    for (int list = 0; list < N_LISTS; list++)
        for (size_t i = 0; i < s->lists[list]->count; i++) {
            const char *name = s->lists[list]->items[i];
            if (s->met[list][i] || may_be_absent(s, list, name)) continue;
            struct status told = no_such_call(s, path, name);
            if (told.code != STATUS_BAD_ARGUMENT) return told;
            warn(warnings, "%s: %s", titles[list], told.text);
        }
    return status_ok();
}

/* Nothing is left: the first name of --only that means nothing is why, or the lists are. */
static struct status nothing_left(const struct selection *s, const char *path)
{
    for (size_t i = 0; i < s->lists[ONLY]->count; i++)
        if (!s->met[ONLY][i])
            return status_within(no_such_call(s, path, s->lists[ONLY]->items[i]), "--only");
    return status_error(STATUS_BAD_ARGUMENT, "%s leaves no call of %s to check",
                        s->lists[ONLY]->count ? "--only with --skip" : "--skip", path);
}

/* ---- all of it -------------------------------------------------------------------------- */

static struct status open_selection(struct selection *s, const struct api_lists *lists)
{
    const struct call_patterns *all[N_LISTS] = { &lists->only, &lists->skip, &lists->white,
                                                 &lists->black };
    for (int i = 0; i < N_LISTS; i++) {
        s->lists[i] = all[i];
        s->met[i] = arena_allocate_zeroed(&s->arena, all[i]->count, sizeof *s->met[i]);
        if (!s->met[i]) return status_no_memory(all[i]->count);
    }
    return status_ok();
}

static struct status choose(struct call_order *out, bool *keep, struct selection *s,
                            const char *path, const struct call_scope *scope,
                            struct warnings warnings)
{
    TRY(select_calls(keep, s));
    for (size_t i = 0; i < dump_count(s->dump); i++)
        if (keep[i]) out->positions[out->count++] = i;
    if (!out->count) return scope->is_one_of_many ? status_ok() : nothing_left(s, path);
    return scope->slice ? status_ok() : tell_unmet(s, path, warnings);
}

/* Of the entries that are kept so far, those that are calls of the framework. */
static struct status keep_calls(bool *keep, const struct dump *dump, const char *path,
                                const struct call_scope *scope)
{
    size_t left = 0;
    for (size_t i = 0; i < dump_count(dump); i++) {
        keep[i] = keep[i] &&
                  dump_framework_checks(scope->framework, scope->listed_only, dump_name(dump, i));
        left += keep[i];
    }
    if (left || scope->is_one_of_many) return status_ok();
    return status_error(STATUS_BAD_INPUT,
                        "%s has no entry that the pre-check for %s runs; with --profile strict all "
                        "its calls are checked",
                        path, scope->framework->name);
}

/* Of equal calls the first alone (-f). */
static struct status drop_duplicates(bool *keep, const struct dump *dump,
                                     const struct call_scope *scope)
{
    if (scope->slice) {
        dump_slice_keep(keep, dump_count(dump), scope->slice);
        return status_ok();
    }
    if (scope->filter) TRY(dump_filter(keep, dump));
    if (!scope->met || dump_header(dump)->has_data_dir) return status_ok();
    return dump_filter_across(keep, dump, scope->met);
}

struct status call_selection_make(struct call_order *out, const struct dump *dump, const char *path,
                                  const struct api_lists *lists, const struct call_scope *scope,
                                  struct warnings warnings)
{
    size_t count = dump_count(dump);
    struct selection s = { .dump = dump };
    bool *keep = memory_allocate(count * sizeof *keep);
    *out = (struct call_order){ .dump = dump };
    out->positions = memory_allocate(count * sizeof *out->positions);
    struct status status = keep && out->positions ? status_ok()
                                                  : status_no_memory(count * sizeof(size_t));
    if (keep) memset(keep, true, count);
    if (!status.code) status = drop_duplicates(keep, dump, scope);
    if (!status.code) status = keep_calls(keep, dump, path, scope);
    if (!status.code) status = open_selection(&s, lists);
    if (!status.code) status = choose(out, keep, &s, path, scope, warnings);
    arena_release(&s.arena);
    memory_release(keep);
    return status;
}
