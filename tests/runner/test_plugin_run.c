/* A whole run with kernels that crash, hang, overrun, exit, hog memory and modify inputs: each is an
 * error row with its diagnosis, and every byte of every other row is as if they had been sound. */
#include <check.h>
#include <libgen.h>

#include "runner/diagnosis.h"
#include "runner/dumps.h"
#include "suite.h"

static const struct {
    const char *api, *text; /* of the message, after "device " */
} misdeeds[] = {
    { "sin", "device crashed: SIGSEGV in crash at address 0x8" },
    { "cos", "device hung for " },
    { "tan", "device wrote past output 0 in overrun (at byte 400 of 400)" },
    { "sinh", "device exited with status 9 in quit" },
    { "cosh", "device ran out of memory (limit 0.07 GB) in hog: SIGSEGV" },
    { "asinh", "device crashed: SIGABRT in complain: kernel: tile size 0 is not possible" },
    { "tanh", "device modified input 0 in scribble" },
};
enum { N_MISDEEDS = sizeof misdeeds / sizeof *misdeeds };

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

/* The allocators of the sanitizers do not survive being refused memory. */
static bool is_left_out(size_t misdeed)
{
    return SANITIZED && !strcmp(misdeeds[misdeed].api, "cosh");
}

static void write_calls(const char *path)
{
    struct dump_text d;
    dump_begin(&d);
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < N_MISDEEDS; i++) {
            if (is_left_out(i)) continue;
            const char *apis[] = { "exp", misdeeds[i].api, "log" };
            for (size_t k = 0; k < 3; k++) {
                char name[64], body[700];
                snprintf(name, sizeof name, "Torch.%s.%zu.forward", apis[k], 10 * round + i);
                snprintf(body, sizeof body,
                         "\"input_args\":[%s],\"input_kwargs\":{},\"output\":[%s]",
                         tensor_text(100, 0.5, 1), tensor_text(100, -1, 3));
                dump_entry(&d, name, body);
            }
        }
    dump_write(&d, path);
}

static void run(const struct workspace *w, const char *manifest, const char *threads,
                const char *out, const char *isolate)
{
    char ut[] = PROBE_UT, backend[700];
    snprintf(backend, sizeof backend, "plugin:%s/tests/plugin/%s", dirname(ut), manifest);
    struct outcome o = run_program(w, "-api_info", in(w, "dump.json"), "--backend", backend, "-n",
                                   threads, "-o", in(w, out), "--case_timeout", emulated() ? "30" : "2", "--isolate",
                                   isolate, "--no_progress", NULL);
    ck_assert_msg(o.status == 0, "exit status %d: %s", o.status, o.err);
    outcome_free(&o);
}

/* A details file cut into rows; a cell may hold newlines, a row ends with CR LF. */
static size_t split_rows(char **rows, size_t room, char *text)
{
    size_t count = 0;
    for (char *at = text, *end; (end = strstr(at, "\r\n")) && count < room; at = end + 2) {
        *end = '\0';
        rows[count++] = at;
    }
    return count;
}

static bool is_misdeed(const char *row, size_t *which)
{
    char start[64];
    for (*which = 0; *which < N_MISDEEDS; ++*which) {
        snprintf(start, sizeof start, "Torch.%s.", misdeeds[*which].api);
        if (!strncmp(row, start, strlen(start))) return true;
    }
    return false;
}

static void compare_rows(const struct workspace *w, const char *kind, bool diagnoses)
{
    char pattern[2][100], *rows[2][200];
    snprintf(pattern[0], sizeof pattern[0], "bad/accuracy_checking_%s_*.csv", kind);
    snprintf(pattern[1], sizeof pattern[1], "good/accuracy_checking_%s_*.csv", kind);
    char *bad = read_file(only_match(w, pattern[0]), NULL);
    char *good = read_file(only_match(w, pattern[1]), NULL);
    size_t count = split_rows(rows[0], 200, bad), which, seen = 0;
    ck_assert_uint_eq(count, split_rows(rows[1], 200, good));
    ck_assert_uint_eq(count, 1 + 2 * 3 * (N_MISDEEDS - (size_t)SANITIZED));
    for (size_t i = 0; i < count; i++) {
        if (!is_misdeed(rows[0][i], &which)) {
            ck_assert_str_eq(rows[0][i], rows[1][i]);
            continue;
        }
        seen++;
        ck_assert_msg(strstr(rows[0][i], ",error,") != NULL, "%s", rows[0][i]);
        const char *said = strstr(rows[0][i], "device ");
        ck_assert_msg(!diagnoses || (said && is_diagnosed(said, misdeeds[which].text)), "%s",
                      rows[0][i]);
        ck_assert_msg(strstr(rows[1][i], ",pass,") != NULL, "%s", rows[1][i]);
    }
    ck_assert_uint_eq(seen, 2 * (N_MISDEEDS - (size_t)SANITIZED));
    free(bad);
    free(good);
}

START_TEST(misbehaviour_costs_its_own_row)
{
    struct workspace w = workspace_make();
    write_calls(in(&w, "dump.json"));
    run(&w, "plugin_misdeeds.json", _i ? "4" : "1", "bad", "process");
    run(&w, "plugin_sound.json", "1", "good", "process");
    compare_rows(&w, "details", true);
    compare_rows(&w, "result", false);
    workspace_remove(&w);
}
END_TEST

/* Sound kernels give the same bytes without processes of their own. */
START_TEST(isolation_does_not_show)
{
    struct workspace w = workspace_make();
    write_calls(in(&w, "dump.json"));
    run(&w, "plugin_sound.json", "2", "one", "process");
    run(&w, "plugin_sound.json", "2", "two", "none");
    assert_same_files(only_match(&w, "one/accuracy_checking_details_*.csv"),
                      only_match(&w, "two/accuracy_checking_details_*.csv"));
    workspace_remove(&w);
}
END_TEST

/* What is wrong with a manifest ends the program with status 3 and one line. */
START_TEST(a_bad_manifest_ends_the_run)
{
    struct workspace w = workspace_make();
    char backend[700];
    write_calls(in(&w, "dump.json"));
    write_text(in(&w, "bad.json"), "{\n \"plugin\": 1,\n \"libraries\": { \"m\": 4 } }\n");
    snprintf(backend, sizeof backend, "plugin:%s", in(&w, "bad.json"));
    struct outcome o = run_program(&w, "-api_info", in(&w, "dump.json"), "--backend", backend,
                                   "-o", in(&w, "out"), NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_uint_eq(count_lines(o.err), 1);
    ck_assert_ptr_nonnull(strstr(o.err, "bad.json:"));
    ck_assert_uint_eq(count_matches(&w, "out/*"), 0);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* plugin check: a table, and exit status 1 because kernels fail. */
START_TEST(plugin_check_reports)
{
    struct workspace w = workspace_make();
    char ut[] = PROBE_UT, path[700];
    const char *directory = dirname(ut);
    snprintf(path, sizeof path, "%s/tests/plugin/plugin_misdeeds.json", directory);
    struct outcome o =
        run_program(&w, "plugin", "check", path, "--case_timeout", "2", NULL);
    ck_assert_msg(o.status == 1, "%d: %s", o.status, o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "FAILS: device crashed: SIGSEGV in crash"));
    ck_assert_ptr_nonnull(strstr(o.out, "Torch.exp                    expf                     runs"));
    ck_assert_ptr_nonnull(strstr(o.out, "0 missing; 2 kernels run, 7 fail, 7 were not run"));
    outcome_free(&o);
    snprintf(path, sizeof path, "%s/tests/plugin/plugin_sound.json", directory);
    o = run_program(&w, "plugin", "check", path, "--case_timeout", "2", NULL);
    ck_assert_msg(strstr(o.out, "9 kernels run, 7 fail") != NULL, "%s", o.out);
    outcome_free(&o);
    write_text(in(&w, "missing.json"),
               "{ \"plugin\": 1, \"libraries\": { \"m\": \"libm.so.6\" }, \"kernels\": [\n"
               "{ \"apis\": [\"Torch.exp\"], \"parameters\": [\"x\"],\n"
               "  \"outputs\": [ { \"name\": \"y\", \"shape\": \"shape(x)\" } ],\n"
               "  \"steps\": [\n"
               "    { \"call\": \"no_such_function\" } ] } ] }\n");
    o = run_program(&w, "plugin", "check", in(&w, "missing.json"), NULL);
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.out, "missing.json:5: kernels[0].steps[0]: library m: no function "
                                        "no_such_function"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin_run");
    TCase *tests = tcase_create("plugin_run");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, misbehaviour_costs_its_own_row, 0, 2);
    tcase_add_test(tests, isolation_does_not_show);
    tcase_add_test(tests, a_bad_manifest_ends_the_run);
    tcase_add_test(tests, plugin_check_reports);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
