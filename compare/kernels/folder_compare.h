/* Trees of .npy files that are no dumps: every folder of the one side that the other has too. Files are
 * known by their names without the last two parts that '_' separates (a number and a time, mostly). */
#ifndef PROBE_COMPARE_KERNELS_FOLDER_COMPARE_H
#define PROBE_COMPARE_KERNELS_FOLDER_COMPARE_H

#include <stddef.h>

#include "compare/dumps/input.h"
#include "core/file.h"
#include "core/status.h"
#include "core/stop.h"
#include "core/warnings.h"

struct folder_request {
    const char *npu_path, *bench_path;
    const struct name_pair *map; /* Bench's key for one of the NPU's that Bench lacks */
    size_t n_map;
    const char *output;
    struct file_policy policy;
    struct warnings warnings;
    struct stop stop;
};

struct folder_counts {
    size_t folders, rows, verdict_no; /* written; rows that were judged No */
    size_t without_verdict;           /* rows: a note says why */
};

/* Write OUT/{folder}/result.csv for each folder. At most ten levels are looked at. STATUS_BAD_INPUT when no
 * folder of .npy files is on both sides. */
struct status folders_compare(struct folder_counts *out, const struct folder_request *request);

#endif
