/* All 65,536 float16 and bfloat16 inputs of every API that maps elements one by one: the compositions as
 * well as the functions of bench/primitives/unary_functions.c, which test_patterns.c has alone.
 *
 * Every finite value is certified for its dtype (bound <= 2^-10 ulp), at once or after refinement, and every
 * 17th one, computed again in balls to 2^-40 ulp, lies within its bound.
 *
 * `bench-half_patterns NAME` runs only calls that contain NAME.
 */
#include <arb.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/samples.h"
#include "support/suite.h"

enum { PATTERNS = 1 << 16, STEP = 17 };

static const char *filter;

/* %s: the dtype. */
/* clang-format off */
static const char *const calls[] = {
    "Torch.abs(%s(65536))", "Torch.acos(%s(65536))", "Torch.acosh(%s(65536))", "Torch.angle(%s(65536))",
    "Torch.asin(%s(65536))", "Torch.asinh(%s(65536))", "Torch.atan(%s(65536))", "Torch.atanh(%s(65536))",
    "Torch.ceil(%s(65536))", "Torch.clamp(%s(65536), -0.3, 2.7)", "Torch.cos(%s(65536))", "Torch.cosh(%s(65536))",
    "Torch.deg2rad(%s(65536))", "Torch.digamma(%s(65536))", "Torch.erf(%s(65536))", "Torch.erfc(%s(65536))",
    "Torch.erfinv(%s(65536))", "Torch.exp(%s(65536))", "Torch.exp2(%s(65536))", "Torch.expm1(%s(65536))",
    "Torch.floor(%s(65536))", "Torch.frac(%s(65536))", "Torch.i0(%s(65536))", "Torch.lgamma(%s(65536))",
    "Torch.log(%s(65536))", "Torch.log10(%s(65536))", "Torch.log1p(%s(65536))", "Torch.log2(%s(65536))",
    "Torch.logit(%s(65536))", "Torch.logit(%s(65536), 0.01)", "Torch.nan_to_num(%s(65536))", "Torch.neg(%s(65536))",
    "Torch.positive(%s(65536))", "Torch.pow(%s(65536), 3)", "Torch.pow(%s(65536), 0.5)", "Torch.pow(%s(65536), -2)",
    "Torch.rad2deg(%s(65536))", "Torch.reciprocal(%s(65536))", "Torch.round(%s(65536))", "Torch.rsqrt(%s(65536))",
    "Torch.sgn(%s(65536))", "Torch.sigmoid(%s(65536))", "Torch.sign(%s(65536))", "Torch.sin(%s(65536))",
    "Torch.sinc(%s(65536))", "Torch.sinh(%s(65536))", "Torch.sqrt(%s(65536))", "Torch.square(%s(65536))",
    "Torch.tan(%s(65536))", "Torch.tanh(%s(65536))", "Torch.trunc(%s(65536))", "Torch.add(%s(65536), 0.1)",
    "Torch.mul(%s(65536), 0.3)", "Torch.div(%s(65536), 0.7)", "Torch.remainder(%s(65536), 0.75)",
    "Torch.fmod(%s(65536), -1.25)", "Torch.rsub(%s(65536), 1.5)",
    "Functional.celu(%s(65536), 1.5)", "Functional.elu(%s(65536))", "Functional.gelu(%s(65536))",
    "Functional.gelu(%s(65536), approximate=\"tanh\")", "Functional.hardshrink(%s(65536))",
    "Functional.hardsigmoid(%s(65536))", "Functional.hardswish(%s(65536))", "Functional.hardtanh(%s(65536))",
    "Functional.leaky_relu(%s(65536), 0.2)", "Functional.logsigmoid(%s(65536))", "Functional.mish(%s(65536))",
    "Functional.relu(%s(65536))", "Functional.relu6(%s(65536))", "Functional.rrelu(%s(65536))",
    "Functional.selu(%s(65536))", "Functional.silu(%s(65536))", "Functional.softplus(%s(65536), 2)",
    "Functional.softshrink(%s(65536))", "Functional.softsign(%s(65536))", "Functional.tanhshrink(%s(65536))",
    "Functional.threshold(%s(65536), 0.1, 20)",
};
/* clang-format on */

struct tally {
    size_t calls, values, at_once, wrong;
};

static void check_call(struct tally *tally, const char *call, const char *dtype,
                       struct arena *arena)
{
    struct sample sample;
    struct bench *bench;
    char text[160];
    snprintf(text, sizeof text, call, dtype);
    const char *fault = sample_parse(&sample, arena_copy_string(arena, text), arena);
    ck_assert_msg(!fault, "%s: %s", text, fault);
    uint16_t *pattern = sample.c.args.list.items[0].tensor.tensor->data;
    for (size_t i = 0; i < PATTERNS; i++) pattern[i] = (uint16_t)i;
    struct status st = bench_open(&bench, &sample.c, arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", text, st.text);
    struct reference *r = &bench_output(bench, 0)->reference;
    tally->calls++;
    if (r->integer) return;
    ck_assert_uint_eq(r->n, PATTERNS);
    size_t *open = arena_allocate(arena, PATTERNS * sizeof *open), n_open = 0;
    double *hi = arena_allocate(arena, PATTERNS * sizeof *hi),
           *bound = arena_allocate(arena, PATTERNS * sizeof *bound);
    if (!r->error) { /* refinement writes to an array */
        double *error = arena_allocate(arena, PATTERNS * sizeof *error);
        for (size_t i = 0; i < PATTERNS; i++) error[i] = reference_bound(r, i);
        r->error = error;
        r->relative = r->absolute = 0;
    }
    for (size_t i = 0; i < PATTERNS; i++)
        if (isfinite(r->hi[i]) &&
            !(reference_bound(r, i) <= 0x1p-10 * dtype_ulp(r->dtype, r->hi[i])))
            open[n_open++] = i;
    tally->values += PATTERNS;
    tally->at_once += PATTERNS - n_open;
    if (n_open) ck_assert_int_eq(r->refine(r, n_open, open, 0x1p-10).code, 0);
    for (size_t i = 0; i < PATTERNS; i++) {
        hi[i] = r->hi[i];
        bound[i] = reference_bound(r, i);
        if (!isfinite(hi[i]) || bound[i] <= 0x1p-10 * dtype_ulp(r->dtype, hi[i])) continue;
        if (!tally->wrong++)
            fprintf(stderr, "%s: element %zu, %.17g, is not certified: %.3g\n", text, i, hi[i],
                    bound[i]);
    }
    n_open = 0;
    for (size_t i = 0; i < PATTERNS; i += STEP)
        if (isfinite(hi[i])) open[n_open++] = i;
    ck_assert_int_eq(r->refine(r, n_open, open, 0x1p-40).code, 0);
    for (size_t k = 0; k < n_open; k++) {
        size_t i = open[k];
        if (fabs(r->hi[i] - hi[i]) <= (bound[i] + reference_bound(r, i)) * (1 + 0x1p-40)) continue;
        if (!tally->wrong++)
            fprintf(stderr, "%s: element %zu, %.17g +- %.3g, is %.17g in balls\n", text, i, hi[i],
                    bound[i], r->hi[i]);
    }
}

START_TEST(every_half_is_certified)
{
    struct tally tally = { 0 };
    struct arena arena = { 0 };
    static const char *const dtypes[] = { "f16", "bf16" };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (filter && !strstr(calls[i], filter)) continue;
        check_call(&tally, calls[i], dtypes[_i], &arena);
        arena_reset(&arena);
    }
    flint_cleanup();
    arena_release(&arena);
    printf("%s: %zu calls, %zu values, %zu certified at once, %zu wrong\n", dtypes[_i], tally.calls,
           tally.values, tally.at_once, tally.wrong);
    ck_assert_uint_gt(tally.values, 0);
    ck_assert_uint_eq(tally.wrong, 0);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("half patterns");
    TCase *tests = tcase_create("half patterns");
    tcase_set_timeout(tests, 500);
    tcase_add_loop_test(tests, every_half_is_certified, 0, 2);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
