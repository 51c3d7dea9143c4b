/* Which calls are checked, and the words for those that are not. */
#include "runner/api_lists.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/nearest_name.h"
#include "formats/json_tree.h"
#include "runner/api_names.h"

struct api_lists api_lists_default(void)
{
    return (struct api_lists){ .precision = DEFAULT_PRECISION };
}

/* ---- calls that can never be checked ---------------------------------------------------- */

/* Groups that are never run, with the sentence of the pre-check and what the user can do. */
/* clang-format off */
static const struct {
    const char *type;
    const char *text; /* a format of the full name */
    bool in_strict;   /* checked where the profile has no other's rules to follow */
} groups[] = {
    { "", "API %s not support for run ut. SKIP.", false }, /* the name is none of an API */
    { "Distributed", "API %s not support for run ut. SKIP. It needs the ranks of its process "
                     "group; check its inputs and outputs by comparing the dumps of the ranks.", false },
    { "MindSpeed", "API %s not support for run ut. SKIP. MindSpeed operators are checked with "
                   "--profile strict.", true },
    { "VF", "Bench output is None, skip this test. (%s is a call of torch._VF, which is not "
            "executed; record the model with its cell operators, or compare dumps.)", true },
    { "Primitive", "API %s not support for run ut. SKIP. It belongs to MindSpore.", false },
    { "Jit", "API %s not support for run ut. SKIP. It belongs to MindSpore.", false },
    { "Mint", "API %s not support for run ut. SKIP. It belongs to MindSpore.", false },
    { "MintFunctional", "API %s not support for run ut. SKIP. It belongs to MindSpore.", false },
    { "MintDistributed", "API %s not support for run ut. SKIP. It belongs to MindSpore.", false },
};
/* clang-format on */

static bool in_list(const char *api, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(api, names[i])) return true;
    return false;
}

/* The formats are those of the table above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static struct status group_reason(const char *format, const char *full_name)
{
    return status_error(STATUS_SKIP, format, full_name);
}
#pragma GCC diagnostic pop

struct status api_lists_admit(enum row_cause *cause, const struct api_lists *lists,
                              const struct api_case *c)
{
    bool has_groups = !c->framework || c->framework->has_torch_names;
    *cause = CAUSE_NEVER_CHECKED;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(c->type, groups[i].type) && (has_groups || !*c->type) &&
            !(groups[i].in_strict && lists->runs_all_groups))
            return group_reason(groups[i].text, c->full_name);
    if (!has_groups && (!strcmp(c->type, "Distributed") || !strcmp(c->type, "MintDistributed")))
        return status_error(STATUS_SKIP,
                            "API %s not support for run ut. SKIP. It communicates between ranks; "
                            "check its inputs and outputs by comparing the dumps of the ranks.",
                            c->full_name);
    if (lists->plain_names_only && strchr(c->api, '.'))
        return status_error(
            STATUS_SKIP,
            "API %s not support for run ut. SKIP. Its name has a dot; it is checked "
            "with --profile strict.",
            c->full_name);
    *cause = CAUSE_LISTS;
    if (call_patterns_match(&lists->black, c, NULL) ||
        (lists->white.count && !call_patterns_match(&lists->white, c, NULL)))
        return status_error(STATUS_SKIP, "API %s in black list or not in white list. SKIP.",
                            c->api);
    *cause = CAUSE_NEVER_CHECKED;
    if (api_returns_garbage(c->api))
        return status_error(STATUS_SKIP,
                            "API %s not support for run ut. SKIP. It returns uninitialised memory, "
                            "there is nothing to compare.",
                            c->full_name);
    return status_ok();
}

/* ---- the command line ------------------------------------------------------------------- */

struct status api_lists_read_options(struct api_lists *lists, struct arena *arena, const char *only,
                                     const char *skip)
{
    struct status status = only ? call_patterns_read(&lists->only, arena, only) : status_ok();
    if (status.code) return status_within(status, "option '--only'");
    if (skip) status = call_patterns_read(&lists->skip, arena, skip);
    return status.code ? status_within(status, "option '--skip'") : status;
}

/* ---- config.json ------------------------------------------------------------------------ */

/* Where a message points. */
struct config_place {
    const char *file, *section;
    struct arena *arena;
    const char *const *names; /* every API name that a list may hold */
    size_t n_names;
};

static struct status no_text_list(const struct config_place *place, const char *key)
{
    return status_error(STATUS_BAD_ARGUMENT, "%s: %s.%s must be a list of names of APIs or calls",
                        place->file, place->section, key);
}

/* The API in a name that is longer than that: "linear" of "Functional.linear.3.forward". Part of
 * `text`, which is cut. */
static const char *cut_to_api(char *text)
{
    static const char *const directions[] = { ".forward", ".backward" };
    char *dot = strrchr(text, '.');
    for (size_t i = 0; dot && i < 2; i++)
        if (!strcmp(dot, directions[i])) *dot = '\0';
    dot = strrchr(text, '.');
    if (dot && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1)) *dot = '\0';
    dot = isupper((unsigned char)text[0]) ? strchr(text, '.') : NULL; /* groups have capitals */
    return dot ? dot + 1 : text;
}

/* A name in a list is that of an API, alone or in that of a call; what a pattern means only a dump
 * tells. */
static struct status check_name(const struct config_place *place, const char *key, const char *name)
{
    char text[CALL_PATTERN_BYTES + 1];
    if (call_pattern_is_glob(name) || in_list(name, place->names, place->n_names))
        return status_ok();
    (void)snprintf(text, sizeof text, "%s", name);
    const char *api = cut_to_api(text);
    if (in_list(api, place->names, place->n_names)) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT,
                        "%s: %s.%s has '%s', which is no API; the nearest is '%s'", place->file,
                        place->section, key, name, nearest_name(api, place->names, place->n_names));
}

static struct status read_pattern(struct call_patterns *out, const struct config_place *place,
                                  const char *key, const char *pattern)
{
    size_t first = out->count;
    struct status status = call_patterns_append(out, place->arena, pattern);
    if (status.code == STATUS_BAD_ARGUMENT)
        return status_within(status, "%s: %s.%s", place->file, place->section, key);
    TRY(status);
    for (size_t i = first; i < out->count; i++) TRY(check_name(place, key, out->items[i]));
    return status_ok();
}

static struct status read_patterns(struct call_patterns *out, const struct config_place *place,
                                   const cJSON *item)
{
    struct call_patterns patterns = { .count = 0 };
    const cJSON *entry;
    size_t capacity = 0;
    if (!cJSON_IsArray(item)) return no_text_list(place, item->string);
    cJSON_ArrayForEach(entry, item)
    {
        if (!cJSON_IsString(entry)) return no_text_list(place, item->string);
        capacity += call_patterns_count(entry->valuestring);
    }
    patterns.items = arena_allocate_array(place->arena, capacity, sizeof *patterns.items);
    if (!patterns.items) return status_no_memory(capacity * sizeof *patterns.items);
    cJSON_ArrayForEach(entry, item)
        TRY(read_pattern(&patterns, place, item->string, entry->valuestring));
    *out = patterns;
    return status_ok();
}

static struct status read_white(struct api_lists *lists, const struct config_place *place,
                                const cJSON *item)
{
    return read_patterns(&lists->white, place, item);
}

static struct status read_black(struct api_lists *lists, const struct config_place *place,
                                const cJSON *item)
{
    return read_patterns(&lists->black, place, item);
}

static struct status read_error_data_path(struct api_lists *lists, const struct config_place *place,
                                          const cJSON *item)
{
    struct file directory = FILE_NONE;
    if (!cJSON_IsString(item))
        return status_error(STATUS_BAD_ARGUMENT, "%s: %s.error_data_path must be a text",
                            place->file, place->section);
    if (!item->valuestring[0]) return status_ok();
    lists->error_data_path = arena_copy_string(place->arena, item->valuestring);
    if (!lists->error_data_path) return status_no_memory(0);
    struct status status = file_open_directory(&directory, lists->error_data_path, FILES_TRUSTED);
    (void)file_close(&directory);
    if (!status.code || status.code == STATUS_NO_MEMORY) return status;
    return status_error(STATUS_BAD_ARGUMENT, "%s: %s.error_data_path: %s", place->file,
                        place->section, status.text);
}

static struct status read_precision(struct api_lists *lists, const struct config_place *place,
                                    const cJSON *item)
{
    if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > MAX_PRECISION ||
        item->valuedouble != (double)(int)item->valuedouble)
        return status_error(STATUS_BAD_ARGUMENT,
                            "%s: %s.precision must be a whole number from 0 to %d", place->file,
                            place->section, MAX_PRECISION);
    lists->precision = (int)item->valuedouble;
    return status_ok();
}

/* Keys of the online pre-check, which is another command: they may stand there. */
static struct status ignore_key(struct api_lists *lists, const struct config_place *place,
                                const cJSON *item)
{
    (void)lists, (void)place, (void)item;
    return status_ok();
}

/* Whoever checks a dump looks at it. */
static struct status read_is_online(struct api_lists *lists, const struct config_place *place,
                                    const cJSON *item)
{
    (void)place;
    lists->is_online = cJSON_IsTrue(item);
    return status_ok();
}

static const struct {
    const char *key;
    struct status (*read)(struct api_lists *lists, const struct config_place *place,
                          const cJSON *item);
} config_keys[] = {
    { "white_list", read_white },
    { "black_list", read_black },
    { "error_data_path", read_error_data_path },
    { "precision", read_precision },
    { "is_online", read_is_online },
    { "nfs_path", ignore_key },
    { "host", ignore_key },
    { "port", ignore_key },
    { "rank_list", ignore_key },
    { "tls_path", ignore_key },
    { "quantization_api_list", ignore_key },
};
enum { N_CONFIG_KEYS = sizeof config_keys / sizeof config_keys[0] };

static struct status read_key(struct api_lists *lists, const struct config_place *place,
                              const cJSON *item)
{
    const char *keys[N_CONFIG_KEYS];
    for (size_t i = 0; i < N_CONFIG_KEYS; i++) {
        keys[i] = config_keys[i].key;
        if (!strcmp(item->string, keys[i])) return config_keys[i].read(lists, place, item);
    }
    return status_error(STATUS_BAD_ARGUMENT, "%s: %s has the unknown key '%s', the nearest is '%s'",
                        place->file, place->section, item->string,
                        nearest_name(item->string, keys, N_CONFIG_KEYS));
}

static struct status read_section(struct api_lists *lists, struct config_place *place,
                                  const cJSON *root)
{
    static const char *const sections[] = { "run_ut", "acc_check" };
    const cJSON *section = NULL;
    for (size_t i = 0; i < 2 && !section; i++) {
        section = cJSON_GetObjectItemCaseSensitive(root, sections[i]);
        place->section = sections[i];
    }
    if (!cJSON_IsObject(section))
        return status_error(STATUS_BAD_ARGUMENT,
                            "%s has no object \"run_ut\" (or \"acc_check\") with white_list, "
                            "black_list, error_data_path or precision",
                            place->file);
    TRY(api_names_list(&place->names, &place->n_names, place->arena));
    const cJSON *item;
    cJSON_ArrayForEach(item, section) TRY(read_key(lists, place, item));
    return status_ok();
}

struct status api_lists_read(struct api_lists *out, struct arena *arena, const char *path,
                             struct file_policy policy)
{
    char *text;
    size_t bytes;
    struct config_place place = { .file = path, .arena = arena };
    struct api_lists lists = api_lists_default();

    TRY(file_read_text(&text, &bytes, path, policy));
    struct json_fault fault;
    cJSON *root;
    struct status status = json_tree_parse(&root, &fault, text, bytes);
    if (status.code == STATUS_BAD_INPUT)
        status = status_error(STATUS_BAD_INPUT, "%s:%zu:%zu: this is not JSON", path, fault.line,
                              fault.column);
    if (!status.code) status = read_section(&lists, &place, root);
    cJSON_Delete(root);
    memory_release(text);
    if (!status.code) *out = lists;
    return status;
}
