/* A row of the comparison: what the two details files say of one output. */
#ifndef PROBE_STANDARDS_THREE_WAY_THREE_WAY_ROW_H
#define PROBE_STANDARDS_THREE_WAY_THREE_WAY_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/csv.h"
#include "standards/judged.h"

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

/* A comparison that a run made, from its evidence. */
struct evidence_limit {
    const char *metric; /* "model_rms" */
    double value, limit;
    bool holds;
};

/* What the evidence of a run says of an output. */
struct row_evidence {
    const struct evidence_limit *limits;
    size_t count;
};

/* What one run's files say of an output. */
struct three_way_side {
    enum verdict status;                 /* of the first stage; VERDICT_BLANK when unknown */
    bool by_model;                       /* that verdict is of profile strict */
    const struct row_evidence *evidence; /* or NULL */
    unsigned present; /* bit per metric: the cell holds a number, NaN or infinity included */
    double metric[THREE_WAY_METRICS]; /* 0 where not present */
};

struct three_way_row {
    struct csv_text api;        /* bare: "softmax", "linalg.inv" */
    enum three_way_dtype dtype; /* of the NPU row */
    bool empty_vector;          /* its Shape is (0,) */
    struct three_way_side npu;
    const struct three_way_side *gpu;
    struct csv_text npu_message, gpu_message; /* of the rows, for rows without metrics */
};

#endif
