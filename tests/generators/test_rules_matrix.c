/* Rules of matrices: they can be inverted or factored, whatever range was recorded. */
#include "rule_checks.h"

/* Cholesky factorisation in long double; false when a pivot is not positive. */
static bool is_positive_definite(const double *a, size_t n)
{
    long double l[16][16] = { { 0 } };
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++) {
            long double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
            if (i == j && sum <= 0) return false;
            l[i][j] = i == j ? sqrtl(sum) : sum / l[j][j];
        }
    }
    return true;
}

/* LU without exchanges: the smallest pivot relative to the largest entry. */
static double smallest_pivot(const double *a, size_t n)
{
    long double u[16][16], largest = 0, smallest = INFINITY;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            u[i][j] = a[i * n + j];
            if (fabsl(u[i][j]) > largest) largest = fabsl(u[i][j]);
        }
    for (size_t k = 0; k < n; k++) {
        if (fabsl(u[k][k]) < smallest) smallest = fabsl(u[k][k]);
        for (size_t i = k + 1; i < n; i++) {
            long double factor = u[i][k] / u[k][k];
            for (size_t j = k; j < n; j++) u[i][j] -= factor * u[k][j];
        }
    }
    return (double)(smallest / largest);
}

/* Ranges that hold zero, are all positive, all negative, or one value; in float32 and
 * bfloat16, whose rounding must not break it. */
static const double matrix_ranges[][2] = {
    { -0.25, 6.5 }, { 0.5, 6 }, { 5.9, 6 }, { -6, -0.5 }, { -3, 0 }, { 2, 2 }, { -1, 1 },
};

START_TEST(cholesky_gets_positive_definite_matrices)
{
    for (size_t r = 0; r < 7; r++) {
        for (int d = 0; d < 2; d++) {
            struct built_case *b = numbered(r % 2 ? "Torch.cholesky" : "Torch.linalg.cholesky_ex");
            double lo = matrix_ranges[r][0], hi = matrix_ranges[r][1];
            add(b, TENSOR3(b, d ? DT_BF16 : DT_F32, lo, hi, 5, 8, 8));
            generate(b);
            const double *x = reals(b, &b->args[0]);
            bool widened = noted(b, "no regular ones");
            for (int m = 0; m < 5; m++) {
                const double *a = x + 64 * m;
                for (int i = 0; i < 8; i++)
                    for (int k = 0; k < 8; k++) {
                        ck_assert_double_eq(a[8 * i + k], a[8 * k + i]);
                        /* 0.5 %: bfloat16 bounds move inward, never outward. */
                        if (!widened) ck_assert(a[8 * i + k] >= lo && a[8 * i + k] <= hi);
                    }
                ck_assert_msg(is_positive_definite(a, 8), "range %zu", r);
            }
            ck_assert_int_eq(widened, hi <= fmax(lo, 0));
            free_case(b);
        }
    }
}
END_TEST

START_TEST(inverse_gets_well_conditioned_matrices)
{
    static const char *const apis[] = { "Torch.inverse", "Torch.det", "Torch.slogdet",
                                        "Torch.cholesky_inverse", "Torch.lu_factor" };
    for (size_t r = 0; r < 7; r++) {
        struct built_case *b = numbered(apis[r % 5]);
        double lo = matrix_ranges[r][0], hi = matrix_ranges[r][1];
        add(b, TENSOR3(b, DT_F32, lo, hi, 4, 8, 8));
        generate(b);
        const double *x = reals(b, &b->args[0]);
        for (int m = 0; m < 4; m++) {
            ck_assert_msg(smallest_pivot(x + 64 * m, 8) > 0.001, "range %zu", r);
            for (int i = 0; i < 64 && !noted(b, "no regular ones"); i++)
                ck_assert(x[64 * m + i] >= (float)lo && x[64 * m + i] <= (float)hi);
        }
        free_case(b);
    }
    struct built_case *b = numbered("Torch.inverse"); /* not square: not ours */
    add(b, TENSOR2(b, DT_F32, -1, 1, 4, 6));
    generate(b);
    ck_assert_uint_eq(b->notes.count, 0);
    free_case(b);
}
END_TEST

/* solve(A, B) of torch.linalg, the older solve(B, A), and the right-hand side of both. */
START_TEST(solve_finds_its_matrix)
{
    for (int old = 0; old < 2; old++) {
        struct built_case *b = numbered("Torch.solve");
        struct value a = TENSOR2(b, DT_F32, -1, 1, 8, 8), right = TENSOR2(b, DT_F32, -1, 1, 8, 3);
        add(b, old ? right : a);
        add(b, old ? a : right);
        generate(b);
        ck_assert_double_gt(smallest_pivot(reals(b, &b->args[old]), 8), 0.01);
        ck_assert_uint_eq(b->notes.count, 1);
        free_case(b);
    }
    struct built_case *b = numbered("Torch.tensorsolve");
    add(b, TENSOR3(b, DT_F32, -1, 1, 2, 3, 6));
    add(b, TENSOR2(b, DT_F32, -1, 1, 2, 3));
    generate(b);
    ck_assert_double_gt(smallest_pivot(reals(b, &b->args[0]), 6), 0.01);
    free_case(b);
}
END_TEST

/* Hermitian with a real positive diagonal that outweighs its row. */
START_TEST(complex_matrices_are_hermitian)
{
    struct built_case *b = numbered("Torch.cholesky");
    add(b, TENSOR2(b, DT_C64, 0, 4, 6, 6));
    generate(b);
    const double *z = reals(b, &b->args[0]);
    for (int i = 0; i < 6; i++) {
        double row = 0;
        for (int k = 0; k < 6; k++) {
            const double *x = z + 2 * (6 * i + k), *y = z + 2 * (6 * k + i);
            ck_assert_double_eq(x[0], y[0]);
            ck_assert_double_eq(x[1], -y[1]);
            if (k != i) row += hypot(x[0], x[1]);
        }
        ck_assert_double_lt(row, z[2 * (7 * i)]);
    }
    free_case(b);
}
END_TEST

START_TEST(pivots_point_forward)
{
    for (int linalg = 0; linalg < 2; linalg++) {
        struct built_case *b = numbered("Torch.lu_solve");
        struct value right = TENSOR3(b, DT_F32, -1, 1, 3, 6, 2);
        if (!linalg) add(b, right);
        add(b, TENSOR3(b, DT_F32, -1, 1, 3, 6, 6));
        add(b, TENSOR2(b, DT_I32, 1, 6, 3, 6));
        if (linalg) add(b, right);
        generate(b);
        const int64_t *x = integers(b, &b->args[linalg ? 1 : 2]);
        for (int i = 0; i < 18; i++) ck_assert(x[i] >= i % 6 + 1 && x[i] <= 6);
        ck_assert_double_gt(fabs(reals(b, &b->args[linalg ? 0 : 1])[0]), 0.4);
        free_case(b);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rules of matrices");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, cholesky_gets_positive_definite_matrices);
    tcase_add_test(tests, inverse_gets_well_conditioned_matrices);
    tcase_add_test(tests, solve_finds_its_matrix);
    tcase_add_test(tests, complex_matrices_are_hermitian);
    tcase_add_test(tests, pivots_point_forward);
    return run_tests("rules of matrices", tests);
}
