/* Lists of kernel modes: read, printed, added, taken apart; what is none is refused with the nearest name. */
#include <string.h>

#include "core/kernel_modes.h"
#include "support/suite.h"

static struct kernel_modes read_list(const char *list)
{
    struct kernel_modes modes = { .function_count = 0 };
    struct status status = kernel_modes_read(&modes, list);
    ck_assert_msg(!status.code, "%s: %s", list, status.text);
    return modes;
}

/* In the order of the table, each once; of a function the larger error. */
START_TEST(lists_are_read)
{
    static const struct {
        const char *list, *text;
        size_t count;
    } rows[] = {
        { "tf32", "tf32", 1 },
        { "ftz,hf32", "hf32,ftz", 2 },
        { "tf32,tf32", "tf32", 1 },
        { "fast-math:exp=8", "fast-math:exp=8", 1 },
        { "fast-math:exp=8,staged,fast-math:log=2.5,fast-math:exp=6",
          "staged,fast-math:exp=8,fast-math:log=2.5", 2 },
    };
    char text[KERNEL_MODES_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kernel_modes modes = read_list(rows[i].list);
        kernel_modes_text(text, &modes);
        ck_assert_str_eq(text, rows[i].text);
        ck_assert_uint_eq(kernel_modes_count(&modes), rows[i].count);
    }
}
END_TEST

START_TEST(others_are_refused)
{
    static const struct {
        const char *list, *reason;
    } rows[] = {
        { "tf23", "tf32" },
        { "", "no mode" },
        { "tf32,", "no mode" },
        { "fast-math", "FUNCTION=ULP" },
        { "fast-math:exp", "FUNCTION=ULP" },
        { "fast-math:exp=", "FUNCTION=ULP" },
        { "fast-math:=3", "FUNCTION=ULP" },
        { "fast-math:exp=-1", "above 0" },
        { "fast-math:exp=nan", "above 0" },
        { "fast-math:exp=1e300", "above 0" },
        { "fast-math:exp=8x", "above 0" },
        { "fast-math:an_extremely_long_name_of_a_function_that_is=3", "FUNCTION=ULP" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kernel_modes modes = { .function_count = 0 };
        struct status status = kernel_modes_read(&modes, rows[i].list);
        ck_assert_int_eq(status.code, STATUS_BAD_ARGUMENT);
        ck_assert_msg(strstr(status.text, rows[i].reason) != NULL, "%s: %s", rows[i].list,
                      status.text);
    }
}
END_TEST

START_TEST(there_are_only_so_many_functions)
{
    struct kernel_modes modes = { .function_count = 0 };
    char one[] = "fast-math:a=2";
    for (int i = 0; i < FAST_FUNCTIONS_MAX; i++) {
        one[10] = (char)('a' + i);
        ck_assert_int_eq(kernel_modes_read(&modes, one).code, 0);
    }
    one[10] = 'z';
    ck_assert_int_eq(kernel_modes_read(&modes, one).code, STATUS_BAD_ARGUMENT);
}
END_TEST

START_TEST(one_is_taken_out)
{
    char text[KERNEL_MODES_BYTES];
    struct kernel_modes all = read_list("tf32,ftz,fast-math:exp=8");
    struct kernel_modes only = kernel_modes_only(&all, KERNEL_FTZ);
    kernel_modes_text(text, &only);
    ck_assert_str_eq(text, "ftz");
    only = kernel_modes_only(&all, KERNEL_FAST_MATH);
    kernel_modes_text(text, &only);
    ck_assert_str_eq(text, "fast-math:exp=8");
    only = kernel_modes_only(&all, KERNEL_HF32);
    ck_assert_uint_eq(kernel_modes_count(&only), 0);
    struct kernel_modes more = read_list("hf32,fast-math:exp=9");
    ck_assert_int_eq(kernel_modes_add(&more, &all).code, 0);
    kernel_modes_text(text, &more);
    ck_assert_str_eq(text, "tf32,hf32,ftz,fast-math:exp=9");
}
END_TEST

/* The usual error where nothing else is allowed, and never less. */
START_TEST(functions_have_errors)
{
    struct kernel_modes modes = read_list("fast-math:exp=8,fast-math:log=2");
    ck_assert_double_eq(kernel_modes_ulps(&modes, "exp", 4), 8);
    ck_assert_double_eq(kernel_modes_ulps(&modes, "log", 4), 4);
    ck_assert_double_eq(kernel_modes_ulps(&modes, "sin", 4), 4);
    ck_assert_double_eq(kernel_modes_ulps(NULL, "exp", 4), 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel_modes");
    TCase *tcase = tcase_create("kernel_modes");
    tcase_add_test(tcase, lists_are_read);
    tcase_add_test(tcase, others_are_refused);
    tcase_add_test(tcase, there_are_only_so_many_functions);
    tcase_add_test(tcase, one_is_taken_out);
    tcase_add_test(tcase, functions_have_errors);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
