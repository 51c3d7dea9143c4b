/* Memory for what clients send: bodies in arrival and bodies that wait to be judged, of all connections
 * together.
 *
 * What is announced takes nothing; what has arrived is taken piece by piece. When the share is used up
 * the connections wait. So that they do not wait for each other with half a body each, one of them, the
 * leader, may continue beyond the share until its body is whole. A body is at most as large as the share,
 * so no more than twice the share is ever taken.
 *
 * Pages that the kernel has to find and clear cost more than all that is done with a body. So the memory of large
 * bodies is kept for the next ones of their size, as much as there is room for within twice the share.
 */
#ifndef PROBE_ONLINE_RECEIVE_MEMORY_H
#define PROBE_ONLINE_RECEIVE_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Bodies of so many bytes begin on a page, and their memory is kept. */
enum { RECEIVE_MEMORY_LARGE_BYTES = 1 << 20, RECEIVE_MEMORY_KEPT = 64 };

struct receive_memory {
    pthread_mutex_t mutex;
    uint64_t share_bytes, used_bytes;
    const void *leader; /* NULL while the share suffices */
    double leading_since_s;
    bool refused; /* somebody waits for memory */
    struct kept_body {
        void *body;
        uint64_t capacity;
    } kept[RECEIVE_MEMORY_KEPT]; /* memory of bodies that are gone, the oldest first */
    size_t n_kept;
    uint64_t kept_bytes;
};

/* share_bytes  half of the most that may be taken, and the most that a body may have */
void receive_memory_open(struct receive_memory *memory, uint64_t share_bytes);
void receive_memory_close(struct receive_memory *memory);

/* Take so much more for `holder` (any address that tells holders apart). False: not now. */
bool receive_memory_take(struct receive_memory *memory, const void *holder, uint64_t bytes);

/* Give back. True when somebody waits, who is to be woken. Safe on any thread. */
bool receive_memory_give(struct receive_memory *memory, uint64_t bytes);

/* Memory for a body, of which nothing is taken: that happens as it fills. NULL when there is none. */
void *receive_memory_body(uint64_t bytes);

/* Memory of an earlier large body of this size, all of which is taken for `holder` at once; NULL when none is kept, or so
 * much may not be taken now. */
void *receive_memory_reuse(struct receive_memory *memory, const void *holder, uint64_t bytes);

/* The end of a body from either of them, of which `taken` bytes were taken: those are given back, with the result of
 * receive_memory_give. Safe on any thread. */
bool receive_memory_give_body(struct receive_memory *memory, void *body, uint64_t bytes,
                              uint64_t taken);

/* The holder's body is whole, or there will be none: who leads need not be it any longer. */
void receive_memory_done(struct receive_memory *memory, const void *holder);

/* For how long others have been waiting for this holder to get its body together; 0 when none do. */
double receive_memory_leads_for(struct receive_memory *memory, const void *holder);

#endif
