/* The rows of a run as budgets are learnt from: details and evidence side by side. */
#ifndef PROBE_RESULTS_RUN_ROWS_H
#define PROBE_RESULTS_RUN_ROWS_H

#include "core/file.h"
#include "core/status.h"
#include "standards/budget.h"

struct run_row_counts {
    size_t learnt; /* rows */
    size_t failing, without_model;
};

/* Add the rows of a run to a budget: those that passed and that the error model has measured. Failing rows teach
 * nothing, nor do exact ones.
 *
 *   details_path  its details; run file and evidence lie beside it
 *   errors        STATUS_BAD_INPUT for a run without evidence or not judged by profile strict
 */
struct status run_rows_learn(struct run_row_counts *counts, struct budget *budget,
                             const char *details_path, struct file_policy policy);

#endif
