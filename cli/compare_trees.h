/* Comparisons of trees that are no dumps of ranks: kernels of static graphs, folders of .npy files. */
#ifndef PROBE_CLI_COMPARE_TREES_H
#define PROBE_CLI_COMPARE_TREES_H

#include <stdbool.h>

#include "compare/dumps/input.h"
#include "core/stop.h"
#include "formats/table_file.h"

struct compare_trees_request {
    const struct comparison_input *input;
    const char *output;
    enum table_format format; /* of kernels; folders give CSV */
    bool fail_on_error;       /* exit with status 1 when a row was judged No */
    bool fail_on_warning;     /* and when one has no verdict */
    struct file_policy policy;
    struct stop stop;
};

/* Compare if the comparison file asks for it (rank_id, common) and both paths are folders; *done says
 * whether. Where both hold graph or pynative, each step of those is a pair of its own, with results
 * in OUT/{mode}/{step}. */
struct status compare_trees(bool *done, int *exit_status,
                            const struct compare_trees_request *request);

#endif
