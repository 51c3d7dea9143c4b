/* The process that kernel processes are forked from, and what happens when one cannot start. */
#include "isolation_kernels.h"

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

/* --- the rarer ends -------------------------------------------------------------------------------------- */

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

/* --- shared memory ------------------------------------------------------------------------------------------ */

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
    Suite *suite = suite_create("isolation_zygote");
    TCase *tests = tcase_create("isolation_zygote");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, zygote_takes_its_children_along);
    tcase_add_test(tests, starts_may_fail);
    tcase_add_test(tests, files_may_be_limited);
    tcase_add_test(tests, descriptors_may_run_out);
    tcase_add_test(tests, a_zygote_that_cannot);
    tcase_add_test(tests, without_a_zygote_nothing_starts);
    tcase_add_test(tests, stacks_are_limited);
    tcase_add_test(tests, many_children);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
