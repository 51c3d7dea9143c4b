/* The options of api_dump_compare, its tables on the terminal and in files. */
#include "cli/api_dump_command.h"

#include <stddef.h>
#include <stdio.h>

#include "cli/choices.h"
#include "cli/warning_printer.h"
#include "compare/api_dumps/api_flow.h"
#include "core/whole_file.h"
#include "runner/interrupts.h"

struct api_dump_options {
    const char *framework; /* of the program's command line: the dumps say theirs */
    struct operands folders;
    const char *output, *fail_on;
    double rtol, atol;
    bool equal_nan, ignore_unmatched, ignore_backward, quiet;
    struct file_policy file_policy;
};

static struct status print_table(const struct flow_table *table, bool ruled)
{
    struct csv_buffer text = { 0 };
    struct status status = flow_table_show(&text, table, ruled);
    if (!status.code) (void)fwrite(text.data, 1, text.length, stdout);
    csv_buffer_release(&text);
    return status;
}

/* "{folder}/{name}.csv", or with the step's number when there are several. */
static struct status write_table(const struct flow_table *table, const char *folder,
                                 const char *name, size_t step, bool several)
{
    struct csv_buffer text = { 0 };
    char path[4200], number[24] = "";

    if (several) (void)snprintf(number, sizeof number, "_%zu", step);
    int length = snprintf(path, sizeof path, "%s/%s%s.csv", folder, name, number);
    if (length < 0 || (size_t)length >= sizeof path)
        return status_error(STATUS_BAD_ARGUMENT, "the name of the output folder is too long");
    struct status status = flow_table_write(&text, table);
    if (!status.code) status = whole_file_write(path, text.data, text.length, READERS_NONE);
    if (!status.code) (void)printf("%s\n", path);
    csv_buffer_release(&text);
    return status;
}

static struct status show_step(const struct api_flow_step *step, const struct api_flow *flow,
                               size_t number, const struct api_dump_options *options)
{
    for (int t = 0; t < FLOW_TABLES; t++) {
        if (t == FLOW_BACKWARD && options->ignore_backward) continue;
        if (!options->quiet) TRY(print_table(&step->tables[t], t == FLOW_MAPPING));
        if (options->output)
            TRY(write_table(&step->tables[t], options->output, flow_table_names[t], number,
                            flow->n_steps > 1));
    }
    return status_ok();
}

static struct status compare_steps(size_t *not_close, const struct api_flow *flow,
                                   const struct api_dump_options *options)
{
    for (size_t i = 0; i < flow->n_steps; i++) {
        struct api_flow_step step;
        struct status status = api_flow_compare(&step, flow, i);
        *not_close += step.not_close;
        if (!status.code) status = show_step(&step, flow, i, options);
        api_flow_step_release(&step);
        TRY(status);
    }
    (void)printf("%zu compared values are not close\n", *not_close);
    return status_ok();
}

static struct status compare(size_t *not_close, const struct api_dump_options *options,
                             const struct interrupts *interrupts)
{
    const struct api_flow_request request = {
        .origin = options->folders.items[0],
        .target = options->folders.items[1],
        .tolerance = { options->rtol, options->atol, options->equal_nan },
        .ignore_unmatched = options->ignore_unmatched,
        .ignore_backward = options->ignore_backward,
        .policy = options->file_policy,
        .warnings = warning_printer,
        .stop = interrupts_stop(interrupts),
    };
    struct api_flow flow;

    struct status status = api_flow_open(&flow, &request);
    if (!status.code && options->output) status = private_directory_make(options->output);
    if (!status.code) status = compare_steps(not_close, &flow, options);
    api_flow_close(&flow);
    return status;
}

static struct status run(int *exit_status, const void *values)
{
    const struct api_dump_options *options = values;
    struct interrupts interrupts;
    size_t not_close = 0;

    TRY(interrupts_open(&interrupts));
    struct status status = compare(&not_close, options, &interrupts);
    interrupts_close(&interrupts);
    *exit_status = options->fail_on && not_close ? 1 : 0;
    return status;
}

#define AT(member) offsetof(struct api_dump_options, member)
enum { TOLERANCE_MOST = 1000000 };

/* clang-format off */
static const struct option_row rows[] = {
    { { "o", "output_path" }, OPTION_DIRECTORY, AT(output), "DIR",
      .help = "Write the tables as ts_api_mapping.csv, ts_api_forward_compare.csv and "
              "ts_api_backward_compare.csv to this folder, which is created (mode 0700) when it "
              "does not exist." },
    { { "rtol" }, OPTION_REAL, AT(rtol), "NUMBER", .minimum = 0, .maximum = TOLERANCE_MOST,
      .help = "Relative tolerance, 1e-4 by default: values a and b are close when |a - b| <= atol + "
              "rtol |b|." },
    { { "atol" }, OPTION_REAL, AT(atol), "NUMBER", .minimum = 0, .maximum = TOLERANCE_MOST,
      .help = "Absolute tolerance, 1e-4 by default." },
    { { "equal_nan" }, OPTION_FLAG, AT(equal_nan), .help = "NaN is close to NaN." },
    { { "ignore_unmatched" }, OPTION_FLAG, AT(ignore_unmatched),
      .help = "Leave out values that have no partner." },
    { { "ignore_backward" }, OPTION_FLAG, AT(ignore_backward),
      .help = "Compare the forward pass only." },
    { { "fail-on" }, OPTION_CHOICE, AT(fail_on), "WHAT", .choices = fail_on_verdicts,
      .help = "Exit with status 1 when values that were compared are not close; both words mean that." },
    { { "quiet" }, OPTION_FLAG, AT(quiet), .help = "Do not print the tables." },
    { { "trust-files" }, OPTION_FLAG, AT(file_policy.trusted),
      .help = "Read files that are links, belong to another user, may be written by others or "
              "are larger than usual." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct api_dump_options defaults = { .rtol = 1e-4, .atol = 1e-4 };

const struct command api_dump_command = {
    .word = "api_dump_compare",
    .summary = "compare API dumps of two frameworks, whose calls differ",
    .text =
        "Reads two API dumps (mindtorch, mindspore or torch, below rank0/), finds out from names "
        "and shapes which calls of one do what which calls of the other do, and compares what "
        "went into them and came out of them. No mapping file is needed.\n\n"
        "Without .npy files on a side the recorded maxima, minima and means are compared.",
    .options = rows,
    .operands = "ORIGIN TARGET",
    .operands_minimum = 2,
    .operands_maximum = 2,
    .operands_offset = AT(folders),
    .takes_framework = true,
    .framework_offset = AT(framework),
    .bytes = sizeof(struct api_dump_options),
    .defaults = &defaults,
    .run = run,
};
