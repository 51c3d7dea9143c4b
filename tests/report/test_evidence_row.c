/* report/html/evidence_row.c and formats/line_reader.c: the facts of a line, what is left of it, and lines
 * that are not what they should be. */
#include "report/html/evidence_row.h"

#include <math.h>

#include "formats/line_reader.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct evidence_row row;
static struct csv_buffer compact;

/* The compact form of a line, NUL-terminated. */
static const char *compact_of(const char *line, bool wanted)
{
    bool fits;
    ck_assert_int_eq(evidence_row_read(&row, &compact, &fits, line, strlen(line)).code, STATUS_OK);
    ck_assert_int_eq(fits, wanted);
    ck_assert_int_eq(csv_append_bytes(&compact, "", 1).code, STATUS_OK);
    return compact.data;
}

START_TEST(facts_of_a_line)
{
    const char *text = compact_of(
        "{\"name\":\"Torch.mul.1.forward.output.0\",\"verdict\":\"error\",\"message\":\"m\","
        "\"repeat\":\"r\","
        "\"evidence\":{\"standard\":\"ulp\",\"decided "
        "by\":\"mean_ulp\",\"limits\":[{\"metric\":\"cosine\","
        "\"value\":0.995,\"limit\":0.99,\"quotient\":1.005,\"holds\":true},{\"metric\":\"mean_"
        "ulp\",\"value\":12,"
        "\"limit\":4,\"quotient\":3,\"holds\":false}],\"reference\":\"certified\",\"elements\":15,"
        "\"reference bound ulp\":0.25,\"worst ulp\":{\"index\":3,\"error\":\"inf\"},"
        "\"ulp histogram\":{\"0\":2,\"<= 0.5\":3,\"<= 1\":4,\"<= 8\":5,\"more\":1}},"
        "\"error over what rounding explains\":7.5,\"inputs\":[\"note\"]}",
        true);
    ck_assert_str_eq(row.standard, "ulp");
    ck_assert_str_eq(row.decided_by, "mean_ulp");
    ck_assert_str_eq(row.reference, "certified");
    ck_assert_double_eq(row.allowance, 3);
    ck_assert_double_eq(row.elements, 15);
    ck_assert_double_eq(row.bound_ulp, 0.25);
    ck_assert_double_eq(row.rounding, 7.5);
    ck_assert(isinf(row.worst_ulp));
    ck_assert(row.has_histogram);
    ck_assert_uint_eq(row.histogram[0], 2);
    ck_assert_uint_eq(row.histogram[1], 3);
    ck_assert_uint_eq(row.histogram[2], 4);
    ck_assert_uint_eq(row.histogram[5], 5);
    ck_assert_uint_eq(row.histogram[ULP_BINS - 1], 1);
    ck_assert_str_eq(text, "{\"repeat\":\"r\",\"decided "
                           "by\":\"mean_ulp\",\"limits\":[{\"metric\":\"cosine\",\"value\":0.995,"
                           "\"limit\":0.99,\"holds\":true,\"used\":0.5},{\"metric\":\"mean_ulp\","
                           "\"value\":12,\"limit\":4,"
                           "\"holds\":false,\"used\":3}],\"elements\":15,\"reference bound "
                           "ulp\":0.25,\"worst ulp\":{\"index\":3,"
                           "\"error\":\"inf\"},\"ulp histogram\":{\"0\":2,\"<= 0.5\":3,\"<= "
                           "1\":4,\"<= 8\":5,\"more\":1},"
                           "\"error over what rounding explains\":7.5,\"inputs\":[\"note\"]}");
}
END_TEST

/* Rows that passed keep nine digits, which are enough for a float32; others keep all. Words that JSON
 * has no number for become strings. */
START_TEST(numbers_of_rows_that_passed_are_short)
{
    ck_assert_str_eq(
        compact_of("{\"verdict\":\"pass\",\"evidence\":{\"a\":0.30961031165767294,\"b\":-1.5,"
                   "\"c\":NaN,\"d\":-Infinity,\"e\":\"0.30961031165767294\"}}",
                   true),
        "{\"a\":0.309610312,\"b\":-1.5,\"c\":\"nan\",\"d\":\"-inf\",\"e\":\"0."
        "30961031165767294\"}");
    ck_assert_str_eq(
        compact_of("{\"verdict\":\"error\",\"evidence\":{\"a\":0.30961031165767294}}", true),
        "{\"a\":0.30961031165767294}");
}
END_TEST

START_TEST(shares_of_a_limit)
{
    ck_assert_double_eq_tol(evidence_used_share("thousandth", 0.998, 0.999, false), 2, 1e-9);
    ck_assert_double_eq(evidence_used_share("rmse", 1, 4, true), 0.25);
    ck_assert_double_eq(evidence_used_share("binary_mismatch", 0, 0, true), 0);
    ck_assert(isinf(evidence_used_share("binary_mismatch", 0.5, 0, false)));
    ck_assert(isinf(evidence_used_share("rmse", NAN, 4, false)));
    ck_assert_double_eq(evidence_used_share("cosine", NAN, 0.99, true), 0);
    /* A limit that is broken by a hair is broken, and one that holds by a hair holds. */
    ck_assert_double_eq(evidence_used_share("rmse", 4, 4, false), 1);
    ck_assert_double_ge(evidence_used_share("rmse", 3.999, 4, false), 1);
}
END_TEST

START_TEST(lines_that_are_no_evidence)
{
    static const char *const lines[] = {
        "",
        "{",
        "[]",
        "7",
        "{\"name\":\"a\",\"evidence\":{\"limits\":7}}",
        "{\"evidence\":{\"limits\":[{]}}",
        "{\"evidence\":{}} more",
        "{\"evidence\":{\"ulp histogram\":{\"0\":}}}",
        "\xff",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_str_eq(compact_of(lines[i], false), "");
    ck_assert_str_eq(compact_of("{\"evidence\":{\"limits\":[{},7]}}", true),
                     "{\"limits\":[{\"used\":\"inf\"},{}]}");
    /* Members of another type are carried along. */
    ck_assert_str_eq(compact_of("{\"evidence\":7,\"x\":null}", true), "{\"x\":null}");
    compact_of("{\"evidence\":{\"worst ulp\":7,\"elements\":\"many\",\"ulp "
               "histogram\":[1],\"standard\":{}}}",
               true);
    ck_assert(isnan(row.elements) && !row.has_histogram);
}
END_TEST

static bool is_of(const char *line, const char *name)
{
    return evidence_row_is_of(line, strlen(line), (struct csv_text){ name, strlen(name) });
}

START_TEST(lines_and_their_rows)
{
    ck_assert(is_of("{\"name\":\"a.b\",\"verdict\":\"pass\"}", "a.b"));
    ck_assert(!is_of("{\"name\":\"a.b\"}", "a.bc"));
    ck_assert(!is_of("{\"verdict\":\"pass\"}", "a.b"));
    ck_assert(is_of("{\"name\":\"q\\\"\\u0041\"}", "q\"A"));
    ck_assert(is_of("{\"name\":\"=1+1\"}", "'=1+1")); /* disarmed in the CSV */
    ck_assert(!is_of("{\"name\":\"", "a"));
    ck_assert(!is_of("{\"name\":\"a", "a"));
}
END_TEST

/* Lines of every length around the size of a chunk, one too long, one without an end. */
START_TEST(lines_across_chunks)
{
    struct scratch scratch = scratch_make();
    static const size_t lengths[] = { 0, 5, LINE_CHUNK - 8, 1, LINE_CHUNK + 100, 3, 2 * LINE_CHUNK,
                                      7 };
    enum { N = sizeof lengths / sizeof lengths[0] };
    size_t bytes = 0;
    char *text = malloc(8 * LINE_CHUNK);
    for (size_t i = 0; i < N; i++) {
        memset(text + bytes, 'a' + (int)i, lengths[i]);
        bytes += lengths[i];
        if (i + 1 < N) text[bytes++] = '\n';
    }
    struct file file;
    ck_assert_int_eq(
        file_open_read(&file, scratch_write(&scratch, "lines.jsonl", text, bytes), FILES_TRUSTED)
            .code,
        STATUS_OK);
    struct line_reader reader = { .file = &file, .longest = LINE_CHUNK + 200 };
    struct text_line line;
    bool more;
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(line_reader_next(&reader, &line, &more).code, STATUS_OK);
        ck_assert(more);
        bool too_long = lengths[i] > reader.longest;
        ck_assert_int_eq(line.too_long, too_long);
        ck_assert_uint_eq(line.length, too_long ? reader.longest : lengths[i]);
        if (line.length) ck_assert_int_eq(line.text[line.length - 1], 'a' + (int)i);
        ck_assert_int_eq(line.torn, i + 1 == N);
    }
    ck_assert_int_eq(line_reader_next(&reader, &line, &more).code, STATUS_OK);
    ck_assert(!more);
    ck_assert_uint_eq(reader.lines, N);
    line_reader_release(&reader);
    (void)file_close(&file);
    free(text);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evidence of a page");
    TCase *tests = tcase_create("evidence");
    tcase_add_test(tests, facts_of_a_line);
    tcase_add_test(tests, numbers_of_rows_that_passed_are_short);
    tcase_add_test(tests, shares_of_a_limit);
    tcase_add_test(tests, lines_that_are_no_evidence);
    tcase_add_test(tests, lines_and_their_rows);
    tcase_add_test(tests, lines_across_chunks);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
