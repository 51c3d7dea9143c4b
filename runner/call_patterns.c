/* A call has up to seven spellings, made once and held against every name. */
#include "runner/call_patterns.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

size_t call_patterns_count(const char *pattern)
{
    size_t count = 1;
    for (; *pattern; pattern++) count += *pattern == '|';
    return count;
}

struct status call_patterns_append(struct call_patterns *out, struct arena *arena,
                                   const char *pattern)
{
    for (const char *at = pattern;; at++) {
        size_t length = strcspn(at, "|");
        if (!length)
            return status_error(STATUS_BAD_ARGUMENT, "the pattern '%s' has an empty name", pattern);
        if (length > CALL_PATTERN_BYTES)
            return status_error(STATUS_BAD_ARGUMENT,
                                "the pattern '%.40s...' has a name of more than %d bytes", pattern,
                                CALL_PATTERN_BYTES);
        const char *name = arena_copy_bytes(arena, at, length);
        if (!name) return status_no_memory(length);
        out->items[out->count++] = name;
        at += length;
        if (!*at) return status_ok();
    }
}

struct status call_patterns_read(struct call_patterns *out, struct arena *arena,
                                 const char *pattern)
{
    *out = (struct call_patterns){ .count = 0 };
    out->items = arena_allocate_array(arena, call_patterns_count(pattern), sizeof *out->items);
    if (!out->items) return status_no_memory(0);
    return call_patterns_append(out, arena, pattern);
}

bool call_pattern_is_glob(const char *name) { return strpbrk(name, "*?[\\") != NULL; }

/* ---- matching --------------------------------------------------------------------------- */

enum {
    SPELLINGS = 7,
    SPELLING_BYTES = 1100 /* a name of the dump has at most 1024 */
};

/* What a call may be called. */
struct spellings {
    const char *items[SPELLINGS];
    size_t count;
    char with_group[SPELLING_BYTES], forward[SPELLING_BYTES], backward[SPELLING_BYTES],
        recorded[SPELLING_BYTES];
};

/* The API as the dump names it, with its group and without: Torch.inv.0 is a call of torch.linalg.inv, whose module dumpers leave out. */
static void add_recorded_names(struct spellings *s, const struct api_case *c)
{
    size_t group = strlen(c->type);
    (void)snprintf(s->recorded, sizeof s->recorded, "%s", c->full_name);
    char *number = strrchr(s->recorded, '.');
    if (!number || strncmp(s->recorded, c->type, group) != 0 || s->recorded + group >= number)
        return;
    *number = '\0';
    if (!strcmp(s->recorded + group + 1, c->api)) return;
    s->items[s->count++] = s->recorded;
    s->items[s->count++] = s->recorded + group + 1;
}

static void make_spellings(struct spellings *s, const struct api_case *c)
{
    s->count = 0;
    s->items[s->count++] = c->api;
    s->items[s->count++] = c->full_name;
    (void)snprintf(s->forward, sizeof s->forward, "%s.forward", c->full_name);
    s->items[s->count++] = s->forward;
    if (c->has_backward) {
        (void)snprintf(s->backward, sizeof s->backward, "%s.backward", c->full_name);
        s->items[s->count++] = s->backward;
    }
    if (!c->type[0]) return; /* the name is an API as a whole */
    (void)snprintf(s->with_group, sizeof s->with_group, "%s.%s", c->type, c->api);
    s->items[s->count++] = s->with_group;
    add_recorded_names(s, c);
}

static bool means(const char *name, const struct spellings *s)
{
    bool glob = call_pattern_is_glob(name);
    for (size_t i = 0; i < s->count; i++)
        if (glob ? !fnmatch(name, s->items[i], 0) : !strcmp(name, s->items[i])) return true;
    return false;
}

bool call_patterns_match(const struct call_patterns *patterns, const struct api_case *c, bool *met)
{
    struct spellings spellings;
    bool found = false;
    if (!patterns->count) return false;
    make_spellings(&spellings, c);
    for (size_t i = 0; i < patterns->count && (!found || met); i++) {
        if (!means(patterns->items[i], &spellings)) continue;
        found = true;
        if (met) met[i] = true;
    }
    return found;
}
