/* `parallel_merge` of the comparison file:
 *
 *     "parallel_merge": { "npu": { "rank_size": 8, "tp": 2, "pp": 4, "vpp": 1,
 *                                  "order": "tp-cp-ep-dp-pp" }, "bench": { ... } }
 */
#ifndef PROBE_GRAPH_PARALLEL_FILE_H
#define PROBE_GRAPH_PARALLEL_FILE_H

#include "core/file.h"
#include "graph/parallel.h"

struct parallel_merge {
    bool wanted;
    struct parallel_layout npu, bench; /* `bench` of a comparison */
};

/* Read what a comparison file says; `wanted` is false when it says nothing.
 *
 *   errors  STATUS_BAD_INPUT with the line at fault: a number that is missing, none, or does not
 *           divide rank_size; an order that does not name all dimensions */
struct status parallel_merge_read(struct parallel_merge *out, const char *path, bool compared,
                                  struct file_policy policy);

#endif
