/* Threads take records from the queue and check them; the committer writes what is done, rank by rank in the order
 * of the submissions; a third kind makes it durable every two seconds, so that neither waits for a disk. */
#include "online/judge.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "online/judge_live.h"
#include "online/judge_report.h"
#include "online/rank_set.h"
#include "online/record_queue.h"
#include "online/second_device.h"
#include "report/summary.h"
#include "runner/check_threads.h"
#include "runner/checkers.h"
#include "runner/environment.h"
#include "runner/run_inputs.h"
#include "runner/run_report.h"

enum {
    RECORDS_MOST = 1024, /* that wait or are in work */
    /* Of the values of a record, beside copies of its elements: at least, and at most. */
    DECODED_LEAST = 4 << 20,
    DECODED_MOST = 64 << 20,
    SYNC_EVERY_S = 2,
    RETRY_AFTER_S = 1, /* when rows cannot be written */
    APIS_MOST = 65536, /* each of which the summary knows: clients name them */
    PATIENCE_S = 10,   /* with that, at the end */
};

struct judge_thread {
    struct judge *judge;
    struct checker *checker;
    struct arena decoded; /* of the record at hand */
    pthread_t id;
};

struct judge {
    struct run_options options; /* with the memory of the checkers */
    struct judge_listener listener;
    struct run_inputs inputs;
    struct checkers checkers;
    struct check_setup setup;
    struct second_device *second; /* or NULL */
    struct rank_set ranks;
    bool has_ranks;
    uint64_t queue_bytes, decoded_bytes;

    pthread_mutex_t lock; /* of what follows, up to the threads */
    pthread_cond_t work, done, syncing;
    struct record_queue queue;
    const struct queued_record *committing; /* the committer has it */
    uint64_t bytes_held;
    bool refused_for_room; /* a submission, since room() was called last */
    bool closing;          /* nothing will be submitted */
    bool stopping;         /* nothing will be written */
    struct status failure;
    char waiting_for[JUDGE_SENTENCE_BYTES];
    struct judge_live live;

    pthread_mutex_t telling; /* of options.warnings */
    struct summary summary;  /* the committer's */
    struct judge_thread threads[CHECK_THREADS_MAX];
    size_t n_threads;
    pthread_t committer, syncer;
    bool has_committer, has_syncer;
};

/* ---- small things ------------------------------------------------------------------------- */

/* With the lock. */
static void wait_seconds(struct judge *judge, pthread_cond_t *condition, int seconds)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    (void)pthread_cond_timedwait(condition, &judge->lock, &until);
}

static void fail(struct judge *judge, struct status why)
{
    pthread_mutex_lock(&judge->lock);
    if (!judge->failure.code) judge->failure = why;
    pthread_cond_signal(&judge->done);
    pthread_mutex_unlock(&judge->lock);
}

/* "frame 12 of 10.0.0.7:41234" */
static void describe_place(char *out, size_t bytes, const struct record_origin *origin)
{
    (void)snprintf(out, bytes, "frame %llu%s%.80s", (unsigned long long)origin->sequence,
                   origin->address && *origin->address ? " of " : "",
                   origin->address ? origin->address : "");
}

static void tell(struct judge *judge, const struct queued_record *record, const struct status *why)
{
    char place[128];
    describe_place(place, sizeof place, &record->submission.origin);
    pthread_mutex_lock(&judge->telling);
    if (record->name) warn(judge->options.warnings, "%s: %s: %s", place, record->name, why->text);
    else warn(judge->options.warnings, "%s: %s", place, why->text);
    pthread_mutex_unlock(&judge->telling);
}

/* ---- one record --------------------------------------------------------------------------- */

static void release_body(struct judge *judge, struct queued_record *record)
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
    if (record->unusable.code) tell(judge, queued, &record->unusable);
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
        fail(judge, queued->outcome.fatal);
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
        tell(judge, queued, &status);
    }
    arena_reset(&self->decoded);
    release_body(judge, queued);
}

static void *run_thread(void *context)
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

/* ---- the committer ------------------------------------------------------------------------ */

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
            wait_seconds(judge, &judge->syncing, RETRY_AFTER_S);
        pthread_mutex_unlock(&judge->lock);
        if (!status.code) return true;
        if (status.code == STATUS_IO && !gives_up) continue;
        fail(judge, status);
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
    tell(judge, record, &status);
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
    if (status.code) fail(judge, status);
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

static void *run_committer(void *context)
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

static void *run_syncer(void *context)
{
    struct judge *judge = context;
    uint64_t synced = 0;
    pthread_mutex_lock(&judge->lock);
    while (!judge->stopping) {
        wait_seconds(judge, &judge->syncing, SYNC_EVERY_S);
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

/* ---- opening ------------------------------------------------------------------------------ */

static void open_locks(struct judge *judge)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&judge->lock, NULL);
    pthread_mutex_init(&judge->telling, NULL);
    pthread_cond_init(&judge->work, NULL);
    pthread_cond_init(&judge->done, NULL);
    pthread_cond_init(&judge->syncing, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* A quarter of the memory is for what waits, an eighth for the values of what is being decoded, the rest works. */
static struct status divide_memory(struct judge *judge, const struct judge_config *config)
{
    const struct run_options *o = &judge->options;
    uint64_t granted = o->memory_bytes ? o->memory_bytes : memory_available_bytes() / 10 * 6;
    uint64_t threads = (uint64_t)(o->threads ? o->threads : environment_cores());
    uint64_t decoded = granted / 8 / threads;
    if (decoded < DECODED_LEAST) decoded = DECODED_LEAST;
    if (decoded > DECODED_MOST) decoded = DECODED_MOST;
    uint64_t waits = config->queue_bytes ? config->queue_bytes : granted / 4;
    uint64_t taken = waits + threads * decoded;
    if (taken >= granted)
        return status_error(STATUS_BAD_ARGUMENT,
                            "%s of memory are too little for the records that wait and are in work "
                            "(--memory)",
                            quantity_bytes(granted).text);
    judge->queue_bytes = waits;
    judge->decoded_bytes = decoded;
    judge->options.memory_bytes = granted - taken;
    return status_ok();
}

static struct status take_earlier(void *context, int64_t rank, const struct rank_entry *entry)
{
    struct judge *judge = context;
    const char *verdict = verdict_name(entry->verdict);
    if (entry->verdict != VERDICT_BLANK)
        summary_add_earlier(&judge->summary, (struct csv_text){ verdict, strlen(verdict) },
                            (struct csv_text){ " ", 1 });
    return judge_live_add_earlier(&judge->live, rank, entry);
}

static struct status open_ranks(struct judge *judge, const struct judge_config *config)
{
    const struct run_options *o = &judge->options;
    const struct rank_set_request request = {
        .out_path = o->out_path,
        .earlier = o->result_csv_path,
        .ranks = config->ranks,
        .n_ranks = config->n_ranks,
        .options = { .record = &judge->inputs.record,
                     .layout = profile_rules(judge->inputs.profile)->layout,
                     .language = header_language_from_name(o->columns),
                     .policy = o->file_policy,
                     .has_second = judge->second != NULL },
        .visit = take_earlier,
        .context = judge,
    };
    judge->has_ranks = true;
    return rank_set_open(&judge->ranks, &request);
}

static struct status start_threads(struct judge *judge)
{
    int error = pthread_create(&judge->committer, NULL, run_committer, judge);
    judge->has_committer = !error;
    if (!error) error = pthread_create(&judge->syncer, NULL, run_syncer, judge);
    judge->has_syncer = judge->has_committer && !error;
    size_t wanted = judge->checkers.count;
    if (judge->second && second_count(judge->second) < wanted) wanted = second_count(judge->second);
    for (size_t i = 0; !error && i < wanted; i++) {
        struct judge_thread *thread = &judge->threads[i];
        thread->judge = judge;
        thread->decoded.keep_bytes = DECODED_LEAST;
        thread->checker = &judge->checkers.items[i];
        error = pthread_create(&thread->id, NULL, run_thread, thread);
        if (!error) judge->n_threads++;
    }
    /* Fewer threads give the same files. */
    if (!error || judge->n_threads) return status_ok();
    return status_error(STATUS_IO, "cannot start a thread: %s", strerror(error));
}

static struct status open_second(struct judge *judge, const struct judge_config *config)
{
    const struct row_layout *layout = profile_rules(judge->inputs.profile)->layout;
    if (!config->second_backend) return status_ok();
    TRY(second_open(&judge->second, &judge->options, config->second_backend, layout,
                    judge->inputs.lists.precision));
    return run_record_add_text(&judge->inputs.record, "second_backend", config->second_backend);
}

static struct status open_all(struct judge *judge, const struct judge_config *config)
{
    TRY(run_report_check(&judge->options, NULL));
    TRY(divide_memory(judge, config));
    TRY(run_inputs_open_online(&judge->inputs, &judge->options));
    TRY(checkers_open(&judge->checkers, &judge->options, judge->inputs.backend, SIZE_MAX));
    judge->setup = checkers_setup(&judge->checkers, &judge->options, &judge->inputs, NULL);
    TRY(open_second(judge, config));
    TRY(open_ranks(judge, config));
    return start_threads(judge);
}

struct status judge_open(struct judge **out, const struct judge_config *config)
{
    struct judge *judge = memory_allocate_zeroed(1, sizeof *judge);
    *out = NULL;
    if (!judge) return status_no_memory(sizeof *judge);
    judge->options = *config->options;
    judge->listener = config->listener;
    judge->live.started_s = clock_seconds();
    open_locks(judge);
    struct status status = open_all(judge, config);
    if (status.code) judge_close(judge);
    else *out = judge;
    return status;
}

/* ---- submissions -------------------------------------------------------------------------- */

/* With the lock: what is decoded of a body may be a copy of it. */
static bool has_room(const struct judge *judge, size_t bytes)
{
    if (judge->queue.count >= RECORDS_MOST || judge->waiting_for[0]) return false;
    if (!judge->bytes_held) return true;
    return judge->bytes_held < judge->queue_bytes / 2 &&
           bytes <= judge->queue_bytes / 2 - judge->bytes_held;
}

static struct status add_record(bool *taken, struct judge *judge,
                                const struct judge_submission *submission)
{
    if (judge->failure.code) return judge->failure;
    *taken = has_room(judge, submission->bytes);
    judge->refused_for_room |= !*taken;
    if (!*taken) return status_ok();
    struct queued_record *record = record_queue_add(&judge->queue, submission);
    *taken = record != NULL;
    if (!record) return status_no_memory(sizeof *record);
    record->since_s = clock_seconds();
    judge->bytes_held += submission->bytes;
    judge->live.totals.submitted++;
    pthread_cond_signal(&judge->work);
    return status_ok();
}

struct status judge_submit(bool *taken, struct judge *judge,
                           const struct judge_submission *submission)
{
    const struct record_origin *origin = &submission->origin;
    *taken = false;
    if (origin->session && strlen(origin->session) >= RECORD_SESSION_BYTES)
        return status_error(STATUS_BAD_ARGUMENT, "the name of a session has %d bytes at most",
                            RECORD_SESSION_BYTES - 1);
    pthread_mutex_lock(&judge->lock);
    struct status status = add_record(taken, judge, submission);
    pthread_mutex_unlock(&judge->lock);
    return status;
}

uint64_t judge_committed(struct judge *judge, const char *session)
{
    return rank_set_committed(&judge->ranks, session);
}

uint64_t judge_bytes_held(struct judge *judge)
{
    pthread_mutex_lock(&judge->lock);
    uint64_t bytes = judge->bytes_held;
    pthread_mutex_unlock(&judge->lock);
    return bytes;
}

bool judge_is_idle(struct judge *judge)
{
    pthread_mutex_lock(&judge->lock);
    bool idle = !judge->queue.first && !judge->committing;
    pthread_mutex_unlock(&judge->lock);
    return idle;
}

struct status judge_failure(struct judge *judge)
{
    pthread_mutex_lock(&judge->lock);
    struct status failure = judge->failure;
    pthread_mutex_unlock(&judge->lock);
    return failure;
}

/* ---- what is going on --------------------------------------------------------------------- */

struct status judge_progress(struct judge_totals *totals, struct judge_cell **cells,
                             size_t *n_cells, struct arena *arena, struct judge *judge)
{
    pthread_mutex_lock(&judge->lock);
    judge_live_totals(totals, &judge->live, &judge->queue, clock_seconds());
    totals->waiting_bytes = judge->bytes_held;
    memcpy(totals->waiting_for, judge->waiting_for, sizeof totals->waiting_for);
    *n_cells = judge->live.n_cells;
    *cells = arena_allocate_array(arena, *n_cells, sizeof **cells);
    if (*cells && *n_cells) memcpy(*cells, judge->live.cells, *n_cells * sizeof **cells);
    pthread_mutex_unlock(&judge->lock);
    return *cells ? status_ok() : status_no_memory(*n_cells * sizeof **cells);
}

bool judge_files(const char *paths[4], struct arena *arena, struct judge *judge, int64_t rank)
{
    const struct rank_files *files = rank_set_find(&judge->ranks, rank);
    if (!files) return false;
    paths[RESULT_CALLS] = arena_copy_string(arena, files->files.result_path);
    paths[RESULT_DETAILS] = arena_copy_string(arena, files->files.details_path);
    paths[RESULT_EVIDENCE] = arena_copy_string(arena, files->files.evidence_path);
    paths[RESULT_RUN] = arena_copy_string(arena, files->files.run_path);
    return paths[RESULT_CALLS] && paths[RESULT_DETAILS] && paths[RESULT_EVIDENCE] &&
           paths[RESULT_RUN];
}

/* ---- the end ------------------------------------------------------------------------------ */

static void stop_threads(struct judge *judge)
{
    pthread_mutex_lock(&judge->lock);
    judge->closing = true;
    pthread_cond_broadcast(&judge->work);
    pthread_cond_broadcast(&judge->done);
    pthread_mutex_unlock(&judge->lock);
    for (; judge->n_threads; judge->n_threads--)
        (void)pthread_join(judge->threads[judge->n_threads - 1].id, NULL);
    pthread_mutex_lock(&judge->lock);
    pthread_cond_broadcast(&judge->done);
    pthread_mutex_unlock(&judge->lock);
    if (judge->has_committer) (void)pthread_join(judge->committer, NULL);
    judge->has_committer = false;
    pthread_mutex_lock(&judge->lock);
    judge->stopping = true;
    pthread_cond_broadcast(&judge->syncing);
    pthread_mutex_unlock(&judge->lock);
    if (judge->has_syncer) (void)pthread_join(judge->syncer, NULL);
    judge->has_syncer = false;
}

struct status judge_finish(int *exit_status, struct judge *judge)
{
    struct judge_totals totals;
    size_t threads = judge->n_threads;
    stop_threads(judge);
    judge_live_totals(&totals, &judge->live, &judge->queue, clock_seconds());
    struct status synced = rank_set_sync(&judge->ranks);
    const struct judge_outcome outcome = { .summary = &judge->summary,
                                           .ranks = &judge->ranks,
                                           .totals = &totals,
                                           .record = &judge->inputs.record,
                                           .profile = profile_name(judge->inputs.profile),
                                           .threads = threads,
                                           .has_second = judge->second != NULL };
    struct status status = judge_report(exit_status, &judge->options, &outcome);
    if (judge->failure.code) return judge->failure;
    if (status.code) return status;
    if (judge->summary.internal_errors)
        return status_error(STATUS_INTERNAL,
                            "%zu calls met an internal error, which is a fault of this program; "
                            "their rows are SKIP and name it",
                            judge->summary.internal_errors);
    return synced;
}

void judge_close(struct judge *judge)
{
    if (!judge) return;
    pthread_mutex_lock(&judge->lock);
    judge->stopping = true;
    pthread_cond_broadcast(&judge->syncing);
    pthread_mutex_unlock(&judge->lock);
    if (judge->checkers.has_gates) memory_budget_close(&judge->checkers.budget);
    stop_threads(judge);
    for (struct queued_record *r = judge->queue.first; r; r = r->next)
        if (r->submission.body) release_body(judge, r);
    record_queue_release(&judge->queue);
    for (size_t i = 0; i < CHECK_THREADS_MAX; i++) arena_release(&judge->threads[i].decoded);
    if (judge->has_ranks) rank_set_close(&judge->ranks);
    second_close(judge->second);
    checkers_close(&judge->checkers);
    run_inputs_close(&judge->inputs);
    judge_live_release(&judge->live);
    summary_release(&judge->summary);
    pthread_cond_destroy(&judge->work);
    pthread_cond_destroy(&judge->done);
    pthread_cond_destroy(&judge->syncing);
    pthread_mutex_destroy(&judge->telling);
    pthread_mutex_destroy(&judge->lock);
    memory_release(judge);
}
