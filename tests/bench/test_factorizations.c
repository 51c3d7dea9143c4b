/* Factorizations that are not unique: every right answer has a reference next to it, and no wrong one is within the
 * bounds of honest kernels.
 *
 * The right answers are a device's own (BENCH_NATIVE) with other signs, which the definition allows; the wrong ones are
 * made of it: a sign that no factor follows, exchanged columns, a vector that is not orthogonal or too long, a
 * transposed factor, exchanged values.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/samples.h"
#include "support/suite.h"

enum change { SIGNS, ONE_SIGN, EXCHANGE, TILT, STRETCH, TRANSPOSE, EXCHANGE_VALUES, REPEAT_LAST };

struct row {
    const char *call;
    enum change change;
    size_t output,
        partner; /* what is changed; SIGNS: and what follows, whose ROWS are vectors if `rows` */
    bool rows, right;
};

#define QR    "Torch.linalg.qr(f32(6,6))"
#define TALL  "Torch.linalg.qr(f32(7,4), mode=\"complete\")"
#define EIGH  "Torch.linalg.eigh(f32(6,6))"
#define SVD   "Torch.linalg.svd(f32(6,6))"
#define WIDE  "Torch.svd(f32(4,7), some=False)"
#define GEQRF "Torch.geqrf(f32(6,6))"
#define LDL   "Torch.linalg.ldl_factor(f32(6,6))"

/* clang-format off */
static const struct row rows[] = {
    { QR,   SIGNS,           0, 1, true,  true },
    { QR,   ONE_SIGN,        0, 0, false, false },
    { QR,   EXCHANGE,        0, 0, false, false },
    { QR,   TILT,            0, 0, false, false },
    { QR,   STRETCH,         0, 0, false, false },
    { QR,   TRANSPOSE,       0, 0, false, false },
    { QR,   STRETCH,         1, 0, false, false },
    { TALL, SIGNS,           0, 1, true,  true },
    { TALL, REPEAT_LAST,     0, 0, false, false },
    { EIGH, SIGNS,           1, 1, false, true },
    { EIGH, EXCHANGE,        1, 0, false, false },
    { EIGH, TILT,            1, 0, false, false },
    { EIGH, STRETCH,         1, 0, false, false },
    { EIGH, TRANSPOSE,       1, 0, false, false },
    { EIGH, EXCHANGE_VALUES, 0, 0, false, false },
    { SVD,  SIGNS,           0, 2, true,  true },
    { SVD,  ONE_SIGN,        0, 0, false, false },
    { SVD,  EXCHANGE,        0, 0, false, false },
    { SVD,  TILT,            2, 0, false, false },
    { SVD,  TRANSPOSE,       2, 0, false, false },
    { SVD,  EXCHANGE_VALUES, 1, 0, false, false },
    { WIDE, SIGNS,           0, 2, false, true },
    { WIDE, REPEAT_LAST,     2, 0, false, false },
    { WIDE, STRETCH,         2, 0, false, false },
    { GEQRF, STRETCH,        0, 0, false, false },
    { GEQRF, STRETCH,        1, 0, false, false },
    { GEQRF, TRANSPOSE,      0, 0, false, false },
    { LDL,  STRETCH,         0, 0, false, false },
    { LDL,  ONE_SIGN,        0, 0, false, false },
    { LDL,  TILT,            0, 0, false, false },
};
/* clang-format on */
enum { N_ROWS = sizeof rows / sizeof *rows };

static float *at(const struct tensor *t, size_t i, size_t j)
{
    return (float *)t->data + i * (t->rank > 1 ? (size_t)t->shape[1] : 1) + j;
}

/* Column 0 (row 0 of a tensor of rows) with the other sign. */
static void turn(const struct tensor *t, bool is_row)
{
    size_t n = (size_t)t->shape[is_row];
    for (size_t i = 0; i < n; i++) {
        float *x = is_row ? at(t, 0, i) : at(t, i, 0);
        *x = -*x;
    }
}

static void apply(enum change change, const struct tensor *t)
{
    size_t n = (size_t)t->shape[0], m = t->rank > 1 ? (size_t)t->shape[1] : 1;
    for (size_t i = 0; i < n; i++) {
        float *x = t->data, first = *at(t, i, 0), *last = at(t, i, m - 1), kept;
        switch (change) {
        case SIGNS: break;
        case ONE_SIGN: *at(t, i, 0) = -first; break;
        case EXCHANGE: kept = *at(t, i, 1), *at(t, i, 1) = first, *at(t, i, 0) = kept; break;
        case TILT: *at(t, i, 0) = first + 1e-3F * *at(t, i, 1); break;
        case STRETCH: *at(t, i, 0) = first * 1.001F; break;
        case REPEAT_LAST: *last = *at(t, i, m - 2); break;
        case TRANSPOSE:
            for (size_t j = 0; j < i; j++)
                kept = *at(t, i, j), *at(t, i, j) = *at(t, j, i), *at(t, j, i) = kept;
            break;
        case EXCHANGE_VALUES:
            if (!i) kept = x[0], x[0] = x[1], x[1] = kept;
        }
    }
}

/* Is every element of every output within what honest rounding and the reference's own bound allow? */
static bool is_explained(struct bench *bench, const struct value *got)
{
    bool all = true;
    for (size_t k = 0; k < bench_output_count(bench); k++) {
        const struct reference *r = &bench_output(bench, k)->reference;
        const float *x = got->list.items[k].tensor.tensor->data;
        if (r->integer) continue; /* pivots, adopted */
        ck_assert_ptr_nonnull(r->kernel_bound);
        for (size_t i = 0; i < r->n; i++) {
            double allowed = r->kernel_bound[i] + reference_bound(r, i);
            ck_assert_double_lt(allowed, 2e-3);
            all = all && fabs(x[i] - r->hi[i]) <= allowed + 0x1p-24 * fabs(r->hi[i]);
        }
    }
    return all;
}

START_TEST(right_answers_and_no_others)
{
    const struct row *row = &rows[_i];
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench, *native;
    struct value got;

    ck_assert_ptr_null(sample_parse(&sample, row->call, &arena));
    ck_assert_int_eq(bench_open(&native, &sample.c, &arena, BENCH_NATIVE).code, 0);
    ck_assert_int_eq(bench_native_outputs(&got, native).code, 0);
    const struct tensor *changed = got.list.items[row->output].tensor.tensor;
    if (row->change == SIGNS) {
        turn(changed, false);
        if (row->partner != row->output)
            turn(got.list.items[row->partner].tensor.tensor, row->rows);
    }
    apply(row->change, changed);
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    ck_assert_int_eq(bench_settle(bench, &got).code, 0);
    ck_assert_msg(is_explained(bench, &got) == row->right, "%s, change %d", row->call,
                  (int)row->change);
    arena_release(&arena);
}
END_TEST

/* ---- complex factors: phases instead of signs ------------------------------------------------------------ */

enum complex_change { PHASES, ONE_PHASE, CONJUGATE, TILT_COMPLEX, STRETCH_COMPLEX, OTHER_ORDER };

static const struct complex_row {
    const char *call;
    enum complex_change change;
    size_t output,
        partner; /* PHASES, OTHER_ORDER: what follows, its rows with the conjugate if `rows` */
    bool rows, right;
} complex_rows[] = {
    /* clang-format off */
    { "Torch.linalg.qr(c64(5,5))", PHASES, 0, 1, true, true },
    { "Torch.linalg.qr(c64(3,5))", PHASES, 0, 1, true, true },
    { "Torch.linalg.qr(c64(5,3), mode=\"complete\")", PHASES, 0, 1, true, true },
    { "Torch.linalg.qr(c64(5,5))", ONE_PHASE, 0, 0, false, false },
    { "Torch.linalg.qr(c64(5,5))", CONJUGATE, 0, 0, false, false },
    { "Torch.linalg.qr(c64(5,5))", TILT_COMPLEX, 0, 0, false, false },
    { "Torch.linalg.eigh(c64(5,5))", PHASES, 1, 1, false, true },
    { "Torch.linalg.eigh(c64(5,5))", CONJUGATE, 1, 1, false, false },
    { "Torch.linalg.eigh(c64(5,5))", TILT_COMPLEX, 1, 1, false, false },
    { "Torch.linalg.eigh(c64(5,5))", STRETCH_COMPLEX, 1, 1, false, false },
    { "Torch.linalg.svd(c64(5,4), full_matrices=False)", PHASES, 0, 2, true, true },
    { "Torch.svd(c64(4,5))", PHASES, 0, 2, false, true },
    { "Torch.linalg.svd(c64(5,4))", ONE_PHASE, 0, 0, false, false },
    { "Torch.linalg.svd(c64(5,4))", CONJUGATE, 2, 0, false, false },
    { "Torch.linalg.svd(c64(5,4))", TILT_COMPLEX, 2, 0, false, false },
    { "Torch.linalg.eig(f32(5,5))", PHASES, 1, 1, false, true },
    { "Torch.linalg.eig(c64(5,5))", PHASES, 1, 1, false, true },
    { "Torch.linalg.eig(f32(5,5))", OTHER_ORDER, 1, 0, false, true },
    { "Torch.linalg.eig(c64(5,5))", OTHER_ORDER, 1, 0, false, true },
    { "Torch.linalg.eig(c64(5,5))", OTHER_ORDER, 1, 1, false, false }, /* of the vectors alone */
    { "Torch.linalg.eig(c64(5,5))", CONJUGATE, 0, 0, false, false },
    { "Torch.linalg.eig(c64(5,5))", CONJUGATE, 1, 0, false, false },
    { "Torch.linalg.eig(f32(5,5))", TILT_COMPLEX, 1, 0, false, false },
    { "Torch.linalg.eig(f32(5,5))", STRETCH_COMPLEX, 1, 0, false, false },
    { "Torch.linalg.eigvals(c64(5,5))", STRETCH_COMPLEX, 0, 0, false, false },
    { "Torch.geqrf(c64(5,5))", TILT_COMPLEX, 0, 0, false, false },
    { "Torch.geqrf(c64(5,5))", CONJUGATE, 1, 0, false, false },
    { "Torch.linalg.ldl_factor(c64(5,5), hermitian=True)", TILT_COMPLEX, 0, 0, false, false },
    { "Torch.linalg.ldl_factor(c64(5,5), hermitian=True)", CONJUGATE, 0, 0, false, false },
    /* clang-format on */
};
enum { N_COMPLEX_ROWS = sizeof complex_rows / sizeof *complex_rows };

/* Column 0 of a complex matrix (its row 0 with the conjugate) times a phase. */
static void turn_complex(const struct tensor *t, bool is_row)
{
    size_t columns = (size_t)t->shape[1], n = (size_t)t->shape[is_row];
    float c = cosf(0.7F), s = is_row ? -sinf(0.7F) : sinf(0.7F), *data = t->data;
    for (size_t i = 0; i < n; i++) {
        float *x = data + 2 * (is_row ? i : i * columns), re = x[0], im = x[1];
        x[0] = c * re - s * im;
        x[1] = c * im + s * re;
    }
}

/* The first two of complex numbers. */
static void exchange_complex(float *x)
{
    for (int k = 0; k < 2; k++) {
        float t = x[k];
        x[k] = x[k + 2];
        x[k + 2] = t;
    }
}

static void apply_complex(const struct complex_row *row, const struct value *got)
{
    const struct tensor *t = got->list.items[row->output].tensor.tensor;
    size_t columns = t->rank > 1 ? (size_t)t->shape[1] : 1, n = (size_t)t->shape[0] * columns;
    float *x = t->data;
    if (row->change == OTHER_ORDER) {
        for (size_t i = 0; i < n; i += columns) exchange_complex(x + 2 * i);
        if (row->partner != row->output)
            exchange_complex(got->list.items[row->partner].tensor.tensor->data);
    }
    if (row->change == PHASES || row->change == ONE_PHASE) turn_complex(t, false);
    if (row->change == PHASES && row->partner != row->output)
        turn_complex(got->list.items[row->partner].tensor.tensor, row->rows);
    for (size_t i = 0; i < n; i++) {
        if (row->change == CONJUGATE) x[2 * i + 1] = -x[2 * i + 1];
        if (i % columns) continue;
        if (row->change == TILT_COMPLEX) x[2 * i] += 1e-3F * x[2 * i + 2];
        if (row->change == STRETCH_COMPLEX) x[2 * i] *= 1.001F;
    }
}

START_TEST(complex_right_answers_and_no_others)
{
    const struct complex_row *row = &complex_rows[_i];
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench, *native;
    struct value got;
    ck_assert_ptr_null(sample_parse(&sample, row->call, &arena));
    ck_assert_int_eq(bench_open(&native, &sample.c, &arena, BENCH_NATIVE).code, 0);
    ck_assert_int_eq(bench_native_outputs(&got, native).code, 0);
    apply_complex(row, &got);
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    ck_assert_int_eq(bench_settle(bench, &got).code, 0);
    ck_assert_msg(is_explained(bench, &got) == row->right, "%s, change %d", row->call,
                  (int)row->change);
    arena_release(&arena);
}
END_TEST

/* Two values that float32 cannot tell apart: any basis of their subspace, and nothing outside of it. */
START_TEST(a_basis_of_a_subspace_is_adopted)
{
    static const char call[] = "Torch.linalg.eigh(f32(3,3)[2 0 0 0 2.0000002 0 0 0 5])";
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench, *native;
    struct value got;
    ck_assert_ptr_null(sample_parse(&sample, call, &arena));
    ck_assert_int_eq(bench_open(&native, &sample.c, &arena, BENCH_NATIVE).code, 0);
    ck_assert_int_eq(bench_native_outputs(&got, native).code, 0);
    const struct tensor *v = got.list.items[1].tensor.tensor;
    float c = 0.6F, s = 0.8F;
    const float turned[9] = { c, -s, 0, s, c, 0, 0, 0, 1 };
    const float outside[9] = { c, 0, -s, s, 0, c, 0, 1, 0 };
    for (int k = 0; k < 2; k++) {
        memcpy(v->data, k ? outside : turned, sizeof turned);
        ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
        ck_assert_int_eq(bench_model(bench).code, 0);
        ck_assert_int_eq(bench_settle(bench, &got).code, 0);
        ck_assert_int_eq(is_explained(bench, &got), k == 0);
    }
    arena_release(&arena);
}
END_TEST

/* Errors that LAPACK's vectors have: the least and the most that the model may say, in the worst case and typically. */
static const struct expected {
    const char *call;
    size_t output, element;
    double least, most, typical_least, typical_most;
} expected[] = {
    /* xBDSQR takes 98 u beside a 1 for zero, in double. */
    { "Torch.linalg.svd(f64(2,2)[1 5e-15 0 0.001])", 2, 1, 98 * 0x1p-53, 500 * 0x1p-53,
      20 * 0x1p-53, 60 * 0x1p-53 },
    /* Not in float: 8 n u is 16 u. */
    { "Torch.linalg.svd(f32(2,2)[1 1e-7 0 0.001])", 2, 1, 16 * 0x1p-24, 40 * 0x1p-24, 4 * 0x1p-24,
      12 * 0x1p-24 },
    /* What turns by t shortens by t^2: t is 16 u 1.4 / 1e-4, typically 7 u / 1e-4 at most. */
    { "Torch.linalg.eigh(f32(2,2)[1 0 0 1.0001])", 1, 0, 1.4e-4, 4e-4, 5e-7, 4e-5 },
    /* Left and right vectors of one group turn against each other, by 24 u / 4.5e-6. */
    { "Torch.linalg.svd(f32(3,3)[1 0 0 0 2.5e-6 0 0 0 2e-6])", 0, 5, 0.2, 1, 0.02, 0.2 },
};

START_TEST(errors_of_lapack_are_expected)
{
    const struct expected *row = &expected[_i];
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench;
    ck_assert_ptr_null(sample_parse(&sample, row->call, &arena));
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    const struct reference *r = &bench_output(bench, row->output)->reference;
    double worst = r->kernel_bound[row->element], typical = r->kernel_rms[row->element];
    ck_assert_msg(worst >= row->least && worst <= row->most, "%s: worst %g", row->call, worst);
    ck_assert_msg(typical >= row->typical_least && typical <= row->typical_most, "%s: typical %g",
                  row->call, typical);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("factorizations");
    TCase *tests = tcase_create("factorizations");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, right_answers_and_no_others, 0, N_ROWS);
    tcase_add_loop_test(tests, complex_right_answers_and_no_others, 0, N_COMPLEX_ROWS);
    tcase_add_test(tests, a_basis_of_a_subspace_is_adopted);
    tcase_add_loop_test(tests, errors_of_lapack_are_expected, 0,
                        sizeof expected / sizeof *expected);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
