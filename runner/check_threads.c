/* A window of outcomes under one lock: threads fill it, the committer empties it from its start. */
#include "runner/check_threads.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "runner/environment.h"

static void announce(struct check_threads *threads)
{
    const uint64_t one = 1;
    /* The counter cannot overflow: it is reset by every read and grows by one per call. */
    ssize_t written = write(threads->ready_fd, &one, sizeof one);
    (void)written;
}

/* A call for a thread. */
struct taken_call {
    const struct check_setup *setup;
    size_t position, index; /* in the dump; among all calls of the run */
};

/* There may be one later, but not now: none is there, or the window is full. */
static bool has_to_wait(const struct check_threads *threads)
{
    if (threads->stopping) return false;
    if (threads->taken == threads->added) return !threads->closed;
    return threads->taken >= threads->committed + CHECK_WINDOW;
}

static struct taken_call take_first(struct check_threads *threads)
{
    const struct check_batch *batch = threads->taking;
    size_t index = threads->taken++, place = index - batch->first;
    if (place + 1 == batch->count) threads->taking = batch->next;
    return (struct taken_call){ batch->setup, batch->positions[place], index };
}

/* The next call, when there is one and the window has room for it. */
static bool take_call(struct taken_call *call, struct check_threads *threads)
{
    pthread_mutex_lock(&threads->mutex);
    while (has_to_wait(threads)) pthread_cond_wait(&threads->may_take, &threads->mutex);
    bool taken = !threads->stopping && threads->taken < threads->added;
    if (taken) *call = take_first(threads);
    pthread_mutex_unlock(&threads->mutex);
    return taken;
}

static void hand_over(struct check_threads *threads, size_t index)
{
    pthread_mutex_lock(&threads->mutex);
    threads->ready[index % CHECK_WINDOW] = true;
    bool next = index == threads->committed;
    pthread_mutex_unlock(&threads->mutex);
    if (next) announce(threads);
}

static void *work(void *context)
{
    struct check_thread *self = context;
    struct check_threads *threads = self->all;
    struct taken_call call;

    (void)environment_restore_arithmetic();
    while (take_call(&call, threads)) {
        struct case_outcome *out = &threads->outcomes[call.index % CHECK_WINDOW];
        self->checker->setup = call.setup;
        if (!case_check(out, self->checker, call.position)) break;
        hand_over(threads, call.index);
    }
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
    pthread_cond_init(&threads->may_take, NULL);
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
                                  size_t n_checkers)
{
    memset(out, 0, sizeof *out);
    out->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (out->ready_fd < 0)
        return status_error(STATUS_IO, "cannot make an event descriptor: %s", strerror(errno));
    open_locks(out);
    for (; out->count < n_checkers; out->count++) {
        int error = start_thread(out, &checkers[out->count]);
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
    pthread_cond_broadcast(&threads->may_take);
    pthread_mutex_unlock(&threads->mutex);
}

void check_threads_close(struct check_threads *threads)
{
    pthread_mutex_lock(&threads->mutex);
    threads->closed = true;
    pthread_cond_broadcast(&threads->may_take);
    pthread_mutex_unlock(&threads->mutex);
}

struct case_outcome *check_threads_next(struct check_threads *threads)
{
    uint64_t count;
    ssize_t got = read(threads->ready_fd, &count, sizeof count);
    (void)got;
    pthread_mutex_lock(&threads->mutex);
    size_t slot = threads->committed % CHECK_WINDOW;
    bool ready = threads->ready[slot];
    pthread_mutex_unlock(&threads->mutex);
    return ready ? &threads->outcomes[slot] : NULL;
}

void check_threads_commit(struct check_threads *threads)
{
    pthread_mutex_lock(&threads->mutex);
    threads->ready[threads->committed % CHECK_WINDOW] = false;
    threads->committed++;
    pthread_cond_broadcast(&threads->may_take);
    pthread_mutex_unlock(&threads->mutex);
}

void check_threads_stop(struct check_threads *threads)
{
    pthread_mutex_lock(&threads->mutex);
    threads->stopping = true;
    pthread_cond_broadcast(&threads->may_take);
    pthread_mutex_unlock(&threads->mutex);
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
    for (size_t i = 0; i < CHECK_WINDOW; i++) case_outcome_release(&threads->outcomes[i]);
    pthread_cond_destroy(&threads->may_take);
    pthread_cond_destroy(&threads->thread_ended);
    pthread_mutex_destroy(&threads->mutex);
    (void)close(threads->ready_fd);
}
