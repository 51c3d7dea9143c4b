/* Which calls of other ranks a communication call meets.
 *
 *   collectives     the calls of all members of the group with equal group, name and running number
 *   one to many     (broadcast, scatter) the root sends to the others of its group
 *   many to one     (gather, reduce) the root receives from them
 *   point to point  (send and recv, isend and irecv) the call of the peer that names this rank and has
 *                   the same running number, when the first outputs have equal dtype, shape and
 *                   statistics
 *   batches         (batch_isend_irecv) each operation as a point to point call, whose group is known
 *
 * Running numbers count the calls of a rank that have the same name and group, or name and peer.
 */
#ifndef PROBE_GRAPH_COMMUNICATION_H
#define PROBE_GRAPH_COMMUNICATION_H

#include "graph/graph.h"

/* The communication calls of all ranks of a step. */
struct communications;

/* Start with no calls. */
struct status communications_create(struct communications **out);
void communications_release(struct communications *all);

/* Add the calls of a rank, on both sides of its graph, which is no longer needed then. What is in the
 * arguments of a call that cannot be read meets nobody. */
struct status communications_add(struct communications *all, const struct graph *graph,
                                 unsigned rank);

/* Find out who meets whom; all ranks have been added. */
struct status communications_match(struct communications *all);

/* Append what a node of a rank meets:
 *
 *     {"communications_type": "send"|"receive"|"send_receive",
 *      "nodes_info": {"1": ["0.25", "Distributed.all_reduce.0.forward"], ...}}
 *
 * with rank, precision index (with an overflow check its level; "Nan": none) and name. For a batch of
 * several operations a list of such objects. Nothing when the node meets nobody. */
struct status communications_append(struct csv_buffer *out, const struct graph *graph, bool bench,
                                    uint32_t node);

/* May the dump in a folder have communication calls? Looks for their names in its text. */
bool dump_may_communicate(const char *folder, struct file_policy policy);

#endif
