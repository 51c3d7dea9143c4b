/* Dtype conversions against definitions: decode by the format's formula, encode as the nearest
 * decodable value with ties to even. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "suite.h"

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

int main(void)
{
    Suite *suite = suite_create("dtype");
    TCase *tests = tcase_create("dtype");
    tcase_add_loop_test(tests, every_code_round_trips, 0, 4);
    tcase_add_loop_test(tests, rounds_to_nearest_even, 0, 4);
    tcase_add_test(tests, names_and_aliases);
    tcase_add_test(tests, ulp_of_special_places);
    tcase_add_test(tests, integers_truncate_and_saturate);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
