/* Threads take records from the queue and check them (judge_record.c); the committer writes what is done, and a third
 * kind makes it durable (judge_committer.c). */
#include "online/judge.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "online/judge_report.h"
#include "online/judge_state.h"
#include "runner/environment.h"
#include "runner/run_report.h"

enum {
    RECORDS_MOST = 1024, /* that wait or are in work */
    /* Of the values of a record, beside copies of its elements: at least, and at most. */
    DECODED_LEAST = 4 << 20,
    DECODED_MOST = 64 << 20,
};

/* ---- for all threads ---------------------------------------------------------------------- */

void judge_wait_seconds(struct judge *judge, pthread_cond_t *condition, int seconds)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    (void)pthread_cond_timedwait(condition, &judge->lock, &until);
}

void judge_fail(struct judge *judge, struct status why)
{
    pthread_mutex_lock(&judge->lock);
    if (!judge->failure.code) judge->failure = why;
    pthread_cond_signal(&judge->done);
    pthread_mutex_unlock(&judge->lock);
}

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
    int error = pthread_create(&judge->committer, NULL, judge_run_committer, judge);
    judge->has_committer = !error;
    if (!error) error = pthread_create(&judge->syncer, NULL, judge_run_syncer, judge);
    judge->has_syncer = judge->has_committer && !error;
    size_t wanted = judge->checkers.count;
    if (judge->second && second_count(judge->second) < wanted) wanted = second_count(judge->second);
    for (size_t i = 0; !error && i < wanted; i++) {
        struct judge_thread *thread = &judge->threads[i];
        thread->judge = judge;
        thread->decoded.keep_bytes = DECODED_LEAST;
        thread->checker = &judge->checkers.items[i];
        error = pthread_create(&thread->id, NULL, judge_run_thread, thread);
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
        if (r->submission.body) judge_release_body(judge, r);
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
