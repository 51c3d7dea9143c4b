/* The options of collectives, and its summary on the terminal. */
#include "cli/collectives_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/choices.h"
#include "cli/path_arguments.h"
#include "cli/result_path.h"
#include "cli/warning_printer.h"
#include "compare/collectives/collectives.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "runner/interrupts.h"

enum { LINES_MOST = 20 };

struct collectives_options {
    const char *input, *output, *steps, *ranks, *fail_on;
    bool xlsx;
    struct file_policy file_policy;
};

/* The first rows that are no pass are printed, the others counted. */
struct printing {
    size_t lines;
};

static void print_line(void *context, const char *line)
{
    struct printing *printing = context;
    if (printing->lines++ < LINES_MOST) (void)printf("%s\n", line);
}

static void print_summary(const struct collectives_counts *counts, const struct printing *printing,
                          const char *path)
{
    const size_t *verdicts = counts->verdicts;
    if (printing->lines > LINES_MOST) (void)printf("and %zu more\n", printing->lines - LINES_MOST);
    (void)printf("%s of %s in %s: %zu pass, %zu warning, %zu error, %zu SKIP\n%s\n",
                 quantity_of(counts->meetings, "collective").text,
                 quantity_of(counts->ranks, "rank").text, quantity_of(counts->steps, "step").text,
                 verdicts[VERDICT_PASS], verdicts[VERDICT_WARNING], verdicts[VERDICT_ERROR],
                 verdicts[VERDICT_SKIP], path);
    if (!counts->meetings)
        (void)printf("No call of torch.distributed that moves or reduces tensors was recorded.\n");
}

static struct status check(struct collectives_counts *counts,
                           const struct collectives_options *options, const struct dump_tree *tree,
                           const char *path)
{
    struct interrupts interrupts;
    struct printing printing = { 0 };
    TRY(interrupts_open(&interrupts));
    const struct collectives_request request = {
        .tree = tree,
        .table = path,
        .format = options->xlsx ? TABLE_XLSX : TABLE_CSV,
        .policy = options->file_policy,
        .stop = interrupts_stop(&interrupts),
        .tell = print_line,
        .context = &printing,
    };
    struct status status = collectives_check(counts, &request);
    interrupts_close(&interrupts);
    if (!status.code) print_summary(counts, &printing, path);
    return status;
}

static int exit_status_of(const struct collectives_counts *counts, const char *fail_on)
{
    if (!fail_on) return 0;
    size_t found = counts->verdicts[VERDICT_ERROR];
    if (!strcmp(fail_on, "warning")) found += counts->verdicts[VERDICT_WARNING];
    return found ? 1 : 0;
}

static struct status run(int *exit_status, const void *values)
{
    const struct collectives_options *options = values;
    const struct path_argument_tree wanted = { options->input, options->steps, options->ranks,
                                               options->file_policy };
    struct collectives_counts counts = { 0 };
    struct arena arena = { 0 };
    struct dump_tree tree;
    char *path = NULL;
    bool several;

    struct status status = path_argument_dumps(&several, &tree, &arena, &wanted);
    if (!status.code) status = file_make_directories(options->output);
    if (!status.code)
        status = result_path_make(&path, options->output, "collectives_result",
                                  options->xlsx ? "xlsx" : "csv");
    if (!status.code) status = check(&counts, options, &tree, path);
    memory_release(path);
    arena_release(&arena);
    *exit_status = exit_status_of(&counts, options->fail_on);
    return status;
}

#define AT(member) offsetof(struct collectives_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "i", "input_dir" }, OPTION_DIRECTORY, AT(input), "DIR", .required = true,
      .help = "A directory with the dumps of all ranks (step0/rank0/dump.json, ...), recorded with their "
              "tensors." },
    { { "o", "output_dir" }, OPTION_DIRECTORY, AT(output), "DIR", .required = true,
      .help = "Where collectives_result_{timestamp}.csv goes; created when it does not exist." },
    { { "step" }, OPTION_TEXT, AT(steps), "LIST", .help = "Only the dumps of these steps: 0 or 0,3-5." },
    { { "rank" }, OPTION_TEXT, AT(ranks), "LIST", .help = "Only the dumps of these ranks: 0 or 0,3-5." },
    { { "xlsx" }, OPTION_FLAG, AT(xlsx), .help = "Write a workbook instead of CSV." },
    { { "fail-on" }, OPTION_CHOICE, AT(fail_on), "VERDICT", .choices = fail_on_verdicts,
      .help = "Exit with status 1 when a row has this verdict or a worse one." },
    { { "trust-files" }, OPTION_FLAG, AT(file_policy.trusted),
      .help = "Read files that are links, belong to another user, may be written by others or "
              "are larger than usual." },
    { .names = { NULL } },
};
/* clang-format on */

const struct command collectives_command = {
    .word = "collectives",
    .summary = "check what communication calls left on every rank",
    .text = "Reads the dumps of all ranks of a step and puts the calls of torch.distributed "
            "together that "
            "met: all_reduce, reduce, broadcast, scatter, gather, all_gather, reduce_scatter, "
            "all_to_all and "
            "their forms, and messages from rank to rank. What each rank got is compared with what "
            "all of them gave.\n\n"
            "Copies have to be exact. Sums, averages and products may be taken in any order and "
            "rounded after "
            "each step in the dtype of the tensors; what goes beyond that is an error, and where a "
            "simple "
            "mistake explains it (a rank left out, an average instead of a sum, nothing reduced, a "
            "lower "
            "precision on the way), the message says so. A warning says that results are right but "
            "not the "
            "same bits on all ranks, from which replicas drift apart.",
    .options = rows,
    .bytes = sizeof(struct collectives_options),
    .run = run,
};
