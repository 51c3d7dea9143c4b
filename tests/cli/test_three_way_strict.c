/* probe-ut api_precision_compare --profile strict: judges from the evidence of both runs. */
#include "three_way_files.h"

/* The files of a run: details of one row, its evidence, and the record of the run. */
static void write_run(const struct workspace *w, const char *folder, const char *profile,
                      const char *verdict, double rms)
{
    char path[256], text[4096];
    snprintf(path, sizeof path, "%s/accuracy_checking_details_20260101000000.csv", folder);
    snprintf(
        text, sizeof text,
        "%sTorch.mm.0.forward.output.0,torch.float64,torch.float32,(2;2), , , , , , ,0,%g,0,%g,%g, "
        ", , , , , ,%s,\r\n",
        details_header, rms, rms, rms, verdict);
    ck_assert_int_eq(file_make_directories(in(w, folder)).code, 0);
    write_text(in(w, path), text);
    snprintf(path, sizeof path, "%s/accuracy_checking_run_20260101000000.json", folder);
    snprintf(text, sizeof text, "{\"profile\": \"%s\"}\n", profile);
    write_text(in(w, path), text);
    snprintf(path, sizeof path, "%s/accuracy_checking_evidence_20260101000000.jsonl", folder);
    snprintf(text, sizeof text,
             "{\"name\":\"Torch.mm.0.forward.output.0\",\"verdict\":\"%s\",\"evidence\":{"
             "\"limits\":[{\"metric\":"
             "\"model_rms\",\"value\":%g,\"limit\":3,\"holds\":%s}]}}\n",
             verdict, rms, rms <= 3 ? "true" : "false");
    write_text(in(w, path), text);
}

/* The evidence decides, not the ratio of the errors; what has none is SKIP. */
START_TEST(strict_reads_evidence)
{
    static const struct {
        double npu, gpu;
        const char *expected, *message;
        bool evidence;
    } rows[] = {
        { 1.4, 0.001, "pass", "The error model explains both runs.", true },
        { 30, 0.5, "error", "model_rms: 10 times its limit on the NPU, 0.167 times on the GPU.",
          true },
        { 30, 28, "warning", "Both: ", true },
        { 30, 0.5, "SKIP", "The evidence of the NPU run has no line of this row.", false },
        { 1.4, 0.001, "pass", "The error model explains both runs.", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct workspace w = workspace_make();
        write_run(&w, "npu", "strict", rows[i].npu > 3 ? "error" : "pass", rows[i].npu);
        write_run(&w, "gpu", "strict", rows[i].gpu > 3 ? "error" : "pass", rows[i].gpu);
        if (!rows[i].evidence)
            ck_assert_int_eq(remove(in(&w, "npu/accuracy_checking_evidence_20260101000000.jsonl")),
                             0);
        struct outcome o = compare(&w, "strict", "npu", "gpu");
        bool skipped = !strcmp(rows[i].expected, "SKIP");
        ck_assert_msg(o.status == (skipped ? 5 : 0), "%d %s", o.status, o.err);
        ck_assert_int_eq(strstr(o.err, "no evidence beside") != NULL, !rows[i].evidence);
        char *details = output(&w, DETAILS), cell[64];
        snprintf(cell, sizeof cell, ",%s,", rows[i].expected);
        ck_assert_msg(strstr(details, cell) && strstr(details, rows[i].message), "row %zu: %s", i,
                      details);
        free(details);
        outcome_free(&o);
        workspace_remove(&w);
    }
}
END_TEST

/* Runs by other rules have said nothing that could be compared. */
START_TEST(strict_needs_strict_runs)
{
    struct workspace w = workspace_make();
    write_run(&w, "npu", "doc", "pass", 1);
    write_run(&w, "gpu", "doc", "pass", 1);
    ck_assert_int_eq(remove(in(&w, "npu/accuracy_checking_evidence_20260101000000.jsonl")), 0);
    struct outcome o = compare(&w, "strict", "npu", "gpu");
    ck_assert_int_eq(o.status, 5);
    char *details = output(&w, DETAILS);
    ck_assert_ptr_nonnull(strstr(details, "run it with --profile strict"));
    free(details);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

static const struct {
    const char *warning, *row;
} torn[] = { { "warning: the last row of npu.csv is cut off; it is left out\n",
               "Torch.b.0,SKIP, ,The NPU file has no row of this name." },
             { "warning: the last row of gpu.csv is cut off; it is left out\n",
               "Torch.b.0,SKIP, ,The GPU file has no row of this name." } };

START_TEST(torn_last_row)
{
    struct small s = small_files();
    char **sides[] = { &s.npu, &s.gpu };
    for (int side = 0; side < 2; side++) {
        add_binary(sides[side], "Torch.a.0.forward.output.0", "0");
        add_binary(sides[side], "Torch.b.0.forward.output.0", "0");
    }
    char *cut = *sides[_i];
    cut[strlen(cut) - 12] = '\0';
    struct outcome o = compare_small(&s, "doc");
    ck_assert_int_eq(o.status, 0);
    ck_assert_str_eq(o.err, torn[_i].warning);
    char *result = output(&s.w, RESULT);
    ck_assert(has_line(result, "Torch.a.0,pass, ,"));
    ck_assert(has_line(result, torn[_i].row));
    free(result);
    small_done(&s, &o);
}
END_TEST

/* Rows of one name whose shapes differ are of two outputs. A row without a shape is nobody's. */
START_TEST(rows_of_other_shapes)
{
    struct small s = small_files();
    append(&s.npu, "Torch.a.0.forward.output.0,torch.float64,torch.float32,\"(2, 3)\",1,0.1, ,1, , "
                   ",0,1,0,0,0, , , , , , ,pass,\r\n");
    append(&s.gpu, "Torch.a.0.forward.output.0,torch.float64,torch.float32,\"(3, 2)\",1,0.1, ,1, , "
                   ",0,1,0,0,0, , , , , , ,pass,\r\n");
    add_benchmark(&s.npu, "Torch.b.0.forward.output.0", "1", "pass");
    append(&s.gpu, "Torch.b.0.forward.output.0,torch.float64,torch.float32, ,1,0.1, ,1, , "
                   ",0,1,0,0,0, , , , , , ,pass,\r\n");
    struct outcome o = compare_small(&s, "doc");
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "of another shape in the GPU file: 1 row\n"));
    char *result = output(&s.w, RESULT), *details = output(&s.w, DETAILS);
    ck_assert_msg(has_line(result, "Torch.a.0,error, ,"), "%s", result);
    ck_assert_msg(has_line(result, "Torch.b.0,pass, ,"), "%s", result);
    ck_assert_ptr_nonnull(strstr(details,
                                 "The shape is (2, 3) in the NPU file and (3, 2) in the GPU "
                                 "file: these rows are not of the same output."));
    free(result);
    free(details);
    small_done(&s, &o);
}
END_TEST

/* Runs of another dump, seed or profile have other errors for other reasons. */
START_TEST(runs_that_do_not_belong_together)
{
    static const struct {
        const char *record;
        const char *says; /* NULL: compared */
    } others[] = {
        { "{\"dump_digest\":\"1\",\"seed\":1234,\"profile\":\"doc\",\"backend\":\"x\"}", NULL },
        { "{\"dump_digest\":\"2\",\"seed\":1234,\"profile\":\"doc\"}", "different dumps, " },
        { "{\"dump_digest\":\"1\",\"seed\":1,\"profile\":\"v2\"}", "different seeds, profiles, " },
        { "{\"dump_digest\": ", NULL },
        { "{}", NULL },
    };
    static const char npu[] = "accuracy_checking_details_20260101000000.csv";
    static const char gpu[] = "accuracy_checking_details_20260101000001.csv";
    struct small s = small_files();
    add_benchmark(&s.npu, "Torch.a.0.forward.output.0", "1", "pass");
    write_text(in(&s.w, npu), s.npu);
    write_text(in(&s.w, gpu), s.npu);
    write_text(in(&s.w, "accuracy_checking_run_20260101000000.json"), others[0].record);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        write_text(in(&s.w, "accuracy_checking_run_20260101000001.json"), others[i].record);
        struct outcome o = compare(&s.w, "doc", npu, gpu);
        ck_assert_msg(o.status == (others[i].says ? 3 : 0), "%zu: %s", i, o.err);
        if (others[i].says) ck_assert_msg(strstr(o.err, others[i].says) != NULL, "%s", o.err);
        outcome_free(&o);
        o = run_program(&s.w, "api_precision_compare", "-npu", npu, "-gpu", gpu, "-o", "forced",
                        "--force", "--trust-files", NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
    }
    free(s.npu);
    free(s.gpu);
    workspace_remove(&s.w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("three_way_strict");
    TCase *tests = tcase_create("three_way_strict");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, strict_reads_evidence);
    tcase_add_test(tests, strict_needs_strict_runs);
    tcase_add_loop_test(tests, torn_last_row, 0, 2);
    tcase_add_test(tests, rows_of_other_shapes);
    tcase_add_test(tests, runs_that_do_not_belong_together);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
