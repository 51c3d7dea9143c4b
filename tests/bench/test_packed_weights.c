/* Weights of four bits in the fragments of tensor cores: packed and multiplied as the vendors' manuals say who holds what (PTX ISA,
 * mma.m16n8k16; AMD's matrix instruction calculator, v_mfma_f32_16x16x16_bf16), against long double. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/opened_call.h"
#include "support/suite.h"

enum { N = 16, K = 128, TILES = 4, WORDS = N * K / 8, GROUP = 64 };

/* Row and column within a tile of the i-th of four numbers that a lane holds. */
static void nvidia_fragment(size_t lane, size_t i, size_t *row, size_t *column)
{
    *row = lane >> 2;
    *column = lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8);
}

static void amd_fragment(size_t lane, size_t i, size_t *row, size_t *column)
{
    *row = lane & 15;
    *column = 4 * (lane >> 4) + i;
}

static const struct vendor {
    size_t rows, lanes;
    void (*fragment)(size_t lane, size_t i, size_t *row, size_t *column);
} vendors[] = { { 8, 32, nvidia_fragment }, { 16, 64, amd_fragment } };

/* u, N rows of K numbers, as PyTorch orders fragments: [N / rows][K / (16 TILES)][lanes][TILES / 2] words of two tiles, a word's
 * numbers from the highest: 7 5 3 1 6 4 2 0. */
static void pack(const struct vendor *v, const double *u, int32_t *words)
{
    static const int order[8] = { 0, 2, 4, 6, 1, 3, 5, 7 };
    for (size_t down = 0; down < N / v->rows; down++)
        for (size_t across = 0; across < K / (16 * TILES); across++)
            for (size_t lane = 0; lane < v->lanes; lane++)
                for (size_t pair = 0; pair < TILES / 2; pair++) {
                    uint32_t word = 0;
                    for (size_t k = 0; k < 8; k++) {
                        size_t i = (size_t)order[k], row, column;
                        v->fragment(lane, i % 4, &row, &column);
                        row += down * v->rows;
                        column += 16 * (across * TILES + 2 * pair + i / 4);
                        word |= ((uint32_t)u[row * K + column] & 15) << 4 * k;
                    }
                    *words++ = (int32_t)word;
                }
}

static struct value tensor_of(struct arena *arena, enum dtype dtype, int rank, const int64_t *shape,
                              const void *data)
{
    struct tensor *t = arena_allocate(arena, sizeof *t);
    ck_assert_int_eq(tensor_create(t, arena, dtype, rank, shape).code, 0);
    memcpy(t->data, data, tensor_elements(t) * dtype_info(dtype)->bytes);
    return (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = t } };
}

static const int64_t packed_shape[4] = { N / 8, K / (16 * TILES), 32, TILES / 2 };

static void check_words(struct bench *bench, const int32_t *want)
{
    const struct reference *r = &bench_output(bench, 0)->reference;
    ck_assert_int_eq(r->dtype, DT_I32);
    ck_assert_int_eq(r->rank, 4);
    for (int d = 0; d < 4; d++) ck_assert_int_eq(r->shape[d], packed_shape[d]);
    for (size_t i = 0; i < WORDS; i++)
        ck_assert_msg(r->integer[i] == want[i], "word %zu: %08x, not %08x", i,
                      (unsigned)r->integer[i], (unsigned)want[i]);
}

/* Of int32 and of bytes, whose upper half is the first of two; in the order that a device has. */
START_TEST(numbers_are_packed)
{
    static const char *const calls[] = {
        "Torch._convert_weight_to_int4pack(i32(16,128)[0..15], 4)",
        "Torch._convert_weight_to_int4pack(u8(16,64)[0..255], 4)"
    };
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(&sample, calls[_i], &arena);
    const double *x = argument(&sample, 0, &arena);
    double u[N * K];
    int32_t words[2][WORDS];
    for (size_t i = 0; i < N * K; i++)
        u[i] = _i == 0 ? x[i]
               : i % 2 ? (double)((unsigned)x[i / 2] & 15)
                       : (double)((unsigned)x[i / 2] >> 4);
    for (int v = 0; v < 2; v++) pack(&vendors[v], u, words[v]);
    ck_assert(memcmp(words[0], words[1], sizeof words[0]));
    check_words(bench, words[0]);
    for (int v = 1; v >= 0; v--) {
        struct value item = tensor_of(&arena, DT_I32, 4, packed_shape, words[v]),
                     got = { .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
        ck_assert_int_eq(bench_settle(bench, &got).code, 0);
        check_words(bench, words[v]);
    }
    words[1][7] ^= 1;
    struct value item = tensor_of(&arena, DT_I32, 4, packed_shape, words[1]),
                 got = { .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    ck_assert_int_eq(bench_settle(bench, &got).code, 0);
    check_words(bench, words[0]);
    arena_release(&arena);
}
END_TEST

/* How a kernel has its weights: as they are, rounded to bfloat16, which the model explains, or with a zero that is off, which its
 * root of the mean square does not. */
enum weights { EXACT, ROUNDED, OFF };

static const struct product_row {
    int vendor;
    enum weights weights;
} product_rows[] = { { 0, EXACT }, { 1, EXACT }, { 0, ROUNDED }, { 1, ROUNDED }, { 0, OFF } };

static double weight_of(double u, const double *scale, enum weights how)
{
    double w = (u - 8) * scale[0] + scale[1], rounded;
    uint16_t half;
    if (how == OFF) return w + 0.05 * scale[0];
    if (how == EXACT) return w;
    dtype_from_double(&half, DT_BF16, &w, 1);
    dtype_to_double(&rounded, &half, DT_BF16, 1);
    return rounded;
}

static void multiply(double *y, const double *x, const double *u, const double *scales,
                     enum weights how)
{
    for (size_t i = 0; i < 3 * N; i++) {
        y[i] = 0;
        for (size_t k = 0; k < K; k++)
            y[i] += x[i / N * K + k] *
                    weight_of(u[i % N * K + k], scales + 2 * (k / GROUP * N + i % N), how);
    }
}

/* Is every element within what the model allows, the last rounding apart? And how far is the model, in roots of mean squares? */
static bool is_explained(const struct reference *r, const double *got, double *deviations)
{
    bool all = true;
    double sum = 0;
    for (size_t i = 0; i < r->n; i++) {
        double error = fabs(got[i] - r->hi[i]);
        all = all && error <= r->kernel_bound[i] + reference_bound(r, i);
        sum += error * error / (r->kernel_rms[i] * r->kernel_rms[i]);
    }
    *deviations = sqrt(sum / (double)r->n);
    return all;
}

/* (u - 8) scale + zero of each row and group, multiplied; whichever order a device has. */
START_TEST(weights_are_multiplied)
{
    const struct product_row *row = &product_rows[_i];
    struct arena arena = { 0 };
    struct sample sample, numbers;
    struct bench *bench;
    double want[3 * N], got[3 * N], deviations;
    int32_t words[WORDS];
    ck_assert_ptr_null(sample_parse(&numbers, "Torch.relu(i32(16,128)[0..15])", &arena));
    const double *u = argument(&numbers, 0, &arena);
    pack(&vendors[row->vendor], u, words);
    ck_assert_ptr_null(sample_parse(&sample,
                                    "Torch._weight_int4pack_mm(bf16(3,128), i32(2,2,32,2), 64, "
                                    "bf16(2,16,2)[-0.3..0.3])",
                                    &arena));
    sample.c.args.list.items[1] = tensor_of(&arena, DT_I32, 4, packed_shape, words);
    const double *x = argument(&sample, 0, &arena), *scales = argument(&sample, 3, &arena);
    multiply(want, x, u, scales, EXACT);
    multiply(got, x, u, scales, row->weights);
    struct value item = tensor_of(&arena, DT_F64, 2, (int64_t[]){ 3, N }, got),
                 outputs = { .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    ck_assert_int_eq(bench_settle(bench, &outputs).code, 0);
    const struct reference *r = &bench_output(bench, 0)->reference;
    ck_assert_int_eq(r->dtype, DT_BF16);
    for (size_t i = 0; i < r->n; i++) check_element(r, i, want[i]);
    ck_assert(is_explained(r, got, &deviations) || row->weights == OFF);
    ck_assert_msg((row->weights == OFF) == (deviations > 1.5), "%g", deviations);
    if (row->weights == ROUNDED) ck_assert_double_gt(deviations, 0.5);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packed weights");
    TCase *tests = tcase_create("packed weights");
    tcase_add_loop_test(tests, numbers_are_packed, 0, 2);
    tcase_add_loop_test(tests, weights_are_multiplied, 0,
                        sizeof product_rows / sizeof *product_rows);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
