/* The options of the run, with the paths of this dump in place of those of all. */
#include "runner/run_part.h"

#include <string.h>

#include "core/directory.h"
#include "core/memory.h"
#include "results/result_files.h"
#include "runner/repeat_command.h"
#include "runner/run_job.h"

static const char *below(struct arena *arena, const char *directory, const char *folder)
{
    size_t length = strlen(directory);
    bool joined = !length || !*folder || directory[length - 1] == '/';
    return arena_format(arena, "%s%s%s", directory, joined ? "" : "/", folder);
}

/* A directory of results to resume means the newest run in it. */
static struct status find_earlier(struct run_part *part, const char *folder)
{
    struct run_options *o = &part->options;
    if (!o->result_csv_path || !directory_exists(o->result_csv_path)) return status_ok();
    const char *directory = below(&part->arena, o->result_csv_path, folder);
    if (!directory) return status_no_memory(0);
    o->out_path = directory;
    TRY(result_files_newest(&part->earlier, directory, "result"));
    o->result_csv_path = part->earlier;
    if (part->earlier || *folder || o->slice) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT,
                        "'%s' has no accuracy_checking_result_{timestamp}.csv to resume",
                        file_shown(directory).text);
}

/* A dump that is new has none. */
struct status run_part_baseline(char **out, const char *baseline, const char *folder)
{
    struct arena arena = { 0 };
    *out = NULL;
    if (!baseline) return status_ok();
    if (!directory_exists(baseline)) {
        *out = memory_copy_string(baseline);
        return *out ? status_ok() : status_no_memory(0);
    }
    const char *directory = below(&arena, baseline, folder);
    struct status status = directory ? result_files_newest(out, directory, "details")
                                     : status_no_memory(0);
    arena_release(&arena);
    return status;
}

static struct status take_options(struct run_part *part, const struct run_options *options,
                                  const struct dump_place *place)
{
    part->options = *options;
    if (!place) return find_earlier(part, "");
    TRY(run_part_baseline(&part->baseline, options->baseline, place->folder));
    part->options.baseline = part->baseline;
    part->options.api_info = place->path;
    part->options.folder = place->folder;
    part->options.slice = place->slice;
    part->options.out_path = below(&part->arena, options->out_path, place->folder);
    if (!part->options.out_path) return status_no_memory(0);
    return find_earlier(part, place->folder);
}

struct status run_part_open_inputs(struct run_part *out, const struct run_options *options,
                                   const struct dump_place *place, struct call_set *met)
{
    *out = (struct run_part){ .output = RUN_OUTPUT_NONE };
    TRY(take_options(out, options, place));
    return run_inputs_open(&out->inputs, &out->options, met);
}

/* The options as commands in the results give them: a shard of a job may work on copies. */
static struct run_options told_options(const struct run_part *part)
{
    struct run_options told = part->options;
    if (!told.job) return told;
    told.api_info = told.slice->told_path;
    told.config_path = told.job->told.config_path;
    told.thresholds = told.job->told.thresholds;
    told.budget = told.job->told.budget;
    return told;
}

struct status run_part_prepare(struct run_part *part, struct checkers *checkers)
{
    if (part->repeat) return status_ok();
    TRY(checkers_accept(checkers, &part->inputs));
    const struct run_options told = told_options(part);
    TRY(repeat_command_make(&part->repeat, &told));
    TRY(reproduce_command_make(&part->reproduce, &told));
    part->setup = checkers_setup(checkers, &part->options, &part->inputs, part->repeat);
    part->setup.style.reproduce = part->reproduce;
    if (part->options.save_error_data) part->setup.error_data = &part->output.error_data;
    part->batch = (struct check_batch){ .setup = &part->setup,
                                        .positions = part->inputs.order.positions,
                                        .count = part->inputs.order.count };
    return status_ok();
}

/* The calls of a new run are all that there are: whoever was given them before has the right ones. */
struct status run_part_open_output(struct run_part *part, struct checkers *checkers,
                                   struct summary *summary)
{
    TRY(run_part_prepare(part, checkers));
    TRY(checkers_describe(&part->inputs.record, checkers));
    TRY(run_output_open(&part->output, summary, summary->tree ? part->place : 0, part->repeat,
                        &part->options, &part->inputs));
    if (!part->options.result_csv_path) return status_ok();
    part->batch.positions = part->output.pending;
    part->batch.count = part->output.n_pending;
    return status_ok();
}

size_t run_part_calls_left(const struct run_part *part)
{
    return part->output.n_pending - part->committed;
}

const char *run_part_name(const struct run_part *part, size_t i)
{
    return dump_name(part->inputs.dump, part->output.pending[i]);
}

struct status run_part_add(struct run_part *part, size_t ahead, const struct case_outcome *outcome)
{
    const char *name = run_part_name(part, part->committed + ahead);
    TRY(run_output_add(&part->output, outcome, name));
    if (!part->options.junit) return status_ok();
    return call_seconds_add(&part->seconds, name, stage_times_total(&outcome->times));
}

struct status run_part_commit(struct run_part *part, size_t count)
{
    TRY(run_output_write(&part->output, &part->inputs));
    part->committed += count;
    return status_ok();
}

struct status run_part_finish(struct run_part *part)
{
    TRY(result_files_sync(&part->output.files));
    return file_close(&part->output.timings);
}

void run_part_close(struct run_part *part)
{
    run_output_close(&part->output);
    run_inputs_close(&part->inputs);
    call_seconds_release(&part->seconds);
    memory_release(part->repeat);
    memory_release(part->reproduce);
    memory_release(part->earlier);
    memory_release(part->baseline);
    arena_release(&part->arena);
}
