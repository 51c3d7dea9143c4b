/* probe-ut api_precision_compare: the files it writes for what msprobe measured, rows that have
 * no partner or more than one, files of other makers. */
#include <sys/stat.h>

#include "three_way_files.h"

/* ---- what msprobe wrote ----------------------------------------------------------------- */

static const char *const pairs[][2] = {
    { "m1_dev_a", "m1_dev_b" },
    { "m1_dev_b", "m1_dev_a" },
    { "m2_bf16_clean", "m2_bf16_clean" },
    { "m2_bf16_clean", "m2_bf16_dev_a" },
    { "m2_bf16_dev_a", "m2_bf16_clean" },
    { "m2_bf16_dev_a", "m2_bf16_dev_b" },
    { "m2_bf16_dev_b", "m2_bf16_dev_a" },
    { "m3_dev_a", "m3_dev_b" },
    { "m3_dev_b", "m3_dev_a" },
    { "m5a_dev_a", "m5a_dev_b" },
    { "accumulative_dev_a", "accumulative_dev_b" },
    { "accumulative_dev_b", "accumulative_dev_a" },
};

START_TEST(writes_the_bytes_of_msprobe)
{
    const char *npu = pairs[_i][0], *gpu = pairs[_i][1];
    char npu_path[512], gpu_path[512], expected[600];
    struct workspace w = workspace_make();
    snprintf(npu_path, sizeof npu_path, INPUTS "%s.csv", npu);
    snprintf(gpu_path, sizeof gpu_path, INPUTS "%s.csv", gpu);
    struct outcome o = compare(&w, "v2", npu_path, gpu_path);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_str_eq(o.err, "");
    ck_assert_ptr_nonnull(strstr(o.out, "Compare task result will be saved in out/api_precision"));
    snprintf(expected, sizeof expected, EXPECTED "%s__%s/details.csv", npu, gpu);
    assert_same_files(expected, only_match(&w, DETAILS));
    snprintf(expected, sizeof expected, EXPECTED "%s__%s/result.csv", npu, gpu);
    assert_same_files(expected, only_match(&w, RESULT));
    struct stat st;
    ck_assert_int_eq(stat(only_match(&w, RESULT), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0640);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* msprobe stops at a row that the GPU file has twice. Here the first one counts, a SKIP row
 * says so, and everything else is as if it were there once. */
START_TEST(repeated_gpu_row)
{
    struct workspace w = workspace_make();
    size_t length;
    char *once = read_file(INPUTS "m2_repeated.csv", &length);
    const char *name = "Tensor.transpose.3.backward.output.0,";
    char *first = strstr(once, name), *second = strstr(first + 1, name);
    ck_assert_ptr_nonnull(second);
    char *end = strstr(second, "\"\r\n") + 3;
    memmove(second, end, strlen(end) + 1);
    write_text(in(&w, "once.csv"), once);

    struct outcome a = compare(&w, "v2", INPUTS "m2_dev_a.csv", INPUTS "m2_repeated.csv");
    ck_assert_int_eq(a.status, 0);
    char *details = output(&w, DETAILS), *result = output(&w, RESULT);
    const char *skip =
        "Tensor.transpose.3.backward.output.0, , , , , , , , , , , , , , , , , , , , "
        ", , , , ,SKIP, ,The GPU file has more than one row of this name; the first "
        "one counts.";
    ck_assert(has_line(details, skip));
    ck_assert_ptr_nonnull(strstr(a.out, "1 repeated"));

    ck_assert_int_eq(rename(in(&w, "out"), in(&w, "first")), 0);
    struct outcome b = compare(&w, "v2", INPUTS "m2_dev_a.csv", "once.csv");
    ck_assert_int_eq(b.status, 0);
    char *details_once = output(&w, DETAILS), *result_once = output(&w, RESULT);
    ck_assert_str_eq(result, result_once);
    char *place = strstr(details, skip);
    memmove(place, place + strlen(skip) + 2, strlen(place + strlen(skip) + 2) + 1);
    ck_assert_str_eq(details, details_once);

    char *golden = read_file(EXPECTED "m2_dev_a__m2_repeated/result.csv", &length);
    ck_assert_msg(strncmp(result, golden, strlen(golden)) == 0,
                  "the results before the repeated row are msprobe's");
    free(golden);
    free(once);
    free(details);
    free(result);
    free(details_once);
    free(result_once);
    outcome_free(&a);
    outcome_free(&b);
    workspace_remove(&w);
}
END_TEST

/* Rows that the GPU lacks are SKIP rows, in their place; the others are msprobe's. */
START_TEST(missing_gpu_rows)
{
    struct workspace w = workspace_make();
    struct outcome o = compare(&w, "v2", INPUTS "m2_dev_a.csv", INPUTS "m2_missing.csv");
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "122 rows only in the NPU file, 0 only in the GPU file"));
    char *details = output(&w, DETAILS), *result = output(&w, RESULT);
    char *golden = read_file(EXPECTED "m2_dev_a__m2_missing/details.csv", NULL);
    ck_assert_int_eq(strncmp(details, golden, strlen(golden)), 0);
    size_t skipped = 0;
    for (const char *at = details; (at = strstr(at, ",The GPU file has no row of this name.\r\n"));
         at++)
        skipped++;
    ck_assert_uint_eq(skipped, 122);
    /* a verdict that other rows of the API give stays, an API without any is SKIP */
    ck_assert(has_line(result, "Tensor.split.0,error,SKIP,"));
    ck_assert(has_line(result, "Functional.linear.0,pass,error,"));
    ck_assert(has_line(result, "Tensor.__eq__.0,SKIP, ,The GPU file has no row of this name."));
    free(details);
    free(result);
    free(golden);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

START_TEST(missing_npu_rows)
{
    struct workspace w = workspace_make();
    struct outcome o = compare(&w, "doc", INPUTS "m2_missing.csv", INPUTS "m2_dev_a.csv");
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "0 rows only in the NPU file, 122 only in the GPU file"));
    char *details = output(&w, DETAILS), *result = output(&w, RESULT);
    ck_assert(has_line(details,
                       "Tensor.__eq__.0.forward.output.0, , , , , , , , , , , , , , , , , , "
                       ", , , , , , ,SKIP, ,The NPU file has no row of this name."));
    ck_assert(has_line(result, "Tensor.__eq__.0,SKIP, ,The NPU file has no row of this name."));
    free(details);
    free(result);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* ---- small files ------------------------------------------------------------------------ */

static void add_skip(char **text, const char *name, const char *message)
{
    append(text, name);
    append(text, ", , , , , , , , , , , , , , , , , , , , ,SKIP,");
    append(text, message);
    append(text, "\r\n");
}

/* Rows of one API may be apart and in any order; the API stands where it first appears. */
START_TEST(rows_of_an_api_may_be_apart)
{
    struct small s = small_files();
    add_binary(&s.npu, "Torch.a.0.forward.output.0", "0");
    add_binary(&s.npu, "Torch.b.0.forward.output.0", "0");
    add_binary(&s.npu, "Torch.a.0.backward.output.0", "0.5");
    add_binary(&s.npu, "Torch.b.0.forward.output.1", "0.5");
    add_binary(&s.npu, "Torch.a.0.forward.output.1", "0");
    add_binary(&s.gpu, "Torch.b.0.forward.output.1", "0");
    add_binary(&s.gpu, "Torch.a.0.forward.output.1", "0");
    add_binary(&s.gpu, "Torch.a.0.backward.output.0", "0");
    add_binary(&s.gpu, "Torch.a.0.forward.output.0", "0");
    add_binary(&s.gpu, "Torch.b.0.forward.output.0", "0");
    struct outcome o = compare_small(&s, "doc");
    ck_assert_int_eq(o.status, 0);
    char *result = output(&s.w, RESULT);
    ck_assert_str_eq(result, "\xef\xbb\xbf"
                             "API Name,Forward Test Success,Backward Test Success,"
                             "Message\r\nTorch.a.0,pass,error,\r\nTorch.b.0,error, ,\r\n");
    free(result);
    small_done(&s, &o);
}
END_TEST

START_TEST(repeated_npu_row)
{
    struct small s = small_files();
    add_binary(&s.npu, "Torch.a.0.forward.output.0", "0");
    add_binary(&s.npu, "Torch.a.0.forward.output.0", "1");
    add_binary(&s.gpu, "Torch.a.0.forward.output.0", "0");
    struct outcome o = compare_small(&s, "v2");
    char *result = output(&s.w, RESULT), *details = output(&s.w, DETAILS);
    ck_assert(has_line(result, "Torch.a.0,pass, ,"));
    ck_assert_ptr_nonnull(strstr(details, "SKIP, ,The NPU file has more than one row of this name; "
                                          "the first one counts.\r\n"));
    free(result);
    free(details);
    small_done(&s, &o);
}
END_TEST

/* Segments of names: 6 or 7, with an API that may contain a dot or the word forward. */
START_TEST(row_names)
{
    static const char *const invalid[] = {
        "Torch.a.0.forward.output",       "Torch.a.0.forward",
        "Torch.a.b.c.0.forward.output.0", "a",
        "Torch.a.0.sideways.output.0",    "Torch.a.0.forward.input.0",
        "Torch..0.forward.output.0",      "Torch.a.0.forward.output."
    };
    struct small s = small_files();
    static const char *const valid[] = {
        "Torch.linalg.inv.0.backward.output.0",
        "Functional.multi_head_attention_forward.0.forward.output.0"
    };
    for (size_t i = 0; i < 2; i++) {
        add_binary(&s.npu, valid[i], "0");
        add_binary(&s.gpu, valid[i], "0");
    }
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        add_binary(&s.npu, invalid[i], "0");
        add_binary(&s.gpu, invalid[i], "0");
    }
    struct outcome o = compare_small(&s, "doc");
    ck_assert_int_eq(o.status, 0);
    char *result = output(&s.w, RESULT), *details = output(&s.w, DETAILS);
    ck_assert(has_line(result, "Torch.linalg.inv.0, ,pass,"));
    ck_assert(has_line(result, "Functional.multi_head_attention_forward.0,pass, ,"));
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s,SKIP,SKIP,The API name %s is invalid.", invalid[i],
                 invalid[i]);
        ck_assert_msg(has_line(result, line), "%s", line);
        snprintf(line, sizeof line, "SKIP, ,The API name %s is invalid.\r\n", invalid[i]);
        ck_assert_msg(strstr(details, line), "%s", line);
    }
    free(result);
    free(details);
    small_done(&s, &o);
}
END_TEST

/* The documents' spelling of headers, other spelling of verdicts, LF, no mark, another order of
 * columns: the verdicts are those of the usual file. */
START_TEST(files_of_other_makers)
{
    struct small s = small_files();
    add_benchmark(&s.npu, "Torch.a.0.forward.output.0", "1.5", "Warning");
    add_benchmark(&s.gpu, "Torch.a.0.forward.output.0", "1", "pass");
    add_benchmark(&s.npu, "Torch.b.0.forward.output.0", "3", "error");
    add_benchmark(&s.gpu, "Torch.b.0.forward.output.0", "1", "pass");
    struct outcome usual = compare_small(&s, "doc");
    char *expected = output(&s.w, DETAILS), *expected_result = output(&s.w, RESULT);
    ck_assert(has_line(expected_result, "Torch.a.0,warning, ,"));
    ck_assert(has_line(expected_result, "Torch.b.0,error, ,"));
    ck_assert_int_eq(rename(in(&s.w, "out"), in(&s.w, "usual")), 0);

    free(s.npu);
    s.npu = NULL;
    append(
        &s.npu,
        "API name,message,status,DEVICE "
        "Dtype,小值域错误占比,均方根误差,相对误差最大值,相对误差平均值,"
        "误差均衡性,二进制一致错误率,inf / nan 错误率,相对误差错误率,绝对误差错误率,ULP误差平均值,"
        "ULP误差大于阈值占比,双千指标\n"
        "Torch.a.0.forward.output.0,m,warning,torch.float32,0,1.5,0,0,0, , , , , , , \n"
        "Torch.b.0.forward.output.0,m,ERROR,torch.float32,0,3,0,0,0, , , , , , , ");
    struct outcome other = compare_small(&s, "doc");
    ck_assert_msg(other.status == 0, "%s", other.err);
    char *details = output(&s.w, DETAILS);
    ck_assert_str_eq(details, expected);
    free(details);
    free(expected);
    free(expected_result);
    outcome_free(&usual);
    small_done(&s, &other);
}
END_TEST

/* ---- strict ------------------------------------------------------------------------------- */

/* A directory of results stands for the newest run in it that is complete. */
START_TEST(directories_of_results)
{
    struct workspace w = workspace_make();
    const char *dump = PROBE_TEST_DATA "/dumps/m5x/L1_statistics/dump.json";
    for (int i = 0; i < 2; i++) {
        struct outcome o = run_program(&w, "run_ut", "-api_info", dump, "-o", i ? "gpu" : "npu",
                                       "--trust-files", NULL);
        ck_assert_int_eq(o.status, 0);
        outcome_free(&o);
    }
    /* A later run that died, and one that never was. */
    write_text(in(&w, "npu/accuracy_checking_details_99990101000000.csv"), details_header);
    write_text(in(&w, "npu/accuracy_checking_result_99990101000000.csv"),
               "API name,Forward Test Success,Backward Test Success,Message\r\n");
    write_text(in(&w, "npu/accuracy_checking_run_99990101000000.json"), "{\"calls\": 1}");
    write_text(in(&w, "npu/accuracy_checking_details_x.csv"), "");
    struct outcome o = compare(&w, "doc", "npu", "gpu/");
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "-npu: npu/accuracy_checking_details_2"));
    ck_assert_ptr_nonnull(strstr(o.out, "-gpu: gpu/accuracy_checking_details_2"));
    /* Both runs are told apart by what their run files say. */
    ck_assert_ptr_nonnull(strstr(o.out, "NPU: backend cpu, dump /"));
    ck_assert_ptr_nonnull(strstr(o.out, "GPU: backend cpu, dump /"));
    outcome_free(&o);

    /* What a pattern of the shell gives for two runs, files of other kinds among them; a baseline. */
    char done[512];
    snprintf(done, sizeof done, "%s", only_match(&w, "npu/accuracy_checking_details_2*"));
    o = run_program(&w, "api_precision_compare", "-npu", "npu/accuracy_checking_details_x.csv",
                    done, "npu/accuracy_checking_details_99990101000000.csv", "-o", "out", "-gpu",
                    "gpu", "gpu", "--baseline", "out", NULL);
    ck_assert_msg(o.status == 0, "%d %s", o.status, o.err);
    ck_assert_ptr_nonnull(strstr(o.out, done));
    ck_assert_ptr_nonnull(strstr(o.out, "--baseline: out/api_precision_compare_details_2"));
    ck_assert_ptr_nonnull(strstr(o.out, "since the baseline"));
    outcome_free(&o);
    o = run_program(&w, "run_ut", "-api_info", dump, "-o", "third", "--trust-files", "--baseline",
                    "npu", NULL);
    ck_assert_msg(o.status == 0, "%d %s", o.status, o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "--baseline: npu/accuracy_checking_details_2"));
    outcome_free(&o);
    o = run_program(&w, "run_ut", "-api_info", dump, "--trust-files", "-csv_path", "third", NULL);
    ck_assert_msg(o.status == 0, "%d %s", o.status, o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: "));
    outcome_free(&o);
    o = run_program(&w, "api_precision_compare", "-npu", "npu/accuracy_checking_details_x.csv",
                    "npu/accuracy_checking_details_99990101000000.csv", "-gpu", "gpu", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "of a complete run"));
    outcome_free(&o);
    ck_assert_int_eq(mkdir(in(&w, "empty"), 0750), 0);
    o = compare(&w, "doc", "npu", "empty");
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "of a complete run"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* A directory of dumps stands for the one in it. */
START_TEST(directories_of_dumps)
{
    struct workspace w = workspace_make();
    char *text = read_file(PROBE_TEST_DATA "/dumps/m5x/L1_statistics/dump.json", NULL);
    ck_assert_int_eq(mkdir(in(&w, "dumps"), 0750), 0);
    ck_assert_int_eq(mkdir(in(&w, "dumps/step0"), 0750), 0);
    ck_assert_int_eq(mkdir(in(&w, "dumps/step0/rank0"), 0750), 0);
    ck_assert_int_eq(mkdir(in(&w, "dumps/step0/rank1"), 0750), 0);
    struct outcome o = run_program(&w, "run_ut", "-api_info", "dumps", "-o", "out", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "there is no dump.json in 'dumps' or below"));
    outcome_free(&o);
    write_text(in(&w, "dumps/step0/rank0/dump.json"), text);
    o = run_program(&w, "run_ut", "-api_info", "dumps", "-o", "out", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "dump: dumps/step0/rank0/dump.json\n"));
    outcome_free(&o);
    o = run_program(&w, "case", "-api_info", "dumps/step0", "--name",
                    "Functional.multi_head_attention_forward.0", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    write_text(in(&w, "dumps/step0/rank1/dump.json"), text);
    o = run_program(&w, "case", "-api_info", "dumps/", "--name", "any", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err,
                                 "'dumps/' has 2 dumps, name one of them: "
                                 "dumps/step0/rank0/dump.json, dumps/step0/rank1/dump.json"));
    outcome_free(&o);
    free(text);
    workspace_remove(&w);
}
END_TEST

/* Names that are longer than a message shows, on either side; what is shown of them ends with a whole
 * character. */
START_TEST(long_names)
{
    struct small s = small_files();
    char name[1200] = "n";
    for (int i = 0; i < 250; i++) strcat(name, "\xe5\x90\x8d"); /* 1 + 3 * 250 bytes */
    add_skip(&s.npu, name, "m");
    strcat(name, "x");
    add_skip(&s.gpu, name, "m");
    struct outcome o = compare_small(&s, "doc");
    ck_assert_msg(o.status == 5, "%s", o.err); /* nothing was judged */
    char *result = output(&s.w, RESULT), *details = output(&s.w, DETAILS);
    ck_assert_ptr_nonnull(strstr(details, name));
    char message[700];
    snprintf(message, sizeof message, "The API name %.499s is invalid.\r\n",
             name); /* 500 would cut one in two */
    ck_assert_ptr_nonnull(strstr(result, message));
    ck_assert_ptr_nonnull(strstr(result, ",SKIP,SKIP,The NPU file has no row of this name.\r\n"));
    free(result);
    free(details);
    small_done(&s, &o);
}
END_TEST

/* More results than are kept before they are written; a directory with a slash at its end. */
START_TEST(many_results)
{
    enum { N = 30000 };
    struct workspace w = workspace_make();
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    fputs(details_header, out);
    for (int i = 0; i < N; i++)
        fprintf(out,
                "Torch.a_function_with_a_name.%d.forward.output.0,torch.int64,torch.int64,(),  , , "
                ", , ,%d, , , , , , , "
                ", , , , ,pass,x\r\n",
                i, i % 3 == 0);
    fclose(out);
    write_file(in(&w, "npu.csv"), text, length);
    free(text);
    struct outcome o = run_program(&w, "api_precision_compare", "-npu", "npu.csv", "-gpu",
                                   "npu.csv", "-o", "out/", NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "saved in out/api_precision_compare_result_"));
    outcome_free(&o);
    char *result = output(&w, RESULT), *row = result;
    ck_assert_uint_eq(count_lines(result), N + 1);
    ck_assert_uint_gt(strlen(result), 1 << 20);
    for (int i = 0; i < N; i++) {
        char line[100];
        row = strstr(row, "\r\n") + 2;
        snprintf(line, sizeof line, "Torch.a_function_with_a_name.%d,%s, ,\r\n", i,
                 i % 3 ? "pass" : "error");
        ck_assert_msg(!strncmp(row, line, strlen(line)), "row %d: %.60s", i, row);
    }
    free(result);
    workspace_remove(&w);
}
END_TEST

/* Foreign text is copied whole, and cannot start a formula. */
START_TEST(messages_are_copied)
{
    struct small s = small_files();
    char message[5000];
    memset(message, 'm', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    add_skip(&s.npu, "Torch.a.0.forward.output.0", message);
    add_skip(&s.gpu, "Torch.a.0.forward.output.0", "");
    add_skip(&s.npu, "Torch.b.0.forward.output.0", "=cmd|' /C calc'!A0");
    add_skip(&s.gpu, "Torch.b.0.forward.output.0", "");
    struct outcome o = compare_small(&s, "doc");
    char *result = output(&s.w, RESULT), *details = output(&s.w, DETAILS);
    ck_assert_ptr_nonnull(strstr(details, message));
    ck_assert_ptr_nonnull(strstr(result, message));
    ck_assert_ptr_nonnull(strstr(details, ",\"'=cmd|' /C calc'!A0\"\r\n"));
    ck_assert_ptr_nonnull(strstr(result, ",\"'=cmd|' /C calc'!A0\"\r\n"));
    free(result);
    free(details);
    small_done(&s, &o);
}
END_TEST

START_TEST(row_with_too_many_cells)
{
    struct small s = small_files();
    add_binary(&s.npu, "Torch.a.0.forward.output.0", "0");
    add_binary(&s.gpu, "Torch.a.0.forward.output.0", "0");
    s.npu[strlen(s.npu) - 2] = '\0';
    append(&s.npu, ",y\r\n");
    struct outcome o = compare_small(&s, "doc");
    char *result = output(&s.w, RESULT);
    ck_assert(has_line(result, "Torch.a.0,SKIP, ,The NPU row has more cells than the header."));
    free(result);
    small_done(&s, &o);
}
END_TEST

/* An empty cell, unlike a blank one, is NaN for the peer: equal on both sides, so a pass. doc
 * takes it for missing. */
START_TEST(empty_cells)
{
    static const struct {
        const char *profile, *line;
    } cases[] = { { "v2", "Torch.a.0,pass, ," },
                  { "doc", "Torch.a.0,SKIP, ,The NPU row has no 均方根误差." } };
    for (size_t i = 0; i < 2; i++) {
        struct small s = small_files();
        add_benchmark(&s.npu, "Torch.a.0.forward.output.0", "", "pass");
        add_benchmark(&s.gpu, "Torch.a.0.forward.output.0", "", "pass");
        struct outcome o = compare_small(&s, cases[i].profile);
        char *result = output(&s.w, RESULT);
        ck_assert_msg(has_line(result, cases[i].line), "%s", result);
        free(result);
        small_done(&s, &o);
    }
}
END_TEST

START_TEST(topk_has_a_hint)
{
    struct small s = small_files();
    add_binary(&s.npu, "Torch.topk.0.forward.output.0", "0.5");
    add_binary(&s.gpu, "Torch.topk.0.forward.output.0", "0");
    add_binary(&s.npu, "Torch.topk.1.forward.output.0", "0");
    add_binary(&s.gpu, "Torch.topk.1.forward.output.0", "0");
    struct outcome o = compare_small(&s, "doc");
    char *result = output(&s.w, RESULT);
    ck_assert_ptr_nonnull(
        strstr(result, "Torch.topk.0,error, ,\"On the NPU, sorted=False of topk"));
    ck_assert(has_line(result, "Torch.topk.1,pass, ,"));
    free(result);
    small_done(&s, &o);
}
END_TEST

/* Under v3 missing numbers count as 0, which is said. */
START_TEST(v3_warns_of_missing_numbers)
{
    struct workspace w = workspace_make();
    struct outcome o = compare(&w, "v3", INPUTS "m1_dev_a.csv", INPUTS "m1_dev_b.csv");
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.err,
                                 "rows lack numbers of the benchmark standard, which profile "
                                 "v3 takes as 0"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("three_way_command");
    TCase *tests = tcase_create("three_way_command");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, writes_the_bytes_of_msprobe, 0, (int)(sizeof pairs / sizeof *pairs));
    tcase_add_test(tests, repeated_gpu_row);
    tcase_add_test(tests, missing_gpu_rows);
    tcase_add_test(tests, missing_npu_rows);
    tcase_add_test(tests, rows_of_an_api_may_be_apart);
    tcase_add_test(tests, repeated_npu_row);
    tcase_add_test(tests, row_names);
    tcase_add_test(tests, files_of_other_makers);
    tcase_add_test(tests, long_names);
    tcase_add_test(tests, directories_of_results);
    tcase_add_test(tests, directories_of_dumps);
    tcase_add_test(tests, many_results);
    tcase_add_test(tests, messages_are_copied);
    tcase_add_test(tests, row_with_too_many_cells);
    tcase_add_test(tests, empty_cells);
    tcase_add_test(tests, topk_has_a_hint);
    tcase_add_test(tests, v3_warns_of_missing_numbers);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
