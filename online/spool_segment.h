/* One file of the spool: records of our own client behind each other, in a form in which a kill at any time and
 * what a file held before leave nothing that could be taken for a record.
 *
 *     segment:  "UTSPOOL2", number of the segment (u64), entry...
 *     entry:    48 bytes (spool_segment.c), body, zeros up to a multiple of 16
 *
 * A large body begins on a block of the file and what follows it on the next: it can go to the disk as it lies in memory,
 * without a copy in the page cache, whose pages cost as much as all else.
 *
 * The checksum of an entry knows the number of its segment, so that a file can be used again as it is: what an
 * earlier segment has left in it belongs to another number. Nothing here locks: the spool does.
 */
#ifndef PROBE_ONLINE_SPOOL_SEGMENT_H
#define PROBE_ONLINE_SPOOL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"

enum { SPOOL_SESSION_BYTES = 16, SPOOL_BATCH_BYTES = 1 << 20 };

/* A record and where it lies. */
struct spool_record {
    unsigned char session[SPOOL_SESSION_BYTES];
    uint64_t sequence, bytes; /* bytes of the body */
    uint64_t sum;             /* of the body, as stream_bulk_sum has it */
    uint64_t segment, offset; /* set by spool_append */
};

/* How far a session has come: the sequence of its next record. */
struct spool_progress {
    unsigned char session[SPOOL_SESSION_BYTES];
    uint64_t next;
};

struct spool_segment {
    uint64_t number;
    uint64_t bytes;        /* up to the end of the last whole entry; the file may be longer */
    uint64_t synced_bytes; /* of these, so many are durable */
    uint64_t first_bytes;  /* where the first record of this process begins */
    size_t waiting;        /* records that are not done */
    bool is_named;         /* the name is durable */
    bool is_lost;          /* a sync has failed: it gets no more, and is not synced again */
    bool is_ours;          /* this process has made the file */
    bool goes;             /* marked to be removed */
    struct file file;
    struct file direct; /* the same for large bodies; FILE_NONE where that cannot be */
};

/* Bytes on their way into a file: small ones leave together. */
struct spool_batch {
    unsigned char *bytes; /* SPOOL_BATCH_BYTES */
    size_t used;
    uint64_t at; /* where they go */
};

/* Close both files. */
void spool_segment_close(struct spool_segment *segment);

/* Begin a segment in an open file, whatever that holds, with the progress of all sessions. */
struct status spool_segment_begin(struct spool_segment *segment, struct spool_batch *batch,
                                  const struct spool_progress *progress, size_t count);

/* Write records and their bodies behind the last entry; their places are set, and *end is where the last one ends. The
 * segment stays as it is: after a failure the next attempt writes over this one. */
struct status spool_segment_write(uint64_t *end, const struct spool_segment *segment,
                                  struct spool_batch *batch, struct spool_record *records,
                                  const void *const *bodies, size_t count);

/* Who is told of the entries of a segment in their order. */
struct spool_reader {
    struct status (*record)(void *context, const struct spool_record *record);
    struct status (*progress)(void *context, const struct spool_progress *progress);
    void *context;
};

/* Find the whole entries of an open file, and where they end. A part of an entry behind them counts for nothing. */
struct status spool_segment_read(struct spool_segment *segment, struct spool_batch *batch,
                                 const struct spool_reader *reader);

#endif
