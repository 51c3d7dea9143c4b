/* A server on the loopback interface with sessions of msprobe's clients, on a thread of its own, a judge
 * that only counts, and clients that write and read bytes. */
#ifndef PROBE_TESTS_ONLINE_LOOPBACK_H
#define PROBE_TESTS_ONLINE_LOOPBACK_H

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
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

static inline void loopback_start(struct loopback *l, uint64_t memory_share, struct tls *tls)
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
    ck_assert_int_eq(pthread_create(&l->thread, NULL, loopback_serve, l), 0);
}

static inline void loopback_stop(struct loopback *l)
{
    atomic_store(&l->stops, true);
    server_wake(l->server);
    pthread_join(l->thread, NULL);
    server_close(l->server);
    peer_sessions_close(&l->sessions);
    ck_assert_uint_eq(l->memory.used_bytes, 0);
    receive_memory_close(&l->memory);
    pthread_mutex_destroy(&l->mutex);
}

/* Wait until the judge has so many records. */
static inline void loopback_await(struct loopback *l, int records)
{
    for (int i = 0; i < 1000 && atomic_load(&l->records) < records; i++) usleep(10000);
    ck_assert_int_eq(atomic_load(&l->records), records);
}

/* Wait until so many connections are there. Reads a number that the server's thread writes, so not under
 * the thread sanitizer. */
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

/* ---- clients ---------------------------------------------------------------------------- */

static inline int client_connect(const struct loopback *l)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(server_port(l->server)) };
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_msg(!connect(fd, (void *)&to, sizeof to), "connect: %s", strerror(errno));
    return fd;
}

/* Write all bytes; false when the other side has closed. */
static inline bool client_send(int fd, const void *bytes, size_t count)
{
    while (count) {
        ssize_t n = send(fd, bytes, count, MSG_NOSIGNAL);
        if (n < 0) return false;
        bytes = (const char *)bytes + n;
        count -= (size_t)n;
    }
    return true;
}

struct client_answer {
    char word[6];
    uint64_t sequence, rank, step;
};

/* The next answer; false at the end of the connection. Fails after 20 s of silence. */
static inline bool client_read(int fd, struct client_answer *out)
{
    unsigned char bytes[PEER_ANSWER_BYTES];
    size_t have = 0;
    while (have < sizeof bytes) {
        struct pollfd event = { .fd = fd, .events = POLLIN };
        ck_assert_msg(poll(&event, 1, 20000) == 1, "no answer in 20 s");
        ssize_t n = recv(fd, bytes + have, sizeof bytes - have, 0);
        if (n <= 0) {
            ck_assert_uint_eq(have, 0);
            return false;
        }
        have += (size_t)n;
    }
    memcpy(out->word, bytes, 5);
    out->word[5] = '\0';
    uint64_t *numbers[] = { &out->sequence, &out->rank, &out->step };
    for (int i = 0; i < 3; i++) {
        *numbers[i] = 0;
        for (int k = 0; k < 8; k++) *numbers[i] = *numbers[i] << 8 | bytes[5 + 8 * i + k];
    }
    return true;
}

static inline void client_expect(int fd, const char *word, uint64_t sequence)
{
    struct client_answer got;
    ck_assert(client_read(fd, &got));
    ck_assert_str_eq(got.word, word);
    ck_assert_uint_eq(got.sequence, sequence);
}

/* Is the connection closed by the server, without another answer? */
static inline void client_expect_end(int fd)
{
    struct client_answer got;
    ck_assert(!client_read(fd, &got));
}

#endif
