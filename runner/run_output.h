/* What a run writes: the result files, new or those of an earlier part, the timings, the tensors of
 * failing calls; and which calls it still has to check. */
#ifndef PROBE_RUNNER_RUN_OUTPUT_H
#define PROBE_RUNNER_RUN_OUTPUT_H

#include "report/summary.h"
#include "results/outcome.h"
#include "results/result_files.h"
#include "runner/error_data.h"
#include "runner/run_inputs.h"
#include "runner/run_options.h"

/* Rows for the files, each in order. */
struct output_rows {
    struct csv_buffer evidence, details, result, timings;
};

struct run_output {
    struct result_files files;
    struct resume_notes resumed; /* with -csv_path */
    struct file timings;         /* FILE_NONE when nobody asked */
    struct output_rows rows;     /* still to be written */
    struct error_data error_data;
    char *error_directory; /* owned; NULL when failing tensors are not saved */
    size_t *pending;       /* positions in the dump of the calls to check */
    size_t n_pending;
};
#define RUN_OUTPUT_NONE ((struct run_output){ .files = RESULT_FILES_NONE, .timings = FILE_NONE })

/* Open all of it. To be closed also when this fails.
 *
 *   summary  is told of the calls that earlier parts of the run did, as calls of number `dump` in its tree
 *   repeat   the command that repeats a call, up to its name
 */
struct status run_output_open(struct run_output *out, struct summary *summary, size_t dump,
                              const char *repeat, const struct run_options *options,
                              struct run_inputs *inputs);
/* Where the tensors of failing calls go: {base}/{folder}/ut_error_data{timestamp}; `base` NULL: the
 * working directory. run_output_open does it by itself. */
struct status run_output_name_error_data(struct run_output *output, const char *base,
                                         const char *folder, const char *timestamp);

void run_output_close(struct run_output *output);

/* Take the rows of call `name`, to be appended by run_output_write together with those that were taken
 * before. */
struct status run_output_add(struct run_output *output, const struct case_outcome *outcome,
                             const char *name);

/* `inputs` learn the core of BLAS, and the run file has it before the first rows that may come from it. */
struct status run_output_write(struct run_output *output, struct run_inputs *inputs);

#endif
