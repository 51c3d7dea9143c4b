/* Modes of kernels that a user allows: kernels in such a mode, written out here by their bits, are errors without
 * the allowance and pass with it, and kernels with another mistake stay errors. */
#include <math.h>
#include <string.h>

#include "bench/samples.h"
#include "standards/judge.h"
#include "support/suite.h"

static struct arena arena;
static struct sample sample;

/* ---- kernels by their bits ----------------------------------------------------------------------- */

enum format { TF32_NEAREST, TF32_CUT, HF32_NEAREST, HF32_CUT, BF16, FULL };

/* Nearest, ties away from 0, by adding half a step to the bits (cvt.rna); or the bits left out. */
static float shortened(float x, enum format format)
{
    static const struct {
        unsigned bits;
        bool nearest;
    } formats[] = { { 13, true },  { 13, false }, { 12, true },
                    { 12, false }, { 16, true },  { 0, false } };
    uint32_t bits, mask = (1u << formats[format].bits) - 1;
    memcpy(&bits, &x, sizeof bits);
    if (formats[format].nearest) bits += (mask + 1) / 2;
    bits &= ~mask;
    memcpy(&x, &bits, sizeof x);
    return x;
}

enum { M = 24, K = 300, N = 20 };

/* The float32 product of a (M, K) and b (K, N) with shortened factors, terms added in order. */
static void product(float *out, const float *a, const float *b, enum format format)
{
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            float sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += shortened(a[i * K + k], format) * shortened(b[k * N + j], format);
            out[i * N + j] = sum;
        }
}

/* Factors as two bfloat16, whose lower parts do not meet. */
static void split_product(float *out, const float *a, const float *b)
{
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            float sum = 0;
            for (size_t k = 0; k < K; k++) {
                float x = a[i * K + k], y = b[k * N + j];
                float xh = shortened(x, BF16), yh = shortened(y, BF16);
                float xl = shortened(x - xh, BF16), yl = shortened(y - yh, BF16);
                sum += xh * yh;
                sum += xh * yl;
                sum += xl * yh;
            }
            out[i * N + j] = sum;
        }
}

/* ---- judging -------------------------------------------------------------------------------------- */

static struct bench *open_call(const char *call)
{
    struct bench *bench;
    const char *wrong = sample_parse(&sample, arena_copy_string(&arena, call), &arena);
    ck_assert_msg(!wrong, "%s: %s", call, wrong);
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    return bench;
}

static const float *argument(size_t i)
{
    const struct tensor *t = sample.c.args.list.items[i].tensor.tensor;
    ck_assert_int_eq(t->dtype, DT_F32);
    return t->data;
}

static struct judged judged_as(struct reference *want, bool backward, const char *allow,
                               const void *got)
{
    struct profile *profile;
    struct judged judged;
    struct kernel_modes modes = { .function_count = 0 };
    const struct file_policy policy = { .trusted = true };
    struct tensor returned;
    struct value value = { .kind = VALUE_TENSOR };
    struct wanted wanted = { .reference = want };
    ck_assert_int_eq(profile_load(&profile, "strict", NULL, policy).code, 0);
    if (*allow) ck_assert_int_eq(kernel_modes_read(&modes, allow).code, 0);
    ck_assert_int_eq(profile_allow(profile, &modes).code, 0);
    ck_assert_int_eq(tensor_create(&returned, &arena, want->dtype, want->rank, want->shape).code,
                     0);
    memcpy(returned.data, got, want->n * dtype_info(want->dtype)->bytes);
    value.tensor.tensor = &returned;
    const struct judge_request request = { .profile = profile,
                                           .c = &sample.c,
                                           .backward = backward,
                                           .bench_dtype = DT_F64,
                                           .input_dtype = want->dtype,
                                           .precision = 14 };
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &value).code, 0);
    profile_release(profile);
    return judged;
}

static struct judged judged_with(struct bench *bench, const char *allow, const void *got)
{
    return judged_as(&bench_output(bench, 0)->reference, false, allow, got);
}

static void expect(struct bench *bench, const char *allow, const void *got, enum verdict verdict,
                   const char *allowance)
{
    struct judged judged = judged_with(bench, allow, got);
    ck_assert_msg(judged.verdict == verdict, "--allow %s: %s, not %s: %s", allow,
                  verdict_name(judged.verdict), verdict_name(verdict),
                  judged.cells[COLUMN_MESSAGE]);
    if (!allowance) ck_assert_ptr_null(judged.allowance);
    else ck_assert_str_eq(judged.allowance, allowance);
    for (size_t i = 0; verdict == VERDICT_PASS && i < judged.limit_count; i++)
        ck_assert_msg(judged.limits[i].holds, "%s", judged.limits[i].metric);
}

/* Random signs, one sign, constants: where roundings cancel, add up, and are all the same. Sums of 300 equal terms in
 * float32 may be off by more than TF32 makes them, so that those pass anyway. */
static const char *const products[] = {
    "Torch.matmul(f32(24,300), f32(300,20))",
    "Torch.matmul(f32(24,300)[0.5..4], f32(300,20)[1..2])",
    "Torch.matmul(f32(24,300)[0.1..0.1], f32(300,20)[0.7..0.7])",
};

START_TEST(short_factors_pass_where_allowed)
{
    static const struct {
        enum format format;
        const char *allow;
        bool passes;
    } rows[] = {
        { TF32_NEAREST, "tf32", true },    { TF32_CUT, "tf32", true },
        { HF32_NEAREST, "hf32", true },    { HF32_CUT, "hf32", true },
        { TF32_NEAREST, "hf32", false },   { TF32_CUT, "hf32", false },
        { HF32_NEAREST, "tf32", false },   { BF16, "tf32", false },
        { BF16, "hf32", false },           { BF16, "tf32,hf32,bf16x2,ftz,staged", false },
        { TF32_CUT, "ftz,staged", false },
    };
    float got[M * N];
    for (size_t p = 0; p < 2; p++) {
        arena_reset(&arena);
        struct bench *bench = open_call(products[p]);
        product(got, argument(0), argument(1), FULL);
        expect(bench, "tf32,hf32", got, VERDICT_PASS, "none needed");
        expect(bench, "", got, VERDICT_PASS, NULL);
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            product(got, argument(0), argument(1), rows[k].format);
            expect(bench, "", got, VERDICT_ERROR, NULL);
            expect(bench, rows[k].allow, got, rows[k].passes ? VERDICT_PASS : VERDICT_ERROR,
                   rows[k].passes ? rows[k].allow : "does not explain it");
        }
        /* Which of several was needed. */
        product(got, argument(0), argument(1), HF32_NEAREST);
        expect(bench, "tf32,hf32,bf16x2,ftz", got, VERDICT_PASS, "hf32");
    }
}
END_TEST

START_TEST(constants_in_short_factors_pass)
{
    float got[M * N];
    arena_reset(&arena);
    struct bench *bench = open_call(products[2]);
    for (enum format format = TF32_NEAREST; format <= HF32_CUT; format++) {
        product(got, argument(0), argument(1), format);
        ck_assert_int_eq(judged_with(bench, "tf32,hf32", got).verdict, VERDICT_PASS);
    }
}
END_TEST

/* The gradient of a product is one, too: G transpose(B). */
START_TEST(gradients_have_short_factors)
{
    struct bench_output *gradients;
    struct value cotangents;
    struct numbers numbers = { 7 };
    size_t count;
    float transposed[N * K], got[M * K];
    arena_reset(&arena);
    struct bench *bench = open_call(products[0]);
    sample_cotangents(&cotangents, bench, &arena, &numbers);
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &cotangents).code, 0);
    const float *g = cotangents.list.items[0].tensor.tensor->data, *b = argument(1);
    for (size_t i = 0; i < K * N; i++) transposed[i % N * K + i / N] = b[i];
    for (size_t i = 0; i < M; i++)
        for (size_t k = 0; k < K; k++) {
            float sum = 0;
            for (size_t j = 0; j < N; j++)
                sum += shortened(g[i * N + j], HF32_CUT) *
                       shortened(transposed[j * K + k], HF32_CUT);
            got[i * K + k] = sum;
        }
    struct reference *want = &gradients[0].reference;
    ck_assert_int_eq(judged_as(want, true, "", got).verdict, VERDICT_ERROR);
    ck_assert_int_eq(judged_as(want, true, "hf32", got).verdict, VERDICT_PASS);
    ck_assert_int_eq(judged_as(want, true, "tf32", got).verdict, VERDICT_ERROR);
}
END_TEST

/* Convolutions are products: HF32 is Ascend's default for them. */
START_TEST(convolutions_have_short_factors)
{
    enum { CHANNELS = 16, LENGTH = 40, FILTERS = 12, TAPS = 3, POINTS = LENGTH - TAPS + 1 };
    float got[FILTERS * POINTS];
    arena_reset(&arena);
    struct bench *bench = open_call("Functional.conv1d(f32(1,16,40), f32(12,16,3))");
    const float *x = argument(0), *w = argument(1);
    for (enum format format = TF32_NEAREST; format <= FULL; format++) {
        for (size_t f = 0; f < FILTERS; f++)
            for (size_t p = 0; p < POINTS; p++) {
                float sum = 0;
                for (size_t k = 0; k < CHANNELS * TAPS; k++)
                    sum += shortened(w[f * CHANNELS * TAPS + k], format) *
                           shortened(x[k / TAPS * LENGTH + p + k % TAPS], format);
                got[f * POINTS + p] = sum;
            }
        bool hf32 = format == HF32_NEAREST || format == HF32_CUT;
        expect(bench, "", got, format == FULL ? VERDICT_PASS : VERDICT_ERROR, NULL);
        expect(bench, "hf32", got, hf32 || format == FULL ? VERDICT_PASS : VERDICT_ERROR,
               format == FULL ? "none needed"
               : hf32         ? "hf32"
                              : "does not explain it");
    }
}
END_TEST

/* An allowance hides nothing else: one element of a TF32 product that is off by a few of its roundings. */
START_TEST(faults_beside_a_mode_are_found)
{
    float got[M * N];
    arena_reset(&arena);
    struct bench *bench = open_call(products[1]);
    product(got, argument(0), argument(1), TF32_NEAREST);
    expect(bench, "tf32", got, VERDICT_PASS, "tf32");
    got[77] *= 1 + 0x1p-17f;
    expect(bench, "tf32", got, VERDICT_ERROR, "does not explain it");
}
END_TEST

START_TEST(split_factors_pass_where_allowed)
{
    float got[M * N];
    for (size_t p = 0; p < 2; p++) {
        arena_reset(&arena);
        struct bench *bench = open_call(products[p]);
        split_product(got, argument(0), argument(1));
        /* With one sign the sum of 300 terms hides it. */
        expect(bench, "", got, p ? VERDICT_PASS : VERDICT_ERROR, NULL);
        expect(bench, "bf16x2", got, VERDICT_PASS, p ? "none needed" : "bf16x2");
        if (!p) expect(bench, "tf32", got, VERDICT_ERROR, "does not explain it");
    }
}
END_TEST

/* TensorFlow's manual has this one: 1.0001 added up 1,024 times is 1024 in TF32. */
START_TEST(a_documented_example)
{
    const float got = 1024;
    arena_reset(&arena);
    struct bench *bench = open_call("Torch.matmul(f32(1,1024)[1.0001..1.0001], f32(1024,1)[1..1])");
    expect(bench, "", &got, VERDICT_ERROR, NULL);
    expect(bench, "tf32", &got, VERDICT_PASS, "tf32");
}
END_TEST

/* ---- subnormals ------------------------------------------------------------------------------------ */

START_TEST(subnormals_may_be_zero)
{
    enum { COUNT = 500 };
    float got[COUNT];
    arena_reset(&arena);
    struct bench *bench = open_call("Torch.mul(f32(500), 0.9)");
    const float *x = argument(0);
    float *small = (float *)(uintptr_t)x;
    for (size_t i = 0; i < COUNT; i++) small[i] *= i % 2 ? 0x1p-126f : 0x1p-140f;
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    for (size_t i = 0; i < COUNT; i++) {
        float exact = x[i] * 0.9f;
        got[i] = fabsf(exact) < 0x1p-126f ? copysignf(0, exact) : exact;
    }
    expect(bench, "", got, VERDICT_ERROR, NULL);
    expect(bench, "ftz", got, VERDICT_PASS, "ftz");
    expect(bench, "tf32", got, VERDICT_ERROR, "does not explain it");
    got[1] = 0x1p-120f; /* not 0, and not what it should be */
    expect(bench, "ftz", got, VERDICT_ERROR, "does not explain it");
}
END_TEST

/* ---- functions ------------------------------------------------------------------------------------- */

/* exp off by `ulps` everywhere, to either side. */
static void off_exponentials(float *got, const float *x, size_t n, int ulps)
{
    for (size_t i = 0; i < n; i++) {
        float y = (float)exp((double)x[i]);
        uint32_t bits;
        memcpy(&bits, &y, sizeof bits);
        bits = i % 2 ? bits + (uint32_t)ulps : bits - (uint32_t)ulps;
        memcpy(&got[i], &bits, sizeof bits);
    }
}

START_TEST(functions_are_as_good_as_stated)
{
    enum { COUNT = 400 };
    float got[COUNT];
    arena_reset(&arena);
    struct bench *bench = open_call("Torch.exp(f32(400)[-2..2])");
    off_exponentials(got, argument(0), COUNT, 20);
    expect(bench, "", got, VERDICT_ERROR, NULL);
    expect(bench, "fast-math:exp=32", got, VERDICT_PASS, "fast-math:exp=32");
    expect(bench, "fast-math:exp=8", got, VERDICT_ERROR, "does not explain it");
    expect(bench, "fast-math:log=32", got, VERDICT_ERROR, "does not explain it");
}
END_TEST

/* ---- stages ---------------------------------------------------------------------------------------- */

static uint16_t bf16_bits(double x)
{
    uint16_t bits;
    dtype_from_double(&bits, DT_BF16, &x, 1);
    return bits;
}
static double bf16(double x)
{
    uint16_t bits = bf16_bits(x);
    dtype_to_double(&x, &bits, DT_BF16, 1);
    return x;
}

START_TEST(stages_pass_where_allowed)
{
    enum { COUNT = 500 };
    uint16_t got[COUNT];
    arena_reset(&arena);
    struct bench *bench = open_call("Functional.silu(bf16(500))");
    const struct tensor *t = sample.c.args.list.items[0].tensor.tensor;
    for (size_t i = 0; i < COUNT; i++) {
        double x;
        dtype_to_double(&x, (const char *)t->data + 2 * i, DT_BF16, 1);
        got[i] = bf16_bits(x / bf16(1 + bf16(exp(-x))));
    }
    expect(bench, "", got, VERDICT_WARNING, NULL);
    struct judged judged = judged_with(bench, "staged", got);
    ck_assert_int_eq(judged.verdict, VERDICT_PASS);
    ck_assert_str_eq(judged.allowance, "staged");
}
END_TEST

START_TEST(functions_have_to_exist)
{
    struct kernel_modes modes = { .function_count = 0 };
    ck_assert_int_eq(kernel_modes_read(&modes, "fast-math:exq=8").code, 0);
    struct status status = bench_check_functions(&modes);
    ck_assert_int_eq(status.code, STATUS_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(status.text, "'exp'"));
    struct kernel_modes known = { .function_count = 0 };
    ck_assert_int_eq(kernel_modes_read(&known, "fast-math:exp=8,fast-math:pow=16").code, 0);
    ck_assert_int_eq(bench_check_functions(&known).code, 0);
}
END_TEST

static void teardown(void) { arena_release(&arena); }

int main(void)
{
    Suite *suite = suite_create("allowed");
    TCase *tcase = tcase_create("allowed");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, short_factors_pass_where_allowed);
    tcase_add_test(tcase, constants_in_short_factors_pass);
    tcase_add_test(tcase, gradients_have_short_factors);
    tcase_add_test(tcase, convolutions_have_short_factors);
    tcase_add_test(tcase, faults_beside_a_mode_are_found);
    tcase_add_test(tcase, split_factors_pass_where_allowed);
    tcase_add_test(tcase, a_documented_example);
    tcase_add_test(tcase, subnormals_may_be_zero);
    tcase_add_test(tcase, functions_are_as_good_as_stated);
    tcase_add_test(tcase, stages_pass_where_allowed);
    tcase_add_test(tcase, functions_have_to_exist);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
