/* The trees that `compare` takes beside dumps, told apart by the comparison file. */
#include "cli/compare_trees.h"

#include <stdio.h>
#include <time.h>

#include "compare/dumps/plan.h"
#include "compare/kernels/folder_compare.h"
#include "compare/kernels/kernel_compare.h"
#include "core/directory.h"
#include "core/timestamp.h"

static void print_warning(void *context, const char *text)
{
    (void)context;
    (void)fprintf(stderr, "warning: %s\n", text);
}

static struct status compare_kernels(size_t *verdict_no,
                                     const struct compare_trees_request *request)
{
    const struct comparison_input *input = request->input;
    struct kernel_request kernels = { .npu_path = input->npu_path,
                                      .bench_path = input->bench_path,
                                      .ranks = &input->ranks,
                                      .steps = &input->steps,
                                      .output = request->output,
                                      .format = request->format,
                                      .policy = request->policy,
                                      .stop = request->stop,
                                      .warnings = { print_warning, NULL } };
    struct kernel_counts counts;

    TRY(timestamp_of(&kernels.stamp, time(NULL)));
    TRY(kernels_compare(&counts, &kernels));
    *verdict_no = counts.verdict_no;
    (void)printf("%zu inputs and outputs of kernels in %zu files, %zu No\n%s\n", counts.rows,
                 counts.files, counts.verdict_no, request->output);
    return status_ok();
}

static struct status compare_folders(size_t *verdict_no,
                                     const struct compare_trees_request *request)
{
    const struct comparison_input *input = request->input;
    const struct folder_request folders = { .npu_path = input->npu_path,
                                            .bench_path = input->bench_path,
                                            .map = input->map,
                                            .n_map = input->n_map,
                                            .output = request->output,
                                            .policy = request->policy,
                                            .stop = request->stop,
                                            .warnings = { print_warning, NULL } };
    struct folder_counts counts;

    TRY(folders_compare(&counts, &folders));
    *verdict_no = counts.verdict_no;
    (void)printf("%zu files in %zu folders, %zu No\n%s\n", counts.rows, counts.folders,
                 counts.verdict_no, request->output);
    return status_ok();
}

struct status compare_trees(bool *done, int *exit_status,
                            const struct compare_trees_request *request)
{
    const struct comparison_input *input = request->input;
    size_t verdict_no = 0;

    *done = (input->ranks.given || input->common) && directory_exists(input->npu_path) &&
            directory_exists(input->bench_path) &&
            !dump_plan_is_mixed(input->npu_path, input->bench_path);
    if (!*done) return status_ok();
    TRY(input->ranks.given ? compare_kernels(&verdict_no, request)
                           : compare_folders(&verdict_no, request));
    *exit_status = request->fail_on_error && verdict_no ? 1 : 0;
    return status_ok();
}
