/* One rank as the search for the first difference sees it: its entries in the order of the dump, which of
 * them differ, and what communications meet others by. The comparison itself goes to a file:
 *
 *     {entry: {"is_same": bool, "op_items": [{column: value, ..., "state": "input"|"output"|...}]}}
 */
#ifndef PROBE_COMPARE_RANKS_RANK_FLOW_H
#define PROBE_COMPARE_RANKS_RANK_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/dumps/result.h"
#include "core/arena.h"
#include "core/status.h"

enum entry_kind { ENTRY_COMPUTES, ENTRY_COMMUNICATES, ENTRY_IGNORED };

struct flow_entry {
    const char *name;
    enum entry_kind kind;
    bool differs; /* an output does */
    const char
        *channel; /* of a communication: equal for those that are one; NULL when nobody is met */
    uint64_t place, bytes; /* of its record in the file */
};

struct rank_flow {
    int64_t rank;
    const char *path; /* of the file */
    struct flow_entry *entries;
    size_t count, room;
    struct arena arena;
};

/* Write the file and take what the search needs. Release `out` also on failure; on failure there is no
 * file. Entries whose name has fewer than four parts are left out. */
struct status rank_flow_make(struct rank_flow *out, const struct comparison *c, int64_t rank,
                             const char *path);
void rank_flow_release(struct rank_flow *flow);

/* What an entry is by its name. */
enum entry_kind entry_kind_of(const char *name);

#endif
