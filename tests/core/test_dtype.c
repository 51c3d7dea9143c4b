/* Dtype conversions against definitions: decode by the format's formula, encode as the nearest
 * decodable value with ties to even. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "support/suite.h"

static double decode_by_formula(enum dtype dtype, unsigned code)
{
    const struct dtype_info *info = dtype_info(dtype);
    int fraction_bits = info->significand_bits - 1;
    int total = (int)info->bytes * 8;
    unsigned fraction = code & ((1u << fraction_bits) - 1);
    unsigned exponent = (code >> fraction_bits) & ((1u << (total - 1 - fraction_bits)) - 1);
    double sign = code >> (total - 1) ? -1 : 1;
    double magnitude = exponent ? ldexp(1 + ldexp(fraction, -fraction_bits),
                                        (int)exponent + info->exponent_min - 1)
                                : ldexp(fraction, info->exponent_min - fraction_bits);
    return sign * magnitude;
}

static bool is_finite_code(enum dtype dtype, unsigned code)
{
    return fabs(decode_by_formula(dtype, code)) <= dtype_info(dtype)->largest;
}

static const enum dtype small[] = { DT_F16, DT_BF16, DT_F8E4M3, DT_F8E5M2 };

/* Every code decodes to what the format's formula says, and encodes back to itself. */
START_TEST(every_code_round_trips)
{
    enum dtype dtype = small[_i];
    unsigned codes = dtype_info(dtype)->bytes == 2 ? 65536 : 256;
    for (unsigned code = 0; code < codes; code++) {
        uint16_t wide = (uint16_t)code, back = 0;
        uint8_t narrow = (uint8_t)code, narrow_back = 0;
        double x;
        const void *in = codes == 256 ? (void *)&narrow : (void *)&wide;
        void *out = codes == 256 ? (void *)&narrow_back : (void *)&back;
        dtype_to_double(&x, in, dtype, 1);
        if (!is_finite_code(dtype, code)) {
            ck_assert(!isfinite(x));
            continue;
        }
        ck_assert_double_eq(x, decode_by_formula(dtype, code));
        dtype_from_double(out, dtype, &x, 1);
        ck_assert_uint_eq(codes == 256 ? narrow_back : back, code);
        float f = (float)x;
        dtype_from_float(out, dtype, &f, 1);
        ck_assert_uint_eq(codes == 256 ? narrow_back : back, code);
    }
}
END_TEST

/* Between two neighbours: below the midpoint down, above it up, on it to the even code. */
START_TEST(rounds_to_nearest_even)
{
    enum dtype dtype = small[_i];
    unsigned limit = dtype_info(dtype)->bytes == 2 ? 0x7fff : 0x7f;
    for (unsigned code = 0; code + 1 < limit && is_finite_code(dtype, code + 1); code++) {
        double low = decode_by_formula(dtype, code), high = decode_by_formula(dtype, code + 1);
        double middle = low + (high - low) / 2;
        double tries[3] = { nextafter(middle, low), middle, nextafter(middle, high) };
        unsigned expected[3] = { code, code % 2 ? code + 1 : code, code + 1 };
        for (int k = 0; k < 3; k++) {
            uint16_t out = 0;
            dtype_from_double(&out, dtype, &tries[k], 1);
            ck_assert_msg(out == expected[k], "%s near code %u: got %u", dtype_info(dtype)->name,
                          code, out);
        }
    }
}
END_TEST

/* float32 holds every midpoint of bfloat16, and the floats on both sides of it. */
START_TEST(floats_round_to_nearest_even)
{
    for (unsigned code = 0; code < 0x7f7f; code++) {
        float middle = (float)(decode_by_formula(DT_BF16, code) / 2 +
                               decode_by_formula(DT_BF16, code + 1) / 2);
        const float tries[3] = { nextafterf(middle, 0), middle, nextafterf(middle, INFINITY) };
        const unsigned expected[3] = { code, code + code % 2, code + 1 };
        for (int k = 0; k < 3; k++) {
            uint16_t out = 0;
            dtype_from_float(&out, DT_BF16, &tries[k], 1);
            ck_assert_msg(out == expected[k], "%a near code %u: got %u", tries[k], code, out);
        }
    }
}
END_TEST

/* ---- arrays of every dtype ---------------------------------------------------------------- */

enum { STORED = 4 };

/* The same four numbers, as far as the dtype has them: as stored and as the format defines them.
 * A complex dtype has two of them in an element. */
static const struct {
    enum dtype dtype;
    const void *bits;
    double values[STORED];
    /* clang-format off */
} stored[] = {
    { DT_F64, (const uint64_t[]){ 0x3ff0000000000000, 0xc014000000000000, 0x47efffffe0000000, 0x36a0000000000000 },
      { 1, -5, 0x1.fffffep127, 0x1p-149 } },
    { DT_F32, (const uint32_t[]){ 0x3f800000, 0xc0a00000, 0x7f7fffff, 1 }, { 1, -5, 0x1.fffffep127, 0x1p-149 } },
    { DT_F16, (const uint16_t[]){ 0x3c00, 0xc500, 0x7bff, 1 }, { 1, -5, 65504, 0x1p-24 } },
    { DT_BF16, (const uint16_t[]){ 0x3f80, 0xc0a0, 0x7f7f, 1 }, { 1, -5, 0x1.fep127, 0x1p-133 } },
    { DT_F8E4M3, (const uint8_t[]){ 0x38, 0xca, 0x7e, 1 }, { 1, -5, 448, 0x1p-9 } },
    { DT_F8E5M2, (const uint8_t[]){ 0x3c, 0xc5, 0x7b, 1 }, { 1, -5, 57344, 0x1p-16 } },
    { DT_I64, (const int64_t[]){ 1, -5, -0x7fffff8000000000, 0 }, { 1, -5, -0x1.fffffep62, 0 } },
    { DT_I32, (const int32_t[]){ 1, -5, 0x7fffff80, INT32_MIN }, { 1, -5, 0x1.fffffep30, -0x1p31 } },
    { DT_I16, (const int16_t[]){ 1, -5, INT16_MAX, INT16_MIN }, { 1, -5, 32767, -32768 } },
    { DT_I8, (const int8_t[]){ 1, -5, 127, -128 }, { 1, -5, 127, -128 } },
    { DT_U8, (const uint8_t[]){ 1, 0, 127, 255 }, { 1, 0, 127, 255 } },
    { DT_BOOL, (const uint8_t[]){ 1, 0, 0, 1 }, { 1, 0, 0, 1 } },
    { DT_C64, (const uint32_t[]){ 0x3f800000, 0xc0a00000, 0x7f7fffff, 1 }, { 1, -5, 0x1.fffffep127, 0x1p-149 } },
    { DT_C128, (const uint64_t[]){ 0x3ff0000000000000, 0xc014000000000000, 0x47efffffe0000000, 0x36a0000000000000 },
      { 1, -5, 0x1.fffffep127, 0x1p-149 } },
};
/* clang-format on */

/* Both readers and both writers, on every dtype there is; float32 holds all of these values. */
START_TEST(arrays_hold_what_their_bits_say)
{
    enum dtype dtype = stored[_i].dtype;
    const double *values = stored[_i].values;
    size_t n = dtype_is_complex(dtype) ? STORED / 2 : STORED, bytes = n * dtype_info(dtype)->bytes;
    double wide[STORED + 1] = { [STORED] = 77 };
    float narrow[STORED + 1] = { [STORED] = 77 };
    unsigned char back[STORED * sizeof(double) + 1];

    dtype_to_double(wide, stored[_i].bits, dtype, n);
    dtype_to_float(narrow, stored[_i].bits, dtype, n);
    for (int i = 0; i < STORED; i++) {
        ck_assert_double_eq(wide[i], values[i]);
        ck_assert_double_eq((double)narrow[i], values[i]);
    }
    ck_assert(wide[STORED] == 77 && narrow[STORED] == 77);
    memset(back, 0x5a, sizeof back);
    dtype_from_double(back, dtype, wide, n);
    ck_assert_mem_eq(back, stored[_i].bits, bytes);
    ck_assert_uint_eq(back[bytes], 0x5a);
    memset(back, 0x5a, sizeof back);
    dtype_from_float(back, dtype, narrow, n);
    ck_assert_mem_eq(back, stored[_i].bits, bytes);
    ck_assert_uint_eq(back[bytes], 0x5a);
}
END_TEST

/* No dtype is left out of the table above. */
START_TEST(every_dtype_is_stored)
{
    size_t rows = 0;
    for (int d = 0; d < DT_COUNT; d++) rows += d != DT_NONE;
    ck_assert_uint_eq(sizeof stored / sizeof stored[0], rows);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < i; j++) ck_assert_int_ne(stored[i].dtype, stored[j].dtype);
}
END_TEST

/* A whole number becomes a float by one rounding: this one lies just above a tie of float32, which
 * a double in between would make the tie itself. */
START_TEST(integers_round_once)
{
    const int64_t above_tie = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;
    double wide;
    float narrow;
    dtype_to_double(&wide, &above_tie, DT_I64, 1);
    dtype_to_float(&narrow, &above_tie, DT_I64, 1);
    ck_assert_double_eq(wide, 0x1p60 + 0x1p36);
    ck_assert_double_eq((double)narrow, 0x1p60 + 0x1p37);
}
END_TEST

/* Any byte but 0 is true, as in a file of somebody else. */
START_TEST(bools_are_0_or_1)
{
    const uint8_t bytes[3] = { 0, 2, 255 };
    double wide[3];
    float narrow[3];
    dtype_to_double(wide, bytes, DT_BOOL, 3);
    dtype_to_float(narrow, bytes, DT_BOOL, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq(wide[i], i > 0);
        ck_assert_double_eq((double)narrow[i], i > 0);
    }
}
END_TEST

START_TEST(names_and_aliases)
{
    ck_assert_int_eq(dtype_from_name("torch.half"), DT_F16);
    ck_assert_int_eq(dtype_from_name("torch.float"), DT_F32);
    ck_assert_int_eq(dtype_from_name("torch.double"), DT_F64);
    ck_assert_int_eq(dtype_from_name("numpy.int32"), DT_I32);
    ck_assert_int_eq(dtype_from_name("bool_"), DT_BOOL);
    ck_assert_int_eq(dtype_from_name("torch.quint8"), DT_NONE);
}
END_TEST

START_TEST(ulp_of_special_places)
{
    ck_assert_double_eq(dtype_ulp(DT_F32, 1.0), 0x1p-23);
    ck_assert_double_eq(dtype_ulp(DT_F32, 0.0), 0x1p-149);
    ck_assert_double_eq(dtype_ulp(DT_F16, 0.0), 0x1p-24);
    ck_assert_double_eq(dtype_ulp(DT_BF16, 2.5), 0x1p-6);
    ck_assert_double_eq(dtype_ulp(DT_F64, 0x1p-1060), 0x1p-1074);
    ck_assert(isnan(dtype_ulp(DT_F32, INFINITY)));
}
END_TEST

START_TEST(integers_truncate_and_saturate)
{
    double in[5] = { 300.7, -300.7, NAN, 1.9, -1.9 };
    int8_t out[5];
    dtype_from_double(out, DT_I8, in, 5);
    int8_t expected[5] = { 127, -128, 0, 1, -1 };
    ck_assert_mem_eq(out, expected, 5);
    int64_t wide[2] = { 300, -1 };
    uint8_t narrow[2];
    dtype_from_int64(narrow, DT_U8, wide, 2);
    ck_assert_uint_eq(narrow[0], 44);
    ck_assert_uint_eq(narrow[1], 255);
}
END_TEST

/* A double has 53 bits, so that an integer just above a tie would become the tie on its way. */
START_TEST(integers_are_rounded_once)
{
    static const int64_t integers[] = {
        (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1, /* above a tie of float32 */
        (INT64_C(1) << 60) + (INT64_C(3) << 36) - 1, /* below one */
        -(INT64_C(1) << 60) - (INT64_C(1) << 36) - 1,
        INT64_MAX,
        INT64_MIN,
        (INT64_C(1) << 53) + 1,
        7,
    };
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        float got, pair[2];
        dtype_from_int64(&got, DT_F32, &integers[i], 1);
        ck_assert_float_eq(got, (float)integers[i]); /* C rounds once */
        dtype_from_int64(pair, DT_C64, &integers[i], 1);
        ck_assert_float_eq(pair[0], (float)integers[i]);
        double wide;
        dtype_from_int64(&wide, DT_F64, &integers[i], 1);
        ck_assert_double_eq(wide, (double)integers[i]);
    }
    /* bfloat16 has 8 bits: 2^60 + 2^52 is a tie. */
    int64_t above = (INT64_C(1) << 60) + (INT64_C(1) << 52) + 1, tie = above - 1;
    uint16_t bits;
    dtype_from_int64(&bits, DT_BF16, &above, 1);
    ck_assert_uint_eq(bits, 0x5d81);
    dtype_from_int64(&bits, DT_BF16, &tie, 1);
    ck_assert_uint_eq(bits, 0x5d80);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dtype");
    TCase *tests = tcase_create("dtype");
    tcase_add_loop_test(tests, every_code_round_trips, 0, 4);
    tcase_add_loop_test(tests, rounds_to_nearest_even, 0, 4);
    tcase_add_test(tests, floats_round_to_nearest_even);
    tcase_add_loop_test(tests, arrays_hold_what_their_bits_say, 0,
                        sizeof stored / sizeof stored[0]);
    tcase_add_test(tests, every_dtype_is_stored);
    tcase_add_test(tests, integers_round_once);
    tcase_add_test(tests, bools_are_0_or_1);
    tcase_add_test(tests, names_and_aliases);
    tcase_add_test(tests, ulp_of_special_places);
    tcase_add_test(tests, integers_are_rounded_once);
    tcase_add_test(tests, integers_truncate_and_saturate);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
