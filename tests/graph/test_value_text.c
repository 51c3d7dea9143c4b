/* Values as texts, against the definition: Python's rounding, which is that of printf. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/shortest.h"
#include "graph/value_text.h"
#include "support/suite.h"

static char *real_text(double value)
{
    struct csv_buffer out = { 0 };
    ck_assert_int_eq(value_text_append_real(&out, value).code, STATUS_OK);
    ck_assert_int_eq(csv_append_bytes(&out, "", 1).code, STATUS_OK);
    return out.data;
}

/* str(round(value, 6)), or "{:.6e}" where str(value) has an exponent. */
static void real_is_right(double value)
{
    char want[400], shortest[SHORTEST_BYTES];
    shortest_double(shortest, value);
    if (strchr(shortest, 'e')) snprintf(want, sizeof want, "%.6e", value);
    else {
        snprintf(want, sizeof want, "%.6f", value);
        shortest_double(shortest, strtod(want, NULL));
        strcpy(want, shortest);
    }
    char *got = real_text(value);
    ck_assert_msg(!strcmp(got, want), "%.17g is '%s', not '%s'", value, got, want);
    free(got);
}

START_TEST(numbers_round_as_python_rounds)
{
    static const double rows[] = { 0,
                                   -0.0,
                                   1,
                                   0.5,
                                   2.5e-7,
                                   1e-4,
                                   9.9999995e-5,
                                   0.99999949999,
                                   0.9999995,
                                   999999.9999995,
                                   9.9999999,
                                   1e15,
                                   123456789.1234565,
                                   1e16,
                                   5e-324,
                                   1.7976931348623157e308,
                                   0.0000005,
                                   0.1234565,
                                   0.12345649999,
                                   1.0000005,
                                   -7.0000015,
                                   1.2345675e-7,
                                   1.2345685e-7,
                                   9.9999995e-9 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        real_is_right(rows[i]);
        real_is_right(-rows[i]);
    }
}
END_TEST

START_TEST(any_number_does)
{
    uint64_t state = 0x9e3779b97f4a7c15u * (uint64_t)(_i + 1);
    for (int i = 0; i < 50000; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        double value = (double)(int64_t)state * 0x1p-63;
        real_is_right(ldexp(value, (int)(state % 97) - 60));
        /* near the ties of six decimals */
        real_is_right(((double)(state % 2000000) + 0.5) / 1e6 * (1 + 1e-15 * (double)(i % 7 - 3)));
    }
}
END_TEST

static const struct {
    const char *text, *want;
} texts[] = {
    { "", "null" },
    { " ", "null" },
    { "None", "null" },
    { "[None, 'a', None]", "[null, a, null]" },
    { "Nonesuch", "nullsuch" },
    { "it's", "its" },
    { "97.55381696%", "97.553817%" },
    { "0.1234567", "0.123457" },
    { "0.12345650000000000001", "0.123456" }, /* its double lies below the tie */
    { "9.9999999%", "10.000000%" },
    { "99999999.9999999", "100000000.000000" },
    { "12.345678", "12.345678" },
    { "-1.23456789", "-1.23456789" }, /* no digit in front */
    { "1.2345678e-05", "1.2345678e-05" },
    { "1.123456789012345678901", "1.123456789012345678901" }, /* more than twenty decimals */
    { "nan", "nan" },
};

START_TEST(texts_keep_six_decimals)
{
    struct csv_buffer out = { 0 };
    ck_assert_int_eq(value_text_append(&out, texts[_i].text, strlen(texts[_i].text)).code,
                     STATUS_OK);
    ck_assert_int_eq(csv_append_bytes(&out, "", 1).code, STATUS_OK);
    ck_assert_str_eq(out.data, texts[_i].want);
    csv_buffer_release(&out);
}
END_TEST

/* Every text of seven to twelve decimals against printf of the double it reads as. */
START_TEST(texts_round_as_their_doubles)
{
    char text[64], want[64];
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        int decimals = 7 + (int)(state % 6), whole = (int)(state >> 8 & 7);
        snprintf(text, sizeof text, "%.*f", decimals,
                 ldexp((double)(state >> 11), -53) * pow(10, whole));
        if (i % 3 == 0) memcpy(strchr(text, '.') + 7, "5", 1 + (decimals == 7)); /* ties */
        struct csv_buffer out = { 0 };
        ck_assert_int_eq(value_text_append(&out, text, strlen(text)).code, STATUS_OK);
        ck_assert_int_eq(csv_append_bytes(&out, "", 1).code, STATUS_OK);
        snprintf(want, sizeof want, "%.6f", strtod(text, NULL));
        ck_assert_msg(!strcmp(out.data, want), "'%s' is '%s', not '%s'", text, out.data, want);
        csv_buffer_release(&out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("value text");
    TCase *t = tcase_create("values");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, numbers_round_as_python_rounds);
    tcase_add_loop_test(t, any_number_does, 0, 4);
    tcase_add_loop_test(t, texts_keep_six_decimals, 0, sizeof texts / sizeof *texts);
    tcase_add_test(t, texts_round_as_their_doubles);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
