/* What the calls of many dumps cost, read on all cores: every dump is opened as a run would open it, for
 * the calls that it would check, and each of these keeps four bytes. Dumps that are one file (hard links) are
 * read once. */
#ifndef PROBE_CLUSTER_DUMP_COSTS_H
#define PROBE_CLUSTER_DUMP_COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "formats/dump_slice.h"
#include "formats/dump_tree.h"
#include "runner/cost.h"
#include "runner/run_options.h"

/* Of one dump. What is owned is so unless another dump is the same file. */
struct dump_costs {
    size_t same;       /* the first dump that is this file; itself for most */
    float *seconds;    /* of each call that is checked; owned */
    size_t *positions; /* of these in the dump; owned; NULL: all are checked */
    size_t calls, checked;
    uint64_t digest;
    struct position_range *left_out; /* by -f; owned */
    size_t n_left_out;
    struct status status; /* why it cannot be used */
};

struct dump_costs_request {
    const struct run_options *options;
    const struct dump_tree *tree;
    bool single; /* one dump, which must have calls to check */
    const struct cost_model *model;
    size_t threads;
};

/* Read all of them.
 *
 *   out     an item for each dump; to be released with dump_costs_release also when this fails
 *   errors  what is not the fault of a single dump: no memory, options that are wrong for all
 */
struct status dump_costs_read(struct dump_costs **out, const struct dump_costs_request *request);

void dump_costs_release(struct dump_costs *costs, size_t count);

#endif
