/* Rows as people see them: every member that a line of evidence may have, and the cells beside it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/row_print.h"
#include "standards/judged.h"
#include "support/suite.h"

static const struct {
    const char *line, *printed;
    /* clang-format off */
} lines[] = {
    /* All that a line may have. */
    { "{\"name\":\"Torch.add.0.forward.output.0\",\"verdict\":\"error\","
      "\"sentence\":\"what is\\u001bwrong\",\"called from\":\"a.py:1 in f: x\","
      "\"message\":\"\\nfirst\\n  \\n\\n  second \\nlast\",\"repeat\":\"probe-ut case\",\"evidence\":{"
      "\"standard\":\"Ulp\",\"decided by\":\"ulp\",\"limits\":["
      "{\"metric\":\"ulp\",\"value\":40.5,\"limit\":4,\"quotient\":10.125,\"holds\":false},"
      "{\"metric\":\"cosine\",\"value\":\"nan\",\"limit\":0.99,\"quotient\":\"nan\",\"holds\":true}],"
      "\"reference\":\"certified\",\"elements\":123456789012,\"refined\":true,\"settled\":false,"
      "\"kinds\":{\"want finite, got nan\":1,\"want inf, got inf\":2},"
      "\"ulp histogram\":{\"0\":400,\"<= 0.5\":200,\"<= 1\":5,\"more\":4}},"
      "\"error over what rounding explains\":12.25,\"inputs\":[\"a note\",\"another\"]}",
      "Torch.add.0.forward.output.0: error\n"
      "  what is wrong\n"
      "  called from a.py:1 in f: x\n"
      "  first\n"
      "    second \n"
      "  last\n"
      "  standard                     Ulp\n"
      "  decided by                   ulp\n"
      "  ulp                          40.5, limit 4   <- broken\n"
      "  cosine                       nan, limit 0.99\n"
      "  reference                    certified\n"
      "  elements                     1.23456789e+11\n"
      "  refined                      yes\n"
      "  settled                      no\n"
      "  kinds                        want finite, got nan 1, want inf, got inf 2\n"
      "  error in ulp\n"
      "    0                   400  ########################################\n"
      "    <= 0.5              200  ####################\n"
      "    <= 1                  5  #\n"
      "    more                  4  #\n"
      "  error / explained by rounding 12.25\n"
      "  input: a note\n"
      "  input: another\n" },
    /* A row that compared nothing. */
    { "{\"name\":\"Torch.x.0.forward.output.0\",\"verdict\":\"SKIP\",\"message\":\"why\",\"evidence\":{"
      "\"standard\":\"\",\"limits\":[]}}",
      "Torch.x.0.forward.output.0: SKIP\n"
      "  why\n"
      "  standard                     \n" },
    /* Members of other kinds, and none at all. */
    { "{\"name\":\"a\",\"verdict\":[],\"message\":{},\"evidence\":{\"limits\":[{\"metric\":1}],\"ulp histogram\":{}}}",
      "a: \n"
      "                               , limit    <- broken\n"
      "  error in ulp\n" },
    { "{}", ": \n" },
};
/* clang-format on */

START_TEST(lines_are_printed_for_a_reader)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    ck_assert_int_eq(row_print(out, lines[_i].line, strlen(lines[_i].line), NULL).code, 0);
    fclose(out);
    ck_assert_str_eq(text, lines[_i].printed);
    free(text);
}
END_TEST

/* The cells that are not blank, under their headers; name, verdict and message are said already. A line
 * without a row is printed all the same. */
START_TEST(cells_are_printed_beside_their_line)
{
    static const char evidence_text[] =
        "{\"name\":\"a\",\"verdict\":\"error\",\"evidence\":{\"standard\":\"ulp\"}}\n"
        "{\"name\":\"b\",\"verdict\":\"pass\"}\n{\"name\":\"c\",\"verdict\":\"pass\"}";
    const char *cells[COLUMN_COUNT];
    struct csv_buffer evidence = { 0 }, details = { 0 };
    char *text;
    size_t length;
    for (int column = 0; column < COLUMN_COUNT; column++) cells[column] = " ";
    cells[COLUMN_NAME] = "a";
    cells[COLUMN_STATUS] = "error";
    cells[COLUMN_MESSAGE] = "whatever";
    cells[COLUMN_SHAPE] = "(2, 3)";
    ck_assert_int_eq(csv_append_row(&details, cells, COLUMN_COUNT).code, 0);
    cells[COLUMN_SHAPE] = "(4,)";
    ck_assert_int_eq(csv_append_row(&details, cells, COLUMN_COUNT).code, 0);
    ck_assert_int_eq(csv_append_bytes(&evidence, evidence_text, strlen(evidence_text)).code, 0);
    FILE *out = open_memstream(&text, &length);
    ck_assert_int_eq(rows_print(out, &evidence, &details).code, 0);
    fclose(out);
    ck_assert_str_eq(text, "a: error\n  Shape: (2, 3)\n  standard                     ulp\n"
                           "b: pass\n  Shape: (4,)\nc: pass\n");
    free(text);
    csv_buffer_release(&evidence);
    csv_buffer_release(&details);
}
END_TEST

START_TEST(nothing_is_printed_of_nothing)
{
    struct csv_buffer none = { 0 };
    ck_assert_int_eq(rows_print(stdout, &none, &none).code, 0);
    ck_assert_int_ne(row_print(stdout, "no JSON", 7, NULL).code, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row print");
    TCase *tests = tcase_create("rows");
    tcase_add_loop_test(tests, lines_are_printed_for_a_reader, 0, sizeof lines / sizeof *lines);
    tcase_add_test(tests, cells_are_printed_beside_their_line);
    tcase_add_test(tests, nothing_is_printed_of_nothing);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
