/* Each way in which a kernel can misbehave has its own diagnosis, and the next call works. */
#include "isolation_kernels.h"

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
    tcase_add_test(tests, syndromes_of_aarch64);
    tcase_add_test(tests, ends_without_a_name);
    tcase_add_test(tests, no_limit_no_diagnosis_of_it);
    tcase_add_test(tests, time_limits_of_any_length);
    tcase_add_test(tests, signals_interrupt_and_change_nothing);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
