/* Strings that are written are read back by the streaming reader and by cJSON. */
#include <check.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
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

/* Values, with the commas between them, as text; cJSON reads it. */
START_TEST(values_and_commas)
{
    struct json_writer w = JSON_WRITER(&out);
    csv_buffer_clear(&out);
    json_put_begin(&w, '{');
    json_put_key(&w, "a");
    json_put_number(&w, 0.1);
    json_put_key(&w, "list");
    json_put_begin(&w, '[');
    json_put_integer(&w, INT64_MIN);
    json_put_integer(&w, 0);
    json_put_integer(&w, 7);
    json_put_count(&w, UINT64_MAX);
    json_put_bool(&w, true);
    json_put_bool(&w, false);
    json_put_begin(&w, '{');
    json_put_end(&w, '}');
    json_put_string(&w, "q\"");
    json_put_end(&w, ']');
    json_put_key(&w, "numbers");
    json_put_begin(&w, '[');
    json_put_number(&w, 2304);
    json_put_number(&w, -0.0);
    json_put_number(&w, 1e300);
    json_put_number(&w, 1e-5);
    json_put_number(&w, INFINITY);
    json_put_number(&w, -INFINITY);
    json_put_number(&w, NAN);
    json_put_end(&w, ']');
    json_put_end(&w, '}');
    ck_assert_int_eq(w.status.code, STATUS_OK);
    ck_assert_int_eq(csv_append_bytes(&out, "", 1).code, STATUS_OK);
    ck_assert_str_eq(out.data, "{\"a\":0.1,\"list\":[-9223372036854775808,0,7,18446744073709551615,"
                               "true,false,{},\"q\\\"\"],\"numbers\":[2304,-0,1e+300,1e-05,"
                               "\"inf\",\"-inf\",\"nan\"]}");
    cJSON *read = cJSON_Parse(out.data);
    ck_assert_ptr_nonnull(read);
    cJSON_Delete(read);
}
END_TEST

/* Memory that is refused ends the text where it is, and the status says so. */
static int refuse(size_t bytes)
{
    (void)bytes;
    return 1;
}

START_TEST(what_does_not_fit)
{
    struct csv_buffer text = { 0 };
    struct json_writer w = JSON_WRITER(&text);
    memory_fault = refuse;
    json_put_begin(&w, '[');
    json_put_string(&w, "text");
    json_put_end(&w, ']');
    memory_fault = NULL;
    ck_assert_int_eq(w.status.code, STATUS_NO_MEMORY);
    json_put_string(&w, "text");
    ck_assert_uint_eq(text.length, 0);
    csv_buffer_release(&text);
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
    tcase_add_test(tests, values_and_commas);
    tcase_add_test(tests, what_does_not_fit);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
