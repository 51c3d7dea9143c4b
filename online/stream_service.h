/* Our own client's part in a run: its protocol, its store, and who is told to stop training.
 *
 * The spool is a folder STREAM_SPOOL_NAME in the output directory, made when the first client of ours comes. A
 * process that ends before the run is over leaves it there, and the next one with this output directory goes
 * on: with the result files of the run, the records that have no rows yet, and the sessions.
 */
#ifndef PROBE_ONLINE_STREAM_SERVICE_H
#define PROBE_ONLINE_STREAM_SERVICE_H

#include <stdbool.h>

#include "core/status.h"
#include "online/judge.h"
#include "online/stream_session.h"

#define STREAM_SPOOL_NAME "online_spool"

struct stream_service;

struct stream_service_options {
    const char *out_path;
    const char *token; /* NULL: none is asked for */
    bool
        may_stop; /* training is told to stop at a call with the verdict `stop_on` or a worse one */
    enum verdict stop_on; /* VERDICT_ERROR or VERDICT_WARNING */
    struct receive_memory *memory;
    struct attendance *attendance;
    /* A record has come, on the thread of the server. NULL: nobody is told. */
    stream_arrival *arrived;
    void *arrived_context;
    void (*wake)(void *context); /* the server; any thread */
    void *wake_context;
};

/* Has a run in this directory ended before it was over? */
bool stream_service_was_cut_short(const char *out_path);

struct status stream_service_open(struct stream_service **out,
                                  const struct stream_service_options *options);

/* The protocol to hand to the server; lives as long as the service. */
const struct protocol *stream_service_protocol(const struct stream_service *service);

/* Let records go to the judge; before the server serves. What an earlier process left goes first. */
struct status stream_service_start(struct stream_service *service, struct judge *judge);

/* Of the judge's listener. Records of other protocols are passed over; of stream_service_release, false. */
bool stream_service_release(struct stream_service *service, const struct judge_submission *record);
void stream_service_done(struct stream_service *service, const struct record_done *done);
void stream_service_room(struct stream_service *service);

/* Is everything that came done? Why nothing can be stored, or OK. */
bool stream_service_is_idle(struct stream_service *service);
struct status stream_service_trouble(struct stream_service *service);

/* What it does, in `arena`. Any thread. */
struct status stream_service_progress(struct stream_client_progress **clients, size_t *n_clients,
                                      struct stream_store_progress *store, struct arena *arena,
                                      struct stream_service *service);

/* Tell all clients that the run is over. On the thread of the server. */
void stream_service_end_run(struct stream_service *service);

/* End the threads that feed the judge; before it is closed. NULL has none. */
void stream_service_halt(struct stream_service *service);

/* End; it was halted, the judge is closed, and the server is closed. `finished`: all rows are durable, and the spool
 * goes. NULL is closed. */
struct status stream_service_close(struct stream_service *service, bool finished);

#endif
