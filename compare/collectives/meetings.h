/* Who meets whom: the communication calls of the ranks of one step, put together by group, name and
 * running number. The k-th call of a name in a group meets the k-th calls of its other members.
 */
#ifndef PROBE_COMPARE_COLLECTIVES_MEETINGS_H
#define PROBE_COMPARE_COLLECTIVES_MEETINGS_H

#include <stddef.h>
#include <stdint.h>

#include "compare/collectives/collective.h"
#include "core/text_table.h"

/* The dump of one rank, open. */
struct rank_dump {
    int64_t rank;
    struct dump *dump;
};

/* A call of a rank in a meeting. */
struct attendance {
    uint32_t
        series; /* of calls with one group and name; what cannot be read is a series of its own */
    uint32_t number; /* in the series, of this rank */
    size_t rank;     /* index of its dump */
    size_t position; /* in the dump */
    const struct collective_rule *rule;
};

/* All calls; those that meet lie together, by series and number. */
struct meetings {
    struct attendance *items; /* owned */
    size_t count, room;
    struct text_table series;
};

/* Collect the calls of all ranks, which are in the order of their numbers. To be released also when it
 * fails. */
struct status meetings_find(struct meetings *out, const struct rank_dump *ranks, size_t n_ranks);
void meetings_release(struct meetings *meetings);

/* How many calls, from `first`, are one meeting. */
size_t meeting_size(const struct meetings *meetings, size_t first);

#endif
