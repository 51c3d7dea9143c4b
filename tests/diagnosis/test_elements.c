/* Results that are right but for the last step, a factor, a bit, or their place. */
#include "rows.h"

enum { M = 20, N = 36 };

struct row {
    struct api_case c;
    double *a, *b, y[M * N];
};

/* a op b of two M x N tensors, in float; `y` is not rounded to the dtype yet. */
static struct row open_row(const char *api, enum dtype dtype, double size)
{
    struct row r;
    double elements[2][M * N];
    for (int i = 0; i < M * N; i++)
        elements[0][i] = size * random_number(), elements[1][i] = size * random_number();
    int64_t shape[2] = { M, N };
    struct value a = tensor_value(&arena, dtype, true, 2, shape, elements[0], M * N),
                 b = tensor_value(&arena, dtype, true, 2, shape, elements[1], M * N);
    r.a = elements_of(&a);
    r.b = elements_of(&b);
    r.c = make_case(&arena, "Torch", api, list_value(&arena, 2, a, b));
    for (int i = 0; i < M * N; i++)
        r.y[i] = !strcmp(api, "mul") ? (float)(r.a[i] * r.b[i]) : (float)(r.a[i] + r.b[i]);
    return r;
}

static void round_all(double *y, enum dtype dtype)
{
    unsigned char bits[8];
    for (int i = 0; i < M * N; i++) {
        dtype_from_double(bits, dtype, &y[i], 1);
        dtype_to_double(&y[i], bits, dtype, 1);
    }
}

START_TEST(cut_off_results)
{
    struct row r = open_row("mul", DT_BF16, 3);
    for (int i = 0; i < M * N; i++) {
        float y = (float)r.y[i];
        uint32_t bits;
        memcpy(&bits, &y, sizeof bits);
        bits = bits >> 16 << 16;
        memcpy(&y, &bits, sizeof y);
        r.y[i] = y;
    }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "truncated output", 0.99);
    ck_assert_uint_eq(f.items[0].exact, M * N);
}
END_TEST

START_TEST(results_through_bfloat16)
{
    struct row r = open_row("mul", DT_F32, 3);
    round_all(r.y, DT_BF16);
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "output rounded twice", 0.99);
}
END_TEST

START_TEST(subnormals_flushed)
{
    struct row r = open_row("add", DT_F32, 1e-38);
    for (int i = 0; i < M * N; i++)
        if (fabs(r.y[i]) < 0x1p-126) r.y[i] = 0;
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "flushed subnormals", 0.99);
}
END_TEST

START_TEST(overflow_saturates)
{
    struct row r = open_row("mul", DT_F16, 1000);
    for (int i = 0; i < M * N; i++) r.y[i] = fmax(-65504, fmin(65504, r.y[i]));
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "saturated output", 0.99);
}
END_TEST

START_TEST(everything_times_one_half)
{
    struct row r = open_row("mul", DT_F32, 3);
    for (int i = 0; i < M * N; i++) r.y[i] /= 2;
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "wrong scale", 0.99);
    ck_assert_str_eq(f.items[0].sentence, "result times 1/2");
}
END_TEST

START_TEST(a_bit_that_is_always_set)
{
    struct row r = open_row("add", DT_F32, 3);
    for (int i = 0; i < M * N; i++) {
        float y = (float)r.y[i];
        uint32_t bits;
        memcpy(&bits, &y, sizeof bits);
        bits |= 1u << 18;
        memcpy(&y, &bits, sizeof y);
        r.y[i] = y;
    }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "stuck bit", 0.99);
    ck_assert_str_eq(f.items[0].sentence, "bit 18 of the result always 1");
}
END_TEST

START_TEST(float16_written_as_bfloat16)
{
    struct row r = open_row("add", DT_F16, 3);
    round_all(r.y, DT_F16);
    for (int i = 0; i < M * N; i++) {
        uint16_t bits;
        dtype_from_double(&bits, DT_BF16, &r.y[i], 1);
        dtype_to_double(&r.y[i], &bits, DT_F16, 1);
    }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "wrong dtype", 0.95);
}
END_TEST

START_TEST(columns_shifted_by_one)
{
    struct row r = open_row("add", DT_F32, 3);
    double y[M * N];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) y[i * N + j] = r.y[i * N + (j + 1) % N];
    struct findings f = diagnosed(&r.c, y);
    assert_looks_like(&f, "shifted", 0.99);
}
END_TEST

START_TEST(halves_of_rows_swapped)
{
    struct row r = open_row("add", DT_F32, 3);
    double y[M * N];
    for (int i = 0; i < M; i++) memcpy(&y[i * N], &r.y[(i + M / 2) % M * N], N * sizeof *y);
    struct findings f = diagnosed(&r.c, y);
    ck_assert(f.count &&
              (!strcmp(f.items[0].class, "swapped") || !strcmp(f.items[0].class, "shifted")));
    ck_assert(f.items[0].explains > 0.99);
}
END_TEST

START_TEST(rows_in_reverse_order)
{
    struct row r = open_row("add", DT_F32, 3);
    double y[M * N];
    for (int i = 0; i < M; i++) memcpy(&y[i * N], &r.y[(M - 1 - i) * N], N * sizeof *y);
    struct findings f = diagnosed(&r.c, y);
    assert_looks_like(&f, "reversed", 0.99);
}
END_TEST

START_TEST(a_row_repeated)
{
    struct row r = open_row("add", DT_F32, 3);
    memcpy(&r.y[7 * N], &r.y[6 * N], N * sizeof *r.y);
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "repeated slice", 0.99);
    ck_assert_str_eq(f.items[0].sentence, "row 7 has the values of row 6");
}
END_TEST

START_TEST(a_block_transposed)
{
    struct row r = open_row("add", DT_F32, 3);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++) {
            double *p = &r.y[(4 + i) * N + 16 + j], *q = &r.y[(4 + j) * N + 16 + i], t = *p;
            *p = *q;
            *q = t;
        }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "transposed", 0.99);
    ck_assert_ptr_nonnull(strstr(f.items[0].sentence, "[4, 16]"));
}
END_TEST

START_TEST(one_element_wrong)
{
    struct row r = open_row("add", DT_F32, 3);
    r.y[123] = 3e7;
    struct findings f = diagnosed(&r.c, r.y);
    ck_assert(f.count && f.items[0].explains > 0.99);
    ck_assert_msg(!strcmp(f.items[0].class, "single elements"), "%s", f.items[0].sentence);
}
END_TEST

START_TEST(garbage_behind_a_tile)
{
    struct row r = open_row("add", DT_F32, 3);
    for (int i = 0; i < M; i++)
        for (int j = 32; j < N; j++) r.y[i * N + j] = 1e4 * random_number();
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "wrong tail", 0.99);
    ck_assert_ptr_nonnull(strstr(f.items[0].sentence, "columns 32-35"));
}
END_TEST

START_TEST(every_sixteenth_column_is_wrong)
{
    struct row r = open_row("add", DT_F32, 3);
    for (int i = 0; i < M; i++)
        for (int j = 3; j < N; j += 16) r.y[i * N + j] += random_number();
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "tile boundary", 0.99);
    ck_assert_ptr_nonnull(strstr(f.items[0].sentence, "every 16th column from 3"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { cut_off_results,
                                   results_through_bfloat16,
                                   subnormals_flushed,
                                   overflow_saturates,
                                   everything_times_one_half,
                                   a_bit_that_is_always_set,
                                   float16_written_as_bfloat16,
                                   columns_shifted_by_one,
                                   halves_of_rows_swapped,
                                   rows_in_reverse_order,
                                   a_row_repeated,
                                   a_block_transposed,
                                   one_element_wrong,
                                   garbage_behind_a_tile,
                                   every_sixteenth_column_is_wrong };
    return run_tests("diagnosis of elements", tests, sizeof tests / sizeof *tests);
}
