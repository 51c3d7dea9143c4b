/* The names of attempts: when, where and by whom they were begun.
 *
 *     attempt-1763832456-node17-4711-9c01e3b2-5f20a7d4
 *
 * seconds since 1970, host, process, the digest of the space that process numbers are of (the boot of the
 * machine and the namespace of a container), and a random number, which makes the name unlike any other.
 */
#ifndef PROBE_CLUSTER_ATTEMPT_NAME_H
#define PROBE_CLUSTER_ATTEMPT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"

/* A name for an attempt of this process, and the name of this host; NULL when there is no memory. */
const char *attempt_name_make(struct arena *arena, int64_t began);
const char *attempt_host(struct arena *arena);

bool attempt_name_is(const char *name);

/* What an attempt is called while it is copied from another or removed: it is none, as files may be missing. */
const char *attempt_name_of_part(struct arena *arena, const char *name);
bool attempt_name_is_part(const char *name);

/* When it was begun, in seconds since 1970. */
int64_t attempt_name_began(const char *name);

/* Has the process that began it certainly ended? False when that cannot be known: it is of another host, or of
 * a container that cannot be looked into. */
bool attempt_name_is_dead(const char *name);

#endif
