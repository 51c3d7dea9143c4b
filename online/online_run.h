/* The online pre-check: records as they come, from clients over the network, from shared storage or from a
 * recording, to the judge (online/judge.h), until all clients have stopped.
 */
#ifndef PROBE_ONLINE_ONLINE_RUN_H
#define PROBE_ONLINE_ONLINE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "core/warnings.h"
#include "online/judge.h"
#include "online/online_config.h"
#include "online/tls.h"
#include "runner/interrupts.h"
#include "runner/run_options.h"
#include "standards/judged.h"

/* Who is told once a second how the run goes, and with NULL that it goes no more. All zeros: nobody. */
struct online_watcher {
    void (*look)(void *context, size_t connections, const struct judge_totals *totals);
    void *context;
};

/* What is asked for; must outlive the run. */
struct online_options {
    const struct run_options *run; /* of the judge, with config_path and out_path */
    struct online_config config;   /* where records come from; port 0: any that is free */
    const char *listen;            /* address to listen on, or NULL for all */
    const char *record, *replay;   /* files, or NULL */
    uint64_t limit_bytes;          /* of a frame; a longer one ends its connection */
    tls_ask_password *ask;         /* or NULL */
    struct warnings log;           /* one line per event */
    struct online_watcher watcher;

    const char *backend; /* of a second device, or NULL (online/second_device.h) */

    /* Of our own clients (online/stream_service.h). */
    const char *token;    /* that they must have, or NULL */
    bool may_stop;        /* training is told to stop at this verdict, or a worse one */
    enum verdict stop_on; /* VERDICT_ERROR or VERDICT_WARNING */

    /* Of the live view (online/live_view.h). */
    const char *http; /* address and port, or NULL */
    bool http_public;
};

/* A length that no frame has. */
#define ONLINE_LIMIT_BYTES ((uint64_t)16 << 30)

/* Serve until the run is over. The first signal ends it with what has come, the second at once.
 *
 *   exit_status  as run_checks
 *   errors       those of the sources and of the judge; STATUS_INTERRUPTED after a signal: threads may
 *                still be at work, so the process has to end
 */
struct status online_run(int *exit_status, const struct online_options *options,
                         const struct interrupts *interrupts);

#endif
