/* What is reserved for a call is enough for it. One that runs short is checked again with the whole budget, from the start: the same
 * rows, and twice the time. */
#include <stdio.h>

#include "formats/dump.h"
#include "runner/one_call.h"
#include "runner/run_options.h"
#include "support/suite.h"

static const char *const networks[] = { "m1", "m2", "m2_bf16" };
enum { NETWORKS = sizeof networks / sizeof *networks };
static const char *const profiles[] = { "doc", "strict" };
enum { PROFILES = sizeof profiles / sizeof *profiles };

/* Check all calls of a dump; none asks for more than its reservation. */
static void check_all(const char *path, const char *profile)
{
    struct run_options options = RUN_OPTIONS_DEFAULTS;
    struct one_call call;
    struct dump *dump;
    char name[256];
    options.api_info = path;
    options.profile = profile;
    options.no_diagnose = true;
    options.file_policy = FILES_TRUSTED;
    ck_assert_int_eq(dump_open(&dump, path, FILES_TRUSTED).code, STATUS_OK);
    snprintf(name, sizeof name, "%s", dump_name(dump, 0));
    dump_close(dump);
    ck_assert_int_eq(one_call_open(&call, &options, name).code, STATUS_OK);
    struct checker *checker = one_call_checker(&call);
    for (size_t i = 0; i < call.inputs.order.count; i++) {
        size_t position = call.inputs.order.positions[i];
        static struct case_outcome outcome;
        ck_assert(case_check(&outcome, checker, position));
        ck_assert_msg(!checker->arena.limit_met, "%s of %s, %s",
                      dump_name(call.inputs.dump, position), path, profile);
    }
    one_call_close(&call);
}

START_TEST(no_call_runs_short)
{
    char path[512];
    int network = _i % NETWORKS, profile = _i / NETWORKS;
    snprintf(path, sizeof path, "%s/dumps/%s/L1_statistics/dump.json", PROBE_TEST_DATA,
             networks[network]);
    check_all(path, profiles[profile]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reservation");
    TCase *cases = tcase_create("calls");
    tcase_add_loop_test(cases, no_call_runs_short, 0, NETWORKS * PROFILES);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
