/* What the process asks of the machine. Each test is a process of its own. */
#include "runner/environment.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "support/suite.h"

static unsigned count_threads(void)
{
    unsigned threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (readdir(tasks)) threads++;
    closedir(tasks);
    return threads;
}

/* OpenBLAS comes when it is asked for, and brings no threads of its own; the thread that loads it has as many cores
 * afterwards as before, and the environment is the same. */
START_TEST(products_bring_no_threads)
{
    unsigned threads = count_threads();
    int cores = environment_cores();
    ck_assert_ptr_null(environment_blas_core_in_use());
    ck_assert_int_gt(strlen(environment_blas_core()), 0);
    ck_assert_ptr_null(environment_blas_core_in_use()); /* nothing is computed yet */
    ck_assert_uint_eq(count_threads(), threads);
    ck_assert_int_eq(environment_cores(), cores);
    ck_assert(!getenv("OPENBLAS_NUM_THREADS"));
}
END_TEST

START_TEST(there_is_a_core) { ck_assert_int_ge(environment_cores(), 1); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("environment");
    TCase *tests = tcase_create("environment");
    if (!getenv("OPENBLAS_NUM_THREADS")) tcase_add_test(tests, products_bring_no_threads);
    tcase_add_test(tests, there_is_a_core);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
