/* formats/config_json: where a fault is, and which keys an object may have. */
#include <stdio.h>
#include <string.h>

#include "formats/config_json.h"
#include "support/suite.h"

static void ck_ok(struct status status) { ck_assert_msg(!status.code, "%s", status.text); }

static struct config_json parse(const char *text)
{
    struct config_json file;
    ck_ok(config_json_parse(&file, "t.json", text, strlen(text)));
    return file;
}

/* Lines of every value of a text with strings that contain syntax; a member is where its key is. */
START_TEST(lines_of_values)
{
    struct config_json file = parse(
        "{\n \"a\": [1,\n 2, \"x\\\"]}\" ],\n \"b\\\"\": { \"c\":\n null,\n \"d\": true }\n}");
    const cJSON *a = config_json_get(file.root, "a"), *b = a->next;
    ck_assert_int_eq(config_json_line(&file, file.root), 1);
    ck_assert_int_eq(config_json_line(&file, a), 2);
    ck_assert_int_eq(config_json_line(&file, a->child), 2);
    ck_assert_int_eq(config_json_line(&file, a->child->next), 3);
    ck_assert_int_eq(config_json_line(&file, a->child->next->next), 3);
    ck_assert_int_eq(config_json_line(&file, b), 4);
    ck_assert_int_eq(config_json_line(&file, b->child), 4);
    ck_assert_int_eq(config_json_line(&file, b->child->next), 6);
    config_json_close(&file);
}
END_TEST

START_TEST(a_fault_names_file_line_and_path)
{
    struct config_json file = parse("\xEF\xBB\xBF{ \"a\": [ {},\n { \"b\": 5 } ] }");
    const cJSON *item = config_json_get(file.root, "a")->child->next;
    ck_assert_str_eq(config_json_fault(&file, item->child, "%d is %s", 5, "odd").text,
                     "t.json:2: a[1].b: 5 is odd");
    ck_assert_str_eq(config_json_fault(&file, item, "no").text, "t.json:2: a[1]: no");
    ck_assert_str_eq(config_json_fault(&file, file.root, "no").text, "t.json:1: no");
    config_json_close(&file);
}
END_TEST

START_TEST(what_is_no_json)
{
    struct config_json file;
    static const char nul[] = "{ \"a\":\0 1 }";
    ck_assert_str_eq(config_json_parse(&file, "t", "{\n \"a\" 1 }", 10).text,
                     "t:2:6: not JSON from here on");
    ck_assert_str_eq(config_json_parse(&file, "t", nul, sizeof nul - 1).text,
                     "t:1:7: not JSON from here on");
    ck_assert_int_eq(config_json_parse(&file, "t", "", 0).code, STATUS_BAD_INPUT);
}
END_TEST

/* An unknown key is told what there is; where that is too much, the nearest. */
START_TEST(unknown_keys)
{
    static const char *const few[] = { "xx", "ab", "ac", NULL };
    static char texts[40][24];
    const char *many[41] = { NULL };
    struct config_json file = parse("{ \"ad\": 1 }");
    ck_assert_str_eq(config_json_check_names(&file, file.root, few).text,
                     "t.json:1: ad: no such key; known here: xx, ab, ac");
    config_json_close(&file);
    for (int i = 0; i < 40; i++) {
        snprintf(texts[i], sizeof texts[i], "key_of_ten%02d", i);
        many[i] = texts[i];
    }
    file = parse("{ \"key_often07\": 1 }");
    ck_assert_str_eq(config_json_check_names(&file, file.root, many).text,
                     "t.json:1: key_often07: no such key; the nearest is \"key_of_ten07\"");
    config_json_close(&file);
}
END_TEST

/* A key too long to compare is still refused, and accepted where it is known. */
START_TEST(long_keys)
{
    char text[400], key[201];
    memset(key, 'k', 200);
    key[200] = '\0';
    snprintf(text, sizeof text, "{ \"%s\": 1 }", key);
    const char *const keys[] = { "a", "b", NULL }, *const exact[] = { "a", key, NULL };
    struct config_json file = parse(text);
    ck_assert_int_eq(config_json_check_names(&file, file.root, keys).code, STATUS_BAD_INPUT);
    ck_ok(config_json_check_names(&file, file.root, exact));
    config_json_close(&file);
}
END_TEST

static const struct {
    const char *text, *message; /* NULL: nothing to say */
} objects[] = {
    { "{ \"n\": 1, \"s\": \"x\" }", NULL },
    { "{ \"n\": 1, \"s\": 2, \"$schema\": 1, \"_why\": 2 }", NULL },
    { "{ \"s\": 2 }", "t.json:1: the key \"n\" is missing" },
    { "{ \"n\": true }", "t.json:1: n: a number is expected" },
    { "{ \"n\": 1,\n \"s\": null }", "t.json:2: s: a string or a number is expected" },
    { "{ \"n\": 1,\n \"n\": 2 }", "t.json:2: n: the key is there twice" },
    { "{ \"N\": 1 }", "t.json:1: N: no such key; known here: n, s, o" },
    { "{ \"n\": 1, \"o\": true }", "t.json:1: o: another type is expected" },
    { "[]", "t.json:1: an object is expected here" },
};

START_TEST(keys_with_types)
{
    static const struct config_json_key keys[] = {
        { "n", cJSON_Number, true },
        { "s", cJSON_String | cJSON_Number, false },
        { "o", cJSON_Number | cJSON_Array, false }, /* types without words of their own */
        { NULL, 0, false },
    };
    struct config_json file = parse(objects[_i].text);
    struct status status = config_json_check_keys(&file, file.root, keys);
    ck_assert_str_eq(status.text, objects[_i].message ? objects[_i].message : "");
    config_json_close(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_json");
    TCase *tests = tcase_create("config_json");
    tcase_add_test(tests, lines_of_values);
    tcase_add_test(tests, a_fault_names_file_line_and_path);
    tcase_add_test(tests, what_is_no_json);
    tcase_add_test(tests, unknown_keys);
    tcase_add_test(tests, long_keys);
    tcase_add_loop_test(tests, keys_with_types, 0, (int)(sizeof objects / sizeof *objects));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
