/* A list: ranks overtake each other in it, records of one rank do not. */
#include "online/record_queue.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"

static struct queued_record *new_record(struct record_queue *queue)
{
    struct queued_record *record = queue->spare;
    if (!record) return memory_allocate_zeroed(1, sizeof *record);
    queue->spare = record->next;
    return record;
}

struct queued_record *record_queue_add(struct record_queue *queue,
                                       const struct judge_submission *submission)
{
    const struct record_origin *origin = &submission->origin;
    struct queued_record *record = new_record(queue);
    if (!record) return NULL;
    record->submission = *submission;
    record->state = RECORD_WAITS;
    record->rank = origin->rank;
    record->step = origin->step;
    (void)snprintf(record->address, sizeof record->address, "%s",
                   origin->address ? origin->address : "");
    (void)snprintf(record->session, sizeof record->session, "%s",
                   origin->session ? origin->session : "");
    record->submission.origin.address = record->address;
    record->submission.origin.session = origin->session ? record->session : NULL;
    record->next = NULL;
    if (queue->last) queue->last->next = record;
    else queue->first = record;
    queue->last = record;
    if (!queue->waiting) queue->waiting = record;
    queue->count++;
    return record;
}

struct queued_record *record_queue_take(struct record_queue *queue)
{
    struct queued_record *record = queue->waiting;
    if (!record) return NULL;
    queue->waiting = record->next;
    record->state = RECORD_TAKEN;
    return record;
}

/* Ranks of records that are not done. */
struct passed_ranks {
    int64_t items[RECORD_RANKS_AHEAD];
    size_t count;
};

static bool has_passed(const struct passed_ranks *passed, int64_t rank)
{
    for (size_t i = 0; i < passed->count; i++)
        if (passed->items[i] == rank) return true;
    return false;
}

static void take_out(struct record_queue *queue, struct queued_record *before,
                     struct queued_record *record)
{
    if (before) before->next = record->next;
    else queue->first = record->next;
    if (queue->last == record) queue->last = before;
    queue->count--;
}

struct queued_record *record_queue_next_done(struct record_queue *queue)
{
    struct passed_ranks passed = { .count = 0 };
    struct queued_record *before = NULL;
    for (struct queued_record *r = queue->first; r; before = r, r = r->next) {
        if (r->state < RECORD_KNOWN) return NULL;
        if (has_passed(&passed, r->rank)) continue;
        if (r->state == RECORD_DONE) {
            take_out(queue, before, r);
            return r;
        }
        if (passed.count == RECORD_RANKS_AHEAD) return NULL;
        passed.items[passed.count++] = r->rank;
    }
    return NULL;
}

void record_queue_recycle(struct record_queue *queue, struct queued_record *record)
{
    memory_release(record->name);
    record->name = NULL;
    record->reason = status_ok();
    case_outcome_clear(&record->outcome);
    second_rows_clear(&record->second);
    record->next = queue->spare;
    queue->spare = record;
}

static void release_list(struct queued_record *record)
{
    while (record) {
        struct queued_record *next = record->next;
        memory_release(record->name);
        case_outcome_release(&record->outcome);
        second_rows_release(&record->second);
        memory_release(record);
        record = next;
    }
}

void record_queue_release(struct record_queue *queue)
{
    release_list(queue->first);
    release_list(queue->spare);
    *queue = (struct record_queue){ .first = NULL };
}
