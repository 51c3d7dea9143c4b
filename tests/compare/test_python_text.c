/* Values as Python prints them: the right column is what Python 3.11 prints for str(json.loads(left)). */
#include "compare/dumps/python_text.h"

#include <string.h>

#include "support/suite.h"

/* clang-format off */
static const struct {
    const char *json, *text;
} values[] = {
    { "[\"it's\"]", "[\"it's\"]" },
    { "[\"say \\\"x\\\"\"]", "['say \"x\"']" },
    { "[\"it's \\\"x\\\"\"]", "['it\\'s \"x\"']" },
    { "[\"a\\nb\\tc\\\\\"]", "['a\\nb\\tc\\\\']" },
    { "[\"\\u001b\"]", "['\\x1b']" },
    { "[\"\\u00e9\"]", "['\303\251']" },
    { "[\"\\u200b\"]", "['\\u200b']" },
    { "[\"\\ud83d\\ude00\"]", "['\360\237\230\200']" },
    { "[\"\\u00a0\"]", "['\\xa0']" },
    { "[1.50, 1e5, -0, 12345678901234567890, NaN, -Infinity]", "[1.5, 100000.0, 0, 12345678901234567890, nan, -inf]" },
    { "{\"a\": {\"b\": [true, false, null]}, \"c\": []}", "{'a': {'b': [True, False, None]}, 'c': []}" },
    { "\"top\"", "top" },
    { "[]", "[]" },
    { "{}", "{}" },
    { "1E400", "inf" },
};
/* clang-format on */

START_TEST(prints_as_python)
{
    struct csv_buffer out = { 0 };
    struct json json;
    json_open(&json, values[_i].json, strlen(values[_i].json));
    ck_assert_int_eq(python_append_value(&out, &json).code, STATUS_OK);
    ck_assert_ptr_null(json.problem);
    ck_assert_int_eq(csv_append_bytes(&out, "", 1).code, STATUS_OK);
    ck_assert_str_eq(out.data, values[_i].text);
    csv_buffer_release(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("python_text");
    TCase *tests = tcase_create("python_text");
    tcase_add_loop_test(tests, prints_as_python, 0, (int)(sizeof values / sizeof *values));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
