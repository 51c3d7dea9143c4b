/* Gradients in bfloat16 that start from the stored output, as autograd forms them: right where the output is known,
 * not explained by the fused model where it is not, and still judged. */
#include <math.h>
#include <string.h>

#include "bench/samples.h"
#include "standards/judge.h"
#include "support/suite.h"

static struct arena arena;
static struct sample sample;

enum { ROWS = 20, COLUMNS = 60, N = ROWS * COLUMNS };

static double input_at(size_t i) /* element i of the first argument */
{
    double x;
    const struct tensor *t = sample.c.args.list.items[0].tensor.tensor;
    dtype_to_double(&x, (const uint16_t *)t->data + i, DT_BF16, 1);
    return x;
}

static uint16_t stored(double x)
{
    uint16_t bits;
    dtype_from_double(&bits, DT_BF16, &x, 1);
    return bits;
}

static double value_of(uint16_t bits)
{
    double x;
    dtype_to_double(&x, &bits, DT_BF16, 1);
    return x;
}

/* ---- functions, and their gradients from y --------------------------------------------------------- */

typedef void function(double *y);
typedef void gradient(double *dx, const double *y, const double *c);

static void sigmoid(double *y)
{
    for (size_t i = 0; i < N; i++) y[i] = 1 / (1 + exp(-input_at(i)));
}
static void sigmoid_gradient(double *dx, const double *y, const double *c)
{
    for (size_t i = 0; i < N; i++) dx[i] = c[i] * (1 - y[i]) * y[i];
}
static void hyperbolic(double *y)
{
    for (size_t i = 0; i < N; i++) y[i] = tanh(input_at(i));
}
static void hyperbolic_gradient(double *dx, const double *y, const double *c)
{
    for (size_t i = 0; i < N; i++) dx[i] = c[i] * (1 - y[i] * y[i]);
}
static void softmax(double *y)
{
    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0;
        for (size_t j = 0; j < COLUMNS; j++) sum += exp(input_at(r * COLUMNS + j));
        for (size_t j = 0; j < COLUMNS; j++)
            y[r * COLUMNS + j] = exp(input_at(r * COLUMNS + j)) / sum;
    }
}
static void softmax_gradient(double *dx, const double *y, const double *c)
{
    for (size_t r = 0; r < ROWS; r++) {
        double dot = 0;
        for (size_t i = r * COLUMNS; i < (r + 1) * COLUMNS; i++) dot += c[i] * y[i];
        for (size_t i = r * COLUMNS; i < (r + 1) * COLUMNS; i++) dx[i] = y[i] * (c[i] - dot);
    }
}
static void log_softmax(double *y)
{
    softmax(y);
    for (size_t i = 0; i < N; i++) y[i] = log(y[i]);
}
static void log_softmax_gradient(double *dx, const double *y, const double *c)
{
    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0;
        for (size_t i = r * COLUMNS; i < (r + 1) * COLUMNS; i++) sum += c[i];
        for (size_t i = r * COLUMNS; i < (r + 1) * COLUMNS; i++) dx[i] = c[i] - exp(y[i]) * sum;
    }
}

static const struct {
    const char *call;
    function *function;
    gradient *gradient;
} formulas[] = {
    { "Torch.sigmoid(bf16(20,60)[3..9])", sigmoid, sigmoid_gradient },
    { "Torch.tanh(bf16(20,60)[1..3])", hyperbolic, hyperbolic_gradient },
    { "Functional.softmax(bf16(20,60)[-2..2], dim=1)", softmax, softmax_gradient },
    { "Functional.log_softmax(bf16(20,60)[-2..2], dim=1)", log_softmax, log_softmax_gradient },
};
enum { FORMULAS = sizeof formulas / sizeof *formulas };

/* ---- judging ----------------------------------------------------------------------------------------- */

static struct tensor *tensor_of(const double *x)
{
    struct tensor *t = arena_allocate(&arena, sizeof *t);
    const int64_t shape[2] = { ROWS, COLUMNS };
    ck_assert_int_eq(tensor_create(t, &arena, DT_BF16, 2, shape).code, 0);
    for (size_t i = 0; i < N; i++) ((uint16_t *)t->data)[i] = stored(x[i]);
    return t;
}

/* The gradient from the stored output, times 1 + `off` in its last row. */
static struct judged judge_formula(int k, bool known, double off)
{
    static double y[N], c[N], dx[N];
    struct bench *bench;
    struct bench_output *gradients;
    size_t count;
    struct numbers numbers = { 7 + (uint64_t)k };
    struct value cotangents, item = { .kind = VALUE_TENSOR }, outputs = { .kind = VALUE_LIST };
    struct profile *profile;
    struct judged judged;
    const struct file_policy policy = { .trusted = true };

    arena_reset(&arena);
    const char *wrong = sample_parse(&sample, arena_copy_string(&arena, formulas[k].call), &arena);
    ck_assert_msg(!wrong, "%s: %s", formulas[k].call, wrong);
    formulas[k].function(y);
    item.tensor.tensor = tensor_of(y);
    outputs.list.items = &item;
    outputs.list.count = known ? 1 : 0;
    for (size_t i = 0; i < N; i++) y[i] = value_of(stored(y[i]));
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_settle(bench, &outputs).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    sample_cotangents(&cotangents, bench, &arena, &numbers);
    dtype_to_double(c, cotangents.list.items[0].tensor.tensor->data, DT_BF16, N);
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &cotangents).code, 0);
    formulas[k].gradient(dx, y, c);
    for (size_t i = N - COLUMNS; i < N; i++) dx[i] *= 1 + off;

    struct value got = { .kind = VALUE_TENSOR };
    struct wanted wanted = { .reference = &gradients[0].reference };
    got.tensor.tensor = tensor_of(dx);
    ck_assert_int_eq(profile_load(&profile, "strict", NULL, policy).code, 0);
    const struct judge_request request = { .profile = profile,
                                           .c = &sample.c,
                                           .backward = true,
                                           .bench_dtype = DT_F32,
                                           .input_dtype = DT_BF16,
                                           .precision = 14 };
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &got).code, 0);
    profile_release(profile);
    return judged;
}

START_TEST(pass_where_the_output_is_known)
{
    struct judged judged = judge_formula(_i, true, 0);
    ck_assert_msg(judged.verdict == VERDICT_PASS, "%s: %s", formulas[_i].call,
                  judged.cells[COLUMN_MESSAGE]);
    ck_assert_msg(strstr(judged.cells[COLUMN_MESSAGE], "stored in torch.bfloat16") != NULL,
                  "%s: %s", formulas[_i].call, judged.cells[COLUMN_MESSAGE]);
}
END_TEST

START_TEST(no_pass_where_it_is_not)
{
    ck_assert_int_ne(judge_formula(_i, false, 0).verdict, VERDICT_PASS);
}
END_TEST

START_TEST(faults_are_still_seen)
{
    ck_assert_int_ne(judge_formula(_i, true, 0.02).verdict, VERDICT_PASS);
    ck_assert_int_eq(judge_formula(_i, true, 0.5).verdict, VERDICT_ERROR);
}
END_TEST

static void teardown(void) { arena_release(&arena); }

int main(void)
{
    Suite *suite = suite_create("stored_outputs");
    TCase *tcase = tcase_create("stored_outputs");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, pass_where_the_output_is_known, 0, FORMULAS);
    tcase_add_loop_test(tcase, no_pass_where_it_is_not, 0, FORMULAS);
    tcase_add_loop_test(tcase, faults_are_still_seen, 0, FORMULAS);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
