/* Users hold directories: dumps lie in step0/rank0, results under names with the time in them. */
#include "cli/path_arguments.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "core/directory.h"
#include "core/timestamp.h"
#include "results/resume.h"
#include "results/run_record.h"

enum { DEPTH_MAX = 4, NAMES_MAX = 100000, DUMPS_SHOWN = 8 };

static bool ends_in(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && !strcmp(text + length - tail, suffix);
}

static struct status join(char out[PATH_ARGUMENT_BYTES], const char *directory, const char *name)
{
    const char *slash = ends_in(directory, "/") || !*name ? "" : "/";
    int length = snprintf(out, PATH_ARGUMENT_BYTES, "%s%s%s", directory, slash, name);
    if (length >= 0 && length < PATH_ARGUMENT_BYTES) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "'%.80s...' is too long a name", directory);
}

/* ---- dumps ------------------------------------------------------------------------------ */

struct dumps {
    struct file_policy policy;
    char first[PATH_ARGUMENT_BYTES];
    char list[400]; /* of the first few, for the message */
    size_t count;
};

static void note_dump(struct dumps *dumps, const char *path)
{
    size_t used = strlen(dumps->list);
    if (!dumps->count) (void)snprintf(dumps->first, sizeof dumps->first, "%s", path);
    if (dumps->count++ < DUMPS_SHOWN)
        (void)snprintf(dumps->list + used, sizeof dumps->list - used, "%s%s", used ? ", " : "",
                       path);
}

static struct status find_dumps(struct dumps *dumps, const char *directory, int depth)
{
    struct directory_names names;
    char path[PATH_ARGUMENT_BYTES];
    TRY(directory_list(&names, directory, NAMES_MAX));
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < names.count; i++) {
        status = join(path, directory, names.items[i]);
        if (status.code) break;
        if (!strcmp(names.items[i], "dump.json")) note_dump(dumps, path);
        else if (depth < DEPTH_MAX && directory_may_enter(path, dumps->policy))
            status = find_dumps(dumps, path, depth + 1);
    }
    directory_release(&names);
    return status;
}

struct status path_argument_dump(char out[PATH_ARGUMENT_BYTES], const char *path,
                                 struct file_policy policy)
{
    if (!directory_exists(path) || ends_in(path, ".json")) return join(out, path, "");
    struct dumps dumps = { .policy = policy };
    TRY(find_dumps(&dumps, path, 0));
    if (dumps.count == 1) return join(out, dumps.first, "");
    if (!dumps.count)
        return status_error(STATUS_BAD_ARGUMENT, "there is no dump.json in '%s' or below", path);
    return status_error(STATUS_BAD_ARGUMENT, "'%s' has %zu dumps, name one of them: %s%s", path,
                        dumps.count, dumps.list, dumps.count > DUMPS_SHOWN ? ", ..." : "");
}

/* ---- results ---------------------------------------------------------------------------- */

static void count_row(void *context, struct csv_text forward, struct csv_text backward)
{
    (void)forward, (void)backward;
    ++*(size_t *)context;
}

/* Has the run a result row for each of its calls? Runs without a run file are taken for complete. */
static struct status is_complete(bool *complete, const char *directory, const char *timestamp,
                                 struct file_policy policy)
{
    char name[80], path[PATH_ARGUMENT_BYTES];
    struct run_record record = { .object = NULL };
    struct file result;
    size_t rows = 0;
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
    struct status status = resume_visit(&result, count_row, &rows);
    (void)file_close(&result);
    *complete = !status.code && (double)rows >= wanted;
    return status.code == STATUS_BAD_INPUT ? status_ok() : status;
}

/* The newest name first: names are sorted, and their timestamps count up. */
static struct status find_details(char out[PATH_ARGUMENT_BYTES], const char *directory,
                                  const struct directory_names *names, struct file_policy policy)
{
    static const char prefix[] = "accuracy_checking_details_";
    for (size_t i = names->count; i--;) {
        const char *name = names->items[i];
        char timestamp[TIMESTAMP_DIGITS + 1];
        bool complete;
        if (strncmp(name, prefix, sizeof prefix - 1) != 0 ||
            strlen(name) != sizeof prefix - 1 + TIMESTAMP_DIGITS + strlen(".csv"))
            continue;
        memcpy(timestamp, name + sizeof prefix - 1, TIMESTAMP_DIGITS);
        timestamp[TIMESTAMP_DIGITS] = '\0';
        TRY(is_complete(&complete, directory, timestamp, policy));
        if (complete) return join(out, directory, name);
    }
    return status_error(STATUS_BAD_ARGUMENT,
                        "'%s' has no accuracy_checking_details_{timestamp}.csv of a complete run",
                        directory);
}

struct status path_argument_details(char out[PATH_ARGUMENT_BYTES], const char *path,
                                    struct file_policy policy)
{
    struct directory_names names;
    if (!directory_exists(path) || ends_in(path, ".csv")) return join(out, path, "");
    TRY(directory_list(&names, path, NAMES_MAX));
    struct status status = find_details(out, path, &names, policy);
    directory_release(&names);
    return status;
}
