/* Functions of matrices: values and bounds, and the balls that refine them, against matrix algorithms
 * of Arb at 2000 bits, or, for singular values, against the inertia of A^T A - t I (Sylvester).
 */
#include <arb_mat.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/arithmetic/rounding.h"
#include "bench/primitive.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/singular_vectors.h"
#include "bench/tape/enclosure.h"
#include "support/suite.h"

enum { PRECISION = 2000, BATCH = 2 };

static void to_matrix(arb_mat_t m, const struct operand *a, size_t batch, size_t rows,
                      size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            arb_set(arb_mat_entry(m, (slong)i, (slong)j),
                    a->point + (batch * rows + i) * columns + j);
}

/* The node's element against the definition, and its ball. */
static void judge_both(struct findings *f, struct node *node, size_t i, const arb_t exact,
                       const char *what)
{
    struct enclosure *enclosure = enclosure_open(256, 1000000);
    arb_t ball;
    judge_element(f, node, i, exact, what);
    arb_init(ball);
    enclosure_element(enclosure, ball, node, i);
    /* Operands with bounds are leaves here, whose balls are their values: only exact ones compare. */
    if (node_is_exact(node->inputs[0]) && arb_is_finite(ball) && !arb_overlaps(ball, exact)) {
        f->wrong++;
        fprintf(stderr, "%s[%zu]: the ball misses the definition\n", what, i);
    }
    arb_clear(ball);
    enclosure_close(enclosure);
}

enum function { INVERSE, DETERMINANT, CHOLESKY, EXPONENTIAL, LU, FUNCTIONS };
static const char *const names[] = { "inverse", "determinant", "Cholesky", "exponential", "LU" };

/* Well or badly conditioned; symmetric positive definite for Cholesky. */
static struct operand any_matrix(struct laboratory *lab, enum function function, size_t n,
                                 enum data data, bool inexact)
{
    int64_t shape[3] = { BATCH, (int64_t)n, (int64_t)n };
    struct operand a = operand_make(lab, 3, shape, data, inexact);
    for (size_t b = 0; b < BATCH; b++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                size_t at = (b * n + i) * n + j, mirror = (b * n + j) * n + i;
                if (function == CHOLESKY && j < i) { /* symmetric */
                    a.node->value[at] = a.node->value[mirror];
                    if (a.node->error) a.node->error[at] = a.node->error[mirror];
                    arb_set(a.point + at, a.point + mirror);
                }
                if (i != j || (function != CHOLESKY && data != DATA_HILBERT)) continue;
                double shift = function == CHOLESKY ? 4 * (double)n : 0x1p-10;
                arb_t add;
                arb_init(add);
                arb_set_d(add, a.node->value[at]);
                arb_sub(a.point + at, a.point + at, add, ARF_PREC_EXACT); /* the displacement */
                a.node->value[at] += shift;
                arb_set_d(add, a.node->value[at]);
                arb_add(a.point + at, a.point + at, add, ARF_PREC_EXACT);
                arb_clear(add);
            }
    return a;
}

/* P A = L U with the pivots that the node chose. */
static void define_lu(arb_mat_t m, const struct node *pivots, size_t batch, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        slong best = (slong)pivots->integer[batch * n + k] - 1;
        if (best != (slong)k) arb_mat_swap_rows(m, NULL, (slong)k, best);
        for (size_t i = k + 1; i < n; i++) {
            arb_ptr l = arb_mat_entry(m, (slong)i, (slong)k);
            arb_div(l, l, arb_mat_entry(m, (slong)k, (slong)k), PRECISION);
            for (size_t j = k + 1; j < n; j++)
                arb_submul(arb_mat_entry(m, (slong)i, (slong)j), l,
                           arb_mat_entry(m, (slong)k, (slong)j), PRECISION);
        }
    }
}

static void check_function(struct findings *f, enum function function, size_t n, enum data data,
                           bool inexact)
{
    struct laboratory lab;
    struct node *y = NULL, *pivots = NULL;
    laboratory_open(&lab, BENCH_REFERENCE, n * 50 + (uint64_t)data);
    struct operand a = any_matrix(&lab, function, n, data, inexact);
    switch (function) {
    case INVERSE: y = node_inverse(&lab.tape, a.node); break;
    case DETERMINANT: y = node_determinant(&lab.tape, a.node); break;
    case CHOLESKY: y = node_cholesky(&lab.tape, a.node); break;
    case EXPONENTIAL: y = node_matrix_exponential(&lab.tape, a.node); break;
    default: y = node_lu(&lab.tape, a.node, &pivots, NULL); break;
    }
    ck_assert_msg(!tape_failed(&lab.tape), "%s", lab.tape.status.text);
    arb_mat_t in, out;
    arb_mat_init(in, (slong)n, (slong)n);
    arb_mat_init(out, (slong)n, (slong)n);
    arb_t determinant;
    arb_init(determinant);
    for (size_t b = 0; b < BATCH; b++) {
        int defined = 1;
        to_matrix(in, &a, b, n, n);
        if (function == INVERSE) defined = arb_mat_inv(out, in, PRECISION);
        if (function == CHOLESKY) defined = arb_mat_cho(out, in, PRECISION);
        if (function == EXPONENTIAL) arb_mat_exp(out, in, PRECISION);
        if (function == LU) {
            arb_mat_set(out, in);
            define_lu(out, pivots, b, n);
        }
        if (!defined) continue;
        if (function == DETERMINANT) {
            arb_mat_det(determinant, in, PRECISION);
            judge_both(f, y, b, determinant, names[function]);
            continue;
        }
        for (size_t i = 0; i < n * n; i++)
            if (isfinite(y->value[b * n * n + i]))
                judge_both(f, y, b * n * n + i, arb_mat_entry(out, (slong)(i / n), (slong)(i % n)),
                           names[function]);
    }
    arb_clear(determinant);
    arb_mat_clear(in);
    arb_mat_clear(out);
    operand_clear(&a);
    laboratory_close(&lab);
}

START_TEST(values_contain_the_definition)
{
    struct findings f = { 0 };
    for (size_t n = 1; n <= 6; n++)
        for (int data = 0; data < DATA_COUNT; data++) {
            if (data == DATA_ONES || data == DATA_EXTREME || data == DATA_WHOLE)
                continue; /* singular, overflowing */
            if (_i == CHOLESKY && data != DATA_NORMAL && data != DATA_HILBERT)
                continue; /* not positive definite */
            if (_i == EXPONENTIAL && data == DATA_GRADED) continue;
            for (int inexact = 0; inexact < 2; inexact++)
                check_function(&f, (enum function)_i, n, (enum data)data, inexact);
        }
    printf("%-14s %6zu elements, %zu wrong, %zu without a bound, widest bound %.3g u\n", names[_i],
           f.elements, f.wrong, f.unclaimed, f.widest);
    flint_cleanup();
    ck_assert_uint_eq(f.wrong, 0);
}
END_TEST

/* The number of eigenvalues of the symmetric m that are certainly greater than t, by the signs of
 * the pivots of m - t I; -1 when a pivot's sign is open. */
static int count_greater(const arb_mat_t gram, const arb_t t)
{
    slong n = arb_mat_nrows(gram);
    int positive = 0;
    arb_mat_t m;
    arb_t l;
    arb_mat_init(m, n, n);
    arb_init(l);
    arb_mat_set(m, gram);
    for (slong i = 0; i < n; i++)
        arb_sub(arb_mat_entry(m, i, i), arb_mat_entry(m, i, i), t, PRECISION);
    for (slong k = 0; k < n && positive >= 0; k++) {
        arb_ptr pivot = arb_mat_entry(m, k, k);
        if (arb_contains_zero(pivot)) positive = -1;
        else positive += arb_is_positive(pivot);
        for (slong i = k + 1; i < n && positive >= 0; i++) {
            arb_div(l, arb_mat_entry(m, i, k), pivot, PRECISION);
            for (slong j = k; j < n; j++)
                arb_submul(arb_mat_entry(m, i, j), l, arb_mat_entry(m, k, j), PRECISION);
        }
    }
    arb_mat_clear(m);
    arb_clear(l);
    return positive;
}

/* s_k, the k-th largest: at most k eigenvalues of the Gram matrix exceed (s + e)^2, more than k
 * exceed (s - e)^2. */
START_TEST(singular_values_match_the_inertia)
{
    size_t checked = 0, wrong = 0, open = 0;
    double widest = 0;
    for (size_t rows = 1; rows <= 6; rows++)
        for (size_t columns = 1; columns <= rows; columns++)
            for (int data = 0; data < DATA_COUNT; data++) {
                if (data == DATA_EXTREME) continue; /* squares overflow */
                struct laboratory lab;
                int64_t shape[3] = { 1, (int64_t)rows, (int64_t)columns };
                laboratory_open(&lab, BENCH_REFERENCE, rows * 100 + columns * 10 + (uint64_t)data);
                struct operand a =
                    operand_make(&lab, 3, shape, (enum data)data, (rows + columns) % 2);
                struct node *s = node_singular_values(&lab.tape, a.node);
                ck_assert_msg(!tape_failed(&lab.tape), "%s", lab.tape.status.text);
                arb_mat_t m, t, gram;
                arb_t level, e;
                arb_mat_init(m, (slong)rows, (slong)columns);
                arb_mat_init(t, (slong)columns, (slong)rows);
                arb_mat_init(gram, (slong)columns, (slong)columns);
                arb_init(level);
                arb_init(e);
                to_matrix(m, &a, 0, rows, columns);
                arb_mat_transpose(t, m);
                arb_mat_mul(gram, t, m, PRECISION);
                for (size_t k = 0; k < columns; k++) {
                    double value = s->value[k], bound = node_error(s, k);
                    if (value > 0) widest = fmax(widest, bound / (UNIT_ROUNDOFF * s->value[0]));
                    arb_set_d(level, value);
                    arb_set_d(e, bound);
                    arb_add(level, level, e, PRECISION);
                    arb_mul(level, level, level, PRECISION);
                    int above = count_greater(gram, level);
                    arb_set_d(level, value);
                    arb_sub(level, level, e, PRECISION);
                    bool vanishing =
                        arb_is_negative(level); /* nothing to show: singular values are >= 0 */
                    arb_mul(level, level, level, PRECISION);
                    int reached = vanishing ? (int)columns : count_greater(gram, level);
                    checked++;
                    open += above < 0 || reached < 0;
                    if (above > (int)k || (reached >= 0 && reached <= (int)k)) {
                        if (wrong++ < 5)
                            fprintf(stderr, "%s %zux%zu: s[%zu] = %.17g +- %.3g\n",
                                    data_names[data], rows, columns, k, value, bound);
                    }
                }
                arb_mat_clear(m);
                arb_mat_clear(t);
                arb_mat_clear(gram);
                arb_clear(level);
                arb_clear(e);
                operand_clear(&a);
                laboratory_close(&lab);
            }
    printf("singular values %5zu, %zu wrong, %zu undecided, widest bound %.3g u of the norm\n",
           checked, wrong, open, widest);
    flint_cleanup();
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_le(open * 20, checked);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("matrix");
    TCase *tests = tcase_create("matrix");
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, values_contain_the_definition, 0, FUNCTIONS);
    tcase_add_test(tests, singular_values_match_the_inertia);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
