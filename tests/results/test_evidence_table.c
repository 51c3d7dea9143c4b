/* Evidence files read into a table: what a line says, lines that say nothing, words for numbers that JSON lacks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/evidence_table.h"
#include "support/suite.h"
#include "support/workspace.h"

static const struct file_policy trusted = { .trusted = true };

static struct evidence_table *table_of(struct workspace *w, const char *text)
{
    struct evidence_table *table = NULL;
    write_text(in(w, "e.jsonl"), text);
    struct status status = evidence_table_read(&table, in(w, "e.jsonl"), trusted);
    ck_assert_msg(!status.code, "%s", status.text);
    return table;
}

static const struct row_evidence *row(const struct evidence_table *table, const char *name)
{
    return evidence_table_find(table, (struct csv_text){ name, strlen(name) });
}

START_TEST(lines_are_read)
{
    struct workspace w = workspace_make();
    struct evidence_table *table =
        table_of(&w, "{\"name\":\"Torch.a.0.forward.output.0\",\"verdict\":\"error\",\"message\":"
                     "\"x\",\"evidence\":{\"standard\":"
                     "\"error "
                     "model\",\"limits\":[{\"metric\":\"model_worst\",\"value\":0.25,\"limit\":1,"
                     "\"quotient\":0.25,\"holds\":true},"
                     "{\"metric\":\"model_rms\",\"value\":\"inf\",\"limit\":3,\"holds\":false}],"
                     "\"elements\":4},\"inputs\":[\"y\"]}\n"
                     "{\"name\":\"Torch.b.0.forward.output.0\",\"verdict\":\"pass\",\"evidence\":{"
                     "\"limits\":[{\"metric\":"
                     "\"binary_mismatch\",\"value\":0,\"limit\":0,\"holds\":true}]}}\n"
                     "{\"name\":\"Torch.c.0.forward.output.0\",\"cause\":\"device "
                     "failed\",\"verdict\":\"SKIP\"}\n"
                     "{\"name\":\"Torch.b.0.forward.output.0\",\"evidence\":{\"limits\":[{"
                     "\"metric\":\"model_rms\",\"value\":1}]}}\n");
    const struct row_evidence *a = row(table, "Torch.a.0.forward.output.0");
    ck_assert_uint_eq(a->count, 2);
    ck_assert_str_eq(a->limits[0].metric, "model_worst");
    ck_assert_double_eq(a->limits[0].value, 0.25);
    ck_assert_double_eq(a->limits[0].limit, 1);
    ck_assert(a->limits[0].holds && !a->limits[1].holds);
    ck_assert(isinf(a->limits[1].value));
    ck_assert(row_evidence_is_of_model(a));
    const struct row_evidence *b =
        row(table, "Torch.b.0.forward.output.0"); /* the first line counts */
    ck_assert_uint_eq(b->count, 1);
    ck_assert(!row_evidence_is_of_model(b) && !row_evidence_is_of_model(NULL));
    ck_assert_uint_eq(row(table, "Torch.c.0.forward.output.0")->count, 0);
    ck_assert_ptr_null(row(table, "Torch.d.0.forward.output.0"));
    ck_assert_ptr_null(row(NULL, "x"));
    ck_assert_uint_eq(evidence_table_unreadable(table), 0);
    evidence_table_release(table);
    workspace_remove(&w);
}
END_TEST

/* They are counted and left out; the others stay. */
START_TEST(lines_that_are_none)
{
    static const char *const lines[] = { "",
                                         "[]",
                                         "{}",
                                         "{\"name\":1}",
                                         "{\"name\":\"x\"",
                                         "x",
                                         "{\"name\":\"x\"} y",
                                         "{\"name\":\"x\",\"evidence\":{\"limits\":[}}" };
    char text[400];
    struct workspace w = workspace_make();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(text, sizeof text,
                 "%s\n{\"name\":\"good\",\"evidence\":{\"limits\":[]}}\n{\"name\":\"torn\"}",
                 lines[i]);
        struct evidence_table *table = table_of(&w, text);
        ck_assert_uint_eq(evidence_table_unreadable(table), 2);
        ck_assert_ptr_nonnull(row(table, "good"));
        ck_assert_ptr_null(row(table, "x"));
        ck_assert_ptr_null(row(table, "torn"));
        evidence_table_release(table);
    }
    workspace_remove(&w);
}
END_TEST

/* Members of a kind that nobody expects say nothing. */
START_TEST(members_of_other_kinds)
{
    struct workspace w = workspace_make();
    struct evidence_table *table = table_of(
        &w, "{\"name\":\"a\",\"evidence\":[1]}\n{\"name\":\"b\",\"evidence\":{\"limits\":{}}}\n"
            "{\"name\":\"c\",\"evidence\":{\"limits\":[1,{\"metric\":[],\"value\":true},"
            "{\"metric\":\"m\",\"value\":[],\"limit\":null,\"holds\":1}]}}\n");
    ck_assert_uint_eq(row(table, "a")->count, 0);
    ck_assert_uint_eq(row(table, "b")->count, 0);
    ck_assert_uint_eq(row(table, "c")->count, 1);
    ck_assert(isnan(row(table, "c")->limits[0].value) && !row(table, "c")->limits[0].holds);
    evidence_table_release(table);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evidence_table");
    TCase *tcase = tcase_create("evidence_table");
    tcase_add_test(tcase, lines_are_read);
    tcase_add_test(tcase, lines_that_are_none);
    tcase_add_test(tcase, members_of_other_kinds);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
