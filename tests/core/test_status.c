/* Errors as values: texts are sentences, never longer than their room. */
#include <check.h>
#include <string.h>

#include "core/status.h"
#include "support/suite.h"

START_TEST(texts_are_formatted)
{
    ck_assert_int_eq(status_ok().code, STATUS_OK);
    ck_assert_str_eq(status_ok().text, "");
    struct status status = status_error(STATUS_BAD_INPUT, "file '%s' has %d bytes", "a", 7);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(status.text, "file 'a' has 7 bytes");
}
END_TEST

START_TEST(contexts_come_first)
{
    struct status status = status_error(STATUS_IO, "disk full");
    status = status_within(status, "row %d", 3);
    status = status_within(status, "API '%s'", "Torch.add.0");
    ck_assert_int_eq(status.code, STATUS_IO);
    ck_assert_str_eq(status.text, "API 'Torch.add.0': row 3: disk full");
}
END_TEST

/* Texts of every length around the room: cut, terminated, and what fits is kept. */
START_TEST(long_texts_are_cut)
{
    char longest[2000];
    enum { ROOM = sizeof((struct status *)0)->text };
    for (size_t length = ROOM - 10; length < ROOM + 10; length++) {
        memset(longest, 'x', length);
        longest[length] = '\0';
        struct status status = status_error(STATUS_SKIP, "%s", longest);
        size_t kept = length < ROOM ? length : ROOM - 1;
        ck_assert_uint_eq(strlen(status.text), kept);

        struct status inner = status_error(STATUS_SKIP, "inner");
        status = status_within(inner, "%s", longest);
        ck_assert_uint_lt(strlen(status.text), ROOM);
        ck_assert_mem_eq(status.text, longest, kept);
        status = status_within(status_error(STATUS_SKIP, "%s", longest), "outer");
        ck_assert_uint_eq(strlen(status.text), kept + 7 < ROOM ? kept + 7 : ROOM - 1);
        ck_assert_int_eq(strncmp(status.text, "outer: xxx", 10), 0);
    }
    memset(longest, 'y', 100);
    longest[100] = '\0';
    struct status inner = status_error(STATUS_SKIP, "%s", longest);
    memset(longest, 'x', ROOM - 20);
    longest[ROOM - 20] = '\0';
    struct status status = status_within(inner, "%s", longest);
    ck_assert_uint_eq(strlen(status.text), ROOM - 1);
    ck_assert_str_eq(status.text + ROOM - 20, ": yyyyyyyyyyyyyyyyy");
}
END_TEST

/* What a file or a worker wrote cannot move a cursor, forge a line or break an encoding. */
START_TEST(texts_are_one_line_of_utf8)
{
    static const struct {
        const char *given, *kept;
        /* clang-format off */
    } rows[] = {
        { "red \x1b[31m\r\nnext\ttab\x7f.", "red  [31m  next tab ." },
        { "\xc2\x9b" "31m", "  31m" },             /* U+009B, the one-character escape sequence */
        { "\xc2\xa0", "\xc2\xa0" },               /* U+00A0, no control any more */
        { "\xe5\xbc\xa0\xe9\x87\x8f \xf0\x9f\x98\x80", "\xe5\xbc\xa0\xe9\x87\x8f \xf0\x9f\x98\x80" },
        { "\xff\x80 \xc3(", "?? ?(" },            /* no lead byte, no continuation */
        { "\xe0\x80\xaf \xc0\xaf", "??? ??" },    /* overlong slashes */
        { "\xed\xa0\x80", "???" },                 /* a surrogate */
        { "\xf4\x90\x80\x80", "????" },            /* beyond U+10FFFF */
        { "end \xe5\xbc", "end ??" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct status status = status_error(STATUS_SKIP, "%s", rows[i].given);
        ck_assert_str_eq(status.text, rows[i].kept);
        status = status_within(status_error(STATUS_SKIP, "x"), "%s", rows[i].given);
        ck_assert_int_eq(strncmp(status.text, rows[i].kept, strlen(rows[i].kept)), 0);
    }
}
END_TEST

/* A character that does not fit is left out whole, at every place; one that just fits stays. */
START_TEST(long_texts_are_cut_behind_a_character)
{
    enum { ROOM = sizeof((struct status *)0)->text };
    static const char *const characters[] = { "\xc3\xa9", "\xe5\xbc\xa0", "\xf0\x9f\x98\x80" };
    const char *character = characters[_i];
    size_t width = strlen(character);
    for (size_t before = 0; before < width; before++) {
        char longest[ROOM + 8];
        memset(longest, 'x', before);
        for (size_t i = before; i + width < sizeof longest; i += width)
            memcpy(longest + i, character, width + 1);
        size_t whole = before + (ROOM - 1 - before) / width * width;
        struct status status = status_error(STATUS_SKIP, "%s", longest);
        ck_assert_uint_eq(strlen(status.text), whole);
        ck_assert_mem_eq(status.text, longest, whole);
        status = status_within(status, "abc");
        ck_assert_ptr_null(strchr(status.text, '?'));
        ck_assert_uint_eq((strlen(status.text) - 5 - before) % width, 0);
    }
}
END_TEST

/* Bytes that are no characters, more of them than fit. */
START_TEST(long_texts_of_no_characters)
{
    enum { ROOM = sizeof((struct status *)0)->text };
    char longest[ROOM + 8];
    for (int lead = 0; lead < 2; lead++) {
        memset(longest, lead ? 0xe5 : 0x80, sizeof longest - 1);
        longest[sizeof longest - 1] = '\0';
        struct status status = status_error(STATUS_SKIP, "%s", longest);
        size_t length = strlen(status.text);
        ck_assert_uint_ge(length, ROOM - 2);
        ck_assert_uint_eq(strspn(status.text, "?"), length);
    }
}
END_TEST

START_TEST(memory_says_how_much)
{
    ck_assert_str_eq(status_no_memory(0).text, "out of memory");
    ck_assert_str_eq(status_no_memory(4096).text, "out of memory: 4 KB were needed");
    ck_assert_int_eq(status_no_memory(1).code, STATUS_NO_MEMORY);
}
END_TEST

static int calls;

static struct status step(enum status_code code)
{
    calls++;
    return code ? status_error(code, "step %d", calls) : status_ok();
}

static struct status three_steps(enum status_code second)
{
    TRY(step(STATUS_OK));
    TRY(step(second));
    TRY(step(STATUS_OK));
    return status_ok();
}

START_TEST(try_leaves_at_the_first_failure)
{
    calls = 0;
    ck_assert_int_eq(three_steps(STATUS_OK).code, STATUS_OK);
    ck_assert_int_eq(calls, 3);
    calls = 0;
    struct status status = three_steps(STATUS_DEVICE);
    ck_assert_int_eq(status.code, STATUS_DEVICE);
    ck_assert_str_eq(status.text, "step 2");
    ck_assert_int_eq(calls, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status");
    TCase *tests = tcase_create("status");
    tcase_add_test(tests, texts_are_formatted);
    tcase_add_test(tests, contexts_come_first);
    tcase_add_test(tests, long_texts_are_cut);
    tcase_add_test(tests, texts_are_one_line_of_utf8);
    tcase_add_loop_test(tests, long_texts_are_cut_behind_a_character, 0, 3);
    tcase_add_test(tests, long_texts_of_no_characters);
    tcase_add_test(tests, memory_says_how_much);
    tcase_add_test(tests, try_leaves_at_the_first_failure);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
