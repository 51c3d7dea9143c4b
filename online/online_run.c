/* One loop for each source of records; around it what they share: the judge, the memory for bodies, the
 * recording. The thread of the loop owns all of it but the judge's threads, which only give memory back and
 * wake the loop.
 */
#include "online/online_run.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "online/attendance.h"
#include "online/event_log.h"
#include "online/judge.h"
#include "online/live_source.h"
#include "online/live_view.h"
#include "online/peer_sessions.h"
#include "online/rank_files.h"
#include "online/receive_memory.h"
#include "online/recording.h"
#include "online/server.h"
#include "online/shared_storage.h"
#include "online/stream_service.h"
#include "runner/memory_budget.h"

enum { LOOK_MS = 100 };            /* how often shared storage and the judge are looked after */
static const double goodbye_s = 5; /* for clients to close when the run is over */
static const double show_every_s = 1;

/* Of the memory of the run: the most that one body may have, half of what all bodies may. The rest is the
 * judge's, for what bodies unfold to and for references. */
enum { BODY_SHARE = 6 };

struct online_run {
    const struct online_options *options;
    const struct interrupts *interrupts;
    struct run_options judged; /* the options of the run, with its memory */
    struct event_log log;
    struct event_log refusals; /* what the judge says, one thread at a time */
    struct judge *judge;
    struct receive_memory memory;
    struct recording recording;
    struct tls *tls;
    struct attendance attendance;
    struct peer_sessions sessions;
    struct stream_service *stream; /* NULL: another source than a server */
    struct live_source live;
    struct live_view *view; /* or NULL */
    struct server *server;  /* NULL: another source */
    int woken;              /* event descriptor of sources without a server */
    bool is_interrupted;
    double shown_s; /* when the watcher was told last */
};

/* ---- the judge -------------------------------------------------------------------------- */

static void wake(struct online_run *run)
{
    const uint64_t one = 1;
    if (run->server) server_wake(run->server);
    else if (write(run->woken, &one, sizeof one) < 0) return; /* a full counter wakes too */
}

static void release_body(void *context, const struct judge_submission *record)
{
    struct online_run *run = context;
    if (run->stream && stream_service_release(run->stream, record)) return;
    memory_release(record->body);
    if (receive_memory_give(&run->memory, record->bytes)) wake(run);
}

static void has_room(void *context)
{
    struct online_run *run = context;
    if (run->stream) stream_service_room(run->stream);
    wake(run);
}

static void is_done(void *context, const struct record_done *done)
{
    struct online_run *run = context;
    if (run->stream) stream_service_done(run->stream, done);
}

static void keep(struct online_run *run, enum recording_kind kind,
                 const struct record_origin *origin, const void *body, size_t bytes)
{
    struct status status = recording_add(&run->recording, kind, origin, body, bytes);
    if (status.code) /* the checks are worth more than their recording */
        event_log_write(&run->log, NULL, "the recording ends here: %s", status.text);
}

/* Bodies that are no records come as fast as a client sends them: the log has a limit for them too. */
static void tell_refusal(void *context, const char *text)
{
    event_log_write(&((struct online_run *)context)->refusals, NULL, "%s", text);
}

static struct status arrived(void *context, const struct judge_submission *record)
{
    keep(context, RECORDING_PEER, &record->origin, record->body, record->bytes);
    return status_ok();
}

static void stream_arrived(void *context, const struct record_origin *origin, const void *body,
                           size_t bytes)
{
    keep(context, RECORDING_STREAM, origin, body, bytes);
}

static struct status submit(bool *taken, void *context, const struct judge_submission *record)
{
    return judge_submit(taken, ((struct online_run *)context)->judge, record);
}

static struct record_sink sink_of(struct online_run *run)
{
    return (struct record_sink){ .arrived = run->options->record ? arrived : NULL,
                                 .submit = submit,
                                 .context = run };
}

static struct status open_view(struct online_run *run)
{
    const struct online_options *o = run->options;
    run->live.judge = run->judge;
    run->live.stream = run->stream;
    run->live.out_path = o->run->out_path;
    run->live.file_policy = o->run->file_policy;
    const struct live_view_options options = { .address = o->http,
                                               .is_public = o->http_public,
                                               .token = o->http_public ? o->token : NULL,
                                               .look = live_source_look,
                                               .report = live_source_report,
                                               .context = &run->live };
    if (!o->http) return status_ok();
    TRY(live_view_open(&run->view, &options));
    event_log_write(&run->log, NULL, "live view on %s", live_view_url(run->view));
    return status_ok();
}

static struct status open_judge(struct online_run *run)
{
    const struct integer_list *ranks = &run->options->config.ranks;
    const struct judge_config config = {
        .options = &run->judged,
        .second_backend = run->options->backend,
        .ranks = ranks->items,
        .n_ranks = ranks->count,
        .queue_bytes = 2 * run->memory.share_bytes,
        .listener = { .context = run, .release = release_body, .done = is_done, .room = has_room },
    };
    TRY(judge_open(&run->judge, &config));
    TRY(open_view(run));
    return run->options->record ? recording_create(&run->recording, run->options->record)
                                : status_ok();
}

/* ---- signals ---------------------------------------------------------------------------- */

static struct status check_signals(struct online_run *run)
{
    if (!interrupts_take(run->interrupts)) return status_ok();
    if (run->is_interrupted)
        return status_error(STATUS_INTERRUPTED, "interrupted; what was not judged yet is lost");
    run->is_interrupted = true;
    event_log_write(&run->log, NULL,
                    "interrupted: no more is accepted, and what has come is judged; "
                    "once more ends at once");
    return status_ok();
}

/* Tell the watcher how the run goes, once a second. */
static struct status show_progress(struct online_run *run)
{
    const struct online_watcher *watcher = &run->options->watcher;
    const double now_s = clock_seconds();
    struct judge_totals totals;
    struct judge_cell *cells;
    size_t n_cells;
    if (!watcher->look || now_s - run->shown_s < show_every_s) return status_ok();
    run->shown_s = now_s;
    struct arena arena = { 0 };
    struct status status = judge_progress(&totals, &cells, &n_cells, &arena, run->judge);
    if (!status.code)
        watcher->look(watcher->context, run->server ? server_connections(run->server) : 0, &totals);
    arena_release(&arena);
    return status;
}

/* What every loop looks after: the judge, signals, the watcher. */
static struct status look_around(struct online_run *run)
{
    TRY(judge_failure(run->judge));
    TRY(check_signals(run));
    return show_progress(run);
}

/* Wait until the judge, a signal or `milliseconds` end it. */
static void wait_a_moment(const struct online_run *run, int milliseconds)
{
    uint64_t value;
    struct pollfd events[2] = { { .fd = run->woken, .events = POLLIN },
                                { .fd = run->interrupts->fd, .events = POLLIN } };
    (void)poll(events, 2, milliseconds);
    if (read(run->woken, &value, sizeof value) < 0) return; /* nobody woke it */
}

/* Everything that has come is judged and written. */
static bool is_idle(const struct online_run *run)
{
    return (!run->stream || stream_service_is_idle(run->stream)) && judge_is_idle(run->judge);
}

/* Until then. */
static struct status drain_judge(struct online_run *run)
{
    while (!is_idle(run)) {
        TRY(look_around(run));
        wait_a_moment(run, LOOK_MS);
    }
    return status_ok();
}

/* ---- clients over the network ----------------------------------------------------------- */

static void wake_run(void *context) { wake(context); }

static struct status open_stream(struct online_run *run)
{
    const struct stream_service_options options = { .out_path = run->judged.out_path,
                                                    .token = run->options->token,
                                                    .may_stop = run->options->may_stop,
                                                    .stop_on = run->options->stop_on,
                                                    .memory = &run->memory,
                                                    .attendance = &run->attendance,
                                                    .arrived = run->options->record ? stream_arrived
                                                                                    : NULL,
                                                    .arrived_context = run,
                                                    .wake = wake_run,
                                                    .wake_context = run };
    return stream_service_open(&run->stream, &options);
}

static struct status open_server(struct online_run *run)
{
    const struct online_options *o = run->options;
    if (o->config.tls_path)
        TRY(tls_open(&run->tls, o->config.tls_path, o->run->file_policy, o->ask));
    run->attendance.expected = o->config.ranks.count;
    run->sessions = (struct peer_sessions){ .sink = sink_of(run),
                                            .attendance = &run->attendance,
                                            .memory = &run->memory,
                                            .limit_bytes = o->limit_bytes };
    TRY(peer_sessions_open(&run->sessions));
    TRY(open_stream(run));
    const struct server_options options = { .address = o->listen,
                                            .port = o->config.port,
                                            .tls = run->tls,
                                            .protocols = { stream_service_protocol(run->stream),
                                                           &run->sessions.protocol },
                                            .log = o->log };
    return server_open(&run->server, &options);
}

static void announce_server(struct online_run *run)
{
    const char *how = !run->tls                 ? "plain text"
                      : tls_is_mutual(run->tls) ? "TLS, clients need a certificate"
                                                : "TLS";
    event_log_write(&run->log, NULL, "listening on %s (%s)", server_address(run->server), how);
}

/* Records come until the clients have stopped, or a signal ends the run. */
static struct status serve_clients(struct online_run *run)
{
    for (;;) {
        TRY(server_serve(run->server, run->interrupts->fd));
        TRY(look_around(run));
        atomic_store(&run->live.connections, server_connections(run->server));
        if (run->is_interrupted) return status_ok();
        if (attendance_is_over(&run->attendance, clock_seconds()) && is_idle(run))
            return status_ok();
    }
}

/* KILL_ to all, then everything is closed: msprobe's client waits for that. */
static struct status dismiss_clients(struct online_run *run)
{
    const double until_s = clock_seconds() + goodbye_s;
    server_refuse_new(run->server);
    server_adopt_silent(run->server);
    peer_sessions_end(&run->sessions);
    stream_service_end_run(run->stream);
    server_end_all(run->server);
    while (server_connections(run->server) && clock_seconds() < until_s)
        TRY(server_serve(run->server, -1));
    if (run->sessions.oversized)
        event_log_write(&run->log, NULL,
                        "warning: %s not judged: larger than the memory for one (--memory)",
                        quantity_of(run->sessions.oversized, "record").text);
    if (run->attendance.lost)
        event_log_write(&run->log, NULL,
                        "warning: %s lost before STOP_; the rows are those of the "
                        "frames that came whole",
                        quantity_of(run->attendance.lost, "connection").text);
    return status_ok();
}

static struct status run_server(struct online_run *run)
{
    TRY(open_server(run));
    TRY(open_judge(run));
    TRY(stream_service_start(run->stream, run->judge));
    announce_server(run);
    TRY(serve_clients(run));
    TRY(dismiss_clients(run));
    return drain_judge(run);
}

/* ---- shared storage --------------------------------------------------------------------- */

static struct status watch_storage(struct online_run *run, struct shared_storage *storage)
{
    while (!run->is_interrupted && !shared_storage_is_over(storage, clock_seconds())) {
        bool found, is_full;
        TRY(shared_storage_poll(&found, &is_full, storage));
        TRY(look_around(run));
        if (!found) wait_a_moment(run, LOOK_MS);
    }
    return drain_judge(run);
}

static struct status run_storage(struct online_run *run)
{
    struct shared_storage storage = { .path = run->options->config.nfs_path,
                                      .sink = sink_of(run),
                                      .memory = &run->memory,
                                      .log = { .out = run->options->log },
                                      .expected = run->options->config.ranks.count };
    TRY(shared_storage_open(&storage));
    struct status status = open_judge(run);
    if (!status.code) {
        event_log_write(&run->log, NULL, "waiting for records in %s", storage.path);
        status = watch_storage(run, &storage);
    }
    shared_storage_close(&storage);
    return status;
}

/* ---- a recording ------------------------------------------------------------------------ */

/* Hand one record to the judge, waiting for room. */
static struct status replay_record(struct online_run *run, const struct judge_submission *record)
{
    bool has_memory = false, taken = false;
    struct status status = status_ok();
    while (!taken && !run->is_interrupted && !status.code) {
        has_memory = has_memory || receive_memory_take(&run->memory, run, record->bytes);
        if (has_memory) status = judge_submit(&taken, run->judge, record);
        if (!status.code) status = look_around(run);
        if (!taken) wait_a_moment(run, LOOK_MS);
    }
    receive_memory_done(&run->memory, run);
    if (taken) return status;
    memory_release(record->body);
    if (has_memory) (void)receive_memory_give(&run->memory, record->bytes);
    return status;
}

static struct status replay_all(struct online_run *run, struct recording_reader *reader)
{
    bool more = true;
    while (more && !run->is_interrupted) {
        struct judge_submission record;
        TRY(recording_next(&more, &record, reader, run->memory.share_bytes));
        if (!more) break;
        TRY(replay_record(run, &record));
    }
    return drain_judge(run);
}

static struct status run_recording(struct online_run *run)
{
    struct recording_reader reader;
    TRY(recording_open(&reader, run->options->replay, run->options->run->file_policy));
    struct status status = open_judge(run);
    if (!status.code) status = replay_all(run, &reader);
    recording_reader_close(&reader);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------- */

/* A run whose process was killed left records that it had acknowledged: they belong to its files. */
static void go_on_where_it_was_cut(struct online_run *run)
{
    struct run_options *judged = &run->judged;
    char timestamp[TIMESTAMP_DIGITS + 1], *directory = NULL;

    if (judged->result_csv_path || run->options->replay || run->options->config.nfs_path ||
        !stream_service_was_cut_short(judged->out_path))
        return;
    if (!rank_files_find_run(timestamp, &directory, judged->out_path).code) {
        judged->result_csv_path = judged->out_path;
        event_log_write(&run->log, NULL, "resuming the run in '%s', which did not end",
                        file_shown(judged->out_path).text);
    }
    memory_release(directory);
}

static struct status open_run(struct online_run *run)
{
    run->judged = *run->options->run;
    go_on_where_it_was_cut(run);
    if (!run->judged.memory_bytes) run->judged.memory_bytes = memory_available_bytes() / 5 * 3;
    receive_memory_open(&run->memory, run->judged.memory_bytes / BODY_SHARE);
    run->recording = RECORDING_NONE;
    run->refusals.out = run->options->run->warnings;
    run->judged.warnings = (struct warnings){ tell_refusal, run };
    run->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return run->woken < 0 ? status_error(STATUS_IO, "cannot make an event descriptor")
                          : status_ok();
}

/* Threads end before what they use: those of the view ask judge and stream, the stream's feed the judge, and
 * the judge's tell the stream and wake the server. `finished`: nothing is left to be judged. */
static struct status close_run(struct online_run *run, bool finished)
{
    live_view_close(run->view);
    stream_service_halt(run->stream);
    judge_close(run->judge);
    server_close(run->server);
    struct status status = stream_service_close(run->stream, finished);
    peer_sessions_close(&run->sessions);
    tls_close(run->tls);
    (void)recording_close(&run->recording);
    receive_memory_close(&run->memory);
    if (run->woken >= 0) (void)close(run->woken);
    return status;
}

static struct status run_source(struct online_run *run)
{
    if (run->options->replay) return run_recording(run);
    return run->options->config.nfs_path ? run_storage(run) : run_server(run);
}

/* Who looks at the live view sees that the run is over. */
static void show_the_end(struct online_run *run)
{
    atomic_store(&run->live.is_over, true);
    if (run->view) live_view_linger(run->view);
}

struct status online_run(int *exit_status, const struct online_options *options,
                         const struct interrupts *interrupts)
{
    struct online_run run = { .options = options,
                              .interrupts = interrupts,
                              .log = { .out = options->log } };
    struct status status = open_run(&run);
    if (!status.code) status = run_source(&run);
    if (options->watcher.look) options->watcher.look(options->watcher.context, 0, NULL);
    /* After a second signal the judge's threads are still at work; the process is about to end. */
    if (status.code == STATUS_INTERRUPTED) return status;
    if (!status.code && run.stream) status = judge_sync(run.judge); /* before the spool goes */
    if (!status.code) status = judge_finish(exit_status, run.judge);
    if (!status.code) show_the_end(&run);
    struct status closed = close_run(&run, !status.code);
    if (status.code || closed.code) return status.code ? status : closed;
    return run.is_interrupted
               ? status_error(STATUS_INTERRUPTED, "interrupted; all that had come is judged")
               : status_ok();
}
