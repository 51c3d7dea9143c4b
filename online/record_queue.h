/* Records in the order in which they came, from the submission to their rows. Nothing here locks: the judge does.
 */
#ifndef PROBE_ONLINE_RECORD_QUEUE_H
#define PROBE_ONLINE_RECORD_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "online/judge_types.h"
#include "online/second_device.h"
#include "results/outcome.h"

enum { RECORD_ADDRESS_BYTES = 80, RECORD_SESSION_BYTES = 80, RECORD_RANKS_AHEAD = 64 };

enum record_state {
    RECORD_WAITS,
    RECORD_TAKEN, /* by a thread; its rank is not known yet */
    RECORD_KNOWN, /* its rank is */
    RECORD_DONE
};

struct queued_record {
    struct judge_submission
        submission; /* its texts are the two below; the body goes when it is done */
    char address[RECORD_ADDRESS_BYTES], session[RECORD_SESSION_BYTES];
    double since_s;
    enum record_state state;
    int64_t rank, step; /* of the record, or of its frame while that is all there is */
    /* When it is done: */
    enum record_fate fate;
    char *name;           /* owned; or NULL */
    struct status reason; /* why it was refused */
    struct case_outcome outcome;
    struct second_rows second; /* of a second device, where there is one */
    struct queued_record *next;
};

/* All zeros is empty. */
struct record_queue {
    struct queued_record *first, *last;
    struct queued_record *waiting; /* the first that no thread has taken */
    struct queued_record *spare;   /* used ones, for their memory */
    size_t count;
};

/* Append a submission. NULL when there is no memory. The session and the address must fit. */
struct queued_record *record_queue_add(struct record_queue *queue,
                                       const struct judge_submission *submission);

/* The next one for a thread, now TAKEN; NULL when none waits. */
struct queued_record *record_queue_take(struct record_queue *queue);

/* Take out the first one that is done and has no earlier one of its rank before it, nor one whose rank is not known;
 * NULL when there is none. To be handed back with record_queue_recycle. */
struct queued_record *record_queue_next_done(struct record_queue *queue);

void record_queue_recycle(struct record_queue *queue, struct queued_record *record);

/* Release everything; bodies must be gone. */
void record_queue_release(struct record_queue *queue);

#endif
