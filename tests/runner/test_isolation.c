/* Each way in which a kernel can misbehave has its own diagnosis, and the next call works. The
 * handlers below are the kernels: they run in forked processes, so they may do anything. */
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
static char *allocate(size_t bytes)
{
    if (!SANITIZED) return malloc(bytes);
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* Ends only when `sink` is 12345, which the compiler cannot rule out. */
static int recurse(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = above ? above[0] : 1;
    if (sink == 12345) return 0;
    return recurse(frame) + frame[0];
}

static void deed_memory(const struct order *order, float *in, float *out)
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

static struct status handler(struct isolated *isolated, const void *request, uint64_t bytes,
                             bool starting)
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

static void finish(void *state)
{
    ck_assert_ptr_nonnull(state);
    finished++;
}

static struct isolation *open_with_timeout(struct zygote *zygote, bool in_process, double timeout_s)
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
static struct isolation *open_isolation(struct zygote *zygote, bool in_process)
{
    return open_with_timeout(zygote, in_process, 300);
}

/* One call on n floats; the sums are checked when it succeeds. */
static struct status call(struct isolation *isolation, enum deed deed, uint64_t n)
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

static const struct {
    enum deed deed;
    const char *text; /* the diagnosis starts so */
    bool survives;
} diagnoses[] = {
    { CRASH_NULL, "device crashed: SIGSEGV in some_kernel at address 0x10", false },
    { CRASH_WILD, "device crashed: SIGSEGV in some_kernel at address 0x8000", false },
    { ABORT, "device crashed: SIGABRT in some_kernel: shape.c:12: assertion m > 0 failed", false },
    { EXIT, "device exited with status 3 in some_kernel", false },
    { QUIET_EXIT, "device exited with status 0 in some_kernel", false },
    { HANG, "device hung for 4 s in some_kernel", false },
    { OVERFLOW_STACK, "device overflowed its stack in some_kernel", false },
    { PAST_OUTPUT, "device wrote past output 0 in some_kernel", false },
    { BEFORE_OUTPUT, "device wrote before output 0 in some_kernel (at byte -1 of ", false },
    { FAR_PAST_OUTPUT, "device wrote past output 0 in some_kernel", false },
    { MODIFY_INPUT, "device modified input 1 in some_kernel", false },
    { HOG, "device ran out of memory (limit 0.07 GB) in some_kernel", false },
    { DIVIDE, "device crashed: SIGFPE in some_kernel", false },
    { KILL_SELF, "device was killed in some_kernel", false },
    { CLOSE_ALL, "device was killed in some_kernel", false },
    { REFUSE, "no such shape", true },
    { BAD_ALLOC, "device ran out of memory (limit 0.07 GB) in some_kernel: SIGABRT", false },
    { BUS, "device crashed: SIGBUS in some_kernel at address 0x", false },
    { BEFORE_INPUT, "device wrote just outside input 1 in some_kernel", false },
    { FAR_INPUT, "device crashed: SIGSEGV in some_kernel, far outside its inputs", false },
    { FAR_OUTPUT, "device crashed: SIGSEGV in some_kernel, far outside its outputs", false },
    { WRITE_REQUEST, "device modified the arguments of the call in some_kernel", false },
    { ODD_NAME, "device crashed: SIGABRT in ??kernel?", false },
    { SEND_SHORT, "device was killed in some_kernel", false },
    { SEND_FORGED, "device was killed in some_kernel", false },
};
enum { N_DIAGNOSES = sizeof diagnoses / sizeof *diagnoses };

/* Every misdeed, on small (slot) and large (own guard) buffers: the text names it, the process
 * is replaced when it has to be, and the next call gives right results. */
START_TEST(misdeeds_are_told_apart)
{
    struct zygote *zygote;
    /* The shadow of this sanitizer grows with the hog and meets the limit first. */
    if (THREAD_SANITIZED && diagnoses[_i].deed == HOG) return;
    ck_assert(!zygote_start(&zygote).code);
    bool hangs = diagnoses[_i].deed == HANG;
    struct isolation *isolation = open_with_timeout(zygote, false, hangs ? 4 : 300);
    const uint64_t sizes[] = { 3, 1000, 100000 };
    for (int s = 0; s < 3; s++) {
        ck_assert(!call(isolation, ADD_ONE, sizes[s]).code);
        unsigned before = isolation_starts(isolation);
        struct status st = call(isolation, diagnoses[_i].deed, sizes[s]);
        ck_assert_msg(is_diagnosed(st.text, diagnoses[_i].text),
                      "%llu floats: \"%s\" instead of \"%s\"", (unsigned long long)sizes[s],
                      st.text, diagnoses[_i].text);
        ck_assert_int_eq(st.code, diagnoses[_i].survives ? STATUS_SKIP : STATUS_DEVICE);
        st = call(isolation, ADD_ONE, sizes[s]);
        ck_assert_msg(!st.code, "the call after: %s", st.text);
        ck_assert_uint_eq(isolation_starts(isolation), before + !diagnoses[_i].survives);
    }
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* Writing or reading next to an input. Within the pages of the buffer it is a write to
 * read-only memory; reading 64 floats on touches the guard page. */
START_TEST(inputs_are_fenced)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    struct isolation *isolation = open_isolation(zygote, false);
    struct status st = call(isolation, PAST_INPUT, 3);
    ck_assert_str_eq(st.text, "device wrote just outside input 1 in some_kernel");
    st = call(isolation, READ_PAST_INPUT, 100000);
    ck_assert_msg(strstr(st.text, "past input 1 in some_kernel") != NULL, "%s", st.text);
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* A kernel that prints more than a pipe holds does not block, and what it prints goes nowhere. */
START_TEST(chatter_does_not_block)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    struct isolation *isolation = open_isolation(zygote, false);
    struct status st = call(isolation, PRINT_MUCH, 10);
    ck_assert_msg(!st.code, "%s", st.text);
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* A kernel that overwrites the shared notes may spoil its own result, nothing else. */
START_TEST(notes_may_be_overwritten)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    struct isolation *isolation = open_isolation(zygote, false);
    for (int i = 0; i < 3; i++) {
        struct status st = call(isolation, FILL_HEADER, 100000);
        ck_assert(st.code == STATUS_OK || st.code == STATUS_DEVICE);
    }
    ck_assert(!call(isolation, ADD_ONE, 100000).code);
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* In process, what does not kill is found all the same. */
START_TEST(in_process_finds_overruns)
{
    struct isolation *isolation = open_isolation(NULL, true);
    ck_assert(!call(isolation, ADD_ONE, 100000).code);
    ck_assert_int_eq(call(isolation, PAST_OUTPUT, 1001).code, STATUS_DEVICE);
    ck_assert_int_eq(call(isolation, REFUSE, 3).code, STATUS_SKIP);
    ck_assert(!call(isolation, ADD_ONE, 3).code);
    isolation_close(isolation);
}
END_TEST

/* In process, inputs are read-only just the same: the program dies, which --isolate none
 * accepts. */
START_TEST(in_process_inputs_are_read_only)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        struct isolation *isolation = open_isolation(NULL, true);
        (void)call(isolation, MODIFY_INPUT, 3);
        _exit(0);
    }
    int wait_status;
    ck_assert_int_eq(waitpid(pid, &wait_status, 0), pid);
    ck_assert(!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0);
}
END_TEST

/* Memory that a large call took is given back; the values of later calls do not suffer. */
START_TEST(large_memory_is_given_back)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    struct isolation *isolation = open_isolation(zygote, false);
    struct space *space = isolation_space(isolation);
    ck_assert(!call(isolation, ADD_ONE, 4 << 20).code);
    ck_assert(!call(isolation, ADD_ONE, 1000).code);
    ck_assert_uint_le(space->touched[0], 2 << 20);
    ck_assert(!call(isolation, ADD_ONE, 1 << 20).code);
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* Many buffers: the small slots run out, the rest gets guards of its own. */
START_TEST(buffers_never_overlap)
{
    struct space space;
    ck_assert(!space_open(&space).code);
    for (int round = 0; round < 3; round++) {
        space_begin(&space, 0);
        for (int i = 0; i < 200; i++) {
            struct space_buffer *b;
            uint64_t bytes = (uint64_t)(i * 977 % 30011);
            ck_assert(
                !space_place(&space, &b, i % 2 ? SPACE_INPUT : SPACE_OUTPUT, "b", bytes).code);
            ck_assert_uint_eq(b->offset % 64, 0);
            ck_assert_uint_le(b->offset + bytes, b->fence + b->fence_bytes);
        }
        for (size_t i = 0; i < space.count; i++)
            for (size_t k = 0; k < i; k++) {
                const struct space_buffer *a = &space.buffers[i], *b = &space.buffers[k];
                ck_assert(a->fence >= b->fence + b->fence_bytes ||
                          b->fence >= a->fence + a->fence_bytes);
            }
        const struct space_buffer *damaged;
        int64_t where;
        ck_assert(!space_damaged(&space, &damaged, &where));
    }
    struct space_buffer *b;
    ck_assert_int_eq(space_place(&space, &b, SPACE_INPUT, "huge", UINT64_MAX / 2).code,
                     STATUS_SKIP);
    space_close(&space);
}
END_TEST

/* Many isolations share one zygote; stopping it ends the processes that are left. */
static pid_t stray;

static void sleeper(const int *descriptors, size_t count)
{
    (void)count;
    pid_t self = getpid();
    (void)!write(descriptors[0], &self, sizeof self);
    for (;;) pause();
}

START_TEST(zygote_takes_its_children_along)
{
    struct zygote *zygote, *second;
    int pipe_ends[2];
    pid_t pid, told;
    ck_assert(!zygote_start(&zygote).code);
    ck_assert(!zygote_start(&second).code);
    ck_assert_int_eq(pipe(pipe_ends), 0);
    ck_assert(!zygote_spawn(zygote, &pid, sleeper, &pipe_ends[1], 1).code);
    close(pipe_ends[1]);
    ck_assert_int_eq(read(pipe_ends[0], &told, sizeof told), sizeof told);
    ck_assert_int_eq(told, pid);
    stray = pid;
    zygote_stop(zygote);
    /* Its write end closes when it is dead: the read returns. */
    ck_assert_int_eq(read(pipe_ends[0], &told, sizeof told), 0);
    zygote_stop(second);
}
END_TEST

/* What aarch64 says of a fault, record by record; on other machines nothing else reads this. */
START_TEST(syndromes_of_aarch64)
{
    enum { FLOATS = 0x46508001, SYNDROME = 0x45535201 };
    struct {
        uint32_t magic, bytes;
        uint64_t contents;
    } records[5];
    /* clang-format off */
    static const struct { uint64_t syndrome; int expected; } cases[] = {
        { 0x92000045, 1 },              /* data abort from user space, write, no page */
        { 0x92000007, 0 },              /* the same, read */
        { 0x9200004f | 1ull << 40, 1 }, /* with the upper half of newer processors */
        { 0x82000007, -1 },             /* instruction abort */
        { 0x96000045, -1 },             /* data abort of the kernel */
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int before = 0; before < 4; before++) {
            memset(records, 0, sizeof records);
            for (int k = 0; k < before; k++) {
                records[k].magic = FLOATS;
                records[k].bytes = sizeof *records;
                records[k].contents = 0x92000045;
            }
            records[before].magic = SYNDROME;
            records[before].bytes = sizeof *records;
            records[before].contents = cases[i].syndrome;
            const unsigned char *bytes = (const unsigned char *)records;
            ck_assert_int_eq(isolation_fault_is_write(bytes, sizeof records), cases[i].expected);
            /* Cut off, or behind the end of the records: nothing is said. */
            size_t whole = ((size_t)before + 1) * sizeof *records;
            ck_assert_int_eq(isolation_fault_is_write(bytes, whole - 1), -1);
            if (!before) continue;
            static const uint32_t sizes[] = { 0, 7, sizeof records + 1, UINT32_MAX };
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                records[before - 1].bytes = sizes[s];
                ck_assert_int_eq(isolation_fault_is_write(bytes, sizeof records), -1);
            }
            records[before - 1] = records[4]; /* the end */
            ck_assert_int_eq(isolation_fault_is_write(bytes, sizeof records), -1);
        }
}
END_TEST

/* --- the rarer ends -------------------------------------------------------------------------------------- */

/* A process that says nothing of what it was doing, and one that dies between two calls. */
START_TEST(ends_without_a_name)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    struct isolation *isolation = open_isolation(zygote, false);
    ck_assert(is_whole_diagnosis(call(isolation, NAMELESS, 3).text, "device crashed: SIGABRT"));
    ck_assert(!call(isolation, DIE_LATER, 3).code);
    usleep(300000);
    ck_assert_str_eq(call(isolation, ADD_ONE, 3).text, "device crashed: SIGALRM");
    ck_assert(!call(isolation, ADD_ONE, 3).code);
    ck_assert_uint_eq(isolation_starts(isolation), 3);
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* Without a limit on memory, a library that says it has none crashed like any other. */
START_TEST(no_limit_no_diagnosis_of_it)
{
    struct zygote *zygote;
    struct isolation *isolation;
    ck_assert(!zygote_start(&zygote).code);
    struct isolation_options options = { .zygote = zygote, .timeout_s = 300, .handler = handler };
    ck_assert(!isolation_open(&isolation, &options, "start", 5).code);
    ck_assert(is_whole_diagnosis(call(isolation, BAD_ALLOC, 3).text,
                                 "device crashed: SIGABRT in some_kernel: terminate called after "
                                 "throwing an instance of 'std::bad_alloc'"));
    ck_assert(!call(isolation, ADD_ONE, 3).code);
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* A start that fails is told at each call, and a later call starts again. */
START_TEST(starts_may_fail)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    for (int in_process = 0; in_process < 2; in_process++) {
        struct isolation_options options = { .zygote = zygote,
                                             .in_process = in_process,
                                             .timeout_s = 300,
                                             .handler = handler,
                                             .finish = finish };
        struct isolation *isolation;
        finished = 0;
        ck_assert(!isolation_open(&isolation, &options, "wrong", 5).code);
        for (unsigned i = 1; i <= 2; i++) {
            struct status st = call(isolation, ADD_ONE, 3);
            ck_assert_int_eq(st.code, STATUS_INTERNAL);
            ck_assert_str_eq(st.text, "wrong start request");
            ck_assert_uint_eq(isolation_starts(isolation), i);
        }
        isolation_close(isolation);
        ck_assert_int_eq(finished, 0);
    }
    /* In process, what was started is finished, once; what was not is not. */
    struct isolation *isolation = open_isolation(NULL, true);
    isolation_close(isolation);
    ck_assert_int_eq(finished, 0);
    isolation = open_isolation(NULL, true);
    ck_assert(!call(isolation, ADD_ONE, 3).code);
    ck_assert(!isolation_start(isolation).code); /* it has been */
    isolation_close(isolation);
    ck_assert_int_eq(finished, 1);
    /* Nor need there be anything to finish. */
    struct isolation_options unfinished = { .in_process = true, .handler = handler };
    ck_assert(!isolation_open(&isolation, &unfinished, "start", 5).code);
    ck_assert(!call(isolation, ADD_ONE, 3).code);
    isolation_close(isolation);
    ck_assert_int_eq(finished, 1);
    isolation_close(NULL);
    zygote_stop(zygote);
    zygote_stop(NULL);
}
END_TEST

/* No time limit, and one of months. */
START_TEST(time_limits_of_any_length)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    const double limits[] = { 0, 1e7, 70 };
    for (int i = 0; i < 3; i++) {
        struct isolation *isolation = open_with_timeout(zygote, false, limits[i]);
        struct status st = call(isolation, NAP, 3);
        ck_assert_msg(!st.code, "%s", st.text);
        isolation_close(isolation);
    }
    zygote_stop(zygote);
}
END_TEST

static volatile sig_atomic_t ticks;

static void tick(int signal)
{
    (void)signal;
    ticks = ticks + 1;
}

static void napper(const int *descriptors, size_t count)
{
    (void)descriptors, (void)count;
    usleep(20000);
    _exit(7);
}

/* Signals of the program's own interrupt every wait and change nothing. */
START_TEST(signals_interrupt_and_change_nothing)
{
    struct zygote *zygote;
    const struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction action = { .sa_handler = tick }, before;
    ck_assert_int_eq(sigaction(SIGALRM, &action, &before), 0);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &each_ms, NULL), 0);
    struct status st = zygote_start(&zygote);
    ck_assert_msg(!st.code, "%s", st.text);
    struct isolation *isolation = open_isolation(zygote, false);
    for (int i = 0; i < 3; i++) {
        pid_t pid;
        int wait_status;
        st = call(isolation, NAP, 100000);
        ck_assert_msg(!st.code, "%s", st.text);
        ck_assert(!zygote_spawn(zygote, &pid, napper, NULL, 0).code);
        st = zygote_reap(zygote, pid, &wait_status);
        ck_assert_msg(!st.code, "%s", st.text);
        ck_assert(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 7);
    }
    isolation_close(isolation);
    zygote_stop(zygote);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
    ck_assert_int_eq(sigaction(SIGALRM, &before, NULL), 0);
    ck_assert_int_gt(ticks, 20); /* it did interrupt */
}
END_TEST

/* --- shared memory ------------------------------------------------------------------------------------------ */

/* Requests stay inside their region, whatever their sizes are. */
START_TEST(requests_are_bounded)
{
    struct space space;
    const uint64_t most = (uint64_t)64 << 20;
    ck_assert(!space_open(&space).code);
    for (uint64_t first = 0; first <= 48; first += 8)
        for (uint64_t less = 0; less <= 80; less += 4) {
            uint64_t offset, bytes = most - less;
            space_begin(&space, 0);
            ck_assert(!space_request(&space, &offset, first).code);
            struct status st = space_request(&space, &offset, bytes);
            if (!st.code) ck_assert_uint_le(offset + bytes, space.inputs);
            else ck_assert_str_eq(st.text, "the call's arguments take more than 64 MB");
            /* 64 bytes are more than what rounding takes. */
            if (first + 64 <= less) ck_assert(!st.code);
        }
    uint64_t offset;
    ck_assert_int_eq(space_request(&space, &offset, UINT64_MAX).code, STATUS_SKIP);
    space_close(&space);
    space_close(&space); /* again is no harm */
}
END_TEST

START_TEST(buffers_are_bounded)
{
    struct space space;
    struct space_buffer *b;
    ck_assert(!space_open(&space).code);
    for (int i = 0; i < SPACE_MAX_BUFFERS; i++)
        ck_assert(!space_place(&space, &b, i % 2 ? SPACE_INPUT : SPACE_OUTPUT, "b", 100).code);
    ck_assert_str_eq(space_place(&space, &b, SPACE_INPUT, "b", 1).text,
                     "the call has more than 512 tensors");
    /* Two that fit alone do not fit together. */
    uint64_t bytes = (space.outputs - space.inputs) / 5 * 3;
    space_begin(&space, 0);
    ck_assert(!space_place(&space, &b, SPACE_INPUT, "one", bytes).code);
    struct status st = space_place(&space, &b, SPACE_INPUT, "two", bytes);
    ck_assert_int_eq(st.code, STATUS_SKIP);
    ck_assert(!strncmp(st.text, "two of ", 7) &&
              strstr(st.text, "B does not fit into shared memory"));
    ck_assert(!space_place(&space, &b, SPACE_INPUT, "three", 100).code);
    space_close(&space);
}
END_TEST

/* May this byte of the view be written? Asked of the system, which answers EFAULT. */
static bool may_write(const unsigned char *at, int from)
{
    return pread(from, (void *)(uintptr_t)at, 1, 0) == 1;
}

/* Guards are where the header says, and nowhere else; a header that says what cannot be is refused. */
START_TEST(guards_of_any_header)
{
    struct space space;
    static struct space_view view;
    struct space_buffer *in, *out;
    int zero = open("/dev/zero", O_RDONLY);
    ck_assert(!space_open(&space).code);
    ck_assert(!space_view_open(&view, space.descriptor).code);
    ck_assert(!space_place(&space, &in, SPACE_INPUT, "in", 1 << 20).code);
    ck_assert(!space_place(&space, &out, SPACE_OUTPUT, "out", 1 << 20).code);
    const unsigned char *guard = view.base + out->fence + out->fence_bytes;
    for (int round = 0; round < 2; round++) {
        space_publish_guards(&space);
        ck_assert_uint_eq(space_header(&space)->guard_count, 2);
        for (int again = 0; again < 2; again++) {
            ck_assert(space_view_fence(&view));
            ck_assert(!may_write(guard, zero));
            ck_assert(may_write(guard - 1, zero));
            ck_assert(!may_write(view.base + in->offset, zero));
        }
        space_header(&space)->guard_count = 0;
        ck_assert(space_view_fence(&view));
        ck_assert(may_write(guard, zero));
        ck_assert(!may_write(view.base + in->fence + in->fence_bytes,
                             zero)); /* readable again, no more */
        ck_assert_int_eq(view.base[in->fence + in->fence_bytes], 0);
    }
    /* As many guards, elsewhere. */
    space_publish_guards(&space);
    ck_assert(space_view_fence(&view));
    ck_assert(!may_write(guard, zero));
    space_begin(&space, 0);
    ck_assert(!space_place(&space, &in, SPACE_INPUT, "in", 1 << 20).code);
    ck_assert(!space_place(&space, &out, SPACE_OUTPUT, "out", 3 << 20).code);
    space_publish_guards(&space);
    ck_assert(space_view_fence(&view));
    ck_assert(may_write(guard, zero));
    ck_assert(!may_write(view.base + out->fence + out->fence_bytes, zero));
    struct space_header *header = space_header(&space);
    header->guard_count = SPACE_MAX_BUFFERS + 1;
    ck_assert(!space_view_fence(&view));
    const uint64_t bad[] = { view.bytes, UINT64_MAX, view.bytes - 1, 12345 };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        header->guard_count = 1;
        header->guards[0] = bad[i];
        ck_assert(!space_view_fence(&view));
    }
    space_view_close(&view);
    space_view_close(&view);
    space_close(&space);
    close(zero);
}
END_TEST

START_TEST(views_of_no_shared_memory)
{
    struct space_view *view = calloc(1, sizeof *view);
    int file = memfd_create("empty", MFD_CLOEXEC);
    ck_assert_str_eq(space_view_open(view, -1).text,
                     "cannot use shared memory: Bad file descriptor");
    ck_assert_str_eq(space_view_open(view, file).text,
                     "cannot map shared memory: Invalid argument");
    close(file);
    free(view);
}
END_TEST

static uint64_t address_bytes(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Where addresses are few, the space is smaller, and calls work in it; where there are none, it says so. */
START_TEST(few_addresses_will_do)
{
    if (SANITIZED || emulated()) return; /* their shadow takes all addresses there are */
    struct rlimit usual, few;
    struct space space;
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &usual), 0);
    few = usual;
    few.rlim_cur = address_bytes() + ((rlim_t)3 << 32);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    struct status st = space_open(&space);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_uint_eq(space.bytes, (uint64_t)1 << 32); /* and as much again for a view */
    space_close(&space);
    struct isolation *isolation = open_isolation(NULL, true);
    few.rlim_cur = address_bytes() + ((rlim_t)3 << 32);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    ck_assert(!call(isolation, ADD_ONE, 100000).code);
    few.rlim_cur = address_bytes() + ((rlim_t)1 << 29);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    ck_assert_str_eq(space_open(&space).text, "cannot map shared memory: Cannot allocate memory");
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &usual), 0);
    isolation_close(isolation);
}
END_TEST

/* Where files may not be long, there is no shared memory. */
START_TEST(files_may_be_limited)
{
    struct rlimit usual, small;
    struct space space;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &usual), 0);
    small = usual;
    small.rlim_cur = 1 << 20;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct status st = space_open(&space);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &usual), 0);
    (void)signal(SIGXFSZ, before);
    ck_assert_str_eq(st.text, "cannot map shared memory: File too large");
}
END_TEST

/* --- descriptors that run out ------------------------------------------------------------------------------- */

/* Try with no descriptor left, then one, two ... until it works; what it says before is counted by text. */
static void run_out_of_descriptors(struct status (*attempt)(void *context), void *context,
                                   const char *const *texts, size_t n_texts)
{
    struct rlimit usual, few;
    bool seen[8] = { false };
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    int lowest = dup(0);
    close(lowest);
    for (few.rlim_cur = (rlim_t)lowest;; few.rlim_cur++) {
        size_t i = 0;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        struct status st = attempt(context);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
        if (!st.code) break;
        while (i < n_texts && strcmp(texts[i], st.text) != 0) i++;
        ck_assert_msg(i < n_texts, "%s", st.text);
        ck_assert_int_eq(st.code, STATUS_IO);
        seen[i] = true;
        ck_assert_int_lt((int)few.rlim_cur, lowest + 64);
    }
    for (size_t i = 0; i < n_texts; i++) ck_assert_msg(seen[i], "never said: %s", texts[i]);
    int still_lowest = dup(0);
    close(still_lowest);
    ck_assert_int_eq(still_lowest, lowest); /* none is left open */
}

static struct status try_call(void *context)
{
    struct isolation *isolation;
    struct isolation_options options = { .zygote = context, .timeout_s = 300, .handler = handler };
    TRY(isolation_open(&isolation, &options, "start", 5));
    struct status st = call(isolation, ADD_ONE, 3);
    isolation_close(isolation);
    return st;
}

static struct status try_zygote(void *context)
{
    struct zygote *zygote;
    (void)context;
    TRY(zygote_start(&zygote));
    zygote_stop(zygote);
    return status_ok();
}

START_TEST(descriptors_may_run_out)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    run_out_of_descriptors(try_call, zygote,
                           (const char *const[]){ "cannot make shared memory: Too many open files",
                                                  "cannot make a socket: Too many open files",
                                                  "cannot make a pipe: Too many open files" },
                           3);
    zygote_stop(zygote);
    run_out_of_descriptors(
        try_zygote, NULL,
        (const char *const[]){ "cannot make the socket to kernel processes: Too many open "
                               "files" },
        1);
}
END_TEST

/* --- the zygote ----------------------------------------------------------------------------------------------- */

static void parent_teller(const int *descriptors, size_t count)
{
    (void)count;
    pid_t parent = getppid();
    (void)!write(descriptors[0], &parent, sizeof parent);
}

START_TEST(a_zygote_that_cannot)
{
    struct zygote *zygote;
    pid_t pid, parent;
    int wait_status, ends[2], many[ZYGOTE_MAX_DESCRIPTORS + 1] = { 0 };
    char text[100];
    ck_assert(!zygote_start(&zygote).code);
    struct status st = zygote_spawn(zygote, &pid, napper, many, ZYGOTE_MAX_DESCRIPTORS + 1);
    ck_assert_int_eq(st.code, STATUS_INTERNAL);
    ck_assert_str_eq(st.text, "9 descriptors for a kernel process; at most 8");
    /* This process is no child of it, and asking changes nothing. */
    snprintf(text, sizeof text, "cannot tell how kernel process %ld ended: No child processes",
             (long)getpid());
    ck_assert_str_eq(zygote_reap(zygote, getpid(), &wait_status).text, text);
    /* As many as it takes, the full number of descriptors too. */
    ck_assert(!zygote_spawn(zygote, &pid, napper, many, ZYGOTE_MAX_DESCRIPTORS).code);
    ck_assert(!zygote_reap(zygote, pid, &wait_status).code);
    zygote_stop(zygote);
    /* One that was killed. */
    ck_assert(!zygote_start(&zygote).code);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert(!zygote_spawn(zygote, &pid, parent_teller, &ends[1], 1).code);
    ck_assert_int_eq(read(ends[0], &parent, sizeof parent), sizeof parent);
    ck_assert(!zygote_reap(zygote, pid, &wait_status).code);
    ck_assert(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0);
    ck_assert_int_eq(kill(parent, SIGKILL), 0);
    for (int i = 0; i < 2; i++) {
        st = zygote_spawn(zygote, &pid, napper, NULL, 0);
        ck_assert_int_eq(st.code, STATUS_IO);
        ck_assert_msg(!strncmp(st.text, "cannot start a kernel process: ", 31), "%s", st.text);
    }
    ck_assert_int_eq(zygote_reap(zygote, pid, &wait_status).code, STATUS_IO);
    zygote_stop(zygote);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* The kernel takes the zygote along: nobody can tell how it ended, and no other can be started. */
START_TEST(without_a_zygote_nothing_starts)
{
    struct zygote *zygote;
    ck_assert(!zygote_start(&zygote).code);
    struct isolation *isolation = open_isolation(zygote, false);
    struct status st = call(isolation, PARRICIDE, 3);
    ck_assert_int_eq(st.code, STATUS_IO);
    ck_assert_msg(!strncmp(st.text, "cannot tell how kernel process ", 31), "%s", st.text);
    st = call(isolation, ADD_ONE, 3);
    ck_assert_int_eq(st.code, STATUS_IO);
    ck_assert_msg(!strncmp(st.text, "cannot start a kernel process: ", 31), "%s", st.text);
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* A stack of any size that the program may have is 8 MB for a kernel, and its end is told. */
START_TEST(stacks_are_limited)
{
    struct rlimit usual, large;
    struct zygote *zygote;
    ck_assert_int_eq(getrlimit(RLIMIT_STACK, &usual), 0);
    if (usual.rlim_max < (rlim_t)64 << 20) return;
    large = usual;
    large.rlim_cur = (rlim_t)64 << 20;
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &large), 0);
    ck_assert(!zygote_start(&zygote).code);
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &usual), 0);
    struct isolation *isolation = open_isolation(zygote, false);
    ck_assert(!call(isolation, ADD_ONE, 3).code);
    ck_assert_str_eq(call(isolation, OVERFLOW_STACK, 3).text,
                     "device overflowed its stack in some_kernel");
    ck_assert(!call(isolation, ADD_ONE, 3).code);
    isolation_close(isolation);
    zygote_stop(zygote);
}
END_TEST

/* More children than it first has room for, reaped in another order than they came, some not at all. */
START_TEST(many_children)
{
    enum { N = 70 };
    struct zygote *zygote;
    pid_t pids[N];
    int ends[2], wait_status;
    char end;
    ck_assert(!zygote_start(&zygote).code);
    ck_assert_int_eq(pipe(ends), 0);
    for (int i = 0; i < N; i++) {
        ck_assert(!zygote_spawn(zygote, &pids[i], i < 10 ? sleeper : napper, &ends[1], 1).code);
        for (int k = 0; k < i; k++) ck_assert_int_ne(pids[i], pids[k]);
    }
    close(ends[1]);
    for (int i = N - 1; i >= 10; i -= 2) {
        ck_assert(!zygote_reap(zygote, pids[i], &wait_status).code);
        ck_assert(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 7);
    }
    for (int i = 10; i < N; i += 2) ck_assert(!zygote_reap(zygote, pids[i], &wait_status).code);
    zygote_stop(zygote);
    /* The sleepers are gone too: nobody holds the other end any more. */
    pid_t told;
    for (int i = 0; i < 10; i++) ck_assert_int_eq(read(ends[0], &told, sizeof told), sizeof told);
    ck_assert_int_eq(read(ends[0], &end, 1), 0);
    close(ends[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("isolation");
    TCase *tests = tcase_create("isolation");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, misdeeds_are_told_apart, 0, N_DIAGNOSES);
    tcase_add_test(tests, inputs_are_fenced);
    tcase_add_test(tests, chatter_does_not_block);
    tcase_add_test(tests, notes_may_be_overwritten);
    tcase_add_test(tests, in_process_finds_overruns);
    tcase_add_test(tests, in_process_inputs_are_read_only);
    tcase_add_test(tests, large_memory_is_given_back);
    tcase_add_test(tests, buffers_never_overlap);
    tcase_add_test(tests, zygote_takes_its_children_along);
    tcase_add_test(tests, syndromes_of_aarch64);
    tcase_add_test(tests, ends_without_a_name);
    tcase_add_test(tests, no_limit_no_diagnosis_of_it);
    tcase_add_test(tests, starts_may_fail);
    tcase_add_test(tests, time_limits_of_any_length);
    tcase_add_test(tests, signals_interrupt_and_change_nothing);
    tcase_add_test(tests, requests_are_bounded);
    tcase_add_test(tests, buffers_are_bounded);
    tcase_add_test(tests, guards_of_any_header);
    tcase_add_test(tests, views_of_no_shared_memory);
    tcase_add_test(tests, few_addresses_will_do);
    tcase_add_test(tests, files_may_be_limited);
    tcase_add_test(tests, descriptors_may_run_out);
    tcase_add_test(tests, a_zygote_that_cannot);
    tcase_add_test(tests, without_a_zygote_nothing_starts);
    tcase_add_test(tests, stacks_are_limited);
    tcase_add_test(tests, many_children);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
