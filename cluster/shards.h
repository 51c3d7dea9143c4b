/* The calls of a job cut into shards: contiguous ranges of about equal cost.
 *
 * The calls of all dumps stand in one row, dump after dump. A shard is a range of that row, so that a
 * dump is opened by few shards and the files of a dump are put together by laying ranges end to end.
 */
#ifndef PROBE_CLUSTER_SHARDS_H
#define PROBE_CLUSTER_SHARDS_H

#include <stddef.h>

#include "core/status.h"

/* The calls of one dump: what each of them costs, in seconds, finite and more than 0. Dumps with the
 * same calls may share them. */
struct shard_dump {
    const float *seconds;
    size_t count;
};

/* A call: its dump, and its place among the calls of that dump. */
struct shard_place {
    size_t dump, call;
};

struct shards {
    /* Shard i goes from starts[i] to before starts[i + 1]; starts[count] is {number of dumps, 0}. Owned. */
    struct shard_place *starts;
    double *seconds; /* of each shard; owned */
    size_t count;
};

/* Cut into `wanted` shards, or as many as there are calls when that is fewer, so that the costliest
 * shard costs as little as it can. A call that costs more than a shard is a shard of its own, and then
 * it is the costliest of the others that costs as little as it can.
 *
 *   out     to be released with shards_release also when this fails; no call: no shard
 *   wanted  at least 1
 *   errors  STATUS_NO_MEMORY
 */
struct status shards_cut_count(struct shards *out, const struct shard_dump *dumps, size_t n_dumps,
                               size_t wanted);

/* The same into as few shards as none costs more than `seconds`, but those of one call. */
struct status shards_cut_seconds(struct shards *out, const struct shard_dump *dumps, size_t n_dumps,
                                 double seconds);

void shards_release(struct shards *shards);

#endif
