/* The device "worker:COMMAND": another program, which may be a framework in another language,
 * runs the calls. It speaks the protocol of docs/worker-protocol.md: a line of JSON for each
 * call and for each answer, tensors in shared memory.
 *
 * Starting a framework takes seconds, so a worker is started when the device is opened and
 * greeted when all devices are (`ready`); it lives for the whole run. One that dies or hangs is
 * replaced; one that dies again and again is given more and more time between starts.
 *
 * A process that answers one call at a time is idle while its answer is judged and the next call made, and it takes
 * longer to wake than a small call takes. So two devices share a process, each with its half of the shared memory: the
 * request of one waits in the pipe while that of the other is in work. Answers come in the order of the requests; each
 * device reads its own when all before it were taken.
 */
#include <pthread.h>
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

/* Shared memory kept from call to call, of each device; more is given back. */
#define KEEP_BYTES ((uint64_t)256 << 20)

/* Where addresses are fewer, halves might be too small for a call. */
#define LEAST_SHARED_BYTES ((uint64_t)1 << 36)

enum {
    MOST_STARTS = 6, /* in a row without a single answered call */
    SHARING = 2,     /* devices of a process */
};

/* A process and the devices that share it. Who has the turn waits for an answer and reads it without the lock; what is
 * written, and what ends a process, is done under it. */
struct worker_share {
    pthread_mutex_t lock;
    pthread_cond_t turned; /* an answer was taken, or the process is another one */
    unsigned devices;
    struct arena arena; /* of the command's words */
    struct zygote *zygote;
    struct worker_process process;
    int device_id;
    bool jit_compile;
    bool greeted; /* the process is there and has said what it is */
    struct worker_greeting greeting;
    unsigned starts_in_vain;
    uint64_t number;          /* of the last request */
    uint64_t process_number;  /* counts the processes */
    uint64_t asked, answered; /* turns of this process that were taken, and that are over */
    unsigned half_sent;       /* turns whose request the process does not have whole yet */
};

struct worker {
    struct device device;
    struct worker_share *share;
    unsigned place; /* among the devices of the process */
    struct worker_memory memory;
    double timeout_s;
    bool translated_calls;
    struct text request;
};

static struct worker *worker_of(struct device *device)
{
    return (struct worker *)(void *)device; /* the first member */
}

static void share_leave(struct worker_share *share)
{
    if (!share || --share->devices) return;
    worker_process_close(&share->process);
    zygote_stop(share->zygote);
    arena_release(&share->arena);
    (void)pthread_cond_destroy(&share->turned);
    (void)pthread_mutex_destroy(&share->lock);
    memory_release(share);
}

static void worker_close(struct device *device)
{
    struct worker *worker = worker_of(device);
    share_leave(worker->share);
    text_release(&worker->request);
    memory_release(worker);
}

static struct status share_start(struct worker_share *share, const struct device_options *options)
{
    struct worker_process *process = &share->process;
    TRY(worker_words(&process->words, &process->n_words, &share->arena,
                     options->backend + strlen("worker:")));
    TRY(zygote_start(&share->zygote));
    process->zygote = share->zygote;
    process->memory_limit = options->memory_limit_bytes;
    TRY(worker_process_open(process));
    return worker_process_start(process);
}

static struct status share_open(struct worker_share **out, const struct device_options *options)
{
    struct worker_share *share = memory_allocate_zeroed(1, sizeof *share);
    if (!share) return status_no_memory(sizeof *share);
    (void)pthread_mutex_init(&share->lock, NULL);
    (void)pthread_cond_init(&share->turned, NULL);
    share->devices = 1;
    share->device_id = options->device_id;
    share->jit_compile = options->jit_compile;
    share->process.memory_descriptor = share->process.to = share->process.from = -1;
    share->process.log = PROCESS_LOG_NONE;
    struct status status = share_start(share, options);
    if (status.code) share_leave(share);
    else *out = share;
    return status;
}

/* The process of the device beside this one, where there is one with room; else a new one. */
static struct status share_join(struct worker_share **out, const struct device_options *options)
{
    struct device *beside = options->beside;
    struct worker_share *share =
        beside && beside->class == &device_worker ? worker_of(beside)->share : NULL;
    if (!share || share->devices == SHARING || share->process.memory.limit < LEAST_SHARED_BYTES)
        return share_open(out, options);
    share->devices++;
    *out = share;
    return status_ok();
}

static struct status worker_open(struct device **out, const struct device_options *options)
{
    struct worker *worker = memory_allocate_zeroed(1, sizeof *worker);
    if (!worker) return status_no_memory(sizeof *worker);
    worker->device.class = &device_worker;
    worker->timeout_s = options->case_timeout_s;
    worker->translated_calls = options->translated_calls;
    struct status status = share_join(&worker->share, options);
    if (status.code) {
        worker_close(&worker->device);
        return status;
    }
    worker->place = worker->share->devices - 1;
    *out = &worker->device;
    return status_ok();
}

/* --- greeting ------------------------------------------------------------------------------------ */

static struct status greet(struct worker_share *share)
{
    char hello[200];
    const char *reply;
    size_t bytes;
    int length = snprintf(hello, sizeof hello,
                          "{\"hello\":\"probe-ut\",\"protocol\":%d,\"device\":%d,"
                          "\"jit_compile\":%s,\"memory\":\"/proc/self/fd/%d\"}\n",
                          WORKER_PROTOCOL, share->device_id, share->jit_compile ? "true" : "false",
                          WORKER_MEMORY_DESCRIPTOR);
    const struct worker_line line = {
        .bytes = hello, .count = (size_t)length, .timeout_s = START_TIMEOUT_S, .doing = "its start"
    };
    enum worker_reading state = worker_process_wait(&share->process, &line);
    TRY(worker_process_take(&share->process, &reply, &bytes, state, &line));
    struct status st = worker_read_greeting(&share->greeting, reply, bytes);
    if (st.code) worker_process_stop(&share->process);
    share->greeted = !st.code;
    return st;
}

/* Make sure that a greeted process is there. After n starts without an answered call in between,
 * wait 0.1 * 2^n s first; after MOST_STARTS give up. */
static struct status make_ready(struct worker_share *share)
{
    if (share->greeted) return status_ok();
    if (share->starts_in_vain >= MOST_STARTS)
        return status_error(STATUS_SKIP,
                            "the worker %s cannot be kept running: %u starts in a row "
                            "came to nothing",
                            share->process.words[0], MOST_STARTS);
    if (share->starts_in_vain > 1) {
        double pause_s = 0.1 * (double)(1u << share->starts_in_vain);
        struct timespec pause = { (time_t)pause_s,
                                  (long)((pause_s - (double)(time_t)pause_s) * 1e9) };
        (void)nanosleep(&pause, NULL);
    }
    share->starts_in_vain++;
    share->asked = share->answered = 0;
    share->half_sent = 0;
    TRY(worker_process_start(&share->process));
    return greet(share);
}

static struct status worker_ready(struct device *device)
{
    struct worker_share *share = worker_of(device)->share;
    (void)pthread_mutex_lock(&share->lock);
    struct status st = make_ready(share);
    (void)pthread_mutex_unlock(&share->lock);
    if (st.code != STATUS_DEVICE) return st;
    st.code = STATUS_BAD_INPUT;
    return status_within(st, "the worker %s", share->process.words[0]);
}

/* --- turns ------------------------------------------------------------------------------------------ */

/* A request and its place among those of the process. */
struct turn {
    uint64_t process_number, place;
    bool is_ahead; /* another one was in work when it was taken */
    bool is_half_sent;
    size_t sent; /* bytes of the request */
};

/* Send what goes without waiting. The process has the requests of earlier turns whole, or nothing is sent. */
static void turn_send(struct turn *turn, struct worker_share *share, const struct text *request)
{
    turn->sent += worker_process_send(&share->process, request->bytes + turn->sent,
                                      request->used - turn->sent);
    turn->is_half_sent = turn->sent < request->used;
}

/* Take the next place and send the request, behind others where the process takes it ahead. */
static struct turn turn_take(struct worker_share *share, const struct text *request)
{
    struct turn turn = { .process_number = share->process_number,
                         .place = share->asked++,
                         .is_half_sent = true };
    turn.is_ahead = turn.place != share->answered;
    if (request && !share->half_sent) turn_send(&turn, share, request);
    share->half_sent += turn.is_half_sent;
    return turn;
}

/* Wait until all answers before it were taken; false when the process is another one by then. */
static bool turn_wait(struct worker_share *share, const struct turn *turn)
{
    while (turn->process_number == share->process_number && turn->place != share->answered)
        (void)pthread_cond_wait(&share->turned, &share->lock);
    return turn->process_number == share->process_number;
}

/* Have the process to oneself. A request that was lost with a process, which died of another one, is made again.
 *
 *   request  NULL when it cannot be made before
 */
static struct status turn_begin(struct turn *turn, struct worker_share *share,
                                const struct text *request)
{
    do {
        TRY(make_ready(share));
        *turn = turn_take(share, request);
    } while (!turn_wait(share, turn));
    if (!request || !turn->is_half_sent) return status_ok();
    turn_send(turn, share, request);
    share->half_sent -= !turn->is_half_sent;
    return status_ok();
}

static void turn_end(struct worker_share *share, const struct turn *turn)
{
    share->answered++;
    share->half_sent -= turn->is_half_sent;
    (void)pthread_cond_broadcast(&share->turned);
}

/* The same where the process is gone, or has to go. */
static void turn_end_process(struct worker_share *share)
{
    worker_process_stop(&share->process);
    share->greeted = false;
    share->process_number++;
    (void)pthread_cond_broadcast(&share->turned);
}

/* --- calls ------------------------------------------------------------------------------------------ */

/* Do requests wait in the pipe while another one is in work? */
static bool sends_ahead(const struct worker_share *share)
{
    return share->devices == SHARING && share->greeting.takes_ahead;
}

/* The device's half of the memory, or all of it for those that take turns. The first half leaves room for the command,
 * which is written anew for a new process while requests wait. The file reaches into the second half from the start, so
 * that there is never more than one side at a time that lengthens it. */
static struct status take_memory(struct worker *worker)
{
    const struct worker_share *share = worker->share;
    struct worker_memory *memory = &worker->memory;
    uint64_t half = share->process.memory.limit / 2, seen = memory->bytes;
    *memory = share->process.memory;
    memory->bytes = seen;
    if (!sends_ahead(share)) return status_ok();
    memory->first = worker->place ? half : share->process.command_bytes;
    memory->limit = worker->place ? memory->limit : half;
    return memory->reserve(memory, half + 1);
}

/* Write the request, without the lock. */
static struct status write_request(struct worker *worker, uint64_t number, const struct api_case *c,
                                   bool want_gradients)
{
    struct worker_share *share = worker->share;
    (void)pthread_mutex_unlock(&share->lock);
    worker_memory_trim(&worker->memory, KEEP_BYTES);
    struct status st = worker_request(&worker->request, &worker->memory, number, c, want_gradients);
    (void)pthread_mutex_lock(&share->lock);
    return st;
}

/* One call with the lock held, which is free while others are waited for. */
struct exchange {
    struct worker *worker;
    const struct api_case *call;
    uint64_t number;
    bool ask_gradients;
    struct turn turn;
};

/* Make the request and wait for the turn; where requests are not sent ahead, the other way round. */
static struct status ask(struct exchange *e)
{
    struct worker *worker = e->worker;
    struct worker_share *share = worker->share;
    TRY(make_ready(share));
    bool ahead = sends_ahead(share);
    if (!ahead) TRY(turn_begin(&e->turn, share, NULL));
    e->number = ++share->number;
    e->ask_gradients = e->ask_gradients && !share->greeting.forward_only;
    struct status st = take_memory(worker);
    if (!st.code) st = write_request(worker, e->number, e->call, e->ask_gradients);
    if (ahead) return st.code ? st : turn_begin(&e->turn, share, &worker->request);
    if (st.code) turn_end(share, &e->turn);
    return st;
}

/* Read the answer, which is waited for without the lock. */
static struct status read_answer(struct device_result *out, struct arena *arena, struct exchange *e)
{
    struct worker *worker = e->worker;
    struct worker_share *share = worker->share;
    struct worker_reply reply = { .restart = false };
    const char *answer;
    size_t bytes;
    const struct worker_line line = { .bytes = worker->request.bytes,
                                      .count = worker->request.used,
                                      .sent = e->turn.sent,
                                      .is_ahead = e->turn.is_ahead,
                                      .timeout_s = worker->timeout_s,
                                      .doing = e->call->full_name };
    (void)pthread_mutex_unlock(&share->lock);
    enum worker_reading state = worker_process_wait(&share->process, &line);
    (void)pthread_mutex_lock(&share->lock);
    struct status st = worker_process_take(&share->process, &answer, &bytes, state, &line);
    if (st.code) {
        turn_end_process(share);
        return st;
    }
    share->starts_in_vain = 0;
    (void)pthread_mutex_unlock(&share->lock);
    worker_memory_look(&worker->memory);
    st = worker_read_reply(out, &reply, arena, &worker->memory, answer, bytes, e->number,
                           e->ask_gradients);
    (void)pthread_mutex_lock(&share->lock);
    /* A reply that cannot be understood says that the two have lost step. */
    if (st.code == STATUS_BAD_INPUT) {
        st.code = STATUS_DEVICE;
        reply.restart = true;
    }
    if (reply.restart) turn_end_process(share);
    else turn_end(share, &e->turn);
    return st;
}

static struct status worker_run(struct device *device, struct device_result *out,
                                struct arena *arena, const struct api_case *c, bool want_gradients)
{
    struct worker *worker = worker_of(device);
    if (!worker->translated_calls) c = case_as_recorded(c);
    bool keeps_order = !worker->translated_calls || leaf_order_is_kept(c);
    struct exchange e = { .worker = worker,
                          .call = c,
                          .ask_gradients = want_gradients && keeps_order };
    (void)pthread_mutex_lock(&worker->share->lock);
    struct status st = ask(&e);
    if (!st.code) st = read_answer(out, arena, &e);
    (void)pthread_mutex_unlock(&worker->share->lock);
    if (!st.code && want_gradients && !e.ask_gradients)
        out->backward = keeps_order
                            ? status_error(STATUS_SKIP, "the worker %s computes no gradients",
                                           worker->share->process.words[0])
                            : status_error(STATUS_SKIP, "%s", leaf_order_reason);
    return st;
}

static const char *worker_describe(const struct device *device)
{
    return ((const struct worker *)(const void *)device)->share->greeting.name;
}

const struct device_class device_worker = {
    .name = "worker",
    .alter_inputs = true,
    .external = true,
    .most_per_id = 8,
    .sharing = SHARING,
    .open = worker_open,
    .ready = worker_ready,
    .run = worker_run,
    .close = worker_close,
    .describe = worker_describe,
};
