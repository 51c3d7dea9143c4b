/* One table for both ways. */
#include "cli/job_options.h"

#include <stddef.h>

#include "cli/options_write.h"
#include "cli/run_option_rows.h"
#include "cluster/job_paths.h"
#include "core/memory.h"
#include "core/whole_file.h"

#define AT(member) .offset = offsetof(struct run_options, member)

static const struct option_row rows[] = { RUN_CHECK_ROWS(AT),
                                          RUN_REPORT_ROWS(AT),
                                          { .names = { NULL } } };

static const struct run_options defaults = RUN_OPTIONS_DEFAULTS;

static const struct command kept_options = {
    .word = "plan",
    .options = rows,
    .bytes = sizeof(struct run_options),
    .defaults = &defaults,
};

struct status job_options_write(struct plan *plan, struct arena *arena,
                                const struct run_options *options)
{
    struct option_words words = { .items = NULL };
    TRY(options_write(&words, arena, rows, options, &defaults));
    plan->arguments = words.items;
    plan->n_arguments = words.count;
    plan->framework = options->framework;
    return status_ok();
}

/* ---- copies ----------------------------------------------------------------------------- */

#define COPY(member, file)                                                              \
    {                                                                                   \
        offsetof(struct run_options, member), offsetof(struct told_files, member), file \
    }

/* Files that options name, and what their copies are called. */
static const struct {
    size_t option, told;
    const char *name;
} copies[] = {
    COPY(config_path, "config.json"),
    COPY(thresholds, "thresholds.json"),
    COPY(budget, "budget.json"),
};
enum { N_COPIES = sizeof copies / sizeof *copies };

static const char **text_at(void *values, size_t offset)
{
    return (const char **)(void *)((char *)values + offset);
}

static struct status copy_file(const char *directory, const char *name, const char *from,
                               struct file_policy policy)
{
    struct arena arena = { 0 };
    char *text = NULL;
    size_t bytes;
    const char *to = path_join(&arena, directory, name);
    struct status status = to ? file_read_text(&text, &bytes, from, policy) : status_no_memory(0);
    if (!status.code) status = whole_file_write(to, text, bytes, READERS_GROUP);
    memory_release(text);
    arena_release(&arena);
    return status;
}

struct status job_options_copy_files(const char *directory, const struct run_options *options)
{
    struct run_options values = *options;
    for (int i = 0; i < N_COPIES; i++) {
        const char *from = *text_at(&values, copies[i].option);
        if (from) TRY(copy_file(directory, copies[i].name, from, options->file_policy));
    }
    return status_ok();
}

/* ---- reading ---------------------------------------------------------------------------- */

static struct status parse_options(struct job *job)
{
    bool help;
    const struct plan *plan = &job->plan;
    char **words = arena_allocate_array(&job->arena, plan->n_arguments, sizeof *words);
    if (!words) return status_no_memory(plan->n_arguments * sizeof *words);
    for (size_t i = 0; i < plan->n_arguments; i++) {
        words[i] = arena_copy_string(&job->arena, plan->arguments[i]);
        if (!words[i]) return status_no_memory(0);
    }
    struct status status =
        options_parse(&job->options, &help, &kept_options, (int)plan->n_arguments, words);
    job->options.framework = plan->framework;
    if (status.code != STATUS_BAD_ARGUMENT) return status;
    status.code = STATUS_BAD_INPUT;
    return status_within(status, "%s/plan.json", file_shown(job->directory).text);
}

/* The copies in the place of what the plan was told of. */
static struct status use_copies(struct job *job)
{
    for (int i = 0; i < N_COPIES; i++) {
        const char **path = text_at(&job->options, copies[i].option);
        *text_at(&job->told, copies[i].told) = *path;
        if (!*path) continue;
        *path = path_join(&job->arena, job->directory, copies[i].name);
        if (!*path) return status_no_memory(0);
    }
    return status_ok();
}

struct status job_open(struct job *out, const char *directory, struct file_policy policy)
{
    *out = (struct job){ .directory = directory };
    const char *path = path_join(&out->arena, directory, "plan.json");
    if (!path) return status_no_memory(0);
    TRY(plan_read(&out->plan, &out->arena, path, policy));
    TRY(parse_options(out));
    TRY(use_copies(out));
    out->options.file_policy.trusted |= policy.trusted;
    return status_ok();
}

void job_close(struct job *job) { arena_release(&job->arena); }
