/* The three-way verdict of one output: what an NPU run and a GPU run measured against the same
 * reference, and the rules of a profile, give one row of the comparison.
 *
 * The errors of a low-precision device are judged by those of another device that is trusted: an
 * NPU whose error is at most twice the GPU's does what can be expected. Where a standard needs no
 * second device (exact operations, thresholds), only the NPU's numbers count.
 *
 * three_way_judge is a pure function of a row and of the rules, which are read from
 * config/three_way.json and api_precision_standard.json once and are immutable then.
 */
#ifndef PROBE_STANDARDS_THREE_WAY_THREE_WAY_H
#define PROBE_STANDARDS_THREE_WAY_THREE_WAY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "standards/judge.h"

/* The measured columns of a details file that the comparison reads. */
enum three_way_metric {
    METRIC_SMALL_VALUE, /* the first five are compared as ratios NPU / GPU */
    METRIC_RMSE,
    METRIC_MAX_RELATIVE,
    METRIC_MEAN_RELATIVE,
    METRIC_BALANCE,
    METRIC_BINARY,
    METRIC_INF_NAN,
    METRIC_RELATIVE,
    METRIC_ABSOLUTE,
    METRIC_MEAN_ULP,
    METRIC_ULP_PROPORTION,
    METRIC_THOUSANDTH,
    THREE_WAY_METRICS
};
enum { RATIO_METRICS = METRIC_BALANCE + 1 };

/* Header of each, as in the details file. */
extern const char *const three_way_metric_headers[THREE_WAY_METRICS];

/* What the DEVICE Dtype cell of a row means here. */
enum three_way_dtype {
    THREE_WAY_BLANK, /* the row was skipped */
    THREE_WAY_F16,
    THREE_WAY_BF16,
    THREE_WAY_F32, /* complex64 too, where a profile supports it */
    THREE_WAY_F8,
    THREE_WAY_F64,
    THREE_WAY_C64,
    THREE_WAY_C128,
    THREE_WAY_OTHER, /* integers, bool, built-in values */
    THREE_WAY_DTYPES
};

/* The dtype of a cell's text, e.g. "torch.float16" or " ". */
enum three_way_dtype three_way_dtype(const char *text, size_t length);

/* What one run's details file says of an output. */
struct three_way_side {
    enum verdict status; /* of the first stage; VERDICT_BLANK when unknown */
    unsigned present;    /* bit per metric: the cell holds a number, NaN or infinity included */
    double metric[THREE_WAY_METRICS]; /* 0 where not present */
};

struct three_way_row {
    const char *api;            /* bare: "softmax", "linalg.inv" */
    enum three_way_dtype dtype; /* of the NPU row */
    bool empty_vector;          /* its Shape is (0,) */
    struct three_way_side npu;
    const struct three_way_side *gpu;
    const char *npu_message, *gpu_message; /* of the rows, for rows without metrics */
};

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
    size_t message_length;
    char message[THREE_WAY_MESSAGE_BYTES]; /* NUL-terminated; cut at a character when too long */

    bool npu_message; /* the message is that of the NPU row, which `message` may have cut */

    /* Peculiarities of the peer, set under profiles that keep them. */
    bool unattributed; /* the row has no part in the verdict of its API */
    bool unsupported;  /* its dtype: when it is the API's last row, the API is SKIP */
    bool exception;    /* the peer failed on this row: it is a result row of its own */
    bool assumed_zero; /* numbers that a row lacks were taken as 0 */
};

struct three_way_rules;

/* The rules of a profile.
 *
 *   out            to be released with three_way_rules_release; untouched on failure
 *   profile        one of three_way_profiles()
 *   override_text  a user's JSON of the form config/standards_override.schema.json, or NULL;
 *                  override_name names it in messages
 *   errors         STATUS_BAD_ARGUMENT for an unknown profile; STATUS_BAD_INPUT for the user's
 *                  text, with the line and the key at fault
 */
struct status three_way_rules_load(struct three_way_rules **out, const char *profile,
                                   const char *override_name, const char *override_text);
void three_way_rules_release(struct three_way_rules *rules);

/* Names of the profiles, default first, ended by NULL. */
const char *const *three_way_profiles(void);

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
