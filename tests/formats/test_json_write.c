/* Strings that are written are read back by the streaming reader and by cJSON. */
#include <check.h>
#include <cjson/cJSON.h>
#include <string.h>

#include "formats/json.h"
#include "formats/json_write.h"
#include "support/suite.h"

static struct csv_buffer out;

static void written(const char *text, size_t length)
{
    csv_buffer_clear(&out);
    ck_assert_int_eq(json_append_string(&out, text, length).code, STATUS_OK);
    ck_assert_int_eq(csv_append_bytes(&out, "", 1).code, STATUS_OK);
    out.length--;
}

/* What both readers make of the text. */
static void reads_as(const char *want, size_t length)
{
    struct json json;
    struct json_slice slice;
    char decoded[512];

    json_open(&json, out.data, out.length);
    ck_assert(json_string(&json, &slice) && json_finish(&json));
    ck_assert_uint_eq(json_slice_decode_into(decoded, &slice), length);
    ck_assert_mem_eq(decoded, want, length);
    if (memchr(want, '\0', length)) return; /* which cJSON cannot hold */
    cJSON *item = cJSON_Parse(out.data);
    ck_assert_ptr_nonnull(item);
    ck_assert_str_eq(item->valuestring, want);
    cJSON_Delete(item);
}

START_TEST(every_byte_below_128)
{
    char text[2] = { (char)_i, '\0' };
    written(text, 1);
    reads_as(text, 1);
}
END_TEST

START_TEST(characters_of_each_length)
{
    static const char text[] = "a\xc3\xa4\xe8\xaf\xaf\xf0\x9f\x98\x80\xed\x9f\xbf z";
    written(text, sizeof text - 1);
    ck_assert_uint_eq(out.length, sizeof text + 1); /* nothing is escaped */
    reads_as(text, sizeof text - 1);
}
END_TEST

START_TEST(what_is_no_utf8_is_replaced)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "a\xff"
          "b",
          "a\xef\xbf\xbd"
          "b" },                                                    /* no first byte */
        { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },                 /* overlong */
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
        { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "x\xe8\xaf", "x\xef\xbf\xbd\xef\xbf\xbd" }, /* it ends inside of a character */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        written(rows[i].text, strlen(rows[i].text));
        reads_as(rows[i].want, strlen(rows[i].want));
    }
}
END_TEST

START_TEST(a_script_cannot_end_its_string)
{
    written("\"];alert(1)//\\", 14);
    ck_assert_str_eq(out.data, "\"\\\"];alert(1)//\\\\\"");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_write");
    TCase *tests = tcase_create("json_write");
    tcase_add_loop_test(tests, every_byte_below_128, 0, 128);
    tcase_add_test(tests, characters_of_each_length);
    tcase_add_test(tests, what_is_no_utf8_is_replaced);
    tcase_add_test(tests, a_script_cannot_end_its_string);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
