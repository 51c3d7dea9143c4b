/* The words after `budget`, the runs that they read, and the file that they write. */
#include "cli/budget_command.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/path_arguments.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "core/whole_file.h"
#include "results/run_rows.h"
#include "runner/api_names.h"
#include "standards/budget.h"

struct budget_options {
    struct operands words; /* "learn" RUN ..., or "tighten" FILE RUN ... */
    const char *output;
    struct file_policy file_policy;
};

/* Rows that count twice would make margins smaller than their samples allow. */
static struct status note_run(struct stat *files, size_t count, const char *details)
{
    if (stat(details, &files[count]))
        return status_error(errno == ENOENT ? STATUS_BAD_INPUT : STATUS_IO, "the run '%s': %s",
                            file_shown(details).text, strerror(errno));
    for (size_t i = 0; i < count; i++)
        if (files[i].st_dev == files[count].st_dev && files[i].st_ino == files[count].st_ino)
            return status_error(STATUS_BAD_INPUT, "the run '%s' is given twice",
                                file_shown(details).text);
    return status_ok();
}

static struct status learn(struct run_row_counts *counts, struct budget *rows,
                           const struct budget_options *options, size_t first)
{
    char details[PATH_ARGUMENT_BYTES];
    struct text_table inputs = { 0 };
    struct stat *files = memory_allocate_zeroed(options->words.count, sizeof *files);
    struct status status = files ? text_table_create(&inputs)
                                 : status_no_memory(options->words.count * sizeof *files);
    for (size_t i = first; !status.code && i < options->words.count; i++) {
        status = path_argument_newest(details, "budget", &options->words.items[i], 1, PATH_DETAILS,
                                      options->file_policy);
        if (!status.code) status = note_run(files, i - first, details);
        if (!status.code)
            status = run_rows_learn(counts, rows, &inputs, details, options->file_policy);
    }
    text_table_release(&inputs);
    memory_release(files);
    if (status.code || counts->learnt) return status;
    return status_error(STATUS_BAD_INPUT,
                        "the runs have no row that passed and that the error model has measured");
}

static struct status write_budget(const char *path, const struct budget *budget)
{
    struct csv_buffer text = { 0 };
    struct status status = budget_write(&text, budget);
    if (!status.code) status = whole_file_write(path, text.data, text.length, READERS_GROUP);
    csv_buffer_release(&text);
    return status;
}

static void print_counts(const struct run_row_counts *counts)
{
    printf(
        "learnt from %s; left out: %zu that fail or warn, %zu without a measurement by the error "
        "model\n",
        quantity_of(counts->learnt, "row").text, counts->failing, counts->without_model);
    if (counts->repeated)
        printf("no samples of their own: %s with the dump, inputs and seed of a run before\n",
               quantity_of(counts->repeated, "row").text);
}

static struct status run_learn(struct budget *rows, const struct budget_options *options)
{
    struct run_row_counts counts = { 0 };
    TRY(learn(&counts, rows, options, 1));
    budget_settle(rows);
    TRY(write_budget(options->output ? options->output : "budget.json", rows));
    print_counts(&counts);
    printf("%s in %s\n", quantity_of(budget_count(rows), "budget").text,
           options->output ? options->output : "budget.json");
    return status_ok();
}

static struct status tighten(struct budget *budget, struct budget *rows,
                             const struct budget_options *options)
{
    struct run_row_counts counts = { 0 };
    size_t tightened, unknown;
    const char *output = options->output ? options->output : options->words.items[1];
    TRY(learn(&counts, rows, options, 2));
    TRY(budget_tighten(&tightened, &unknown, budget, rows));
    TRY(write_budget(output, budget));
    print_counts(&counts);
    printf("%zu of %s tightened, in %s; %zu kinds of rows have none: learn them into a file of "
           "their own\n",
           tightened, quantity_of(budget_count(budget), "budget").text, output, unknown);
    return status_ok();
}

static struct status run_tighten(struct budget *rows, const struct budget_options *options)
{
    struct budget *budget = NULL;
    if (options->words.count < 3)
        return status_error(STATUS_BAD_ARGUMENT, "'budget tighten' needs a budget and a run");
    TRY(budget_read(&budget, options->words.items[1], options->file_policy, api_name_is_known));
    struct status status = tighten(budget, rows, options);
    budget_release(budget);
    return status;
}

static struct status run(int *exit_status, const void *values)
{
    const struct budget_options *options = values;
    const char *word = options->words.items[0];
    bool learns = !strcmp(word, "learn");
    struct budget *rows = NULL;
    if (!learns && strcmp(word, "tighten") != 0)
        return status_error(STATUS_BAD_ARGUMENT,
                            "unknown word '%s' after 'budget'; there are learn and tighten", word);
    TRY(budget_create(&rows));
    struct status status = learns ? run_learn(rows, options) : run_tighten(rows, options);
    budget_release(rows);
    *exit_status = 0;
    return status;
}

/* clang-format off */
static const struct option_row rows[] = {
    { { "o", "output" }, OPTION_FILE, offsetof(struct budget_options, output), "FILE",
      .help = "The file to write: budget.json by default, and the one that is tightened." },
    { { "trust-files" }, OPTION_FLAG, offsetof(struct budget_options, file_policy.trusted),
      .help = "Read files that are symbolic links, belong to somebody else, can be written by "
              "everybody or are larger than their kind should be." },
    { .names = { NULL } },
};
/* clang-format on */

const struct command budget_command = {
    .word = "budget",
    .summary = "learn how much of its limits a device uses, for run_ut --budget",
    .text = "budget learn RUN... reads runs with --profile strict that are known to be right "
            "(details files, or "
            "directories of results) and writes, for each API, direction, dtype, class of shapes "
            "and backend, "
            "the largest part of each limit that was used, and the budget: that with a margin "
            "for the number of rows. run_ut --budget makes a row that uses more an error, although "
            "the error "
            "model passes it.\n\n"
            "budget tighten FILE RUN... makes the budgets of FILE smaller where more rows allow "
            "it, and never "
            "larger.",
    .options = rows,
    .operands = "learn|tighten [FILE] RUN...",
    .operands_minimum = 2,
    .operands_maximum = OPERANDS_MAX,
    .operands_offset = offsetof(struct budget_options, words),
    .bytes = sizeof(struct budget_options),
    .run = run,
};
