/* Kernels of static graphs, rank by rank and step by step: compare_result_{rank}_{step}_{time}.xlsx. */
#ifndef PROBE_COMPARE_KERNELS_KERNEL_COMPARE_H
#define PROBE_COMPARE_KERNELS_KERNEL_COMPARE_H

#include <stddef.h>

#include "compare/dumps/input.h"
#include "core/file.h"
#include "core/stop.h"
#include "core/timestamp.h"
#include "core/warnings.h"
#include "formats/table_file.h"

struct kernel_request {
    const char *npu_path, *bench_path;
    const struct number_filter *ranks, *steps; /* an empty list means all */
    const char *output;                        /* folder */
    enum table_format format;
    struct timestamp stamp;
    struct file_policy policy;
    struct warnings warnings;
    struct stop stop;
};

struct kernel_counts {
    size_t files, rows, verdict_no; /* written; rows that were judged No */
    size_t without_verdict;         /* rows: a note says why */
};

/* Compare every rank and step that both sides have. Data that only one side has are rows, too.
 *
 *   errors  STATUS_BAD_INPUT: no rank and step in common; a file of statistics that cannot be used */
struct status kernels_compare(struct kernel_counts *out, const struct kernel_request *request);

#endif
