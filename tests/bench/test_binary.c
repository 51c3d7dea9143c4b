/* The functions of two variables: value, bound with exact and inexact arguments, ball, partial
 * derivatives, all against oracles. As test_functions.c and test_propagation.c for one variable.
 *
 * `bench-binary NAME` runs one function.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/inputs.h"
#include "bench/oracle.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/binary_functions.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/unary.h"
#include "support/suite.h"

static const char *filter;

enum { INPUTS = 100000, SLOW_INPUTS = 12000, MOST_COMPLAINTS = 4, MPFR_SHARE = 16 };

struct tally {
    size_t inputs, wrong, unclaimed, outside, beyond_64th, beyond_zero;
    double worst_ulps;
};

struct operands {
    double a, ea, b, eb;
};

static void complain(struct tally *tally, const char *name, const char *what,
                     const struct operands *in, double y, double bound, const arb_t exact)
{
    if (tally->wrong++ >= MOST_COMPLAINTS) return;
    char *text = arb_get_str(exact, 20, ARB_STR_MORE);
    fprintf(stderr, "%s(%a +- %a, %a +- %a): %s %.17g +- %.3g, exact %s\n", name, in->a, in->ea,
            in->b, in->eb, what, y, bound, text);
    flint_free(text);
}

/* Whole numbers and arguments within the domains that the definitions have. */
static struct operands any_pair(const struct oracle2 *oracle, struct numbers *numbers, size_t i)
{
    struct operands in = { 0 };
    in.a = mixed_input(numbers, i, oracle->low_a, oracle->high_a);
    in.b = mixed_input(numbers, numbers_next(numbers) >> 32, oracle->low_b, oracle->high_b);
    uint64_t bits = numbers_next(numbers);
    if (bits % 16 == 0) in.b = in.a * (1 + ldexp((double)(bits >> 8 & 255) - 128, -50));
    if (bits % 16 == 1) in.b = rint(in.b);
    if (bits % 16 == 2) in.a = rint(in.a);
    if (bits % 16 == 3) in.a = rint(in.b) * rint(in.a);
    if (oracle->whole_a) in.a = (double)(bits >> 20 & 3);
    if (oracle->slow) { /* arguments that the library answers in milliseconds */
        if (!(fabs(in.a) < 200)) in.a = oracle->high_a * numbers_uniform(numbers);
        if (!(fabs(in.b) < 200)) in.b = oracle->high_b * numbers_uniform(numbers);
    }
    return in;
}

static double any_error(struct numbers *numbers, double x)
{
    uint64_t bits = numbers_next(numbers);
    double share = ldexp(1 + numbers_uniform(numbers), -(int)(bits % 61));
    if (bits >> 8 & 1) return 0;
    double e = bits >> 9 & 3 ? fabs(x) * share : share;
    return isfinite(e) ? e : 0;
}

/* Is the exact value at (a, b) a plain number that the oracle can enclose? */
static bool defined(const struct oracle2 *oracle, double a, double b)
{
    if (!isfinite(a) || !isfinite(b)) return false;
    if (!strcmp(oracle->name, "pow")) return a > 0 || (b == rint(b) && fabs(b) < 1000 && a != 0);
    if (!strcmp(oracle->name, "divide") || !strcmp(oracle->name, "fmod") ||
        !strcmp(oracle->name, "remainder") || !strcmp(oracle->name, "floor_divide"))
        return b != 0 && fabs(a / b) < 0x1p1000;
    if (!strcmp(oracle->name, "xlogy")) return b > 0 || a == 0;
    if (!strcmp(oracle->name, "igamma") || !strcmp(oracle->name, "igammac")) return a > 0 && b > 0;
    if (!strcmp(oracle->name, "zeta")) return a > 1 && a < 0x1p40 && b > 0 && b < 0x1p40;
    if (!strcmp(oracle->name, "polygamma")) return b > 0 || b != rint(b);
    /* Balls have no -0 to choose a side by. */
    if (!strcmp(oracle->name, "atan2")) return a != 0 || b > 0;
    if (!strcmp(oracle->name, "copysign")) return b != 0;
    return true;
}

static void set_point(arb_t point, double x, double e, double share)
{
    arb_t t;
    arb_init(t);
    arb_set_d(point, e);
    arb_set_d(t, share);
    arb_mul(point, point, t, ARF_PREC_EXACT);
    arb_set_d(t, x);
    arb_add(point, point, t, 2400);
    arb_clear(t);
}

/* Enclose f at the point of balls u, v and judge y against it. */
static bool judge(struct distance *d, arb_t exact, const struct oracle2 *oracle, const arb_t u,
                  const arb_t v, double y, double bound)
{
    for (slong p = 96; p <= 6144; p *= 4) {
        oracle->ball(exact, u, v, p);
        if (oracle_distance(d, exact, y) && (d->most <= bound || d->least > bound)) return true;
    }
    return false;
}

/* Values beyond the range of double, and zeros whose sign chooses a branch. */
static bool is_overflow(const struct oracle2 *oracle, const struct operands *in, double y)
{
    arb_t a, b, exact;
    if (isnan(y)) return false;
    if (!strcmp(oracle->name, "pow") && in->b * log2(fabs(in->a)) > 1e4)
        return true; /* too far for balls */
    arb_init(a);
    arb_init(b);
    arb_init(exact);
    arb_set_d(a, in->a);
    arb_set_d(b, in->b);
    oracle->ball(exact, a, b, 128);
    bool beyond = arb_is_finite(exact) && arf_cmpabs_2exp_si(arb_midref(exact), 1023) > 0;
    arb_clear(a);
    arb_clear(b);
    arb_clear(exact);
    return beyond;
}

static void check_pair(struct tally *tally, const struct binary_function *f,
                       const struct oracle2 *oracle, const struct operands *in,
                       struct numbers *numbers, size_t i)
{
    double y = f->scalar(in->a, in->b);
    double bound = f->error(in->a, in->ea, in->b, in->eb, y) * (1 + 0x1p-40);
    bool exact_arguments = in->ea == 0 && in->eb == 0;
    struct distance d = { 0, 0 };
    arb_t u, v, exact, ball;

    tally->inputs++;
    if (isnan(bound)) bound = INFINITY;
    tally->unclaimed += isinf(bound);
    if (!defined(oracle, in->a, in->b)) return;
    arb_init(u);
    arb_init(v);
    arb_init(exact);
    arb_init(ball);
    if (!isfinite(y)) {
        if (!is_overflow(oracle, in, y)) {
            arb_indeterminate(exact);
            complain(tally, f->name, "value", in, y, bound, exact);
        }
    } else if (isfinite(bound)) {
        set_point(u, in->a, in->ea,
                  in->ea > 0 ? (i % 3 ? 1 - 2.0 * (double)(i % 2) : numbers_uniform(numbers)) : 0);
        set_point(v, in->b, in->eb,
                  in->eb > 0 ? (i % 5 ? 1 - 2.0 * (double)(i / 2 % 2) : numbers_uniform(numbers))
                             : 0);
        if (!judge(&d, exact, oracle, u, v, y, bound)) tally->outside++;
        else if (d.least > bound) complain(tally, f->name, "value", in, y, bound, exact);
        if (exact_arguments && d.least > 0) {
            tally->beyond_zero++;
            tally->beyond_64th += d.least > bound / 64;
            if (fabs(y) > 0x1p-1000)
                tally->worst_ulps = fmax(tally->worst_ulps, d.least / (0x1p-52 * fabs(y)));
        }
        if (i % MPFR_SHARE == 0 && exact_arguments) {
            f->ball(ball, u, v, 128);
            if (arb_is_finite(ball) && arb_is_finite(exact) && !arb_overlaps(ball, exact))
                complain(tally, f->name, "the row's ball", in, y, bound, ball);
            if (oracle->mpfr && !oracle->slow) {
                oracle2_mpfr(ball, oracle, in->a, in->b);
                if (arb_is_finite(ball) && arb_is_finite(exact) && !arb_overlaps(ball, exact))
                    complain(tally, f->name, "MPFR and the oracle", in, y, bound, ball);
            }
        } else if (i % MPFR_SHARE == 1 && arb_is_finite(exact)) {
            arb_set_d(u, in->a);
            arb_set_d(v, in->b);
            arb_set_d(ball, in->ea);
            arb_add_error(u, ball);
            arb_set_d(ball, in->eb);
            arb_add_error(v, ball);
            f->ball(ball, u, v, 128);
            if (arb_is_finite(ball) && !arb_overlaps(ball, exact))
                complain(tally, f->name, "the row's wide ball", in, y, bound, ball);
        }
    }
    arb_clear(u);
    arb_clear(v);
    arb_clear(exact);
    arb_clear(ball);
}

static void check_function(struct tally *tally, const struct binary_function *f,
                           const struct oracle2 *oracle)
{
    struct numbers numbers = { 23 };
    size_t n = thinned_inputs(oracle->slow ? SLOW_INPUTS : INPUTS);

    for (size_t i = 0; i < n; i++) { /* exact arguments */
        struct operands in = any_pair(oracle, &numbers, i);
        check_pair(tally, f, oracle, &in, &numbers, i);
    }
    for (size_t i = 0; i < n; i++) { /* inexact ones */
        struct operands in = any_pair(oracle, &numbers, i);
        in.ea = any_error(&numbers, in.a);
        in.eb = any_error(&numbers, in.b);
        if (oracle->whole_a) in.ea = 0;
        check_pair(tally, f, oracle, &in, &numbers, i);
    }
    for (size_t i = 0; !oracle->slow && i < FEW_SPECIALS * FEW_SPECIALS; i++) {
        struct operands in = { few_specials[i / FEW_SPECIALS], 0, few_specials[i % FEW_SPECIALS],
                               0 };
        check_pair(tally, f, oracle, &in, &numbers, i);
    }
}

START_TEST(values_and_bounds)
{
    size_t count, wrong = 0;
    const struct binary_function *functions = binary_functions(&count);
    printf("%-13s %9s %9s %10s %10s\n", "function", "largest", "inputs", "unclaimed", "undecided");
    for (size_t i = 0; i < count; i++) {
        struct tally tally = { 0 };
        if (filter && strcmp(filter, functions[i].name) != 0) continue;
        const struct oracle2 *oracle = oracle2_find(functions[i].name);
        ck_assert_msg(oracle != NULL, "%s needs an oracle (tests/bench/oracle.c)",
                      functions[i].name);
        check_function(&tally, &functions[i], oracle);
        printf("%-13s %9.4f %9zu %10zu %10zu%s\n", functions[i].name, tally.worst_ulps,
               tally.inputs, tally.unclaimed, tally.outside, tally.wrong ? "  WRONG" : "");
        wrong += tally.wrong;
        bool exact = functions[i].error(3, 0, 2, 0, functions[i].scalar(3, 2)) == 0;
        if (!exact && (!tally.beyond_64th || !tally.beyond_zero)) {
            fprintf(stderr, "%s: the test sees no error with a 64th of the bound\n",
                    functions[i].name);
            wrong++;
        }
    }
    flint_cleanup();
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* A base that is off by much, as the rsqrt of a long sum is in a model, moves its power by so much and no further. */
START_TEST(powers_of_inexact_numbers)
{
    static const struct {
        double a, relative, b;
    } rows[] = { { 2, 0x1p-9, 3 }, { 2, 0x1p-4, 3 }, { 0.5, 0x1p-2, -2 }, { -3, 0x1p-8, 5 } };
    size_t count, pow_row = 0;
    const struct binary_function *functions = binary_functions(&count);
    while (strcmp(functions[pow_row].name, "pow") != 0) pow_row++;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double off = rows[i].relative, y = pow(rows[i].a, rows[i].b);
        double moved = fabs(pow(1 - copysign(off, rows[i].b), rows[i].b) - 1) * fabs(y);
        double further = fabs(pow(1 + copysign(off, rows[i].b), rows[i].b) - 1) * fabs(y);
        double bound = functions[pow_row].error(rows[i].a, off * fabs(rows[i].a), rows[i].b, 0, y);
        ck_assert_double_ge(bound, fmax(moved, further));
        ck_assert_double_le(bound, fabs(rows[i].b) * off / (1 - off) * 2 * fabs(y) * (1 + 0x1p-20));
    }
}
END_TEST

/* ---- partial derivatives ----------------------------------------------------------------------- */

static void difference(arb_t out, const struct oracle2 *oracle, double a, double b, int which)
{
    arb_t h, u, v, low, fixed;
    arb_init(h);
    arb_init(u);
    arb_init(v);
    arb_init(low);
    arb_init(fixed);
    double x = which ? b : a;
    arb_set_d(h, ldexp(1, ilogb(x) - 90));
    arb_set_d(u, x);
    arb_sub(v, u, h, ARF_PREC_EXACT);
    arb_add(u, u, h, ARF_PREC_EXACT);
    arb_set_d(fixed, which ? a : b);
    oracle->ball(out, which ? fixed : u, which ? u : fixed, 420);
    oracle->ball(low, which ? fixed : v, which ? v : fixed, 420);
    arb_sub(out, out, low, 420);
    arb_mul_2exp_si(h, h, 1);
    arb_div(out, out, h, 420);
    arb_clear(h);
    arb_clear(u);
    arb_clear(v);
    arb_clear(low);
    arb_clear(fixed);
}

static void check_partials(struct tally *tally, const struct binary_function *f,
                           const struct oracle2 *oracle)
{
    size_t n = oracle->slow ? 1000 : 10000;
    bool only_second = strstr(f->name, "gamma") || !strcmp(f->name, "zeta");
    double *x[2] = { malloc(n * sizeof *x[0]), malloc(n * sizeof *x[1]) };
    struct numbers numbers = { 24 };
    struct arena arena = { 0 };
    struct tape tape;
    struct tensor tensors[2];
    struct node *leaves[2];
    int64_t shape[1] = { (int64_t)n };
    struct distance d;
    arb_t exact;

    for (size_t i = 0; i < n; i++) do {
            x[0][i] = oracle->low_a + (oracle->high_a - oracle->low_a) * numbers_uniform(&numbers);
            x[1][i] = oracle->low_b + (oracle->high_b - oracle->low_b) * numbers_uniform(&numbers);
            if (oracle->whole_a) x[0][i] = (double)(i % 4);
        } while ((x[0][i] == 0 && !oracle->whole_a) || x[1][i] == 0 ||
                 !defined(oracle, x[0][i], x[1][i]));
    tape_open(&tape, &arena, BENCH_REFERENCE, true);
    for (int k = 0; k < 2; k++) {
        tensor_wrap(&tensors[k], x[k], DT_F64, 1, shape);
        leaves[k] = node_leaf(&tape, &tensors[k], k == 1 || !only_second);
    }
    struct node *y = node_binary(&tape, f, leaves[0], leaves[1]);
    tape_accumulate(&tape, y, node_constant(&tape, DT_F64, 1, 1, shape));
    tape_backward(&tape);
    ck_assert_msg(!tape_failed(&tape), "%s: %s", f->name, tape.status.text);
    arb_init(exact);
    for (int k = only_second ? 1 : 0; k < 2; k++) {
        struct node *slope = leaves[k]->cotangent;
        ck_assert_ptr_nonnull(slope);
        (void)node_values(&tape, slope);
        for (size_t i = 0; i < n; i++) {
            struct operands in = { x[0][i], 0, x[1][i], 0 };
            double bound = node_error(slope, i),
                   scale = fabs(slope->value[i]) + fabs(y->value[i] / x[k][i]);
            if (!isfinite(slope->value[i]) || !isfinite(bound)) continue;
            difference(exact, oracle, x[0][i], x[1][i], k);
            if (!oracle_distance(&d, exact, slope->value[i])) continue;
            tally->inputs++;
            if (d.least > bound + 0x1p-80 * scale + 0x1p-1000)
                complain(tally, f->name, k ? "slope in b" : "slope in a", &in, slope->value[i],
                         bound, exact);
        }
    }
    arb_clear(exact);
    free(x[0]);
    free(x[1]);
    arena_release(&arena);
}

START_TEST(partial_derivatives)
{
    size_t count, wrong = 0;
    const struct binary_function *functions = binary_functions(&count);
    for (size_t i = 0; i < count; i++) {
        struct tally tally = { 0 };
        if (filter && strcmp(filter, functions[i].name) != 0) continue;
        const struct oracle2 *oracle = oracle2_find(functions[i].name);
        ck_assert_ptr_nonnull(oracle);
        check_partials(&tally, &functions[i], oracle);
        if (filter) printf("%s: %zu slopes\n", functions[i].name, tally.inputs);
        wrong += tally.wrong;
        ck_assert_msg(tally.inputs > 0, "no slope of %s was compared", functions[i].name);
    }
    flint_cleanup();
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* A kernel may multiply c = 1e-42 with part of a slope of 1e30 first and lose what underflows: two subnormals times 1e30, half of one in
 * the mean, whether the slope is exact or not. */
START_TEST(products_by_slopes_lose_what_underflows)
{
    enum { N = 2 };
    static const int64_t shape[1] = { N };
    static float c[N] = { 1e-42f, 1 }, slopes[N] = { 1e30f, 1 };
    bool typical = _i & 1, exact = _i & 2;
    struct arena arena = { 0 };
    struct tape tape;
    struct tensor tensors[2];
    tape_open(&tape, &arena, typical ? BENCH_MODEL_TYPICAL : BENCH_MODEL_WORST, false);
    tensor_wrap(&tensors[0], c, DT_F32, 1, shape);
    tensor_wrap(&tensors[1], slopes, DT_F32, 1, shape);
    struct node *slope = node_leaf(&tape, &tensors[1], false);
    if (!exact)
        slope = node_multiply(&tape, slope, node_apply(&tape, "exp", node_scale(&tape, slope, 0)));
    struct node *y = node_multiply_slope(&tape, node_leaf(&tape, &tensors[0], false), slope);
    (void)node_values(&tape, y);
    ck_assert(!tape_failed(&tape));
    double lost = (typical ? 0.5 : 2) * 0x1p-149 * 1e30;
    ck_assert_double_ge(node_error(y, 0), lost * (1 - 1e-6));
    ck_assert_double_le(node_error(y, 0), 1.1 * lost);
    ck_assert_double_le(node_error(y, 1), 1e-6);
    arena_release(&arena);
}
END_TEST

int main(int count, char **arguments)
{
    filter = count > 1 ? arguments[1] : NULL;
    Suite *suite = suite_create("binary");
    TCase *tests = tcase_create("binary");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, values_and_bounds);
    tcase_add_test(tests, powers_of_inexact_numbers);
    tcase_add_test(tests, partial_derivatives);
    tcase_add_loop_test(tests, products_by_slopes_lose_what_underflows, 0, 4);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
