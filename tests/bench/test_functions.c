/* The declared bound of every function of one variable, against enclosures.
 *
 * For each row: the scalar and the vector form agree to the bit; the double value y at exact x is
 * within E = ulps * 2^-52 |y| + underflow of f(x); the row's ball at 128 bits meets the
 * oracle's enclosure and is narrow. The oracle's balls are checked against MPFR on a part of the
 * inputs. Falsification: with E / 64, and with E = 0, the property must fail somewhere for every
 * function that rounds, or the test could not see an error. The largest error seen is printed.
 *
 * `bench-functions NAME` runs one function.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/inputs.h"
#include "bench/oracle.h"
#include "bench/primitives/unary_functions.h"
#include "support/suite.h"

static const char *filter;

enum { INPUTS = 100000, SLOW_INPUTS = 25000, MPFR_SHARE = 16, MOST_COMPLAINTS = 5, PRECISION = 96 };

struct tally {
    size_t inputs, wrong, loose, beyond_64th, beyond_zero, mpfr;
    double worst_ulps, worst_at;
};

static void complain(struct tally *tally, const struct unary_function *f, double x, double y,
                     double bound, const char *what, const arb_t exact)
{
    if (tally->wrong++ >= MOST_COMPLAINTS) return;
    char *text = arb_get_str(exact, 25, ARB_STR_MORE);
    fprintf(stderr, "%s(%a = %.17g): %s: %.17g +- %.3g, exact %s\n", f->name, x, x, what, y, bound,
            text);
    flint_free(text);
}

/* The enclosure at growing precision until it tells whether y is within the bound. */
static bool enclose(arb_t exact, struct distance *d, const struct oracle *oracle, const arb_t x,
                    double y, double bound)
{
    for (slong p = PRECISION; p <= 6144; p *= 4) {
        oracle->ball(exact, x, p);
        if (oracle_distance(d, exact, y) && (d->most <= bound || d->least > bound)) return true;
    }
    return false;
}

/* An infinite input, or a value that is no number: the function has a limit or a pole there, no
 * value, or one beyond double. */
static void check_special(struct tally *tally, const struct unary_function *f,
                          const struct oracle *oracle, double x, double y)
{
    mpfr_t in, exact;
    arb_t ball;
    if (!oracle->mpfr || isnan(x)) { /* conventions at infinities: the goldens */
        if (isnan(x) && !isnan(y) && strcmp(f->name, "sign") != 0 &&
            tally->wrong++ < MOST_COMPLAINTS)
            fprintf(stderr, "%s(nan) = %g\n", f->name, y);
        return;
    }
    mpfr_init2(in, 53);
    mpfr_init2(exact, 53); /* of a value at or beyond the largest double only the size matters */
    mpfr_set_d(in, x, MPFR_RNDN);
    (void)oracle->mpfr(exact, in, MPFR_RNDN);
    double nearest = mpfr_get_d(exact, MPFR_RNDN);
    /* PyTorch's frac(inf) is inf - inf. */
    bool fine = isfinite(y) ? fabs(nearest - y) <= f->ulps * 0x1p-52 * fabs(y)
                : isnan(y)  ? isnan(nearest) || !strcmp(f->name, "frac")
                            : nearest == y || fabs(nearest) >= 0x1.ffffffffffffcp+1023 ||
                                 (isinf(nearest) && !strcmp(f->name, "lgamma"));
    if (!fine) {
        arb_init(ball);
        arb_set_d(ball, nearest);
        complain(tally, f, x, y, 0, "special value", ball);
        arb_clear(ball);
    }
    mpfr_clear(in);
    mpfr_clear(exact);
}

static void check_input(struct tally *tally, const struct unary_function *f,
                        const struct oracle *oracle, double x, double y, size_t i)
{
    double bound = f->ulps * 0x1p-52 * fabs(y) + unary_underflow(f) * 0x1p-1074;
    struct distance d = { 0, 0 };
    arb_t in, exact, ball;

    tally->inputs++;
    if (!isfinite(y) || !isfinite(x)) return check_special(tally, f, oracle, x, y);
    arb_init(in);
    arb_init(exact);
    arb_init(ball);
    arb_set_d(in, x);
    if (!enclose(exact, &d, oracle, in, y, bound))
        complain(tally, f, x, y, bound, "undecided", exact);
    else if (d.least > bound) complain(tally, f, x, y, bound, "value", exact);
    tally->beyond_64th += d.least > bound / 64;
    tally->beyond_zero += d.least > 0;
    if (fabs(y) > 0x1p-1000 && d.least > tally->worst_ulps * 0x1p-52 * fabs(y)) {
        tally->worst_ulps = d.least / (0x1p-52 * fabs(y));
        tally->worst_at = x;
    }
    if (i % MPFR_SHARE == 0) {
        f->ball(ball, in, 128);
        if (!arb_overlaps(ball, exact)) complain(tally, f, x, y, bound, "the row's ball", ball);
        /* Wide only where the function itself is ill-conditioned at 128 bits. */
        tally->loose += fabs(y) > 0x1p-1000 && arb_rel_accuracy_bits(ball) < 60;
        if (oracle->mpfr) {
            oracle_mpfr(ball, oracle, x);
            tally->mpfr++;
            if (!arf_is_nan(arb_midref(ball)) && !arb_overlaps(ball, exact))
                complain(tally, f, x, y, bound, "MPFR and the oracle disagree", ball);
        }
    }
    arb_clear(in);
    arb_clear(exact);
    arb_clear(ball);
}

static bool same_bits(double a, double b)
{
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

static void check_function(struct tally *tally, const struct unary_function *f)
{
    const struct oracle *oracle = oracle_find(f->name);
    ck_assert_msg(oracle != NULL, "%s needs an oracle (tests/bench/oracle.c)", f->name);
    size_t wanted = thinned_inputs(oracle->slow ? SLOW_INPUTS : INPUTS), count;
    double *x = malloc((wanted + SPECIAL_INPUTS) * sizeof *x),
           *y = malloc((wanted + SPECIAL_INPUTS) * sizeof *y);
    struct numbers numbers = { 20 };

    count = special_inputs(x, oracle);
    ck_assert_uint_le(count, SPECIAL_INPUTS);
    for (size_t i = 0; i < wanted; i++)
        x[count++] = mixed_input(&numbers, i, oracle->low, oracle->high);
    if (f->vector) f->vector(y, x, count);
    for (size_t i = 0; i < count; i++) {
        double scalar = f->scalar(x[i]);
        if (f->vector && !same_bits(scalar, y[i]) && tally->wrong++ < MOST_COMPLAINTS)
            fprintf(stderr, "%s(%a): the vector form gives %a, the scalar %a\n", f->name, x[i],
                    y[i], scalar);
        check_input(tally, f, oracle, x[i], scalar, i);
    }
    free(x);
    free(y);
}

START_TEST(values_keep_the_declared_bound)
{
    size_t count, wrong = 0;
    const struct unary_function *functions = unary_functions(&count);

    printf("%-12s %8s %9s %10s  %s\n", "function", "declared", "largest", "inputs", "at");
    for (size_t i = 0; i < count; i++) {
        const struct unary_function *f = &functions[i];
        struct tally tally = { 0 };
        if (filter && strcmp(filter, f->name) != 0) continue;
        check_function(&tally, f);
        printf("%-12s %8.3g %9.4f %10zu  %a%s\n", f->name, f->ulps, tally.worst_ulps, tally.inputs,
               tally.worst_at, tally.wrong ? "  WRONG" : "");
        wrong += tally.wrong;
        if (tally.loose * 200 > tally.inputs) {
            fprintf(stderr, "%s: %zu wide balls\n", f->name, tally.loose);
            wrong++;
        }
        if (f->ulps > 0 && isfinite(f->ulps) && (!tally.beyond_64th || !tally.beyond_zero)) {
            fprintf(stderr, "%s: the test sees no error with a 64th of the bound, or none at all\n",
                    f->name);
            wrong++;
        }
    }
    flint_cleanup();
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("functions");
    TCase *tests = tcase_create("functions");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, values_keep_the_declared_bound);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
