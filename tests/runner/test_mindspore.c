/* Dumps of MindSpore, from the file to the rows: every cell that the reference tool has for
 * tests/data/mindspore, within the interval in which any correctly computed bench puts it; which entries
 * have rows; and the same bytes for any number of threads and after a cut.
 */
#include <cjson/cJSON.h>
#include <math.h>

#include "formats/csv.h"
#include "runner/mindspore_rows.h"
#include "support/sanitized.h"
#include "support/suite.h"
#include "support/workspace.h"

static cJSON *read_limits(const char *set)
{
    char path[512];
    snprintf(path, sizeof path, DATA "%s/limits.json", set);
    char *text = read_file(path, NULL);
    cJSON *limits = cJSON_Parse(text);
    ck_assert_ptr_nonnull(limits);
    free(text);
    return limits;
}

/* An interval; null stands for no limit. */
static void read_interval(double out[2], const cJSON *row, const char *key)
{
    const cJSON *interval = cJSON_GetObjectItem(row, key);
    for (int i = 0; i < 2; i++) {
        const cJSON *end = cJSON_GetArrayItem(interval, i);
        out[i] = cJSON_IsNumber(end) ? end->valuedouble : i ? INFINITY : -INFINITY;
    }
}

static bool holds(const double interval[2], double x)
{
    return x >= interval[0] && x <= interval[1];
}

static bool cell_agrees(const char *got, const char *want, const cJSON *row, const char *key)
{
    double interval[2];
    if (!*want || !strcmp(want, "nan")) return !strcmp(got, want);
    read_interval(interval, row, key);
    return *got && holds(interval, strtod(got, NULL));
}

/* Is the verdict the same for every bench within the limits? */
static bool is_decided(const cJSON *row)
{
    double cosine[2], difference[2];
    if (cJSON_GetObjectItem(row, "shape")) return true;
    read_interval(cosine, row, "cosine");
    read_interval(difference, row, "abs");
    return !holds(cosine, 0.99) && !holds(difference, 0.0001);
}

struct share {
    size_t cells, agree, verdicts, decided, equal;
};

static void tell(const char *name, int column, const char *got, const char *want)
{
    fprintf(stderr, "%s, %s: '%s', the reference has '%s'\n", name, headers[column], got, want);
}

static void compare_row(struct share *share, char **got, char *const *want, const cJSON *limits)
{
    static const char *const keys[CELLS] = {
        [COSINE] = "cosine", [ABS] = "abs", [RELATIVE] = "rel"
    };
    bool decided = is_decided(limits);
    for (int i = BENCH; i < STATUS; i++) {
        bool agrees = keys[i] ? cell_agrees(got[i], want[i], limits, keys[i])
                              : !strcmp(got[i], want[i]);
        share->cells++;
        share->agree += agrees;
        if (!agrees) tell(want[NAME], i, got[i], want[i]);
    }
    share->verdicts++;
    share->decided += decided;
    bool equal = !strcmp(got[STATUS], want[STATUS]) && !strcmp(got[MESSAGE], want[MESSAGE]);
    share->equal += decided && equal;
    if (decided && !equal) tell(want[NAME], MESSAGE, got[MESSAGE], want[MESSAGE]);
}

static const char *const sets[] = { "a", "b" };

START_TEST(cells_of_the_reference)
{
    struct workspace w = workspace_make();
    struct outcome o = check(&w, sets[_i], "tensor", NULL, NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    struct table *got = read_table(only_match(&w, "out/accuracy_checking_details_*.csv"));
    struct table *want;
    char path[512];
    snprintf(path, sizeof path, DATA "%s/details.csv", sets[_i]);
    want = read_table(path);
    cJSON *limits = read_limits(sets[_i]);
    struct share share = { 0 };

    for (int i = 0; i < CELLS; i++) {
        ck_assert_str_eq(headers[i], want->cells[0][i]);
        ck_assert_str_eq(headers[i], got->cells[0][i]);
    }
    for (size_t i = 1; i < want->rows; i++) {
        char **row = find_row(got, want->cells[i][NAME]);
        ck_assert_msg(row != NULL, "no row %s", want->cells[i][NAME]);
        const cJSON *limit = cJSON_GetObjectItemCaseSensitive(limits, want->cells[i][NAME]);
        compare_row(&share, row, want->cells[i], limit);
    }
    printf("mindspore %s: %zu of %zu cells within the limits, %zu of %zu decided verdicts equal "
           "(%zu rows)\n",
           sets[_i], share.agree, share.cells, share.equal, share.decided, share.verdicts);
    ck_assert_uint_eq(share.agree, share.cells);
    ck_assert_uint_eq(share.equal, share.decided);
    ck_assert_uint_gt(share.cells, 500);
    cJSON_Delete(limits);
    free_table(got);
    free_table(want);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Is every row of a call decided? */
static bool call_is_decided(const cJSON *limits, const char *call)
{
    size_t length = strlen(call);
    const cJSON *row;
    cJSON_ArrayForEach(row, limits)
    {
        bool own = !strncmp(row->string, call, length) &&
                   (!strncmp(row->string + length, ".forward.output.", 16) ||
                    !strncmp(row->string + length, ".backward.output.", 17));
        if (own && !is_decided(row)) return false;
    }
    return true;
}

/* The result file: the reference's verdicts and messages, and no call beyond its own. Of a call that
 * was skipped the words are ours. */
START_TEST(results_of_the_reference)
{
    struct workspace w = workspace_make();
    struct outcome o = check(&w, sets[_i], "tensor", NULL, NULL);
    struct table *got = read_table(only_match(&w, "out/accuracy_checking_result_*.csv"));
    char path[512];
    snprintf(path, sizeof path, DATA "%s/result.csv", sets[_i]);
    struct table *want = read_table(path);
    cJSON *limits = read_limits(sets[_i]);
    size_t compared = 0;
    ck_assert_uint_eq(got->rows, want->rows);
    for (size_t i = 0; i < want->rows; i++) {
        const char *name = want->cells[i][0];
        ck_assert_str_eq(got->cells[i][0], name);
        if (!call_is_decided(limits, name)) continue;
        int cells = !strcmp(want->cells[i][1], "SKIP") ? 3 : 4;
        for (int k = 1; k < cells; k++)
            ck_assert_msg(!strcmp(got->cells[i][k], want->cells[i][k]), "%s: '%s', not '%s'", name,
                          got->cells[i][k], want->cells[i][k]);
        compared++;
    }
    ck_assert_uint_gt(compared, 40);
    cJSON_Delete(limits);
    free_table(got);
    free_table(want);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Without data the cpu backend is tested; only the entries that no one can run are skipped. */
START_TEST(statistics_run_on_the_cpu)
{
    struct workspace w = workspace_make();
    struct outcome o = check(&w, sets[_i], "statistics", NULL, NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    ck_assert_msg(run_file_says(&w, "\"mindspore_doc\"") && strstr(o.out, "backend cpu"), "%s",
                  o.out);
    struct table *got = read_table(only_match(&w, "out/accuracy_checking_result_*.csv"));
    for (size_t i = 1; i < got->rows; i++) {
        bool odd = !strcmp(got->cells[i][0], "Mint.nn.functional.relu.0") ||
                   !strcmp(got->cells[i][0], "Mint.add.900");
        ck_assert_msg(odd == !strcmp(got->cells[i][1], "SKIP"), "%s: %s %s", got->cells[i][0],
                      got->cells[i][1], got->cells[i][3]);
    }
    free_table(got);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* strict: our columns and MindSpore's dtypes, and the calls that the pre-check passes over. */
START_TEST(strict_checks_every_call)
{
    struct workspace w = workspace_make();
    struct outcome o = check(&w, "a", "tensor", "--profile", "strict");
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    char *details = read_file(only_match(&w, "out/accuracy_checking_details_*.csv"), NULL);
    ck_assert_ptr_nonnull(strstr(details, "DEVICE Dtype"));
    ck_assert_ptr_nonnull(
        strstr(details, "\r\nFunctional.relu.0.forward.output.0,Float64,Float32,"));
    ck_assert_ptr_nonnull(
        strstr(details, "\r\nTensor.__add__.0.forward.output.0,Float64,Float32,"));
    free(details);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Communication has a row that says why it is not checked, in strict alone. */
START_TEST(communication_is_skipped)
{
    static const char dump[] =
        "{\"framework\":\"mindspore\",\"task\":\"statistics\",\"dump_data_dir\":null,\"data\":{"
        "\"Distributed.all_reduce.0.forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]}"
        ","
        "\"MintDistributed.send.0.forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]},"
        "\"Mint.exp.0.forward\":{\"input_args\":[{\"type\":\"mindspore.Tensor\",\"dtype\":"
        "\"Float32\",\"shape\":[3],\"Max\":1.0,\"Min\":-1.0,\"Mean\":0,\"Norm\":1}],"
        "\"input_kwargs\":{},\"output\":[]}}}";
    static const char *const calls[] = { "Distributed.all_reduce.0", "MintDistributed.send.0" };
    for (int strict = 0; strict < 2; strict++) {
        struct workspace w = workspace_make();
        write_text(in(&w, "dump.json"), dump);
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "--profile",
                                       strict ? "strict" : "doc", NULL);
        ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
        char *details = read_file(only_match(&w, "out/accuracy_checking_details_*.csv"), NULL);
        for (size_t i = 0; i < 2; i++) {
            const char *row = strstr(details, calls[i]);
            ck_assert_msg(!row == !strict, "%s", details);
            ck_assert_msg(!row ||
                              (strstr(row, "SKIP") && strstr(row, "communicates between ranks")),
                          "%s", details);
        }
        free(details);
        outcome_free(&o);
        workspace_remove(&w);
    }
}
END_TEST

/* The threshold of the documents is 0.0001, that of the later versions 0.001. */
START_TEST(profiles_have_their_threshold)
{
    static const char dump[] =
        "{\"task\":\"statistics\",\"framework\":\"mindspore\",\"dump_data_dir\":null,\"data\":{"
        "\"Mint.sinc.0.forward\":{\"input_args\":[{\"type\":\"mindspore.Tensor\",\"dtype\":"
        "\"Float16\",\"shape\":[4096],\"Max\":3.0,\"Min\":-3.0,\"Mean\":0,\"Norm\":1}],"
        "\"input_kwargs\":{},\"output\":[]}}}";
    static const char *const profiles[] = { "doc", "v2", "v3" };
    for (size_t i = 0; i < 3; i++) {
        struct workspace w = workspace_make();
        write_text(in(&w, "dump.json"), dump);
        struct outcome o =
            run_program(&w, "-api_info", "dump.json", "-o", "out", "--profile", profiles[i], NULL);
        char *evidence = read_file(only_match(&w, "out/accuracy_checking_evidence_*.jsonl"), NULL);
        ck_assert_ptr_nonnull(strstr(evidence, i ? "\"limit\":0.001" : "\"limit\":0.0001"));
        free(evidence);
        outcome_free(&o);
        workspace_remove(&w);
    }
}
END_TEST

static void assert_same_results(const struct workspace *w, const char *a, const char *b)
{
    static const char *const kinds[] = { "result_*.csv", "details_*.csv", "evidence_*.jsonl" };
    for (size_t i = 0; i < 3; i++) {
        char x[100], y[100];
        snprintf(x, sizeof x, "%s/accuracy_checking_%s", a, kinds[i]);
        snprintf(y, sizeof y, "%s/accuracy_checking_%s", b, kinds[i]);
        assert_same_files(only_match(w, x), only_match(w, y));
    }
}

/* Cut where a process may have died: in the middle of a file, and with all result rows gone. */
START_TEST(threads_and_cuts_change_nothing)
{
    static const char dump[] = DATA "b/tensor/dump.json";
    struct workspace w = workspace_make();
    for (int n = 0; n < 2; n++) {
        struct outcome o = run_program(&w, "-api_info", dump, "-o", n ? "many" : "one", "-n",
                                       n ? "32" : "1", "--trust-files", NULL);
        ck_assert_int_eq(o.status, 0);
        outcome_free(&o);
    }
    assert_same_results(&w, "one", "many");
    static const char *const cut[] = { "result_*.csv", "details_*.csv", "evidence_*.jsonl" };
    for (size_t i = 0; i < 9; i++) {
        char pattern[100], result[512];
        snprintf(pattern, sizeof pattern, "many/accuracy_checking_%s", cut[i % 3]);
        const char *path = only_match(&w, pattern);
        snprintf(result, sizeof result, "%s",
                 only_match(&w, "many/accuracy_checking_result_*.csv"));
        struct stat st;
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_int_eq(truncate(path, st.st_size * (off_t)(i / 3) / 3 + (off_t)i), 0);
        struct outcome o = run_program(&w, "-api_info", dump, "-o", "many", "-csv_path", result,
                                       "--trust-files", NULL);
        ck_assert_msg(o.status == 0, "cut %zu, status %d: %s", i, o.status, o.err);
        outcome_free(&o);
        static const char *const rows[] = { "result_*.csv", "details_*.csv" };
        for (size_t k = 0; k < 2; k++) {
            char x[100], y[100];
            snprintf(x, sizeof x, "one/accuracy_checking_%s", rows[k]);
            snprintf(y, sizeof y, "many/accuracy_checking_%s", rows[k]);
            assert_same_files(only_match(&w, x), only_match(&w, y));
        }
    }
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mindspore");
    TCase *tests = tcase_create("mindspore");
    tcase_set_timeout(tests, 300);
    if (!THREAD_SANITIZED) { /* runs of the same two dumps, whose races would show below */
        tcase_add_loop_test(tests, cells_of_the_reference, 0, 2);
        tcase_add_loop_test(tests, results_of_the_reference, 0, 2);
        tcase_add_loop_test(tests, statistics_run_on_the_cpu, 0, 2);
        tcase_add_test(tests, strict_checks_every_call);
        tcase_add_test(tests, communication_is_skipped);
        tcase_add_test(tests, profiles_have_their_threshold);
    }
    tcase_add_test(tests, threads_and_cuts_change_nothing);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
