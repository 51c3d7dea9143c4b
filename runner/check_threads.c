#include "runner/check_threads.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "runner/environment.h"

static void announce(struct workers *workers)
{
    const uint64_t one = 1;
    /* The counter cannot overflow: it is reset by every read and grows by one per call. */
    ssize_t written = write(workers->ready_fd, &one, sizeof one);
    (void)written;
}

/* The next call, when there is one and the window has room for it. */
static bool take_call(size_t *index, struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    while (!workers->stopping && workers->taken < workers->n_positions &&
           workers->taken >= workers->committed + WORKERS_WINDOW)
        pthread_cond_wait(&workers->window_moved, &workers->mutex);
    bool taken = !workers->stopping && workers->taken < workers->n_positions;
    if (taken) *index = workers->taken++;
    pthread_mutex_unlock(&workers->mutex);
    return taken;
}

static void hand_over(struct workers *workers, size_t index)
{
    pthread_mutex_lock(&workers->mutex);
    workers->ready[index % WORKERS_WINDOW] = true;
    bool next = index == workers->committed;
    pthread_mutex_unlock(&workers->mutex);
    if (next) announce(workers);
}

static void *work(void *context)
{
    struct check_worker *worker = context;
    struct workers *workers = worker->workers;
    size_t index;

    (void)environment_restore_arithmetic();
    while (take_call(&index, workers)) {
        struct case_outcome *out = &workers->outcomes[index % WORKERS_WINDOW];
        if (!case_check(out, worker, workers->positions[index])) break;
        hand_over(workers, index);
    }
    environment_leave_thread();

    pthread_mutex_lock(&workers->mutex);
    workers->running--;
    pthread_mutex_unlock(&workers->mutex);
    announce(workers);
    return NULL;
}

struct status workers_start(struct workers *out, struct check_worker *workers, size_t n_workers,
                            const size_t *positions, size_t n_positions)
{
    memset(out, 0, sizeof *out);
    out->positions = positions;
    out->n_positions = n_positions;
    out->workers = workers;
    out->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (out->ready_fd < 0)
        return status_error(STATUS_IO, "cannot make an event descriptor: %s", strerror(errno));
    pthread_mutex_init(&out->mutex, NULL);
    pthread_cond_init(&out->window_moved, NULL);

    for (size_t i = 0; i < n_workers; i++) workers[i].workers = out;
    for (; out->n_threads < n_workers; out->n_threads++) {
        pthread_mutex_lock(&out->mutex);
        out->running++;
        pthread_mutex_unlock(&out->mutex);
        int error =
            pthread_create(&out->threads[out->n_threads], NULL, work, &workers[out->n_threads]);
        if (!error) continue;
        pthread_mutex_lock(&out->mutex);
        out->running--;
        pthread_mutex_unlock(&out->mutex);
        /* Fewer threads give the same files. */
        if (out->n_threads) break;
        workers_end(out);
        return status_error(STATUS_IO, "cannot start a thread: %s", strerror(error));
    }
    return status_ok();
}

struct case_outcome *workers_next(struct workers *workers)
{
    uint64_t count;
    ssize_t got = read(workers->ready_fd, &count, sizeof count);
    (void)got;
    pthread_mutex_lock(&workers->mutex);
    size_t slot = workers->committed % WORKERS_WINDOW;
    bool ready = workers->ready[slot];
    pthread_mutex_unlock(&workers->mutex);
    return ready ? &workers->outcomes[slot] : NULL;
}

void workers_commit(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    workers->ready[workers->committed % WORKERS_WINDOW] = false;
    workers->committed++;
    pthread_cond_broadcast(&workers->window_moved);
    pthread_mutex_unlock(&workers->mutex);
}

void workers_stop(struct workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->window_moved);
    pthread_mutex_unlock(&workers->mutex);
}

bool workers_ended(struct workers *workers, int wait_ms)
{
    const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
    for (int waited = 0;; waited += 5) {
        pthread_mutex_lock(&workers->mutex);
        bool ended = !workers->running;
        pthread_mutex_unlock(&workers->mutex);
        if (ended || waited >= wait_ms) return ended;
        (void)nanosleep(&pause, NULL);
    }
}

void workers_end(struct workers *workers)
{
    workers_stop(workers);
    for (size_t i = 0; i < workers->n_threads; i++) (void)pthread_join(workers->threads[i], NULL);
    for (size_t i = 0; i < WORKERS_WINDOW; i++) case_outcome_release(&workers->outcomes[i]);
    pthread_cond_destroy(&workers->window_moved);
    pthread_mutex_destroy(&workers->mutex);
    (void)close(workers->ready_fd);
}
