/* One table for both ways. */
#include "cli/job_options.h"

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

static const char config_name[] = "config.json", thresholds_name[] = "thresholds.json";

static struct status copy_file(const char *directory, const char *name, const char *from,
                               struct file_policy policy)
{
    struct arena arena = { 0 };
    char *text = NULL;
    size_t bytes;
    if (!from) return status_ok();
    const char *to = path_join(&arena, directory, name);
    struct status status = to ? file_read_text(&text, &bytes, from, policy) : status_no_memory(0);
    if (!status.code) status = whole_file_write(to, text, bytes, READERS_GROUP);
    memory_release(text);
    arena_release(&arena);
    return status;
}

struct status job_options_copy_files(const char *directory, const struct run_options *options)
{
    const struct file_policy policy = options->file_policy;
    TRY(copy_file(directory, config_name, options->config_path, policy));
    return copy_file(directory, thresholds_name, options->thresholds, policy);
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

static struct status use_copy(const char **told, const char **path, struct job *job,
                              const char *name)
{
    *told = *path;
    if (!*path) return status_ok();
    *path = path_join(&job->arena, job->directory, name);
    return *path ? status_ok() : status_no_memory(0);
}

struct status job_open(struct job *out, const char *directory, struct file_policy policy)
{
    *out = (struct job){ .directory = directory };
    const char *path = path_join(&out->arena, directory, "plan.json");
    if (!path) return status_no_memory(0);
    TRY(plan_read(&out->plan, &out->arena, path, policy));
    TRY(parse_options(out));
    TRY(use_copy(&out->told_config, &out->options.config_path, out, config_name));
    TRY(use_copy(&out->told_thresholds, &out->options.thresholds, out, thresholds_name));
    out->options.file_policy.trusted |= policy.trusted;
    return status_ok();
}

void job_close(struct job *job) { arena_release(&job->arena); }
