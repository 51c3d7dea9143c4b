/* The command on kernels that are wrong in known places (faulty_kernels.c): the smallest call that can
 * show each fault follows from the kernel's definition. */
#include <check.h>
#include <libgen.h>
#include <math.h>
#include <time.h>

#include "formats/dump.h"
#include "support/faulty_calls.h"
#include "support/suite.h"

static struct workspace w;
static char backend[600];

static void start(void)
{
    char ut[] = PROBE_UT;
    w = workspace_make();
    write_faulty_calls(in(&w, "dump.json"));
    snprintf(backend, sizeof backend, "plugin:%s/tests/shrink/faulty.json", dirname(ut));
}

static void finish(void) { workspace_remove(&w); }

static struct outcome shrink(const char *name, const char *option, const char *value)
{
    return run_program(&w, "shrink", "-api_info", in(&w, "dump.json"), "--name", name, "--backend",
                       backend, "-o", in(&w, "small"), "--no-progress", option, value, NULL);
}

/* What is asked of each: lines that are printed, and those that follow from the kernel. */
static const struct {
    const char *name, *option, *value;
    const char *lines[8];
} faults[] = {
    /* The 129th term must be there; M and N need not. */
    { "Torch.mm.0",
      NULL,
      NULL,
      { "argument 0: (1, 129) float32, all 1\n", "argument 1: (129, 1) float32, all 1\n",
        "K (dimension 1 of input, dimension 0 of mat2): 200 -> 129\n",
        "fails from K = 129 on (64, 128 pass; 130, ",
        "first wrong element [0,0]: want 129, got 128 " } },
    /* Column 128 must be there, and its value not be zero. */
    { "Torch.matmul.0",
      NULL,
      NULL,
      { "argument 0: (1, 1) float32, 1\n", "argument 1: (1, 129) float32, all 1\n",
        "fails from N = 129 on (64, 128 pass; 130, ",
        "first wrong element [0,128]: want 1, got 0 " } },
    /* The gradient of the second operand, which its own value does not enter. */
    { "Tensor.matmul.0",
      NULL,
      NULL,
      { "Tensor.matmul.0.backward.output.1: error", "argument 0: (5, 1) float32, all 1\n",
        "argument 1: (1, 1) float32, 0\n", "cotangent 0: (5, 1) float32, all 1\n",
        "fails from M = 5 on (2, 4 pass; 6, ", "first wrong element [0,0]: want 5, got 4 " } },
    /* beta must not be 1 nor alpha: both are 0 at their plainest. What is added must not be zero. */
    { "Torch.addmm.0",
      NULL,
      NULL,
      { "argument 0: (1,) float32, 1\n", "argument 1: (1, 1) float32, 0\n", "beta: 0\n",
        "alpha: 0\n", "first wrong element [0,0]: want 0, got 1 " } },
    /* One product that is not zero. `groups` can go only when there is one channel left. */
    { "Functional.conv2d.0",
      NULL,
      NULL,
      { "argument 0: (1, 1, 1, 1) float32, 1\n  argument 1: (1, 1, 1, 1) float32, 1\n  dimension 1 "
        "of input, dimension 0 of weight, groups: 4 -> 1",
        NULL } },
    /* One element does not fill a tile; the exponential of zero is not zero. */
    { "Torch.exp.0",
      NULL,
      NULL,
      { "argument 0: (1, 1) float32, 0\n",
        "fails unless dimension 1 of input is a multiple of 32 (",
        "first wrong element [0,0]: want 1, got 0 " } },
    { "Torch.abs.0",
      NULL,
      NULL,
      { "argument 0: (1, 1) float32, -1\n", "first wrong element [0,0]: want 1, got -1 " } },
    { "Torch.neg.0",
      NULL,
      NULL,
      { "argument 0: (1, 1) bfloat16, 1\n", "first wrong element [0,0]: want -1, got 1 " } },
    /* Zero in place of the logarithm: not at 1. 2 is the next power of two. */
    { "Torch.log.0",
      "--repeat",
      "8",
      { "argument 0: (1,) float32, 2\n", "fails in 2 of 8 runs of the smallest call\n" } },
    { "Torch.sin.0",
      NULL,
      NULL,
      { "device crashed: SIGABRT in sin_crash", "argument 0: (7,) float32, all 0\n",
        "fails from dimension 0 of input = 7 on (3, 6 pass; 8, " } },
    { "Torch.cos.0",
      "--case-timeout",
      "0.3",
      { "device hung for 0.3 s in cos_hang", "argument 0: (5,) float32, all 0\n",
        "fails from dimension 0 of input = 5 on (4 passes; 6, 60 fail)\n" } },
};
enum { N_FAULTS = sizeof faults / sizeof *faults };

START_TEST(the_smallest_call_shows_the_fault)
{
    struct outcome o = shrink(faults[_i].name, faults[_i].option, faults[_i].value);
    ck_assert_msg(o.status == 0, "exit status %d: %s", o.status, o.err);
    for (size_t k = 0; faults[_i].lines[k]; k++)
        ck_assert_msg(strstr(o.out, faults[_i].lines[k]), "no '%s' in\n%s", faults[_i].lines[k],
                      o.out);
    outcome_free(&o);
}
END_TEST

/* Every command reads what was written: the plugin fails on it again, and what it returned then is an error of
 * the recorded device without any kernel. A flaky kernel has its own mind. */
START_TEST(the_dump_repeats_the_failure)
{
    static const char *const backends[] = { backend, "recorded" };
    bool crashes = !strcmp(faults[_i].name, "Torch.sin.0") ||
                   !strcmp(faults[_i].name, "Torch.cos.0");
    if (!strcmp(faults[_i].name, "Torch.log.0")) return;
    struct outcome o = shrink(faults[_i].name, faults[_i].option, faults[_i].value);
    ck_assert_int_eq(o.status, 0);
    outcome_free(&o);
    for (size_t i = 0; i < (crashes ? 1 : 2); i++) {
        o = run_program(&w, "case", "-api_info", in(&w, "small"), "--name", faults[_i].name,
                        "--backend", backends[i], "--fail-on", "error", "--case-timeout", "1",
                        NULL);
        ck_assert_msg(o.status == 1, "%s: exit status %d: %s%s", backends[i], o.status, o.out,
                      o.err);
        outcome_free(&o);
    }
    o = run_program(&w, "compare", "-tp", in(&w, "small/dump.json"), "-gp",
                    in(&w, "small/dump.json"), "-o", in(&w, "compared"), NULL);
    ck_assert_msg(o.status == 0, "compare: exit status %d: %s", o.status, o.err);
    outcome_free(&o);
}
END_TEST

/* The same bytes each time. */
START_TEST(the_search_is_deterministic)
{
    struct outcome first = shrink("Torch.mm.0", NULL, NULL);
    char *dump = read_file(in(&w, "small/dump.json"), NULL);
    ck_assert_ptr_nonnull(dump);
    ck_assert_int_eq(rename(in(&w, "small"), in(&w, "before")), 0);
    struct outcome second = shrink("Torch.mm.0", NULL, NULL);
    ck_assert_str_eq(first.out, second.out);
    assert_same_files(in(&w, "before/dump.json"), in(&w, "small/dump.json"));
    free(dump);
    outcome_free(&first);
    outcome_free(&second);
}
END_TEST

START_TEST(what_passes_is_not_shrunk)
{
    struct outcome o = shrink("Torch.neg.1", NULL, NULL);
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.out, "Torch.neg.1 passes: there is nothing to shrink\n"));
    ck_assert_uint_eq(count_matches(&w, "small*"), 0);
    outcome_free(&o);
}
END_TEST

START_TEST(a_dump_is_not_overwritten)
{
    ck_assert_int_eq(mkdir(in(&w, "small"), 0750), 0);
    write_text(in(&w, "small/dump.json"), "mine");
    struct outcome o = shrink("Torch.mm.0", NULL, NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "small/dump.json is there already"));
    char *text = read_file(in(&w, "small/dump.json"), NULL);
    ck_assert_str_eq(text, "mine");
    free(text);
    outcome_free(&o);
}
END_TEST

START_TEST(calls_are_bounded)
{
    struct outcome o = shrink("Torch.mm.0", "--max-calls", "20");
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "the search ended at --max-calls, after 20 calls"));
    ck_assert_ptr_nonnull(strstr(o.out, "\n21 calls; ")); /* one more keeps what it returned */
    outcome_free(&o);
}
END_TEST

/* A kernel that hangs for a second on each of more than ten candidates is interrupted in the second
 * one: the call so far is written. */
START_TEST(an_interruption_keeps_the_best)
{
    char *argv[] = { (char *)"probe-ut",
                     (char *)"shrink",
                     (char *)"-api_info",
                     (char *)"dump.json",
                     (char *)"--name",
                     (char *)"Torch.cos.0",
                     (char *)"--backend",
                     backend,
                     (char *)"-o",
                     (char *)"small",
                     (char *)"--case-timeout",
                     (char *)"1",
                     NULL };
    pid_t pid = start_program(&w, argv);
    nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
    ck_assert_int_eq(kill(pid, SIGINT), 0);
    struct outcome o = wait_program(&w, pid);
    ck_assert_msg(o.status == 130, "exit status %d: %s", o.status, o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "interrupted, after "));
    ck_assert_uint_eq(count_matches(&w, "small/dump.json"), 1);
    outcome_free(&o);
}
END_TEST

/* What was recorded cannot be asked for a smaller call. */
START_TEST(a_device_that_does_not_answer)
{
    struct outcome o = shrink("Torch.mm.0", "--backend", "recorded");
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "name the device that failed") != NULL, "%s", o.err);
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shrink");
    TCase *tests = tcase_create("faulty kernels");
    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_loop_test(tests, the_smallest_call_shows_the_fault, 0, N_FAULTS);
    tcase_add_loop_test(tests, the_dump_repeats_the_failure, 0, N_FAULTS);
    tcase_add_test(tests, the_search_is_deterministic);
    tcase_add_test(tests, what_passes_is_not_shrunk);
    tcase_add_test(tests, a_dump_is_not_overwritten);
    tcase_add_test(tests, a_device_that_does_not_answer);
    tcase_add_test(tests, calls_are_bounded);
    tcase_add_test(tests, an_interruption_keeps_the_best);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
