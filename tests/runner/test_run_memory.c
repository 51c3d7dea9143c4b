/* Runs within a memory budget: what they use at most, and calls that need more. */
#include <sys/resource.h>

#include "support/dumps.h"
#include "support/runs.h"
#include "support/sanitized.h"
#include "support/suite.h"

/* Bytes that the SKIP message of a run with hardly any memory asks for. */
static size_t needed_bytes(const struct workspace *w)
{
    no_verdict(run_program(w, "-api_info", "dump.json", "-o", "tiny", "--memory", "1M", NULL));
    char *result = result_text(w, "tiny");
    const char *at = strstr(result, "This call needs ");
    ck_assert_msg(at != NULL, "%s", result);
    char *unit;
    double size = strtod(at + strlen("This call needs "), &unit);
    unsigned shift = !strncmp(unit, " KB", 3) ? 10 : !strncmp(unit, " MB", 3) ? 20 : 30;
    free(result);
    return (size_t)(size * (double)((size_t)1 << shift));
}

/* Calls that each need half of the memory, on 32 threads: the peak stays within it. All of them
 * at once would take three times as much. */
START_TEST(memory_budget_holds)
{
    if (emulated()) return; /* the emulator's memory would be measured */
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), SANITIZED ? 8 : 32, SANITIZED ? 100000 : 1000000);
    size_t need = needed_bytes(&w);
    ck_assert_uint_gt(need, SANITIZED ? 1000000 : 100000000);
    char memory[32];
    size_t granted = 2 * need + (64u << 20);
    snprintf(memory, sizeof memory, "%zu", granted);
    char *argv[] = {
        (char *)"probe-ut", (char *)"-api_info", (char *)"dump.json", (char *)"-o", (char *)"out",
        (char *)"-n",       (char *)"32",        (char *)"--memory",  memory,       NULL
    };
    pid_t pid = start_program(&w, argv);
    struct rusage usage;
    int status;
    ck_assert_int_eq(wait4(pid, &status, 0, &usage), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (!SANITIZED)
        ck_assert_msg((double)usage.ru_maxrss * 1024 <= 1.1 * (double)granted,
                      "peak %ld KB of %zu KB", usage.ru_maxrss, granted / 1024);
    char *result = result_text(&w, "out");
    ck_assert_msg(!strstr(result, "SKIP"), "%s", result);
    free(result);
    workspace_remove(&w);
}
END_TEST

/* Distances between all pairs of points need more than is reserved for them. With a budget between the two the call is
 * tried twice and given up; the rest of the run, and what is said about its inputs, stay whole. */
START_TEST(call_that_needs_more_than_the_budget)
{
    struct workspace w = workspace_make();
    struct dump_text d;
    char body[2000];
    static const char *const tensor =
        "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\","
        "\"shape\":%s,\"Max\":Infinity,\"Min\":-1,\"Mean\":0,\"Norm\":1,"
        "\"requires_grad\":true}";
    char texts[3][300];
    static const char *const shapes[] = { "[120,80]", "[120,80]", "[120,120]" };
    for (int i = 0; i < 3; i++) snprintf(texts[i], sizeof texts[i], tensor, shapes[i]);
    dump_begin(&d);
    snprintf(body, sizeof body, "\"input_args\":[%s,%s],\"input_kwargs\":{},\"output\":[%s]",
             texts[0], texts[1], texts[2]);
    dump_entry(&d, "Torch.cdist.0.forward", body);
    snprintf(body, sizeof body, "\"input\":[%s],\"output\":[%s,%s]", texts[2], texts[0], texts[1]);
    dump_entry(&d, "Torch.cdist.0.backward", body);
    dump_binary(&d, "add", 0, 5);
    dump_write(&d, in(&w, "dump.json"));

    size_t need = needed_bytes(&w), given_up = 0;
    for (size_t percent = 100; percent <= 260; percent += 10) {
        char memory[32], directory[32];
        snprintf(memory, sizeof memory, "%zu", need / 100 * percent);
        snprintf(directory, sizeof directory, "at%zu", percent);
        succeeded(run_program(&w, "-api_info", "dump.json", "-o", directory, "-n", "1", "--memory",
                              memory, NULL));
        char *result = result_text(&w, directory);
        ck_assert_msg(strstr(result, "Torch.add.0,pass,pass") != NULL, "%s", result);
        given_up += strstr(result, "which had the whole budget") != NULL;
        free(result);
    }
    ck_assert_uint_gt(given_up, 0);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run memory");
    TCase *tests = tcase_create("run");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, memory_budget_holds);
    tcase_add_test(tests, call_that_needs_more_than_the_budget);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
