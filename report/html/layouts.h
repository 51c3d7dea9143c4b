/* What a page can hold, and where it comes from: the columns of the page, and the layouts of the
 * CSV files that fill them. A file is told by its header; blanks and case in headers do not count.
 */
#ifndef PROBE_REPORT_HTML_LAYOUTS_H
#define PROBE_REPORT_HTML_LAYOUTS_H

#include "formats/csv.h"
#include "pages/columns.h"
#include "standards/judge.h"

enum page_column {
    PAGE_NAME,
    PAGE_NAME_HASH,
    PAGE_VERDICT,
    PAGE_DIRECTION,
    PAGE_API,
    PAGE_CALL_SECONDS,
    PAGE_MESSAGE,
    PAGE_EVIDENCE,
    PAGE_STACK,
    PAGE_PARTNER,
    PAGE_CHECKSUM,
    PAGE_BENCH_CHECKSUM,
    PAGE_DTYPE,
    PAGE_BENCH_DTYPE,
    PAGE_SHAPE,
    PAGE_BENCH_SHAPE,
    PAGE_STANDARD,
    PAGE_DECIDED_BY,
    PAGE_REFERENCE,
    /* numbers that the evidence has */
    PAGE_ALLOWANCE,
    PAGE_WORST_ULP,
    PAGE_BOUND_ULP,
    PAGE_ROUNDING,
    PAGE_ELEMENTS,
    /* metrics of a run */
    PAGE_COSINE,
    PAGE_MAX_ABS_ERROR,
    PAGE_HUNDREDTH,
    PAGE_THOUSANDTH,
    PAGE_TEN_THOUSANDTH,
    PAGE_BINARY_MISMATCH,
    PAGE_ERROR_BALANCE,
    PAGE_RMSE,
    PAGE_SMALL_VALUE_RATIO,
    PAGE_MAX_RELATIVE_ERROR,
    PAGE_MEAN_RELATIVE_ERROR,
    PAGE_INF_NAN_RATIO,
    PAGE_RELATIVE_ERROR_RATIO,
    PAGE_ABSOLUTE_ERROR_RATIO,
    PAGE_MAX_ULP,
    PAGE_MEAN_ULP,
    PAGE_ULP_PROPORTION,
    /* quotients of a three-way comparison */
    PAGE_SMALL_VALUE_QUOTIENT,
    PAGE_RMSE_QUOTIENT,
    PAGE_MAX_RELATIVE_QUOTIENT,
    PAGE_MEAN_RELATIVE_QUOTIENT,
    PAGE_ERROR_BALANCE_QUOTIENT,
    PAGE_ULP_PROPORTION_QUOTIENT,
    /* metrics of two dumps */
    PAGE_EUCLIDEAN_DISTANCE,
    PAGE_FIVE_THOUSANDTHS,
    PAGE_MAX_DIFFERENCE,
    PAGE_MIN_DIFFERENCE,
    PAGE_MEAN_DIFFERENCE,
    PAGE_NORM_DIFFERENCE,
    PAGE_MIN_RELATIVE_ERROR,
    PAGE_NORM_RELATIVE_ERROR,
    PAGE_NPU_MAX,
    PAGE_NPU_MIN,
    PAGE_NPU_MEAN,
    PAGE_NPU_NORM,
    PAGE_BENCH_MAX,
    PAGE_BENCH_MIN,
    PAGE_BENCH_MEAN,
    PAGE_BENCH_NORM,
    PAGE_COLUMNS
};

extern const struct column_form page_forms[PAGE_COLUMNS];

/* What is done with a cell of a file. */
enum cell_use {
    CELL_NAME, /* of the row */
    CELL_VERDICT,
    CELL_NUMBER,      /* `column` */
    CELL_CODE,        /* `column` */
    CELL_TEXT,        /* `column` */
    CELL_JUDGEMENT,   /* verdict on the metric `column`: the first that failed decided the row */
    CELL_OWN_VERDICT, /* ours, besides that of msprobe: empty where nothing was judged */
    CELL_BACKWARD     /* verdict of the gradients, in a file with a row per call */
};

struct layout_cell {
    const char *header;
    enum cell_use use;
    enum page_column column;
};

enum layout_kind {
    LAYOUT_DETAILS,
    LAYOUT_DISTANCES, /* details of a MindSpore run */
    LAYOUT_THREE_WAY,
    LAYOUT_DUMPS,
    LAYOUT_RESULT,
    LAYOUT_TIMINGS,
    LAYOUTS
};

struct layout {
    const char *name;         /* of the kind, as the page's scripts know it */
    const char *const *marks; /* headers that tell it, ended by NULL */
    const struct layout_cell *cells;
    size_t count;
    enum verdict empty_verdict; /* what an empty verdict cell means */
    bool
        directions_apart; /* forward and backward of a call do not stand together; rows are inputs, too */
};

extern const struct layout layouts[LAYOUTS];

/* The layout of a header row; NULL for one that is none of these. */
/* Details of a run, of either pre-check? */
bool layout_is_of_run(const struct layout *layout);

const struct layout *layout_of_header(const struct csv_row *header);

/* The verdict that a cell spells. */
enum verdict layout_verdict(const struct layout *layout, struct csv_text cell);

/* The parts of a row name that the page shows: of "Torch.linalg.inv.0.backward.output.1" the call
 * "Torch.linalg.inv.0", the API "linalg.inv" and the direction; of "Module.0.Conv2d.forward.0.input.0" the
 * class. A name of another form is a call and an API by itself. */
struct page_name {
    struct csv_text call, api;
    bool backward;
};
struct page_name page_name_split(struct csv_text name);

#endif
