/* Matches made by hand, as viewers export them (`{tag}.vis.config`): a JSON object NPU node -> Bench
 * node. The text "" or null says that the NPU node has no partner. For files that people write, an
 * object {"node": Bench node, "below": true} matches what lies below the two as well (match_below.h).
 */
#ifndef PROBE_GRAPH_MATCH_FILE_H
#define PROBE_GRAPH_MATCH_FILE_H

#include "formats/config_json.h"
#include "graph/side.h"

struct match_file {
    struct config_json json;
};

/* Read a file. End with match_file_close; empty on failure.
 *
 *   errors  STATUS_BAD_INPUT that names the file and the place: no JSON object, a value that is none of the
 *           above */
struct status match_file_open(struct match_file *out, const char *path, struct file_policy policy);
void match_file_close(struct match_file *file);

/* Match the nodes of the file, in its order: both leave the partners that they had. Names that a side
 * does not have are passed over, because the file may be of another rank; *applied counts the others,
 * with the pairs below them.
 *
 *   by_hand  by NPU node: true where a match stands that the file made; those below others are told by
 *            their partner alone
 *   errors   STATUS_BAD_INPUT: a module against a call, the root against another node */
struct status match_file_apply(uint32_t *applied, bool *by_hand, const struct match_file *file,
                               struct graph_side *npu, struct graph_side *bench);

#endif
