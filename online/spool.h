/* The spool: records of our own client on disk, from their arrival until their rows are durable.
 *
 * A record may be acknowledged once it is in the spool and spool_sync has returned: whatever happens to
 * the process then, the next one on the same directory finds it. Appends go to the newest segment; a
 * segment is removed when all its records are done. Every segment begins with how far each session has
 * come, so that the newest one alone tells the clients where to go on.
 *
 *     segment:  "UTSPOOL1"  entry...
 *     entry:    48 bytes (struct entry in spool.c), body, zeros up to a multiple of 16
 *
 * A part of an entry at the end of a segment is what a kill leaves; it counts for nothing.
 *
 * Threads: one thread appends and syncs, one clears; any may read, and call the others.
 */
#ifndef PROBE_ONLINE_SPOOL_H
#define PROBE_ONLINE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

enum { SPOOL_SESSION_BYTES = 16 };

struct spool;

/* A record and where it lies. */
struct spool_record {
    unsigned char session[SPOOL_SESSION_BYTES];
    uint64_t sequence, bytes; /* bytes of the body */
    uint64_t segment, offset; /* set by spool_append */
};

/* Open a directory, which is made when it is missing.
 *
 *   segment_bytes  a segment that is larger gets no further record
 *   errors         STATUS_BAD_ARGUMENT: another process has it; what files report
 */
struct status spool_open(struct spool **out, const char *directory, uint64_t segment_bytes);

/* The records that an earlier process left, in order; valid until spool_close. */
size_t spool_left(const struct spool *spool, const struct spool_record **records);

/* How many records of a session the spool has been given: the sequence of its next one. */
uint64_t spool_next(struct spool *spool, const unsigned char *session);

/* Append records with their bodies; all of them or, after a failure, none. */
struct status spool_append(struct spool *spool, struct spool_record *records,
                           const void *const *bodies, size_t count);

/* Make durable what was appended. */
struct status spool_sync(struct spool *spool);

/* The body of a record, `record->bytes` bytes. */
struct status spool_read(struct spool *spool, const struct spool_record *record, void *body);

/* The record is not needed any more once its rows are durable. True when a segment may go for it. */
bool spool_done(struct spool *spool, const struct spool_record *record);

/* Remove the segments whose records are all done, after make_durable has made their rows durable. */
struct status spool_clear(struct spool *spool, struct status (*make_durable)(void *context),
                          void *context);

/* Bytes on disk. */
uint64_t spool_bytes(struct spool *spool);

/* Close. `finished`: nobody will go on from here, and the rows of what is done are durable; it goes, with the
 * directory when nothing is left. */
struct status spool_close(struct spool *spool, bool finished);

#endif
