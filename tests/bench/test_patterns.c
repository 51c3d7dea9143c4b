/* All 65,536 float16 and bfloat16 inputs of every function of one variable, and every 65,521st
 * float32 pattern, against its oracle: the declared bound holds, every value is certified for its
 * dtype (E <= 2^-10 ulp), and hardly any leaves the correctly rounded value open.
 *
 * tests/long runs every 509th float32 pattern.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/inputs.h"
#include "bench/sweep.h"
#include "support/suite.h"

static const char *filter;

static const struct {
    enum dtype dtype;
    uint64_t stride; /* of bit patterns; kept odd, so that every low bit comes */
} sweeps[] = { { DT_F16, 1 }, { DT_BF16, 1 }, { DT_F32, 65521 } };

START_TEST(every_pattern)
{
    size_t count, wrong = 0;
    uint64_t patterns = dtype_info(sweeps[_i].dtype)->bytes == 2 ? 1 << 16 : (uint64_t)1 << 32;
    uint64_t stride = patterns / thinned_inputs(patterns / sweeps[_i].stride) | 1;
    const struct unary_function *functions = unary_functions(&count);
    for (size_t i = 0; i < count; i++) {
        const struct unary_function *f = &functions[i];
        const struct oracle *oracle = oracle_find(f->name);
        if (filter && strcmp(filter, f->name) != 0) continue;
        ck_assert_msg(oracle != NULL, "%s needs an oracle (tests/bench/oracle.c)", f->name);
        struct sweep sweep = { 0 };
        sweep_patterns(&sweep, f, oracle, sweeps[_i].dtype, 0, stride);
        wrong += sweep.wrong;
        if (sweep.wrong || sweep.uncertified)
            fprintf(stderr, "%s, %s: %zu of %zu wrong, %zu not certified\n", f->name,
                    dtype_info(sweeps[_i].dtype)->name, sweep.wrong, sweep.inputs,
                    sweep.uncertified);
        ck_assert_uint_eq(sweep.uncertified, 0);
    }
    flint_cleanup();
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("patterns");
    TCase *tests = tcase_create("patterns");
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, every_pattern, 0, sizeof sweeps / sizeof *sweeps);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
