/* What every test program needs. */
#ifndef PROBE_TESTS_SUITE_H
#define PROBE_TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

/* Does the program run under qemu-user (tests/long/arm64)? There, limits on addresses, private memory
 * and stacks (RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK) are set and do not hold. */
static inline bool emulated(void) { return getenv("PROBE_TEST_EMULATED") != NULL; }

/* Run the suite and print what failed; the exit status. The suite is gone afterwards. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

#endif
