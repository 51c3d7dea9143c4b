/* stream-sink SPOOL PORT [print]
 *
 * The receiving half of `probe-ut serve` for our own client, with a judge that only decodes: what the transport
 * and the spool can take. Prints its port, serves until all clients are done, and says how many records and
 * bytes came in which time. `print`: also a line per record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "online/server.h"
#include "online/stream_record.h"
#include "online/stream_session.h"

struct sink {
    struct stream_store *store;
    struct receive_memory memory;
    struct arena arena;
    uint64_t records, bytes;
    double began_s;
    bool print;
};

static void print_record(const struct record *record)
{
    printf("%s rank %lld step %lld: %zu arguments, %zu outputs, %zu tensors; %s\n",
           record->call.full_name, (long long)record->rank, (long long)record->step,
           record->call.args.list.count, record->call.outputs.list.count,
           value_count_tensors(&record->call.args) + value_count_tensors(&record->call.kwargs) +
               value_count_tensors(&record->call.outputs),
           record->unusable.code ? record->unusable.text : "good");
}

static struct status submit(bool *taken, void *context, const struct judge_submission *s)
{
    struct sink *sink = context;
    struct record record;
    struct record_done done = { .origin = s->origin, .ticket = s->ticket, .fate = RECORD_JUDGED };

    if (!sink->records++) sink->began_s = clock_seconds();
    sink->bytes += s->bytes;
    arena_reset(&sink->arena);
    struct status status = s->decode(&record, &sink->arena, s->body, s->bytes, s->origin.session);
    if (status.code) printf("%s\n", status.text);
    else if (sink->print) print_record(&record);
    stream_store_release(sink->store, s->ticket);
    stream_store_done(sink->store, &done);
    *taken = true;
    return status_ok();
}

static uint64_t committed(void *context, const char *session)
{
    (void)context, (void)session;
    return 0;
}

static struct status sync_rows(void *context)
{
    (void)context;
    return status_ok();
}

static void say(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "%s\n", text);
}

static struct server *server;
static void wake(void *context)
{
    (void)context;
    if (server) server_wake(server);
}

static void check(struct status status)
{
    if (!status.code) return;
    fprintf(stderr, "stream-sink: %s\n", status.text);
    exit(1);
}

int main(int count, char **words)
{
    static struct sink sink;
    struct attendance attendance = { 0 };
    struct stream *stream;

    if (count < 3) return 2;
    sink.print = count > 3;
    receive_memory_open(&sink.memory, (uint64_t)1 << 30);
    const struct stream_store_options store = {
        .directory = words[1],
        .judge = { &sink, submit, committed, sync_rows },
        .memory = &sink.memory,
        .wake = wake,
    };
    check(stream_store_open(&sink.store, &store));
    const struct stream_options options = { .token = "secret",
                                            .memory = &sink.memory,
                                            .attendance = &attendance };
    check(stream_open(&stream, &options));
    stream_use_store(stream, sink.store);
    struct protocol protocol = stream_protocol(stream);
    struct server_options listening = { .address = "127.0.0.1",
                                        .port = (uint16_t)atoi(words[2]),
                                        .protocols = { &protocol },
                                        .log = { .tell = say } };
    check(server_open(&server, &listening));
    printf("%u\n", server_port(server));
    fflush(stdout);
    while (!attendance_is_over(&attendance, clock_seconds()) || !stream_store_is_idle(sink.store))
        check(server_serve(server, -1));
    printf("%llu records, %llu bytes\n", (unsigned long long)sink.records,
           (unsigned long long)sink.bytes);
    stream_end_run(stream);
    for (int i = 0; i < 2; i++) check(server_serve(server, -1));
    server_close(server);
    stream_close(stream);
    check(stream_store_close(sink.store, true));
    arena_release(&sink.arena);
    receive_memory_close(&sink.memory);
    return 0;
}
