/* --evidence failing: which rows have a line, and that a run whose files were cut at any place or lost
 * ends in the bytes of one that was left alone. */
#include "support/dumps.h"
#include "support/html_page.h"
#include "support/runs.h"
#include "support/suite.h"

/* Under doc a matrix product in float32 over 40 elements is a pass and one in bfloat16 a warning; what the
 * catalogue lacks is skipped. */
static void write_mixed_calls(const char *path)
{
    struct dump_text d;
    dump_begin(&d);
    for (size_t i = 0; i < 9; i++) {
        char body[1200], name[64];
        const char *type = i % 3 == 1 ? "torch.bfloat16" : "torch.float32";
        snprintf(name, sizeof name, "Torch.%s.%zu.forward", i % 3 == 2 ? "no_such_api" : "matmul",
                 i);
        char matrix[300];
        snprintf(
            matrix, sizeof matrix,
            "{\"type\":\"torch.Tensor\",\"dtype\":\"%s\",\"shape\":[40,40],\"Max\":2,\"Min\":-2,"
            "\"Mean\":0,\"Norm\":1,\"requires_grad\":false}",
            type);
        snprintf(body, sizeof body, "\"input_args\":[%s,%s],\"input_kwargs\":{},\"output\":[]",
                 matrix, matrix);
        dump_entry(&d, name, body);
    }
    dump_write(&d, path);
}

static struct workspace whole_run(void)
{
    struct workspace w = workspace_make();
    write_mixed_calls(in(&w, "dump.json"));
    succeeded(
        run_program(&w, "-api_info", "dump.json", "-o", "whole", "--evidence", "failing", NULL));
    return w;
}

static size_t count_text(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) count++;
    return count;
}

START_TEST(rows_that_pass_have_no_line)
{
    struct workspace w = whole_run();
    char *failing = read_file(file_of(&w, "whole", EVIDENCE), NULL);
    ck_assert_uint_eq(count_lines(failing), 6);
    ck_assert_uint_eq(count_text(failing, "\"verdict\":\"warning\""), 3);
    ck_assert_uint_eq(count_text(failing, "\"verdict\":\"SKIP\""), 3);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "all", NULL));
    char *all = read_file(file_of(&w, "all", EVIDENCE), NULL);
    ck_assert_uint_eq(count_lines(all), 9);
    /* What stays is as it was. */
    for (char *line = failing; *line; line = strchr(line, '\n') + 1) {
        char *end = strchr(line, '\n');
        *end = '\0';
        ck_assert_ptr_nonnull(strstr(all, line));
        *end = '\n';
    }
    assert_same_files(file_of(&w, "whole", DETAILS), file_of(&w, "all", DETAILS));
    free(failing);
    free(all);
    workspace_remove(&w);
}
END_TEST

/* The files of the whole run as those of another, of which one is cut; NULL: to nothing at all. */
static void copy_cut(const struct workspace *w, const char *pattern, double share)
{
    char command[900];
    snprintf(command, sizeof command, "rm -rf '%s/part'; cp -r '%s/whole' '%s/part'", w->path,
             w->path, w->path);
    ck_assert_int_eq(system(command), 0);
    const char *path = file_of(w, "part", pattern);
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    if (share < 0) ck_assert_int_eq(unlink(path), 0);
    else ck_assert_int_eq(truncate(path, (off_t)((double)st.st_size * share)), 0);
}

static struct outcome resume(const struct workspace *w)
{
    char path[600];
    snprintf(path, sizeof path, "%s", file_of(w, "whole", RESULT));
    char *slash = strrchr(path, '/'), result[600];
    snprintf(result, sizeof result, "part%s", slash);
    return run_program(w, "-api_info", "dump.json", "-csv_path", result, "--evidence", "failing",
                       NULL);
}

static void ends_the_same(const struct workspace *w, bool evidence)
{
    struct outcome o = resume(w);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_same_files(file_of(w, "whole", RESULT), file_of(w, "part", RESULT));
    assert_same_files(file_of(w, "whole", DETAILS), file_of(w, "part", DETAILS));
    if (evidence) assert_same_files(file_of(w, "whole", EVIDENCE), file_of(w, "part", EVIDENCE));
}

START_TEST(cut_files_end_whole)
{
    static const char *const kinds[] = { RESULT, DETAILS, EVIDENCE };
    struct workspace w = whole_run();
    for (int k = 0; k < 3; k++)
        for (int i = 1; i <= 8; i++) {
            copy_cut(&w, kinds[k], i / 8.0);
            ends_the_same(&w, true);
        }
    copy_cut(&w, RESULT, -1);
    ends_the_same(&w, true);
    copy_cut(&w, DETAILS, -1);
    ends_the_same(&w, true);
    workspace_remove(&w);
}
END_TEST

/* Only what had a line can have lost it: the last call is done again. */
START_TEST(lost_evidence_is_that_of_failing_rows)
{
    struct workspace w = whole_run();
    copy_cut(&w, EVIDENCE, -1);
    struct outcome o = resume(&w);
    ck_assert_msg(strstr(o.err, "the evidence of 5 finished calls is lost") != NULL, "%s", o.err);
    outcome_free(&o);
    char *evidence = read_file(file_of(&w, "part", EVIDENCE), NULL);
    ck_assert_uint_eq(count_lines(evidence), 6);
    ck_assert_uint_eq(count_text(evidence, "\"lost\":true"), 5);
    ck_assert_uint_eq(count_text(evidence, "\"verdict\":\"pass\""), 0);
    free(evidence);
    ends_the_same(&w, false);
    workspace_remove(&w);
}
END_TEST

START_TEST(both_kinds_are_not_mixed)
{
    struct workspace w = whole_run();
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-csv_path", file_of(&w, "whole", RESULT), NULL);
    ck_assert_msg(o.status == 3 && strstr(o.err, "evidence was \"failing\", is absent"), "%s",
                  o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* The page says what was not kept. */
START_TEST(the_page_says_so)
{
    struct workspace w = whole_run();
    struct outcome o = run_program(&w, "report", "whole", "-o", "a.html", NULL);
    ck_assert_msg(o.status == 0 && !strstr(o.err, "matter"), "%s", o.err);
    outcome_free(&o);
    size_t bytes;
    char *page = read_file(in(&w, "a.html"), NULL), *meta = html_block(page, "meta", &bytes);
    ck_assert_ptr_nonnull(strstr(meta, "[\"failing evidence\",3,\"\"]"));
    free(page);
    free(meta);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evidence_extent");
    TCase *tests = tcase_create("evidence_extent");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, rows_that_pass_have_no_line);
    tcase_add_test(tests, cut_files_end_whole);
    tcase_add_test(tests, lost_evidence_is_that_of_failing_rows);
    tcase_add_test(tests, both_kinds_are_not_mixed);
    tcase_add_test(tests, the_page_says_so);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
