/* Alignments: known ones, ties, and the least cost among all alignments of short sequences. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/api_dumps/align.h"
#include "support/suite.h"

struct words {
    const char *a, *b;
    double replace;
};

static double letter_cost(void *context, bool *matched, size_t a, size_t b)
{
    const struct words *words = context;
    *matched = words->a[a] == words->b[b];
    return *matched ? 0 : words->replace;
}

/* The pairs as "12 34": digits are positions. */
static void aligned(char *out, const char *a, const char *b, double replace)
{
    struct arena arena = { 0 };
    struct words words = { a, b, replace };
    struct align_pair *pairs;
    size_t count = 0;
    ck_assert(!align(&pairs, &count, &arena, strlen(a), strlen(b), letter_cost, &words).code);
    *out = '\0';
    for (size_t i = 0; i < count; i++)
        out += sprintf(out, "%s%zu%zu", i ? " " : "", pairs[i].a, pairs[i].b);
    arena_release(&arena);
}

static const struct {
    const char *a, *b;
    double replace;
    const char *pairs;
} cases[] = {
    { "", "", 5, "" },
    { "abc", "", 5, "" },
    { "", "abc", 5, "" },
    { "abc", "abc", 5, "00 11 22" },
    { "abc", "xbz", 5, "11" },
    { "abc", "xbz", 1, "11" },
    { "acb", "abc", 5, "00 12" }, /* from the end: c is left out of b's way */
    { "aa", "a", 5, "10" },       /* a tie: the trace from the end matches first */
    { "a", "aa", 5, "01" },
};

START_TEST(known_alignments)
{
    char pairs[100];
    aligned(pairs, cases[_i].a, cases[_i].b, cases[_i].replace);
    if (strcmp(cases[_i].a, "acb")) ck_assert_str_eq(pairs, cases[_i].pairs);
    else ck_assert(!strcmp(pairs, "00 12") || !strcmp(pairs, "00 21"));
}
END_TEST

/* The least cost by trying all. */
static double least(const char *a, const char *b, double replace)
{
    if (!*a) return (double)strlen(b);
    if (!*b) return (double)strlen(a);
    double match = least(a + 1, b + 1, replace) + (*a == *b ? 0 : replace);
    double skip_a = least(a + 1, b, replace) + 1, skip_b = least(a, b + 1, replace) + 1;
    if (skip_a < match) match = skip_a;
    return skip_b < match ? skip_b : match;
}

START_TEST(no_alignment_costs_less)
{
    srand(11);
    for (int round = 0; round < 300; round++) {
        char a[8] = "", b[8] = "", pairs[100];
        for (int i = rand() % 7; i > 0; i--) a[strlen(a)] = (char)('a' + rand() % 3);
        for (int i = rand() % 7; i > 0; i--) b[strlen(b)] = (char)('a' + rand() % 3);
        aligned(pairs, a, b, 5); /* never replaces: what is not matched is left out, at 1 each */
        size_t matched = (strlen(pairs) + 1) / 3;
        ck_assert_msg((double)(strlen(a) + strlen(b) - 2 * matched) == least(a, b, 5), "%s %s: %s",
                      a, b, pairs);
    }
}
END_TEST

START_TEST(too_many_are_refused)
{
    struct arena arena = { 0 };
    struct align_pair *pairs;
    size_t count;
    struct status status =
        align(&pairs, &count, &arena, (size_t)1 << 20, (size_t)1 << 20, letter_cost, NULL);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    status = align(&pairs, &count, &arena, SIZE_MAX / 2, 3, letter_cost, NULL);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("align");
    TCase *tests = tcase_create("align");
    tcase_add_loop_test(tests, known_alignments, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, no_alignment_costs_less);
    tcase_add_test(tests, too_many_are_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
