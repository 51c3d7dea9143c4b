/* What one process has of a shard. Every process works in a directory of its own, so that nothing needs a
 * lock: it begins with what the longest attempt has, trusts of it what a resumed run trusts, and gives its
 * directory the name `done` when all is there. Of two that finish, the second finds the name taken and throws
 * its own away. Relied on is only that the renaming of a directory is atomic, and that a file that was closed
 * can be read by whoever opens it then (close-to-open consistency, as NFS has it). */
#ifndef PROBE_CLUSTER_ATTEMPT_H
#define PROBE_CLUSTER_ATTEMPT_H

#include <stdbool.h>

#include "cluster/plan_file.h"
#include "cluster/shard_slices.h"
#include "core/arena.h"

struct attempt {
    const char *directory; /* its own */
    const char *shard;     /* the directory of all that there is of the shard */
    const char *done;
    const char *resumed; /* the attempt that it resumes; or NULL */
    const char *host;    /* this one */
    int64_t began;       /* seconds since 1970 */
};

/* Make the directory, with what the longest attempt has: that of a process of this host that has ended gets
 * the new name, any other is copied. Others that have ended are removed.
 *
 *   out     texts live in `arena`
 *   policy  for the files of the others
 */
struct status attempt_begin(struct attempt *out, struct arena *arena, const char *job, size_t shard,
                            const struct plan *plan, const struct shard_slices *slices,
                            struct file_policy policy);

/* Has somebody finished the shard? */
bool attempt_is_done(const struct attempt *attempt);

/* All rows are written: make the names durable and take the name `done`. *was_first is false when another
 * was faster. Either way no attempt at this shard is left. */
struct status attempt_finish(bool *was_first, const struct attempt *attempt,
                             const struct plan *plan, const struct shard_slices *slices);

/* Remove the attempts of others that died or will find that the shard is done. */
void attempt_remove_all(const char *shard_directory);

#endif
