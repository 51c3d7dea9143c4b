/* Each way in which a kernel can misbehave has its own diagnosis, and the next call works. The
 * handlers below are the kernels: they run in forked processes, so they may do anything. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "diagnosis.h"
#include "runner/devices/isolation.h"
#include "runner/devices/isolation_child.h"
#include "suite.h"

enum deed {
    ADD_ONE, CRASH_NULL, CRASH_WILD, ABORT, EXIT, QUIET_EXIT, HANG, OVERFLOW_STACK, PAST_OUTPUT,
    BEFORE_OUTPUT, FAR_PAST_OUTPUT, MODIFY_INPUT, PAST_INPUT, HOG, DIVIDE, KILL_SELF, PRINT_MUCH,
    CLOSE_ALL, REFUSE, FILL_HEADER, READ_PAST_INPUT
};

struct order {
    enum deed deed;
    uint64_t in, out, n;
};

static volatile int sink;
static volatile uintptr_t address[2] = { 16, 0x8000 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#endif
#endif
#ifndef THREAD_SANITIZED
#define THREAD_SANITIZED 0
#endif

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
    case READ_PAST_INPUT: sink = (int)in[order->n + 64]; break;
    default: break;
    }
}

__attribute__((no_sanitize("undefined"))) static void deed_process(const struct order *order)
{
    switch (order->deed) {
    case CRASH_NULL: *(volatile int *)address[0] = 1; break;
    case CRASH_WILD: *(volatile int *)address[1] = 1; break;
    case ABORT:
        fprintf(stderr, "first line\nshape.c:12: assertion m > 0 failed\n");
        abort();
    case EXIT:
        if (SANITIZED) _exit(3); /* exit would report what Check holds as leaks */
        exit(3);
    case QUIET_EXIT: _exit(0);
    case HANG:
        for (;;)
            sink++;
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
        for (int i = 0; i < 200000; i++)
            printf("line %d of a chatty kernel\n", i);
        break;
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
    float *in = (float *)(void *)(isolated->base + order.in);
    float *out = (float *)(void *)(isolated->base + order.out);
    isolated_doing(isolated, "some_kernel");
    for (uint64_t i = 0; i < order.n; i++)
        out[i] = in[i] + 1;
    deed_memory(&order, in, out);
    deed_process(&order);
    if (order.deed == FILL_HEADER) memset(isolated->header, 0x41, 1024);
    if (order.deed == REFUSE) return status_error(STATUS_SKIP, "no such shape");
    return status_ok();
}

static struct isolation *open_with_timeout(struct zygote *zygote, bool in_process, double timeout_s)
{
    struct isolation_options options = { .zygote = zygote,
                                         .in_process = in_process,
                                         .timeout_s = timeout_s,
                                         .memory_limit = 64 << 20,
                                         .handler = handler };
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
    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)(i % 1000);
    ck_assert(!space_request(space, &offset, sizeof(struct order)).code);
    struct order order = { deed, in->offset, out->offset, n };
    memcpy(space_at(space, offset), &order, sizeof order);
    struct status st = isolation_call(isolation, offset, sizeof order);
    if (!st.code) {
        const float *y = space_at(space, out->offset);
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < n; i++)
            wrong += !(y[i] == (float)(i % 1000) + 1);
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
            ck_assert(!space_place(&space, &b, i % 2 ? SPACE_INPUT : SPACE_OUTPUT, "b", bytes)
                           .code);
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
    for (;;)
        pause();
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
    struct { uint32_t magic, bytes; uint64_t contents; } records[5];
    static const struct { uint64_t syndrome; int expected; } cases[] = {
        { 0x92000045, 1 },              /* data abort from user space, write, no page */
        { 0x92000007, 0 },              /* the same, read */
        { 0x9200004f | 1ull << 40, 1 }, /* with the upper half of newer processors */
        { 0x82000007, -1 },             /* instruction abort */
        { 0x96000045, -1 },             /* data abort of the kernel */
    };
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
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
