/* Names of rows and words of verdicts, against what their definitions say of them. */
#include <stdlib.h>
#include <string.h>

#include "results/details_file.h"
#include "support/random_numbers.h"
#include "support/suite.h"

static struct csv_text text_at(const char *bytes, size_t length)
{
    return (struct csv_text){ bytes, length };
}

/* The parts of a name by its definition: cut at every point. */
static bool split_plainly(struct row_name *out, const char *bytes, size_t length)
{
    struct csv_text segments[64];
    size_t n = 0, begin = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && bytes[i] != '.') continue;
        segments[n++] = text_at(bytes + begin, i - begin);
        begin = i + 1;
        if (!segments[n - 1].length || n == 64) return false;
    }
    if (n < 6 || n > 7) return false;
    out->backward = csv_text_equal(segments[n - 3], "backward");
    if (!out->backward && !csv_text_equal(segments[n - 3], "forward")) return false;
    if (!csv_text_equal(segments[n - 2], "output")) return false;
    const char *api_end = segments[n - 5].bytes + segments[n - 5].length;
    out->index = segments[n - 1];
    out->api = text_at(segments[1].bytes, (size_t)(api_end - segments[1].bytes));
    out->full_name = text_at(bytes, (size_t)(segments[n - 3].bytes - 1 - bytes));
    return true;
}

static void check_same(struct csv_text got, struct csv_text want)
{
    ck_assert_ptr_eq(got.bytes, want.bytes);
    ck_assert_uint_eq(got.length, want.length);
}

/* Points at every place of eight bytes, and bytes that differ from one in a bit. */
START_TEST(names_are_split_at_points)
{
    static const char *const pieces[] = { ".",         ".",       "..",        "a",
                                          "Torch",     "\xae",    "/",         ".forward",
                                          ".backward", ".output", ".forward.", ".output.0",
                                          "linalg",    "12" };
    state = (uint64_t)_i + 1;
    size_t split = 0;
    for (int round = 0; round < 20000; round++) {
        char text[200] = "";
        if (round % 2) strcat(text, "Torch.add.1");
        for (size_t k = next_random() % 9; k; k--)
            strcat(text, pieces[next_random() % (sizeof pieces / sizeof *pieces)]);
        if (round % 4 == 1) strcat(text, ".forward.output.0");
        if (round % 4 == 3) strcat(text, ".backward.output.17");
        size_t length = strlen(text);
        char *copy = malloc(length + 1); /* of just these bytes, for what looks beyond them */
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, text, length);
        struct row_name got = { .backward = false }, want = { .backward = false };
        bool expected = split_plainly(&want, copy, length);
        ck_assert_msg(row_name_split(&got, text_at(copy, length)) == expected, "%s", text);
        if (expected) {
            split++;
            ck_assert_int_eq(got.backward, want.backward);
            check_same(got.full_name, want.full_name);
            check_same(got.api, want.api);
            check_same(got.index, want.index);
        }
        free(copy);
    }
    ck_assert_uint_gt(split, 1000);
}
END_TEST

START_TEST(verdicts_are_read_in_any_case)
{
    for (enum verdict v = VERDICT_BLANK; v <= VERDICT_SKIP; v++) {
        const char *name = verdict_name(v);
        ck_assert_uint_eq(verdict_words[v].length, strlen(name));
        ck_assert_int_eq(details_verdict(text_at(name, strlen(name))), v);
    }
    ck_assert_int_eq(details_verdict(text_at(" Warning ", 9)), VERDICT_WARNING);
    ck_assert_int_eq(details_verdict(text_at("PASS", 4)), VERDICT_PASS);
    ck_assert_int_eq(details_verdict(text_at("passe", 5)), VERDICT_BLANK);
    ck_assert_int_eq(details_verdict(text_at("", 0)), VERDICT_BLANK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("details_file");
    TCase *tests = tcase_create("details_file");
    tcase_add_loop_test(tests, names_are_split_at_points, 0, 4);
    tcase_add_test(tests, verdicts_are_read_in_any_case);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
