/* Kernels that misbehave, and calls of them in processes of their own. They run in forked
 * processes, so they may do anything. */
#ifndef PROBE_TESTS_RUNNER_ISOLATION_KERNELS_H
#define PROBE_TESTS_RUNNER_ISOLATION_KERNELS_H

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/devices/process/isolation.h"
#include "runner/devices/process/isolation_child.h"
#include "support/diagnosis.h"
#include "support/sanitized.h"
#include "support/suite.h"

enum deed {
    ADD_ONE,
    CRASH_NULL,
    CRASH_WILD,
    ABORT,
    EXIT,
    QUIET_EXIT,
    HANG,
    OVERFLOW_STACK,
    PAST_OUTPUT,
    BEFORE_OUTPUT,
    FAR_PAST_OUTPUT,
    MODIFY_INPUT,
    PAST_INPUT,
    HOG,
    DIVIDE,
    KILL_SELF,
    PRINT_MUCH,
    CLOSE_ALL,
    REFUSE,
    FILL_HEADER,
    READ_PAST_INPUT,
    BAD_ALLOC,
    BUS,
    BEFORE_INPUT,
    FAR_INPUT,
    FAR_OUTPUT,
    WRITE_REQUEST,
    NAMELESS,
    ODD_NAME,
    SEND_SHORT,
    SEND_FORGED,
    DIE_LATER,
    NAP,
    PARRICIDE
};

struct order {
    enum deed deed;
    uint64_t in, out, n, far_in, far_out;
};

static volatile int sink;
static volatile uintptr_t address[2] = { 16, 0x8000 };

/* The allocators of the sanitizers do not survive being refused memory. */
__attribute__((unused)) static char *allocate(size_t bytes)
{
    if (!SANITIZED) return malloc(bytes);
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* Ends only when `sink` is 12345, which the compiler cannot rule out. */
__attribute__((unused)) static int recurse(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = above ? above[0] : 1;
    if (sink == 12345) return 0;
    return recurse(frame) + frame[0];
}

__attribute__((unused)) static void deed_memory(const struct order *order, float *in, float *out)
{
    switch (order->deed) {
    case PAST_OUTPUT: out[order->n] = 1; break;
    case BEFORE_OUTPUT: out[-1] = 1; break;
    case FAR_PAST_OUTPUT: memset(out + order->n, 0, 4096); break;
    case MODIFY_INPUT: in[0] = 7; break;
    case PAST_INPUT: in[order->n] = 7; break;
    case BEFORE_INPUT: in[-1] = 7; break;
    case READ_PAST_INPUT: sink = (int)in[order->n + 64]; break;
    default: break;
    }
}

__attribute__((no_sanitize("undefined"))) static void deed_process(const struct order *order)
{
    switch (order->deed) {
    case CRASH_NULL: *(volatile int *)address[0] = 1; break;
    case CRASH_WILD: *(volatile int *)address[1] = 1; break;
    case ABORT: fprintf(stderr, "first line\nshape.c:12: assertion m > 0 failed\n"); abort();
    case EXIT:
        if (SANITIZED) _exit(3); /* exit would report what Check holds as leaks */
        exit(3);
    case QUIET_EXIT: _exit(0);
    case HANG:
        for (;;) sink++;
    case OVERFLOW_STACK: sink = recurse(NULL); break;
    case HOG:
        for (;;) {
            volatile char *block = allocate(1 << 20);
            for (size_t i = 0; i < 1 << 20; i += 4096)
                block[i] = 1; /* what a kernel does that does not check */
        }
    case DIVIDE: raise(SIGFPE); break;
    case KILL_SELF: kill(getpid(), SIGKILL); break;
    case PRINT_MUCH:
        for (int i = 0; i < 200000; i++) printf("line %d of a chatty kernel\n", i);
        break;
    case BAD_ALLOC:
        fprintf(stderr, "terminate called after throwing an instance of 'std::bad_alloc'\n");
        abort();
    case BUS: {
        int file = memfd_create("empty", 0);
        sink = *(volatile char *)mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
        break;
    }
    case SEND_SHORT: (void)!send(3, "x", 1, 0); break;
    case SEND_FORGED: {
        struct isolation_message forged = { .sequence = UINT64_MAX };
        (void)!send(3, &forged, sizeof forged, 0);
        break;
    }
    case DIE_LATER: {
        const struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
        (void)setitimer(ITIMER_REAL, &soon, NULL);
        break;
    }
    case NAP: (void)usleep(100000); break;
    case PARRICIDE:
        (void)kill(getppid(), SIGKILL);
        for (;;) pause();
    case CLOSE_ALL:
        (void)close_range(3, ~0u, 0);
        pause();
        break;
    default: break;
    }
}

__attribute__((unused)) static struct status handler(struct isolated *isolated, const void *request,
                                                     uint64_t bytes, bool starting)
{
    struct order order;
    if (starting) {
        isolated->state = isolated->header; /* anything not NULL */
        return bytes == 5 && !memcmp(request, "start", 5)
                   ? status_ok()
                   : status_error(STATUS_INTERNAL, "wrong start request");
    }
    memcpy(&order, request, sizeof order);
    if (order.deed == NAMELESS) abort();
    float *in = (float *)(void *)(isolated->base + order.in);
    float *out = (float *)(void *)(isolated->base + order.out);
    isolated_doing(isolated, "some_kernel");
    for (uint64_t i = 0; i < order.n; i++) out[i] = in[i] + 1;
    deed_memory(&order, in, out);
    if (order.deed == FAR_INPUT) sink = isolated->base[order.far_in];
    if (order.deed == FAR_OUTPUT) isolated->base[order.far_out] = 1;
    if (order.deed == WRITE_REQUEST) *(volatile char *)(uintptr_t)request = 1;
    if (order.deed == ODD_NAME) {
        isolated_doing(isolated, "\x01\xffkernel\x7f");
        abort();
    }
    deed_process(&order);
    if (order.deed == FILL_HEADER) memset(isolated->header, 0x41, 1024);
    if (order.deed == REFUSE) return status_error(STATUS_SKIP, "no such shape");
    return status_ok();
}

static int finished;

__attribute__((unused)) static void finish(void *state)
{
    ck_assert_ptr_nonnull(state);
    finished++;
}

__attribute__((unused)) static struct isolation *open_with_timeout(struct zygote *zygote,
                                                                   bool in_process,
                                                                   double timeout_s)
{
    struct isolation_options options = { .zygote = zygote,
                                         .in_process = in_process,
                                         .timeout_s = timeout_s,
                                         .memory_limit = 64 << 20,
                                         .handler = handler,
                                         .finish = finish };
    struct isolation *isolation;
    ck_assert_int_eq(isolation_open(&isolation, &options, "start", 5).code, STATUS_OK);
    return isolation;
}

/* With a timeout that a busy machine does not reach. */
__attribute__((unused)) static struct isolation *open_isolation(struct zygote *zygote,
                                                                bool in_process)
{
    return open_with_timeout(zygote, in_process, 300);
}

/* One call on n floats; the sums are checked when it succeeds. */
__attribute__((unused)) static struct status call(struct isolation *isolation, enum deed deed,
                                                  uint64_t n)
{
    struct space *space = isolation_space(isolation);
    struct space_buffer *in, *other, *out;
    uint64_t offset;
    space_begin(space, 1 << 20);
    ck_assert(!space_place(space, &other, SPACE_INPUT, "input 0", 12).code);
    ck_assert(!space_place(space, &in, SPACE_INPUT, "input 1", n * 4).code);
    ck_assert(!space_place(space, &out, SPACE_OUTPUT, "output 0", n * 4).code);
    float *x = space_at(space, in->offset);
    for (uint64_t i = 0; i < n; i++) x[i] = (float)(i % 1000);
    ck_assert(!space_request(space, &offset, sizeof(struct order)).code);
    /* The guard of the 40th small place of each region, which no buffer of this call is next to. */
    uint64_t page = other->fence_bytes / 3, far = 40 * (other->fence_bytes + page);
    struct order order = { deed, in->offset,          out->offset,
                           n,    space->inputs + far, space->outputs + far };
    memcpy(space_at(space, offset), &order, sizeof order);
    struct status st = isolation_call(isolation, offset, sizeof order);
    if (!st.code) {
        const float *y = space_at(space, out->offset);
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < n; i++) wrong += !(y[i] == (float)(i % 1000) + 1);
        ck_assert_uint_eq(wrong, 0);
    }
    return st;
}

__attribute__((unused)) static void napper(const int *descriptors, size_t count)
{
    (void)descriptors, (void)count;
    usleep(20000);
    _exit(7);
}

#endif
