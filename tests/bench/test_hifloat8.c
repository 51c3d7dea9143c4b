/* HiFloat8 against the tables of its paper, written out bit by bit, and the operators of torch_npu that take and make it. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/opened_call.h"
#include "bench/ops/hifloat8.h"
#include "support/suite.h"

/* ---- codes ------------------------------------------------------------------------------------ */

/* The positive numbers in order with their codes, from the rows of the paper's tables: prefix, bits of the exponent,
 * bits of the fraction. */
struct entry {
    double value;
    unsigned code;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct entry *)a)->value, y = ((const struct entry *)b)->value;
    return (x > y) - (x < y);
}

static size_t all_positive(struct entry *out)
{
    static const struct {
        const char *prefix;
        int exponent, fraction;
    } rows[] = {
        { "0001", 0, 3 }, { "001", 1, 3 }, { "01", 2, 3 }, { "10", 3, 2 }, { "11", 4, 1 }
    };
    size_t n = 0;
    for (unsigned m = 1; m <= 7; m++) out[n++] = (struct entry){ pow(2, (double)m - 23), m };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int sign = 0; sign <= (rows[r].exponent > 0); sign++)
            for (unsigned tail = 0; tail < 1u << (rows[r].exponent ? rows[r].exponent - 1 : 0);
                 tail++)
                for (unsigned f = 0; f < 1u << rows[r].fraction; f++) {
                    unsigned code = (unsigned)strtoul(rows[r].prefix, NULL, 2), exponent = 0;
                    if (rows[r].exponent) {
                        code = code << 1 | (unsigned)sign;
                        code = code << (rows[r].exponent - 1) | tail;
                        exponent = 1u << (rows[r].exponent - 1) | tail;
                    }
                    code = code << rows[r].fraction | f;
                    double value = (1 + f / pow(2, rows[r].fraction)) *
                                   pow(2, sign ? -(double)exponent : (double)exponent);
                    out[n++] = (struct entry){ code == 0x6f ? INFINITY : value, code };
                }
    qsort(out, n, sizeof *out, by_value);
    return n;
}

/* Each of the 256 codes is one of: zero, NaN, and 127 numbers with both signs, infinity among them. */
START_TEST(every_code_is_its_number)
{
    struct entry table[160];
    bool seen[256] = { [0x00] = true, [0x80] = true };
    size_t n = all_positive(table);
    ck_assert_uint_eq(n, 127);
    ck_assert(hifloat8_value(0) == 0 && !signbit(hifloat8_value(0)));
    ck_assert(isnan(hifloat8_value(0x80)));
    ck_assert_uint_eq(hifloat8_code(-0.0), 0);
    ck_assert_uint_eq(hifloat8_code(NAN), 0x80);
    for (size_t i = 0; i < n; i++)
        for (unsigned sign = 0; sign <= 0x80; sign += 0x80) {
            unsigned code = table[i].code | sign;
            double value = sign ? -table[i].value : table[i].value;
            ck_assert(!seen[code]);
            seen[code] = true;
            ck_assert_msg(hifloat8_value(code) == value, "code %02x is %.17g, not %.17g", code,
                          hifloat8_value(code), value);
            ck_assert_uint_eq(hifloat8_code(value), code);
            ck_assert(hifloat8_rounded(value) == value);
        }
    for (unsigned code = 0; code < 256; code++) ck_assert(seen[code]);
    ck_assert(table[n - 2].value == HIFLOAT8_LARGEST && table[n - 1].value == INFINITY);
}
END_TEST

/* The nearest of the table, of two the larger; infinity stands where 1.5 2^15 would. */
static double nearest(const struct entry *table, size_t n, double v)
{
    double size = fabs(v), best = 0, off = size;
    if (isinf(v)) return v;
    for (size_t i = 0; i < n; i++) {
        double value = isinf(table[i].value) ? 0x1.8p15 : table[i].value;
        double distance = fabs(value - size);
        if (distance <= off) {
            off = distance;
            best = table[i].value;
        }
    }
    return best == 0 ? 0 : copysign(size >= 0x1.8p15 ? INFINITY : best, v);
}

static void check_rounding(const struct entry *table, size_t n, double v)
{
    double want = nearest(table, n, v), got = hifloat8_rounded(v);
    ck_assert_msg(got == want, "%a becomes %a, not %a", v, got, want);
    ck_assert(hifloat8_value(hifloat8_code(got)) == want);
}

START_TEST(every_half_is_rounded_to_the_nearest)
{
    struct entry table[160];
    size_t n = all_positive(table);
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t half = (uint16_t)bits;
        double v;
        dtype_to_double(&v, &half, DT_F16, 1);
        if (isnan(v)) ck_assert_uint_eq(hifloat8_code(hifloat8_rounded(v)), 0x80);
        else check_rounding(table, n, v);
    }
}
END_TEST

/* Middles go to the larger magnitude, what is next to them in double to the nearer number. */
START_TEST(ties_go_away_from_zero)
{
    struct entry table[160];
    size_t n = all_positive(table);
    for (size_t i = 0; i < n; i++) {
        double above = isinf(table[i].value) ? 0x1.8p15 : table[i].value;
        double middle = ((i ? table[i - 1].value : 0) + above) / 2;
        for (int sign = -1; sign <= 1; sign += 2) {
            ck_assert(hifloat8_rounded(sign * middle) == sign * table[i].value);
            check_rounding(table, n, sign * nextafter(middle, 0));
            check_rounding(table, n, sign * nextafter(middle, INFINITY));
        }
    }
    ck_assert(hifloat8_rounded(0x1.8p15) == INFINITY && hifloat8_rounded(1e300) == INFINITY);
    ck_assert(hifloat8_rounded(5e-324) == 0 && hifloat8_rounded(-0x1p-24) == 0);
}
END_TEST

START_TEST(codes_that_a_kernel_may_return)
{
    ck_assert(hifloat8_may_be(0x08, 1, 1) && !hifloat8_may_be(0x09, 1, 1));
    ck_assert(hifloat8_may_be(0x09, 1.0624, 1.0626) && hifloat8_may_be(0x08, 1.0624, 1.0626));
    ck_assert(!hifloat8_may_be(0x88, 1, 1) && !hifloat8_may_be(0x80, 0, 0));
    /* saturating or not */
    ck_assert(hifloat8_may_be(0x6f, 1e9, 1e9) && hifloat8_may_be(0x6e, 1e9, 1e9));
    ck_assert(hifloat8_may_be(0xef, -1e9, -1e9) && hifloat8_may_be(0xee, -1e9, -1e9));
    ck_assert(!hifloat8_may_be(0x6e, 1, 1) && !hifloat8_may_be(0x6e, -1e9, -1e9));
    ck_assert(hifloat8_may_be(0x80, NAN, NAN) && hifloat8_may_be(0, NAN, NAN) &&
              !hifloat8_may_be(8, NAN, NAN));
}
END_TEST

/* ---- operators ---------------------------------------------------------------------------------- */

static const struct reference *output(struct bench *bench, size_t k)
{
    return &bench_output(bench, k)->reference;
}

/* A tensor as numbers; bytes as codes. */
static const double *decoded(const struct value *value, struct arena *arena)
{
    const struct tensor *t = value->tensor.tensor;
    double *x = numbers_of(value, arena);
    for (size_t i = 0; t->dtype == DT_U8 && i < tensor_elements(t); i++)
        x[i] = hifloat8_value((unsigned)x[i]);
    return x;
}

static const double *decoded_argument(const struct sample *sample, size_t k, struct arena *arena)
{
    return decoded(&sample->c.args.list.items[k], arena);
}

/* The first of a list of tensors, argument k. */
static const double *decoded_first(const struct sample *sample, size_t k, struct arena *arena)
{
    return decoded(&sample->c.args.list.items[k].list.items[0], arena);
}

START_TEST(casts)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench =
        opened(&sample, "NPU.npu_dtype_cast(f32(7)[0.1 1 3.3 40000 -7 1e-7 40960], 290)", &arena);
    static const int64_t codes[7] = { 0x52, 0x08, 0x15, 0x6e, 0xa6, 0x00, 0x6f };
    ck_assert_int_eq(output(bench, 0)->dtype, DT_U8);
    for (size_t i = 0; i < 7; i++) ck_assert_int_eq(output(bench, 0)->integer[i], codes[i]);
    bench =
        opened(&sample, "NPU.npu_dtype_cast(u8(6)[0 8 111 110 239 1], torch.float32, 290)", &arena);
    static const double values[6] = { 0, 1, INFINITY, 32768, -INFINITY, 0x1p-22 };
    ck_assert_int_eq(output(bench, 0)->dtype, DT_F32);
    for (size_t i = 0; i < 6; i++) ck_assert(output(bench, 0)->hi[i] == values[i]);
    arena_release(&arena);
}
END_TEST

START_TEST(a_scale_for_all)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(&sample,
                                 "NPU.npu_dynamic_quant(f32(8,12), dst_type=290, "
                                 "quant_mode=\"pertensor\", dst_type_max=15.0)",
                                 &arena);
    const double *x = decoded_argument(&sample, 0, &arena);
    double most = 0;
    for (size_t i = 0; i < 96; i++) most = fmax(most, fabs(x[i]));
    ck_assert_uint_eq(bench_output_count(bench), 2);
    check_element(output(bench, 1), 0, most / 15.0L);
    for (size_t i = 0; i < 96; i++)
        ck_assert(hifloat8_value((unsigned)output(bench, 0)->integer[i]) ==
                  hifloat8_rounded(x[i] / (most / 15)));
    arena_release(&arena);
}
END_TEST

START_TEST(products_by_a_scale_each)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(
        &sample,
        "NPU.npu_quant_matmul(u8(4,9)[1..110], u8(9,5)[129..238], f32(1)[0.3], "
        "pertoken_scale=f32(1)[0.7], output_dtype=torch.bfloat16, x1_dtype=290, x2_dtype=290)",
        &arena);
    const double *a = decoded_argument(&sample, 0, &arena),
                 *b = decoded_argument(&sample, 1, &arena);
    for (size_t i = 0; i < 20; i++) {
        long double sum = 0;
        for (size_t k = 0; k < 9; k++) sum += (long double)a[i / 5 * 9 + k] * b[k * 5 + i % 5];
        check_element(output(bench, 0), i, sum * (long double)0.3f * (long double)0.7f);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(products_of_groups)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(
        &sample,
        "NPU.npu_grouped_matmul([u8(5,4)[1..110]], [u8(2,4,3)[1..110]], scale=[f32(2)[0.5 2]], "
        "per_token_scale=[f32(5)[1 2 3 4 5]], group_list=i64(2)[2 5], split_item=3, group_type=0, "
        "output_dtype=torch.bfloat16, x_dtype=290, weight_dtype=290)",
        &arena);
    const double *x = decoded_first(&sample, 0, &arena), *w = decoded_first(&sample, 1, &arena);
    for (size_t i = 0; i < 15; i++) {
        size_t row = i / 3, group = row >= 2;
        long double sum = 0;
        for (size_t k = 0; k < 4; k++)
            sum += (long double)x[row * 4 + k] * w[group * 12 + k * 3 + i % 3];
        check_element(output(bench, 0), i, sum * (group ? 2 : 0.5L) * (long double)(row + 1));
    }
    bench = opened(
        &sample,
        "NPU.npu_grouped_matmul([u8(3,5)[1..110]], [u8(5,4)[1..110]], scale=[f32(2)[0.5 2]], "
        "per_token_scale=[f32(2)[3 5]], group_list=i64(2)[2 5], split_item=3, group_type=2, "
        "output_dtype=torch.float32, x_dtype=290, weight_dtype=290)",
        &arena);
    x = decoded_first(&sample, 0, &arena), w = decoded_first(&sample, 1, &arena);
    for (size_t i = 0; i < 24; i++) {
        size_t group = i / 12, row = i % 12 / 4;
        long double sum = 0;
        for (size_t k = group ? 2 : 0; k < (group ? 5 : 2); k++)
            sum += (long double)x[row * 5 + k] * w[k * 4 + i % 4];
        check_element(output(bench, 0), i, sum * (group ? 10 : 1.5L));
    }
    arena_release(&arena);
}
END_TEST

/* Blocks of 32 with a byte each, floats of four bits among them; blocks of 2 by 3 with a number each. */
START_TEST(products_by_blocks)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(
        &sample,
        "NPU.npu_quant_matmul(f8e4m3(2,64)[-3..3], f8e4m3(64,3)[-3..3], u8(1,3,2)[124..130], "
        "pertoken_scale=u8(2,1,2)[124..130], output_dtype=torch.bfloat16, scale_dtype=293, "
        "pertoken_scale_dtype=293, group_sizes=[1,1,32])",
        &arena);
    const double *a = decoded_argument(&sample, 0, &arena),
                 *b = decoded_argument(&sample, 1, &arena);
    const unsigned char *s = sample.c.args.list.items[2].tensor.tensor->data,
                        *p = value_find(&sample.c.kwargs, "pertoken_scale")->tensor.tensor->data;
    for (size_t i = 0; i < 6; i++) {
        long double sum = 0;
        for (size_t k = 0; k < 64; k++)
            sum += (long double)a[i / 3 * 64 + k] * b[k * 3 + i % 3] *
                   ldexpl(1, p[i / 3 * 2 + k / 32] + s[i % 3 * 2 + k / 32] - 254);
        check_element(output(bench, 0), i, sum);
    }
    bench =
        opened(&sample,
               "NPU.npu_quant_matmul(f8e4m3(3,6)[-3..3], f8e4m3(6,4)[-3..3], f32(2,2)[1 2 3 4], "
               "pertoken_scale=f32(3,2)[1 2 3 4 5 6], output_dtype=torch.bfloat16, "
               "group_sizes=[1,2,3])",
               &arena);
    a = decoded_argument(&sample, 0, &arena), b = decoded_argument(&sample, 1, &arena);
    for (size_t i = 0; i < 12; i++) {
        long double sum = 0;
        for (size_t k = 0; k < 6; k++) {
            size_t of_row = i / 4 * 2 + k / 3 + 1, of_column = k / 3 * 2 + i % 4 / 2 + 1;
            sum += (long double)a[i / 4 * 6 + k] * b[k * 4 + i % 4] * (double)(of_row * of_column);
        }
        check_element(output(bench, 0), i, sum);
    }
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HiFloat8");
    TCase *codes = tcase_create("codes"), *operators = tcase_create("operators");
    tcase_add_test(codes, every_code_is_its_number);
    tcase_add_test(codes, every_half_is_rounded_to_the_nearest);
    tcase_add_test(codes, ties_go_away_from_zero);
    tcase_add_test(codes, codes_that_a_kernel_may_return);
    tcase_add_test(operators, casts);
    tcase_add_test(operators, a_scale_for_all);
    tcase_add_test(operators, products_by_a_scale_each);
    tcase_add_test(operators, products_of_groups);
    tcase_add_test(operators, products_by_blocks);
    suite_add_tcase(suite, codes);
    suite_add_tcase(suite, operators);
    return suite_run(suite);
}
