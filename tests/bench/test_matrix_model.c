/* The models of kernels of linear algebra against such kernels in float, which eliminate in a matrix or in its transpose, take
 * other bases, or balance before they iterate. */
#include "bench/primitives/matrix_model.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/complex_parts.h"
#include "bench/primitives/eigenvectors.h"
#include "bench/primitives/general_eigen.h"
#include "bench/primitives/line_errors.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/singular_vectors.h"
#include "bench/primitives/unary.h"
#include "support/random_numbers.h"
#include "support/suite.h"

enum { N = 6, DRAWS = 40 };

static struct arena arena;
static struct tape model;

static void setup(void)
{
    state = 5;
    tape_open(&model, &arena, BENCH_MODEL_WORST, false);
}

static void teardown(void) { arena_reset(&arena); }

/* A leaf (1, n, n), or of other shapes, with these elements. */
static struct node *leaf(struct tape *tape, float *data, int rank, const int64_t *shape)
{
    struct tensor *tensor = arena_allocate(&arena, sizeof *tensor);
    tensor_wrap(tensor, data, DT_F32, rank, shape);
    return node_leaf(tape, tensor, true);
}

static struct node *matrix(struct tape *tape, float *data, int64_t n)
{
    return leaf(tape, data, 3, (int64_t[]){ 1, n, n });
}

/* The inverse of a (N, N) by Gauss and Jordan in float with row exchanges; the determinant is returned. */
static float invert_in_float(float *x, const float *a)
{
    float work[N][2 * N], determinant = 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            work[i][j] = a[i * N + j];
            work[i][N + j] = i == j;
        }
    for (int k = 0; k < N; k++) {
        int best = k;
        for (int i = k + 1; i < N; i++)
            if (fabsf(work[i][k]) > fabsf(work[best][k])) best = i;
        for (int j = 0; j < 2 * N && best != k; j++) {
            float kept = work[k][j];
            work[k][j] = work[best][j];
            work[best][j] = kept;
        }
        if (best != k) determinant = -determinant;
        determinant *= work[k][k];
        for (int i = k + 1; i < N; i++) {
            float l = work[i][k] / work[k][k];
            for (int j = k; j < 2 * N; j++) work[i][j] -= l * work[k][j];
        }
    }
    for (int k = N - 1; k >= 0; k--)
        for (int j = N; j < 2 * N; j++) {
            for (int i = k + 1; i < N; i++) work[k][j] -= work[k][i] * work[i][j];
            work[k][j] /= work[k][k];
        }
    for (int i = 0; i < N * N; i++) x[i] = work[i / N][N + i % N];
    return determinant;
}

static void transpose(float *out, const float *a)
{
    for (int i = 0; i < N * N; i++) out[i] = a[i % N * N + i / N];
}

/* Elements of very different size, for which pivots of columns and of rows are others. */
static void draw_scaled(float *a)
{
    for (int i = 0; i < N * N; i++)
        a[i] = (float)ldexp(uniform() - 0.5, (int)(32 * uniform()) - 16);
}

START_TEST(inverses_by_either_elimination_are_within_the_model)
{
    for (int draw = 0; draw < DRAWS; draw++) {
        float a[N * N], turned[N * N], x[2][N * N];
        draw_scaled(a);
        transpose(turned, a);
        (void)invert_in_float(x[0], a);
        (void)invert_in_float(turned, turned);
        transpose(x[1], turned);
        struct node *inverse = node_inverse(&model, matrix(&model, a, N));
        ck_assert(!tape_failed(&model));
        for (int k = 0; k < 2; k++)
            for (size_t i = 0; i < N * N; i++)
                ck_assert(fabs(x[k][i] - inverse->value[i]) <= node_error(inverse, i));
    }
}
END_TEST

/* A model that knows one elimination alone is too narrow for these matrices. */
START_TEST(one_elimination_does_not_explain_the_other)
{
    int beyond = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        float a[N * N], turned[N * N], x[N * N];
        double lu[N * N], error[N * N];
        size_t pivot[N];
        draw_scaled(a);
        transpose(turned, a);
        (void)invert_in_float(turned, turned);
        transpose(x, turned);
        struct node *leaf_of_a = matrix(&model, a, N);
        struct node *inverse = node_inverse(&model, leaf_of_a), *pivots;
        struct node *factors = node_lu(&model, leaf_of_a, &pivots, NULL);
        memcpy(lu, factors->value, sizeof lu);
        for (int i = 0; i < N; i++) pivot[i] = (size_t)pivots->integer[i] - 1;
        const struct factored one = { leaf_of_a, 0, N, { lu, pivot }, { 0 }, inverse->value };
        matrix_model_inverse(&model, error, &one);
        for (size_t i = 0; i < N * N; i++) {
            ck_assert(error[i] <= node_error(inverse, i));
            beyond += fabs(x[i] - inverse->value[i]) > error[i];
        }
    }
    ck_assert_int_gt(beyond, 0);
}
END_TEST

/* The determinant of a matrix of rank N - 1 is 0, and a kernel's is not, of either sign. */
START_TEST(determinants_of_singular_matrices_are_open)
{
    for (int draw = 0; draw < DRAWS; draw++) {
        float a[N * N], turned[N * N], x[N * N];
        for (int i = 0; i < N * N; i++) a[i] = (float)ldexp(floor(64 * uniform()) - 32, -4);
        for (int j = 0; j < N; j++) a[(N - 1) * N + j] = 0.5F * a[j] - 1.25F * a[N + j];
        transpose(turned, a);
        const double got[2] = { invert_in_float(x, a), invert_in_float(x, turned) };
        struct node *determinant = node_determinant(&model, matrix(&model, a, N));
        struct node *sign = node_apply(&model, "sign", determinant);
        ck_assert(!tape_failed(&model));
        double error = node_error(determinant, 0);
        ck_assert(error < 1); /* some 10^-6 of the product of the norms of the rows, at most 10^4 */
        for (int k = 0; k < 2; k++) {
            ck_assert(fabs(got[k] - determinant->value[0]) <= error);
            ck_assert(fabs((got[k] > 0) - (got[k] < 0) - sign->value[0]) <= node_error(sign, 0));
        }
    }
}
END_TEST

/* What a step jumps by is not less for a last rounding that it does not have. */
START_TEST(steps_within_reach_jump_by_their_height)
{
    float x[2] = { -0.25F, 1048575.9375F };
    struct node *a = leaf(&model, x, 1, (int64_t[]){ 2 });
    a->absolute = 0.5;
    struct node *sign = node_apply(&model, "sign", a), *floor_of = node_apply(&model, "floor", a);
    ck_assert_double_ge(node_error(sign, 0), 2 + 0x1p-24);
    ck_assert_double_eq(node_error(sign, 1), 0);
    ck_assert_double_ge(node_error(floor_of, 1), 1 + 1048575 * 0x1p-24);
}
END_TEST

/* The gradient (n, n) of values by a cotangent, walked back in a model of its own. */
static const struct node *gradient_of_values(struct tape *tape, float *a, float *g, int64_t n,
                                             bool singular)
{
    tape_open(tape, &arena, BENCH_MODEL_WORST, false);
    struct node *x = matrix(tape, a, n);
    struct node *values = singular ? node_singular_values(tape, x)
                                   : node_eigenvalues(tape, x, NULL, NULL);
    values->cotangent = leaf(tape, g, 2, (int64_t[]){ 1, n });
    tape_backward(tape);
    ck_assert(!tape_failed(tape) && x->cotangent);
    (void)node_values(tape, x->cotangent);
    return x->cotangent;
}

/* Of equal values with unequal cotangents any orthonormal basis is right, of equal cotangents all give the same. */
START_TEST(gradients_of_equal_values_are_those_of_any_basis)
{
    float one[4] = { 1, 0, 0, 1 }, apart[4] = { 1, 0, 0, 3 }, null[4] = { 1, 0, 0, 0 };
    float unequal[2] = { 1, -1 }, equal[2] = { 1, 1 };
    struct tape tape;
    for (int singular = 0; singular < 2; singular++) {
        const struct node *open = gradient_of_values(&tape, one, unequal, 2, singular);
        for (size_t i = 0; i < 4; i++) /* diag(1, -1) turned by any angle */
            ck_assert_double_ge(node_error(open, i), fabs(open->value[i]) + 1);
        const struct node *same = gradient_of_values(&tape, one, equal, 2, singular);
        const struct node *alone = gradient_of_values(&tape, apart, unequal, 2, singular);
        for (size_t i = 0; i < 4; i++) {
            ck_assert_double_lt(node_error(same, i), 1e-4);
            ck_assert_double_lt(node_error(alone, i), 1e-4);
        }
    }
    const struct node *side = gradient_of_values(&tape, null, equal, 2, true);
    ck_assert_double_ge(node_error(side, 3),
                        2); /* u and v of the value 0 have signs of their own */
    ck_assert_double_lt(node_error(side, 0), 1e-4);
}
END_TEST

/* Balanced, the large element of a badly scaled matrix is as small as the smallest, and lost beside the diagonal: its vector is open.
 * A well scaled one's is not. */
START_TEST(eigenvectors_err_as_balancing_makes_them)
{
    float scaled[4] = { -4.7e-38F, -5.5e-39F, -0.4F, 1 }, plain[4] = { 1, 0.5F, 0.25F, 2 };
    struct node *vectors;
    (void)node_general_eigenvalues(&model, matrix(&model, scaled, 2), NULL, NULL, &vectors);
    ck_assert(!tape_failed(&model) && isinf(node_error(vectors, 0)));
    (void)node_general_eigenvalues(&model, matrix(&model, plain, 2), NULL, NULL, &vectors);
    ck_assert(!tape_failed(&model) && node_error(vectors, 0) < 1e-4);
}
END_TEST

/* What comes back through a transform is off by a share of its whole line, both parts of it. */
START_TEST(slopes_of_complex_lines_share_their_error)
{
    enum { EXTENT = 4, ROUNDINGS = 10 };
    static const int64_t shape[1] = { EXTENT };
    float zero[EXTENT] = { 0 }, four[EXTENT] = { 4, 4, 4, 4 };
    struct node *re = leaf(&model, zero, 1, shape), *im = leaf(&model, zero, 1, shape);
    const struct transformed_lines lines = { EXTENT, ROUNDINGS, NULL, NULL };
    struct line_slope *slope;
    struct node *y = node_model_line_slope(&model, node_complex(&model, re, im), &lines, &slope);
    node_real_part(&model, y)->cotangent = leaf(&model, four, 1, shape);
    node_imaginary_part(&model, y)->cotangent = leaf(&model, zero, 1, shape);
    tape_backward(&model);
    ck_assert(!tape_failed(&model) && im->cotangent);
    (void)node_values(&model, im->cotangent);
    for (size_t i = 0; i < EXTENT; i++)
        ck_assert_double_ge(node_error(im->cotangent, i), ROUNDINGS * 0x1p-24 * 4);
}
END_TEST

static void multiply_in_float(float *out, const float *a, const float *b)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++) sum += a[i * N + k] * b[k * N + j];
            out[i * N + j] = sum;
        }
}

/* exp(a) by the Taylor polynomial of a / 2^halvings and squares, in float. */
static void exponentiate_in_float(float *out, const float *a, int halvings)
{
    float scaled[N * N], term[N * N], next[N * N];
    for (int i = 0; i < N * N; i++) {
        scaled[i] = ldexpf(a[i], -halvings);
        out[i] = term[i] = i / N == i % N;
    }
    for (int k = 1; k <= 18; k++) {
        multiply_in_float(next, term, scaled);
        for (int i = 0; i < N * N; i++) out[i] += term[i] = next[i] / (float)k;
    }
    for (; halvings > 0; halvings--) {
        multiply_in_float(next, out, out);
        memcpy(out, next, sizeof next);
    }
}

/* Squared again and again, the exponential of a positive matrix keeps what is left of it along one vector, and the error there
 * doubles: typical errors are as large as those of a kernel in float. */
START_TEST(exponentials_of_positive_matrices_err_along_one_vector)
{
    struct tape typical;
    double squares = 0;
    tape_open(&typical, &arena, BENCH_MODEL_TYPICAL, false);
    for (int draw = 0; draw < DRAWS; draw++) {
        float a[N * N], got[N * N];
        for (int i = 0; i < N * N; i++) a[i] = (float)(8 + uniform());
        struct node *exponential = node_matrix_exponential(&typical, matrix(&typical, a, N));
        ck_assert(!tape_failed(&typical));
        exponentiate_in_float(got, a, 5);
        for (size_t i = 0; i < N * N; i++) {
            double z = (got[i] - exponential->value[i]) / node_error(exponential, i);
            squares += z * z;
        }
    }
    double rms = sqrt(squares / (DRAWS * N * N));
    ck_assert_double_gt(rms, 0.1);
    ck_assert_double_lt(rms, 2);
}
END_TEST

/* Equal elements err alike: of a matrix of equal ones all errors are one, which every squaring doubles. */
START_TEST(exponentials_of_constant_matrices_err_alike)
{
    struct tape typical;
    double largest = 0, squares = 0;
    tape_open(&typical, &arena, BENCH_MODEL_TYPICAL, false);
    for (int draw = 0; draw < DRAWS; draw++) {
        float a[N * N], got[N * N], value = (float)(2 + 2 * uniform());
        for (int i = 0; i < N * N; i++) a[i] = value;
        struct node *exponential = node_matrix_exponential(&typical, matrix(&typical, a, N));
        ck_assert(!tape_failed(&typical));
        exponentiate_in_float(got, a, 4);
        double z = (got[1] - exponential->value[1]) / node_error(exponential, 1);
        squares += z * z;
        largest = fmax(largest, fabs(z));
    }
    double rms = sqrt(squares / DRAWS);
    ck_assert_msg(largest < 3, "%g", largest);
    ck_assert_msg(rms > 0.1, "%g", rms);
}
END_TEST

/* Errors whose squares are no doubles are there all the same: 1e-200 (0.001 +- a few units of 3). */
START_TEST(errors_of_small_factors_do_not_underflow)
{
    static double a[4] = { 3e-200, -3e-200, -3e-200, 3.001e-200 };
    static const int64_t shape[3] = { 1, 2, 2 };
    struct tensor *tensor = arena_allocate(&arena, sizeof *tensor);
    struct tape typical;
    struct node *pivots;
    tape_open(&typical, &arena, BENCH_MODEL_TYPICAL, true);
    tensor_wrap(tensor, a, DT_F64, 3, shape);
    struct node *factors = node_lu(&typical, node_leaf(&typical, tensor, false), &pivots, NULL);
    ck_assert(!tape_failed(&typical));
    ck_assert_double_gt(node_error(factors, 3), 1e-216);
    ck_assert_double_lt(node_error(factors, 3), 1e-214);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("matrix_model");
    TCase *tests = tcase_create("matrix_model");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, inverses_by_either_elimination_are_within_the_model);
    tcase_add_test(tests, one_elimination_does_not_explain_the_other);
    tcase_add_test(tests, determinants_of_singular_matrices_are_open);
    tcase_add_test(tests, steps_within_reach_jump_by_their_height);
    tcase_add_test(tests, gradients_of_equal_values_are_those_of_any_basis);
    tcase_add_test(tests, eigenvectors_err_as_balancing_makes_them);
    tcase_add_test(tests, slopes_of_complex_lines_share_their_error);
    tcase_add_test(tests, exponentials_of_positive_matrices_err_along_one_vector);
    tcase_add_test(tests, exponentials_of_constant_matrices_err_alike);
    tcase_add_test(tests, errors_of_small_factors_do_not_underflow);
    suite_add_tcase(suite, tests);
    int failed = suite_run(suite);
    arena_release(&arena);
    return failed;
}
