/* The pull parser: what it accepts, what it refuses and where, and what strings and numbers
 * mean. Accepting is tested in both ways in which a text can be walked: by json_skip and value by
 * value; they must agree. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "support/suite.h"

/* Walk a value through the pull functions. */
static bool walk(struct json *json)
{
    enum json_kind kind;
    struct json_number number;
    struct json_slice slice;
    bool boolean;

    if (!json_peek(json, &kind)) return false;
    switch (kind) {
    case JSON_NULL: return json_null(json);
    case JSON_BOOL: return json_bool(json, &boolean);
    case JSON_NUMBER: return json_number(json, &number);
    case JSON_STRING: return json_string(json, &slice);
    case JSON_ARRAY:
        if (!json_enter_array(json)) return false;
        while (json_array_next(json))
            if (!walk(json)) return false;
        return !json->problem;
    default:
        if (!json_enter_object(json)) return false;
        while (json_object_next(json, &slice))
            if (!walk(json)) return false;
        return !json->problem;
    }
}

/* Read the text in both ways; the status of the first, after checking that they agree. The text
 * is copied to the end of a buffer of its size, so that reading beyond it is seen by ASan. */
static struct status read_both_ways(const char *text, size_t bytes)
{
    struct json skipped, walked;
    char *exact = malloc(bytes ? bytes : 1);

    memcpy(exact, text, bytes);
    json_open(&skipped, exact, bytes);
    if (json_skip(&skipped)) json_finish(&skipped);
    json_open(&walked, exact, bytes);
    if (walk(&walked)) json_finish(&walked);
    struct status a = json_status(&skipped, "t", STATUS_BAD_INPUT);
    struct status b = json_status(&walked, "t", STATUS_BAD_INPUT);
    ck_assert_int_eq(a.code, b.code);
    ck_assert_str_eq(a.text, b.text);
    free(exact);
    return a;
}

/* clang-format off */
static const char *const accepted[] = {
    "null", "true", " false ", "0", "-0", "1.5e-3", "1E+5", "NaN", "Infinity", "-Infinity",
    "\"\"", "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"", "[]", "{}", "[1,2 , 3]", "\r\n\t [ ] \n",
    "{\"a\":{\"b\":[null,{}]},\"c\":\"d\"}", "[[],[[]],{}]", "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "\"\x7f\"",
    "12345678901234567890123456789", "1e999", "[\"12345678\",\"1234567\",\"123456789\"]",
};
/* clang-format on */

START_TEST(accepts_json_and_bare_words)
{
    struct status status = read_both_ways(accepted[_i], strlen(accepted[_i]));
    ck_assert_msg(status.code == STATUS_OK, "%s: %s", accepted[_i], status.text);
}
END_TEST

/* Texts, and the whole message, with the place counted by hand. */
static const struct {
    const char *text, *message;
} refused[] = {
    { "", "t: line 1, column 1, at the top level: expected a value, found the end of the file" },
    { "  \n ", "t: line 2, column 2, at the top level: expected a value, found the end of the "
               "file" },
    { "nul", "t: line 1, column 1, at the top level: expected a value, found 'n'" },
    { "True", "t: line 1, column 1, at the top level: expected a value, found 'T'" },
    { "nan", "t: line 1, column 1, at the top level: expected a value, found 'n'" },
    { "-Inf", "t: line 1, column 2, at the top level: expected a value, found 'I'" },
    { "1 2", "t: line 1, column 3, at the top level: expected the end of the file, found '2'" },
    { "[1,]", "t: line 1, column 4, at [1]: expected a value, found ']'" },
    { "[1 2]", "t: line 1, column 4, at [0]: expected ',' or ']', found '2'" },
    { "[1", "t: line 1, column 3, at [0]: expected ',' or ']', found the end of the file" },
    { "{\"a\":1,}", "t: line 1, column 8, at the top level: expected a key in quotes, found '}'" },
    { "{a:1}", "t: line 1, column 2, at the top level: expected a key in quotes or '}', found "
               "'a'" },
    { "{\"a\" 1}", "t: line 1, column 6, at the top level: expected ':', found '1'" },
    { "{\"a\":1 \"b\":2}", "t: line 1, column 8, at a: expected ',' or '}', found '\"'" },
    { "{\"a\":}", "t: line 1, column 6, at a: expected a value, found '}'" },
    { "[01]", "t: line 1, column 3, at [0]: a number with a leading zero" },
    { "[1.]", "t: line 1, column 4, at [0]: expected a digit after the decimal point, found ']'" },
    { "[.5]", "t: line 1, column 2, at [0]: expected a value, found '.'" },
    { "[+1]", "t: line 1, column 2, at [0]: expected a value, found '+'" },
    { "[-]", "t: line 1, column 3, at [0]: expected a digit, found ']'" },
    { "[1e]", "t: line 1, column 4, at [0]: expected a digit of the exponent, found ']'" },
    { "[1e+]", "t: line 1, column 5, at [0]: expected a digit of the exponent, found ']'" },
    { "\"abc", "t: line 1, column 5, at the top level: expected the closing quote of a string, "
               "found the end of the file" },
    { "[\"a\\x\"]", "t: line 1, column 5, at [0]: expected an escape character (one of "
                    "\"\\/bfnrtu), found 'x'" },
    { "[\"\\u12g4\"]", "t: line 1, column 7, at [0]: expected four hexadecimal digits, found "
                       "'g'" },
    { "[\"a\nb\"]", "t: line 1, column 4, at [0]: a control character in a string" },
    { "[\"\xc3\xa9\", \"\xff\"]", "t: line 1, column 8, at [1]: bytes that are not UTF-8" },
    { "[\"\xc0\x80\"]", "t: line 1, column 3, at [0]: bytes that are not UTF-8" },
    { "[\"\xed\xa0\x80\"]", "t: line 1, column 3, at [0]: bytes that are not UTF-8" },
    { "[\"\xf4\x90\x80\x80\"]", "t: line 1, column 3, at [0]: bytes that are not UTF-8" },
    { "[\"\xe2\x82\"]", "t: line 1, column 3, at [0]: bytes that are not UTF-8" },
    { "{\n \"data\": {\n  \"Torch.add.0.forward\": {\n   \"input_args\": [1, [2, }\n",
      "t: line 4, column 26, at data[\"Torch.add.0.forward\"].input_args[1][1]: expected a value, "
      "found '}'" },
    { "{\"a\": [1, 2], \"b\": [{}, {\"c d\": tru}]}",
      "t: line 1, column 33, at b[1][\"c d\"]: expected a value, found 't'" },
    { "[\"\\\\\\\"{[\", ]", "t: line 1, column 12, at [1]: expected a value, found ']'" },
};

START_TEST(refuses_with_the_place)
{
    struct status status = read_both_ways(refused[_i].text, strlen(refused[_i].text));
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, refused[_i].message);
}
END_TEST

START_TEST(refuses_nul_bytes)
{
    ck_assert_str_eq(read_both_ways("[\0]", 3).text,
                     "t: line 1, column 2, at [0]: expected a value, found byte 0x00");
    ck_assert_str_eq(read_both_ways("[\"\0\"]", 5).text,
                     "t: line 1, column 3, at [0]: a control character in a string");
}
END_TEST

/* 420 levels are read, 421 are not, and a million end at the same place as 421. */
START_TEST(depth_is_bounded)
{
    enum { MANY = 1000000 };
    char *text = malloc(2 * MANY);

    memset(text, '[', JSON_MAX_DEPTH);
    memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    ck_assert_int_eq(read_both_ways(text, 2 * JSON_MAX_DEPTH).code, STATUS_OK);
    memset(text, '[', MANY);
    memset(text + MANY, ']', MANY);
    struct status status = read_both_ways(text, 2 * MANY);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "line 1, column 421, at ..."));
    ck_assert_ptr_nonnull(strstr(status.text, "[0][0]: nesting deeper than 420 levels"));
    free(text);
}
END_TEST

/* Nested objects at the limit, so that both kinds pass through the bit set of json_skip. */
START_TEST(depth_of_objects_is_bounded)
{
    char text[8 * (JSON_MAX_DEPTH + 1)];
    for (int over = 0; over < 2; over++) {
        size_t used = 0;
        for (int i = 0; i < JSON_MAX_DEPTH + over; i++)
            used += (size_t)sprintf(text + used, i % 2 ? "[" : "{\"k\":");
        used += (size_t)sprintf(text + used, "0");
        for (int i = JSON_MAX_DEPTH + over; i-- > 0;)
            used += (size_t)sprintf(text + used, i % 2 ? "]" : "}");
        ck_assert_int_eq(read_both_ways(text, used).code, over ? STATUS_BAD_INPUT : STATUS_OK);
    }
}
END_TEST

/* A prefix of a well-formed text is refused at its end, whatever it cuts. */
START_TEST(every_cut_is_noticed)
{
    const char *text = "{\"a\": [1.5e-3, \"x\\u00e9\\n\xc3\xa9\", null, true, false, NaN, "
                       "-Infinity, {\"b\": {}}], \"c\": [[]]}";
    size_t bytes = strlen(text);
    ck_assert_int_eq(read_both_ways(text, bytes).code, STATUS_OK);
    for (size_t cut = 0; cut < bytes; cut++)
        ck_assert_msg(read_both_ways(text, cut).code == STATUS_BAD_INPUT, "cut at %zu", cut);
}
END_TEST

/* Changing one byte must never be read beyond the text or disagree between the two ways. */
START_TEST(every_changed_byte_is_read_alike)
{
    const char *text = "{\"a\": [1.5e-3, \"x\\u00e9\\n\xc3\xa9\", null, {\"b\": 12345678}]}";
    size_t bytes = strlen(text);
    char copy[128];
    for (size_t i = 0; i < bytes; i++) {
        memcpy(copy, text, bytes);
        for (int byte = 0; byte < 256; byte++) {
            copy[i] = (char)byte;
            (void)read_both_ways(copy, bytes);
        }
    }
}
END_TEST

static const struct {
    const char *json, *utf8;
    size_t bytes;
    /* clang-format off */
} strings[] = {
    { "\"plain\"", "plain", 5 },
    { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
    { "\"\\u0041\\u00e9\\u20AC\\uFFFD\"", "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbd", 9 },
    { "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4 },
    { "\"\\ud83d\"", "\xef\xbf\xbd", 3 },                       /* a lone high surrogate */
    { "\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd", 6 },     /* in the wrong order */
    { "\"\\ud83dx\"", "\xef\xbf\xbdx", 4 },
    { "\"\\ud83d\\u0041\"", "\xef\xbf\xbd" "A", 4 },
    { "\"a\\u0000b\"", "a\0b", 3 },
};
/* clang-format on */

START_TEST(strings_decode)
{
    struct arena arena = { 0 };
    struct json json;
    struct json_slice slice;
    size_t bytes;

    json_open(&json, strings[_i].json, strlen(strings[_i].json));
    ck_assert(json_string(&json, &slice));
    char *text = json_slice_decode(&arena, &slice, &bytes);
    ck_assert_uint_eq(bytes, strings[_i].bytes);
    ck_assert_mem_eq(text, strings[_i].utf8, bytes);
    ck_assert_int_eq(text[bytes], 0);
    if (strlen(text) == bytes) {
        ck_assert(json_slice_is(&slice, text));
        text[bytes - 1] ^= 1;
        ck_assert(!json_slice_is(&slice, text));
        text[bytes - 1] = '\0';
        ck_assert(!json_slice_is(&slice, text));
    }
    arena_release(&arena);
}
END_TEST

/* Columns count characters, not bytes. */
START_TEST(places_count_characters)
{
    const char *text = "[1,\n \"\xe4\xb8\xad\xe6\x96\x87\", x]";
    struct json_place place;
    json_locate(&place, text, strchr(text, 'x'));
    ck_assert_uint_eq(place.line, 2);
    ck_assert_uint_eq(place.column, 8);
    ck_assert_uint_eq(place.byte, 15);
    ck_assert_str_eq(place.path, "[2]");
}
END_TEST

/* A long key keeps its start, up to 60 bytes and a whole character. */
START_TEST(long_keys_are_cut_behind)
{
    static const struct {
        size_t before; /* letters before the characters of three bytes */
        size_t shown;
    } rows[] = { { 0, 60 }, { 1, 58 }, { 2, 59 }, { 58, 58 }, { 59, 59 }, { 60, 60 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300] = "{\"", expected[300];
        struct json_place place;
        for (size_t k = 0; k < rows[i].before; k++) strcat(text, "k");
        for (int k = 0; k < 25; k++) strcat(text, "\xe9\x94\xae");
        snprintf(expected, sizeof expected, "[\"%.*s...\"]", (int)rows[i].shown, text + 2);
        strcat(text, "\":!");
        json_locate(&place, text, strchr(text, '!'));
        ck_assert_str_eq(place.path, expected);
    }
}
END_TEST

/* A long path keeps its end. */
START_TEST(long_paths_are_cut_in_front)
{
    char text[4096] = "";
    struct json_place place;
    for (int i = 0; i < 40; i++) strcat(text, "{\"a_rather_long_key\":");
    strcat(text, "{\"end\":!");
    json_locate(&place, text, strchr(text, '!'));
    ck_assert_int_eq(strncmp(place.path, "...", 3), 0);
    ck_assert_ptr_nonnull(strstr(place.path, ".a_rather_long_key.end"));
    ck_assert_uint_lt(strlen(place.path), sizeof place.path);
}
END_TEST

/* ---- numbers ---------------------------------------------------------------------------- */

static struct json_number number_of(const char *text)
{
    struct json_number number;
    const char *end = json_number_take(&number, text, text + strlen(text));
    ck_assert_msg(end == text + strlen(text), "%s", text);
    return number;
}

static void check_against_strtod(const char *text)
{
    double want = strtod(text, NULL), got = number_of(text).real;
    ck_assert_msg(!memcmp(&want, &got, sizeof got), "%s: got %a, want %a", text, got, want);
}

/* Boundaries of doubles, ties, and numbers that overflow every fast path. */
/* clang-format off */
static const char *const hard_numbers[] = {
    "0", "-0", "0.0", "-0.0e5", "0e-999999999999", "1e-999999999999", "1e999999999999",
    "9007199254740993", "9007199254740992.5", "9007199254740995", "18446744073709551615",
    "18446744073709551616", "9999999999999999999", "1e23", "8.5e22", "1e27", "1e28", "1e-27",
    "1e-28", "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
    "2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308",
    "1.7976931348623158e308", "1.7976931348623159e308", "0.1", "0.30000000000000004",
    "7.2057594037927933e16", "123456789012345678901234567890", "1.00000000000000011102230246251565",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124",
    "1.00000000000000011102230246251565404236316680908203126",
    "0.000000000000000000000000000000000000000000000000000000000001",
    "100000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    "5e-324", "6631236846766476e-316", "3.14159265358979323846264338327950288",
};
/* clang-format on */

START_TEST(hard_numbers_round_correctly) { check_against_strtod(hard_numbers[_i]); }
END_TEST

/* Random digits, points and exponents, against strtod of the C library, which rounds
 * correctly. */
START_TEST(random_numbers_round_correctly)
{
    uint64_t state = 20261120 + (uint64_t)_i;
    for (int round = 0; round < 50000; round++) {
        char text[64];
        state = state * 6364136223846793005u + 1442695040888963407u;
        int digits = 1 + (int)(state >> 33) % 21, point = (int)(state >> 40) % 22;
        int exponent = (int)(state >> 50) % 60 - 30;
        size_t used = 0;
        uint64_t bits = state ^ state >> 29;
        if (bits & 1) text[used++] = '-';
        for (int i = 0; i < digits; i++) {
            bits = bits * 6364136223846793005u + 99991;
            char digit = (char)('0' + (bits >> 60) % 10);
            if (i == 0 && digits > 1 && digit == '0' && point != 0) digit = '7';
            text[used++] = digit;
            if (i == point && i + 1 < digits) text[used++] = '.';
        }
        if (digits > 1 && point == 0 && round % 2 == 0) text[used - (size_t)digits - 1] = '0';
        if (round % 3) used += (size_t)sprintf(text + used, "e%d", exponent);
        text[used] = '\0';
        check_against_strtod(text);
    }
}
END_TEST

/* Every double is read back from its 17 digits, and from its shortest common form. */
START_TEST(printed_doubles_come_back)
{
    uint64_t state = 7;
    for (int round = 0; round < 50000; round++) {
        double x;
        char text[40];
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = state ^ state >> 31;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        sprintf(text, "%.17g", x);
        ck_assert_double_eq(number_of(text).real, x);
        float f = (float)ldexp((double)(bits >> 40), -20);
        sprintf(text, "%.17g", (double)f);
        ck_assert_double_eq(number_of(text).real, (double)f);
    }
}
END_TEST

/* More digits than any boundary has: only "is the rest zero" may matter. */
START_TEST(very_long_numbers)
{
    char text[3000];
    /* 1 + 2^-53, a tie, written out; then with a 1 a thousand zeros later: above the tie. */
    strcpy(text, "1.00000000000000011102230246251565404236316680908203125");
    ck_assert_double_eq(number_of(text).real, 1.0);
    size_t used = strlen(text);
    memset(text + used, '0', 1000);
    strcpy(text + used + 1000, "1");
    ck_assert_double_eq(number_of(text).real, 1.0 + 0x1p-52);
    strcpy(text + used + 1000, "0");
    ck_assert_double_eq(number_of(text).real, 1.0);
    /* 10^2000 / 10^2000. */
    text[0] = '1';
    memset(text + 1, '0', 2000);
    strcpy(text + 2001, "e-2000");
    ck_assert_double_eq(number_of(text).real, 1.0);
    /* 10^-2000 * 10^2000. */
    strcpy(text, "0.");
    memset(text + 2, '0', 1999);
    strcpy(text + 2001, "1e2000");
    ck_assert_double_eq(number_of(text).real, 1.0);
}
END_TEST

START_TEST(integers_are_exact)
{
    ck_assert_int_eq(number_of("9223372036854775807").integer, INT64_MAX);
    ck_assert(number_of("9223372036854775807").is_int64);
    ck_assert_int_eq(number_of("-9223372036854775808").integer, INT64_MIN);
    ck_assert(number_of("-9223372036854775808").is_int64);
    ck_assert(!number_of("9223372036854775808").is_int64);
    ck_assert(!number_of("-9223372036854775809").is_int64);
    ck_assert(!number_of("18446744073709551617").is_int64);
    ck_assert(!number_of("100000000000000000000000").is_int64);
    ck_assert(number_of("100000000000000000000000").is_integer);
    ck_assert(!number_of("1.0").is_integer);
    ck_assert(!number_of("1e2").is_integer);
    ck_assert(number_of("-0").is_int64);
    ck_assert(signbit(number_of("-0").real));
}
END_TEST

START_TEST(bare_words_are_numbers)
{
    ck_assert(isnan(number_of("NaN").real));
    ck_assert_double_eq(number_of("Infinity").real, INFINITY);
    ck_assert_double_eq(number_of("-Infinity").real, -INFINITY);
    struct json_number number;
    const char *text = "-NaN";
    ck_assert_ptr_null(json_number_take(&number, text, text + 4));
}
END_TEST

/* The first problem stays, and later calls do nothing. */
START_TEST(problems_stay)
{
    struct json json;
    bool boolean;
    json_open(&json, "[1]", 3);
    ck_assert(!json_bool(&json, &boolean));
    ck_assert(!json_skip(&json));
    ck_assert(!json_fail(&json, json.end, "another"));
    ck_assert_str_eq(json_status(&json, "t", STATUS_BAD_INPUT).text,
                     "t: line 1, column 1, at the top level: expected true or false, found '['");
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("json");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, accepts_json_and_bare_words, 0, COUNT(accepted));
    tcase_add_loop_test(tests, refuses_with_the_place, 0, COUNT(refused));
    tcase_add_test(tests, refuses_nul_bytes);
    tcase_add_test(tests, depth_is_bounded);
    tcase_add_test(tests, depth_of_objects_is_bounded);
    tcase_add_test(tests, every_cut_is_noticed);
    tcase_add_test(tests, every_changed_byte_is_read_alike);
    tcase_add_loop_test(tests, strings_decode, 0, COUNT(strings));
    tcase_add_test(tests, places_count_characters);
    tcase_add_test(tests, long_paths_are_cut_in_front);
    tcase_add_loop_test(tests, hard_numbers_round_correctly, 0, COUNT(hard_numbers));
    tcase_add_loop_test(tests, random_numbers_round_correctly, 0, 4);
    tcase_add_test(tests, printed_doubles_come_back);
    tcase_add_test(tests, very_long_numbers);
    tcase_add_test(tests, integers_are_exact);
    tcase_add_test(tests, bare_words_are_numbers);
    tcase_add_test(tests, long_keys_are_cut_behind);
    tcase_add_test(tests, problems_stay);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
