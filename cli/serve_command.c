/* The options of the online pre-check, and the configuration file under them. */
#include "cli/serve_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/choices.h"
#include "cli/password_prompt.h"
#include "cli/run_option_rows.h"
#include "cli/warning_printer.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "online/online_run.h"
#include "online/stream_frames.h"
#include "report/failing.h"
#include "results/evidence.h"
#include "runner/devices/device_classes.h"
#include "runner/give_way.h"
#include "standards/header_language.h"
#include "standards/profile.h"

struct serve_options {
    struct run_options run;
    const char *listen, *tls_path, *nfs_path, *record, *replay;
    const char *token_file, *stop_on, *http, *backend;
    bool http_public;
    int64_t port; /* -1: as the configuration says */
    struct integer_list ranks;
    uint64_t limit_bytes;
    bool plain;
};

/* What --stop-on takes. */
static const char *const *stop_names(void)
{
    static const char *const names[] = { "error", "warning", NULL };
    return names;
}

#define AT(member) .offset = offsetof(struct serve_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "config", "config_path" }, OPTION_FILE, AT(run.config_path), "FILE", .suffix = ".json",
      .help = "A JSON file whose object run_ut has port, rank_list, tls_path (a folder with "
              "server.key and server.crt, and ca.crt if clients need a certificate; \"\" for plain "
              "text) or nfs_path (a folder of shared storage), and white_list and black_list as for "
              "run_ut. host is checked and not used." },
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(run.out_path), "DIR",
      .help = "Where the result files of each rank go; created when it does not exist. The working "
              "directory by default." },
    { { "port" }, OPTION_INTEGER, AT(port), "N", .minimum = 0, .maximum = 65535,
      .help = "Port to listen on, over that of the configuration; 0 for any that is free, which is "
              "then said." },
    { { "listen" }, OPTION_TEXT, AT(listen), "ADDRESS",
      .help = "Numeric address to listen on, 127.0.0.1 for this host alone; all of IPv4 by default." },
    { { "rank" }, OPTION_INTEGERS, AT(ranks), "N", .minimum = 0, .maximum = INT32_MAX,
      .help = "Ranks whose calls are judged, over rank_list of the configuration: 0,1 or 0-7. Without "
              "either, and without a configuration, all." },
    { { "tls" }, OPTION_DIRECTORY, AT(tls_path), "DIR",
      .help = "Folder of key and certificates, over tls_path of the configuration." },
    { { "plain" }, OPTION_FLAG, AT(plain), .help = "Plain text, whatever the configuration says." },
    { { "shared-storage" }, OPTION_DIRECTORY, AT(nfs_path), "DIR",
      .help = "Take records from files in this folder, over nfs_path of the configuration." },
    { { "token-file" }, OPTION_FILE, AT(token_file), "FILE",
      .help = "A file whose first line is the token that stream clients (torch_stream.py) must "
              "have, and browsers with --http-public." },
    { { "stop-on" }, OPTION_CHOICE, AT(stop_on), "VERDICT", .choices = stop_names,
      .help = "Tell stream clients to stop training at the first call with this verdict or a worse "
              "one; those with stop_on_error=True raise ProbeStop then." },
    { { "http" }, OPTION_TEXT, AT(http), "ADDRESS:PORT",
      .help = "Show the run in a browser while it runs: 127.0.0.1:8080." },
    { { "http-public" }, OPTION_FLAG, AT(http_public),
      .help = "Let --http have an address that other hosts reach; takes --token-file." },
    { { "backend" }, OPTION_CHOICE, AT(backend), "NAME", .choices = device_names,
      .help = "Give each record to this device too (torch:cuda, worker:COMMAND) and compare, as msprobe's "
              "GPU host does: api_precision_compare_*_rank{N}.csv and accuracy_checking_two_way_*_rank{N}.csv." },
    { { "d", "device" }, OPTION_INTEGERS, AT(run.devices), "N", .minimum = 0, .maximum = 4095,
      .help = "Devices of --backend, dealt to the threads: 0,1. Device 0 by default." },
    { { "case-timeout" }, OPTION_SECONDS, AT(run.case_timeout_s), "SECONDS", .minimum = 0,
      .maximum = 1000000,
      .help = "Longest time that --backend may take for a call, 60 by default; 0 for no limit." },
    { { "record" }, OPTION_FILE, AT(record), "FILE",
      .help = "Keep the received records in a new file, for --replay." },
    { { "replay" }, OPTION_FILE, AT(replay), "FILE",
      .help = "Judge the records of such a file, without clients." },
    { { "max-frame" }, OPTION_BYTES, AT(limit_bytes), "BYTES",
      .help = "A client that announces a longer record is disconnected; 16G by default." },
    { { "n", "num_splits" }, OPTION_INTEGER, AT(run.threads), "N", .minimum = 1, .maximum = 64,
      .help = "Threads, 1 to 64; one per core by default. The result files are the same bytes for "
              "every N." },
    { { "memory" }, OPTION_BYTES, AT(run.memory_bytes), "BYTES",
      .help = "Memory for what clients send and for the calls in work, for example 4G; 60 % of what "
              "is free by default. Clients wait when it is used up; a record that needs more than a "
              "sixth of it alone is received and not judged." },
    { { "csv_path", "result_csv_path" }, OPTION_FILE, AT(run.result_csv_path), "FILE",
      .suffix = ".csv", .or_directory = true,
      .help = "Resume a run that was ended: a result file of it, or its directory." },
    { { "only" }, OPTION_TEXT, AT(run.only), "PATTERN",
      .help = "Judge only calls of these names, as for run_ut; others have no rows." },
    { { "skip" }, OPTION_TEXT, AT(run.skip), "PATTERN", .help = "Leave out calls of these names." },
    { { "profile" }, OPTION_CHOICE, AT(run.profile), "NAME", .choices = profile_names,
      .help = "The rules of the verdicts, as for run_ut." },
    { { "thresholds" }, OPTION_FILE, AT(run.thresholds), "FILE",
      .help = "Limits of your own, as for run_ut." },
    { { "evidence" }, OPTION_CHOICE, AT(run.evidence), "ROWS", .choices = evidence_extent_names,
      .help = "Which rows have evidence: all (default), or failing." },
    { { "columns" }, OPTION_CHOICE, AT(run.columns), "NAMES", .choices = header_language_names,
      .help = "Names of the columns of the details: those of msprobe (default), or english." },
    { { "fail-on" }, OPTION_CHOICE, AT(run.fail_on), "VERDICT", .choices = failing_names,
      .help = "Exit with status 1 when a call has this verdict or a worse one." },
    { { "min-judged" }, OPTION_TEXT, AT(run.min_judged), "N|P%",
      .help = "Exit with status 1 when fewer calls, or a smaller share of them, were judged." },
    { { "junit" }, OPTION_FILE, AT(run.junit), "FILE", .help = "Write a JUnit report." },
    { { "report" }, OPTION_FILE, AT(run.report), "FILE", .suffix = ".html",
      .help = "Write a page to look at, as the command report does." },
    { { "no-diagnose" }, OPTION_FLAG, AT(run.no_diagnose),
      .help = "Do not ask which mistake a row that fails looks like." },
    { { "diagnose-budget" }, OPTION_SECONDS, AT(run.diagnose_budget_s), "SECONDS", .minimum = 0,
      .maximum = 1000000,
      .help = "How long to look for the mistake of a row that fails, 2 by default." },
#define AT_RUN(member) AT(run.member)
    RUN_NICE_ROW(AT_RUN),
#undef AT_RUN
    { { "no-progress" }, OPTION_FLAG, AT(run.no_progress), .help = "No progress line." },
    { { "color" }, OPTION_CHOICE, AT(run.color), "WHEN", .choices = color_names,
      .help = "Colors in the summary; auto: on a terminal." },
    { { "trust-files" }, OPTION_FLAG, AT(run.file_policy.trusted),
      .help = "Read files that are symbolic links, belong to somebody else or can be written by "
              "everybody." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct serve_options defaults = {
    .run = RUN_OPTIONS_DEFAULTS,
    .port = -1,
    .limit_bytes = ONLINE_LIMIT_BYTES,
};

/* On a terminal the last line says how the run goes, and is drawn again below each event. */
static const char erase_line[] = "\r\033[K";

static void show_progress(void *context, size_t connections, const struct judge_totals *t)
{
    (void)context;
    (void)fputs(erase_line, stderr);
    if (!t) return;
    (void)fprintf(stderr, "%s, %llu judged (%llu error, %llu warning), %llu waiting, %.0f a second",
                  quantity_of(connections, "connection").text, (unsigned long long)t->judged,
                  (unsigned long long)t->calls[VERDICT_ERROR],
                  (unsigned long long)t->calls[VERDICT_WARNING], (unsigned long long)t->waiting,
                  t->rate);
    (void)fflush(stderr);
}

/* Events of the server: connections that begin, end, or do what they must not. */
static void print_event(void *context, const char *text)
{
    const struct online_watcher *watcher = context;
    (void)fprintf(stderr, "%sprobe-ut: %s\n", watcher->look ? erase_line : "", text);
}

static void print_warning(void *context, const char *text)
{
    const struct online_watcher *watcher = context;
    if (watcher->look) (void)fputs(erase_line, stderr);
    warn(warning_printer, "%s", text);
}

/* The configuration, with what the command line says over it. */
static struct status find_config(struct online_config *out, struct arena *arena,
                                 const struct serve_options *o)
{
    *out = online_config_default();
    if (o->run.config_path)
        TRY(online_config_read(out, arena, o->run.config_path, o->run.file_policy));
    else out->ranks.count = 0;
    if (o->ranks.count) out->ranks = o->ranks;
    if (o->tls_path) out->tls_path = o->tls_path;
    if (o->plain) out->tls_path = NULL;
    if (o->nfs_path) out->nfs_path = o->nfs_path;
    if (o->port >= 0) out->port = (uint16_t)o->port;
    if (o->port >= 0 || out->port || out->nfs_path || o->replay) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT,
                        "nothing says where records come from: give --port, --shared-storage or "
                        "--replay, or a configuration (-config) with port or nfs_path");
}

/* The first line of the file, which is all it should have. */
static struct status read_token(const char **out, struct arena *arena,
                                const struct serve_options *o)
{
    char *text;
    size_t bytes;

    *out = NULL;
    if (!o->token_file) return status_ok();
    TRY(file_read_text(&text, &bytes, o->token_file, o->run.file_policy));
    size_t length = strcspn(text, "\r\n");
    *out = arena_copy_bytes(arena, text, length);
    memory_release(text);
    if (!*out) return status_no_memory(length);
    if (length && length <= STREAM_TOKEN_BYTES) return status_ok();
    return status_error(STATUS_BAD_INPUT, "'%s': a token of %zu bytes; 1 to %d are accepted",
                        file_shown(o->token_file).text, length, (int)STREAM_TOKEN_BYTES);
}

static struct status serve_by(int *exit_status, struct serve_options *o, struct arena *arena)
{
    struct interrupts interrupts;
    struct online_options online = {
        .run = &o->run,
        .listen = o->listen,
        .record = o->record,
        .replay = o->replay,
        .limit_bytes = o->limit_bytes,
        .ask = password_can_be_asked() ? password_ask : NULL,
        .watcher.look = !o->run.no_progress && isatty(STDERR_FILENO) ? show_progress : NULL,
        .may_stop = o->stop_on != NULL,
        .stop_on = o->stop_on && !strcmp(o->stop_on, "warning") ? VERDICT_WARNING : VERDICT_ERROR,
        .http = o->http,
        .http_public = o->http_public,
        .backend = o->backend,
    };
    online.log = (struct warnings){ print_event, &online.watcher };
    o->run.warnings = (struct warnings){ print_warning, &online.watcher };
    TRY(find_config(&online.config, arena, o));
    TRY(read_token(&online.token, arena, o));
    /* A password was asked for at the terminal, which the process may leave here. */
    if (o->run.nice) give_way();
    TRY(interrupts_open(&interrupts));
    struct status status = online_run(exit_status, &online, &interrupts);
    if (status.code != STATUS_INTERRUPTED) interrupts_close(&interrupts);
    return status;
}

static struct status serve(int *exit_status, const void *options)
{
    struct serve_options resolved = *(const struct serve_options *)options;
    struct arena arena = { 0 };
    resolved.run.backend = "recorded";
    struct status status = serve_by(exit_status, &resolved, &arena);
    if (status.code != STATUS_INTERRUPTED) arena_release(&arena);
    return status;
}

struct status serve_by_config(int *exit_status, const struct run_options *run)
{
    struct serve_options options = defaults;
    options.run = *run;
    return serve(exit_status, &options);
}

const struct command serve_command = {
    .word = "serve",
    .summary = "judge calls of processes that train, while they train (the online pre-check)",
    .text =
        "Wait for processes that train and send every API call with its arguments and results: "
        "the client of msprobe, over TCP, TLS or shared storage. Each call is "
        "judged at once, as run_ut judges recorded results: against a reference with a proven "
        "bound on its error.\n\n"
        "The verdicts go to accuracy_checking_result_{timestamp}_rank{N}.csv and "
        "accuracy_checking_details_{timestamp}_rank{N}.csv while the clients are connected. The "
        "command ends when all clients have sent their STOP_. The first Ctrl-C ends it with "
        "what has come, the second at once.",
    .options = rows,
    .bytes = sizeof(struct serve_options),
    .defaults = &defaults,
    .run = serve,
};
