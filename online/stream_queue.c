/* Lists through the records themselves: each is in one of either way at most. */
#include "online/stream_queue.h"

void stream_queue_open(struct stream_queue *queue, enum stream_way way)
{
    *queue = (struct stream_queue){ .way = way, .last = &queue->first };
}

void stream_queue_add(struct stream_queue *queue, struct stream_item *item)
{
    item->next[queue->way] = NULL;
    *queue->last = item;
    queue->last = &item->next[queue->way];
    queue->count++;
}

struct stream_item *stream_queue_take(struct stream_queue *queue)
{
    struct stream_item *item = queue->first;

    if (!item) return NULL;
    queue->first = item->next[queue->way];
    if (!queue->first) queue->last = &queue->first;
    queue->count--;
    return item;
}

void stream_queue_prepend(struct stream_queue *queue, struct stream_queue *from)
{
    if (!from->first) return;
    *from->last = queue->first;
    if (!queue->first) queue->last = from->last;
    queue->first = from->first;
    queue->count += from->count;
    stream_queue_open(from, from->way);
}

void stream_item_link(struct stream_item **list, struct stream_item *item)
{
    item->next[TO_JUDGE] = *list;
    item->place = list;
    if (*list) (*list)->place = &item->next[TO_JUDGE];
    *list = item;
}

void stream_item_unlink(struct stream_item *item)
{
    *item->place = item->next[TO_JUDGE];
    if (item->next[TO_JUDGE]) item->next[TO_JUDGE]->place = item->place;
}
