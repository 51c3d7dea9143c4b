/* What is done is written, rank by rank in the order of the submissions, and told; another thread makes it durable every
 * two seconds, so that neither waits for a disk. */
#include <stdio.h>

#include "core/clock.h"
#include "online/judge_state.h"

enum {
    SYNC_EVERY_S = 2,
    RETRY_AFTER_S = 1, /* when rows cannot be written */
    APIS_MOST = 65536, /* each of which the summary knows: clients name them */
    PATIENCE_S = 10,   /* with that, at the end */
};

static enum verdict verdict_of(const struct queued_record *record)
{
    return record->fate == RECORD_JUDGED ? record->outcome.forward : VERDICT_BLANK;
}

static struct status write_rows(struct judge *judge, const struct queued_record *record)
{
    const struct rank_entry entry = { .session = record->submission.origin.session,
                                      .sequence = record->submission.origin.sequence,
                                      .step = record->step,
                                      .name = record->name,
                                      .verdict = verdict_of(record) };
    if (!rank_set_wants(&judge->ranks, record->rank) ||
        rank_set_admit(&judge->ranks, record->rank).code)
        return status_ok();
    return rank_set_append(&judge->ranks, record->rank, &entry,
                           record->fate == RECORD_JUDGED ? &record->outcome : NULL,
                           record->fate == RECORD_JUDGED ? &record->second : NULL);
}

/* Write, and wait while that is not possible. False when it is given up. */
static bool write_with_patience(struct judge *judge, const struct queued_record *record)
{
    double since = clock_seconds();
    for (;;) {
        struct status status = write_rows(judge, record);
        pthread_mutex_lock(&judge->lock);
        bool gives_up = judge->stopping || (judge->closing && clock_seconds() - since > PATIENCE_S);
        (void)snprintf(judge->waiting_for, sizeof judge->waiting_for, "%.300s",
                       status.code ? status.text : "");
        if (status.code == STATUS_IO && !gives_up)
            judge_wait_seconds(judge, &judge->syncing, RETRY_AFTER_S);
        pthread_mutex_unlock(&judge->lock);
        if (!status.code) return true;
        if (status.code == STATUS_IO && !gives_up) continue;
        judge_fail(judge, status);
        return false;
    }
}

/* The note of the worst row, for who is told of the record. */
static const char *worst_sentence(const struct queued_record *record)
{
    const struct row_note *worst = NULL;
    if (record->reason.code) return record->reason.text;
    for (size_t i = 0; i < record->outcome.n_notes; i++) {
        const struct row_note *note = &record->outcome.notes[i];
        if (note->verdict == record->outcome.forward && (!worst || note->excess > worst->excess))
            worst = note;
    }
    return worst ? worst->sentence : NULL;
}

static void tell_done(const struct judge *judge, const struct queued_record *record)
{
    const struct record_done done = { .origin = record->submission.origin,
                                      .ticket = record->submission.ticket,
                                      .fate = record->fate,
                                      .name = record->name,
                                      .rank = record->rank,
                                      .step = record->step,
                                      .verdict = verdict_of(record),
                                      .sentence = worst_sentence(record) };
    if (judge->listener.done) judge->listener.done(judge->listener.context, &done);
}

/* A rank that cannot have files has no rows. */
static void refuse_rank(struct judge *judge, struct queued_record *record)
{
    if (!rank_set_wants(&judge->ranks, record->rank)) return;
    struct status status = rank_set_admit(&judge->ranks, record->rank);
    if (!status.code) return;
    judge_tell(judge, record, &status);
    record->fate = RECORD_REFUSED;
    record->reason = status;
}

static struct status summarise(struct judge *judge, const struct queued_record *record)
{
    bool named = record->name && judge->summary.api_names.count < APIS_MOST;
    return summary_add(&judge->summary, &record->outcome, named ? record->name : "Other.APIs.0", 0);
}

/* Rows, counts, and the news of them. False when the judge is over. */
static bool commit(struct judge *judge, struct queued_record *record)
{
    struct status status = status_ok();
    if (record->outcome.fatal.code) return false;
    refuse_rank(judge, record);
    if (!write_with_patience(judge, record)) return false;
    if (record->fate == RECORD_JUDGED) status = summarise(judge, record);
    pthread_mutex_lock(&judge->lock);
    if (!status.code)
        status = judge_live_add(&judge->live, record, verdict_of(record), clock_seconds());
    pthread_mutex_unlock(&judge->lock);
    tell_done(judge, record);
    if (status.code) judge_fail(judge, status);
    return !status.code;
}

/* With the lock, which is open meanwhile. */
static void tell_room(struct judge *judge)
{
    if (!judge->refused_for_room) return;
    judge->refused_for_room = false;
    pthread_mutex_unlock(&judge->lock);
    if (judge->listener.room) judge->listener.room(judge->listener.context);
    pthread_mutex_lock(&judge->lock);
}

void *judge_run_committer(void *context)
{
    struct judge *judge = context;
    bool works = true;
    pthread_mutex_lock(&judge->lock);
    while (!judge->stopping && works && !judge->failure.code) {
        struct queued_record *record = record_queue_next_done(&judge->queue);
        if (!record && judge->closing && !judge->queue.first) break;
        if (!record) {
            pthread_cond_wait(&judge->done, &judge->lock);
            continue;
        }
        judge->committing = record;
        pthread_mutex_unlock(&judge->lock);
        works = commit(judge, record);
        pthread_mutex_lock(&judge->lock);
        judge->committing = NULL;
        record_queue_recycle(&judge->queue, record);
        tell_room(judge);
    }
    pthread_mutex_unlock(&judge->lock);
    return NULL;
}

/* ---- durability --------------------------------------------------------------------------- */

void *judge_run_syncer(void *context)
{
    struct judge *judge = context;
    uint64_t synced = 0;
    pthread_mutex_lock(&judge->lock);
    while (!judge->stopping) {
        judge_wait_seconds(judge, &judge->syncing, SYNC_EVERY_S);
        uint64_t written = judge->live.totals.judged;
        if (written == synced) continue;
        synced = written;
        pthread_mutex_unlock(&judge->lock);
        /* What cannot be synced now is tried again, and by whoever depends on it. */
        (void)rank_set_sync(&judge->ranks);
        pthread_mutex_lock(&judge->lock);
    }
    pthread_mutex_unlock(&judge->lock);
    return NULL;
}

struct status judge_sync(struct judge *judge) { return rank_set_sync(&judge->ranks); }
