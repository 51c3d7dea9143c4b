/* The options of merge_result. */
#include "cli/merge_command.h"

#include <stddef.h>
#include <stdio.h>

#include "cli/result_path.h"
#include "cli/warning_printer.h"
#include "compare/merge/merge.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "runner/interrupts.h"

struct merge_options {
    const char *framework; /* of the program's command line: makes no difference */
    const char *input, *output, *config;
    struct file_policy file_policy;
};

static struct status merge(const char *path, const struct merge_options *options,
                           const struct interrupts *interrupts)
{
    struct merge_counts counts;
    const struct merge_request request = {
        .input = options->input,
        .config = options->config,
        .output = path,
        .policy = options->file_policy,
        .warnings = warning_printer,
        .stop = interrupts_stop(interrupts),
    };

    TRY(merge_results(&counts, &request));
    (void)printf("%s of %s, %s%s\n%s\n", quantity_of(counts.rows, "row").text,
                 quantity_of(counts.ranks, "rank").text, quantity_of(counts.columns, "column").text,
                 counts.left_out ? "; some files were left out" : "", path);
    return status_ok();
}

static struct status run(int *exit_status, const void *values)
{
    const struct merge_options *options = values;
    struct interrupts interrupts;
    char *path = NULL;

    TRY(file_make_directories(options->output));
    TRY(result_path_make(&path, options->output, "multi_ranks_compare_merge", "xlsx"));
    struct status status = interrupts_open(&interrupts);
    if (!status.code) {
        status = merge(path, options, &interrupts);
        interrupts_close(&interrupts);
    }
    memory_release(path);
    *exit_status = 0;
    return status;
}

#define AT(member) offsetof(struct merge_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "i", "input_dir" }, OPTION_DIRECTORY, AT(input), "DIR", .required = true,
      .help = "The folder with the results of a multi-rank comparison, compare_result_rank*.xlsx, "
              "at least two." },
    { { "o", "output_dir" }, OPTION_DIRECTORY, AT(output), "DIR", .required = true,
      .help = "Where multi_ranks_compare_merge_{timestamp}.xlsx goes; created when it does not "
              "exist." },
    { { "config", "config_path" }, OPTION_FILE, AT(config), "FILE", .required = true,
      .help = "A YAML file with the list 'api' (beginnings of row names) and, if not all columns "
              "are wanted, the list 'compare_index'." },
    { { "trust-files" }, OPTION_FLAG, AT(file_policy.trusted),
      .help = "Read files that are links, belong to another user, may be written by others or "
              "are larger than usual." },
    { .names = { NULL } },
};
/* clang-format on */

const struct command merge_command = {
    .word = "merge_result",
    .summary = "collect rows of the results of many ranks",
    .text = "Reads the result files that a comparison of many ranks wrote, takes the rows of some "
            "APIs, and writes a workbook with one sheet for each compared value: a row for each "
            "row name, a column for each rank.\n\n"
            "Where a call has no value to compare (members of groups, scalars), the cell shows "
            "what both sides had. Files of msprobe and of probe-ut may be mixed.",
    .options = rows,
    .takes_framework = true,
    .framework_offset = AT(framework),
    .bytes = sizeof(struct merge_options),
    .run = run,
};
