/* Matrix products: |C - exact| <= bound for every element, on benign and on cancelling data.
 *
 * The exact element is a dot product of balls at 500 bits. Sizes 64 x k x 64 with k in 1, 2, 31,
 * 128, 1000, all elements; 1024 cubed, 1000 sampled ones. A product with one element changed by 2.01
 * bounds is found out. With OpenBLAS built for several processors the same runs on each kernel it
 * has for this one: the test starts itself again with OPENBLAS_CORETYPE set.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/arithmetic/blas.h"
#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/panels.h"
#include "bench/primitive.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
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
        if (!inexact && s % 8 == 0) judge_pair(f, c, at, exact, data_names[data]);
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

/* C + S is rounded once where S, a sum of PANEL small whole numbers, is added to a C to which none of them nor most
 * parts of S could be added without error: what bench/arithmetic/panels.h takes for granted of dgemm. */
static void check_panel_sums(size_t m, size_t n, size_t k, bool transpose_a, bool transpose_b)
{
    struct numbers numbers = { .state = m + 2 * n + k };
    double *a = malloc(m * k * sizeof *a), *b = malloc(k * n * sizeof *b);
    double *z = malloc(m * n * sizeof *z), *before = malloc(m * n * sizeof *before);
    ck_assert(a && b && z && before);
    for (size_t i = 0; i < m * k; i++) a[i] = (double)(numbers_next(&numbers) % 15);
    for (size_t i = 0; i < k * n; i++) b[i] = (double)(numbers_next(&numbers) % 15) - 4;
    for (size_t i = 0; i < m * n; i++)
        z[i] = before[i] = 0x1p62 + 0x1p10 * (double)(numbers_next(&numbers) % 4096);
    gemm_double(z, &(struct gemm){ transpose_a, transpose_b, true, m, n, k, 0, 0, 0 }, a, b);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += a[transpose_a ? l * m + i : i * k + l] *
                       b[transpose_b ? j * k + l : l * n + j];
            ck_assert_double_eq(z[i * n + j], before[i * n + j] + sum);
        }
    free(a);
    free(b);
    free(z);
    free(before);
}

static void check_all_panel_sums(void)
{
    static const size_t sizes[][3] = { { 150, 170, PANEL }, { 1, 130, PANEL }, { 130, 1, PANEL },
                                       { 3, 5, PANEL },     { 37, 29, 77 },    { 512, 40, PANEL } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int transposes = 0; transposes < 4; transposes++)
            check_panel_sums(sizes[s][0], sizes[s][1], sizes[s][2], transposes & 1, transposes & 2);
}

static void report(const char *what, const struct findings *f)
{
    printf("%-12s %-12s %8zu elements, %zu wrong, %zu without a bound, widest bound %.3g u\n", what,
           blas_core(), f->elements, f->wrong, f->unclaimed, f->widest);
    flint_cleanup();
    ck_assert_uint_eq(f->wrong, 0);
    ck_assert_uint_eq(f->unseen, 0);
    ck_assert_uint_gt(f->nonzero, 0);
}

START_TEST(elements_lie_within_their_bounds)
{
    struct findings f = { 0 };
    check_all_panel_sums();
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

/* A factor of random elements of `dtype` as an input tensor in one dimension, and its elements as balls. */
static struct node *stored_factor(struct laboratory *lab, arb_ptr point, enum dtype dtype,
                                  const int64_t *shape)
{
    int64_t n = shape[1] * shape[2];
    struct tensor *tensor = arena_allocate(&lab->arena, sizeof *tensor);
    ck_assert(tensor && !tensor_create(tensor, &lab->arena, dtype, 1, &n).code);
    for (size_t i = 0; i < (size_t)n; i++) {
        double x = numbers_normal(&lab->numbers);
        char *place = (char *)tensor->data + i * dtype_info(dtype)->bytes;
        dtype_from_double(place, dtype, &x, 1);
        dtype_to_double(&x, place, dtype, 1);
        arb_set_d(point + i, x);
    }
    return node_reshape(&lab->tape, node_leaf(&lab->tape, tensor, false), 3, shape);
}

/* Input tensors are multiplied from the dtype in which they are stored, and not converted as a whole. */
START_TEST(stored_factors)
{
    static const enum dtype dtypes[] = { DT_F32, DT_F16, DT_BF16, DT_F64 };
    enum dtype left = dtypes[_i % 4], right = dtypes[_i / 4];
    for (int transposes = 0; transposes < 4; transposes++) {
        struct layout l = { 70, 300, 45, transposes & 1, transposes & 2 };
        int64_t shape_a[3] = { 1, l.transpose_a ? 300 : 70, l.transpose_a ? 70 : 300 },
                shape_b[3] = { 1, l.transpose_b ? 45 : 300, l.transpose_b ? 300 : 45 };
        struct laboratory lab;
        struct findings f = { 0 };
        arb_t exact;
        arb_init(exact);
        laboratory_open(&lab, BENCH_REFERENCE, 40 + (uint64_t)_i);
        struct operand a = { NULL, _arb_vec_init(70 * 300), 70 * 300 },
                       b = { NULL, _arb_vec_init(45 * 300), 45 * 300 };
        a.node = stored_factor(&lab, a.point, left, shape_a);
        b.node = stored_factor(&lab, b.point, right, shape_b);
        struct node *c = node_matmul(&lab.tape, a.node, l.transpose_a, b.node, l.transpose_b);
        ck_assert_msg(!tape_failed(&lab.tape), "%s", lab.tape.status.text);
        ck_assert(!a.node->value && !b.node->value);
        for (size_t at = 0; at < c->n; at++) {
            exact_element(exact, &l, &a, &b, at / l.n, at % l.n);
            judge_element(&f, c, at, exact, "stored");
            if (at % 64 == 0) judge_pair(&f, c, at, exact, "stored");
            if (c->dtype != DT_F64)
                ck_assert_double_le(node_error(c, at), 0x1p-10 * dtype_ulp(c->dtype, c->value[at]));
        }
        ck_assert_uint_eq(f.wrong, 0);
        arb_clear(exact);
        operand_clear(&a);
        operand_clear(&b);
        laboratory_close(&lab);
    }
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

/* Factors of float64 whose squares underflow have norms all the same. */
START_TEST(tiny_factors)
{
    struct laboratory lab;
    struct findings f = { 0 };
    int64_t shape[3] = { 1, 16, 16 };
    struct layout l = { 16, 16, 16, false, false };
    laboratory_open(&lab, BENCH_REFERENCE, 6);
    struct operand a = operand_make(&lab, 3, shape, DATA_WIDE, false),
                   b = operand_make(&lab, 3, shape, DATA_WIDE, false);
    for (size_t i = 0; i < a.n; i++) {
        a.node->value[i] = ldexp(a.node->value[i], -600);
        arb_mul_2exp_si(a.point + i, a.point + i, -600);
        b.node->value[i] = ldexp(b.node->value[i], 500);
        arb_mul_2exp_si(b.point + i, b.point + i, 500);
    }
    struct node *c = node_matmul(&lab.tape, a.node, false, b.node, false);
    arb_t exact;
    arb_init(exact);
    for (size_t at = 0; at < c->n; at++) {
        exact_element(exact, &l, &a, &b, at / 16, at % 16);
        judge_element(&f, c, at, exact, "tiny");
    }
    ck_assert_uint_eq(f.wrong, 0);
    arb_clear(exact);
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
        check_all_panel_sums();
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
        tcase_add_loop_test(tests, stored_factors, 0, 16);
        tcase_add_test(tests, whole_numbers_multiply_exactly);
        tcase_add_test(tests, tiny_factors);
        tcase_add_test(tests, non_finite_factors);
    }
    tcase_add_test(tests, every_blas_kernel);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
