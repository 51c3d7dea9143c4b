/* Hostile texts in generated source: nothing of them ends a literal, a comment or a line. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/source_text.h"
#include "support/suite.h"

static const char *const hostile[] = {
    "Torch.exp.0",
    "*/ int main() { system(\"touch owned\"); } /*",
    "\"; import os; os.system('x') #",
    "line\nnext\r\n\ttab",
    "?\?/\" ?\?) trigraphs",
    "\\x41\\n\\",
    "\"\"\" docstring",
    "$(touch owned) `touch owned`",
    "\xe4\xb8\xad\xe6\x96\x87 \xff",
    "%s%n%d",
    "{name} ${NAME}",
    "",
};
enum { N_HOSTILE = sizeof hostile / sizeof *hostile };

static char *text_of(void (*put)(struct text_out *, const char *), const char *text)
{
    struct text_out out = { .status.code = STATUS_OK };
    put(&out, text);
    text_out_bytes(&out, "", 1);
    ck_assert(!out.status.code);
    return out.text.data;
}

/* A literal has no quote, backslash or control character but its own, and reads back as the text. */
START_TEST(a_literal_is_the_text)
{
    char *literal = text_of(source_put_string, hostile[_i]), decoded[200];
    size_t length = strlen(literal), n = 0;
    ck_assert(literal[0] == '"' && literal[length - 1] == '"');
    for (size_t i = 1; i + 1 < length; i++) {
        ck_assert(literal[i] >= ' ' && literal[i] < 127 && literal[i] != '"' && literal[i] != '?');
        if (literal[i] != '\\') {
            decoded[n++] = literal[i];
            continue;
        }
        char octal[4] = { literal[i + 1], literal[i + 2], literal[i + 3], 0 }, *end;
        decoded[n++] = (char)strtoul(octal, &end, 8);
        ck_assert(*end == '\0');
        i += 3;
    }
    decoded[n] = '\0';
    ck_assert_str_eq(decoded, hostile[_i]);
    free(literal);
}
END_TEST

START_TEST(a_comment_stays_one)
{
    char *comment = text_of(source_put_comment, hostile[_i]);
    ck_assert_uint_eq(strlen(comment), strlen(hostile[_i]));
    ck_assert_ptr_null(strpbrk(comment, "*/\"'\\\n\r`$?{}#"));
    free(comment);
}
END_TEST

START_TEST(an_identifier_is_one)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    char name[64];
    source_identifier(name, hostile[_i]);
    ck_assert(*name && strspn(name, plain) == strlen(name));
    ck_assert(*name < '0' || *name > '9');
}
END_TEST

START_TEST(python_names_are_told)
{
    static const struct {
        const char *name;
        bool is;
    } names[] = {
        { "exp", true },     { "linalg.inv", true }, { "__add__", true }, { "add_", true },
        { "lambda", false }, { "a.in", false },      { "3d", false },     { "a..b", false },
        { "", false },       { "a b", false },       { "x;y", false },    { "None", false },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(source_is_python_name(names[i].name) == names[i].is, "%s", names[i].name);
}
END_TEST

static char *real_of(double x, int digits)
{
    struct text_out out = { .status.code = STATUS_OK };
    source_put_real(&out, x, digits, "NAN", "INFINITY");
    text_out_bytes(&out, "", 1);
    return out.text.data;
}

/* An integer without a point would be one in C too, and 1f none at all. */
START_TEST(reals_read_back)
{
    static const double values[] = { 0, -0.0, 1, -3, 0.1, 1e300, 5e-324, 123456789, 1e16 };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char *text = real_of(values[i], 17);
        ck_assert(strtod(text, NULL) == values[i]);
        ck_assert(signbit(strtod(text, NULL)) == signbit(values[i]));
        ck_assert_ptr_nonnull(strpbrk(text, ".e"));
        free(text);
    }
    char *text = real_of(-INFINITY, 9);
    ck_assert_str_eq(text, "-INFINITY");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("source_text");
    TCase *tests = tcase_create("texts");
    tcase_add_loop_test(tests, a_literal_is_the_text, 0, N_HOSTILE);
    tcase_add_loop_test(tests, a_comment_stays_one, 0, N_HOSTILE);
    tcase_add_loop_test(tests, an_identifier_is_one, 0, N_HOSTILE);
    tcase_add_test(tests, python_names_are_told);
    tcase_add_test(tests, reals_read_back);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
