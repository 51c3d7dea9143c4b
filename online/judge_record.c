/* One record after the other: taken from the queue, decoded and checked. */
#include <stdio.h>

#include "core/memory.h"
#include "online/judge_state.h"
#include "runner/environment.h"

/* "frame 12 of 10.0.0.7:41234" */
static void describe_place(char *out, size_t bytes, const struct record_origin *origin)
{
    (void)snprintf(out, bytes, "frame %llu%s%.80s", (unsigned long long)origin->sequence,
                   origin->address && *origin->address ? " of " : "",
                   origin->address ? origin->address : "");
}

void judge_tell(struct judge *judge, const struct queued_record *record, const struct status *why)
{
    char place[128];
    describe_place(place, sizeof place, &record->submission.origin);
    pthread_mutex_lock(&judge->telling);
    if (record->name) warn(judge->options.warnings, "%s: %s: %s", place, record->name, why->text);
    else warn(judge->options.warnings, "%s: %s", place, why->text);
    pthread_mutex_unlock(&judge->telling);
}

void judge_release_body(struct judge *judge, struct queued_record *record)
{
    struct judge_submission *s = &record->submission;
    if (judge->listener.release) judge->listener.release(judge->listener.context, s);
    else memory_release(s->body);
    s->body = NULL;
    pthread_mutex_lock(&judge->lock);
    judge->bytes_held -= s->bytes;
    pthread_mutex_unlock(&judge->lock);
}

static void publish_rank(struct judge *judge, struct queued_record *record, int64_t rank,
                         int64_t step)
{
    pthread_mutex_lock(&judge->lock);
    record->rank = rank;
    record->step = step;
    record->state = RECORD_KNOWN;
    pthread_cond_signal(&judge->done);
    pthread_mutex_unlock(&judge->lock);
}

/* Of the command line too: what --only and --skip leave out has no rows. */
static bool is_left_out(const struct api_lists *lists, const struct api_case *call)
{
    return (lists->only.count && !call_patterns_match(&lists->only, call, NULL)) ||
           call_patterns_match(&lists->skip, call, NULL);
}

/* What keeps a known call from being checked. False: it has no rows at all. */
static bool find_obstacle(struct case_obstacle *out, const struct judge *judge,
                          const struct record *record)
{
    const struct api_lists *lists = &judge->inputs.lists;
    *out = (struct case_obstacle){ .cause = CAUSE_NO_INPUTS };
    if (is_left_out(lists, &record->call)) return false;
    out->status = api_lists_admit(&out->cause, lists, &record->call);
    if (out->status.code) return out->cause != CAUSE_LISTS;
    out->cause = CAUSE_NO_INPUTS;
    out->status = record->unusable;
    if (!out->status.code && !record->inputs_before)
        out->status = record_writes_arguments(&record->call);
    return true;
}

static void check_record(struct judge_thread *self, struct queued_record *queued,
                         const struct record *record)
{
    struct judge *judge = self->judge;
    struct case_obstacle obstacle;
    const struct call_place place = { .step = record->step,
                                      .sequence = queued->submission.origin.sequence,
                                      .session = queued->submission.origin.session };
    if (!rank_set_wants(&judge->ranks, queued->rank) || !find_obstacle(&obstacle, judge, record)) {
        queued->fate = RECORD_FILTERED;
        return;
    }
    queued->fate = RECORD_JUDGED;
    if (record->unusable.code) judge_tell(judge, queued, &record->unusable);
    self->checker->setup = &judge->setup;
    struct second_check second = { .device = NULL };
    if (judge->second)
        second = second_check_begin(judge->second, (size_t)(self - judge->threads), &record->call);
    if (!case_check_record(&queued->outcome, judge->second ? &second : NULL, self->checker,
                           &record->call, obstacle.status.code ? &obstacle : NULL, &place))
        queued->outcome.fatal = status_error(STATUS_INTERRUPTED, "the judge was stopped");
    else if (judge->second && !queued->outcome.fatal.code)
        queued->outcome.fatal =
            second_check_end(&queued->second, judge->second, &second, &queued->outcome);
    if (queued->outcome.fatal.code && queued->outcome.fatal.code != STATUS_INTERRUPTED)
        judge_fail(judge, queued->outcome.fatal);
}

static struct status decode(struct record *out, struct judge_thread *self,
                            const struct queued_record *queued)
{
    const struct judge_submission *s = &queued->submission;
    self->decoded.limit_met = false;
    self->decoded.limit_bytes = self->judge->decoded_bytes + s->bytes;
    /* Where it came from is told beside it, and must not be in its rows. */
    return s->decode(out, &self->decoded, s->body, s->bytes, "the record");
}

static void judge_record(struct judge_thread *self, struct queued_record *queued)
{
    struct judge *judge = self->judge;
    struct record record;
    struct status status = decode(&record, self, queued);
    if (!status.code) {
        publish_rank(judge, queued, record.has_rank ? record.rank : queued->rank, record.step);
        queued->name = memory_copy_string(record.call.full_name);
        check_record(self, queued, &record);
    } else {
        queued->fate = RECORD_REFUSED;
        queued->reason = status;
        judge_tell(judge, queued, &status);
    }
    arena_reset(&self->decoded);
    judge_release_body(judge, queued);
}

void *judge_run_thread(void *context)
{
    struct judge_thread *self = context;
    struct judge *judge = self->judge;
    (void)environment_restore_arithmetic();
    pthread_mutex_lock(&judge->lock);
    while (!judge->stopping && !judge->failure.code) {
        struct queued_record *record = record_queue_take(&judge->queue);
        if (!record && judge->closing) break;
        if (!record) {
            pthread_cond_wait(&judge->work, &judge->lock);
            continue;
        }
        pthread_mutex_unlock(&judge->lock);
        judge_record(self, record);
        pthread_mutex_lock(&judge->lock);
        record->state = RECORD_DONE;
        pthread_cond_signal(&judge->done);
    }
    pthread_mutex_unlock(&judge->lock);
    environment_leave_thread();
    return NULL;
}
