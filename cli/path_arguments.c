/* Users hold directories: dumps lie in step0/rank0, results under names with the time in them. */
#include "cli/path_arguments.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "core/directory.h"
#include "core/timestamp.h"
#include "results/resume.h"
#include "results/run_record.h"

enum { NAMES_MAX = 100000, DUMPS_SHOWN = 8 };

static bool ends_in(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && !strcmp(text + length - tail, suffix);
}

static struct status join(char out[PATH_ARGUMENT_BYTES], const char *directory, const char *name)
{
    const char *slash = !*directory || ends_in(directory, "/") || !*name ? "" : "/";
    int length = snprintf(out, PATH_ARGUMENT_BYTES, "%s%s%s", directory, slash, name);
    if (length >= 0 && length < PATH_ARGUMENT_BYTES) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "'%.80s...' is too long a name", directory);
}

/* ---- dumps ------------------------------------------------------------------------------ */

static bool is_file(const char *path) { return !directory_exists(path) || ends_in(path, ".json"); }

static struct status no_dump(const char *path)
{
    return status_error(STATUS_BAD_ARGUMENT, "there is no dump.json in '%s' or below", path);
}

/* "'dumps' has 12 dumps, name one of them: dumps/step0/rank0/dump.json, ..." */
static struct status several(const char *path, const struct dump_tree *tree)
{
    char list[400] = "";
    for (size_t i = 0; i < tree->count && i < DUMPS_SHOWN; i++) {
        size_t used = strlen(list);
        (void)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", tree->items[i].path);
    }
    return status_error(STATUS_BAD_ARGUMENT, "'%s' has %zu dumps, name one of them: %s%s", path,
                        tree->count, list, tree->count > DUMPS_SHOWN ? ", ..." : "");
}

static struct status find_one(char out[PATH_ARGUMENT_BYTES], struct arena *arena, const char *path,
                              struct file_policy policy)
{
    const struct dump_tree_filter all = { .steps.count = 0 };
    struct dump_tree tree;
    TRY(dump_tree_find(&tree, arena, path, &all, policy));
    if (!tree.count) return no_dump(path);
    if (tree.count > 1) return several(path, &tree);
    return join(out, tree.items[0].path, "");
}

struct status path_argument_dump(char out[PATH_ARGUMENT_BYTES], const char *path,
                                 struct file_policy policy)
{
    struct arena arena = { 0 };
    if (is_file(path)) return join(out, path, "");
    struct status status = find_one(out, &arena, path, policy);
    arena_release(&arena);
    return status;
}

static struct status read_filter(struct dump_tree_filter *out, const char *steps, const char *ranks)
{
    TRY(status_within(number_ranges_read(&out->steps, steps), "option '--step'"));
    return status_within(number_ranges_read(&out->ranks, ranks), "option '--rank'");
}

struct status path_argument_dumps(bool *several, struct dump_tree *out, struct arena *arena,
                                  const struct path_argument_tree *wanted)
{
    struct dump_tree_filter filter;
    TRY(read_filter(&filter, wanted->steps, wanted->ranks));
    bool filtered = filter.steps.count || filter.ranks.count;
    *several = false;
    if (is_file(wanted->path)) {
        struct dump_place *place = arena_allocate_zeroed(arena, 1, sizeof *place);
        if (!place) return status_no_memory(sizeof *place);
        *place = (struct dump_place){ .path = wanted->path, .folder = "", .step = -1, .rank = -1 };
        *out = (struct dump_tree){ .items = place, .count = 1, .all = 1 };
        if (!filtered) return status_ok();
        return status_error(STATUS_BAD_ARGUMENT,
                            "--step and --rank choose dumps of a directory, and '%s' is one file",
                            file_shown(wanted->path).text);
    }
    TRY(dump_tree_find(out, arena, wanted->path, &filter, wanted->policy));
    *several = out->all > 1;
    if (!out->all) return no_dump(wanted->path);
    if (out->count) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "none of the %zu dumps in '%s' has that step and rank",
                        out->all, file_shown(wanted->path).text);
}

/* ---- results ---------------------------------------------------------------------------- */

/* Has the run a result row for each of its calls? Runs without a run file are taken for complete. */
static struct status is_complete(bool *complete, const char *directory, const char *timestamp,
                                 struct file_policy policy)
{
    char name[80], path[PATH_ARGUMENT_BYTES];
    struct run_record record = { .object = NULL };
    struct file result;
    struct result_counts rows = { 0, 0 };
    (void)snprintf(name, sizeof name, "accuracy_checking_run_%s.json", timestamp);
    TRY(join(path, directory, name));
    if (file_exists(path)) TRY(run_record_read(&record, path, policy));
    const cJSON *calls = cJSON_GetObjectItemCaseSensitive(record.object, "calls");
    double wanted = cJSON_IsNumber(calls) ? calls->valuedouble : 0;
    run_record_release(&record);
    *complete = true;
    if (wanted <= 0) return status_ok();
    (void)snprintf(name, sizeof name, "accuracy_checking_result_%s.csv", timestamp);
    TRY(join(path, directory, name));
    *complete = file_exists(path);
    if (!*complete) return status_ok();
    policy.any_size = true;
    TRY(file_open_read(&result, path, policy));
    struct status status = result_counts_add(&rows, &result);
    (void)file_close(&result);
    *complete = !status.code && (double)rows.calls >= wanted;
    return status.code == STATUS_BAD_INPUT ? status_ok() : status;
}

static const struct {
    const char *prefix, *what;
    bool complete; /* of a run that must be */
} kinds[] = {
    [PATH_DETAILS] = { "accuracy_checking_details_", " of a complete run", true },
    [PATH_VERDICTS] = { "api_precision_compare_details_", "", false },
};

struct newest {
    enum path_kind kind;
    struct file_policy policy;
    char timestamp[TIMESTAMP_DIGITS + 1]; /* "" while there is none */
    char *path;                           /* the best so far, PATH_ARGUMENT_BYTES */
};

/* The timestamp in a name of the kind; false for any other name. */
static bool read_timestamp(char out[TIMESTAMP_DIGITS + 1], const char *name, enum path_kind kind)
{
    size_t length = strlen(kinds[kind].prefix);
    if (strncmp(name, kinds[kind].prefix, length) != 0 ||
        strspn(name + length, "0123456789") != TIMESTAMP_DIGITS ||
        strcmp(name + length + TIMESTAMP_DIGITS, ".csv") != 0)
        return false;
    memcpy(out, name + length, TIMESTAMP_DIGITS);
    out[TIMESTAMP_DIGITS] = '\0';
    return true;
}

/* Take the file if it is newer than what there is. */
static struct status consider(struct newest *newest, const char *directory, const char *name)
{
    char timestamp[TIMESTAMP_DIGITS + 1];
    bool complete = true;
    if (!read_timestamp(timestamp, name, newest->kind) || strcmp(timestamp, newest->timestamp) <= 0)
        return status_ok();
    if (kinds[newest->kind].complete)
        TRY(is_complete(&complete, directory, timestamp, newest->policy));
    if (!complete) return status_ok();
    memcpy(newest->timestamp, timestamp, sizeof timestamp);
    return join(newest->path, directory, name);
}

static struct status consider_directory(struct newest *newest, const char *path)
{
    struct directory_names names;
    TRY(directory_list(&names, path, NAMES_MAX));
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < names.count; i++)
        status = consider(newest, path, names.items[i]);
    directory_release(&names);
    return status;
}

static struct status consider_file(struct newest *newest, const char *path)
{
    char directory[PATH_ARGUMENT_BYTES];
    const char *slash = strrchr(path, '/');
    if (!slash) return consider(newest, "", path);
    int length = snprintf(directory, sizeof directory, "%.*s", (int)(slash + 1 - path), path);
    if (length >= (int)sizeof directory) return join(directory, path, "");
    return consider(newest, directory, slash + 1);
}

struct status path_argument_newest(char out[PATH_ARGUMENT_BYTES], const char *option,
                                   const char *const *paths, size_t count, enum path_kind kind,
                                   struct file_policy policy)
{
    struct newest newest = { .kind = kind, .policy = policy, .path = out };
    if (count == 1 && (!directory_exists(paths[0]) || ends_in(paths[0], ".csv")))
        return join(out, paths[0], "");
    for (size_t i = 0; i < count; i++)
        TRY(directory_exists(paths[i]) ? consider_directory(&newest, paths[i])
                                       : consider_file(&newest, paths[i]));
    if (!newest.timestamp[0])
        return status_error(STATUS_BAD_ARGUMENT, "%s: '%s'%s has no %s{timestamp}.csv%s", option,
                            paths[0], count > 1 ? " and what follows it" : "", kinds[kind].prefix,
                            kinds[kind].what);
    printf("%s: %s\n", option, out);
    return status_ok();
}
