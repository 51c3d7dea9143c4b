/* The device "worker:COMMAND": another program, which may be a framework in another language,
 * runs the calls. It speaks the protocol of docs/worker-protocol.md: a line of JSON for each
 * call and for each answer, tensors in shared memory.
 *
 * Starting a framework takes seconds, so a worker is started when the device is opened and
 * greeted when all devices are (`ready`); it lives for the whole run. One that dies or hangs is
 * replaced; one that dies again and again is given more and more time between starts.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/memory.h"
#include "runner/devices/device_classes.h"
#include "runner/devices/leaf_order.h"
#include "runner/devices/worker/worker_process.h"
#include "runner/devices/worker/worker_words.h"

/* Importing a framework and waking an accelerator may take this long. */
#define START_TIMEOUT_S 300.0

/* Shared memory kept from call to call; more is given back. */
#define KEEP_BYTES ((uint64_t)256 << 20)

enum { MOST_STARTS = 6 }; /* in a row without a single answered call */

struct worker {
    struct device device;
    struct arena arena; /* of the command's words */
    struct zygote *zygote;
    struct worker_process process;
    int device_id;
    bool jit_compile;
    double timeout_s;
    bool translated_calls;
    bool greeted;
    struct worker_greeting greeting;
    unsigned starts_in_vain;
    uint64_t number; /* of the last request */
    struct text request;
};

static void worker_close(struct device *device)
{
    struct worker *worker = (struct worker *)(void *)device; /* the first member */
    worker_process_close(&worker->process);
    zygote_stop(worker->zygote);
    text_release(&worker->request);
    arena_release(&worker->arena);
    memory_release(worker);
}

static struct status worker_prepare(struct worker *worker, const struct device_options *options)
{
    struct worker_process *process = &worker->process;
    TRY(worker_words(&process->words, &process->n_words, &worker->arena,
                     options->backend + strlen("worker:")));
    TRY(zygote_start(&worker->zygote));
    process->zygote = worker->zygote;
    process->memory_limit = options->memory_limit_bytes;
    TRY(worker_process_open(process));
    TRY(worker_process_start(process));
    return status_ok();
}

static struct status worker_open(struct device **out, const struct device_options *options)
{
    struct worker *worker = memory_allocate_zeroed(1, sizeof *worker);
    if (!worker) return status_no_memory(sizeof *worker);
    worker->device.class = &device_worker;
    worker->device_id = options->device_id;
    worker->jit_compile = options->jit_compile;
    worker->timeout_s = options->case_timeout_s;
    worker->translated_calls = options->translated_calls;
    worker->process.memory_descriptor = worker->process.to = worker->process.from = -1;
    worker->process.log = PROCESS_LOG_NONE;
    struct status st = worker_prepare(worker, options);
    if (st.code) {
        worker_close(&worker->device);
        return st;
    }
    *out = &worker->device;
    return status_ok();
}

/* --- greeting ------------------------------------------------------------------------------------ */

static struct status greet(struct worker *worker)
{
    char hello[200];
    const char *reply;
    size_t bytes;
    int length = snprintf(hello, sizeof hello,
                          "{\"hello\":\"probe-ut\",\"protocol\":%d,\"device\":%d,"
                          "\"jit_compile\":%s,\"memory\":\"/proc/self/fd/%d\"}",
                          WORKER_PROTOCOL, worker->device_id,
                          worker->jit_compile ? "true" : "false", WORKER_MEMORY_DESCRIPTOR);
    TRY(worker_process_exchange(&worker->process, &reply, &bytes, hello, (size_t)length,
                                START_TIMEOUT_S, "its start"));
    struct status st = worker_read_greeting(&worker->greeting, reply, bytes);
    if (st.code) worker_process_stop(&worker->process);
    worker->greeted = !st.code;
    return st;
}

/* Make sure that a greeted process is there. After n starts without an answered call in between,
 * wait 0.1 * 2^n s first; after MOST_STARTS give up. */
static struct status make_ready(struct worker *worker)
{
    if (worker->process.pid && worker->greeted) return status_ok();
    if (worker->starts_in_vain >= MOST_STARTS)
        return status_error(STATUS_SKIP,
                            "the worker %s cannot be kept running: %u starts in a row "
                            "came to nothing",
                            worker->process.words[0], MOST_STARTS);
    if (worker->starts_in_vain > 1) {
        double pause_s = 0.1 * (double)(1u << worker->starts_in_vain);
        struct timespec pause = { (time_t)pause_s,
                                  (long)((pause_s - (double)(time_t)pause_s) * 1e9) };
        (void)nanosleep(&pause, NULL);
    }
    worker->starts_in_vain++;
    worker->greeted = false;
    TRY(worker_process_start(&worker->process));
    return greet(worker);
}

static struct status worker_ready(struct device *device)
{
    struct worker *worker = (struct worker *)(void *)device;
    struct status st = make_ready(worker);
    if (st.code != STATUS_DEVICE) return st;
    st.code = STATUS_BAD_INPUT;
    return status_within(st, "the worker %s", worker->process.words[0]);
}

/* --- calls ------------------------------------------------------------------------------------------ */

static struct status worker_run(struct device *device, struct device_result *out,
                                struct arena *arena, const struct api_case *c, bool want_gradients)
{
    struct worker *worker = (struct worker *)(void *)device;
    struct worker_reply reply;
    const char *line;
    size_t bytes;

    TRY(make_ready(worker));
    if (!worker->translated_calls) c = case_as_recorded(c);
    bool keeps_order = !worker->translated_calls || leaf_order_is_kept(c);
    bool ask_gradients = want_gradients && !worker->greeting.forward_only && keeps_order;
    worker_process_trim(&worker->process, KEEP_BYTES);
    TRY(worker_request(&worker->request, &worker->process.memory, ++worker->number, c,
                       ask_gradients));
    TRY(worker_process_exchange(&worker->process, &line, &bytes, worker->request.bytes,
                                worker->request.used, worker->timeout_s, c->full_name));
    worker->starts_in_vain = 0;
    struct status st = worker_read_reply(out, &reply, arena, &worker->process.memory, line, bytes,
                                         worker->number, ask_gradients);
    if (!st.code && want_gradients && !ask_gradients)
        out->backward = keeps_order
                            ? status_error(STATUS_SKIP, "the worker %s computes no gradients",
                                           worker->process.words[0])
                            : status_error(STATUS_SKIP, "%s", leaf_order_reason);
    /* A reply that cannot be understood says that the two have lost step. */
    if (st.code == STATUS_BAD_INPUT) {
        st.code = STATUS_DEVICE;
        reply.restart = true;
    }
    if (reply.restart) {
        worker_process_stop(&worker->process);
        worker->greeted = false;
    }
    return st;
}

static const char *worker_describe(const struct device *device)
{
    return ((const struct worker *)(const void *)device)->greeting.name;
}

const struct device_class device_worker = {
    .name = "worker",
    .alter_inputs = true,
    .external = true,
    .most_per_id = 8,
    .open = worker_open,
    .ready = worker_ready,
    .run = worker_run,
    .close = worker_close,
    .describe = worker_describe,
};
