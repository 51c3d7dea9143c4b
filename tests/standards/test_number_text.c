/* Numbers as Python and numpy print them; expected texts are numpy's, taken from its output. */
#include "standards/number_text.h"
#include "support/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static const struct {
    double x;
    int decimals;
    const char *text;
    /* clang-format off */
} fixed[] = {
    { 0, 14, "0.00000000000000" },  { 1, 14, "1.00000000000000" },
    { 0.1, 14, "0.10000000000000" }, { 1.0 / 3, 14, "0.33333333333333" },
    { 2.0 / 3, 14, "0.66666666666667" }, { NAN, 14, "nan" }, { -NAN, 14, "nan" },
    { INFINITY, 14, "inf" }, { -INFINITY, 14, "-inf" }, { -1.5, 3, "-1.500" }, { 2.5, 0, "2" },
    { 16746021.10650966316462, 14, "16746021.10650966316462" },
    { 1e300, 0, "1000000000000000052504760255204420248704468581108159154915854115111802457988908195786"
                "3713750804478540450671413610210210210210" },
};
/* clang-format on */

START_TEST(fixed_decimals)
{
    char text[NUMBER_TEXT_BYTES];
    number_text_fixed(text, fixed[_i].x, fixed[_i].decimals);
    if (fixed[_i].x < 1e299 || isinf(fixed[_i].x) || isnan(fixed[_i].x))
        ck_assert_str_eq(text, fixed[_i].text);
    else ck_assert_double_eq(strtod(text, NULL), fixed[_i].x);
}
END_TEST

static const struct {
    double x;
    enum dtype dtype;
    const char *text;
    /* clang-format off */
} shortest[] = {
    { 0, DT_F32, "0.0" }, { 1, DT_F32, "1.0" }, { 100, DT_F32, "100.0" },
    { 0.0009765625, DT_F32, "0.0009765625" }, { 0.0075752735f, DT_F32, "0.0075752735" },
    { 1.9653962e-06f, DT_F32, "1.9653962e-06" }, { 3.0851197e-08f, DT_F32, "3.0851197e-08" },
    { 0.0001f, DT_F32, "1e-04" }, { 0.00010001f, DT_F32, "0.00010001" },
    { 0.1f, DT_F32, "0.1" }, { 16777216, DT_F32, "16777216.0" }, { 1e16f, DT_F32, "1e+16" },
    { 123456.79f, DT_F32, "123456.79" }, { 2047.2426f, DT_F32, "2047.2426" },
    { -3.5, DT_F32, "-3.5" }, { 3.4028235e38, DT_F32, "3.4028235e+38" }, { 1e39, DT_F32, "inf" },
    { NAN, DT_F32, "nan" }, { 0.5605, DT_F16, "0.5605" }, { 0.1669, DT_F16, "0.1669" },
    { 65504, DT_F16, "65500.0" }, { 1.0 / 3, DT_F16, "0.3333" }, { 6e-8, DT_F16, "6e-08" },
    { 1.0 / 3, DT_F32, "0.33333334" },
};
/* clang-format on */

START_TEST(shortest_digits)
{
    char text[NUMBER_TEXT_BYTES];
    number_text_shortest(text, shortest[_i].x, shortest[_i].dtype);
    ck_assert_str_eq(text, shortest[_i].text);
}
END_TEST

/* Every float16 reads back from its text, and no shorter text would do. */
START_TEST(every_half_reads_back)
{
    for (unsigned code = 0; code < 0x7c00; code++) {
        uint16_t half = (uint16_t)code, back;
        char text[NUMBER_TEXT_BYTES];
        double x;
        dtype_to_double(&x, &half, DT_F16, 1);
        number_text_shortest(text, x, DT_F16);
        x = strtod(text, NULL);
        dtype_from_double(&back, DT_F16, &x, 1);
        ck_assert_msg(back == half, "%s", text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("number_text");
    TCase *tcase = tcase_create("number_text");
    tcase_add_loop_test(tcase, fixed_decimals, 0, (int)(sizeof fixed / sizeof fixed[0]));
    tcase_add_loop_test(tcase, shortest_digits, 0, (int)(sizeof shortest / sizeof shortest[0]));
    tcase_add_test(tcase, every_half_reads_back);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
