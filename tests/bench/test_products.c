/* Matrix products: |C - exact| <= bound for every element, on benign and on cancelling data.
 *
 * The exact element is a dot product of balls at 500 bits. Sizes 64 x k x 64 with k in 1, 2, 31,
 * 128, 1000, all elements; 1024 cubed, 1000 sampled ones. A product with one element changed by 2.01
 * bounds is found out. With OpenBLAS built for several processors the same runs on each kernel it
 * has for this one: the test starts itself again with OPENBLAS_CORETYPE set.
 */
#include <cblas.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/oracle.h"
#include "bench/primitive.h"
#include "bench/primitives/matmul.h"
#include "bench/tape/enclosure.h"
#include "support/suite.h"

enum { PRECISION = 500 };

static const char *program;

struct layout {
    size_t m, k, n;
    bool transpose_a, transpose_b;
};

/* Row i of op(A) and column j of op(B) as vectors of balls. */
static void exact_element(arb_t out, const struct layout *l, const struct operand *a,
                          const struct operand *b, size_t i, size_t j)
{
    arb_srcptr x = a->point + (l->transpose_a ? i : i * l->k),
               y = b->point + (l->transpose_b ? j * l->k : j);
    arb_dot(out, NULL, 0, x, l->transpose_a ? (slong)l->m : 1, y, l->transpose_b ? 1 : (slong)l->n,
            (slong)l->k, PRECISION);
}

/* The compensated dot product of an element as a pair. */
static void judge_pair(struct findings *f, const struct node *c, size_t at, const arb_t exact)
{
    struct enclosure enclosure = { .limit = SIZE_MAX };
    struct pair pair;
    struct distance d;
    arb_t rest;
    if (!enclosure_pair(&enclosure, &pair, (struct node *)(uintptr_t)c, at)) {
        f->wrong++;
        return;
    }
    arb_init(rest);
    arb_set_d(rest, pair.hi);
    arb_sub(rest, exact, rest, 2 * PRECISION);
    if (!oracle_distance(&d, rest, pair.lo) || d.least > pair.error) {
        if (f->wrong++ < 5)
            fprintf(stderr, "pair [%zu] = %.17g + %.17g +- %.3g\n", at, pair.hi, pair.lo,
                    pair.error);
    }
    arb_clear(rest);
}

static void check_product(struct findings *f, const struct layout *l, enum data data, bool inexact,
                          size_t samples)
{
    struct laboratory lab;
    int64_t shape_a[3] = { 1, (int64_t)l->m, (int64_t)l->k },
            shape_b[3] = { 1, (int64_t)l->k, (int64_t)l->n };
    if (l->transpose_a) shape_a[1] = (int64_t)l->k, shape_a[2] = (int64_t)l->m;
    if (l->transpose_b) shape_b[1] = (int64_t)l->n, shape_b[2] = (int64_t)l->k;
    laboratory_open(&lab, BENCH_REFERENCE, l->k * 8 + (uint64_t)data);
    struct operand a = operand_make(&lab, 3, shape_a, data, inexact),
                   b = operand_make(&lab, 3, shape_b, data, inexact);
    if (data == DATA_CANCELLING) /* columns of pairs: the terms themselves cancel */
        for (size_t i = 0; i < b.n; i++) {
            b.node->value[i] = 1 + (l->transpose_b ? 0 : 0x1p-20 * (double)(i % 3));
            if (!inexact || !(b.node->error[i] > 0)) arb_set_d(b.point + i, b.node->value[i]);
            else arb_set_d(b.point + i, b.node->value[i]), b.node->error[i] = 0;
        }
    struct node *c = node_matmul(&lab.tape, a.node, l->transpose_a, b.node, l->transpose_b);
    ck_assert_msg(!tape_failed(&lab.tape), "%s", lab.tape.status.text);
    arb_t exact;
    arb_init(exact);
    size_t all = l->m * l->n;
    for (size_t s = 0; s < (samples ? samples : all); s++) {
        size_t at = samples ? numbers_next(&lab.numbers) % all : s;
        exact_element(exact, l, &a, &b, at / l->n, at % l->n);
        judge_element(f, c, at, exact, data_names[data]);
        if (!inexact && s % 8 == 0) judge_pair(f, c, at, exact);
    }
    arb_clear(exact);
    operand_clear(&a);
    operand_clear(&b);
    laboratory_close(&lab);
}

static void check_all(struct findings *f, bool brief)
{
    static const size_t depths[] = { 1, 2, 31, 128, 1000 };
    for (int data = 0; data < DATA_COUNT; data++)
        for (size_t k = 0; k < 5; k++) {
            size_t side = brief ? 16 : depths[k] > 500 ? 32 : 64;
            struct layout l = { side, depths[k], side, (data + (int)k) % 2 != 0,
                                (data / 2 + (int)k) % 2 != 0 };
            if (depths[k] == 1000) l.m = 64;
            check_product(f, &l, (enum data)data, false, brief ? 64 : 0);
            if (depths[k] < 200) check_product(f, &l, (enum data)data, true, brief ? 64 : 0);
        }
}

static void report(const char *what, const struct findings *f)
{
    printf("%-12s %-12s %8zu elements, %zu wrong, %zu without a bound, widest bound %.3g u\n", what,
           openblas_get_corename(), f->elements, f->wrong, f->unclaimed, f->widest);
    flint_cleanup();
    ck_assert_uint_eq(f->wrong, 0);
    ck_assert_uint_eq(f->unseen, 0);
    ck_assert_uint_gt(f->nonzero, 0);
}

START_TEST(elements_lie_within_their_bounds)
{
    struct findings f = { 0 };
    check_all(&f, false);
    report("size 64", &f);
}
END_TEST

START_TEST(samples_of_large_products)
{
    struct findings f = { 0 };
    static const enum data kinds[] = { DATA_NORMAL, DATA_CANCELLING, DATA_GRADED };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct layout l = { 1024, 1024, 1024, false, k == 1 };
        if (k) l.m = 128; /* one full cube is enough */
        check_product(&f, &l, kinds[k], false, 1000);
    }
    report("size 1024", &f);
}
END_TEST

/* Exact zeros and whole numbers: the value itself must be exact. */
START_TEST(whole_numbers_multiply_exactly)
{
    struct laboratory lab;
    int64_t shape[3] = { 1, 48, 48 };
    struct layout l = { 48, 48, 48, false, false };
    laboratory_open(&lab, BENCH_REFERENCE, 3);
    struct operand a = operand_make(&lab, 3, shape, DATA_WHOLE, false),
                   b = operand_make(&lab, 3, shape, DATA_WHOLE, false);
    struct node *c = node_matmul(&lab.tape, a.node, false, b.node, false);
    arb_t exact, value;
    arb_init(exact);
    arb_init(value);
    for (size_t at = 0; at < 48 * 48; at++) {
        exact_element(exact, &l, &a, &b, at / 48, at % 48);
        arb_set_d(value, c->value[at]);
        ck_assert(arb_equal(exact, value));
    }
    arb_clear(exact);
    arb_clear(value);
    operand_clear(&a);
    operand_clear(&b);
    laboratory_close(&lab);
}
END_TEST

/* Infinities and NaN in either factor: the definition's sums, whatever the library does. */
START_TEST(non_finite_factors)
{
    struct laboratory lab;
    int64_t shape[3] = { 1, 5, 5 };
    laboratory_open(&lab, BENCH_REFERENCE, 4);
    struct operand a = operand_make(&lab, 3, shape, DATA_WHOLE, false),
                   b = operand_make(&lab, 3, shape, DATA_WHOLE, false);
    a.node->value[7] = INFINITY;
    a.node->value[13] = NAN;
    b.node->value[2] = -INFINITY;
    b.node->value[11] = 0;
    struct node *c = node_matmul(&lab.tape, a.node, false, b.node, false);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++) {
            double want = 0, got = c->value[i * 5 + j];
            for (size_t k = 0; k < 5; k++)
                want += a.node->value[i * 5 + k] * b.node->value[k * 5 + j];
            ck_assert_msg(isnan(want) ? isnan(got) : got == want, "[%zu, %zu]: %g for %g", i, j,
                          got, want);
        }
    operand_clear(&a);
    operand_clear(&b);
    laboratory_close(&lab);
}
END_TEST

/* Every kernel that OpenBLAS can run here. Unknown names fall back to a known core. */
START_TEST(every_blas_kernel)
{
    static const char *const cores[] = { "Prescott",   "Nehalem", "Sandybridge",
                                         "Haswell",    "Zen",     "SkylakeX",
                                         "Cooperlake", "ARMV8",   "NEOVERSEN1" };
    if (getenv("PROBE_TEST_CORE")) { /* the restarted one */
        struct findings f = { 0 };
        check_all(&f, true);
        report("brief", &f);
        return;
    }
    for (size_t k = 0; k < sizeof cores / sizeof *cores; k++) {
        bool x86 = k < 7, wide = k == 5 || k == 6;
#if defined(__x86_64__)
        if (!x86 || (wide && !__builtin_cpu_supports("avx512f")) ||
            (k == 6 && !__builtin_cpu_supports("avx512bf16")) ||
            (k > 2 && !__builtin_cpu_supports("avx2")))
            continue;
#else
        if (x86 || wide) continue;
#endif
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            setenv("OPENBLAS_CORETYPE", cores[k], 1);
            setenv("PROBE_TEST_CORE", "1", 1);
            execl(program, program, (char *)NULL);
            _exit(127);
        }
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(status == 0, "fails with OPENBLAS_CORETYPE=%s", cores[k]);
    }
}
END_TEST

int main(int count, char **arguments)
{
    (void)count;
    program = arguments[0];
    Suite *suite = suite_create("products");
    TCase *tests = tcase_create("products");
    tcase_set_timeout(tests, 600);
    if (!getenv("PROBE_TEST_CORE")) {
        tcase_add_test(tests, elements_lie_within_their_bounds);
        tcase_add_test(tests, samples_of_large_products);
        tcase_add_test(tests, whole_numbers_multiply_exactly);
        tcase_add_test(tests, non_finite_factors);
    }
    tcase_add_test(tests, every_blas_kernel);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
