/* The three-way verdict of one output: what an NPU run and a GPU run measured against the same
 * reference, and the rules of a profile, give one row of the comparison.
 *
 * The errors of a low-precision device are judged by those of another device that is trusted: an
 * NPU whose error is at most twice the GPU's does what can be expected. Where a standard needs no
 * second device (exact operations, thresholds), only the NPU's numbers count.
 *
 * three_way_judge is a pure function of a row (three_way_row.h) and of the rules
 * (three_way_rules.h), which are immutable once they are read.
 */
#ifndef PROBE_STANDARDS_THREE_WAY_THREE_WAY_H
#define PROBE_STANDARDS_THREE_WAY_THREE_WAY_H

#include <stdbool.h>
#include <stddef.h>

#include "standards/judged.h"
#include "standards/three_way/three_way_row.h"
#include "standards/three_way/three_way_rules.h"

/* Columns of api_precision_compare_details, in order. Every measured column is followed by its
 * verdict. */
enum three_way_column {
    THREE_WAY_NAME,
    THREE_WAY_SMALL_VALUE,
    THREE_WAY_SMALL_VALUE_STATUS,
    THREE_WAY_RMSE,
    THREE_WAY_RMSE_STATUS,
    THREE_WAY_MAX_RELATIVE,
    THREE_WAY_MAX_RELATIVE_STATUS,
    THREE_WAY_MEAN_RELATIVE,
    THREE_WAY_MEAN_RELATIVE_STATUS,
    THREE_WAY_BALANCE,
    THREE_WAY_BALANCE_STATUS,
    THREE_WAY_INF_NAN,
    THREE_WAY_INF_NAN_STATUS,
    THREE_WAY_RELATIVE,
    THREE_WAY_RELATIVE_STATUS,
    THREE_WAY_ABSOLUTE,
    THREE_WAY_ABSOLUTE_STATUS,
    THREE_WAY_BINARY,
    THREE_WAY_BINARY_STATUS,
    THREE_WAY_MEAN_ULP,
    THREE_WAY_ULP_PROPORTION,
    THREE_WAY_ULP_RATIO,
    THREE_WAY_ULP_STATUS,
    THREE_WAY_THOUSANDTH,
    THREE_WAY_THOUSANDTH_STATUS,
    THREE_WAY_STATUS,
    THREE_WAY_ALGORITHM,
    THREE_WAY_MESSAGE,
    THREE_WAY_COLUMNS
};

extern const char *const three_way_headers[THREE_WAY_COLUMNS];

/* A cell of columns THREE_WAY_SMALL_VALUE .. THREE_WAY_THOUSANDTH_STATUS. */
struct three_way_cell {
    enum {
        CELL_BLANK,
        CELL_NUMBER,
        CELL_VERDICT,
        CELL_NPU_TEXT /* the text of the NPU row's cell, for `metric` */
    } kind;
    union {
        double number;
        enum verdict verdict;
        enum three_way_metric metric;
    };
};

enum { THREE_WAY_MESSAGE_BYTES = 1024 };

struct three_way_verdict {
    enum verdict verdict;
    struct three_way_cell cells[THREE_WAY_STATUS];
    const char *algorithm; /* name of the standard, " " for a SKIP */
    double excess; /* by evidence: how many times its limit the NPU's error is; 0 elsewhere */
    size_t message_length;
    char message[THREE_WAY_MESSAGE_BYTES]; /* NUL-terminated; cut at a character when too long */

    bool npu_message; /* the message is that of the NPU row, which `message` may have cut */

    /* Peculiarities of the peer, set under profiles that keep them. */
    bool unattributed; /* the row has no part in the verdict of its API */
    bool unsupported;  /* its dtype: when it is the API's last row, the API is SKIP */
    bool exception;    /* the peer failed on this row: it is a result row of its own */
    bool assumed_zero; /* numbers that a row lacks were taken as 0 */
};

/* Judge a row that both sides have. */
void three_way_judge(struct three_way_verdict *out, const struct three_way_rules *rules,
                     const struct three_way_row *row);

/* A row that cannot be judged. */
void three_way_skip(struct three_way_verdict *out, const char *message);

/* Does the profile read an empty cell, unlike one with a blank, as NaN? */
bool three_way_empty_is_nan(const struct three_way_rules *rules);

/* Message of an API whose last row is `unsupported`. */
extern const char *const three_way_unsupported;

#endif
