/* One session per connection. Bytes are read into one buffer that all sessions share, or, inside a large
 * body, to where the body is put together. What a session cannot take yet (the beginning of a header;
 * frames behind one that has to wait) it keeps itself, so that an idle connection holds nothing.
 */
#include "online/peer_sessions.h"

#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "online/peer_frames.h"
#include "online/peer_history.h"

enum { SCRATCH_BYTES = 64 << 10 };
static const double settle_s = 0.5; /* silence after which a short first frame is taken as it is */
static const double useless_s = 15; /* a client without records is sent home so long after STOP_ */

/* For a body that goes beyond the share of memory: 30 s, and the time of its bytes at 1 MB/s. */
static const double patience_s = 30, patience_bytes_a_second = 1e6;

struct peer_session {
    struct peer_sessions *all;
    struct connection *connection;
    struct peer_reader reader;
    struct peer_history history;
    struct attendant attendant;
    uint64_t records;
    bool waits_for_sink;   /* with the frame of the reader */
    bool waits_for_memory; /* in the middle of a frame */
    bool was_busy;         /* it was told so for this frame */
    bool reads_in_place;
    unsigned char *unread; /* read, and not taken yet; owned */
    size_t n_unread;
    double heard_s;   /* when the last bytes came */
    double stopped_s; /* when it said STOP_ first */
    struct peer_session *previous, *next;
};

/* ---- answers ---------------------------------------------------------------------------- */

static struct status answer(struct peer_session *s, enum peer_answer what,
                            const struct peer_numbers *numbers)
{
    unsigned char bytes[PEER_ANSWER_BYTES];
    peer_answer_write(bytes, what, numbers);
    return connection_send(s->connection, bytes, sizeof bytes);
}

static void log_frame(const struct peer_session *s, const char *what)
{
    const struct peer_numbers *n = &s->reader.frame.numbers;
    connection_log(s->connection, "frame %llu (rank %llu, step %llu, %s) %s",
                   (unsigned long long)n->sequence, (unsigned long long)n->rank,
                   (unsigned long long)n->step, quantity_bytes(s->reader.frame.bytes).text, what);
}

/* ---- frames ----------------------------------------------------------------------------- */

static struct status refuse_damaged(struct peer_session *s)
{
    const struct peer_numbers *numbers = &s->reader.frame.numbers;
    log_frame(s, s->reader.frame.bytes ? "is damaged" : "is empty");
    peer_history_damage(&s->history, numbers);
    attendance_set_damaged(s->all->attendance, &s->attendant, true);
    return answer(s, PEER_ERROR, numbers);
}

static struct status stop(struct peer_session *s)
{
    if (!s->attendant.has_stopped) {
        s->stopped_s = clock_seconds();
        connection_log(s->connection, "the client has stopped, after %s",
                       quantity_of(s->records, "record").text);
    }
    attendance_stop(s->all->attendance, &s->attendant, clock_seconds());
    return answer(s, PEER_OVER, &s->reader.frame.numbers);
}

/* It came whole: it will not come again. */
static struct status accept_frame(struct peer_session *s)
{
    const struct peer_numbers *numbers = &s->reader.frame.numbers;
    TRY(peer_history_accept(&s->history, numbers));
    if (!s->records++)
        connection_log(s->connection, "a client has begun: rank %llu, step %llu, %s checksums",
                       (unsigned long long)numbers->rank, (unsigned long long)numbers->step,
                       s->reader.kind == CHECKSUM_MD5 ? "MD5" : "CRC-32");
    if (!s->history.n_damaged) attendance_set_damaged(s->all->attendance, &s->attendant, false);
    return answer(s, PEER_OK, numbers);
}

static int64_t signed_number(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

/* Hand the record on, or wait with it. */
static struct status submit(struct peer_session *s)
{
    struct peer_frame *frame = &s->reader.frame;
    const struct record_sink *sink = &s->all->sink;
    const struct judge_submission record = {
        .origin = { .address = connection_address(s->connection),
                    .sequence = frame->numbers.sequence,
                    .rank = signed_number(frame->numbers.rank),
                    .step = signed_number(frame->numbers.step) },
        .decode = record_decode,
        .body = frame->body,
        .bytes = (size_t)frame->bytes,
    };
    bool taken;
    if (!s->was_busy && sink->arrived) TRY(sink->arrived(sink->context, &record));
    TRY(sink->submit(&taken, sink->context, &record));
    s->waits_for_sink = !taken;
    if (taken) {
        frame->body = NULL;
        s->was_busy = false;
        return accept_frame(s);
    }
    if (s->was_busy) return status_ok();
    s->was_busy = true;
    return answer(s, PEER_BUSY, &frame->numbers);
}

static struct status drop_oversized(struct peer_session *s)
{
    log_frame(s, "is larger than the memory for records (--memory) and was dropped");
    s->all->oversized++;
    return accept_frame(s);
}

static struct status take_frame(struct peer_session *s)
{
    const struct peer_frame *frame = &s->reader.frame;
    if (!frame->is_intact) return refuse_damaged(s);
    if (peer_frame_is_stop(frame)) return stop(s);
    attendance_deliver(s->all->attendance, &s->attendant);
    connection_prove(s->connection);
    if (peer_history_has(&s->history, &frame->numbers)) return answer(s, PEER_OK, &frame->numbers);
    return frame->body ? submit(s) : drop_oversized(s);
}

/* ---- bytes ------------------------------------------------------------------------------ */

static bool must_wait(const struct peer_session *s)
{
    return s->waits_for_sink || s->waits_for_memory;
}

/* Keep these bytes, which may be part of what is kept already. */
static struct status keep_unread(struct peer_session *s, const unsigned char *bytes, size_t count)
{
    unsigned char *kept = count ? memory_allocate(count) : NULL;
    if (count && !kept) return status_no_memory(count);
    if (count) memcpy(kept, bytes, count);
    memory_release(s->unread);
    s->unread = kept;
    s->n_unread = count;
    return status_ok();
}

/* All frames in these bytes, up to one that has to wait; the rest is kept. */
static struct status take_bytes(struct peer_session *s, const unsigned char *bytes, size_t count)
{
    enum peer_progress progress;
    size_t taken;
    do {
        TRY(peer_reader_take(&progress, &taken, &s->reader, bytes, count));
        bytes += taken;
        count -= taken;
        s->waits_for_memory = progress == PEER_WAITS;
        if (progress == PEER_FRAME) TRY(take_frame(s));
    } while (progress == PEER_FRAME && !s->waits_for_sink);
    return keep_unread(s, bytes, count);
}

/* What waited may continue now. */
static struct status go_on(struct peer_session *s)
{
    if (s->waits_for_sink) TRY(submit(s));
    if (s->waits_for_sink || !s->n_unread) return status_ok();
    return take_bytes(s, s->unread, s->n_unread);
}

static size_t room(void *session, void **where)
{
    struct peer_session *s = session;
    if (must_wait(s)) return 0;
    size_t in_place = s->n_unread ? 0 : peer_reader_room(&s->reader, where);
    s->reads_in_place = in_place > 0;
    if (in_place) return in_place;
    if (s->n_unread) memcpy(s->all->scratch, s->unread, s->n_unread);
    *where = s->all->scratch + s->n_unread;
    return SCRATCH_BYTES - s->n_unread;
}

static struct status received(void *session, size_t bytes)
{
    struct peer_session *s = session;
    s->heard_s = clock_seconds();
    if (!s->reads_in_place) return take_bytes(s, s->all->scratch, s->n_unread + bytes);
    if (peer_reader_arrived(&s->reader, bytes) == PEER_FRAME) return take_frame(s);
    return status_ok();
}

/* ---- time ------------------------------------------------------------------------------- */

/* A body that goes beyond the share of memory while others wait has to get on. */
static struct status check_patience(const struct peer_session *s)
{
    const double allowed_s = patience_s + (double)s->reader.frame.bytes / patience_bytes_a_second;
    if (receive_memory_leads_for(s->all->memory, &s->reader) < allowed_s) return status_ok();
    return status_error(STATUS_IO,
                        "its body of %s comes too slowly, and others wait for the memory",
                        quantity_bytes(s->reader.frame.bytes).text);
}

/* Who has stopped without a record ends no run and would wait for ever for one that nobody begins. */
static void send_home(const struct peer_session *s, double now_s)
{
    const struct attendant *one = &s->attendant;
    if (one->has_stopped && !one->has_delivered && now_s - s->stopped_s > useless_s)
        connection_end(s->connection);
}

static struct status look_after(struct peer_session *s, double now_s)
{
    send_home(s, now_s);
    TRY(check_patience(s));
    if (must_wait(s)) {
        TRY(go_on(s));
        if (!must_wait(s)) connection_resume(s->connection);
        return status_ok();
    }
    if (s->reader.kind != CHECKSUM_NONE || now_s - s->heard_s < settle_s ||
        s->n_unread < PEER_INTEGERS_BYTES + CHECKSUM_CRC32_DIGITS)
        return status_ok();
    peer_reader_settle(&s->reader);
    return take_bytes(s, s->unread, s->n_unread);
}

static void woken(void *context)
{
    struct peer_sessions *all = context;
    const double now_s = clock_seconds();
    for (struct peer_session *s = all->first, *next; s; s = next) {
        next = s->next;
        struct status status = look_after(s, now_s);
        if (status.code) connection_fail(s->connection, status);
    }
}

/* ---- begin and end ---------------------------------------------------------------------- */

static struct status begin(void **session, void *context, struct connection *connection)
{
    struct peer_sessions *all = context;
    struct peer_session *s = memory_allocate_zeroed(1, sizeof *s);
    if (!s) return status_no_memory(sizeof *s);
    s->all = all;
    s->connection = connection;
    s->heard_s = clock_seconds();
    peer_reader_open(&s->reader, all->memory, all->limit_bytes);
    s->next = all->first;
    if (s->next) s->next->previous = s;
    all->first = s;
    *session = s;
    return status_ok();
}

static void closed(void *session, struct status why)
{
    struct peer_session *s = session;
    bool was_active;
    attendance_leave(&was_active, s->all->attendance, &s->attendant, clock_seconds());
    if (was_active && !why.code)
        connection_log(s->connection, "warning: the client is lost, after %s and without STOP_%s",
                       quantity_of(s->records, "record").text,
                       s->reader.in_body || s->n_unread ? ", in the middle of a frame" : "");
    if (s->previous) s->previous->next = s->next;
    else s->all->first = s->next;
    if (s->next) s->next->previous = s->previous;
    peer_reader_close(&s->reader);
    peer_history_release(&s->history);
    memory_release(s->unread);
    memory_release(s);
}

struct status peer_sessions_open(struct peer_sessions *out)
{
    out->protocol = (struct protocol){ .name = "msprobe client",
                                       .context = out,
                                       .begin = begin,
                                       .room = room,
                                       .received = received,
                                       .closed = closed,
                                       .woken = woken };
    out->first = NULL;
    out->oversized = 0;
    out->scratch = memory_allocate(SCRATCH_BYTES);
    return out->scratch ? status_ok() : status_no_memory(SCRATCH_BYTES);
}

void peer_sessions_close(struct peer_sessions *sessions)
{
    memory_release(sessions->scratch);
    sessions->scratch = NULL;
}

void peer_sessions_end(struct peer_sessions *sessions)
{
    static const struct peer_numbers killed = { .sequence = 100000000 };
    for (struct peer_session *s = sessions->first; s; s = s->next) {
        (void)answer(s, PEER_KILL, &killed);
        connection_end(s->connection);
    }
}
