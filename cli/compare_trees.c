/* The trees that `compare` takes beside dumps, told apart by the comparison file. */
#include "cli/compare_trees.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/warning_printer.h"
#include "compare/dumps/plan.h"
#include "compare/kernels/folder_compare.h"
#include "compare/kernels/kernel_compare.h"
#include "core/arena.h"
#include "core/directory.h"
#include "core/timestamp.h"
#include "report/ci_reports.h"

/* Rows of all results. */
struct tree_verdicts {
    size_t no, none;
};

static void add(struct tree_verdicts *to, size_t no, size_t none)
{
    to->no += no;
    to->none += none;
}

/* A pair of trees and where its results go. */
struct pair {
    const char *npu_path, *bench_path, *output;
};

static struct status compare_kernels(struct tree_verdicts *verdicts,
                                     const struct compare_trees_request *request,
                                     const struct pair *pair)
{
    const struct comparison_input *input = request->input;
    struct kernel_request kernels = { .npu_path = pair->npu_path,
                                      .bench_path = pair->bench_path,
                                      .ranks = &input->ranks,
                                      .steps = &input->steps,
                                      .output = pair->output,
                                      .format = request->format,
                                      .policy = request->policy,
                                      .stop = request->stop,
                                      .warnings = warning_printer };
    struct kernel_counts counts;

    TRY(timestamp_of(&kernels.stamp, time(NULL)));
    TRY(kernels_compare(&counts, &kernels));
    add(verdicts, counts.verdict_no, counts.without_verdict);
    (void)printf(
        "%zu inputs and outputs of kernels in %zu files, %zu No, %zu without a verdict\n%s\n",
        counts.rows, counts.files, counts.verdict_no, counts.without_verdict, pair->output);
    return status_ok();
}

static struct status compare_folders(struct tree_verdicts *verdicts,
                                     const struct compare_trees_request *request,
                                     const struct pair *pair)
{
    const struct comparison_input *input = request->input;
    const struct folder_request folders = { .npu_path = pair->npu_path,
                                            .bench_path = pair->bench_path,
                                            .map = input->map,
                                            .n_map = input->n_map,
                                            .output = pair->output,
                                            .policy = request->policy,
                                            .stop = request->stop,
                                            .warnings = warning_printer };
    struct folder_counts counts;

    TRY(folders_compare(&counts, &folders));
    add(verdicts, counts.verdict_no, counts.without_verdict);
    (void)printf("%zu files in %zu folders, %zu No, %zu without a verdict\n%s\n", counts.rows,
                 counts.folders, counts.verdict_no, counts.without_verdict, pair->output);
    return status_ok();
}

static struct status compare_pair(struct tree_verdicts *verdicts,
                                  const struct compare_trees_request *request,
                                  const struct pair *pair)
{
    return (request->input->ranks.given ? compare_kernels : compare_folders)(verdicts, request,
                                                                             pair);
}

/* ---- graph and pynative ----------------------------------------------------------------- */

struct modes {
    const struct compare_trees_request *request;
    struct tree_verdicts *verdicts;
    size_t compared;
    struct status failure; /* of the first pair that could not be compared */
};

/* One step of a mode. One that cannot be compared does not stop the others. */
static struct status compare_step(struct modes *modes, const char *mode, const char *step)
{
    const struct compare_trees_request *request = modes->request;
    struct arena arena = { 0 };
    struct pair pair = {
        .npu_path = arena_format(&arena, "%s/%s/%s", request->input->npu_path, mode, step),
        .bench_path = arena_format(&arena, "%s/%s/%s", request->input->bench_path, mode, step),
        .output = arena_format(&arena, "%s/%s/%s", request->output, mode, step),
    };
    struct status status = status_no_memory(0);

    if (pair.npu_path && pair.bench_path && pair.output)
        status = directory_exists(pair.bench_path)
                     ? compare_pair(modes->verdicts, request, &pair)
                     : status_error(STATUS_BAD_INPUT, "'%s' does not exist",
                                    file_shown(pair.bench_path).text);
    arena_release(&arena);
    if (!status.code) modes->compared++;
    if (status.code != STATUS_BAD_INPUT) return status;
    (void)fprintf(stderr, "warning: %s/%s is skipped: %s\n", mode, step, status.text);
    if (!modes->failure.code) modes->failure = status;
    return status_ok();
}

static struct status compare_mode(struct modes *modes, const char *mode)
{
    enum { MAX_NAMES = 65536 };
    const struct comparison_input *input = modes->request->input;
    struct arena arena = { 0 };
    struct directory_names names = { NULL, 0 };
    const char *npu = arena_format(&arena, "%s/%s", input->npu_path, mode);
    const char *bench = arena_format(&arena, "%s/%s", input->bench_path, mode);

    struct status status = npu && bench ? status_ok() : status_no_memory(0);
    if (!status.code && directory_exists(npu) && directory_exists(bench))
        status = directory_list(&names, npu, MAX_NAMES);
    for (size_t i = 0; i < names.count && !status.code; i++)
        if (!strncmp(names.items[i], "step", 4)) status = compare_step(modes, mode, names.items[i]);
    directory_release(&names);
    arena_release(&arena);
    return status;
}

static struct status compare_modes(struct tree_verdicts *verdicts,
                                   const struct compare_trees_request *request)
{
    struct modes modes = { .request = request, .verdicts = verdicts };

    TRY(compare_mode(&modes, "graph"));
    TRY(compare_mode(&modes, "pynative"));
    if (modes.compared) return status_ok();
    if (modes.failure.code) return modes.failure;
    return status_error(STATUS_BAD_INPUT, "'%s' and '%s' have no step in common",
                        file_shown(request->input->npu_path).text,
                        file_shown(request->input->bench_path).text);
}

/* ---- all of it -------------------------------------------------------------------------- */

struct status compare_trees(bool *done, int *exit_status,
                            const struct compare_trees_request *request)
{
    const struct comparison_input *input = request->input;
    const struct pair all = { input->npu_path, input->bench_path, request->output };
    struct tree_verdicts verdicts = { 0 };

    *done = (input->ranks.given || input->common) && directory_exists(input->npu_path) &&
            directory_exists(input->bench_path);
    if (!*done) return status_ok();
    TRY(dump_plan_is_mixed(input->npu_path, input->bench_path)
            ? compare_modes(&verdicts, request)
            : compare_pair(&verdicts, request, &all));
    bool failed = verdicts.no || (request->fail_on_warning && verdicts.none);
    *exit_status = request->fail_on_error && failed ? EXIT_FAILURES : 0;
    return status_ok();
}
