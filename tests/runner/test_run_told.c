/* What a run tells its user: warnings that count as failures, calls that are never checked, files in odd places, and what a terminal shows. */
#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include <cjson/cJSON.h>

#include "support/dumps.h"
#include "support/runs.h"
#include "support/suite.h"

/* A limit for an API that does not exist is a mistake in writing, at its place. */
START_TEST(thresholds_name_apis)
{
    static const struct {
        const char *api, *says;
    } rows[] = { { "\"addd\"",
                   "limits.json:1: overrides[0].api: there is no API 'addd', the nearest "
                   "is 'add'" },
                 { "[\"add\", \"Torch.add\"]", "overrides[0].api[1]: there is no API 'Torch.add'" },
                 { "[\"add\", \"linalg.inv\", \"__iadd__\"]", NULL } };
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 4, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"overrides\":[{\"api\":%s,\"limits\":{\"thousandth\":0}}]}",
                 rows[i].api);
        write_text(in(&w, "limits.json"), text);
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "--thresholds",
                                       "limits.json", NULL);
        ck_assert_msg(o.status == (rows[i].says ? 3 : 0), "%d %s", o.status, o.err);
        if (rows[i].says) ck_assert_msg(strstr(o.err, rows[i].says) != NULL, "%s", o.err);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

/* A directory with a slash at its end, and files named without a directory. */
START_TEST(names_with_and_without_a_directory)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 4, 5);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out/", NULL);
    ck_assert_msg(!strncmp(o.out, "results: out/accuracy_checking_result_", 38), "%s", o.out);
    outcome_free(&o);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", ".", NULL));
    const char *path = only_match(&w, RESULT);
    o = run_program(&w, "-api_info", "dump.json", "-csv_path", strrchr(path, '/') + 1, NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 3 of 4 calls are done"));
    outcome_free(&o);
    assert_same_files(path, only_match(&w, "out/" RESULT));
    assert_same_files(only_match(&w, DETAILS), only_match(&w, "out/" DETAILS));
    workspace_remove(&w);
}
END_TEST

/* A warning: no value may be off at all. Its tensors are saved, where the configuration says, it is a failure when
 * asked for, and the command in the evidence that repeats it says how the run was. */
START_TEST(warnings)
{
    struct workspace w = workspace_make();
    struct dump_text d;
    char body[1000];
    static const char *const half =
        "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float16\",\"shape\":[400],\"Max\":2,"
        "\"Min\":-2,\"Mean\":0,\"Norm\":1,\"requires_grad\":true}";
    dump_begin(&d);
    snprintf(body, sizeof body, "\"input_args\":[%s],\"input_kwargs\":{},\"output\":[]", half);
    dump_entry(&d, "Torch.exp.0.forward", body);
    snprintf(body, sizeof body, "\"input\":[%s],\"output\":[]", half);
    dump_entry(&d, "Torch.exp.0.backward", body);
    dump_write(&d, in(&w, "dump.json"));
    write_text(in(&w, "limits.json"),
               "{\"overrides\":[{\"limits\":{\"thousandth\":0,\"max_abs_error\":0}}]}");
    write_text(in(&w, "config.json"), "{\"run_ut\":{\"error_data_path\":\"saved\"}}");
    ck_assert_int_eq(mkdir(in(&w, "saved"), 0750), 0);
    static const int statuses[] = { 0, 1 };
    for (int k = 0; k < 2; k++) {
        char directory[16], pattern[64];
        snprintf(directory, sizeof directory, "out%d", k);
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", directory, "--profile",
                                       "v2", "--thresholds", "limits.json", "-config",
                                       "config.json", "--seed", "77", "-save_error_data",
                                       "--fail-on", k ? "warning" : "error", NULL);
        ck_assert_msg(o.status == statuses[k], "status %d: %s", o.status, o.err);
        ck_assert_ptr_nonnull(strstr(o.out,
                                     "forward           0        1        0        0        0\n"
                                     "backward          0        1        0        0        0\n"));
        ck_assert_ptr_nonnull(strstr(o.out, "\n  saved/ut_error_data"));
        outcome_free(&o);
        snprintf(pattern, sizeof pattern, "%s/" EVIDENCE, directory);
        char *evidence = read_file(only_match(&w, pattern), NULL);
        ck_assert_ptr_nonnull(strstr(
            evidence, "\"repeat\":\"probe-ut case -api_info dump.json --profile v2 --thresholds "
                      "limits.json --config_path config.json --seed 77 --name Torch.exp.0\""));
        ck_assert_ptr_nonnull(strstr(evidence, "\"error over what rounding explains\":"));
        free(evidence);
    }
    ck_assert_uint_eq(
        count_matches(&w, "saved/ut_error_data*/Torch.exp.0.backward.output.device.0.pt"),
        count_matches(&w, "saved/*"));
    workspace_remove(&w);
}
END_TEST

/* Calls of groups that cannot run alone, by their type. */
START_TEST(groups_that_are_never_checked)
{
    static const struct {
        const char *call, *message;
        /* clang-format off */
    } rows[] = {
        { "Distributed.all_reduce.0", "API Distributed.all_reduce.0 not support for run ut. SKIP. It needs the ranks of its process group; check its inputs and outputs by comparing the dumps of the "
          "ranks." },
        { "MindSpeed.swiglu.0", "API MindSpeed.swiglu.0 not support for run ut. SKIP. MindSpeed operators are checked with --profile strict." },
        { "VF.lstm.0", "Bench output is None, skip this test. (VF.lstm.0 is a call of torch._VF, which is not executed; record the model with its cell operators, or compare dumps.)" },
        { "Mint.add.0", "API Mint.add.0 not support for run ut. SKIP. It belongs to MindSpore." },
        { "a.b", "API a.b not support for run ut. SKIP." },
        { "Torch.a.b.c.0", "API Torch.a.b.c.0 not support for run ut. SKIP." },
        { "Tensor.new_empty.0", "API Tensor.new_empty.0 not support for run ut. SKIP. It returns uninitialised memory, there is nothing to compare." },
    };
    /* clang-format on */
    struct workspace w = workspace_make();
    struct dump_text d;
    dump_begin(&d);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[100];
        snprintf(name, sizeof name, "%s.forward", rows[i].call);
        dump_entry(&d, name, "\"input_args\":[],\"input_kwargs\":{},\"output\":[]");
    }
    dump_write(&d, in(&w, "dump.json"));
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_msg(o.status == 5, "status %d: %s", o.status, o.err); /* no verdict */
    outcome_free(&o);
    char *result = read_file(only_match(&w, "out/" RESULT), NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[300], quoted[300];
        snprintf(line, sizeof line, "%s,SKIP,SKIP,%s\r\n", rows[i].call, rows[i].message);
        snprintf(quoted, sizeof quoted, "%s,SKIP,SKIP,\"%s\"\r\n", rows[i].call, rows[i].message);
        ck_assert_msg(strstr(result, line) || strstr(result, quoted), "%s", result);
    }
    free(result);
    /* Strict runs torch._VF and MindSpeed: the faults of these calls are others. */
    o = run_program(&w, "-api_info", "dump.json", "-o", "strict", "--profile", "strict", NULL);
    outcome_free(&o);
    result = read_file(only_match(&w, "strict/" RESULT), NULL);
    ck_assert_msg(strstr(result, "VF.lstm.0,SKIP,SKIP,argument 'input' is missing"), "%s", result);
    ck_assert_msg(
        strstr(result,
               "MindSpeed.swiglu.0,SKIP,SKIP,there is no bench function for MindSpeed.swiglu"),
        "%s", result);
    free(result);
    workspace_remove(&w);
}
END_TEST

/* An interruption does not wait for a device that hangs: the program ends with 130 and a hint. A signal that it was
 * started to ignore is none. */
START_TEST(interrupted_while_a_device_hangs)
{
    struct workspace w = workspace_make();
    struct timespec begin, end;
    write_many_calls(in(&w, "dump.json"), 3, 5);
    char *argv[] = { (char *)"probe-ut",
                     (char *)"-api_info",
                     (char *)"dump.json",
                     (char *)"-o",
                     (char *)"out",
                     (char *)"--backend",
                     (char *)"worker:sh -c 'read hello; echo {\\\"protocol\\\":1}; read call; "
                             "touch called; sleep 20'",
                     NULL };
    ck_assert(signal(SIGHUP, SIG_IGN) != SIG_ERR); /* as nohup does; children inherit it */
    pid_t pid = start_program(&w, argv);
    ck_assert(signal(SIGHUP, SIG_DFL) != SIG_ERR);
    while (access(in(&w, "called"), F_OK)) ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    ck_assert_int_eq(kill(pid, SIGHUP), 0);
    const struct timespec longer_than_grace = { .tv_sec = 1, .tv_nsec = 500 * 1000 * 1000 };
    nanosleep(&longer_than_grace, NULL);
    ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &begin), 0);
    ck_assert_int_eq(kill(pid, SIGINT), 0);
    struct outcome o = wait_program(&w, pid);
    ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &end), 0);
    ck_assert_msg(o.status == 130, "status %d: %s", o.status, o.err);
    ck_assert_int_lt((int)(end.tv_sec - begin.tv_sec), 15);
    ck_assert_ptr_nonnull(
        strstr(o.err, "interrupted, with 0 of 3 calls done; to resume, give the same options and "
                      "-csv_path out/accuracy_checking_result_"));
    outcome_free(&o);
    ck_assert_uint_eq(count_matches(&w, "out/*"), 4);
    workspace_remove(&w);
}
END_TEST

/* ---- terminals ------------------------------------------------------------------------------ */

/* Run the program on a pseudo-terminal; all that it shows there. */
static char *shown_on_a_terminal(const struct workspace *w, const char *option, const char *value,
                                 bool no_color)
{
    static char text[100000];
    size_t length = 0;
    int status, terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(terminal, 0);
    ck_assert_int_eq(grantpt(terminal), 0);
    ck_assert_int_eq(unlockpt(terminal), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        int own = open(ptsname(terminal), O_RDWR);
        if (own < 0 || dup2(own, 1) < 0 || dup2(own, 2) < 0 || chdir(w->path)) _exit(98);
        if (no_color ? setenv("NO_COLOR", "1", 1) : unsetenv("NO_COLOR")) _exit(97);
        execl(PROBE_UT, "probe-ut", "-api_info", "dump.json", "-o", "out", option, value,
              (char *)NULL);
        _exit(96);
    }
    for (;;) { /* until EIO: the other end is closed */
        ssize_t got = read(terminal, text + length, sizeof text - 1 - length);
        if (got < 0 && errno == EINTR) continue;
        /* Nobody has opened the other end yet, or nobody has it open any more. */
        if (got <= 0 && waitpid(pid, &status, WNOHANG) == 0) continue;
        if (got <= 0) break;
        length += (size_t)got;
    }
    close(terminal);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    text[length] = '\0';
    return text;
}

/* Colours and a progress line that is redrawn and taken away, unless they are not wanted. */
START_TEST(terminals)
{
    static const struct {
        const char *option, *value;
        bool no_color, colors, progress;
        /* clang-format off */
    } rows[] = {
        { NULL, NULL, false, true, true },          { NULL, NULL, true, false, true },
        { "--color", "never", false, false, true }, { "--color", "always", true, true, true },
        { "--no-progress", NULL, false, true, false },
    };
    /* clang-format on */
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0) {
        printf("no pseudo-terminals here: not tested\n");
        return;
    }
    close(terminal);
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 12, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = shown_on_a_terminal(&w, rows[i].option, rows[i].value, rows[i].no_color);
        ck_assert_msg((strstr(text, "\033[32m      12\033[0m") != NULL) == rows[i].colors,
                      "row %zu: %s", i, text);
        ck_assert_msg((strstr(text, "/12  failing 0") != NULL) == rows[i].progress, "row %zu: %s",
                      i, text);
        ck_assert_int_eq(strstr(text, "\r\033[K") != NULL, rows[i].progress);
        ck_assert_ptr_null(strstr(text, " % (")); /* the lines of a log */
        if (!rows[i].colors) ck_assert_ptr_null(strstr(text, "\033[3"));
    }
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-o", "out", "--color", "always", NULL);
    ck_assert_ptr_nonnull(strstr(o.out, "\033[32m      12\033[0m"));
    ck_assert_ptr_null(strstr(o.err, "\r\033[K")); /* the line of a terminal */
    outcome_free(&o);
    o = run_program(&w, "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_ptr_null(strstr(o.out, "\033"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run told");
    TCase *tests = tcase_create("resume");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, thresholds_name_apis);
    tcase_add_test(tests, names_with_and_without_a_directory);
    tcase_add_test(tests, warnings);
    tcase_add_test(tests, groups_that_are_never_checked);
    tcase_add_test(tests, interrupted_while_a_device_hangs);
    tcase_add_test(tests, terminals);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
