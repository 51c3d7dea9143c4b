/* Sessions of our own client from its bytes to the judge: each record once and in order, acknowledged when it
 * is durable, whatever happens to connections, disks and processes. */
#include <check.h>
#include <errno.h>
#include <glob.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/memory.h"
#include "online/lines.h"
#include "online/stream_bytes.h"
#include "online/stream_session.h"
#include "support/suite.h"
#include "support/workspace.h"

static void ok(struct status status) { ck_assert_msg(!status.code, "%s", status.text); }

/* ---- a judge that keeps what it gets ---------------------------------------------------- */

enum { RECORDS_MAX = 64 };
struct judge_double {
    pthread_mutex_t mutex;
    size_t count;
    uint64_t sequences[RECORDS_MAX];
    char sessions[RECORDS_MAX][40];
    size_t bytes[RECORDS_MAX];
    unsigned char first[RECORDS_MAX];
    uint64_t committed;  /* of every session */
    bool is_full, keeps; /* keeps: a record is not done */
    struct stream_store *store;
    struct receive_memory *memory;
};

static struct status submit(bool *taken, void *context, const struct judge_submission *s)
{
    struct judge_double *judge = context;

    pthread_mutex_lock(&judge->mutex);
    *taken = !judge->is_full;
    if (*taken) {
        ck_assert_uint_lt(judge->count, RECORDS_MAX);
        judge->sequences[judge->count] = s->origin.sequence;
        judge->bytes[judge->count] = s->bytes;
        judge->first[judge->count] = *(unsigned char *)s->body;
        snprintf(judge->sessions[judge->count++], 40, "%s", s->origin.session);
    }
    bool keeps = judge->keeps;
    pthread_mutex_unlock(&judge->mutex);
    if (!*taken) return status_ok();
    stream_store_release(judge->store, s->ticket);
    struct record_done done = { .origin = s->origin, .ticket = s->ticket };
    if (!keeps) stream_store_done(judge->store, &done);
    return status_ok();
}

static uint64_t committed(void *context, const char *session)
{
    (void)session;
    return ((struct judge_double *)context)->committed;
}

static struct status sync_rows(void *context)
{
    (void)context;
    return status_ok();
}

static void wake(void *context) { (void)context; }

/* ---- a server without a network --------------------------------------------------------- */

static struct workspace workspace;
static struct judge_double judge;
static struct receive_memory memory;
static struct attendance attendance;
static struct stream_store *store;
static struct stream *stream;
static struct protocol protocol;

static void open_all(void)
{
    const struct stream_store_options stored = {
        .directory = in(&workspace, "spool"),
        .judge = { &judge, submit, committed, sync_rows },
        .memory = &memory,
        .wake = wake,
    };
    const struct stream_options options = { .token = "secret",
                                            .memory = &memory,
                                            .attendance = &attendance };

    pthread_mutex_lock(&judge.mutex); /* the feeder may have something to do at once */
    ok(stream_store_open(&store, &stored));
    judge.store = store;
    pthread_mutex_unlock(&judge.mutex);
    ok(stream_open(&stream, &options));
    stream_use_store(stream, store);
    protocol = stream_protocol(stream);
}

static void close_all(bool finished)
{
    stream_close(stream);
    ok(stream_store_close(store, finished));
}

static void start(void)
{
    workspace = workspace_make();
    judge = (struct judge_double){ .memory = &memory };
    pthread_mutex_init(&judge.mutex, NULL);
    receive_memory_open(&memory, 1 << 20);
    attendance = (struct attendance){ 0 };
    open_all();
}

static void await_idle(void)
{
    for (int i = 0; i < 20000 && !stream_store_is_idle(store); i++) usleep(500);
    ck_assert(stream_store_is_idle(store));
}

static void finish(void)
{
    await_idle(); /* an acknowledgement tells what is durable, not what is judged */
    close_all(true);
    ck_assert_uint_eq(count_matches(&workspace, "spool*"), 0);
    ck_assert_uint_eq(memory.used_bytes, 0);
    receive_memory_close(&memory);
    workspace_remove(&workspace);
}

/* The next frame that the server has sent; false when there is none. */
static bool answer(struct stream_frame *frame, char *text, struct connection *line)
{
    const unsigned char *at = line->sent + line->read_bytes;

    if (line->read_bytes == line->sent_bytes) return false;
    ok(stream_frame_read(frame, at, 0));
    ck_assert(stream_frame_is_intact(frame, at, at + STREAM_HEADER_BYTES));
    snprintf(text, 200, "%.*s", (int)frame->body_bytes, (const char *)at + STREAM_HEADER_BYTES);
    line->read_bytes += STREAM_HEADER_BYTES + frame->body_bytes;
    return true;
}

/* Wait for an answer of a kind, passing over others. */
static struct stream_frame await(enum stream_kind kind, char *text, struct connection *line)
{
    struct stream_frame frame;

    for (int i = 0; i < 20000; i++) {
        while (answer(&frame, text, line))
            if (frame.kind == kind) return frame;
        usleep(500);
        protocol.woken(protocol.context);
    }
    ck_abort_msg("no answer of kind %d", kind);
    return frame;
}

static void await_acknowledgement(struct connection *line, uint64_t sequence)
{
    char text[200];
    while (await(STREAM_ACK, text, line).sequence < sequence) continue;
}

/* ---- what a client sends ---------------------------------------------------------------- */

#define SESSION        "0123456789abcdef"
#define SESSION_DIGITS "30313233343536373839616263646566"

/* Record `sequence`: its first byte tells which it is; number 3 is larger than any buffer, half of it bulk. */
static void add_record(struct bytes *out, uint64_t sequence)
{
    size_t bytes = sequence == 3 ? 300000 : 10 + 17 * sequence;
    unsigned char *body = malloc(bytes);

    for (size_t i = 0; i < bytes; i++) body[i] = (unsigned char)(sequence + 3 * i);
    add_frame(out, STREAM_RECORD, sequence, body, bytes, sequence == 3 ? bytes / 2 : bytes);
    free(body);
}

static struct bytes session_from(uint64_t first, uint64_t end)
{
    struct bytes bytes = { NULL, 0 };

    add_greeting(&bytes, SESSION, "secret", 0);
    for (uint64_t i = first; i < end; i++) add_record(&bytes, i);
    add_frame(&bytes, STREAM_BYE, end, "", 0, 0);
    return bytes;
}

static void check_judged(uint64_t count)
{
    ck_assert_uint_eq(judge.count, count);
    for (uint64_t i = 0; i < count; i++) {
        ck_assert_uint_eq(judge.sequences[i], i);
        ck_assert_str_eq(judge.sessions[i], SESSION_DIGITS);
        ck_assert_uint_eq(judge.bytes[i], i == 3 ? 300000 : 10 + 17 * i);
        ck_assert_uint_eq(judge.first[i], i);
    }
}

/* ---- tests ------------------------------------------------------------------------------ */

/* However the bytes are cut into reads, each record comes once, and the goodbye when all are durable. */
START_TEST(bytes_come_in_pieces)
{
    static const size_t pieces[] = { 1, 2, 7, 39, 40, 41, 1000, 65536, 1 << 20 };
    struct bytes bytes = session_from(0, 8);
    struct connection *line = line_open(&protocol);
    char text[200];
    size_t taken;

    ok(line_feed(&taken, line, bytes.at, bytes.count, pieces[_i]));
    ck_assert_uint_eq(taken, bytes.count);
    ck_assert_uint_eq(await(STREAM_WELCOME, text, line).sequence, 0);
    ck_assert_uint_eq(await(STREAM_BYE, text, line).sequence, 8);
    ck_assert(line->ended);
    await_idle();
    check_judged(8);
    ck_assert_uint_eq(attendance.stopped, 1);
    line_close(line, status_ok());
    bytes_release(&bytes);
}
END_TEST

/* Cuts behind every byte of greeting and first record, here and there in the large one, and behind every
 * third of the end. */
static size_t next_cut(size_t cut, size_t bytes)
{
    size_t step = cut < 200 ? 1 : cut + 200 < bytes ? 4999 : 3;
    return cut < 200 || cut + 200 >= bytes || cut + step + 200 < bytes ? cut + step : bytes - 200;
}

/* The connection is lost; the client resumes where the server says it is. */
START_TEST(connections_are_lost_anywhere)
{
    struct bytes whole = session_from(0, 5);
    char text[200];
    size_t taken;

    close_all(true);
    for (size_t cut = 0; cut <= whole.count; cut = next_cut(cut, whole.count)) {
        judge.count = 0;
        open_all();
        struct connection *line = line_open(&protocol);
        ok(line_feed(&taken, line, whole.at, cut, 4096));
        line_close(line, status_error(STATUS_IO, "lost"));

        line = line_open(&protocol);
        struct bytes greeting = { NULL, 0 };
        add_greeting(&greeting, SESSION, "secret", 0);
        ok(line_feed(&taken, line, greeting.at, greeting.count, 4096));
        uint64_t next = await(STREAM_WELCOME, text, line).sequence;
        struct bytes rest = session_from(next, 5);
        ok(line_feed(&taken, line, rest.at + greeting.count, rest.count - greeting.count, 4096));
        ck_assert_uint_eq(await(STREAM_BYE, text, line).sequence, 5);
        line_close(line, status_ok());
        await_idle();
        check_judged(5);
        bytes_release(&greeting);
        bytes_release(&rest);
        close_all(true);
    }
    open_all();
    bytes_release(&whole);
}
END_TEST

/* What was acknowledged is judged by the next process, but for what has rows. */
START_TEST(a_process_ends_before_it_has_judged)
{
    struct bytes bytes = session_from(0, 6);
    struct connection *line = line_open(&protocol);
    size_t taken;

    judge.is_full = true;
    ok(line_feed(&taken, line, bytes.at, bytes.count - STREAM_HEADER_BYTES, 65536));
    await_acknowledgement(line, 6);
    line_close(line, status_error(STATUS_IO, "lost"));
    close_all(false);
    ck_assert_uint_eq(judge.count, 0);

    judge.is_full = false;
    judge.committed = 2;
    open_all();
    await_idle();
    ck_assert_uint_eq(judge.count, 4);
    for (size_t i = 0; i < 4; i++) ck_assert_uint_eq(judge.sequences[i], i + 2);

    /* and the client is told where to resume */
    char text[200];
    line = line_open(&protocol);
    ok(line_feed(&taken, line, bytes.at, 100,
                 65536)); /* the greeting and a part of record 0, again */
    ck_assert_uint_eq(await(STREAM_WELCOME, text, line).sequence, 6);
    line_close(line, status_ok());
    bytes_release(&bytes);
}
END_TEST

/* A record that comes again is taken for the one that is there. */
START_TEST(repetitions_are_left_out)
{
    struct bytes bytes = { NULL, 0 };
    struct connection *line = line_open(&protocol);
    char text[200];
    size_t taken;

    add_greeting(&bytes, SESSION, "secret", 0);
    for (uint64_t i = 0; i < 4; i++) add_record(&bytes, i);
    for (uint64_t i = 0; i < 5; i++) add_record(&bytes, i);
    add_frame(&bytes, STREAM_BYE, 5, "", 0, 0);
    ok(line_feed(&taken, line, bytes.at, bytes.count, 65536));
    ck_assert_uint_eq(await(STREAM_BYE, text, line).sequence, 5);
    line_close(line, status_ok());
    await_idle();
    check_judged(5);
    bytes_release(&bytes);
}
END_TEST

/* A second connection of a session takes over from one that nobody noticed to be dead. */
START_TEST(a_session_has_one_connection)
{
    struct bytes first = { NULL, 0 }, second = session_from(0, 2);
    struct connection *dead = line_open(&protocol), *line = line_open(&protocol);
    char text[200];
    size_t taken;

    add_greeting(&first, SESSION, "secret", 0);
    add_record(&first, 0);
    ok(line_feed(&taken, dead, first.at, first.count, 65536));
    ok(line_feed(&taken, line, second.at, second.count, 65536));
    ck_assert(dead->ended);
    ck_assert_uint_eq(await(STREAM_BYE, text, line).sequence, 2);
    line_close(dead, status_ok());
    line_close(line, status_ok());
    await_idle();
    check_judged(2);
    bytes_release(&first);
    bytes_release(&second);
}
END_TEST

static const struct {
    const char *what, *token;
    bool has_no_greeting, has_two, has_gap, is_damaged, is_a_servers;
} faults[] = {
    { .what = "token", .token = "Secret" },
    { .what = "token", .token = "" },
    { .what = "greeting", .token = "secret", .has_no_greeting = true },
    { .what = "greeting", .token = "secret", .has_two = true },
    { .what = "expected", .token = "secret", .has_gap = true },
    { .what = "checksum", .token = "secret", .is_damaged = true },
    { .what = "server", .token = "secret", .is_a_servers = true },
};

/* Whatever breaks the rules ends its own connection; no record of it is judged. */
START_TEST(who_breaks_the_rules_is_sent_away)
{
    struct bytes bytes = { NULL, 0 };
    struct connection *line = line_open(&protocol);
    size_t taken;

    if (!faults[_i].has_no_greeting) add_greeting(&bytes, SESSION, faults[_i].token, 0);
    if (faults[_i].has_two) add_greeting(&bytes, SESSION, faults[_i].token, 0);
    if (faults[_i].is_a_servers) add_frame(&bytes, STREAM_ACK, 1, "", 0, 0);
    add_record(&bytes, faults[_i].has_gap ? 1 : 0);
    if (faults[_i].is_damaged) bytes.at[bytes.count - 1] ^= 4;
    struct status status = line_feed(&taken, line, bytes.at, bytes.count, 65536);
    const char *said = status.code ? status.text : line->log;
    ck_assert_msg(status.code == STATUS_BAD_INPUT || line->ended, "%d", status.code);
    ck_assert_msg(strstr(said, faults[_i].what), "%s", said);
    if (!status.code) {
        struct stream_frame frame;
        char text[200];
        ck_assert(answer(&frame, text, line));
        ck_assert_int_eq(frame.kind, STREAM_REFUSED);
    }
    line_close(line, status);
    await_idle();
    ck_assert_uint_eq(judge.count, 0);
    ck_assert_uint_eq(attendance.delivered, 0);
    bytes_release(&bytes);
}
END_TEST

static atomic_bool disk_is_full;
static int full_disk(enum file_operation operation, const char *path)
{
    (void)path;
    return operation == FILE_WRITE && atomic_load(&disk_is_full) ? ENOSPC : 0;
}

/* While the disk is full clients are told so and nothing is acknowledged; then it continues. */
START_TEST(a_full_disk_makes_the_server_busy)
{
    struct bytes bytes = session_from(0, 4);
    char text[200];
    size_t taken;

    close_all(true);
    file_fault = full_disk;
    open_all();
    struct connection *line = line_open(&protocol);
    atomic_store(&disk_is_full, true);
    ok(line_feed(&taken, line, bytes.at, bytes.count, 65536));
    await(STREAM_BUSY, text, line);
    ck_assert_msg(strstr(text, "No space left"), "%s", text);
    usleep(100000);
    protocol.woken(protocol.context);
    struct stream_frame frame;
    while (answer(&frame, text, line)) ck_assert_int_ne(frame.kind, STREAM_ACK);
    ck_assert_uint_eq(judge.count, 0);
    atomic_store(&disk_is_full, false);
    ck_assert_uint_eq(await(STREAM_BYE, text, line).sequence, 4);
    line_close(line, status_ok());
    await_idle();
    check_judged(4);
    close_all(true);
    file_fault = NULL;
    open_all();
    bytes_release(&bytes);
}
END_TEST

/* Room for one file of so many bytes, and for the beginning of another beside it. */
enum { SMALL_DISK = 6000, BESIDE_IT = 1500 };
static int small_disk(enum file_operation operation, const char *path)
{
    off_t bytes = 0, own = 0;
    struct stat found;
    glob_t files;

    if (operation != FILE_WRITE || !strstr(path, "segment")) return 0;
    if (glob(in(&workspace, "spool/*"), 0, NULL, &files)) return 0;
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (!stat(files.gl_pathv[i], &found)) bytes += found.st_size;
    globfree(&files);
    if (!stat(path, &found)) own = found.st_size;
    return own > SMALL_DISK || bytes > SMALL_DISK + BESIDE_IT ? ENOSPC : 0;
}

/* A disk that has no room for all records has it for one behind the other. */
START_TEST(a_small_disk_suffices)
{
    enum { RECORDS = 30, BODY = 700 };
    unsigned char body[BODY] = { 0 };
    struct bytes bytes = { NULL, 0 };
    size_t taken;

    close_all(true);
    file_fault = small_disk;
    open_all();
    struct connection *line = line_open(&protocol);
    add_greeting(&bytes, SESSION, "secret", 0);
    ok(line_feed(&taken, line, bytes.at, bytes.count, 65536));
    for (uint64_t i = 0; i < RECORDS; i++) {
        bytes.count = 0;
        add_frame(&bytes, STREAM_RECORD, i, body, BODY, BODY);
        ok(line_feed(&taken, line, bytes.at, bytes.count, 65536));
        await_acknowledgement(line, i + 1);
    }
    line_close(line, status_ok());
    await_idle();
    ck_assert_uint_eq(judge.count, RECORDS);
    close_all(true);
    file_fault = NULL;
    open_all();
    bytes_release(&bytes);
}
END_TEST

static atomic_bool syncs_fail;
static char failed_path[512];
static int failing_sync(enum file_operation operation, const char *path)
{
    if (operation != FILE_SYNC || !strstr(path, "segment") || !atomic_load(&syncs_fail)) return 0;
    snprintf(failed_path, sizeof failed_path, "%s", path);
    return EIO;
}

/* A sync that has failed is final: what it may have lost is not acknowledged before it is durable elsewhere, also when
 * its rows are written already. The files that could not be synced are not needed. */
START_TEST(what_a_failed_sync_may_have_lost_is_written_anew)
{
    struct bytes bytes = session_from(0, 6);
    char text[200];
    size_t taken;

    judge.is_full = _i;
    close_all(true);
    open_all();
    file_fault = failing_sync;
    atomic_store(&syncs_fail, true);
    struct connection *line = line_open(&protocol);
    ok(line_feed(&taken, line, bytes.at, bytes.count - STREAM_HEADER_BYTES, 65536));
    await(STREAM_BUSY, text, line);
    ck_assert_msg(strstr(text, "sync"), "%s", text);
    protocol.woken(protocol.context);
    struct stream_frame frame;
    while (answer(&frame, text, line)) ck_assert_int_ne(frame.kind, STREAM_ACK);
    atomic_store(&syncs_fail, false);
    await_acknowledgement(line, 6);
    line_close(line, status_error(STATUS_IO, "lost"));
    if (!judge.is_full) {
        await_idle();
        check_judged(6); /* once each */
    }
    close_all(false);
    file_fault = NULL;
    ck_assert(*failed_path);
    (void)unlink(failed_path);

    judge.count = 0;
    judge.is_full = false;
    open_all();
    await_idle();
    check_judged(6);
    bytes_release(&bytes);
}
END_TEST

/* Training is told to stop where it wants to be told, also when it comes later. */
START_TEST(training_is_stopped_where_it_asks_for_it)
{
    static const char *const sessions[] = { "0000000000000000", "1111111111111111",
                                            "2222222222222222" };
    struct connection *lines[3];
    char text[200];
    size_t taken;

    for (int i = 0; i < 3; i++) {
        struct bytes bytes = { NULL, 0 };
        add_greeting(&bytes, sessions[i], "secret", i != 1);
        lines[i] = line_open(&protocol);
        if (i == 2) stream_stop_training(stream, "Torch.add.0 of step 3 is wrong");
        ok(line_feed(&taken, lines[i], bytes.at, bytes.count, 65536));
        bytes_release(&bytes);
    }
    stream_stop_training(stream, "a later reason");
    for (int i = 0; i < 3; i += 2) {
        await(STREAM_STOP, text, lines[i]);
        ck_assert_str_eq(text, "Torch.add.0 of step 3 is wrong");
    }
    struct stream_frame frame;
    while (answer(&frame, text, lines[1])) ck_assert_int_ne(frame.kind, STREAM_STOP);
    for (int i = 0; i < 3; i++) line_close(lines[i], status_ok());
}
END_TEST

/* Bodies that find no memory wait, and nobody else's. */
START_TEST(memory_is_limited)
{
    struct bytes bytes = session_from(0, 5);
    struct connection *line = line_open(&protocol);
    char text[200];
    size_t taken, more;

    ck_assert(receive_memory_take(&memory, &bytes, 1 << 20));
    ck_assert(receive_memory_take(&memory, &bytes, 1 << 20)); /* the leader, to the last byte */
    ok(line_feed(&taken, line, bytes.at, bytes.count, 65536));
    ck_assert_uint_lt(taken, bytes.count);
    ck_assert_uint_eq(judge.count, 0);
    receive_memory_done(&memory, &bytes);
    receive_memory_give(&memory, 2 << 20);
    protocol.woken(protocol.context);
    ck_assert(line->resumed);
    ok(line_feed(&more, line, bytes.at + taken, bytes.count - taken, 65536));
    ck_assert_uint_eq(await(STREAM_BYE, text, line).sequence, 5);
    line_close(line, status_ok());
    await_idle();
    check_judged(5);
    bytes_release(&bytes);
}
END_TEST

START_TEST(clients_can_be_seen)
{
    struct bytes bytes = { NULL, 0 };
    struct connection *line = line_open(&protocol);
    struct arena arena = { 0 };
    struct stream_client_progress *clients;
    unsigned char state[32];
    size_t taken, count;

    for (int i = 0; i < 4; i++) stream_put_u64(state + 8 * i, (uint64_t)(100 + i));
    add_greeting(&bytes, SESSION, "secret", 0);
    add_record(&bytes, 0);
    add_frame(&bytes, STREAM_STATE, 0, state, sizeof state, sizeof state);
    ok(line_feed(&taken, line, bytes.at, bytes.count, 65536));
    await_acknowledgement(line, 1);
    ok(stream_progress(&clients, &count, &arena, stream));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(clients[0].host, "node");
    ck_assert_str_eq(clients[0].address, "10.0.0.7:41234");
    ck_assert_int_eq(clients[0].rank, -1);
    ck_assert(clients[0].is_connected && !clients[0].has_ended);
    ck_assert_uint_eq(clients[0].received, 1);
    ck_assert_uint_eq(clients[0].received_bytes, 10);
    ck_assert_uint_eq(clients[0].state.queued_records, 100);
    ck_assert_uint_eq(clients[0].state.dropped_bytes, 103);
    line_close(line, status_ok());
    ok(stream_progress(&clients, &count, &arena, stream));
    ck_assert(!clients[0].is_connected);
    arena_release(&arena);
    bytes_release(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream sessions");
    TCase *cases = tcase_create("all");

    tcase_add_checked_fixture(cases, start, finish);
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, bytes_come_in_pieces, 0, 9);
    tcase_add_test(cases, connections_are_lost_anywhere);
    tcase_add_test(cases, a_process_ends_before_it_has_judged);
    tcase_add_test(cases, repetitions_are_left_out);
    tcase_add_test(cases, a_session_has_one_connection);
    tcase_add_loop_test(cases, who_breaks_the_rules_is_sent_away, 0, 7);
    tcase_add_test(cases, a_full_disk_makes_the_server_busy);
    tcase_add_test(cases, a_small_disk_suffices);
    tcase_add_loop_test(cases, what_a_failed_sync_may_have_lost_is_written_anew, 0, 2);
    tcase_add_test(cases, training_is_stopped_where_it_asks_for_it);
    tcase_add_test(cases, memory_is_limited);
    tcase_add_test(cases, clients_can_be_seen);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
