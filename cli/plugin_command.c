/* The options of plugin check, and what it prints of each kernel. */
#include "cli/plugin_command.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/outcome_rows.h"
#include "cli/plugin_smoke.h"
#include "core/file.h"
#include "core/quantity.h"
#include "core/scratch_directory.h"
#include "formats/dump_write.h"
#include "report/ci_reports.h"
#include "report/failing.h"
#include "results/result_row.h"
#include "runner/api_names.h"
#include "runner/devices/plugin/plugin.h"
#include "runner/devices/plugin/plugin_bind.h"
#include "runner/run.h"
#include "runner/run_options.h"
#include "standards/profile.h"

struct plugin_options {
    double case_timeout_s;
    bool in_process;
    struct file_policy file_policy;
    bool judge;
    const char *profile, *fail_on;
    struct operands words;
};

/* --- symbols --------------------------------------------------------------------------------------- */

struct tally {
    size_t symbols, missing, ran, skipped, failed;
    size_t unjudged; /* of those that ran: no verdict on what they return */
};

/* Is the function there? The same function is asked for again by every step that calls it. */
static struct status check_symbol(struct tally *tally, struct plugin *plugin, size_t library,
                                  const char *symbol, const cJSON *node)
{
    const struct manifest *m = plugin_manifest(plugin);
    struct status st = plugin_probe_symbol(plugin, library, symbol);
    tally->symbols++;
    if (!st.code || st.code == STATUS_NO_MEMORY) return st;
    tally->missing++;
    struct status fault =
        config_json_fault(&m->file, node, "library %s: %s", m->libraries[library].name, st.text);
    printf("%s\n", fault.text);
    return status_ok();
}

static struct status check_steps(struct tally *tally, struct plugin *plugin,
                                 const struct manifest_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct manifest_step *s = &steps->items[i];
        if (s->kind != STEP_CALL) continue;
        TRY(check_symbol(tally, plugin, s->library, s->symbol, s->node));
        if (s->explain) TRY(check_symbol(tally, plugin, s->explain_library, s->explain, s->node));
    }
    return status_ok();
}

static struct status check_symbols(struct tally *tally, struct plugin *plugin)
{
    const struct manifest *m = plugin_manifest(plugin);
    TRY(check_steps(tally, plugin, &m->session_open));
    TRY(check_steps(tally, plugin, &m->session_close));
    for (size_t i = 0; i < m->n_wrappers; i++) {
        TRY(check_steps(tally, plugin, &m->wrappers[i].before));
        TRY(check_steps(tally, plugin, &m->wrappers[i].after));
        TRY(check_steps(tally, plugin, &m->wrappers[i].after_output));
    }
    for (size_t i = 0; i < m->n_kernels; i++) {
        TRY(check_steps(tally, plugin, &m->kernels[i].forward.steps));
        TRY(check_steps(tally, plugin, &m->kernels[i].backward.steps));
    }
    return status_ok();
}

/* --- smoke calls ----------------------------------------------------------------------------------- */

/* Floating elements that are still as they were before the call. */
static size_t count_unwritten(const struct value *list)
{
    uint16_t pattern[8];
    size_t count = 0;
    for (size_t i = 0; i < 8; i++) pattern[i] = SPACE_UNWRITTEN;
    for (size_t i = 0; i < list->list.count; i++) {
        const struct value *v = &list->list.items[i];
        if (v->kind != VALUE_TENSOR || dtype_is_integral(v->tensor.tensor->dtype)) continue;
        const unsigned char *element = v->tensor.tensor->data;
        size_t n = tensor_elements(v->tensor.tensor);
        size_t width = dtype_info(v->tensor.tensor->dtype)->bytes;
        for (size_t k = 0; width > 1 && k < n; k++, element += width)
            if (!memcmp(element, pattern, width)) count++;
    }
    return count;
}

/* Cotangents of ones for the outputs of a first run. */
static struct status make_cotangents(struct api_case *c, struct arena *arena,
                                     const struct value *outputs)
{
    size_t count = outputs->list.count;
    c->cotangents.list.items = arena_allocate_zeroed(arena, count, sizeof(struct value));
    if (!c->cotangents.list.items) return status_no_memory(count * sizeof(struct value));
    c->cotangents.list.count = count;
    for (size_t i = 0; i < count; i++) {
        const struct tensor *from = outputs->list.items[i].tensor.tensor;
        struct tensor *ones = arena_allocate(arena, sizeof *ones);
        if (!ones) return status_no_memory(sizeof *ones);
        TRY(tensor_create(ones, arena, from->dtype, from->rank, from->shape));
        double one[2] = { 1, 0 };
        for (size_t k = 0; k < tensor_elements(ones); k++)
            dtype_from_double((unsigned char *)ones->data + k * dtype_info(ones->dtype)->bytes,
                              ones->dtype, one, 1);
        c->cotangents.list.items[i] =
            (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = ones } };
    }
    return status_ok();
}

/* *chosen: the manifest takes the attempt's call for this kernel. */
static struct status run_attempt(struct api_case *c, size_t *n_unwritten, bool *chosen,
                                 struct arena *arena, struct plugin *plugin,
                                 const struct manifest_kernel *kernel, size_t attempt)
{
    struct device_result result;
    TRY(smoke_case(c, arena, plugin_manifest(plugin), kernel, attempt));
    *chosen = true;
    TRY(plugin_run(plugin, &result, arena, c, false));
    *n_unwritten = count_unwritten(&result.outputs);
    if (!kernel->has_backward) return status_ok();
    TRY(make_cotangents(c, arena, &result.outputs));
    c->has_backward = true;
    TRY(plugin_run(plugin, &result, arena, c, true));
    if (result.backward.code) return status_within(result.backward, "backward");
    *n_unwritten += count_unwritten(&result.gradients);
    return status_ok();
}

/* The first call that the kernel takes decides. When it takes none, a fault that showed after it
 * was chosen says most, then one of its condition that every call met; else nothing is known
 * against the kernel but that no call was found. */
static struct status run_smoke(struct api_case *c, size_t *n_unwritten, struct arena *arena,
                               struct plugin *plugin, const struct manifest_kernel *kernel)
{
    struct status broken = status_ok(), unclear = status_ok(), unsuited = status_ok();
    for (size_t i = 0; i < smoke_attempts(kernel); i++) {
        bool chosen = false;
        struct status st = run_attempt(c, n_unwritten, &chosen, arena, plugin, kernel, i);
        bool is_fault = st.code == STATUS_BAD_INPUT;
        if (st.code != STATUS_SKIP && !is_fault) return st;
        struct status *said = is_fault ? chosen ? &broken : &unclear : &unsuited;
        if (!said->code || (!is_fault && strstr(st.text, "\"smoke\""))) *said = st;
        arena_reset(arena);
    }
    if (broken.code) return broken;
    return unsuited.code ? unsuited : unclear;
}

/* A kernel that fails is a line of the table; memory that is short says nothing about it. */
static struct status check_kernel(struct tally *tally, struct arena *arena, struct plugin *plugin,
                                  const struct manifest_kernel *kernel, struct dump_writer *calls)
{
    const struct manifest *m = plugin_manifest(plugin);
    size_t n_unwritten = 0;
    struct api_case c;
    struct status st = run_smoke(&c, &n_unwritten, arena, plugin, kernel);
    char what[240];

    if (st.code == STATUS_NO_MEMORY) return st;
    if (!st.code && n_unwritten)
        st = status_error(STATUS_DEVICE, "%zu elements were not written", n_unwritten);
    if (!st.code) {
        tally->ran++;
        (void)snprintf(what, sizeof what, "runs%s", kernel->has_backward ? ", backward too" : "");
        if (calls) TRY(dump_writer_add(calls, &c, arena));
    } else if (st.code == STATUS_SKIP) {
        tally->skipped++;
        (void)snprintf(what, sizeof what, "not run: %.220s", st.text);
    } else {
        tally->failed++;
        (void)snprintf(what, sizeof what, "FAILS: %.220s", st.text);
    }
    printf(
        "  line %-5d %-28s %-24s %s\n", config_json_line(&m->file, kernel->node), kernel->apis[0],
        kernel->forward.steps.items[0].symbol ? kernel->forward.steps.items[0].symbol : "-", what);
    return status_ok();
}

/* Print a line for each kernel; the calls that ran are added to `calls`, when there are to be any. */
static struct status check_kernels(struct tally *tally, struct plugin *plugin,
                                   struct dump_writer *calls)
{
    const struct manifest *m = plugin_manifest(plugin);
    struct arena arena = { 0 };
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < m->n_kernels; i++) {
        status = check_kernel(tally, &arena, plugin, &m->kernels[i], calls);
        arena_reset(&arena);
    }
    arena_release(&arena);
    return status;
}

static struct status check_manifest(struct tally *tally, const char *path,
                                    const struct plugin_options *options, struct dump_writer *calls)
{
    struct plugin *plugin;
    const struct device_options device = { .case_timeout_s = options->case_timeout_s,
                                           .in_process = options->in_process,
                                           .file_policy = options->file_policy,
                                           .is_api = api_name_is_known };
    TRY(plugin_open(&plugin, path, &device));
    const struct manifest *m = plugin_manifest(plugin);
    printf("%s: %s, %s\n", m->title, quantity_of(m->n_libraries, "library").text,
           quantity_of(m->n_kernels, "kernel").text);
    struct status status = check_symbols(tally, plugin);
    if (!status.code) status = check_kernels(tally, plugin, calls);
    if (!status.code)
        printf("%s of functions, %zu missing; %s run, %zu fail, %zu were not run\n",
               quantity_of(tally->symbols, "call").text, tally->missing,
               quantity_of(tally->ran, "kernel").text, tally->failed, tally->skipped);
    plugin_close(plugin);
    return status;
}

/* --- values ------------------------------------------------------------------------------------------ */

static struct status tell_call(void *context, const struct case_outcome *outcome, const char *name)
{
    struct tally *tally = context;
    enum verdict verdict = result_row_verdict(outcome->forward, outcome->backward);
    if (verdict == VERDICT_SKIP) tally->unjudged++;
    printf("%-8s %s\n", verdict_name(verdict), name);
    return outcome_print_rows(outcome, name);
}

/* The smoke calls as a run of their own. */
static struct status judge_calls(int *exit_status, struct tally *tally, const char *dump,
                                 const char *directory, const char *path,
                                 const struct plugin_options *options)
{
    char backend[PATH_MAX + sizeof "plugin:"];
    struct run_options run = RUN_OPTIONS_DEFAULTS;
    (void)snprintf(backend, sizeof backend, "plugin:%s", path);
    run.api_info = dump;
    run.out_path = directory;
    run.backend = backend;
    run.case_timeout_s = options->case_timeout_s;
    run.isolate = options->in_process ? "none" : "process";
    run.profile = options->profile;
    run.fail_on = options->fail_on;
    run.file_policy = options->file_policy;
    run.told = (struct call_listener){ .tell = tell_call, .context = tally };
    run.scratch = run.no_progress = true;
    printf("\n");
    return run_checks(exit_status, &run, NULL);
}

static struct status check_and_judge(int *exit_status, struct tally *tally, const char *path,
                                     const struct plugin_options *options)
{
    struct scratch_directory directory;
    struct dump_writer calls;
    TRY(scratch_directory_make(&directory));
    struct status status = dump_writer_open(&calls, directory.path,
                                            (struct dump_writer_options){ .with_tensors = true });
    if (!status.code) status = check_manifest(tally, path, options, &calls);
    status = dump_writer_end(&calls, status);
    if (!status.code && tally->ran)
        status = judge_calls(exit_status, tally, calls.path, directory.path, path, options);
    scratch_directory_remove(&directory);
    return status;
}

/* --- the command ------------------------------------------------------------------------------------ */

static struct status run(int *exit_status, const void *values)
{
    const struct plugin_options *options = values;
    if (strcmp(options->words.items[0], "check"))
        return status_error(STATUS_BAD_ARGUMENT, "unknown word '%s' after 'plugin'; there is check",
                            options->words.items[0]);
    struct tally tally = { 0 };
    const char *path = options->words.items[1];
    TRY(options->judge ? check_and_judge(exit_status, &tally, path, options)
                       : check_manifest(&tally, path, options, NULL));
    if (tally.missing || tally.failed || tally.skipped) *exit_status = EXIT_FAILURES;
    /* Where none was judged, the run has said so with a status of its own. */
    if (tally.unjudged && !*exit_status) *exit_status = EXIT_FAILURES;
    return status_ok();
}

/* clang-format off */
static const struct option_row rows[] = {
    { { "case_timeout" }, OPTION_SECONDS, offsetof(struct plugin_options, case_timeout_s),
      "SECONDS", .minimum = 0, .maximum = 1000000,
      .help = "Longest time a kernel may take, 60 by default; 0 for no limit." },
    { { "in_process" }, OPTION_FLAG, offsetof(struct plugin_options, in_process),
      .help = "Run kernels inside this process, for a debugger." },
    { { "judge" }, OPTION_FLAG, offsetof(struct plugin_options, judge),
      .help = "Judge what the calls return, as a run would." },
    { { "profile" }, OPTION_CHOICE, offsetof(struct plugin_options, profile), "NAME",
      .choices = profile_names, .help = "With --judge: the rules of the verdicts, as for run_ut." },
    { { "fail-on" }, OPTION_CHOICE, offsetof(struct plugin_options, fail_on), "VERDICT",
      .choices = failing_names,
      .help = "With --judge: exit with status 1 for this verdict or a worse one; error by default." },
    { { "trust-files" }, OPTION_FLAG, offsetof(struct plugin_options, file_policy.trusted),
      .help = "Read a manifest that is a symbolic link, belongs to somebody else or can be written "
              "by everybody." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct plugin_options defaults = { .case_timeout_s = 60, .fail_on = "error" };

const struct command plugin_command = {
    .word = "plugin",
    .summary = "check the manifest of a kernel library",
    .text =
        "plugin check FILE.json reads a manifest, loads its libraries in a process of their "
        "own, looks up every function it names, and makes one small call of every kernel, "
        "forward and backward. Faults of the manifest are named with file, line and key. The "
        "exit status is 1 when a function is missing, or a kernel fails or could not be run. With "
        "--judge the values that the calls return are judged, too, and wrong ones fail, as "
        "those do that nothing could judge.",
    .options = rows,
    .operands = "check FILE.json",
    .operands_minimum = 2,
    .operands_maximum = 2,
    .operands_offset = offsetof(struct plugin_options, words),
    .bytes = sizeof(struct plugin_options),
    .defaults = &defaults,
    .run = run,
};
