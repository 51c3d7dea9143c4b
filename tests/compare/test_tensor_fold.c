/* The fold of a chunk: the same bits with every set of instructions, and for every dtype those of the same
 * values as doubles. What the sums mean is checked in test_tensor_metrics.c. */
#include "compare/dumps/tensor_fold.h"

#include <math.h>
#include <string.h>

#include "core/dtype.h"
#include "support/suite.h"

static const enum dtype dtypes[] = { DT_F64, DT_F32, DT_F16, DT_BF16 };
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*state >> 11) * 0x1p-52 - 1;
}

/* Two sides that are close, far apart, equal or 0, over many magnitudes, subnormal ones too. */
struct chunk {
    _Alignas(64) unsigned char npu[FOLD_CHUNK * sizeof(double) + 1];
    _Alignas(64) unsigned char bench[FOLD_CHUNK * sizeof(double) + 1];
};

static void fill(struct chunk *chunk, enum dtype dtype, bool with_zeros, uint64_t seed)
{
    static double x[FOLD_CHUNK], y[FOLD_CHUNK];
    uint64_t state = seed;
    for (int i = 0; i < FOLD_CHUNK; i++) {
        y[i] = ldexp(1.5 + random_number(&state) / 4, i % 35 - 20);
        if (i % 3 == 1) y[i] = -y[i];
        x[i] = y[i] * (1 + 0.01 * random_number(&state));
        if (i % 5 == 2) x[i] = y[i];
        if (i % 11 == 7) x[i] = random_number(&state);
        if (with_zeros && i % 4 == 3) y[i] = 0;
        if (with_zeros && i % 8 == 3) x[i] = 0;
    }
    dtype_from_double(chunk->npu, dtype, x, FOLD_CHUNK);
    dtype_from_double(chunk->bench, dtype, y, FOLD_CHUNK);
}

static const struct fold_bounds bounds = { 0.004, { 0.01, 0.0001, 0 } };

static void assert_equal(const struct chunk_sums *a, const struct chunk_sums *b)
{
    ck_assert(!memcmp(a->sum, b->sum, sizeof a->sum));
    ck_assert(a->max_abs == b->max_abs);
    ck_assert_uint_eq(a->thousandth, b->thousandth);
    ck_assert_uint_eq(a->five_thousandths, b->five_thousandths);
    for (int k = 0; k < FOLD_LIMITS; k++) ck_assert_uint_eq(a->within[k], b->within[k]);
    ck_assert(a->may_grow == b->may_grow && a->has_zero == b->has_zero);
}

static void compare_codes(const struct fold_code *code, enum dtype dtype, bool with_zeros)
{
    const struct fold_code *scalar = fold_code_scalar();
    struct chunk chunk;
    struct chunk_sums want, got;

    fill(&chunk, dtype, with_zeros, 7 + (uint64_t)dtype);
    for (int kind = 0; kind < FOLD_KINDS; kind++)
        for (size_t n = FOLD_LANES; n <= FOLD_CHUNK; n += FOLD_CHUNK - FOLD_LANES) {
            scalar->rows[dtype][kind](&want, chunk.npu, chunk.bench, n, &bounds);
            code->rows[dtype][kind](&got, chunk.npu, chunk.bench, n, &bounds);
            assert_equal(&got, &want);
            ck_assert(kind != FOLD_PLAIN || n < FOLD_CHUNK || want.has_zero == with_zeros);
        }
    if (dtype != DT_F64) return;
    ck_assert(
        code->largest_relative_error((double *)chunk.npu, (double *)chunk.bench, FOLD_CHUNK) ==
        scalar->largest_relative_error((double *)chunk.npu, (double *)chunk.bench, FOLD_CHUNK));
}

START_TEST(all_instructions_give_the_same_bits)
{
    const struct fold_code *codes[] = { fold_code_avx2(), fold_code_avx512(), fold_code_neon(),
                                        fold_code_best() };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        for (int zeros = 0; codes[i] && zeros < 2; zeros++)
            compare_codes(codes[i], dtypes[_i], zeros);
}
END_TEST

/* Elements are read from any address, and narrow ones give what the same values as doubles do. */
START_TEST(narrow_elements_give_the_bits_of_doubles)
{
    enum dtype dtype = dtypes[_i];
    const struct fold_code *code = fold_code_best();
    static double npu[FOLD_CHUNK], bench[FOLD_CHUNK];
    struct chunk_sums want, got;
    struct chunk chunk;

    fill(&chunk, dtype, true, 99);
    dtype_to_double(npu, chunk.npu, dtype, FOLD_CHUNK);
    dtype_to_double(bench, chunk.bench, dtype, FOLD_CHUNK);
    memmove(chunk.npu + 1, chunk.npu, FOLD_CHUNK * dtype_info(dtype)->bytes);
    memmove(chunk.bench + 1, chunk.bench, FOLD_CHUNK * dtype_info(dtype)->bytes);
    for (int kind = 0; kind < FOLD_KINDS; kind++) {
        code->rows[DT_F64][kind](&want, npu, bench, FOLD_CHUNK, &bounds);
        code->rows[dtype][kind](&got, chunk.npu + 1, chunk.bench + 1, FOLD_CHUNK, &bounds);
        assert_equal(&got, &want);
    }
}
END_TEST

/* Without zeros in Bench it makes no difference whether they were looked for. */
START_TEST(plain_and_shifted_agree_where_nothing_is_zero)
{
    const struct fold_code *code = fold_code_best();
    struct chunk_sums plain, shifted;
    struct chunk chunk;

    fill(&chunk, dtypes[_i], false, 5);
    code->rows[dtypes[_i]][FOLD_PLAIN](&plain, chunk.npu, chunk.bench, FOLD_CHUNK, &bounds);
    code->rows[dtypes[_i]][FOLD_SHIFTED](&shifted, chunk.npu, chunk.bench, FOLD_CHUNK, &bounds);
    assert_equal(&plain, &shifted);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor_fold");
    TCase *tests = tcase_create("tensor_fold");
    tcase_add_loop_test(tests, all_instructions_give_the_same_bits, 0, DTYPES);
    tcase_add_loop_test(tests, narrow_elements_give_the_bits_of_doubles, 0, DTYPES);
    tcase_add_loop_test(tests, plain_and_shifted_agree_where_nothing_is_zero, 0, DTYPES);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
