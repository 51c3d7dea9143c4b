/* shard.json of a shard that is done: who did it, how long it took, and what a summary says that is not in
 * the rows. */
#ifndef PROBE_CLUSTER_SHARD_NOTE_H
#define PROBE_CLUSTER_SHARD_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/status.h"
#include "results/outcome.h"

struct shard_note {
    const char *host;
    int64_t began, ended; /* of the last attempt, seconds since 1970 */
    size_t threads;
    size_t calls, failing;           /* of the shard: all, with an error or a warning */
    size_t done_here;                /* calls that the last attempt did itself */
    double work_seconds;             /* that its threads worked on these */
    struct reference_use references; /* of these */
};

struct status shard_note_write(const struct shard_note *note, const char *path);

/* Read a note; texts go to `arena`. STATUS_BAD_INPUT when it is none. */
struct status shard_note_read(struct shard_note *out, struct arena *arena, const char *path,
                              struct file_policy policy);

#endif
