/* The server with clients on the loopback interface: recorded sessions are answered as they must be, and
 * whatever one connection does, the others are served. */
#include "online/server.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "online/frames.h"
#include "online/loopback.h"
#include "support/captures.h"

enum { PLENTY = 1 << 30, SMALL_FRAME = 256 };

/* ---- recorded sessions ------------------------------------------------------------------ */

/* `piece` 0: of random sizes. */
static void send_pieces(int fd, const unsigned char *bytes, size_t count, size_t piece)
{
    uint64_t state = count;
    while (count) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t n = piece ? piece : 1 + (state >> 40) % 3000;
        if (n > count) n = count;
        ck_assert(client_send(fd, bytes, n));
        bytes += n;
        count -= n;
    }
}

/* Each answer of a connection is that of its frame, in order; BUSY_ may come before one. */
static void check_answers(int fd, const struct capture *c, int connection)
{
    for (size_t i = 0; i < c->n_frames; i++) {
        const struct captured_frame *frame = &c->frames[i];
        struct client_answer got;
        if (frame->connection != connection) continue;
        do ck_assert(client_read(fd, &got));
        while (!strcmp(got.word, "BUSY_"));
        ck_assert_str_eq(got.word, frame->answer);
        ck_assert_uint_eq(got.sequence, frame->sequence);
        ck_assert_uint_eq(got.rank, frame->rank);
        ck_assert_uint_eq(got.step, frame->step);
    }
}

/* Each record is handed over once. */
static int records_of(const struct capture *c)
{
    int count = 0;
    for (size_t i = 0; i < c->n_frames; i++)
        count += c->frames[i].is_intact && !c->frames[i].is_stop && !c->frames[i].is_repeated;
    return count;
}

static void replay(const struct capture *c, size_t piece)
{
    struct loopback l;
    loopback_start(&l, PLENTY, NULL);
    for (int connection = 0; connection < (int)c->connections; connection++) {
        int fd = client_connect(&l);
        send_pieces(fd, c->bytes[connection], c->count[connection], piece);
        check_answers(fd, c, connection);
        close(fd);
    }
    loopback_await(&l, records_of(c));
    loopback_stop(&l);
}

/* Byte by byte, in one write, and in random pieces: every frame is answered at once, without a byte
 * behind it. */
START_TEST(recorded_sessions_are_answered)
{
    static const size_t pieces[] = { SIZE_MAX, 1, 0 };
    struct capture captures[CAPTURES_MAX];
    const size_t count = captures_read(captures);
    for (size_t i = 0; i < count; i++) {
        replay(&captures[i], pieces[_i]);
        capture_release(&captures[i]);
    }
}
END_TEST

/* ---- one connection --------------------------------------------------------------------- */

struct one {
    struct loopback l;
    int fd;
};

static void one_start(struct one *o)
{
    loopback_start(&o->l, PLENTY, NULL);
    o->fd = client_connect(&o->l);
}

static void one_stop(struct one *o)
{
    close(o->fd);
    loopback_stop(&o->l);
}

static void send_record(int fd, uint64_t sequence)
{
    unsigned char frame[SMALL_FRAME];
    size_t bytes = frame_of(frame, sequence, 0, 0, "a record", 8);
    ck_assert(client_send(fd, frame, bytes));
}

static void send_stop(int fd, uint64_t sequence)
{
    unsigned char frame[SMALL_FRAME];
    size_t bytes = frame_of(frame, sequence, 0, 0, "STOP_", 5);
    ck_assert(client_send(fd, frame, bytes));
}

/* BUSY_ once; the answer when there is room again. */
START_TEST(busy_is_said_once)
{
    struct one o;
    one_start(&o);
    atomic_store(&o.l.room, 1);
    for (uint64_t i = 0; i < 3; i++) send_record(o.fd, i);
    client_expect(o.fd, "OK___", 0);
    client_expect(o.fd, "BUSY_", 1);
    for (int i = 0; i < 50; i++) server_wake(o.l.server), usleep(1000);
    atomic_store(&o.l.room, -1);
    server_wake(o.l.server);
    client_expect(o.fd, "OK___", 1);
    client_expect(o.fd, "OK___", 2);
    ck_assert_int_eq(atomic_load(&o.l.records), 3);
    one_stop(&o);
}
END_TEST

/* While one connection waits for the judge, others are answered. */
START_TEST(who_waits_holds_up_nobody)
{
    struct one o;
    one_start(&o);
    atomic_store(&o.l.room, 0);
    send_record(o.fd, 0);
    client_expect(o.fd, "BUSY_", 0);
    int other = client_connect(&o.l);
    unsigned char frame[SMALL_FRAME];
    size_t bytes = frame_with(frame, 8, 7, 0, 0, "00000000", "a record", 8);
    ck_assert(client_send(other, frame, bytes));
    client_expect(other, "ERROR", 7);
    send_stop(other, 8);
    client_expect(other, "OVER_", 8);
    close(other);
    one_stop(&o);
}
END_TEST

/* What was received whole is judged, also when its sender has gone before there was room for it. */
START_TEST(whole_frames_of_a_lost_client_are_kept)
{
    struct one o;
    one_start(&o);
    atomic_store(&o.l.room, 0);
    for (uint64_t i = 0; i < 20; i++) send_record(o.fd, i);
    client_expect(o.fd, "BUSY_", 0);
    shutdown(o.fd, SHUT_WR);
    usleep(50000);
    atomic_store(&o.l.room, -1);
    server_wake(o.l.server);
    loopback_await(&o.l, 20);
    ck_assert(loopback_says(&o.l, "the client is lost, after 20 records"));
    one_stop(&o);
}
END_TEST

START_TEST(empty_and_damaged_frames_are_errors)
{
    unsigned char frame[SMALL_FRAME];
    struct one o;
    one_start(&o);
    send_record(o.fd, 0);
    client_expect(o.fd, "OK___", 0);
    size_t bytes = frame_with(frame, 0, 1, 5, 6, "00000000", "", 0);
    ck_assert(client_send(o.fd, frame, bytes));
    client_expect(o.fd, "ERROR", 1);
    bytes = frame_with(frame, 8, 2, 0, 0, "\xff\xfe\1\2zz\"\n", "a record", 8);
    ck_assert(client_send(o.fd, frame, bytes));
    client_expect(o.fd, "ERROR", 2);
    send_record(o.fd, 2);
    client_expect(o.fd, "OK___", 2);
    send_record(o.fd, 2);
    client_expect(o.fd, "OK___", 2);
    ck_assert_int_eq(atomic_load(&o.l.records), 2);
    one_stop(&o);
}
END_TEST

/* Same sequence, rank and step: a repetition. Another rank or step: another record. Another connection:
 * a new beginning. */
START_TEST(repetitions_go_nowhere)
{
    unsigned char frame[SMALL_FRAME];
    static const uint64_t numbers[][3] = {
        { 0, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 0, 0, 0 }, { 0, 0, 1 }
    };
    struct one o;
    one_start(&o);
    for (size_t i = 0; i < 5; i++) {
        size_t bytes = frame_of(frame, numbers[i][0], numbers[i][1], numbers[i][2], "record", 6);
        ck_assert(client_send(o.fd, frame, bytes));
        client_expect(o.fd, "OK___", 0);
    }
    ck_assert_int_eq(atomic_load(&o.l.records), 3);
    int other = client_connect(&o.l);
    send_record(other, 0);
    client_expect(other, "OK___", 0);
    ck_assert_int_eq(atomic_load(&o.l.records), 4);
    close(other);
    one_stop(&o);
}
END_TEST

/* ---- the end of a run ------------------------------------------------------------------- */

/* KILL_ to all, those that never sent anything too; then all are closed, also those that continue to send. */
START_TEST(the_end_is_told_to_all)
{
    struct one o;
    one_start(&o);
    int idle = client_connect(&o.l), talker = client_connect(&o.l);
    send_record(o.fd, 0);
    client_expect(o.fd, "OK___", 0);
    send_stop(o.fd, 1);
    client_expect(o.fd, "OVER_", 1);
    send_record(talker, 0);
    client_expect(talker, "OK___", 0);
    atomic_store(&o.l.ends, true);
    server_wake(o.l.server);
    client_expect(o.fd, "KILL_", 100000000);
    client_expect_end(o.fd);
    client_expect(idle, "KILL_", 100000000);
    client_expect_end(idle);
    client_expect(talker, "KILL_", 100000000);
    client_expect_end(talker);
    close(idle), close(talker);
    one_stop(&o);
}
END_TEST

/* Nothing came and nothing will: it need not wait for a run that nobody begins. */
START_TEST(client_without_records_is_sent_home)
{
    struct one o;
    one_start(&o);
    send_stop(o.fd, 0);
    client_expect(o.fd, "OVER_", 0);
    send_stop(o.fd, 1);
    client_expect(o.fd, "OVER_", 1);
    client_expect_end(o.fd);
    ck_assert_uint_eq(o.l.attendance.delivered, 0);
    one_stop(&o);
}
END_TEST

/* ---- attacks ---------------------------------------------------------------------------- */

/* A client that works. */
static void work(const struct loopback *l, uint64_t records)
{
    int fd = client_connect(l);
    for (uint64_t i = 0; i < records; i++) {
        send_record(fd, i);
        client_expect(fd, "OK___", i);
    }
    send_stop(fd, records);
    client_expect(fd, "OVER_", records);
    close(fd);
}

/* A length that nobody can mean ends its connection, with nothing allocated for it. */
START_TEST(oversized_lengths_end_their_connection)
{
    static const uint64_t lengths[] = { 1ull << 62, UINT64_MAX, ((uint64_t)16 << 30) + 1 };
    unsigned char frame[SMALL_FRAME];
    struct loopback l;
    loopback_start(&l, PLENTY, NULL);
    for (size_t i = 0; i < 3; i++) {
        int fd = client_connect(&l);
        (void)frame_with(frame, lengths[i], 0, 0, 0, "00000000", "", 0);
        ck_assert(client_send(fd, frame, 8));
        client_expect_end(fd);
        close(fd);
    }
    ck_assert(loopback_log_has_count(&l, "a frame says that its body has", 3));
    ck_assert(loopback_says(&l, "127.0.0.1:"));
    work(&l, 3);
    loopback_stop(&l);
}
END_TEST

/* 15 GiB are announced by many and sent by none: no memory is taken for them. */
START_TEST(announced_bodies_take_no_memory)
{
    enum { CLIENTS = 100 };
    unsigned char frame[SMALL_FRAME];
    struct loopback l;
    int fds[CLIENTS];
    loopback_start(&l, (uint64_t)16 << 30, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = client_connect(&l);
        size_t bytes = frame_with(frame, (uint64_t)15 << 30, 0, 0, 0, "00000000", "zz", 2);
        ck_assert(client_send(fds[i], frame, bytes));
    }
    work(&l, 3);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    ck_assert_int_lt(usage.ru_maxrss, 1 << 20); /* in kB: 1 GB */
    for (int i = 0; i < CLIENTS; i++) close(fds[i]);
    loopback_stop(&l);
}
END_TEST

/* Bodies that together are far larger than the memory for them: all are received. */
START_TEST(bodies_wait_for_memory)
{
    enum { CLIENTS = 8, BODY = 3 << 20, RECORDS = 3 };
    static unsigned char frame[BODY + SMALL_FRAME], body[BODY];
    struct loopback l;
    pid_t children[CLIENTS];
    loopback_prepare(&l, 4 << 20, NULL);
    memset(body, 'z', BODY);
    for (int i = 0; i < CLIENTS; i++) {
        children[i] = fork();
        if (children[i]) continue;
        int fd = client_connect(&l);
        for (uint64_t k = 0; k < RECORDS; k++) {
            size_t bytes = frame_of(frame, k, 0, 0, body, BODY);
            if (!client_send(fd, frame, bytes)) _exit(1);
            client_expect(fd, "OK___", k);
        }
        _exit(0);
    }
    /* Only now: who forks while the server's thread allocates may inherit a lock that nobody opens. */
    loopback_serve_on_thread(&l);
    for (int i = 0; i < CLIENTS; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    loopback_await(&l, CLIENTS * RECORDS);
    loopback_stop(&l);
}
END_TEST

START_TEST(a_thousand_idle_connections_hold_up_nobody)
{
    enum { IDLE = 1000 };
    static int fds[IDLE];
    struct loopback l;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    const int idle = limit.rlim_cur < 2 * IDLE + 100 ? 100 : IDLE;
    loopback_start(&l, PLENTY, NULL);
    for (int i = 0; i < idle; i++) fds[i] = client_connect(&l);
    work(&l, 10);
    for (int i = 0; i < idle; i++) close(fds[i]);
    loopback_stop(&l);
}
END_TEST

/* More connections than there may be, each with half a frame: the oldest of them make room, clients do not. */
START_TEST(floods_displace_no_clients)
{
    enum { FLOOD = SERVER_CONNECTIONS_MAX + 50 };
    static int fds[FLOOD];
    struct rlimit limit;
    struct one o;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * FLOOD + 100) return;
    one_start(&o);
    send_record(o.fd, 0);
    client_expect(o.fd, "OK___", 0);
    for (int i = 0; i < FLOOD; i++) {
        fds[i] = client_connect(&o.l);
        (void)client_send(fds[i], "\0\0\0", 3);
    }
    work(&o.l, 3);
    send_record(o.fd, 1);
    client_expect(o.fd, "OK___", 1);
    ck_assert(loopback_says(&o.l, "there are too many connections"));
    for (int i = 0; i < FLOOD; i++) close(fds[i]);
    one_stop(&o);
}
END_TEST

/* One byte now and then of ten clients; another one is served between any two of them. */
START_TEST(slow_senders_hold_up_nobody)
{
    enum { SLOW = 10 };
    unsigned char frame[SMALL_FRAME];
    struct loopback l;
    int fds[SLOW];
    loopback_start(&l, PLENTY, NULL);
    size_t bytes = frame_of(frame, 0, 0, 0, "a record", 8);
    for (int i = 0; i < SLOW; i++) fds[i] = client_connect(&l);
    for (size_t at = 0; at < bytes; at++) {
        for (int i = 0; i < SLOW; i++) ck_assert(client_send(fds[i], frame + at, 1));
        work(&l, 1);
    }
    for (int i = 0; i < SLOW; i++) {
        client_expect(fds[i], "OK___", 0);
        close(fds[i]);
    }
    loopback_stop(&l);
}
END_TEST

/* Connections that come and go, and what browsers and scanners say first. */
START_TEST(scans_and_garbage_end_nothing)
{
    static const char *const greetings[] = { "", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                             "\x16\x03\x01\x02", "SSH-2.0-scan\r\n",
                                             "\xff\xff\xff\xff\xff\xff\xff\xff\xff" };
    struct loopback l;
    loopback_start(&l, PLENTY, NULL);
    for (int i = 0; i < 200; i++) {
        int fd = client_connect(&l);
        const char *text = greetings[i % 5];
        (void)client_send(fd, text, strlen(text));
        close(fd);
    }
    work(&l, 3);
    ck_assert_uint_eq(l.attendance.delivered, 1);
    ck_assert_uint_eq(l.attendance.lost, 0);
    loopback_stop(&l);
}
END_TEST

/* Who sends and never reads is not read from either, and its answers take little memory. */
START_TEST(who_does_not_read_answers_is_not_read)
{
    unsigned char frame[SMALL_FRAME];
    struct loopback l;
    loopback_start(&l, PLENTY, NULL);
    int fd = client_connect(&l), small = 1 << 14;
    struct timeval timeout = { .tv_usec = 200000 };
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    uint64_t sent = 0;
    for (; sent < 4000000; sent++) {
        size_t bytes = frame_of(frame, sent, 0, 0, "r", 1);
        if (!client_send(fd, frame, bytes)) break;
    }
    ck_assert_uint_lt(sent, 4000000);
    work(&l, 3);
    close(fd);
    loopback_stop(&l);
}
END_TEST

/* A session of three records and STOP_, cut at every byte: the frames that came whole are judged, the
 * connection is forgotten, the next one is served. */
START_TEST(sessions_may_end_at_any_byte)
{
    unsigned char session[4 * SMALL_FRAME];
    size_t ends[4], bytes = 0;
    struct loopback l;
    int records = 0;
    for (uint64_t i = 0; i < 3; i++) {
        bytes += frame_of(session + bytes, i, 0, 0, "some record", 11);
        ends[i] = bytes;
    }
    bytes += frame_of(session + bytes, 3, 0, 0, "STOP_", 5);
    loopback_start(&l, PLENTY, NULL);
    for (size_t cut = 0; cut <= bytes; cut++) {
        int fd = client_connect(&l);
        ck_assert(client_send(fd, session, cut));
        if (cut % 2) shutdown(fd, SHUT_WR);
        for (int i = 0; i < 3; i++)
            if (cut >= ends[i]) client_expect(fd, "OK___", (uint64_t)i), records++;
        close(fd);
        loopback_await(&l, records);
    }
    work(&l, 1);
    loopback_stop(&l);
}
END_TEST

struct worker {
    const struct loopback *l;
    pthread_t thread;
};

static void *work_on_thread(void *context)
{
    const struct worker *w = context;
    work(w->l, 200);
    return NULL;
}

START_TEST(eight_clients_at_once)
{
    struct loopback l;
    struct worker workers[8];
    loopback_start(&l, PLENTY, NULL);
    for (int i = 0; i < 8; i++) {
        workers[i].l = &l;
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work_on_thread, &workers[i]), 0);
    }
    for (int i = 0; i < 8; i++) pthread_join(workers[i].thread, NULL);
    ck_assert_int_eq(atomic_load(&l.records), 1600);
    loopback_stop(&l);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, recorded_sessions_are_answered, 0, 3);
    tcase_add_test(tcase, busy_is_said_once);
    tcase_add_test(tcase, who_waits_holds_up_nobody);
    tcase_add_test(tcase, whole_frames_of_a_lost_client_are_kept);
    tcase_add_test(tcase, empty_and_damaged_frames_are_errors);
    tcase_add_test(tcase, repetitions_go_nowhere);
    tcase_add_test(tcase, the_end_is_told_to_all);
    tcase_add_test(tcase, client_without_records_is_sent_home);
    tcase_add_test(tcase, oversized_lengths_end_their_connection);
    tcase_add_test(tcase, announced_bodies_take_no_memory);
    tcase_add_test(tcase, bodies_wait_for_memory);
    tcase_add_test(tcase, a_thousand_idle_connections_hold_up_nobody);
    tcase_add_test(tcase, floods_displace_no_clients);
    tcase_add_test(tcase, slow_senders_hold_up_nobody);
    tcase_add_test(tcase, scans_and_garbage_end_nothing);
    tcase_add_test(tcase, who_does_not_read_answers_is_not_read);
    tcase_add_test(tcase, sessions_may_end_at_any_byte);
    tcase_add_test(tcase, eight_clients_at_once);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
