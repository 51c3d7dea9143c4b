/* Two dumps of different frameworks, or of versions of one, compared by the flow of their calls: which
 * calls belong together is found out from names and shapes (compare/api_dumps/call_match.h), so no
 * mapping has to be written. */
#ifndef PROBE_COMPARE_API_DUMPS_API_FLOW_H
#define PROBE_COMPARE_API_DUMPS_API_FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/api_dumps/api_calls.h"
#include "compare/api_dumps/closeness.h"
#include "compare/api_dumps/flow_table.h"
#include "core/stop.h"
#include "core/warnings.h"

struct api_flow_request {
    const char *origin, *target; /* folders; each has rank0/ */
    struct tolerance tolerance;
    bool ignore_unmatched; /* no rows of values without a partner */
    bool ignore_backward;
    struct file_policy policy;
    struct warnings warnings;
    struct stop stop;
};

/* A comparison: the calls of both sides are read when it is opened, one step after the other is
 * compared. */
struct api_flow {
    const struct api_flow_request *request;
    struct api_vocabulary vocabulary;
    struct api_calls origin, target;
    size_t n_steps; /* of both */
};

/* Read both dumps. Close also on failure. STATUS_BAD_INPUT when one is no dump or has no call. */
struct status api_flow_open(struct api_flow *out, const struct api_flow_request *request);
void api_flow_close(struct api_flow *flow);

enum flow_table_kind { FLOW_MAPPING, FLOW_FORWARD, FLOW_BACKWARD, FLOW_TABLES };

struct api_flow_step {
    struct flow_table tables[FLOW_TABLES];
    size_t not_close; /* rows of both sides that are not close */
    struct arena arena;
};

/* Compare a step. Release it also on failure. */
struct status api_flow_compare(struct api_flow_step *out, const struct api_flow *flow, size_t step);
void api_flow_step_release(struct api_flow_step *step);

/* "ts_api_mapping", "ts_api_forward_compare", "ts_api_backward_compare". */
extern const char *const flow_table_names[FLOW_TABLES];

#endif
