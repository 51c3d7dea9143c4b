/* A row of the NPU's file beside the row of its name in the GPU's: whether they belong together, and the
 * verdict. Whoever finds the GPU's row keeps what is said of a call (struct pair_keeper).
 */
#ifndef PROBE_COMPARE_DETAILS_PAIR_H
#define PROBE_COMPARE_DETAILS_PAIR_H

#include "compare/details_output.h"

enum compare_side { SIDE_NPU, SIDE_GPU };

/* Told of each row that was written, to add it to the result of its call.
 *
 *   name  NULL when the row is none of a call
 */
struct pair_keeper {
    struct status (*add)(struct pair_keeper *keeper, struct csv_text row_name,
                         const struct row_name *name, const struct three_way_verdict *verdict,
                         struct csv_text message);
};

/* Open a side's details file with all columns that a comparison needs. */
struct status details_open(struct details_file *out, const struct compare_request *request,
                           enum compare_side side);

/* What a row says; its texts are those of `row`, its numbers go to `side`. */
void compared_row_read(struct compared_row *out, struct three_way_side *side,
                       const struct details_row *row, const struct compare_request *request);

/* The row of a name in the GPU's file. */
struct gpu_row {
    const struct compared_row *row; /* NULL: there is none */
    bool repeated;                  /* its name comes again in the file */
};

/* Write what a row of the NPU comes to.
 *
 *   npu_repeated  an earlier row of the file has its name
 */
struct status pair_rows(struct comparison_output *out, struct pair_keeper *keeper,
                        const struct compared_row *row, const struct row_name *name,
                        bool npu_repeated, const struct gpu_row *gpu);

/* Write a row that only the GPU has; `keeper` NULL: its call's result has it already. */
struct status pair_gpu_only(struct comparison_output *out, struct pair_keeper *keeper,
                            struct csv_text row_name, const struct row_name *name);

/* The verdict of such a row. */
void pair_gpu_only_verdict(struct three_way_verdict *verdict);

/* Write a row whose name is none of a row. */
struct status pair_invalid(struct comparison_output *out, struct pair_keeper *keeper,
                           struct csv_text row_name);

#endif
