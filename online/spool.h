/* The spool: records of our own client on disk, from their arrival until their rows are durable.
 *
 * A record may be acknowledged once it is in the spool and a spool_sync that began after that has returned:
 * whatever happens to the process then, the next one on the same directory finds it. Appends go to the newest
 * segment (online/spool_segment.h); a segment goes when all its records are done, and its file, whose pages and
 * blocks are there already, becomes the next one. Every segment begins with how far each session has come, so
 * that the newest one alone tells the clients where to resume; what it says is true because a segment is only
 * begun when everything in front of it is durable.
 *
 * A sync that has failed is final: the kernel forgets what it could not write, and a later sync would succeed
 * without it. What is not durable then is taken back (spool_retract) and appended anew, to another segment.
 *
 * Threads: one thread appends and retracts, one syncs, one clears; any may read, and call the others.
 */
#ifndef PROBE_ONLINE_SPOOL_H
#define PROBE_ONLINE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "online/spool_segment.h"

struct spool;

/* Open a directory, which is made when it is missing.
 *
 *   segment_bytes  a segment that is larger gets no further record
 *   errors         STATUS_BAD_ARGUMENT: another process has it; what files report
 */
struct status spool_open(struct spool **out, const char *directory, uint64_t segment_bytes);

/* The records that an earlier process left, in order, each once; valid until spool_close. */
size_t spool_left(const struct spool *spool, const struct spool_record **records);

/* How many records of a session the spool has been given: the sequence of its next one. */
uint64_t spool_next(struct spool *spool, const unsigned char *session);

/* Will the next record begin a segment? Then it has to wait until all that was appended is durable, or retracted. */
bool spool_begins_segment(struct spool *spool);

/* Append records, the next ones of their sessions, with their bodies; all of them or, after a failure, none. */
struct status spool_append(struct spool *spool, struct spool_record *records,
                           const void *const *bodies, size_t count);

/* Make durable what was appended when it is called. After a failure nothing becomes durable any more before
 * spool_retract. */
struct status spool_sync(struct spool *spool);

/* A sync has failed: take back a record that is not durable. All of them, in order, before the next is appended. */
void spool_retract(struct spool *spool, const struct spool_record *record);

/* The body of a record, `record->bytes` bytes. */
struct status spool_read(struct spool *spool, const struct spool_record *record, void *body);

/* The record is not needed any more once its rows are durable. True when a segment may go for it. */
bool spool_done(struct spool *spool, const struct spool_record *record);

/* An append has failed because the disk is full: give back what the spool holds and does not need. A newest segment whose
 * records are all done is followed by another, so that it may go; true when it may. By the thread that appends. */
bool spool_relieve(struct spool *spool);

/* Remove the segments whose records are all done, after make_durable has made their rows durable. */
struct status spool_clear(struct spool *spool, struct status (*make_durable)(void *context),
                          void *context);

/* Bytes of records on disk. */
uint64_t spool_bytes(struct spool *spool);

/* Close. `finished`: nobody will resume from here, and the rows of what is done are durable; it goes, with the
 * directory when nothing is left. */
struct status spool_close(struct spool *spool, bool finished);

#endif
