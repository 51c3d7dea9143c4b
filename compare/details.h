/* Comparing two details files: the NPU's rows are joined with the GPU's by name, every pair is
 * judged, and the verdicts are collected by API.
 *
 * Rows are written as they are judged, in the order of the NPU's file; the result of an API when its last row
 * was read. Rows without a partner and repeated names become SKIP rows with a reason; they have no part in the
 * verdict of an API that has other rows. Rows whose shapes differ are not of the same output: errors. Time is
 * linear in the rows; so is memory where the calls of the files are not in the same order
 * (compare/details_join.h).
 */
#ifndef PROBE_COMPARE_DETAILS_H
#define PROBE_COMPARE_DETAILS_H

#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"
#include "formats/csv.h"
#include "results/details_file.h"
#include "results/evidence_table.h"
#include "standards/header_language.h"
#include "standards/three_way/three_way.h"

/* What a comparison found. */
struct compare_counts {
    uint64_t npu_rows, gpu_rows;
    uint64_t only_npu, only_gpu; /* rows without a partner */
    uint64_t repeated;           /* names that one file has more than once */
    uint64_t mispaired;          /* rows of the same name and another shape */
    uint64_t assumed_zero;       /* rows in which missing numbers were taken as 0 (profile v3) */
    uint64_t apis;
    uint64_t verdicts[2][VERDICT_SKIP + 1]; /* [backward][verdict], by API */
    uint64_t judged;                        /* APIs with a verdict other than SKIP in a direction */
    bool npu_torn, gpu_torn;                /* the last row of the file was cut and is left out */
};

/* A row that fails: an error or a warning. */
struct compare_note {
    struct csv_text row, call; /* their names; valid during the visit */
    const struct three_way_verdict *verdict;
    const struct csv_text *npu; /* cells of the NPU row by metric; NULL for a row without */
    struct csv_text message;
};
typedef struct status compare_visitor(void *context, const struct compare_note *note);

/* One row of the result: an API, or a row that the peer reports by itself. */
struct compare_result {
    const char *name;
    enum verdict forward, backward;
    const char *message; /* "" when there is none */
};

struct compare_request {
    const char *npu_path, *gpu_path;
    struct csv_text npu_text,
        gpu_text; /* in the place of files when they are set, header included */
    struct file_policy file_policy;
    const struct three_way_rules *rules;
    struct compare_evidence {
        const struct evidence_table *table; /* or NULL */
        bool by_model;                      /* the run was judged by profile strict */
    } npu_evidence, gpu_evidence;           /* for rules that compare by it */
    int precision;                          /* decimals of printed numbers */
    compare_visitor *tell;                  /* told of each row that fails; or NULL */
    struct status (*tell_result)(void *context, const struct compare_result *result); /* or NULL */
    void (*start_over)(void *context); /* what was told so far does not count; or NULL */
    void *context;
    enum header_language language; /* of the details' headers */
};

/* Compare, writing header and rows of the details and of the results.
 *
 *   counts   filled on success
 *   details, result  open files, empty, which are appended to and may be cut to nothing again
 *   errors   STATUS_BAD_INPUT for a file that is no details file or breaks the limits of CSV;
 *            what reading and writing report
 */
struct status compare_run(struct compare_counts *counts, const struct file *details,
                          const struct file *result, const struct compare_request *request);

/* The same of the rows of one call, which are texts of the request; names are of one framework. What is written, but
 * for the headers, is appended to two texts. */
struct status compare_call(struct csv_buffer *details, struct csv_buffer *results,
                           const struct compare_request *request);

/* What the two files begin with. */
struct status compare_headers(struct csv_buffer *details, struct csv_buffer *results,
                              enum header_language language);

#endif
