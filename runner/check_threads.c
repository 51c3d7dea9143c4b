/* A window of outcomes under one lock: threads fill it, the committer empties it from its start. */
#include "runner/check_threads.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "runner/environment.h"

/* The committer hears of outcomes that are so many, or that come so long after the last ones it heard
 * of. Waking it costs some 10 us, a small call as much. */
enum { TOLD_CALLS = 256 };
static const double told_every_s = 0.005;

static void announce(struct check_threads *threads)
{
    const uint64_t one = 1;
    /* The counter cannot overflow: it is reset by every read and grows by one call at most. */
    ssize_t written = write(threads->ready_fd, &one, sizeof one);
    (void)written;
}

/* A call for a thread. */
struct taken_call {
    const struct check_setup *setup;
    size_t position, index; /* in the dump; among all calls of the run */
};

/* There may be one later, but not now: none is there, or the window is full. Or there is none, but others are still
 * at work. */
static bool has_to_wait(const struct check_threads *threads)
{
    if (threads->stopping) return false;
    if (threads->taken == threads->added)
        return !threads->closed || threads->finished < threads->added;
    return threads->taken >= threads->committed + CHECK_WINDOW;
}

static bool waits(void *context)
{
    struct check_threads *threads = context;
    pthread_mutex_lock(&threads->mutex);
    bool has_to = has_to_wait(threads);
    pthread_mutex_unlock(&threads->mutex);
    return has_to;
}

/* Among the last calls, which are of one batch, another one may come first. */
static size_t next_index(struct check_threads *threads)
{
    if (threads->taken < threads->last_first || !last_calls_left(&threads->last_calls))
        return threads->taken;
    return threads->last_first + last_calls_take(&threads->last_calls);
}

static struct taken_call take_next(struct check_threads *threads)
{
    const struct check_batch *batch = threads->taking;
    size_t index = next_index(threads);
    threads->taken++;
    if (threads->taken == batch->first + batch->count) threads->taking = batch->next;
    return (struct taken_call){ batch->setup, batch->positions[index - batch->first], index };
}

/* The next call, when there is one and the window has room for it. Until then others are helped. */
static bool take_call(struct taken_call *call, struct check_threads *threads,
                      struct checker *checker)
{
    pthread_mutex_lock(&threads->mutex);
    while (has_to_wait(threads)) {
        threads->waiting++;
        pthread_mutex_unlock(&threads->mutex);
        team_help(threads->team, &checker->arena, waits, threads);
        pthread_mutex_lock(&threads->mutex);
        threads->waiting--;
    }
    bool taken = !threads->stopping && threads->taken < threads->added;
    if (taken) *call = take_next(threads);
    pthread_mutex_unlock(&threads->mutex);
    return taken;
}

/* Is the committer to hear of what is finished now? Of the last calls at once: there may be no others
 * that could wake it. */
static bool is_worth_telling(const struct check_threads *threads, double now_s)
{
    size_t news = threads->finished - threads->told;
    return news >= TOLD_CALLS || (news && (threads->finished == threads->added ||
                                           threads->finished >= threads->committed + CHECK_WINDOW ||
                                           now_s - threads->told_s >= told_every_s));
}

static void hand_over(struct check_threads *threads, size_t index)
{
    double now_s = clock_seconds();
    pthread_mutex_lock(&threads->mutex);
    threads->ready[index % CHECK_SLOTS] = true;
    while (threads->finished < threads->committed + CHECK_SLOTS &&
           threads->ready[threads->finished % CHECK_SLOTS])
        threads->finished++;
    bool tell = is_worth_telling(threads, now_s);
    if (tell) {
        threads->told = threads->finished;
        threads->told_s = now_s;
    }
    bool ended = threads->closed && threads->finished == threads->added;
    pthread_mutex_unlock(&threads->mutex);
    if (tell) announce(threads);
    if (ended) team_wake(threads->team);
}

static void *work(void *context)
{
    struct check_thread *self = context;
    struct check_threads *threads = self->all;
    struct taken_call call;

    (void)environment_restore_arithmetic();
    while (take_call(&call, threads, self->checker)) {
        struct case_outcome *out = &threads->outcomes[call.index % CHECK_SLOTS];
        self->checker->setup = call.setup;
        if (!case_check(out, self->checker, call.position)) break;
        hand_over(threads, call.index);
        if (self->checker->once) break;
    }
    if (self->checker->once) arena_release(&self->checker->arena);
    environment_leave_thread();

    pthread_mutex_lock(&threads->mutex);
    threads->running--;
    pthread_cond_signal(&threads->thread_ended);
    pthread_mutex_unlock(&threads->mutex);
    announce(threads);
    return NULL;
}

/* Durations of waiting are measured by the clock that nobody sets. */
static void open_locks(struct check_threads *threads)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&threads->mutex, NULL);
    pthread_cond_init(&threads->thread_ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static int start_thread(struct check_threads *threads, struct checker *checker)
{
    struct check_thread *thread = &threads->items[threads->count];
    *thread = (struct check_thread){ .all = threads, .checker = checker };
    pthread_mutex_lock(&threads->mutex);
    threads->running++;
    pthread_mutex_unlock(&threads->mutex);
    int error = pthread_create(&thread->id, NULL, work, thread);
    if (!error) return 0;
    pthread_mutex_lock(&threads->mutex);
    threads->running--;
    pthread_mutex_unlock(&threads->mutex);
    return error;
}

struct status check_threads_start(struct check_threads *out, struct checker *checkers,
                                  size_t n_checkers, struct team *team)
{
    out->team = team;
    out->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (out->ready_fd < 0)
        return status_error(STATUS_IO, "cannot make an event descriptor: %s", strerror(errno));
    open_locks(out);
    for (; out->count < n_checkers; out->count++) {
        int error = start_thread(out, &checkers[out->count]);
        if (!error) out->lasting += !checkers[out->count].once;
        if (!error) continue;
        /* Fewer threads give the same files. */
        if (out->count) break;
        check_threads_end(out);
        return status_error(STATUS_IO, "cannot start a thread: %s", strerror(error));
    }
    return status_ok();
}

void check_threads_add(struct check_threads *threads, struct check_batch *batch)
{
    if (!batch->count) return;
    pthread_mutex_lock(&threads->mutex);
    batch->first = threads->added;
    batch->next = NULL;
    threads->added += batch->count;
    if (threads->taking) threads->last->next = batch;
    else threads->taking = batch;
    threads->last = batch;
    pthread_mutex_unlock(&threads->mutex);
    team_wake(threads->team);
}

/* Those that were taken meanwhile are left to go on in order: without estimates. */
void check_threads_expect(struct check_threads *threads, const double *seconds, size_t count)
{
    pthread_mutex_lock(&threads->mutex);
    size_t first = threads->added - count;
    size_t gone = threads->taken > first ? threads->taken - first : 0;
    threads->last_first = first + gone;
    last_calls_open(&threads->last_calls, seconds + gone, count - gone, threads->lasting);
    pthread_mutex_unlock(&threads->mutex);
}

void check_threads_close(struct check_threads *threads)
{
    pthread_mutex_lock(&threads->mutex);
    threads->closed = true;
    pthread_mutex_unlock(&threads->mutex);
    team_wake(threads->team);
}

size_t check_threads_ready(struct check_threads *threads)
{
    uint64_t count;
    ssize_t got = read(threads->ready_fd, &count, sizeof count);
    (void)got;
    pthread_mutex_lock(&threads->mutex);
    size_t ready = threads->finished - threads->committed;
    threads->told = threads->finished;
    pthread_mutex_unlock(&threads->mutex);
    return ready;
}

/* Only the committer moves `committed`, and what lies between it and `finished` is the committer's. */
struct case_outcome *check_threads_outcome(struct check_threads *threads, size_t i)
{
    return &threads->outcomes[(threads->committed + i) % CHECK_SLOTS];
}

void check_threads_commit(struct check_threads *threads, size_t count)
{
    pthread_mutex_lock(&threads->mutex);
    for (size_t i = 0; i < count; i++)
        threads->ready[(threads->committed + i) % CHECK_SLOTS] = false;
    threads->committed += count;
    bool waiting = threads->waiting;
    pthread_mutex_unlock(&threads->mutex);
    if (waiting) team_wake(threads->team);
}

void check_threads_stop(struct check_threads *threads)
{
    pthread_mutex_lock(&threads->mutex);
    threads->stopping = true;
    pthread_mutex_unlock(&threads->mutex);
    team_wake(threads->team);
}

bool check_threads_ended(struct check_threads *threads, int wait_ms)
{
    struct timespec until;
    int error = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&threads->mutex);
    while (threads->running && !error)
        error = pthread_cond_timedwait(&threads->thread_ended, &threads->mutex, &until);
    bool ended = !threads->running;
    pthread_mutex_unlock(&threads->mutex);
    return ended;
}

void check_threads_end(struct check_threads *threads)
{
    check_threads_stop(threads);
    for (size_t i = 0; i < threads->count; i++) (void)pthread_join(threads->items[i].id, NULL);
    for (size_t i = 0; i < CHECK_SLOTS && i < threads->added; i++)
        case_outcome_release(&threads->outcomes[i]);
    pthread_cond_destroy(&threads->thread_ended);
    pthread_mutex_destroy(&threads->mutex);
    (void)close(threads->ready_fd);
}
