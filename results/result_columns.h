/* Columns of accuracy_checking_result: a row per call. */
#ifndef PROBE_RESULTS_RESULT_COLUMNS_H
#define PROBE_RESULTS_RESULT_COLUMNS_H

enum result_column {
    RESULT_NAME,
    RESULT_FORWARD,
    RESULT_BACKWARD,
    RESULT_MESSAGE, /* absent from the rows of calls that were not skipped */
    RESULT_COLUMNS
};

/* Header texts, by column. */
extern const char *const result_headers[RESULT_COLUMNS];

#endif
