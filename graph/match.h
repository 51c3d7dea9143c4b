/* Which node of the Bench graph stands against which node of the NPU graph, and with them their rows.
 */
#ifndef PROBE_GRAPH_MATCH_H
#define PROBE_GRAPH_MATCH_H

#include "compare/dumps/pairing.h"
#include "graph/side.h"

enum match_rule {
    MATCH_EXACT,  /* equal names, ancestors, numbers of rows, types and shapes */
    MATCH_FUZZY,  /* modules by name, their calls without counters and in order; shapes */
    MATCH_MERGED, /* the same for merged ranks: the numbers of ranks and shapes are not looked at */
    MATCH_MAPPED  /* as a layer mapping says, else by name; nothing else is looked at */
};

struct match_request {
    enum match_rule rule;
    const uint32_t *bench_entry; /* MATCH_MAPPED: by NPU entry the Bench entry, or ROW_NONE */
};

/* Set `match` of both sides. The root always matches the root. */
struct status match_nodes(struct graph_side *npu, struct graph_side *bench,
                          const struct match_request *request);

/* The rows of matched nodes whose names begin with `prefix` ("": of all), by position: inputs,
 * parameters, outputs and gradients of parameters each by themselves. End with pairing_release. */
struct status match_rows(struct pairing *out, const struct graph_side *npu,
                         const struct graph_side *bench, const char *prefix);

#endif
