/* Runs of accepted sequences, looked through from the newest. */
#include "online/peer_history.h"

#include <string.h>

#include "core/growing.h"
#include "core/memory.h"

static bool is_of_run(const struct peer_run *run, const struct peer_numbers *frame)
{
    return run->first.rank == frame->rank && run->first.step == frame->step;
}

bool peer_history_has(const struct peer_history *history, const struct peer_numbers *frame)
{
    for (size_t i = history->count; i-- > 0;) {
        const struct peer_run *run = &history->runs[i];
        if (is_of_run(run, frame) && frame->sequence >= run->first.sequence &&
            frame->sequence <= run->last)
            return true;
    }
    return false;
}

static bool same_frame(const struct peer_numbers *a, const struct peer_numbers *b)
{
    return a->sequence == b->sequence && a->rank == b->rank && a->step == b->step;
}

static void remove_damaged(struct peer_history *history, size_t at)
{
    history->n_damaged--;
    memmove(&history->damaged[at], &history->damaged[at + 1],
            (history->n_damaged - at) * sizeof history->damaged[0]);
}

static void repair(struct peer_history *history, const struct peer_numbers *frame)
{
    for (size_t i = 0; i < history->n_damaged; i++)
        if (same_frame(&history->damaged[i], frame)) {
            remove_damaged(history, i);
            return;
        }
}

static struct status make_room(struct peer_history *history)
{
    if (history->count < history->capacity) return status_ok();
    if (history->capacity == PEER_RUNS_MAX) {
        history->count--;
        memmove(&history->runs[0], &history->runs[1], history->count * sizeof history->runs[0]);
        return status_ok();
    }
    return array_make_room(&history->runs, &history->capacity, history->count,
                           sizeof *history->runs);
}

struct status peer_history_accept(struct peer_history *history, const struct peer_numbers *frame)
{
    repair(history, frame);
    struct peer_run *newest = history->count ? &history->runs[history->count - 1] : NULL;
    if (newest && is_of_run(newest, frame) && frame->sequence &&
        newest->last == frame->sequence - 1) {
        newest->last = frame->sequence;
        return status_ok();
    }
    TRY(make_room(history));
    history->runs[history->count++] = (struct peer_run){ *frame, frame->sequence };
    return status_ok();
}

void peer_history_damage(struct peer_history *history, const struct peer_numbers *frame)
{
    repair(history, frame);
    if (history->n_damaged == PEER_DAMAGED_MAX) remove_damaged(history, 0);
    history->damaged[history->n_damaged++] = *frame;
}

void peer_history_release(struct peer_history *history)
{
    memory_release(history->runs);
    *history = (struct peer_history){ .runs = NULL };
}
