/* The rows of a run as budgets are learnt from: details and evidence side by side. */
#ifndef PROBE_RESULTS_RUN_ROWS_H
#define PROBE_RESULTS_RUN_ROWS_H

#include "core/file.h"
#include "core/status.h"
#include "core/text_table.h"
#include "standards/budget.h"

struct run_row_counts {
    size_t learnt;   /* rows */
    size_t repeated; /* of these: rows whose inputs a run before had already */
    size_t failing, without_model;
};

/* Add the rows of a run to a budget: those that passed and that the error model has measured. Failing rows teach
 * nothing, nor do exact ones. A row of the dump, inputs and seed of a run before is no sample of its own, as its errors
 * are those again unless the device wavers: the largest of both counts.
 *
 *   inputs        the inputs of all rows so far, to be created and released by the caller
 *   details_path  its details; run file and evidence lie beside it
 *   errors        STATUS_BAD_INPUT for a run without evidence or not judged by profile strict
 */
struct status run_rows_learn(struct run_row_counts *counts, struct budget *budget,
                             struct text_table *inputs, const char *details_path,
                             struct file_policy policy);

#endif
