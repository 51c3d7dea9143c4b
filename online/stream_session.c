/* One connection of our own client at a time: bytes to frames, frames to records, and what is durable back
 * to the client. Small frames are taken from a buffer; the body of a large one is read to where it stays. */
#include "online/stream_session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"

enum { BUFFER_BYTES = 256 << 10, GREETING_BYTES = STREAM_HEADER_BYTES + STREAM_CONTROL_BYTES };
enum {
    PIECE_BYTES = 256 << 10
}; /* of a body that arrives: read, and summed while the cache has it */

/* A client over all its connections. */
struct visitor {
    struct visitor *next;
    struct stream_client *client;
    struct link *link; /* NULL while there is none */
    struct attendant attendant;
    struct stream_client_progress progress; /* guarded by the mutex of the stream */
};

/* A connection. */
struct link {
    struct stream *stream;
    struct connection *connection;
    struct link *next, **place;
    struct visitor *visitor; /* NULL before the greeting */
    bool wants_stop, was_stopped, was_told_busy, is_over, may_not_take;
    uint64_t acknowledged, farewell; /* records; farewell: how many there are in all */
    bool has_farewell;

    unsigned char *buffer;
    size_t buffer_bytes, begin, end; /* what was read and not taken: begin..end */

    unsigned char header[STREAM_HEADER_BYTES]; /* of the body that arrives */
    struct stream_frame frame;
    unsigned char *body;            /* NULL: frames are taken from the buffer */
    uint64_t body_used, body_taken; /* bytes that have arrived, and bytes of memory taken */
    uint64_t summed, bulk_sum; /* of its bulk: bytes, whole words but at the end, and their sum */
};

struct stream {
    struct stream_options options;
    struct stream_store *store; /* NULL before the first client */
    struct link *links;
    pthread_mutex_t mutex; /* of what follows */
    struct visitor *visitors;
    char stop[STREAM_CONTROL_BYTES]; /* why training shall stop; "" while it shall not */
};

/* ---- sending ---------------------------------------------------------------------------- */

static struct status send_frame(struct link *link, enum stream_kind kind, uint64_t sequence,
                                const char *text)
{
    unsigned char frame[STREAM_HEADER_BYTES + STREAM_CONTROL_BYTES];
    size_t length = strlen(text);
    if (length > STREAM_CONTROL_BYTES) length = STREAM_CONTROL_BYTES;

    return connection_send(link->connection, frame,
                           stream_frame_write(frame, kind, sequence, text, length));
}

static struct status refuse(struct link *link, const char *why)
{
    (void)send_frame(link, STREAM_REFUSED, 0, why);
    connection_log(link->connection, "%s", why);
    connection_end(link->connection);
    link->is_over = true;
    return status_ok();
}

/* Tell the client what has changed since it was told last. */
static struct status tell_stop(struct link *link)
{
    char why[STREAM_CONTROL_BYTES];

    if (!link->wants_stop || link->was_stopped) return status_ok();
    pthread_mutex_lock(&link->stream->mutex);
    (void)snprintf(why, sizeof why, "%s", link->stream->stop);
    pthread_mutex_unlock(&link->stream->mutex);
    if (!why[0]) return status_ok();
    link->was_stopped = true;
    return send_frame(link, STREAM_STOP, 0, why);
}

static struct status tell_trouble(struct link *link)
{
    struct status trouble = stream_store_trouble(link->stream->store);

    if ((trouble.code != 0) == link->was_told_busy) return status_ok();
    link->was_told_busy = trouble.code != 0;
    return trouble.code ? send_frame(link, STREAM_BUSY, link->acknowledged, trouble.text)
                        : status_ok();
}

static struct status tell(struct link *link)
{
    struct stream *stream = link->stream;
    uint64_t durable = stream_client_durable(stream->store, link->visitor->client);

    TRY(tell_stop(link));
    TRY(tell_trouble(link));
    if (durable > link->acknowledged) {
        link->acknowledged = durable;
        TRY(send_frame(link, STREAM_ACK, durable, ""));
    }
    if (!link->has_farewell || durable < link->farewell) return status_ok();
    attendance_stop(stream->options.attendance, &link->visitor->attendant, clock_seconds());
    pthread_mutex_lock(&stream->mutex);
    link->visitor->progress.has_ended = true;
    pthread_mutex_unlock(&stream->mutex);
    TRY(send_frame(link, STREAM_BYE, durable, ""));
    connection_end(link->connection);
    link->is_over = true;
    return status_ok();
}

/* ---- frames ----------------------------------------------------------------------------- */

static struct visitor *find_visitor(struct stream *stream, struct stream_client *client)
{
    struct visitor *visitor = stream->visitors;

    while (visitor && visitor->client != client) visitor = visitor->next;
    if (visitor) return visitor;
    visitor = memory_allocate_zeroed(1, sizeof *visitor);
    if (!visitor) return NULL;
    visitor->client = client;
    pthread_mutex_lock(&stream->mutex);
    visitor->next = stream->visitors;
    stream->visitors = visitor;
    pthread_mutex_unlock(&stream->mutex);
    return visitor;
}

/* The connection is the client's; an earlier one, which nobody noticed to be dead, is not any more. */
static void attach(struct link *link, struct visitor *visitor, const struct stream_hello *hello)
{
    if (visitor->link) {
        visitor->link->visitor = NULL;
        visitor->link->is_over = true;
        connection_end(visitor->link->connection);
    }
    connection_prove(link->connection);
    visitor->link = link;
    link->visitor = visitor;
    link->wants_stop = hello->flags & STREAM_WANTS_STOP;
    pthread_mutex_lock(&link->stream->mutex);
    struct stream_client_progress *progress = &visitor->progress;
    (void)snprintf(progress->host, sizeof progress->host, "%s", hello->host);
    (void)snprintf(progress->address, sizeof progress->address, "%s",
                   connection_address(link->connection));
    progress->rank = hello->rank;
    progress->process = hello->process;
    progress->is_connected = true;
    progress->received = stream_client_received(visitor->client);
    pthread_mutex_unlock(&link->stream->mutex);
}

static struct status greet(struct link *link, const unsigned char *body, size_t bytes)
{
    const struct stream_options *options = &link->stream->options;
    struct stream_hello hello;

    TRY(stream_hello_read(&hello, body, bytes));
    if (options->token && !stream_token_is(hello.token, hello.token_bytes, options->token))
        return refuse(link, hello.token_bytes ? "the token is wrong" : "a token is needed");
    struct status status = link->stream->store
                               ? status_ok()
                               : options->open_store(&link->stream->store, options->open_context);
    if (status.code) return refuse(link, status.text);
    struct stream_client *client = stream_store_client(link->stream->store, hello.session);
    struct visitor *visitor = client ? find_visitor(link->stream, client) : NULL;
    unsigned char *buffer = visitor ? memory_resize(link->buffer, BUFFER_BYTES) : NULL;
    if (!buffer) return status_no_memory(BUFFER_BYTES);
    link->buffer = buffer;
    link->buffer_bytes = BUFFER_BYTES;
    attach(link, visitor, &hello);
    link->acknowledged = stream_client_durable(link->stream->store, client);
    if (link->acknowledged) attendance_deliver(options->attendance, &visitor->attendant);
    return send_frame(link, STREAM_WELCOME, link->acknowledged, "");
}

static void tell_arrival(const struct link *link, const struct stream_frame *frame,
                         const void *body)
{
    const struct stream_options *options = &link->stream->options;
    const struct record_origin origin = {
        .address = connection_address(link->connection),
        .session = stream_client_session(link->visitor->client),
        .sequence = frame->sequence,
    };

    if (options->arrived)
        options->arrived(options->arrived_context, &origin, body, (size_t)frame->body_bytes);
}

/* The next record goes on its way; one that has come before does not, and one that leaves others out ends the
 * connection. The body is the store's then, or released. */
static struct status take_record(struct link *link, const struct stream_frame *frame, void *body)
{
    const struct stream_options *options = &link->stream->options;
    struct stream_client *client = link->visitor->client;
    uint64_t expected = stream_client_received(client);
    struct status status = status_ok();
    bool is_next = frame->sequence == expected;

    if (frame->sequence > expected)
        status = status_error(STATUS_BAD_INPUT, "record %llu came where %llu was expected",
                              (unsigned long long)frame->sequence, (unsigned long long)expected);
    if (is_next) tell_arrival(link, frame, body);
    if (is_next)
        status = stream_store_put(link->stream->store, client, body, frame->body_bytes,
                                  stream_frame_body_sum(frame, body));
    if (!is_next || status.code) {
        (void)receive_memory_give_body(options->memory, body, frame->body_bytes, frame->body_bytes);
        return status;
    }
    attendance_deliver(options->attendance, &link->visitor->attendant);
    pthread_mutex_lock(&link->stream->mutex);
    link->visitor->progress.received++;
    link->visitor->progress.received_bytes += frame->body_bytes;
    pthread_mutex_unlock(&link->stream->mutex);
    return status;
}

static struct status take_state(struct link *link, const unsigned char *body, size_t bytes)
{
    struct stream_client_state state;

    TRY(stream_state_read(&state, body, bytes));
    pthread_mutex_lock(&link->stream->mutex);
    link->visitor->progress.state = state;
    pthread_mutex_unlock(&link->stream->mutex);
    return status_ok();
}

/* A frame without a body that stays. */
static struct status take_control(struct link *link, const struct stream_frame *frame,
                                  const unsigned char *body)
{
    size_t bytes = (size_t)frame->body_bytes;

    if ((frame->kind == STREAM_HELLO) != !link->visitor)
        return status_error(STATUS_BAD_INPUT, link->visitor ? "a second greeting" : "no greeting");
    switch (frame->kind) {
    case STREAM_HELLO: return greet(link, body, bytes);
    case STREAM_STATE: return take_state(link, body, bytes);
    case STREAM_BYE:
        link->has_farewell = true;
        link->farewell = frame->sequence;
        return tell(link);
    default: return status_error(STATUS_BAD_INPUT, "a frame that only a server sends");
    }
}

/* ---- bytes ------------------------------------------------------------------------------ */

static struct status damaged(void)
{
    return status_error(STATUS_BAD_INPUT, "a frame whose checksum is wrong");
}

/* Add what has come of the bulk to its sum. */
static void sum_bulk(struct link *link)
{
    uint64_t head = link->frame.head_bytes, bulk = link->frame.body_bytes - head;
    uint64_t there = link->body_used > head ? link->body_used - head : 0;

    if (there < bulk) there -= there % sizeof(uint64_t);
    if (there <= link->summed) return;
    link->bulk_sum = stream_bulk_sum(link->bulk_sum, link->body + head + link->summed,
                                     (size_t)(there - link->summed));
    link->summed = there;
}

/* Begin a body of its own: of a record that is larger than the buffer. */
static struct status begin_body(struct link *link, const struct stream_frame *frame)
{
    struct receive_memory *memory = link->stream->options.memory;
    size_t there = link->end - link->begin - STREAM_HEADER_BYTES;

    link->body = receive_memory_reuse(memory, link, frame->body_bytes);
    link->body_taken = link->body ? frame->body_bytes : there;
    link->may_not_take = !link->body && !receive_memory_take(memory, link, there);
    if (link->may_not_take) return status_ok();
    if (!link->body) link->body = receive_memory_body(frame->body_bytes);
    if (!link->body) return status_no_memory(frame->body_bytes);
    link->frame = *frame;
    memcpy(link->header, link->buffer + link->begin, STREAM_HEADER_BYTES);
    memcpy(link->body, link->buffer + link->begin + STREAM_HEADER_BYTES, there);
    link->body_used = there;
    link->summed = link->bulk_sum = 0;
    link->begin = link->end = 0;
    sum_bulk(link);
    return status_ok();
}

static struct status end_body(struct link *link)
{
    struct receive_memory *memory = link->stream->options.memory;
    unsigned char *body = link->body;
    uint64_t bytes = link->frame.body_bytes;

    receive_memory_done(memory, link);
    link->body = NULL;
    link->body_taken = 0;
    if (stream_frame_agrees(&link->frame, link->header, body, link->bulk_sum))
        return take_record(link, &link->frame, body);
    (void)receive_memory_give_body(memory, body, bytes, bytes);
    return damaged();
}

/* A record that is whole in the buffer. */
static struct status copy_record(struct link *link, const struct stream_frame *frame,
                                 const unsigned char *at)
{
    void *body = receive_memory_body(frame->body_bytes);

    if (!body) {
        (void)receive_memory_give(link->stream->options.memory, frame->body_bytes);
        return status_no_memory(frame->body_bytes);
    }
    memcpy(body, at, (size_t)frame->body_bytes);
    receive_memory_done(link->stream->options.memory, link);
    return take_record(link, frame, body);
}

/* Take the next frame of the buffer. *more is false when there is no whole one, or no memory for it. */
static struct status take_frame(bool *more, struct link *link)
{
    struct receive_memory *memory = link->stream->options.memory;
    const unsigned char *header = link->buffer + link->begin, *body = header + STREAM_HEADER_BYTES;
    size_t there = link->end - link->begin;
    struct stream_frame frame;

    *more = false;
    if (there < STREAM_HEADER_BYTES) return status_ok();
    TRY(stream_frame_read(&frame, header, memory->share_bytes));
    if (frame.kind == STREAM_RECORD && !link->visitor)
        return status_error(STATUS_BAD_INPUT, "no greeting");
    there -= STREAM_HEADER_BYTES;
    bool is_whole = frame.body_bytes <= there;
    bool is_large = frame.body_bytes > BUFFER_BYTES - STREAM_HEADER_BYTES;
    if (!is_whole && !is_large) return status_ok();
    if (is_whole && !stream_frame_is_intact(&frame, header, body)) return damaged();
    if (frame.kind == STREAM_RECORD) {
        if (!is_whole) return begin_body(link, &frame);
        link->may_not_take = !receive_memory_take(memory, link, frame.body_bytes);
        if (link->may_not_take) return status_ok();
        TRY(copy_record(link, &frame, body));
    } else {
        TRY(take_control(link, &frame, body));
    }
    link->begin += STREAM_HEADER_BYTES + (size_t)frame.body_bytes;
    *more = !link->is_over;
    return status_ok();
}

static struct status take_frames(struct link *link)
{
    bool more = true;

    while (more) TRY(take_frame(&more, link));
    if (link->begin) {
        memmove(link->buffer, link->buffer + link->begin, link->end - link->begin);
        link->end -= link->begin;
        link->begin = 0;
    }
    return status_ok();
}

/* ---- what the server calls -------------------------------------------------------------- */

static bool speaks(unsigned char first) { return first == (STREAM_MAGIC & 0xff); }

static struct status begin(void **session, void *context, struct connection *connection)
{
    struct stream *stream = context;
    struct link *link = memory_allocate_zeroed(1, sizeof *link);
    unsigned char *buffer = memory_allocate(GREETING_BYTES);

    if (!link || !buffer) {
        memory_release(link);
        memory_release(buffer);
        return status_no_memory(sizeof *link);
    }
    link->stream = stream;
    link->connection = connection;
    link->buffer = buffer;
    link->buffer_bytes = GREETING_BYTES;
    link->next = stream->links;
    link->place = &stream->links;
    if (link->next) link->next->place = &link->next;
    stream->links = link;
    *session = link;
    return status_ok();
}

static size_t room(void *session, void **where)
{
    struct link *link = session;

    if (link->is_over || link->may_not_take) return 0;
    if (!link->body) {
        *where = link->buffer + link->end;
        return link->buffer_bytes - link->end;
    }
    if (link->body_used == link->body_taken) {
        uint64_t left = link->frame.body_bytes - link->body_taken;
        uint64_t piece = left < PIECE_BYTES ? left : PIECE_BYTES;
        if (!receive_memory_take(link->stream->options.memory, link, piece)) return 0;
        link->body_taken += piece;
    }
    uint64_t may_come = link->body_taken - link->body_used;
    *where = link->body + link->body_used;
    return (size_t)(may_come < PIECE_BYTES ? may_come : PIECE_BYTES);
}

static struct status received(void *session, size_t bytes)
{
    struct link *link = session;

    if (!link->body) {
        link->end += bytes;
        return take_frames(link);
    }
    link->body_used += bytes;
    sum_bulk(link);
    return link->body_used < link->frame.body_bytes ? status_ok() : end_body(link);
}

static void leave(struct link *link)
{
    struct stream *stream = link->stream;
    struct visitor *visitor = link->visitor;
    bool was_active;

    if (!visitor) return;
    visitor->link = NULL;
    attendance_leave(&was_active, stream->options.attendance, &visitor->attendant, clock_seconds());
    if (was_active)
        connection_log(link->connection, "the connection is lost behind %llu records",
                       (unsigned long long)stream_client_received(visitor->client));
    pthread_mutex_lock(&stream->mutex);
    visitor->progress.is_connected = false;
    pthread_mutex_unlock(&stream->mutex);
}

static void closed(void *session, struct status why)
{
    struct link *link = session;

    (void)why;
    leave(link);
    receive_memory_done(link->stream->options.memory, link);
    (void)receive_memory_give_body(link->stream->options.memory, link->body, link->frame.body_bytes,
                                   link->body_taken);
    *link->place = link->next;
    if (link->next) link->next->place = link->place;
    memory_release(link->buffer);
    memory_release(link);
}

static void woken(void *context)
{
    struct stream *stream = context;
    struct link *next;

    for (struct link *link = stream->links; link; link = next) {
        next = link->next;
        struct status status = status_ok();
        if (link->is_over || !link->visitor) continue;
        if (link->may_not_take) status = take_frames(link);
        if (!status.code && !link->is_over) status = tell(link);
        if (status.code) {
            (void)refuse(link, status.text);
            continue;
        }
        if (!link->is_over) connection_resume(link->connection);
    }
}

struct protocol stream_protocol(struct stream *stream)
{
    return (struct protocol){
        .name = "stream client",
        .context = stream,
        .speaks = speaks,
        .begin = begin,
        .room = room,
        .received = received,
        .closed = closed,
        .woken = woken,
    };
}

/* ---- the stream ------------------------------------------------------------------------- */

struct status stream_open(struct stream **out, const struct stream_options *options)
{
    struct stream *stream = memory_allocate_zeroed(1, sizeof *stream);

    *out = stream;
    if (!stream) return status_no_memory(sizeof *stream);
    stream->options = *options;
    (void)pthread_mutex_init(&stream->mutex, NULL);
    return status_ok();
}

void stream_close(struct stream *stream)
{
    if (!stream) return;
    while (stream->visitors) {
        struct visitor *visitor = stream->visitors;
        stream->visitors = visitor->next;
        memory_release(visitor);
    }
    (void)pthread_mutex_destroy(&stream->mutex);
    memory_release(stream);
}

void stream_use_store(struct stream *stream, struct stream_store *store) { stream->store = store; }

void stream_stop_training(struct stream *stream, const char *why)
{
    pthread_mutex_lock(&stream->mutex);
    if (!stream->stop[0]) (void)snprintf(stream->stop, sizeof stream->stop, "%s", why);
    pthread_mutex_unlock(&stream->mutex);
}

void stream_end_run(struct stream *stream)
{
    for (struct link *link = stream->links; link; link = link->next) {
        if (link->is_over) continue;
        if (link->visitor) (void)send_frame(link, STREAM_BYE, link->acknowledged, "");
        connection_end(link->connection);
        link->is_over = true;
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct stream_client_progress *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

struct status stream_progress(struct stream_client_progress **clients, size_t *count,
                              struct arena *arena, struct stream *stream)
{
    size_t n = 0;

    pthread_mutex_lock(&stream->mutex);
    for (const struct visitor *v = stream->visitors; v; v = v->next) n++;
    *clients = arena_allocate_array(arena, n, sizeof **clients);
    *count = *clients ? n : 0;
    size_t i = *count;
    for (const struct visitor *v = stream->visitors; v && i; v = v->next)
        (*clients)[--i] = v->progress;
    pthread_mutex_unlock(&stream->mutex);
    if (!*clients) return status_no_memory(n * sizeof **clients);
    if (n > 1) qsort(*clients, n, sizeof **clients, by_rank);
    return status_ok();
}
