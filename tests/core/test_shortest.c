/* Shortest decimal texts of doubles: they read back as the same double, no shorter text does, and the
 * notation is Python's. The table of powers is held against MPFR's integers. */
#include "core/shortest.h"

#include <gmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
    tcase_add_loop_test(tests, shortest_and_exact, 0, 10);
    tcase_add_test(tests, powers);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
