/* A made-up dump, checked by the run that checks recorded ones; what is said of each call is read from
 * its evidence. */
#include "cli/try_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/call_options.h"
#include "cli/choices.h"
#include "cli/outcome_rows.h"
#include "cli/try_batch.h"
#include "cli/try_call.h"
#include "cli/warning_printer.h"
#include "core/arena.h"
#include "core/scratch_directory.h"
#include "formats/dump_write.h"
#include "report/failing.h"
#include "results/outcome.h"
#include "results/result_row.h"
#include "results/row_print.h"
#include "runner/memory_budget.h"
#include "runner/run.h"
#include "runner/run_options.h"

struct try_options {
    struct try_call call; /* first: the lines of a batch have it alone */
    const char *batch;
    const char *out_path; /* NULL: nothing is kept */
    bool details;
    struct run_options run;
};

/* ---- the table -------------------------------------------------------------------------- */

#define OF_CALL(member) .offset = offsetof(struct try_call, member)
#define AT(member)      .offset = offsetof(struct try_options, member)

/* clang-format off */
/* What a line of a batch has, too. */
#define CALL_ROWS \
    { { "op" }, OPTION_TEXT, OF_CALL(op), "API", \
      .help = "The API, as the command ops lists it: softmax, linalg.inv, Tensor.add." }, \
    { { "shape" }, OPTION_TEXTS, OF_CALL(shapes), "SHAPES", \
      .help = "Shapes of the tensors in the order of the arguments, 4x8,8x16, or by the name of an " \
              "argument, weight=16x8. scalar has no dimensions. May be given several times." }, \
    { { "dtype" }, OPTION_TEXTS, OF_CALL(dtypes), "DTYPES", \
      .help = "One for all tensors, or one each, as for --shape: f32 (default), bf16, f16, f64, " \
              "f8e4m3, f8e5m2, i64, i32, i16, i8, u8, bool, c64, c128, and PyTorch's names." }, \
    { { "range" }, OPTION_TEXTS, OF_CALL(ranges), "RANGES", \
      .help = "What the elements are drawn from, for all tensors or each: -1:1 (default; whole " \
              "numbers: 0:9), 0.5 for one value, -inf:inf and nan for one such element. Indices, " \
              "classes and the like stay legal for their API." }, \
    { { "arg" }, OPTION_TEXTS, OF_CALL(arguments), "NAME=VALUE", \
      .help = "Another argument, as Python writes it: dim=-1, approximate=tanh, size=[2,3], " \
              "dtype=torch.float16. May be given several times." }, \
    { { "distribution" }, OPTION_CHOICE, OF_CALL(distribution), "HOW", .choices = try_distributions, \
      .help = "How floating elements lie in their range. normal: its ends are two standard " \
              "deviations from the middle. integers: whole numbers, whose sums are exact." }, \
    { { "gradients" }, OPTION_CHOICE, OF_CALL(gradients), "WHETHER", .choices = try_gradients, \
      .help = "Whether gradients are checked, where the API has any." }, \
    { { "number" }, OPTION_INTEGER, OF_CALL(number), "N", .minimum = 0, .maximum = 999999999, \
      .help = "Number of the call in its name, on which random elements depend; 0 for a single " \
              "call. It repeats one of a batch." }

static const struct option_row line_rows[] = { CALL_ROWS, { .names = { NULL } } };

static const struct option_row rows[] = {
    CALL_ROWS,
    JUDGING_ROWS(struct try_options, run),
    { { "batch" }, OPTION_FILE, AT(batch), "FILE",
      .help = "Calls from a file: a line has the options of one, such as --op add --shape 8,8. "
              "Lines that begin with # are comments." },
    { { "details" }, OPTION_FLAG, AT(details),
      .help = "Print all that was measured, as the command case does." },
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(out_path), "DIR",
      .help = "Keep the dump that is made, and the result files, there. Nothing is kept by default." },
    { { "n", "num_splits" }, OPTION_INTEGER, AT(run.threads), "N", .minimum = 1, .maximum = 64,
      .help = "Threads, 1 to 64; one per core by default." },
    { { "memory" }, OPTION_BYTES, AT(run.memory_bytes), "BYTES",
      .help = "Memory for all calls in work together, 60 % of what is free by default." },
    { { "fail-on" }, OPTION_CHOICE, AT(run.fail_on), "VERDICT", .choices = failing_names,
      .help = "Exit with status 1 when a call has this verdict or a worse one." },
    { { "junit" }, OPTION_FILE, AT(run.junit), "FILE",
      .help = "With -o: write a JUnit report, a test case per call and direction." },
    { { "save_error_data" }, OPTION_FLAG, AT(run.save_error_data),
      .help = "Save the tensors of calls that are not a pass, as for run_ut." },
    { { "case-timeout" }, OPTION_SECONDS, AT(run.case_timeout_s), "SECONDS", .minimum = 0,
      .maximum = 1000000, .help = "Longest time a kernel or worker may take, 60 by default." },
    { { "isolate" }, OPTION_CHOICE, AT(run.isolate), "HOW", .choices = isolation_names,
      .help = "Where kernels of a plugin run, as for run_ut." },
    { { "color" }, OPTION_CHOICE, AT(run.color), "WHEN", .choices = color_names,
      .help = "Colors in the summary; auto: on a terminal." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct try_call line_defaults = TRY_CALL_DEFAULTS;
const struct command try_line_command = { .word = "a line",
                                          .options = line_rows,
                                          .bytes = sizeof(struct try_call),
                                          .defaults = &line_defaults };

/* ---- what came of a call ---------------------------------------------------------------- */

struct telling {
    const struct try_options *options;
    const struct try_batch *batch;
    size_t told; /* calls come in the order of their lines */
};

/* What is told of each call, in the order of the lines. */
static struct status tell_call(void *context, const struct case_outcome *outcome, const char *name)
{
    struct telling *telling = context;
    const struct try_line *line = &telling->batch->lines[telling->told++];
    printf("%-8s %s: %s", verdict_name(result_row_verdict(outcome->forward, outcome->backward)),
           name, line->text);
    if (line->call.number && telling->batch->count > 1)
        printf(" --number %lld", (long long)line->call.number);
    printf("\n");
    if (!telling->options->details) return outcome_print_rows(outcome, name);
    return rows_print(stdout, &outcome->evidence, &outcome->details);
}

/* ---- making the dump -------------------------------------------------------------------- */

/* At most what a run would take for all its calls. */
static size_t memory_limit(const struct run_options *run)
{
    uint64_t bytes = run->memory_bytes ? run->memory_bytes : memory_available_bytes() / 10 * 6;
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static struct status add_calls(struct dump_writer *writer, const struct try_batch *batch,
                               const char *const *groups, const char *const *apis,
                               const struct try_options *options)
{
    struct arena arena = { .limit_bytes = memory_limit(&options->run) };
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < batch->count; i++) {
        const struct try_line *line = &batch->lines[i];
        struct api_case c;
        status = try_call_make(&c, &arena, &line->call, groups[i], apis[i], line->name,
                               (uint64_t)options->run.seed);
        if (!status.code) status = dump_writer_add(writer, &c, &arena);
        if (status.code) status = try_line_fault(status, line, options->batch);
        arena_reset(&arena);
    }
    arena_release(&arena);
    return status;
}

static bool stores_tensors(const struct try_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (strcmp(batch->lines[i].call.distribution, "uniform") != 0) return true;
    return false;
}

static struct status make_dump(char *path, size_t path_bytes, const char *directory,
                               struct try_batch *batch, struct arena *arena,
                               const struct try_options *options)
{
    struct dump_writer writer;
    const char **groups = arena_allocate_zeroed(arena, batch->count, sizeof *groups);
    const char **apis = arena_allocate_zeroed(arena, batch->count, sizeof *apis);
    if (!groups || !apis) return status_no_memory(0);
    TRY(try_batch_name(batch, groups, apis, arena, options->batch));
    struct status status = dump_writer_open(
        &writer, directory, (struct dump_writer_options){ .with_tensors = stores_tensors(batch) });
    if (!status.code) status = add_calls(&writer, batch, groups, apis, options);
    (void)snprintf(path, path_bytes, "%s", writer.path);
    return dump_writer_end(&writer, status);
}

/* ---- all of it -------------------------------------------------------------------------- */

static struct status read_calls(struct try_batch *batch, struct arena *arena,
                                const struct try_options *options)
{
    if (options->call.op && options->batch)
        return status_error(STATUS_BAD_ARGUMENT, "--op and --batch exclude each other");
    if (!options->call.op && !options->batch)
        return status_error(STATUS_BAD_ARGUMENT, "try needs --op API, or --batch FILE");
    if (options->run.junit && !options->out_path)
        return status_error(STATUS_BAD_ARGUMENT,
                            "--junit names the dump that repeats a call: keep it with -o DIR");
    if (!options->batch) return try_batch_of_call(batch, arena, &options->call);
    return try_batch_read(batch, arena, options->batch, &try_line_command,
                          options->run.file_policy);
}

static struct status check_calls(int *exit_status, const char *directory, bool scratch,
                                 struct arena *arena, const struct try_options *options)
{
    struct try_batch batch = { .count = 0 };
    char path[4200];
    TRY(read_calls(&batch, arena, options));
    TRY(make_dump(path, sizeof path, directory, &batch, arena, options));
    struct telling telling = { .options = options, .batch = &batch };
    struct run_options run = options->run;
    run.api_info = path;
    run.out_path = directory;
    run.scratch = scratch;
    run.no_progress = true;
    run.warnings = warning_printer;
    run.told = (struct call_listener){ tell_call, &telling };
    return run_checks(exit_status, &run, NULL);
}

static struct status run_try(int *exit_status, const void *values)
{
    const struct try_options *options = values;
    struct arena arena = { 0 };
    struct scratch_directory made = { .path = "" };
    bool scratch = !options->out_path;
    const char *directory = scratch ? made.path : options->out_path;
    TRY(scratch ? scratch_directory_make(&made) : file_make_directories(directory));
    struct status status = check_calls(exit_status, directory, scratch, &arena, options);
    if (scratch) scratch_directory_remove(&made);
    /* After an interruption threads may still read what lies there. */
    if (status.code != STATUS_INTERRUPTED) arena_release(&arena);
    return status;
}

static const struct try_options defaults = {
    .call = TRY_CALL_DEFAULTS,
    .run = RUN_OPTIONS_DEFAULTS,
};

const struct command try_command = {
    .word = "try",
    .summary = "check a call that no dump has",
    .text =
        "Make up a call from its API, shapes and arguments, and check it as run_ut checks the "
        "calls "
        "of a dump: try --op softmax --shape 4x100 --dtype bf16 --arg dim=-1. For each output and "
        "gradient it prints the verdict, what is wrong, and the worst element.\n\n"
        "With -o the dump stays beside the results; run_ut, case and report take it as any other.",
    .options = rows,
    .bytes = sizeof(struct try_options),
    .defaults = &defaults,
    .run = run_try,
};
