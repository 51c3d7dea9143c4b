/* What every proof here rests on: error-free transformations that the compiler left alone, rounding
 * to nearest, subnormals kept, and vector functions whose bits do not depend on the width.
 */
#include <check.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/arithmetic/vector_math.h"
#include "bench/inputs.h"
#include "bench/primitives/binary_functions.h"
#include "support/suite.h"

/* Kept from being folded at compile time. */
static volatile double big = 0x1p53, one = 1, near_one = 1 + 0x1p-52, smallest = 0x1p-1074,
                       tiny = 0x1p-1022;

START_TEST(two_sum_finds_what_a_sum_loses)
{
    double a = big, b = one, s = a + b, z = s - a, e = (a - (s - z)) + (b - z);
    ck_assert(s == 0x1p53 && e == 1);
}
END_TEST

START_TEST(two_product_finds_what_a_product_loses)
{
    double a = near_one, p = a * a, e = fma(a, a, -p);
    ck_assert(p == 1 + 0x1p-51 && e == 0x1p-104);
}
END_TEST

/* a * b - p contracted to an fma would be e of the test above. */
START_TEST(products_are_not_fused_into_sums)
{
    double a = near_one, p = a * a;
    ck_assert(a * a - p == 0);
}
END_TEST

START_TEST(rounding_is_to_nearest_and_subnormals_are_kept)
{
    double half = 0.5;
    ck_assert_int_eq(fegetround(), FE_TONEAREST);
    ck_assert(smallest + smallest == 0x1p-1073);
    ck_assert(tiny * half == 0x1p-1023);
    ck_assert(one + 0x1p-54 == 1 && -one - 0x1p-54 == -1);
}
END_TEST

/* The flags that this build used: read from its compilation database. */
START_TEST(no_file_is_compiled_with_fast_math)
{
    char path[1024];
    snprintf(path, sizeof path, "%s", PROBE_UT);
    *strrchr(path, '/') = '\0';
    strcat(path, "/compile_commands.json");
    FILE *file = fopen(path, "r");
    if (!file) return; /* other generators than Ninja and make write none */
    char *line = NULL;
    size_t capacity = 0, commands = 0;
    while (getline(&line, &capacity, file) > 0) {
        if (!strstr(line, "\"command\"")) continue;
        commands++;
        ck_assert_msg(strstr(line, "-ffp-contract=off") != NULL, "%s", line);
        ck_assert_msg(!strstr(line, "-ffast-math") && !strstr(line, "-Ofast") &&
                          !strstr(line, "-funsafe-math"),
                      "%s", line);
        ck_assert_msg(!strstr(line, "-fassociative-math") && !strstr(line, "-ffinite-math"), "%s",
                      line);
    }
    free(line);
    fclose(file);
    ck_assert_uint_gt(commands, 100);
}
END_TEST

typedef void vector_function(double *out, const double *in, size_t n);
static const struct {
    const char *name;
    vector_function *vector;
    double (*scalar)(double x);
} functions[] = {
#define ROW(name, error) { #name, vector_##name, scalar_##name },
    VECTOR_MATH_UNARY(ROW)
#undef ROW
};

static bool same_bits(double a, double b)
{
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

/* Widths 8, 4, 1, lengths with every tail, in place too. */
START_TEST(widths_give_the_same_bits)
{
    static const int widths[] = { 0, 8, 4, 2, 1 };
    enum { N = 20000 };
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    struct numbers numbers = { 30 };
    for (size_t i = 0; i < N; i++) x[i] = mixed_input(&numbers, i, -40, 40);
    for (size_t i = 0; i < FEW_SPECIALS; i++) x[i * 7] = few_specials[i];
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        vector_math_limit(widths[k]);
        ck_assert(!widths[k] || vector_math_width() <= widths[k]);
        functions[_i].vector(y, x, N);
        for (size_t i = 0; i < N; i++)
            ck_assert_msg(same_bits(y[i], functions[_i].scalar(x[i])),
                          "%s(%a) at width %d: %a, alone %a", functions[_i].name, x[i], widths[k],
                          y[i], functions[_i].scalar(x[i]));
        for (size_t n = 0; n < 40; n++) {
            double some[41];
            memcpy(some, x + n * 40, sizeof some);
            functions[_i].vector(some, some, n);
            for (size_t i = 0; i < n; i++) ck_assert(same_bits(some[i], y[n * 40 + i]));
            ck_assert(same_bits(some[n], x[n * 40 + n])); /* nothing beyond the end */
        }
    }
    vector_math_limit(0);
    free(x);
    free(y);
}
END_TEST

/* The same of x^y; exact powers, mixed signs and special values among the arguments. */
START_TEST(powers_have_the_same_bits_at_every_width)
{
    static const int widths[] = { 0, 8, 4, 2, 1 };
    static const double exponents[] = { 2, 1, 0.5, 3, -1, 0, 0.25, -2.5, 1e300, INFINITY, NAN };
    enum { N = 8000 };
    const struct binary_function *pow_row = binary_find("pow");
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), *z = malloc((N + 1) * sizeof *z);
    struct numbers numbers = { 31 };
    for (size_t i = 0; i < N; i++) {
        x[i] = i % 11 ? mixed_input(&numbers, i, -40, 40) : few_specials[i % FEW_SPECIALS];
        y[i] = i % 3 ? mixed_input(&numbers, i + 1, -9, 9)
                     : exponents[i / 3 % (sizeof exponents / sizeof *exponents)];
    }
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        vector_math_limit(widths[k]);
        for (size_t n = N - 9; n <= N; n++) {
            z[n] = 42;
            pow_row->vector(z, x, y, n);
            ck_assert(z[n] == 42); /* nothing beyond the end */
        }
        for (size_t i = 0; i < N; i++)
            ck_assert_msg(same_bits(z[i], pow_row->scalar(x[i], y[i])),
                          "%a ^ %a at width %d: %a, alone %a", x[i], y[i], widths[k], z[i],
                          pow_row->scalar(x[i], y[i]));
    }
    vector_math_limit(0);
    free(x);
    free(y);
    free(z);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arithmetic");
    TCase *tests = tcase_create("arithmetic");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, two_sum_finds_what_a_sum_loses);
    tcase_add_test(tests, two_product_finds_what_a_product_loses);
    tcase_add_test(tests, products_are_not_fused_into_sums);
    tcase_add_test(tests, rounding_is_to_nearest_and_subnormals_are_kept);
    tcase_add_test(tests, no_file_is_compiled_with_fast_math);
    tcase_add_test(tests, powers_have_the_same_bits_at_every_width);
    tcase_add_loop_test(tests, widths_give_the_same_bits, 0, sizeof functions / sizeof *functions);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
