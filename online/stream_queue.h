/* Records on their two ways: to the disk and to the judge. */
#ifndef PROBE_ONLINE_STREAM_QUEUE_H
#define PROBE_ONLINE_STREAM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "online/spool.h"

struct stream_client;

/* The two ways that a record goes at once, and what holds its body: the one to the disk, in case that a sync fails
 * and it has to be written anew, and the one to the judge. */
enum stream_way { TO_DISK, TO_JUDGE, WAYS };

struct stream_item {
    struct stream_item *next[WAYS];
    struct stream_item **place; /* in `judging`: what points to it */
    struct stream_client *client;
    struct spool_record record;
    void *body;
    bool holds[WAYS];
    bool is_in_spool, is_fed, is_durable, is_done;
    bool waits_for_feeder; /* in `spooled` */
};

struct stream_queue {
    enum stream_way way;
    struct stream_item *first, **last;
    size_t count;
};

void stream_queue_open(struct stream_queue *queue, enum stream_way way);
void stream_queue_add(struct stream_queue *queue, struct stream_item *item);

/* The first; NULL when there is none. */
struct stream_item *stream_queue_take(struct stream_queue *queue);

/* Put all of `from` in front of `queue`; `from` is empty afterwards. */
void stream_queue_prepend(struct stream_queue *queue, struct stream_queue *from);

/* Into the list of those that the judge has, and out of it, wherever it stands there. */
void stream_item_link(struct stream_item **list, struct stream_item *item);
void stream_item_unlink(struct stream_item *item);

#endif
