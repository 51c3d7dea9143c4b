/* The command serve with clients as msprobe has them: recorded sessions, and a client that behaves as the
 * real one does, with its window of frames, its resends, and the STOP_ that it repeats until the server
 * closes. */
#include <signal.h>
#include <sys/wait.h>

#include "online/clients.h"
#include "online/frames.h"
#include "support/captures.h"
#include "support/suite.h"
#include "support/workspace.h"

/* ---- the server ------------------------------------------------------------------------- */

struct served {
    struct workspace place;
    pid_t pid;
    uint16_t port;
};

/* Wait for a sentence on the standard error of the program; what stands behind it. */
static char *await_error(const struct workspace *w, const char *sentence)
{
    for (int i = 0; i < 1000; i++) {
        char *text = read_file(in(w, "stderr.txt"), NULL);
        const char *found = text ? strstr(text, sentence) : NULL;
        const char *end = found ? strchr(found, '\n') : NULL;
        char *rest =
            end ? strndup(found + strlen(sentence), (size_t)(end - found) - strlen(sentence))
                : NULL;
        free(text);
        if (rest) return rest;
        usleep(10000);
    }
    ck_abort_msg("the program does not say '%s'", sentence);
    return NULL;
}

static void start_server(struct served *s, char *const *argv)
{
    s->place = workspace_make();
    s->pid = start_program(&s->place, argv);
    char *address = await_error(&s->place, "listening on ");
    s->port = (uint16_t)atoi(strchr(address, ':') + 1);
    free(address);
}

static void start_ranks(struct served *s, const char *ranks, const char *threads)
{
    char *argv[] = { (char *)"probe-ut", (char *)"serve",    (char *)"--port",
                     (char *)"0",        (char *)"--listen", (char *)"127.0.0.1",
                     (char *)"--rank",   (char *)ranks,      (char *)"-o",
                     (char *)"out",      (char *)"-n",       (char *)threads,
                     (char *)"--record", (char *)"received", NULL };
    start_server(s, argv);
}

static struct outcome stop_server(const struct served *s, int wanted)
{
    struct outcome o = wait_program(&s->place, s->pid);
    ck_assert_msg(o.status == wanted, "status %d: %s", o.status, o.err);
    return o;
}

/* Rows of the result file of a rank. */
static size_t rows_of(const struct workspace *w, const char *folder, int rank)
{
    char pattern[200];
    snprintf(pattern, sizeof pattern, "%s/accuracy_checking_result_*_rank%d.csv", folder, rank);
    char *text = read_file(only_match(w, pattern), NULL);
    size_t rows = count_lines(text) - 1;
    free(text);
    return rows;
}

/* ---- recorded sessions ------------------------------------------------------------------ */

struct replayed {
    const struct capture *capture;
    int connection;
    uint16_t port;
};

static bool has_stop(const struct capture *c, int connection)
{
    for (size_t i = 0; i < c->n_frames; i++)
        if (c->frames[i].connection == connection && c->frames[i].is_stop) return true;
    return false;
}

/* Send it all, then read to the end: the answers of all frames, and KILL_ when it has said STOP_. */
static void replay(const struct replayed *r)
{
    const struct capture *c = r->capture;
    struct client_answer got;
    int fd = client_connect_to(r->port);
    ck_assert(client_send(fd, c->bytes[r->connection], c->count[r->connection]));
    const bool stops = has_stop(c, r->connection);
    if (!stops) shutdown(fd, SHUT_WR);
    for (size_t i = 0; i < c->n_frames; i++) {
        const struct captured_frame *frame = &c->frames[i];
        if (frame->connection != r->connection) continue;
        do ck_assert(client_read(fd, &got));
        while (!strcmp(got.word, "BUSY_"));
        ck_assert_str_eq(got.word, frame->answer);
        ck_assert_uint_eq(got.sequence, frame->sequence);
        ck_assert_uint_eq(got.rank, frame->rank);
        ck_assert_uint_eq(got.step, frame->step);
    }
    if (stops) client_expect(fd, "KILL_", 100000000);
    client_expect_end(fd);
    close(fd);
}

/* Every answer as it must be, one row per record, status 0. */
START_TEST(recorded_sessions_have_their_rows)
{
    struct capture captures[CAPTURES_MAX];
    const size_t count = captures_read(captures);
    for (size_t i = 0; i < count; i++) {
        const struct capture *c = &captures[i];
        pid_t children[CAPTURE_CONNECTIONS_MAX];
        struct served s;
        size_t rows = 0;
        start_ranks(&s, c->connections > 1 ? "0,1" : "0", "2");
        for (int k = 0; k < (int)c->connections; k++) {
            children[k] = fork();
            if (children[k]) continue;
            replay(&(struct replayed){ c, k, s.port });
            _exit(0);
        }
        for (int k = 0; k < (int)c->connections; k++) {
            int status;
            ck_assert_int_eq(waitpid(children[k], &status, 0), children[k]);
            ck_assert_msg(!status, "%s: connection %d", c->name, k);
        }
        struct outcome o = stop_server(&s, 0);
        for (int k = 0; k < (int)c->connections; k++) rows += rows_of(&s.place, "out", k);
        ck_assert_msg(rows == c->n_records, "%s: %zu rows", c->name, rows);
        outcome_free(&o);
        workspace_remove(&s.place);
        capture_release(&captures[i]);
    }
}
END_TEST

/* ---- a client as the real one ----------------------------------------------------------- */

enum { WINDOW = 20, BODIES = 7, FRAME_BYTES = 16384 };

/* Bodies of records that say no rank: theirs is that of the frame. */
struct bodies {
    struct capture capture;
    const unsigned char *items[BODIES];
    size_t bytes[BODIES];
};

static void read_bodies(struct bodies *b)
{
    ck_assert(capture_read(&b->capture, "crc_rank_none"));
    const unsigned char *at = b->capture.bytes[0];
    for (int i = 0; i < BODIES; i++) {
        ck_assert(!b->capture.frames[i].is_stop);
        b->bytes[i] = b->capture.frames[i].length;
        b->items[i] = at + 40;
        at += 40 + b->bytes[i];
    }
}

struct simulated {
    const struct bodies *bodies;
    uint16_t port;
    uint64_t rank, records;
    uint64_t damaged; /* this frame arrives damaged the first time */
    bool says_stop;
};

static void send_frame(const struct simulated *c, int fd, uint64_t sequence, bool damaged)
{
    static unsigned char frame[FRAME_BYTES];
    const size_t which = sequence % BODIES, step = sequence / BODIES;
    const size_t bytes =
        frame_of(frame, sequence, c->rank, step, c->bodies->items[which], c->bodies->bytes[which]);
    if (damaged) frame[bytes / 2] ^= 0x40;
    ck_assert(client_send(fd, frame, bytes));
}

/* At most 20 frames unanswered; ERROR sends a frame again, behind the others. At the end STOP_ again and
 * again until the server closes. */
static void simulate(const struct simulated *c)
{
    struct client_answer got;
    uint64_t next = 0, answered = 0;
    int fd = client_connect_to(c->port);
    while (answered < c->records) {
        while (next < c->records && next < answered + WINDOW) {
            send_frame(c, fd, next, next == c->damaged);
            next++;
        }
        ck_assert(client_read(fd, &got));
        if (!strcmp(got.word, "BUSY_")) continue;
        if (!strcmp(got.word, "ERROR")) send_frame(c, fd, got.sequence, false);
        else answered++;
    }
    for (uint64_t stops = 0; c->says_stop; stops++) {
        unsigned char frame[256];
        struct pollfd event = { .fd = fd, .events = POLLIN };
        size_t bytes = frame_of(frame, next + stops, 0, 0, "STOP_", 5);
        if (!client_send(fd, frame, bytes)) break;
        bool open = true;
        while (open && poll(&event, 1, 200) == 1) open = client_read(fd, &got);
        if (!open) break;
        ck_assert_uint_lt(stops, 1000);
    }
    close(fd);
}

static pid_t start_client(const struct simulated *client)
{
    pid_t pid = fork();
    if (pid) return pid;
    simulate(client);
    _exit(0);
}

static void await_client(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

enum { RANKS = 3, RECORDS = 5 * BODIES };

static struct outcome serve_ranks(struct served *s, const struct bodies *bodies,
                                  const char *threads)
{
    pid_t clients[RANKS];
    start_ranks(s, "0,1,2", threads);
    for (int rank = 0; rank < RANKS; rank++)
        clients[rank] = start_client(&(struct simulated){ .bodies = bodies,
                                                          .port = s->port,
                                                          .rank = (uint64_t)rank,
                                                          .records = RECORDS,
                                                          .damaged = 3,
                                                          .says_stop = true });
    for (int rank = 0; rank < RANKS; rank++) await_client(clients[rank]);
    return stop_server(s, 0);
}

/* Three ranks at once, each with a damaged frame, on one thread and on four: each has its rows, in order,
 * and the files are the same. So are those of a replay of what was received. */
START_TEST(ranks_have_their_rows_whatever_the_threads)
{
    struct bodies bodies;
    struct served one, four;
    read_bodies(&bodies);
    struct outcome a = serve_ranks(&one, &bodies, "1");
    struct outcome b = serve_ranks(&four, &bodies, "4");
    struct outcome c = run_program(&four.place, "serve", "--replay", "received", "--rank", "0,1,2",
                                   "-o", "again", NULL);
    ck_assert_msg(!c.status, "%s", c.err);
    for (int rank = 0; rank < RANKS; rank++) {
        static const char *const kinds[] = { "result", "details" };
        ck_assert_uint_eq(rows_of(&one.place, "out", rank), RECORDS);
        for (int kind = 0; kind < 2; kind++) {
            char in_out[100], in_again[100];
            snprintf(in_out, sizeof in_out, "out/*_%s_*_rank%d.csv", kinds[kind], rank);
            snprintf(in_again, sizeof in_again, "again/*_%s_*_rank%d.csv", kinds[kind], rank);
            assert_same_files(only_match(&one.place, in_out), only_match(&four.place, in_out));
            assert_same_files(only_match(&one.place, in_out), only_match(&four.place, in_again));
        }
    }
    outcome_free(&a), outcome_free(&b), outcome_free(&c);
    workspace_remove(&one.place), workspace_remove(&four.place);
    capture_release(&bodies.capture);
}
END_TEST

/* A client that goes without STOP_ is a warning: the run ends some seconds later with its rows. */
START_TEST(lost_client_is_a_warning)
{
    struct bodies bodies;
    struct served s;
    read_bodies(&bodies);
    start_ranks(&s, "0", "2");
    await_client(start_client(&(struct simulated){
        .bodies = &bodies, .port = s.port, .records = 10, .damaged = UINT64_MAX }));
    struct outcome o = stop_server(&s, 0);
    ck_assert(strstr(o.err, "warning: the client is lost, after 10 records"));
    ck_assert_uint_eq(rows_of(&s.place, "out", 0), 10);
    outcome_free(&o);
    workspace_remove(&s.place);
    capture_release(&bodies.capture);
}
END_TEST

/* Ctrl-C judges what has come; kill -9 leaves whole rows behind. */
START_TEST(signals_leave_whole_rows)
{
    const int signal = _i ? SIGKILL : SIGINT;
    struct bodies bodies;
    struct served s;
    read_bodies(&bodies);
    start_ranks(&s, "0", "2");
    const struct simulated client = {
        .bodies = &bodies, .port = s.port, .records = 14, .damaged = UINT64_MAX
    };
    int idle = client_connect_to(s.port);
    await_client(start_client(&client));
    kill(s.pid, signal);
    struct outcome o = wait_program(&s.place, s.pid);
    ck_assert_int_eq(o.status, signal == SIGKILL ? 1000 + SIGKILL : 130);
    const size_t rows = rows_of(&s.place, "out", 0);
    if (signal == SIGINT) ck_assert_uint_eq(rows, 14);
    ck_assert_uint_le(rows, 14);
    close(idle);
    outcome_free(&o);
    workspace_remove(&s.place);
    capture_release(&bodies.capture);
}
END_TEST

/* ---- starting --------------------------------------------------------------------------- */

/* A port that nobody uses, most likely. */
static uint16_t free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (void *)&address, sizeof address), 0);
    ck_assert_int_eq(getsockname(fd, (void *)&address, &bytes), 0);
    close(fd);
    return ntohs(address.sin_port);
}

/* msprobe's command line: run_ut with nothing but a configuration that says is_online. */
START_TEST(configuration_alone_serves)
{
    struct workspace w = workspace_make();
    struct bodies bodies;
    char text[300];
    const uint16_t port = free_port();
    snprintf(
        text, sizeof text,
        "{\"task\": \"run_ut\", \"run_ut\": {\"white_list\": [], \"black_list\": [], "
        "\"error_data_path\": "
        "\"./\", \"is_online\": true, \"nfs_path\": \"\", \"host\": \"127.0.0.1\", \"port\": %u, "
        "\"rank_list\": [0], \"tls_path\": \"\"}}",
        port);
    write_text(in(&w, "config.json"), text);
    char *argv[] = { (char *)"probe-ut",
                     (char *)"run_ut",
                     (char *)"-config",
                     (char *)"config.json",
                     (char *)"-o",
                     (char *)"out",
                     NULL };
    pid_t pid = start_program(&w, argv);
    free(await_error(&w, "listening on "));
    read_bodies(&bodies);
    await_client(start_client(&(struct simulated){
        .bodies = &bodies, .port = port, .records = 3, .damaged = UINT64_MAX, .says_stop = true }));
    struct outcome o = wait_program(&w, pid);
    ck_assert_msg(!o.status, "%s", o.err);
    ck_assert_uint_eq(rows_of(&w, "out", 0), 3);
    outcome_free(&o);
    workspace_remove(&w);
    capture_release(&bodies.capture);
}
END_TEST

START_TEST(faults_of_a_configuration_are_named)
{
    static const struct {
        const char *keys, *sentence;
    } cases[] = {
        { "\"port\": 0", "port" },
        { "\"port\": 70000", "from 1 to 65535" },
        { "\"port\": \"8899\"", "from 1 to 65535" },
        { "\"port\": 8899, \"host\": \"example.org\"", "IPv4" },
        { "\"port\": 8899, \"rank_list\": [-1]", "rank" },
        { "\"port\": 8899, \"rank_list\": [1, 1]", "twice" },
        { "\"port\": 8899, \"rank_list\": 0", "list of ranks" },
        { "\"port\": 8899, \"tls_path\": \"nowhere\"", "no folder" },
        { "\"nfs_path\": \"nowhere\"", "no folder" },
        { "\"host\": \"\"", "nothing says where records come from" },
        { "\"port\": 8899, \"tls_path\": \".\"", "server.crt" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct workspace w = workspace_make();
        char text[300];
        snprintf(text, sizeof text, "{\"run_ut\": {\"is_online\": true, %s}}", cases[i].keys);
        write_text(in(&w, "config.json"), text);
        struct outcome o = run_program(&w, "serve", "-config", "config.json", "-o", "out", NULL);
        ck_assert_msg(o.status == 2 || o.status == 3, "%s: status %d", cases[i].keys, o.status);
        ck_assert_msg(strstr(o.err, cases[i].sentence) != NULL, "%s: %s", cases[i].keys, o.err);
        ck_assert_uint_eq(count_lines(o.err), 1);
        ck_assert_uint_eq(count_matches(&w, "out/*"), 0);
        outcome_free(&o);
        workspace_remove(&w);
    }
}
END_TEST

/* A port that is taken is said, and no files are left. */
START_TEST(taken_port_is_said)
{
    struct served s;
    struct workspace w = workspace_make();
    char port[8];
    start_ranks(&s, "0", "1");
    snprintf(port, sizeof port, "%u", s.port);
    struct outcome o =
        run_program(&w, "serve", "--port", port, "--listen", "127.0.0.1", "-o", "out", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert(strstr(o.err, "in use"));
    ck_assert_uint_eq(count_matches(&w, "out/*"), 0);
    kill(s.pid, SIGTERM);
    struct outcome ended = stop_server(&s, 130);
    outcome_free(&o), outcome_free(&ended);
    workspace_remove(&w), workspace_remove(&s.place);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("serve");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 600);
    (void)signal(SIGPIPE, SIG_IGN);
    tcase_add_test(tcase, recorded_sessions_have_their_rows);
    tcase_add_test(tcase, ranks_have_their_rows_whatever_the_threads);
    tcase_add_test(tcase, lost_client_is_a_warning);
    tcase_add_loop_test(tcase, signals_leave_whole_rows, 0, 2);
    tcase_add_test(tcase, configuration_alone_serves);
    tcase_add_test(tcase, faults_of_a_configuration_are_named);
    tcase_add_test(tcase, taken_port_is_said);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
