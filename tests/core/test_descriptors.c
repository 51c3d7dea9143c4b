/* Room for more descriptors than the usual limit, never beyond the hard one. */
#include <sys/resource.h>

#include "core/descriptors.h"
#include "support/suite.h"

static void set_limits(rlim_t soft, rlim_t hard)
{
    const struct rlimit limit = { soft, hard };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static rlim_t soft_limit(void)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit.rlim_cur;
}

START_TEST(the_limit_grows_up_to_the_hard_one)
{
    set_limits(64, 512);
    descriptors_allow(100);
    ck_assert_uint_eq(soft_limit(), 164);
    descriptors_allow(100);
    ck_assert_uint_eq(soft_limit(), 264);
    descriptors_allow(1000);
    ck_assert_uint_eq(soft_limit(), 512);
    descriptors_allow(1);
    ck_assert_uint_eq(soft_limit(), 512);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("descriptors");
    TCase *tests = tcase_create("descriptors");
    tcase_add_test(tests, the_limit_grows_up_to_the_hard_one);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
