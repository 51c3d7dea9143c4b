/* Comparing two details files: the NPU's rows are joined with the GPU's by name, every pair is
 * judged, and the verdicts are collected by API.
 *
 * The GPU's file is read first, into a table of some 200 bytes a row; the NPU's file then streams past
 * it, and its rows are written as they are judged, in the order of that file. Rows without a
 * partner and repeated names become SKIP rows with a reason; they have no part in the verdict of
 * an API that has other rows. Rows whose shapes differ are not of the same output: errors. Time and memory are linear in the rows.
 */
#ifndef PROBE_COMPARE_DETAILS_H
#define PROBE_COMPARE_DETAILS_H

#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"
#include "core/text_table.h"
#include "formats/csv.h"
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

struct compare_request {
    const char *npu_path, *gpu_path;
    struct file_policy file_policy;
    const struct three_way_rules *rules;
    struct compare_evidence {
        const struct evidence_table *table; /* or NULL */
        bool by_model;                      /* the run was judged by profile strict */
    } npu_evidence, gpu_evidence;           /* for rules that compare by it */
    int precision;                          /* decimals of printed numbers */
    compare_visitor *tell;                  /* told of each row that fails; or NULL */
    void *context;
    enum header_language language; /* of the details' headers */
};

/* One row of the result: an API, or a row that the peer reports by itself. */
struct compare_result {
    const char *name;
    enum verdict forward, backward;
    const char *message; /* "" when there is none */
};

struct compare_table;

/* Compare, writing header and rows of the details to `details`, and keep the results.
 *
 *   out      the results, to be released with compare_release; untouched on failure
 *   counts   filled on success
 *   details  an open file to append to
 *   errors   STATUS_BAD_INPUT for a file that is no details file or breaks the limits of CSV;
 *            what reading and writing report
 */
struct status compare_run(struct compare_table **out, struct compare_counts *counts,
                          const struct file *details, const struct compare_request *request);

/* Number of result rows, and one of them; its texts are valid until the release. */
size_t compare_results(const struct compare_table *table);
struct compare_result compare_result(const struct compare_table *table, size_t i);

/* Header and rows of the result file. */
struct status compare_write_results(const struct file *result, const struct compare_table *table);

void compare_release(struct compare_table *table);

#endif
