/* The process of a worker: its start and its end, signals, limits of memory and descriptors, and devices that share one. */
#include <check.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "runner/devices/device.h"
#include "runner/devices/worker/worker_message.h"
#include "runner/devices/worker/worker_process.h"
#include "runner/worker_calls.h"
#include "support/cases.h"
#include "support/diagnosis.h"
#include "support/sanitized.h"
#include "support/suite.h"

/* --- processes ------------------------------------------------------------------------------------------ */

/* What the worker is told first. */
START_TEST(the_greeting_says_who_and_where)
{
    for (int jit = 0; jit < 2; jit++) {
        struct device *other =
            open_with("tests/plugin/worker-peer", "proud",
                      (struct device_options){ .case_timeout_s = 9, .jit_compile = jit });
        char want[200];
        snprintf(want, sizeof want,
                 "device exited with status 4 in its start: {\"hello\":\"probe-ut\",\"protocol\":1,"
                 "\"device\":7,\"jit_compile\":%s,\"memory\":\"/proc/self/fd/3\"}",
                 jit ? "true" : "false");
        struct status st = other->class->ready(other);
        ck_assert_msg(strstr(st.text, want) != NULL, "%s", st.text);
        other->class->close(other);
    }
}
END_TEST

/* One that ended between two calls. */
START_TEST(a_worker_that_is_gone_is_missed_and_replaced)
{
    struct value x = ramp_value(&arena, DT_F32, true, SHAPE(5));
    struct api_case c = make_case(&arena, "Torch", "dies_later", list_value(&arena, 1, x));
    struct device_result r;
    ck_assert(!run(&r, &c, false).code);
    usleep(300000);
    c = make_case(&arena, "Torch", "echo", list_value(&arena, 1, x));
    ck_assert_str_eq(run(&r, &c, false).text, "device crashed: SIGALRM in Torch.echo.0");
    struct status st = run(&r, &c, false);
    ck_assert_msg(!st.code, "%s", st.text);
}
END_TEST

/* Lines longer than a socket or a pipe holds, without a time limit and with one of months. */
START_TEST(long_lines_go_both_ways)
{
    const double limits[] = { 0, 1e7, 60 };
    enum { N = 3 << 20 };
    char *text = malloc(N + 1);
    for (int i = 0; i < N; i++) text[i] = (char)('a' + i % 23);
    text[N] = '\0';
    struct api_case c =
        make_case(&arena, "Torch", "echo", list_value(&arena, 1, string_value(text)));
    for (int i = 0; i < 3; i++) {
        struct device *other = open_with("tests/plugin/worker-peer", "well",
                                         (struct device_options){ .case_timeout_s = limits[i] });
        struct device_result r;
        struct status st = other->class->run(other, &r, &arena, &c, false);
        ck_assert_msg(!st.code, "%s", st.text);
        ck_assert_str_eq(r.outputs.list.items[0].string, text);
        other->class->close(other);
    }
    free(text);
}
END_TEST

static void tick(int signal) { (void)signal; }

/* Signals of the program's own interrupt the waiting and change nothing. */
START_TEST(signals_change_nothing)
{
    const struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction action = { .sa_handler = tick }, before;
    struct value x = ramp_value(&arena, DT_F32, true, SHAPE(500, 1000));
    struct api_case c = make_case(&arena, "Torch", "echo", list_value(&arena, 1, x));
    struct device *patient = open_with("tests/plugin/worker-peer", "well",
                                       (struct device_options){ .case_timeout_s = 60 });
    struct device_result r;
    ck_assert_int_eq(sigaction(SIGALRM, &action, &before), 0);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &each_ms, NULL), 0);
    for (int i = 0; i < 10; i++) {
        struct status st = patient->class->run(patient, &r, &arena, &c, false);
        ck_assert_msg(!st.code, "%s", st.text);
        ck_assert_mem_eq(r.outputs.list.items[0].tensor.tensor->data, x.tensor.tensor->data,
                         2000000);
    }
    struct api_case hang = make_case(&arena, "Torch", "hang", list_value(&arena, 0));
    ck_assert_str_eq(run(&r, &hang, false).text, "device hung for 3 s in Torch.hang.0");
    ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
    ck_assert_int_eq(sigaction(SIGALRM, &before, NULL), 0);
    patient->class->close(patient);
}
END_TEST

/* The limit on memory is the worker's, not the program's. */
START_TEST(memory_is_limited)
{
    struct device *other =
        open_with("tests/plugin/worker-peer", "well",
                  (struct device_options){ .case_timeout_s = 60, .memory_limit_bytes = 64 << 20 });
    struct api_case c = make_case(&arena, "Torch", "hog", list_value(&arena, 0));
    struct device_result r;
    ck_assert_str_eq(other->class->run(other, &r, &arena, &c, false).text,
                     "device exited with status 6 in Torch.hog.0: no memory left");
    other->class->close(other);
}
END_TEST

/* A command has at most 255 words. */
START_TEST(commands_of_many_words)
{
    for (int n = 255; n <= 256; n++) {
        char words[1000] = "well";
        for (int i = 2; i < n; i++) strcat(words, " w");
        struct device *other = open_worker("tests/plugin/worker-peer", words);
        struct status st = other->class->ready(other);
        if (n == 255) ck_assert_msg(!st.code, "%s", st.text);
        else
            ck_assert_msg(strstr(st.text, "device exited with status 127 in its start") != NULL,
                          "%s", st.text);
        other->class->close(other);
    }
}
END_TEST

/* Starts that come to nothing are made at growing distances, and an end. */
START_TEST(starts_in_vain_come_to_an_end)
{
    struct device *other = open_worker("tests/plugin/worker-peer", "old");
    struct api_case c = make_case(&arena, "Torch", "echo", list_value(&arena, 0));
    struct device_result r;
    struct timespec from, to;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < 6; i++) {
        struct status st = other->class->run(other, &r, &arena, &c, false);
        ck_assert_int_eq(st.code, STATUS_DEVICE);
        ck_assert_str_eq(st.text,
                         "the worker speaks version 0 of the protocol, this program version 1");
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    ck_assert_int_ge(to.tv_sec - from.tv_sec, 5); /* 0.4 + 0.8 + 1.6 + 3.2 s */
    for (int i = 0; i < 2; i++) {
        struct status st = other->class->run(other, &r, &arena, &c, false);
        ck_assert_int_eq(st.code, STATUS_SKIP);
        ck_assert_msg(
            strstr(st.text, "cannot be kept running: 6 starts in a row came to nothing") != NULL,
            "%s", st.text);
    }
    other->class->close(other);
}
END_TEST

/* Without the process that forks workers there is no telling, and no other worker. */
START_TEST(without_a_zygote_nothing_starts)
{
    struct device *other = open_worker("tests/plugin/worker-peer", "well");
    struct api_case c = make_case(&arena, "Torch", "parricide", list_value(&arena, 0));
    struct device_result r;
    struct status st = other->class->run(other, &r, &arena, &c, false);
    ck_assert_int_eq(st.code, STATUS_IO);
    ck_assert_msg(!strncmp(st.text, "cannot tell how kernel process ", 31), "%s", st.text);
    st = other->class->run(other, &r, &arena, &c, false);
    ck_assert_int_eq(st.code, STATUS_IO);
    ck_assert_msg(!strncmp(st.text, "cannot start a kernel process: ", 31), "%s", st.text);
    other->class->close(other);
}
END_TEST

/* Memory beyond what is kept is given back, and no less than a page is. */
START_TEST(shared_memory_is_trimmed)
{
    struct worker_process process = { .words = NULL };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 64 * page;
    ck_assert(!worker_process_open(&process).code);
    worker_memory_trim(&process.memory, 0); /* nothing yet */
    ck_assert(!process.memory.reserve(&process.memory, bytes - 5).code);
    ck_assert_uint_eq(process.memory.bytes, bytes);
    ck_assert(!process.memory.reserve(&process.memory, 3).code); /* it does not shrink */
    ck_assert_uint_eq(process.memory.bytes, bytes);
    memset(process.memory.base, 1, bytes);
    worker_memory_trim(&process.memory, bytes);
    ck_assert_int_eq(process.memory.base[bytes - 1], 1);
    worker_memory_trim(&process.memory, 2 * page + 7);
    for (size_t i = 0; i < bytes && !emulated();
         i++) /* qemu-user takes advice without heeding it */
        ck_assert_int_eq(process.memory.base[i], i < 2 * page);
    /* What another has lengthened is seen, and seals keep it from being shortened. */
    process.memory.bytes = page;
    ck_assert(!process.memory.reserve(&process.memory, 2 * page).code);
    ck_assert_uint_eq(process.memory.bytes, bytes);
    ck_assert_int_ne(ftruncate(process.memory_descriptor, 0), 0);
    /* A limit on the sizes of files is one on this, too. */
    struct rlimit usual, small;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &usual), 0);
    small = usual;
    small.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct status st = process.memory.reserve(&process.memory, bytes + 1);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &usual), 0);
    (void)signal(SIGXFSZ, before);
    ck_assert_str_eq(st.text, "cannot enlarge shared memory: File too large");
    worker_process_close(&process);
    worker_process_close(&process);
}
END_TEST

/* Where addresses are few, less shared memory will do; where there are none, it says so. */
START_TEST(few_addresses_will_do)
{
    if (SANITIZED || emulated()) return; /* their shadow takes all addresses there are */
    struct worker_process process = { .words = NULL };
    struct rlimit usual, few;
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(statm, "%lu", &pages), 1);
    fclose(statm);
    uint64_t now = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &usual), 0);
    few = usual;
    few.rlim_cur = now + ((rlim_t)3 << 32);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    struct status st = worker_process_open(&process);
    ck_assert_msg(!st.code, "%s", st.text);
    ck_assert_uint_eq(process.memory.limit, (uint64_t)1 << 33);
    worker_process_close(&process);
    few.rlim_cur = now + ((rlim_t)1 << 29);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    ck_assert_str_eq(worker_process_open(&process).text,
                     "cannot map shared memory: Cannot allocate memory");
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &usual), 0);
}
END_TEST

static char caller_text[300000];

/* --- two devices, one process ---------------------------------------------------------------------- */

enum { CALLS = 210 };

struct caller {
    struct device *device;
    const char *bad; /* what one of `every` calls asks for; or NULL */
    unsigned every;
    unsigned wrong, failed, bad_failed;
};

/* Calls of growing size: small requests go ahead, large ones do not. */
static void *call_often(void *context)
{
    struct caller *caller = context;
    for (unsigned i = 0; i < CALLS; i++) {
        struct arena own = { 0 };
        struct device_result r = { 0 };
        bool is_bad = caller->bad && i % caller->every == 3;
        struct value x = ramp_value(&own, DT_F32, true, SHAPE(1 + i, 3));
        struct value text = string_value(i % 10 == 9 ? caller_text : "short");
        struct api_case c =
            make_case(&own, "Torch", is_bad ? caller->bad : "f", list_value(&own, 2, x, text));
        struct status st = caller->device->class->run(caller->device, &r, &own, &c, false);
        caller->bad_failed += is_bad && st.code == STATUS_DEVICE;
        caller->failed += !is_bad && st.code;
        if (!is_bad && !st.code) {
            const struct value *got = &r.outputs.list.items[0];
            caller->wrong +=
                got->kind != VALUE_TENSOR ||
                memcmp(got->tensor.tensor->data, x.tensor.tensor->data, (size_t)(1 + i) * 12) != 0;
        }
        arena_release(&own);
    }
    return NULL;
}

/* Two threads with a device each, on one process: each gets its own answers, and whoever asks for trouble has it alone,
 * whether requests wait in the pipe ("ahead") or not. */
static const struct {
    const char *greeting, *bad;
    unsigned every;
} shared_processes[] = {
    { "ahead", NULL, 7 },       { "well", NULL, 7 },       { "ahead", "exit", 7 },
    { "well", "exit", 7 },      { "ahead", "garbage", 7 }, { "ahead", "another", 7 },
    { "ahead", "poisoned", 7 }, { "ahead", "hang", 105 },
};

START_TEST(two_devices_share_a_process)
{
    const unsigned every = shared_processes[_i].every;
    struct caller callers[2] = { { .bad = shared_processes[_i].bad, .every = every },
                                 { .every = every } };
    pthread_t threads[2];
    struct device_options options = { .case_timeout_s = 3 };
    memset(caller_text, 'x', sizeof caller_text - 1);
    for (int i = 0; i < 2; i++) {
        options.beside = i ? callers[0].device : NULL;
        callers[i].device =
            open_with("tests/plugin/worker-peer", shared_processes[_i].greeting, options);
    }
    for (int i = 0; i < 2; i++) ck_assert(!callers[i].device->class->ready(callers[i].device).code);
    for (int i = 0; i < 2; i++)
        ck_assert(!pthread_create(&threads[i], NULL, call_often, &callers[i]));
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(callers[i].wrong, 0);
        ck_assert_uint_eq(callers[i].failed, 0);
        ck_assert_uint_eq(callers[i].bad_failed, callers[i].bad ? CALLS / every : 0);
    }
    for (int i = 0; i < 2; i++) callers[i].device->class->close(callers[i].device);
}
END_TEST

/* Of three devices the last has a process of its own; all of them serve. */
START_TEST(a_third_device_has_its_own_process)
{
    struct device_options options = { .case_timeout_s = 3 };
    struct device *devices[3];
    for (int i = 0; i < 3; i++) {
        options.beside = i ? devices[i - 1] : NULL;
        devices[i] = open_with("tests/plugin/worker-peer", "ahead", options);
    }
    for (int i = 0; i < 3; i++) {
        struct device_result r;
        struct value x = ramp_value(&arena, DT_F32, true, SHAPE(2, 3));
        struct api_case c = make_case(&arena, "Torch", "f", list_value(&arena, 1, x));
        ck_assert(!devices[i]->class->ready(devices[i]).code);
        ck_assert(!devices[i]->class->run(devices[i], &r, &arena, &c, false).code);
        devices[i]->class->close(devices[i]); /* the others go on */
    }
}
END_TEST

/* With no descriptor left, one, two ... until the worker greets: each refusal is told, and leaves none open. */
START_TEST(descriptors_may_run_out)
{
    static const char *const texts[] = {
        "cannot make the socket to kernel processes: Too many open files",
        "cannot make a pipe: Too many open files"
    };
    enum { N = sizeof texts / sizeof *texts };
    char ut[] = PROBE_UT, backend[1000];
    bool seen[N] = { false };
    struct rlimit usual, few;
    snprintf(backend, sizeof backend, "worker:'%s/tests/plugin/worker-peer' well", dirname(ut));
    struct device_options options = { .backend = backend, .case_timeout_s = 60 };
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    int lowest = dup(0);
    close(lowest);
    for (few.rlim_cur = (rlim_t)lowest;; few.rlim_cur++) {
        struct device *other = NULL;
        size_t i = 0;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        struct status st = device_find(backend)->open(&other, &options);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
        int next = dup(0);
        close(next);
        if (!st.code) {
            st = other->class->ready(other);
            ck_assert_msg(!st.code, "%s", st.text);
            other->class->close(other);
            break;
        }
        ck_assert_int_eq(st.code, STATUS_IO);
        ck_assert_int_eq(next, lowest);
        while (i < N && strcmp(texts[i], st.text) != 0) i++;
        ck_assert_msg(i < N, "%s", st.text);
        seen[i] = true;
    }
    for (size_t i = 0; i < N; i++) ck_assert_msg(seen[i], "never said: %s", texts[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("worker process");
    TCase *tests = tcase_create("worker");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, open_peer, close_peer);
    tcase_add_test(tests, the_greeting_says_who_and_where);
    tcase_add_test(tests, a_worker_that_is_gone_is_missed_and_replaced);
    tcase_add_test(tests, long_lines_go_both_ways);
    tcase_add_test(tests, signals_change_nothing);
    tcase_add_test(tests, memory_is_limited);
    tcase_add_test(tests, commands_of_many_words);
    tcase_add_test(tests, starts_in_vain_come_to_an_end);
    tcase_add_test(tests, without_a_zygote_nothing_starts);
    tcase_add_test(tests, shared_memory_is_trimmed);
    tcase_add_test(tests, few_addresses_will_do);
    tcase_add_test(tests, descriptors_may_run_out);
    tcase_add_loop_test(tests, two_devices_share_a_process, 0,
                        (int)(sizeof shared_processes / sizeof *shared_processes));
    tcase_add_test(tests, a_third_device_has_its_own_process);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
