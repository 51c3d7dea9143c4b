/* What a comparison of details files writes and tells, however its rows were found: the details row by
 * row, the results of calls, the counts of both.
 */
#ifndef PROBE_COMPARE_DETAILS_OUTPUT_H
#define PROBE_COMPARE_DETAILS_OUTPUT_H

#include "compare/details.h"

/* One comparison, from its start to its end. */
struct comparison_output {
    const struct compare_request *request;
    const struct file *details, *result; /* NULL: what is written stays in the texts */
    struct compare_counts counts;
    struct csv_buffer details_text, result_text; /* rows not yet written */
    struct background_writer *writer; /* of the details; none before it has much to write */
};

/* Texts of a row that are looked at or written again. */
enum row_text { ROW_NAME, ROW_SHAPE, ROW_MESSAGE, ROW_BINARY, ROW_THOUSANDTH, ROW_TEXTS };

/* A row of a details file, as far as it is compared. */
struct compared_row {
    const struct three_way_side *side;
    enum three_way_dtype dtype;
    bool overlong; /* it has more cells than the header; its numbers and its shape are not read */
    struct csv_text texts[ROW_TEXTS];
};

/* Start, with the headers of both files. What an earlier start wrote is dropped. */
struct status comparison_output_start(struct comparison_output *out);

/* Write what is not yet written. */
struct status comparison_output_finish(struct comparison_output *out);
void comparison_output_release(struct comparison_output *out);

/* Write the details of a judged row, and tell of it when it fails.
 *
 *   row   of the NPU; NULL for a verdict without cells
 *   name  its parts; NULL when it has none
 */
struct status comparison_output_row(struct comparison_output *out, const struct compared_row *row,
                                    struct csv_text row_name, const struct row_name *name,
                                    const struct three_way_verdict *verdict);

/* The cell of a metric that a verdict may take over as it stands. */
struct csv_text compared_row_metric(const struct compared_row *row, enum three_way_metric metric);

/* Its message. */
struct csv_text comparison_message(const struct three_way_verdict *verdict,
                                   const struct compared_row *row);

/* Write and count a result. */
struct status comparison_output_result(struct comparison_output *out,
                                       const struct compare_result *result);

/* What the rows of a call add up to. */
struct call_verdicts {
    uint8_t verdicts[2]; /* bits 1 << verdict of its rows, [backward] */
    bool unsupported;    /* the last row says so */
    bool is_topk;
};

/* Add a row; true when its message is the call's, unless a later one is. */
bool call_verdicts_add(struct call_verdicts *call, const struct row_name *name,
                       const struct three_way_verdict *verdict);

/* The result of a call.
 *
 *   skipped  message of its last skipped forward row
 */
struct compare_result call_verdicts_result(const struct call_verdicts *call, const char *name,
                                           const char *skipped);

#endif
