/* Runs that are resumed: without some of their files or with those of others, and with the kernels that they began with. */
#include <errno.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>

#include "support/dumps.h"
#include "support/runs.h"
#include "support/suite.h"

/* Two runs of twelve calls; of the second one a file is taken away. */
struct pair {
    struct workspace w;
    char result[512]; /* of the second run */
};

static struct pair pair_make(const char *missing)
{
    struct pair p = { .w = workspace_make() };
    write_many_calls(in(&p.w, "dump.json"), 12, 5);
    succeeded(run_program(&p.w, "-api_info", "dump.json", "-o", "whole", NULL));
    succeeded(run_program(&p.w, "-api_info", "dump.json", "-o", "part", NULL));
    snprintf(p.result, sizeof p.result, "%s", file_of(&p.w, "part", RESULT));
    ck_assert_int_eq(unlink(file_of(&p.w, "part", missing)), 0);
    return p;
}

static void same_files(const struct pair *p, const char *pattern)
{
    assert_same_files(file_of(&p->w, "whole", pattern), file_of(&p->w, "part", pattern));
}

/* Without its details file no result row is believed, and all are made again. */
START_TEST(without_details)
{
    struct pair p = pair_make(DETAILS);
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 0 of 12 calls are done, "));
    ck_assert_ptr_nonnull(
        strstr(o.out, " of unfinished rows were cut off, the details file is written anew\n"));
    outcome_free(&o);
    same_files(&p, RESULT);
    same_files(&p, DETAILS);
    same_files(&p, EVIDENCE);
    workspace_remove(&p.w);
}
END_TEST

/* Rows outlive their evidence, and its place says how to see it again. */
START_TEST(without_evidence)
{
    struct pair p = pair_make(EVIDENCE);
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done"));
    ck_assert_ptr_nonnull(strstr(o.err, "the evidence of 11 finished calls is lost"));
    outcome_free(&o);
    same_files(&p, RESULT);
    same_files(&p, DETAILS);
    char *evidence = read_file(file_of(&p.w, "part", EVIDENCE), NULL);
    static const char first[] = "{\"name\":\"Torch.add.0.forward.output.0\",\"verdict\":\"pass\","
                                "\"repeat\":\"probe-ut case "
                                "-api_info dump.json --name Torch.add.0\",\"lost\":true}\n";
    ck_assert_int_eq(strncmp(evidence, first, sizeof first - 1), 0);
    size_t lines = 0;
    for (const char *at = evidence; (at = strchr(at, '\n')); at++) lines++;
    char *whole = read_file(file_of(&p.w, "whole", EVIDENCE), NULL);
    for (const char *at = whole; (at = strchr(at, '\n')); at++) lines--;
    ck_assert_uint_eq(lines, 0);
    free(evidence);
    free(whole);
    /* And once more: lines that tell of a loss are evidence as good as any. */
    o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done"));
    ck_assert_ptr_null(strstr(o.err, "is lost"));
    outcome_free(&o);
    workspace_remove(&p.w);
}
END_TEST

/* A result file is made again from the others. */
START_TEST(without_results)
{
    struct pair p = pair_make(RESULT);
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done, "));
    ck_assert_ptr_nonnull(strstr(o.out, "11 result rows made again"));
    outcome_free(&o);
    same_files(&p, RESULT);
    same_files(&p, DETAILS);
    same_files(&p, EVIDENCE);
    workspace_remove(&p.w);
}
END_TEST

/* A run file that is torn is as good as none, and is written again. */
START_TEST(torn_run_files)
{
    static const char *const texts[] = { "", "{\"version\": ", "[]", "\"version\"" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct pair p = pair_make(RUN_FILE);
        char run[512];
        snprintf(run, sizeof run, "%s", p.result);
        memcpy(strstr(run, "result_"), "run_", 4);
        memmove(strstr(run, "run_") + 4, strstr(run, "run_") + 7, 15);
        memcpy(strstr(run, "run_") + 18, ".json", 6);
        write_text(run, texts[i]);
        struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        ck_assert_ptr_nonnull(strstr(o.err, "there is no readable "));
        ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done"));
        outcome_free(&o);
        same_files(&p, RESULT);
        same_files(&p, DETAILS);
        same_files(&p, EVIDENCE);
        char *record = read_file(run, NULL);
        ck_assert_ptr_nonnull(strstr(record, "\"dump_digest\""));
        free(record);
        workspace_remove(&p.w);
    }
}
END_TEST

/* The timings of a run are continued with it; a file of something else is not touched. */
START_TEST(timings_are_continued)
{
    static const char header[] = "API name,inputs s,reference s,device s,comparison s\r\n";
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 12, 5);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "out", "--timings", "t.csv", NULL));
    char result[512];
    snprintf(result, sizeof result, "%s", file_of(&w, "out", RESULT));
    for (int torn = 0; torn < 4; torn++) {
        size_t length;
        char *before = read_file(in(&w, "t.csv"), &length);
        if (torn == 1) write_file(in(&w, "t.csv"), before, length - 20); /* in its last row */
        if (torn == 2) write_file(in(&w, "t.csv"), before, 10);          /* in its header */
        if (torn == 3) { /* whole pages of its header never reached the disk */
            memset(before + 10, 0, length - 10);
            write_file(in(&w, "t.csv"), before, length);
        }
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-csv_path", result,
                                       "--timings", "t.csv", NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        char *after = read_file(in(&w, "t.csv"), NULL);
        size_t rows = 0;
        for (const char *at = after; (at = strstr(at, "\r\n")); at += 2) rows++;
        ck_assert_uint_eq(rows, torn >= 2 ? 2 : 13);
        ck_assert_int_eq(strncmp(after, header, sizeof header - 1), 0);
        free(before);
        free(after);
    }
    write_text(in(&w, "t.csv"), "mine\n");
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-csv_path", result, "--timings", "t.csv", NULL);
    ck_assert_int_eq(o.status, 2);
    outcome_free(&o);
    char *mine = read_file(in(&w, "t.csv"), NULL);
    ck_assert_str_eq(mine, "mine\n");
    free(mine);
    workspace_remove(&w);
}
END_TEST

/* Without a run file nobody knows the options of the run: all but the last call are kept, with a
 * warning. */
START_TEST(without_a_run_file)
{
    struct pair p = pair_make(RUN_FILE);
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.err, "/part/accuracy_checking_run_"));
    ck_assert_ptr_nonnull(
        strstr(o.err, "so nothing tells whether these files are of the same run"));
    ck_assert_ptr_nonnull(strstr(o.out, "resuming: 11 of 12 calls are done, "));
    ck_assert_ptr_nonnull(strstr(o.out, "\n1 call in "));
    outcome_free(&o);
    same_files(&p, RESULT);
    same_files(&p, DETAILS);
    workspace_remove(&p.w);
}
END_TEST

/* Rows of the peer, with its verdicts and spellings, count as the others do. */
START_TEST(verdicts_of_the_peer_count)
{
    static const char *const rows[] = { "Torch.add.0,Warning,pass", "Torch.mul.1,error,SKIP",
                                        "Torch.sub.2,pass,pass" };
    static const char *const options[] = { "error", "warning" };
    for (int k = 0; k < 2; k++) {
        struct workspace w = workspace_make();
        char result[1000] = "API name,Forward Test Success,Backward Test Success,Message\n";
        char details[4000] = "API Name";
        write_many_calls(in(&w, "dump.json"), 12, 5);
        for (int i = 0; i < 22; i++) strcat(details, ",x");
        for (int i = 0; i < 3; i++) {
            size_t name = strlen("Torch.add.0");
            if (i == 1 && k) continue; /* without its error */
            snprintf(result + strlen(result), sizeof result - strlen(result), "%s\n", rows[i]);
            snprintf(details + strlen(details), sizeof details - strlen(details),
                     "\n%.*s.forward.output.0", (int)name, rows[i]);
            for (int c = 0; c < 22; c++) strcat(details, ", ");
        }
        strcat(details, "\n");
        write_text(in(&w, "accuracy_checking_result_20240102030405.csv"), result);
        write_text(in(&w, "accuracy_checking_details_20240102030405.csv"), details);
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-csv_path",
                                       "accuracy_checking_result_20240102030405.csv", "--fail-on",
                                       options[k], NULL);
        ck_assert_msg(o.status == 1, "%d: %s", o.status, o.err);
        ck_assert_ptr_nonnull(strstr(o.out, k ? "resuming: 1 of 12" : "resuming: 2 of 12"));
        ck_assert_ptr_nonnull(
            strstr(o.out, k ? "forward          11        1        0        0        0\n"
                              "backward         12        0        0        0        0\n"
                            : "forward          10        1        1        0        0\n"
                              "backward         11        0        0        1        0\n"));
        ck_assert_ptr_nonnull(strstr(o.out, "\nreferences (of this part of the run): "));
        outcome_free(&o);
        /* The other direction: a warning alone is no failure for --fail-on error. */
        if (k) {
            o = run_program(&w, "-api_info", "dump.json", "-csv_path",
                            "accuracy_checking_result_20240102030405.csv", "--fail-on", "error",
                            NULL);
            ck_assert_int_eq(o.status, 0);
            outcome_free(&o);
        }
        workspace_remove(&w);
    }
}
END_TEST

/* The run file says for people what was run, where and when; a run that is resumed elsewhere, by another
 * path or later is the same run. */
START_TEST(run_files_tell_runs_apart)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "my dump.json"), 4, 5);
    succeeded(run_program(&w, "-api_info", "my dump.json", "-o", "out", NULL));
    char *text = read_file(only_match(&w, "out/" RUN_FILE), NULL);
    cJSON *record = cJSON_Parse(text);
    const cJSON *about = cJSON_GetObjectItem(record, "about");
    ck_assert_str_eq(cJSON_GetObjectItem(about, "dump")->valuestring, in(&w, "my dump.json"));
    const char *command = cJSON_GetObjectItem(about, "command")->valuestring;
    ck_assert_ptr_nonnull(strstr(command, " -api_info 'my dump.json' -o out"));
    static const char form[] = "0000-00-00T00:00:00";
    const char *date = cJSON_GetObjectItem(about, "date")->valuestring;
    for (size_t i = 0; i < sizeof form - 1; i++)
        ck_assert_msg(form[i] == '0' ? date[i] >= '0' && date[i] <= '9' : date[i] == form[i], "%s",
                      date);
    char host[256];
    ck_assert_int_eq(gethostname(host, sizeof host), 0);
    ck_assert_str_eq(cJSON_GetObjectItem(about, "host")->valuestring, host);
    cJSON_Delete(record);
    free(text);
    ck_assert_int_eq(rename(in(&w, "my dump.json"), in(&w, "moved.json")), 0);
    struct outcome o = run_program(&w, "-api_info", "moved.json", "-csv_path",
                                   only_match(&w, "out/" RESULT), NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* What fails and what is skipped, as a summary lists it with and without a tree of dumps. */
static char *told_of(const struct outcome *o)
{
    const char *start = strstr(o->out, "\nfailing: "),
               *end = start ? strstr(start, "\nfiles\n") : 0;
    if (start && !end) end = strstr(start, "\n2 dumps of ");
    ck_assert_msg(start && end, "%s", o->out);
    return strndup(start, (size_t)(end - start));
}

static void copy_dump(const struct workspace *w, const char *name)
{
    size_t bytes;
    char path[300],
        *text = read_file(PROBE_TEST_DATA "/dumps/m2_bf16/L1_statistics/dump.json", &bytes);
    snprintf(path, sizeof path, "dumps/%s", name);
    ck_assert(!mkdir(in(w, path), 0755));
    snprintf(path, sizeof path, "dumps/%s/dump.json", name);
    write_text(in(w, path), text);
    free(text);
}

/* A run that is resumed tells of all its calls, not only of those that it did last. */
START_TEST(the_summary_is_of_all_calls)
{
    struct workspace w = workspace_make();
    ck_assert(!mkdir(in(&w, "dumps"), 0755));
    copy_dump(&w, "rank0");
    copy_dump(&w, "rank1");
    const char *input = _i ? "dumps" : "dumps/rank1/dump.json";
    struct outcome o = run_program(&w, "-api_info", input, "-o", "out", NULL);
    char *whole = told_of(&o);
    outcome_free(&o);
    const char *result = file_of(&w, _i ? "out/rank1" : "out", RESULT);
    struct stat st;
    ck_assert(!stat(result, &st) && !truncate(result, st.st_size / 2));
    ck_assert(!truncate(file_of(&w, _i ? "out/rank1" : "out", DETAILS), st.st_size));
    o = run_program(&w, "-api_info", input, "-csv_path", "out", NULL);
    char *resumed = told_of(&o);
    ck_assert_str_eq(resumed, whole);
    outcome_free(&o);
    free(whole);
    free(resumed);
    workspace_remove(&w);
}
END_TEST

/* "blas_core" of the run file in `directory`: whether there is one that is not empty. */
static bool names_core(const struct workspace *w, const char *directory)
{
    char *text = read_file(file_of(w, directory, RUN_FILE), NULL);
    cJSON *record = cJSON_Parse(text);
    const cJSON *core = cJSON_GetObjectItemCaseSensitive(record, "blas_core");
    bool named = core && cJSON_IsString(core) && *core->valuestring;
    cJSON_Delete(record);
    free(text);
    return named;
}

/* Sums of two tensors owe the kernels of BLAS nothing, which are not even loaded; products do. The end of the report
 * says the same. */
START_TEST(kernels_are_named_once_they_are_used)
{
    static const char *const products = PROBE_TEST_DATA "/dumps/m2/L1_statistics/dump.json";
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 12, 5);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "sums", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_msg(!strstr(o.out, "BLAS core"), "%s", o.out);
    outcome_free(&o);
    ck_assert(!names_core(&w, "sums"));
    o = run_program(&w, "-api_info", products, "-o", "products", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_msg(strstr(o.out, "BLAS core") != NULL, "%s", o.out);
    outcome_free(&o);
    ck_assert(names_core(&w, "products"));
    workspace_remove(&w);
}
END_TEST

/* What is left of a run that died before it used the kernels is continued on any, and names them then. */
START_TEST(kernels_are_named_by_a_run_that_goes_on)
{
    struct workspace w = workspace_make();
    char path[512];
    write_many_calls(in(&w, "dump.json"), 12, 5);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "sums", NULL));
    snprintf(path, sizeof path, "%s", file_of(&w, "sums", RESULT));
    unlink(file_of(&w, "sums", DETAILS));
    succeeded(run_program(&w, "-api_info", "dump.json", "-csv_path", path, NULL));
    ck_assert(!names_core(&w, "sums"));

    static const char *const products = PROBE_TEST_DATA "/dumps/m2/L1_statistics/dump.json";
    succeeded(run_program(&w, "-api_info", products, "-o", "products", NULL));
    snprintf(path, sizeof path, "%s", file_of(&w, "products", RESULT));
    const char *run = file_of(&w, "products", RUN_FILE);
    char *text = read_file(run, NULL);
    cJSON *record = cJSON_Parse(text);
    cJSON_DeleteItemFromObjectCaseSensitive(record, "blas_core");
    char *without = cJSON_Print(record);
    write_file(run, without, strlen(without));
    unlink(file_of(&w, "products", DETAILS));
    succeeded(run_program(&w, "-api_info", products, "-csv_path", path, NULL));
    ck_assert(names_core(&w, "products"));
    cJSON_free(without);
    cJSON_Delete(record);
    free(text);
    workspace_remove(&w);
}
END_TEST

/* Rows of other kernels are not mixed with ours. */
START_TEST(other_kernels_are_refused)
{
    struct pair p = pair_make(DETAILS);
    const char *run = file_of(&p.w, "part", RUN_FILE);
    char *text = read_file(run, NULL);
    cJSON *record = cJSON_Parse(text);
    cJSON_AddStringToObject(record, "blas_core", "Abacus");
    char *with = cJSON_Print(record);
    write_file(run, with, strlen(with));
    struct outcome o = run_program(&p.w, "-api_info", "dump.json", "-csv_path", p.result, NULL);
    ck_assert_int_eq(o.status, 3);
    ck_assert_msg(strstr(o.err, "blas_core was \"Abacus\", is ") != NULL, "%s", o.err);
    outcome_free(&o);
    cJSON_free(with);
    cJSON_Delete(record);
    free(text);
    workspace_remove(&p.w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resume");
    TCase *tests = tcase_create("resume");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, without_details);
    tcase_add_test(tests, without_evidence);
    tcase_add_test(tests, without_results);
    tcase_add_test(tests, torn_run_files);
    tcase_add_test(tests, timings_are_continued);
    tcase_add_test(tests, run_files_tell_runs_apart);
    tcase_add_test(tests, without_a_run_file);
    tcase_add_test(tests, verdicts_of_the_peer_count);
    tcase_add_loop_test(tests, the_summary_is_of_all_calls, 0, 2);
    tcase_add_test(tests, kernels_are_named_once_they_are_used);
    tcase_add_test(tests, kernels_are_named_by_a_run_that_goes_on);
    tcase_add_test(tests, other_kernels_are_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
