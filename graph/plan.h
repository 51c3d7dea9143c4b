/* Which graphs are made of two folders: one of a rank folder, one for each rank, one for each rank of
 * each step. Pairs have equal names; what only one side has is left out.
 */
#ifndef PROBE_GRAPH_PLAN_H
#define PROBE_GRAPH_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

enum folder_kind { FOLDER_RANK, FOLDER_RANKS, FOLDER_STEPS };

struct graph_task {
    char *npu, *bench;   /* rank folders; bench is NULL where a graph is built alone */
    unsigned step, rank; /* 0 where the folder has no number */
};

struct graph_plan {
    enum folder_kind kind;
    struct graph_task *tasks; /* by step, then by rank */
    size_t count, room;
    size_t left_out; /* folders that only one side has */
};

/* Make the plan. `bench` is NULL to build.
 *
 *   errors  STATUS_BAD_INPUT: a folder that is empty, holds something else, or is not of the kind of
 *           the other; no name that both have */
struct status graph_plan_make(struct graph_plan *out, const char *npu, const char *bench);
void graph_plan_release(struct graph_plan *plan);

#endif
