/* Inexact arguments and derivatives of the functions of one variable.
 *
 * Propagation: a node with bound e on its argument x claims |y - f(x')| <= error for every x'
 * within e of x. One x' is taken per input, an end of the interval or a point inside, and f(x')
 * enclosed by the oracle. The row's ball of [x - e, x + e] must meet the same enclosure. The e are
 * relative from 2^-60 to 1, absolute, and just short of or past the distance to a kink.
 *
 * Derivatives: the gradient node's value and bound against a central difference of the oracle at
 * 400 bits (step 2^-90 |x|, so its own error is below 2^-150 of the scale of the function).
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/inputs.h"
#include "bench/oracle.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/unary_functions.h"
#include "bench/tape/enclosure.h"
#include "support/suite.h"

static const char *filter;

enum { INPUTS = 100000, SLOW_INPUTS = 20000, MOST_COMPLAINTS = 4 };

struct tally {
    size_t inputs, wrong, unclaimed, outside;
};

static void complain(struct tally *tally, const char *name, const char *what, double x, double e,
                     double y, double bound, const arb_t exact)
{
    if (tally->wrong++ >= MOST_COMPLAINTS) return;
    char *text = arb_get_str(exact, 20, ARB_STR_MORE);
    fprintf(stderr, "%s(%a +- %a): %s %.17g +- %.3g, exact %s\n", name, x, e, what, y, bound, text);
    flint_free(text);
}

/* A real node of given values and bounds. */
static struct node *inexact_node(struct tape *tape, const double *x, const double *e, size_t n)
{
    int64_t shape[1] = { (int64_t)n };
    struct node *node = node_new_real(tape, DT_F64, 1, shape);
    ck_assert(node_need_errors(tape, node));
    memcpy(node->value, x, n * sizeof *x);
    memcpy(node->error, e, n * sizeof *e);
    return node;
}

/* Kinks and branch points that a bound may reach or just miss. */
static double distance_to_kink(double x, uint64_t choice)
{
    switch (choice % 4) {
    case 0: return fabs(x);
    case 1: return fabs(fabs(x) - 1);
    case 2: return fabs(x - rint(x));
    default: return fabs(x - (floor(x) + 0.5));
    }
}

static double any_bound(struct numbers *numbers, double x)
{
    uint64_t bits = numbers_next(numbers);
    double share = ldexp(1 + numbers_uniform(numbers), -(int)(bits % 61));
    switch (bits >> 8 & 7) {
    case 0: return share;
    case 1:
        return distance_to_kink(x, bits >> 16) *
               (1 + ((bits >> 20 & 1) ? 1 : -1) * ldexp(1, -(int)((bits >> 24) % 52)));
    default: return fabs(x) * share;
    }
}

static bool judge_ball(struct tally *tally, const struct oracle *oracle, arb_t exact,
                       const arb_t point, double y, double bound, struct distance *d)
{
    for (slong p = 96; p <= 6144; p *= 4) {
        oracle->ball(exact, point, p);
        if (oracle_distance(d, exact, y) && (d->most <= bound || d->least > bound)) return true;
    }
    tally->outside++; /* outside the domain, or undecided beside a step */
    return false;
}

static void check_propagation(struct tally *tally, const struct unary_function *f,
                              const struct oracle *oracle)
{
    size_t n = thinned_inputs(oracle->slow ? SLOW_INPUTS : INPUTS);
    double *x = malloc(n * sizeof *x), *e = malloc(n * sizeof *e);
    struct numbers numbers = { 21 };
    struct arena arena = { 0 };
    struct tape tape;
    struct distance d;
    arb_t point, exact, wide;

    for (size_t i = 0; i < n; i++) {
        x[i] = mixed_input(&numbers, i, oracle->low, oracle->high);
        if (!isfinite(x[i])) x[i] = 1;
        if (i % 64 == 0) x[i] = rint(x[i] * 2) / 2; /* on a step */
        e[i] = any_bound(&numbers, x[i]);
        if (!isfinite(e[i])) e[i] = 0x1p-30;
    }
    arb_init(point);
    arb_init(exact);
    arb_init(wide);
    tape_open(&tape, &arena, BENCH_REFERENCE, true);
    struct node *y = node_unary(&tape, f, inexact_node(&tape, x, e, n));
    ck_assert_msg(!tape_failed(&tape), "%s", tape.status.text);
    for (size_t i = 0; i < n; i++) {
        double bound = node_error(y, i), share = numbers_uniform(&numbers) * 2 - 1;
        if (i % 3 == 0) share = 1;
        if (i % 3 == 1) share = -1;
        tally->inputs++;
        tally->unclaimed += isinf(bound);
        if (isinf(bound) && i % 16 != 0) continue;
        arb_set_d(exact, e[i]);
        arb_set_d(point, share);
        arb_mul(exact, exact, point, ARF_PREC_EXACT);
        arb_set_d(point, x[i]);
        arb_add(point, point, exact, 2400);
        if (isfinite(y->value[i]) &&
            judge_ball(tally, oracle, exact, point, y->value[i], bound, &d) && d.least > bound)
            complain(tally, f->name, "value", x[i], e[i], y->value[i], bound, exact);
        if (i % 4) continue;
        arb_set_d(wide, x[i]);
        arb_set_d(exact, e[i]);
        arb_add_error(wide, exact);
        f->ball(wide, wide, 128);
        oracle->ball(exact, point, 256);
        if (arb_is_finite(exact) && arb_is_finite(wide) && !arb_overlaps(wide, exact))
            complain(tally, f->name, "ball", x[i], e[i], y->value[i], bound, wide);
    }
    arb_clear(point);
    arb_clear(exact);
    arb_clear(wide);
    arena_release(&arena);
    free(x);
    free(e);
}

/* (f(x + h) - f(x - h)) / 2h at 400 bits. */
static void difference(arb_t out, const struct oracle *oracle, double x)
{
    arb_t h, a, b, low;
    arb_init(h);
    arb_init(a);
    arb_init(b);
    arb_init(low);
    arb_set_d(h, ldexp(1, ilogb(x) - 90));
    arb_set_d(a, x);
    arb_sub(b, a, h, ARF_PREC_EXACT);
    arb_add(a, a, h, ARF_PREC_EXACT);
    oracle->ball(out, a, 400);
    oracle->ball(low, b, 400);
    arb_sub(out, out, low, 400);
    arb_mul_2exp_si(h, h, 1);
    arb_div(out, out, h, 400);
    arb_clear(h);
    arb_clear(a);
    arb_clear(b);
    arb_clear(low);
}

static void check_derivative(struct tally *tally, const struct unary_function *f,
                             const struct oracle *oracle)
{
    size_t n = thinned_inputs(oracle->slow ? SLOW_INPUTS / 8 : INPUTS / 4);
    double *x = malloc(n * sizeof *x);
    struct numbers numbers = { 22 };
    struct arena arena = { 0 };
    struct tape tape;
    struct tensor tensor;
    int64_t shape[1] = { (int64_t)n };
    struct distance d;
    arb_t exact;

    for (size_t i = 0; i < n; i++) {
        double span = oracle->high - oracle->low;
        do {
            x[i] = oracle->low + span * numbers_uniform(&numbers);
            if (i % 4 == 0) x[i] = ldexp(x[i], -(int)(numbers_next(&numbers) % 30));
        } while (x[i] == 0);
    }
    tensor_wrap(&tensor, x, DT_F64, 1, shape);
    tape_open(&tape, &arena, BENCH_REFERENCE, true);
    struct node *leaf = node_leaf(&tape, &tensor, true);
    struct node *y = node_unary(&tape, f, leaf);
    tape_accumulate(&tape, y, node_constant(&tape, DT_F64, 1, 1, shape));
    tape_backward(&tape);
    ck_assert_msg(!tape_failed(&tape) && leaf->cotangent, "%s: %s", f->name, tape.status.text);
    struct node *slope = leaf->cotangent;
    (void)node_values(&tape, slope);
    double *hi = malloc(n * sizeof *hi), *lo = calloc(n, sizeof *lo),
           *error = malloc(n * sizeof *error);
    size_t *all = malloc(n * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        hi[i] = slope->value[i];
        error[i] = node_error(slope, i);
        all[i] = i;
    }
    arb_init(exact);
    for (int pass = 0; pass < 2; pass++) { /* as evaluated, then refined by balls */
        for (size_t i = 0; i < n; i++) {
            if (pass && i % 8) continue;
            difference(exact, oracle, x[i]);
            if (!isfinite(hi[i]) || !oracle_distance(&d, exact, hi[i])) continue;
            tally->inputs++;
            double scale = fabs(hi[i]) + fabs(y->value[i] / x[i]);
            double bound = error[i] + fabs(lo[i]) + 0x1p-80 * scale + 0x1p-1000;
            if (d.least > bound)
                complain(tally, f->name, pass ? "refined slope" : "slope", x[i], 0, hi[i], error[i],
                         exact);
        }
        struct enclosure_target target = { hi, lo, error, 1, 0, false };
        for (size_t i = 0; i < n; i += 8)
            enclosure_refine(&target, slope, 1, &all[i], DT_F64, 0x1p-10, 2000);
    }
    arb_clear(exact);
    free(hi);
    free(lo);
    free(error);
    free(all);
    free(x);
    arena_release(&arena);
}

static void each_function(void (*check)(struct tally *, const struct unary_function *,
                                        const struct oracle *),
                          const char *what)
{
    size_t count, wrong = 0;
    const struct unary_function *functions = unary_functions(&count);
    for (size_t i = 0; i < count; i++) {
        struct tally tally = { 0 };
        if (filter && strcmp(filter, functions[i].name) != 0) continue;
        const struct oracle *oracle = oracle_find(functions[i].name);
        ck_assert_msg(oracle != NULL, "%s needs an oracle (tests/bench/oracle.c)",
                      functions[i].name);
        check(&tally, &functions[i], oracle);
        if (filter || tally.wrong)
            printf("%s of %s: %zu inputs, %zu without a bound, %zu without an exact value, %zu "
                   "wrong\n",
                   what, functions[i].name, tally.inputs, tally.unclaimed, tally.outside,
                   tally.wrong);
        wrong += tally.wrong;
    }
    flint_cleanup();
    ck_assert_uint_eq(wrong, 0);
}

START_TEST(bounds_of_arguments_propagate) { each_function(check_propagation, "propagation"); }
END_TEST

START_TEST(derivatives_match_differences) { each_function(check_derivative, "derivative"); }
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("propagation");
    TCase *tests = tcase_create("propagation");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, bounds_of_arguments_propagate);
    tcase_add_test(tests, derivatives_match_differences);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
