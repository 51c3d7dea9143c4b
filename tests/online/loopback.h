/* A server on the loopback interface with sessions of msprobe's clients, on a thread of its own, and a judge
 * that only counts. */
#ifndef PROBE_TESTS_ONLINE_LOOPBACK_H
#define PROBE_TESTS_ONLINE_LOOPBACK_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
#include "online/clients.h"
#include "online/peer_frames.h"
#include "online/peer_sessions.h"
#include "online/server.h"
#include "support/suite.h"

enum { LOG_BYTES = 1 << 16 };

struct loopback {
    struct server *server;
    struct peer_sessions sessions;
    struct attendance attendance;
    struct receive_memory memory;
    pthread_t thread;
    atomic_bool stops, ends;
    atomic_int room;      /* records that the judge still takes; < 0: any number */
    atomic_int records;   /* that it has taken */
    atomic_uint sequence; /* of the last one */
    pthread_mutex_t mutex;
    char log[LOG_BYTES];
    size_t n_log;
};

/* A judge that takes a record and forgets it. */
static inline struct status loopback_submit(bool *taken, void *context,
                                            const struct judge_submission *record)
{
    struct loopback *l = context;
    *taken = atomic_load(&l->room) != 0;
    if (!*taken) return status_ok();
    if (atomic_load(&l->room) > 0) atomic_fetch_sub(&l->room, 1);
    atomic_store(&l->sequence, (unsigned)record->origin.sequence);
    atomic_fetch_add(&l->records, 1);
    memory_release(record->body);
    if (receive_memory_give(&l->memory, record->bytes)) server_wake(l->server);
    return status_ok();
}

static inline void loopback_log(void *context, const char *text)
{
    struct loopback *l = context;
    pthread_mutex_lock(&l->mutex);
    l->n_log += (size_t)snprintf(l->log + l->n_log, LOG_BYTES - l->n_log, "%s\n", text);
    if (l->n_log >= LOG_BYTES) l->n_log = LOG_BYTES - 1;
    pthread_mutex_unlock(&l->mutex);
}

/* Does the log say this? Waits for it for some seconds. */
static inline bool loopback_says(struct loopback *l, const char *sentence)
{
    bool found = false;
    for (int i = 0; i < 500 && !found; i++) {
        pthread_mutex_lock(&l->mutex);
        found = strstr(l->log, sentence) != NULL;
        pthread_mutex_unlock(&l->mutex);
        if (!found) usleep(10000);
    }
    return found;
}

static inline void *loopback_serve(void *context)
{
    struct loopback *l = context;
    while (!atomic_load(&l->stops)) {
        struct status status = server_serve(l->server, -1);
        ck_assert_msg(!status.code, "%s", status.text);
        if (!atomic_exchange(&l->ends, false)) continue;
        server_adopt_silent(l->server);
        peer_sessions_end(&l->sessions);
        server_end_all(l->server);
    }
    return NULL;
}

/* All but the thread. */
static inline void loopback_prepare(struct loopback *l, uint64_t memory_share, struct tls *tls)
{
    memset(l, 0, sizeof *l);
    (void)signal(SIGPIPE, SIG_IGN);
    atomic_store(&l->room, -1);
    pthread_mutex_init(&l->mutex, NULL);
    receive_memory_open(&l->memory, memory_share);
    l->sessions = (struct peer_sessions){ .sink = { NULL, loopback_submit, l },
                                          .attendance = &l->attendance,
                                          .memory = &l->memory,
                                          .limit_bytes = (uint64_t)16 << 30 };
    ck_assert(!peer_sessions_open(&l->sessions).code);
    const struct server_options options = { .address = "127.0.0.1",
                                            .tls = tls,
                                            .protocols = { &l->sessions.protocol },
                                            .log = { loopback_log, l } };
    struct status status = server_open(&l->server, &options);
    ck_assert_msg(!status.code, "%s", status.text);
}

static inline void loopback_serve_on_thread(struct loopback *l)
{
    ck_assert_int_eq(pthread_create(&l->thread, NULL, loopback_serve, l), 0);
}

static inline void loopback_start(struct loopback *l, uint64_t memory_share, struct tls *tls)
{
    loopback_prepare(l, memory_share, tls);
    loopback_serve_on_thread(l);
}

static inline void loopback_release(struct loopback *l)
{
    server_close(l->server);
    peer_sessions_close(&l->sessions);
    ck_assert_uint_eq(l->memory.used_bytes, 0);
    receive_memory_close(&l->memory);
    pthread_mutex_destroy(&l->mutex);
}

static inline void loopback_stop(struct loopback *l)
{
    atomic_store(&l->stops, true);
    server_wake(l->server);
    pthread_join(l->thread, NULL);
    loopback_release(l);
}

/* Wait until the judge has so many records. */
static inline void loopback_await(struct loopback *l, int records)
{
    for (int i = 0; i < 1000 && atomic_load(&l->records) < records; i++) usleep(10000);
    ck_assert_int_eq(atomic_load(&l->records), records);
}

/* Does the log say this so many times? Waits for it for some seconds. */
static inline bool loopback_log_has_count(struct loopback *l, const char *sentence, size_t wanted)
{
    for (int i = 0; i < 500; i++) {
        size_t count = 0;
        pthread_mutex_lock(&l->mutex);
        for (const char *p = l->log; (p = strstr(p, sentence)); p++) count++;
        pthread_mutex_unlock(&l->mutex);
        if (count >= wanted) return true;
        usleep(10000);
    }
    return false;
}

static inline int client_connect(const struct loopback *l)
{
    return client_connect_to(server_port(l->server));
}

#endif
