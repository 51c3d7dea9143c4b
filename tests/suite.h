/* The end of a test program's main. */
#ifndef PROBE_TESTS_SUITE_H
#define PROBE_TESTS_SUITE_H

#include <check.h>

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
