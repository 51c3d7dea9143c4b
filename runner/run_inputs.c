/* Everything is read before anything is started, so that a wrong name costs no time. */
#include "runner/run_inputs.h"

#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "core/hash.h"
#include "core/kernel_modes.h"
#include "core/memory.h"
#include "core/nearest_name.h"
#include "generators/generate.h"
#include "results/evidence.h"
#include "results/verdict_file.h"
#include "runner/api_names.h"
#include "runner/call_selection.h"
#include "runner/dump_framework.h"
#include "runner/environment.h"
#include "runner/run_about.h"
#include "runner/run_job.h"
#include "runner/threshold_names.h"
#include "standards/header_language.h"

enum { CALLS_SHOWN = 4 }; /* in a message about a name that several have */

static struct status digest_file(uint64_t *digest, const char *path, struct file_policy policy)
{
    char *text;
    size_t bytes;
    TRY(file_read_text(&text, &bytes, path, policy));
    *digest = hash_bytes(HASH_START, text, bytes);
    memory_release(text);
    return status_ok();
}

static struct status add_patterns(struct run_record *record, const char *key,
                                  const struct call_patterns *patterns)
{
    return run_record_add_texts(record, key, patterns->items, patterns->count);
}

/* Only the error model has measured what a budget is about. */
static struct status open_budget(struct run_inputs *out, const struct run_options *o)
{
    if (!o->budget) return status_ok();
    if (!profile_rules(out->profile)->error_model)
        return status_error(STATUS_BAD_ARGUMENT,
                            "--budget is for --profile strict: the rules of %s have no budgets",
                            profile_name(out->profile));
    return budget_read(&out->budget, o->budget, o->file_policy, api_name_is_known);
}

/* The modes for all APIs; those of the thresholds are in their digest. */
static struct status describe_modes(struct run_record *record, const struct run_options *o)
{
    struct kernel_modes modes = { .function_count = 0 };
    char text[KERNEL_MODES_BYTES];
    if (!o->allow) return status_ok();
    TRY(kernel_modes_read(&modes, o->allow));
    kernel_modes_text(text, &modes);
    return run_record_add_text(record, "allow", text);
}

/* Of which job the files are a part, and which. */
static struct status describe_shard(struct run_record *record, const struct run_options *o)
{
    TRY(run_record_add_text(record, "job", o->job->id));
    TRY(run_record_add_number(record, "shard", (double)o->job->shard));
    return run_record_add_number(record, "first_call", (double)o->slice->calls.first);
}

static struct status describe_dump(struct run_inputs *inputs)
{
    TRY(run_record_add_digest(&inputs->record, "dump_digest", dump_digest(inputs->dump)));
    return run_record_add_number(&inputs->record, "calls", (double)inputs->order.count);
}

struct status run_inputs_name_core(struct run_inputs *inputs)
{
    if (run_record_text(&inputs->record, RUN_RECORD_CORE)) return status_ok();
    return run_record_name_core(&inputs->record, environment_blas_core());
}

/* Everything that decides the bytes of the result files. */
static struct status describe_run(struct run_inputs *inputs, const struct run_options *o)
{
    struct run_record *record = &inputs->record;
    const struct api_lists *lists = &inputs->lists;
    TRY(run_record_create(record));
    TRY(run_record_add_text(record, "version", PROBE_VERSION));
    TRY(inputs->dump ? describe_dump(inputs) : run_record_add_flag(record, "online", true));
    TRY(run_record_add_text(record, "framework", inputs->framework->name));
    TRY(run_record_add_text(record, "backend", inputs->backend));
    TRY(run_record_add_text(record, "profile", profile_name(inputs->profile)));
    if (o->thresholds) {
        uint64_t digest;
        TRY(digest_file(&digest, o->thresholds, o->file_policy));
        TRY(run_record_add_digest(record, "thresholds_digest", digest));
    }
    if (o->budget) {
        uint64_t digest;
        TRY(digest_file(&digest, o->budget, o->file_policy));
        TRY(run_record_add_digest(record, "budget_digest", digest));
    }
    TRY(describe_modes(record, o));
    TRY(run_record_add_number(record, "seed", (double)o->seed));
    if (o->runs > 1) TRY(run_record_add_number(record, "repeat", (double)o->runs));
    if (input_source_from_name(o->inputs) != INPUTS_RECORDED)
        TRY(run_record_add_text(record, "inputs", o->inputs));
    if (evidence_extent_from_name(o->evidence) != EVIDENCE_ALL)
        TRY(run_record_add_text(record, "evidence", o->evidence));
    TRY(run_record_add_number(record, "diagnose_budget_s",
                              o->no_diagnose ? 0 : o->diagnose_budget_s));
    if (header_language_from_name(o->columns) != HEADERS_MSPROBE)
        TRY(run_record_add_text(record, "columns", o->columns));
    TRY(run_record_add_flag(record, "filter_api", o->filter_api));
    TRY(run_record_add_flag(record, "jit_compile", o->jit_compile));
    TRY(add_patterns(record, "white_list", &lists->white));
    TRY(add_patterns(record, "black_list", &lists->black));
    if (o->only) TRY(add_patterns(record, "only", &lists->only));
    if (o->skip) TRY(add_patterns(record, "skip", &lists->skip));
    TRY(run_record_add_number(record, "precision", lists->precision));
    /* Which of several dumps first uses the kernels would depend on the threads. */
    bool is_one_of_many = o->folder && *o->folder;
    if (!inputs->dump || is_one_of_many) TRY(run_inputs_name_core(inputs));
    if (o->job) TRY(describe_shard(record, o));
    return run_about_add(record, o->api_info);
}

/* What is read only when the run is over is refused before it starts. */
static struct status check_baseline(const struct run_options *o)
{
    return o->baseline ? verdict_file_check(o->baseline, o->file_policy) : status_ok();
}

/* Rows can do without the lines that made their calls. */
static void open_stacks(struct run_inputs *inputs, const struct run_options *o)
{
    struct status status = stacks_open_beside(&inputs->stacks, o->api_info, o->file_policy);
    if (status.code)
        warn(o->warnings, "%s; the lines that made the calls are not shown", status.text);
}

/* The modes of --allow and of the thresholds, of functions that there are. They matter to the error model only. */
static struct status allow_modes(struct profile *profile, const struct run_options *o)
{
    struct kernel_modes modes = { .function_count = 0 };
    if (o->allow) {
        TRY(kernel_modes_read(&modes, o->allow));
        if (!profile_rules(profile)->error_model)
            return status_error(
                STATUS_BAD_ARGUMENT,
                "--allow is for --profile strict: the rules of %s know no modes of kernels",
                profile_name(profile));
    }
    TRY(profile_allow(profile, &modes));
    TRY(profile_allowed(&modes, profile, NULL, DT_NONE));
    return bench_check_functions(&modes);
}

/* A job was planned for this very dump. */
static struct status check_digest(const struct run_inputs *inputs, const struct run_options *o)
{
    if (!o->slice || dump_digest(inputs->dump) == o->slice->digest) return status_ok();
    return status_error(STATUS_BAD_INPUT, "%s has changed since the job was planned",
                        file_shown(o->api_info).text);
}

/* The lists, and files that are needed later. */
static struct status open_lists(struct run_inputs *out, const struct run_options *o)
{
    *out = (struct run_inputs){ .lists = api_lists_default(),
                                .path = o->api_info,
                                .source_name = o->inputs };
    if (o->config_path)
        TRY(api_lists_read(&out->lists, &out->arena, o->config_path, o->file_policy));
    TRY(api_lists_read_options(&out->lists, &out->arena, o->only, o->skip));
    TRY(check_baseline(o));
    return threshold_names_check(o->thresholds, o->file_policy);
}

static struct status open_profile(struct run_inputs *out, const struct run_options *o)
{
    const char *profile = o->profile ? o->profile : profile_names()[0];
    TRY(profile_load_for(&out->profile, out->framework->profile_prefix, profile, o->thresholds,
                         o->file_policy));
    out->lists.plain_names_only = profile_rules(out->profile)->listed_names_only;
    out->lists.runs_all_groups = profile_rules(out->profile)->error_model;
    TRY(allow_modes(out->profile, o));
    return open_budget(out, o);
}

struct status run_inputs_open(struct run_inputs *out, const struct run_options *o,
                              struct call_set *met)
{
    TRY(open_lists(out, o));
    if (out->lists.is_online)
        return status_error(
            STATUS_BAD_ARGUMENT,
            "%s: is_online is true, and this command checks a dump: remove the key, "
            "or use `probe-ut serve`",
            o->config_path);
    TRY(dump_open(&out->dump, o->api_info, o->file_policy));
    TRY(check_digest(out, o));
    const struct status missing = dump_data_missing(out->dump);
    if (missing.code)
        warn(o->warnings, "%s: %s; calls that need them are skipped", o->api_info, missing.text);
    TRY(dump_framework_choose(&out->framework, out->dump, o->framework, o->api_info));
    TRY(open_profile(out, o));
    out->backend = o->backend ? o->backend : dump_framework_backend(out->framework, out->dump);
    const struct call_scope scope = { .framework = out->framework,
                                      .listed_only = out->lists.plain_names_only,
                                      .filter = o->filter_api,
                                      .met = met,
                                      .is_one_of_many = o->folder != NULL,
                                      .slice = o->slice };
    TRY(call_selection_make(&out->order, out->dump, o->api_info, &out->lists, &scope, o->warnings));
    open_stacks(out, o);
    return describe_run(out, o);
}

struct status run_inputs_open_online(struct run_inputs *out, const struct run_options *o)
{
    TRY(open_lists(out, o));
    out->framework = &framework_pytorch;
    out->backend = o->backend ? o->backend : "recorded";
    TRY(open_profile(out, o));
    return describe_run(out, o);
}

void run_inputs_close(struct run_inputs *inputs)
{
    memory_release(inputs->order.positions);
    run_record_release(&inputs->record);
    if (inputs->dump) dump_close(inputs->dump);
    stacks_close(inputs->stacks);
    if (inputs->profile) profile_release(inputs->profile);
    budget_release(inputs->budget);
    arena_release(&inputs->arena);
}

/* The call's own name, the keys that the dump has it under ("….forward"), which are also the names in
 * a JUnit report, and the names of its rows ("….forward.output.0"). */
static bool is_name_of(const char *name, const char *call)
{
    static const char *const directions[] = { ".forward", ".backward" };
    size_t length = strlen(call);
    if (strncmp(name, call, length) != 0) return false;
    const char *rest = name + length;
    if (!*rest) return true;
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(directions[i]);
        if (!strncmp(rest, directions[i], n) && (!rest[n] || rest[n] == '.')) return true;
    }
    return false;
}

static struct status no_such_call(const struct run_inputs *inputs, const char *name)
{
    const struct call_order *order = &inputs->order;
    const char **names = memory_allocate(order->count * sizeof *names);
    if (!names) return status_no_memory(order->count * sizeof *names);
    for (size_t i = 0; i < order->count; i++) names[i] = call_order_name(order, i);
    const char *nearest = nearest_name(name, names, order->count);
    struct status status = status_error(STATUS_BAD_ARGUMENT,
                                        "%s has no call '%s'; the nearest is '%s'", inputs->path,
                                        name, nearest ? nearest : "");
    memory_release(names);
    return status;
}

/* What a pattern means: "linear", "*.softmax.0". */
struct meaning {
    size_t count, position; /* calls, and where the first of them is */
    char list[300];         /* of the first few */
};

static struct status look_up(struct meaning *out, struct arena *arena,
                             const struct run_inputs *inputs, const char *pattern)
{
    const struct call_order *order = &inputs->order;
    struct call_patterns patterns;
    TRY(call_patterns_read(&patterns, arena, pattern));
    for (size_t i = 0; i < order->count; i++) {
        struct api_case c;
        size_t used = strlen(out->list);
        TRY(dump_read_name(&c, arena, inputs->dump, order->positions[i]));
        if (!call_patterns_match(&patterns, &c, NULL)) continue;
        if (!out->count) out->position = order->positions[i];
        if (out->count++ < CALLS_SHOWN)
            (void)snprintf(out->list + used, sizeof out->list - used, "%s%s", used ? ", " : "",
                           c.full_name);
    }
    return status_ok();
}

/* A name of an API is that of a call when there is but one. */
static struct status find_by_pattern(size_t *position, const struct run_inputs *inputs,
                                     const char *name)
{
    struct arena arena = { 0 };
    struct meaning meaning = { .count = 0 };
    struct status status = look_up(&meaning, &arena, inputs, name);
    arena_release(&arena);
    if (status.code == STATUS_NO_MEMORY) return status;
    if (!meaning.count) return no_such_call(inputs, name);
    *position = meaning.position;
    if (meaning.count == 1) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "'%s' is %zu calls of %s; name one: %s%s", name,
                        meaning.count, inputs->path, meaning.list,
                        meaning.count > CALLS_SHOWN ? ", ..." : "");
}

struct status run_inputs_find(size_t *position, const struct run_inputs *inputs, const char *name)
{
    const struct call_order *order = &inputs->order;
    for (size_t i = 0; i < order->count; i++) {
        if (!is_name_of(name, call_order_name(order, i))) continue;
        *position = order->positions[i];
        return status_ok();
    }
    return find_by_pattern(position, inputs, name);
}
