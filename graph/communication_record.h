/* What the record of a communication call in dump.json says of its partners.
 */
#ifndef PROBE_GRAPH_COMMUNICATION_RECORD_H
#define PROBE_GRAPH_COMMUNICATION_RECORD_H

#include "formats/json.h"
#include "graph/side.h"

/* Names of calls begin with it. */
extern const char communication_prefix[]; /* "Distributed." */

/* Arguments that hold the number of a rank. */
enum rank_argument { ARGUMENT_NONE, ARGUMENT_SECOND, ARGUMENT_SRC, ARGUMENT_DST, RANK_ARGUMENTS };

/* The arguments of a call. Slices and readers point into the text of the dump. */
struct communication_arguments {
    bool has[RANK_ARGUMENTS];
    int64_t rank[RANK_ARGUMENTS];
    struct json_slice group_id, members; /* `members` is the text of a list; text NULL: not there */
    struct json args, kwargs, output;    /* where they begin; start NULL: not there */
};

/* Read a record; what cannot be read is not there. */
void communication_arguments_read(struct communication_arguments *out, struct json record);

/* An operation of a batch (batch_isend_irecv). */
struct batch_operation {
    struct json_slice name, group_id; /* `group_id` is empty when it is not recorded */
    int64_t peer;
};

/* Called for each operation, in order; a status that is not OK ends the walk and is its result. */
typedef struct status on_operation(void *context, const struct batch_operation *operation);

/* Walk over the operations of a batch: those that its outputs list, else those of its arguments. */
struct status batch_operations_walk(const struct communication_arguments *arguments,
                                    on_operation *visit, void *context);

/* The ranks of a group, as the text of a list has them, one by one: false at its end. Start with
 * group_members_open. */
void group_members_open(struct json *out, struct json_slice members);
bool group_members_next(int64_t *rank, struct json *members);

#endif
