/* The evidence of whole runs: a line per details row, the same for any number of threads, and a
 * command in it that repeats its call. */
#include <cjson/cJSON.h>

#include "core/memory.h"
#include "results/evidence.h"
#include "support/dumps.h"
#include "support/suite.h"

static const char dump_path[] = PROBE_TEST_DATA "/dumps/m2/L1_statistics/dump.json";

static char *only_file(const struct workspace *w, const char *pattern)
{
    return read_file(only_match(w, pattern), NULL);
}

/* Line k of the evidence names what row k of the details names, and is JSON by itself. */
START_TEST(every_row_has_its_line)
{
    struct workspace w = workspace_make();
    struct outcome o = run_program(&w, "-api_info", dump_path, "-o", "out", "-n", "2", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    char *details = only_file(&w, "out/accuracy_checking_details_*.csv");
    char *evidence = only_file(&w, "out/accuracy_checking_evidence_*.jsonl");
    char *row = strstr(details, "\r\n") + 2, *line = evidence;
    size_t rows = 0;
    while (*row) {
        cJSON *json = cJSON_ParseWithLength(line, strcspn(line, "\n"));
        ck_assert_msg(json != NULL, "line %zu is no JSON", rows);
        const char *name = cJSON_GetObjectItem(json, "name")->valuestring;
        ck_assert_msg(!strncmp(row, name, strlen(name)) && row[strlen(name)] == ',', "line %zu: %s",
                      rows, name);
        ck_assert(cJSON_IsObject(cJSON_GetObjectItem(json, "evidence")));
        cJSON_Delete(json);
        line += strcspn(line, "\n") + 1;
        /* Line feeds inside quoted messages do not end a row. */
        row = strstr(row, "\r\n") + 2;
        rows++;
    }
    ck_assert_uint_gt(rows, 50);
    ck_assert_msg(!*line, "there are more lines than rows");
    free(details);
    free(evidence);
    workspace_remove(&w);
}
END_TEST

/* The command case prints the lines that the run wrote for the call. */
START_TEST(a_call_can_be_repeated)
{
    struct workspace w = workspace_make();
    struct outcome o = run_program(&w, "-api_info", dump_path, "-o", "out", NULL);
    ck_assert_int_eq(o.status, 0);
    outcome_free(&o);
    char *evidence = only_file(&w, "out/accuracy_checking_evidence_*.jsonl");
    o = run_program(&w, "case", "-api_info", dump_path, "--name", "Functional.layer_norm.1",
                    "--json", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_uint_gt(strlen(o.out), 100);
    ck_assert_msg(strstr(evidence, o.out) != NULL, "the run has other lines than:\n%s", o.out);
    outcome_free(&o);
    o = run_program(&w, "case", "-api_info", dump_path, "--name",
                    "Functional.layer_norm.1.forward.output.0", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "Functional.layer_norm.1.forward.output.0: pass"));
    ck_assert_ptr_nonnull(strstr(o.out, "error in ulp"));
    outcome_free(&o);
    free(evidence);
    workspace_remove(&w);
}
END_TEST

START_TEST(a_call_that_is_not_there)
{
    struct workspace w = workspace_make();
    struct outcome o =
        run_program(&w, "case", "-api_info", dump_path, "--name", "Torch.matmul.77", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "Torch.matmul.77"));
    ck_assert_ptr_nonnull(strstr(o.err, "the nearest is 'Torch.matmul."));
    outcome_free(&o);
    /* What the dump, the report and the rows call it. */
    static const char *const names[] = { "Functional.layer_norm.1",
                                         "Functional.layer_norm.1.forward",
                                         "Functional.layer_norm.1.backward",
                                         "Functional.layer_norm.1.backward.output.1" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        o = run_program(&w, "case", "-api_info", dump_path, "--name", names[i], NULL);
        ck_assert_msg(o.status == 0, "%s: %s", names[i], o.err);
        ck_assert_ptr_nonnull(strstr(o.out, "Functional.layer_norm.1.forward.output.0: pass"));
        outcome_free(&o);
    }
    static const char *const others[] = { "Functional.layer_norm.1.forwards",
                                          "Functional.layer_norm.11", "Functional.layer_norm" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        o = run_program(&w, "case", "-api_info", dump_path, "--name", others[i], NULL);
        ck_assert_int_eq(o.status, 2);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

/* ---- without a run ------------------------------------------------------------------------ */

/* A pass needs neither message nor command; the notes stand where they are given, the cause in front
 * of everything but the name. */
START_TEST(lines_of_verdicts)
{
    static const char *const texts[] = { "first", "second" };
    static const struct {
        enum verdict verdict;
        enum row_cause cause;
        double rounding;
        const char *line;
        /* clang-format off */
    } rows[] = {
        { VERDICT_PASS, CAUSE_NONE, -1, "{\"name\":\"row\",\"verdict\":\"pass\",\"evidence\":{\"standard\":\"s\",\"limits\":[]}%s}\n" },
        { VERDICT_SKIP, CAUSE_LISTS, -1,
          "{\"name\":\"row\",\"cause\":\"not listed\",\"verdict\":\"SKIP\",\"sentence\":\"m\",\"repeat\":\"again Torch.add.0\",\"message\":\"m\","
          "\"evidence\":{\"standard\":\"s\",\"limits\":[]}%s}\n" },
        { VERDICT_ERROR, CAUSE_NONE, 0,
          "{\"name\":\"row\",\"verdict\":\"error\",\"sentence\":\"m\",\"called from\":\"a.py:1\",\"repeat\":\"again Torch.add.0\",\"message\":\"m\","
          "\"evidence\":{\"standard\":\"s\",\"limits\":[]},\"error over what rounding explains\":0%s}\n" },
        { VERDICT_WARNING, CAUSE_NONE, 2.5,
          "{\"name\":\"row\",\"verdict\":\"warning\",\"sentence\":\"m\",\"called from\":\"a.py:1\",\"repeat\":\"again Torch.add.0\",\"message\":\"m\","
          "\"evidence\":{\"standard\":\"s\",\"limits\":[]},\"error over what rounding explains\":2.5%s}\n" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t notes = 0; notes <= 2; notes += 2) {
            struct csv_buffer out = { 0 };
            char expected[512];
            const struct judged judged = { .verdict = rows[i].verdict,
                                           .standard = "s",
                                           .has_over_rounding = rows[i].rounding >= 0,
                                           .over_rounding = rows[i].rounding,
                                           .cells = {
                                               [COLUMN_NAME] = "row", [COLUMN_MESSAGE] = "m" } };
            const struct evidence_row row = { .judged = &judged,
                                              .cause = rows[i].cause,
                                              .repeat = "again ",
                                              .call = "Torch.add.0",
                                              .source = rows[i].verdict == VERDICT_SKIP ? ""
                                                                                        : "a.py:1",
                                              .inputs = texts,
                                              .n_inputs = notes };
            ck_assert_int_eq(evidence_append(&out, &row).code, 0);
            snprintf(expected, sizeof expected, rows[i].line,
                     notes ? ",\"inputs\":[\"first\",\"second\"]" : "");
            ck_assert_uint_eq(out.length, strlen(expected));
            ck_assert_mem_eq(out.data, expected, out.length);
            csv_buffer_release(&out);
        }
}
END_TEST

/* What a row looks like stands behind its evidence: each finding with its figures, or that it is unknown. */
START_TEST(lines_of_findings)
{
    struct judged judged = { .verdict = VERDICT_ERROR,
                             .standard = "s",
                             .cells = { [COLUMN_NAME] = "row", [COLUMN_MESSAGE] = "m" },
                             .findings = { .sought = true } };
    const struct evidence_row row = { .judged = &judged, .call = "Torch.add.0" };
    for (size_t count = 0; count <= 2; count++) {
        struct csv_buffer out = { 0 };
        judged.findings.count = count;
        for (size_t i = 0; i < count; i++)
            judged.findings.items[i] =
                (struct finding){ i ? "eps" : "bias", "it is wrong", 0.5, 1, 2, 3 };
        ck_assert_int_eq(evidence_append(&out, &row).code, 0);
        cJSON *json = cJSON_ParseWithLength(out.data, out.length);
        const cJSON *list = cJSON_GetObjectItem(json, "diagnosis"),
                    *first = cJSON_GetArrayItem(list, 0);
        ck_assert_int_eq(cJSON_GetArraySize(list), count ? (int)count : 1);
        ck_assert_str_eq(cJSON_GetObjectItem(first, "class")->valuestring,
                         count ? "bias" : "unknown");
        ck_assert_ptr_nonnull(
            strstr(cJSON_GetObjectItem(first, "text")->valuestring, "looks like: "));
        if (count) {
            ck_assert_str_eq(cJSON_GetObjectItem(first, "mistake")->valuestring, "it is wrong");
            ck_assert(cJSON_GetObjectItem(first, "explains")->valuedouble == 0.5);
            ck_assert(cJSON_GetObjectItem(first, "exact")->valuedouble == 1);
            ck_assert(cJSON_GetObjectItem(first, "within rounding")->valuedouble == 2);
            ck_assert(cJSON_GetObjectItem(first, "elements")->valuedouble == 3);
        }
        cJSON_Delete(json);
        csv_buffer_release(&out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evidence");
    TCase *tests = tcase_create("evidence");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_row_has_its_line);
    tcase_add_test(tests, a_call_can_be_repeated);
    tcase_add_test(tests, a_call_that_is_not_there);
    tcase_add_test(tests, lines_of_verdicts);
    tcase_add_test(tests, lines_of_findings);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
