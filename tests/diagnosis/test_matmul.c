/* Matrix products by kernels with one mistake each, written out as loops. */
#include "rows.h"

enum { M = 24, N = 40, K = 56 };

struct product {
    struct api_case c;
    double *a, *b, y[M * N];
};

static struct product open_product(enum dtype dtype)
{
    struct product p;
    struct value a = random_value(dtype, 2, (int64_t[]){ M, K }),
                 b = random_value(dtype, 2, (int64_t[]){ K, N });
    p.a = elements_of(&a);
    p.b = elements_of(&b);
    p.c = make_case(&arena, "Torch", "matmul", list_value(&arena, 2, a, b));
    return p;
}

/* The product of what `read` makes of the elements, sums in float rounded by `keep` after each term. */
static void multiply(struct product *p, float (*read)(float), float (*keep)(float), int depth)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < depth; k++) {
                sum += read((float)p->a[i * K + k]) * read((float)p->b[k * N + j]);
                sum = keep(sum);
            }
            p->y[i * N + j] = sum;
        }
}

static float as_is(float x) { return x; }

/* To nearest even with `drop` bits of the significand gone. */
static float shortened(float x, unsigned drop)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += ((uint32_t)1 << (drop - 1)) - 1 + (bits >> drop & 1);
    bits = bits >> drop << drop;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static float to_tf32(float x) { return shortened(x, 13); }
static float to_bf16(float x) { return shortened(x, 16); }
static float cut_to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = bits >> 16 << 16;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* An honest kernel is nothing that could be looked into. */
START_TEST(honest_rounding_looks_like_nothing)
{
    static const enum dtype dtypes[] = { DT_F32, DT_F16, DT_BF16 };
    for (int d = 0; d < 3; d++) {
        struct product p = open_product(dtypes[d]);
        multiply(&p, as_is, as_is, K);
        struct findings findings = diagnosed(&p.c, p.y);
        for (size_t i = 0; i < findings.count; i++) ck_abort_msg("%s", findings.items[i].sentence);
    }
}
END_TEST

START_TEST(inputs_in_tf32)
{
    struct product p = open_product(DT_F32);
    multiply(&p, to_tf32, as_is, K);
    struct findings findings = diagnosed(&p.c, p.y);
    assert_looks_like(&findings, "rounded inputs", 0.99);
    ck_assert_str_eq(findings.items[0].sentence, "inputs rounded to 10 bits (TF32)");
    ck_assert_uint_ge(findings.items[0].close, M * N * 99 / 100);
}
END_TEST

START_TEST(inputs_in_bfloat16_rounded_or_cut)
{
    struct product p = open_product(DT_F32);
    multiply(&p, to_bf16, as_is, K);
    struct findings findings = diagnosed(&p.c, p.y);
    ck_assert_str_eq(findings.items[0].sentence, "inputs rounded to 7 bits (bfloat16)");
    multiply(&p, cut_to_bf16, as_is, K);
    findings = diagnosed(&p.c, p.y);
    ck_assert_str_eq(findings.items[0].sentence, "inputs cut off to 7 bits (bfloat16)");
}
END_TEST

START_TEST(sums_in_bfloat16)
{
    struct product p = open_product(DT_BF16);
    multiply(&p, as_is, to_bf16, K);
    struct findings findings = diagnosed(&p.c, p.y);
    assert_looks_like(&findings, "narrow accumulation", 0.95);
    ck_assert_ptr_nonnull(strstr(findings.items[0].sentence, "bfloat16"));
}
END_TEST

START_TEST(last_terms_left_out)
{
    struct product p = open_product(DT_F32);
    multiply(&p, as_is, as_is, K - 1);
    struct findings findings = diagnosed(&p.c, p.y);
    assert_looks_like(&findings, "dropped part", 0.99);
}
END_TEST

/* Tiles of 16 along K, of which the one that K does not fill is left out, or added twice. */
START_TEST(an_unfilled_tile)
{
    struct product p = open_product(DT_F32);
    multiply(&p, as_is, as_is, K / 16 * 16);
    struct findings findings = diagnosed(&p.c, p.y);
    assert_looks_like(&findings, "dropped part", 0.99);
    ck_assert_str_eq(findings.items[0].sentence, "input: the last 8 of 56 along axis 1 left out");
    double part[M * N];
    memcpy(part, p.y, sizeof part);
    multiply(&p, as_is, as_is, K);
    for (int i = 0; i < M * N; i++) p.y[i] += p.y[i] - part[i];
    findings = diagnosed(&p.c, p.y);
    assert_looks_like(&findings, "counted twice", 0.99);
}
END_TEST

START_TEST(last_columns_not_written)
{
    struct product p = open_product(DT_F16);
    multiply(&p, as_is, as_is, K);
    for (int i = 0; i < M; i++)
        for (int j = N - 3; j < N; j++) p.y[i * N + j] = 0;
    struct findings findings = diagnosed(&p.c, p.y);
    assert_looks_like(&findings, "unwritten", 0.99);
    ck_assert_ptr_nonnull(strstr(findings.items[0].sentence, "columns 37-39"));
}
END_TEST

/* Noise of a thousandth has no cause that could be named. */
START_TEST(noise_is_unknown)
{
    struct product p = open_product(DT_F32);
    multiply(&p, as_is, as_is, K);
    for (int i = 0; i < M * N; i++) p.y[i] *= 1 + 1e-3 * random_number();
    struct findings findings = diagnosed(&p.c, p.y);
    ck_assert(findings.sought);
    ck_assert_msg(findings.count == 0, "%s", findings.items[0].sentence);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { honest_rounding_looks_like_nothing,
                                   inputs_in_tf32,
                                   inputs_in_bfloat16_rounded_or_cut,
                                   sums_in_bfloat16,
                                   last_terms_left_out,
                                   an_unfilled_tile,
                                   last_columns_not_written,
                                   noise_is_unknown };
    return run_tests("diagnosis of matrix products", tests, sizeof tests / sizeof *tests);
}
