/* Shortest decimal texts of doubles: they read back as the same double, no shorter text does, and the
 * notation is Python's. The table of powers is held against MPFR's integers. */
#include "core/shortest.h"

#include <gmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/fixed.h"
#include "core/shortest_powers.h"
#include "support/suite.h"

/* What Python 3 prints for each (from its own repr()). */
static const struct {
    double x;
    const char *text;
} known[] = {
    { 0, "0.0" },
    { -0.0, "-0.0" },
    { 1, "1.0" },
    { 100, "100.0" },
    { 0.1, "0.1" },
    { 1e-5, "1e-05" },
    { 0.0001, "0.0001" },
    { 1e16, "1e+16" },
    { 9999999999999998.0, "9999999999999998.0" },
    { 123456789012345680.0, "1.2345678901234568e+17" },
    { 940.671630859375, "940.671630859375" },
    { 5e-324, "5e-324" },
    { 2.2250738585072014e-308, "2.2250738585072014e-308" },
    { 1.7976931348623157e308, "1.7976931348623157e+308" },
    { 9007199254740993.0, "9007199254740992.0" },
    { 2e-44, "2e-44" },
    { 0.30000000000000004, "0.30000000000000004" },
    { -3.4028234663852886e38, "-3.4028234663852886e+38" },
    { INFINITY, "inf" },
    { -INFINITY, "-inf" },
};

START_TEST(known_texts)
{
    char text[SHORTEST_BYTES];
    size_t length = shortest_double(text, known[_i].x);
    ck_assert_str_eq(text, known[_i].text);
    ck_assert_uint_eq(length, strlen(known[_i].text));
}
END_TEST

START_TEST(nan_is_nan)
{
    char text[SHORTEST_BYTES];
    shortest_double(text, NAN);
    ck_assert_str_eq(text, "nan");
}
END_TEST

/* What numpy 1.24 prints for scalars of the narrower types, powers of two among them, below which numbers
 * are closer than above: 0.01563 is not the nearest text of four digits to 2^-6 but the one that reads back. */
static const struct {
    double x;
    enum dtype dtype;
    const char *text;
} known_typed[] = {
    { 0x1p-6, DT_F16, "0.01563" },
    { 0x1.998p-4, DT_F16, "0.1" },
    { 65504, DT_F16, "65500.0" },
    { 0x1p-24, DT_F16, "6e-08" },
    { 0x1.99999ap-4, DT_F32, "0.1" },
    { 16777216, DT_F32, "16777216.0" },
    { 0x1p-96, DT_F32, "1.2621775e-29" },
    { 0x1p87, DT_F32, "1.5474251e+26" },
    { 0x1p90, DT_F32, "1.2379401e+27" },
    { (double)1e-4F, DT_F32, "1e-04" },
    { 0x1p-149, DT_F32, "1e-45" },
    { 0x1.fffffep127, DT_F32, "3.4028235e+38" },
    { -0.0, DT_F16, "-0.0" },
    { 0x1p-1017, DT_F64, "7.120236347223045e-307" },
    { 0x1p-44, DT_F64, "5.684341886080802e-14" },
};

START_TEST(known_typed_texts)
{
    char text[SHORTEST_BYTES];
    size_t length = shortest_typed(text, known_typed[_i].x, known_typed[_i].dtype);
    ck_assert_str_eq(text, known_typed[_i].text);
    ck_assert_uint_eq(length, strlen(known_typed[_i].text));
}
END_TEST

static float read_f32(const char *text) { return strtof(text, NULL); }

/* Of all f16 and of many f32, as of doubles below: the text reads back, by the C library and the
 * conversion of dtypes, and printf's text of one digit less does not. */
static bool reads_back(const char *text, double x, enum dtype dtype)
{
    uint16_t half;
    double exact = strtod(text, NULL), back;
    if (dtype == DT_F32) return read_f32(text) == (float)x;
    dtype_from_double(&half, DT_F16, &exact, 1);
    dtype_to_double(&back, &half, DT_F16, 1);
    return back == x;
}

static int digits_of(const char *text);

static void check_typed(double x, enum dtype dtype)
{
    char text[SHORTEST_BYTES], shorter[64];
    if (!isfinite(x) || x == 0) return;
    (void)shortest_typed(text, x, dtype);
    ck_assert_msg(reads_back(text, x, dtype), "%s is not %a", text, x);
    int digits = digits_of(text);
    if (digits < 2) return;
    (void)snprintf(shorter, sizeof shorter, "%.*e", digits - 2, x);
    ck_assert_msg(!reads_back(shorter, x, dtype), "%s is shorter than %s", shorter, text);
}

START_TEST(every_half)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t half = (uint16_t)bits;
        double x;
        dtype_to_double(&x, &half, DT_F16, 1);
        check_typed(x, DT_F16);
    }
}
END_TEST

START_TEST(many_floats)
{
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t bits = i * UINT32_C(214748) + (i & 7); /* over the whole range */
        float x;
        memcpy(&x, &bits, sizeof x);
        check_typed((double)x, DT_F32);
    }
    for (uint32_t exponent = 1; exponent < 255; exponent++)
        for (int step = -1; step <= 1; step++) {
            uint32_t bits = (exponent << 23) + (uint32_t)step;
            float x;
            memcpy(&x, &bits, sizeof x);
            check_typed((double)x, DT_F32);
        }
}
END_TEST

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Significant digits of a text. */
static int digits_of(const char *text)
{
    int count = 0, zeros = 0;
    bool started = false;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9') continue;
        started |= *text != '0';
        if (!started) continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        count++;
    }
    return count - zeros;
}

/* printf with one digit less does not read back as x; with as many it gives the same digits, because
 * the nearest of the shortest is taken. */
START_TEST(shortest_and_exact)
{
    char text[SHORTEST_BYTES], shorter[64];
    uint64_t state = 88172645463325252u + (uint64_t)_i;

    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next(&state);
        double x;
        if (i % 2) x = (double)(float)(bits % 1000003) / (float)(1 + (bits >> 40));
        else memcpy(&x, &bits, sizeof x);
        if (!isfinite(x) || x == 0) continue;
        size_t length = shortest_double(text, x);
        ck_assert_uint_eq(strlen(text), length);
        ck_assert_msg(strtod(text, NULL) == x, "%s is not %a (seed %d)", text, x, _i);
        int digits = digits_of(text);
        snprintf(shorter, sizeof shorter, "%.*e", digits > 1 ? digits - 2 : 0, x);
        if (digits > 1)
            ck_assert_msg(strtod(shorter, NULL) != x, "%s is shorter than %s", shorter, text);
    }
}
END_TEST

/* A fixed number of decimals gives the bytes of printf: any double, halves of the last place, what has
 * no place before the point. */
START_TEST(fixed_is_printf)
{
    static const double edges[] = { 0,        -0.0,   0.5,     1.5,      2.5,      0.125,  0.375,
                                    1e15,     1e16,   0x1p60,  0x1p59,   1e300,    -1e300, 5e-324,
                                    0x1p-128, 1e-20,  0.05,    -0.05,    1e-14,    5e-15,  INFINITY,
                                    0x1p63,   0x1p53, 1.0 / 3, 1e17 + 2, -0.5e-14, 9.5,    99.5 };
    char text[FIXED_BYTES], want[FIXED_BYTES];
    uint64_t state = 88172645463325252u;
    ck_assert_uint_eq(fixed_double(text, NAN, 3), 3);
    ck_assert_str_eq(text, "nan");
    for (size_t i = 0; i < 20000; i++) {
        double x = ldexp((double)(int64_t)next(&state), (int)(next(&state) % 120) - 110);
        int decimals = (int)(i % (FIXED_DECIMALS + 1));
        if (i < 21 * (sizeof edges / sizeof *edges)) x = edges[i / 21];
        if (i % 3 == 2) x = (double)(int64_t)(next(&state) % 2000001 - 1000000) / 1024;
        (void)snprintf(want, sizeof want, "%.*f", decimals, x);
        size_t length = fixed_double(text, x, decimals);
        ck_assert_str_eq(text, want);
        ck_assert_uint_eq(length, strlen(want));
    }
}
END_TEST

/* g(k) = floor(10^k / 2^(floor(log2 10^k) - 125)) + 1, of 126 bits. */
START_TEST(powers)
{
    mpz_t g, low, ten;
    mpz_inits(g, low, ten, NULL);
    for (int row = 0; row < SHORTEST_POWERS; row++) {
        int k = row + SHORTEST_POWER_MIN;
        mpz_ui_pow_ui(ten, 10, (unsigned long)abs(k));
        long bits = (long)mpz_sizeinbase(ten, 2) - 1; /* floor(log2 10^|k|) */
        if (k >= 0) {
            if (bits >= 125) mpz_fdiv_q_2exp(g, ten, (unsigned long)(bits - 125));
            else mpz_mul_2exp(g, ten, (unsigned long)(125 - bits));
        } else { /* floor(log2 10^k) = -bits - 1 */
            mpz_set_ui(g, 1);
            mpz_mul_2exp(g, g, (unsigned long)(bits + 126));
            mpz_fdiv_q(g, g, ten);
        }
        mpz_add_ui(g, g, 1);
        ck_assert_uint_eq(mpz_sizeinbase(g, 2), 126);
        mpz_fdiv_r_2exp(low, g, 63);
        mpz_fdiv_q_2exp(g, g, 63);
        ck_assert_msg(mpz_get_ui(g) == shortest_powers[row].high &&
                          mpz_get_ui(low) == shortest_powers[row].low,
                      "power %d", k);
    }
    mpz_clears(g, low, ten, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shortest");
    TCase *tests = tcase_create("shortest");
    tcase_add_loop_test(tests, known_texts, 0, (int)(sizeof known / sizeof *known));
    tcase_add_test(tests, nan_is_nan);
    tcase_add_loop_test(tests, known_typed_texts, 0,
                        (int)(sizeof known_typed / sizeof *known_typed));
    tcase_add_test(tests, every_half);
    tcase_add_test(tests, many_floats);
    tcase_add_loop_test(tests, shortest_and_exact, 0, 10);
    tcase_add_test(tests, fixed_is_printf);
    tcase_add_test(tests, powers);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
