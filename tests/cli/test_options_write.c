/* What options_write gives, options_parse reads: the same values. */
#include "cli/options_write.h"

#include <check.h>
#include <string.h>

#include "support/suite.h"

struct values {
    bool flag, other_flag;
    const char *text, *file, *choice, *untouched;
    int64_t integer;
    double seconds, real;
    uint64_t bytes;
    struct integer_list integers;
    struct operands texts;
};

static const char *const *colors(void)
{
    static const char *const names[] = { "red", "plugin:", NULL };
    return names;
}

#define AT(member) .offset = offsetof(struct values, member)

static const struct option_row rows[] = {
    { { "f", "flag" }, OPTION_FLAG, AT(flag) },
    { { "other-flag" }, OPTION_FLAG, AT(other_flag) },
    { { "text" }, OPTION_TEXT, AT(text), "T" },
    { { "file" }, OPTION_FILE, AT(file), "F", .suffix = ".json" },
    { { "choice" }, OPTION_CHOICE, AT(choice), "C", .choices = colors },
    { { "untouched" }, OPTION_TEXT, AT(untouched), "T" },
    { { "n" }, OPTION_INTEGER, AT(integer), "N", .minimum = -5, .maximum = 1000000 },
    { { "seconds" }, OPTION_SECONDS, AT(seconds), "S", .maximum = 100 },
    { { "real" }, OPTION_REAL, AT(real), "R", .minimum = -100, .maximum = 100 },
    { { "bytes" }, OPTION_BYTES, AT(bytes), "B" },
    { { "d" }, OPTION_INTEGERS, AT(integers), "D", .maximum = 99 },
    { { "each" }, OPTION_TEXTS, AT(texts), "T" },
    { .names = { NULL } },
};

static const struct values defaults = { .integer = 3, .seconds = 60, .untouched = "as it was" };

static const struct command command = {
    .word = "test", .options = rows, .bytes = sizeof(struct values), .defaults = &defaults
};

START_TEST(values_come_back)
{
    struct arena arena = { 0 };
    struct option_words words = { .items = NULL };
    struct values back, values = defaults;
    bool help;
    values.flag = true;
    values.text = "-v|a b";
    values.file = "dir/x.json";
    values.choice = "plugin:k.json";
    values.integer = -5;
    values.seconds = 0.1;
    values.real = -1.0 / 3;
    values.bytes = UINT64_C(123456789012345);
    values.integers = (struct integer_list){ .items = { 7, 0, 12 }, .count = 3 };
    values.texts = (struct operands){ .items = { "one", "two" }, .count = 2 };

    ck_assert_int_eq(options_write(&words, &arena, rows, &values, &defaults).code, STATUS_OK);
    char *arguments[64];
    for (size_t i = 0; i < words.count; i++) arguments[i] = (char *)words.items[i];
    struct status status = options_parse(&back, &help, &command, (int)words.count, arguments);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert(back.flag && !back.other_flag);
    ck_assert_str_eq(back.text, values.text);
    ck_assert_str_eq(back.file, values.file);
    ck_assert_str_eq(back.choice, values.choice);
    ck_assert_str_eq(back.untouched, "as it was");
    ck_assert_int_eq(back.integer, -5);
    ck_assert(back.seconds == values.seconds && back.real == values.real);
    ck_assert_uint_eq(back.bytes, values.bytes);
    ck_assert_uint_eq(back.integers.count, 3);
    ck_assert_int_eq(back.integers.items[2], 12);
    ck_assert_uint_eq(back.texts.count, 2);
    ck_assert_str_eq(back.texts.items[1], "two");
    arena_release(&arena);
}
END_TEST

START_TEST(defaults_are_not_said)
{
    struct arena arena = { 0 };
    struct option_words words = { .items = NULL };
    ck_assert_int_eq(options_write(&words, &arena, rows, &defaults, &defaults).code, STATUS_OK);
    ck_assert_uint_eq(words.count, 0);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options_write");
    TCase *tests = tcase_create("options_write");
    tcase_add_test(tests, values_come_back);
    tcase_add_test(tests, defaults_are_not_said);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
