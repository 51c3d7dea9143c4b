/* Dumps of MindSpore, from the file to the rows: every cell that the reference tool has for
 * tests/data/mindspore, within the interval in which any correctly computed bench puts it; which entries
 * have rows; and the same bytes for any number of threads and after a cut.
 */
#include <cjson/cJSON.h>
#include <math.h>

#include "core/file.h"
#include "formats/csv.h"
#include "formats/npy.h"
#include "support/suite.h"
#include "support/workspace.h"

#define DATA PROBE_TEST_DATA "/mindspore/"

enum { CELLS = 9, ROWS_MAX = 1200 };
enum { NAME, BENCH, TESTED, SHAPE, COSINE, ABS, RELATIVE, STATUS, MESSAGE };
static const char *const headers[CELLS] = { "API Name",       "Bench Dtype", "Tested Dtype",
                                            "Shape",          "Cosine",      "MaxAbsErr",
                                            "MaxRelativeErr", "Status",      "Message" };

struct table {
    char *cells[ROWS_MAX][CELLS];
    size_t rows, columns;
};

static struct table *read_table(const char *path)
{
    struct table *table = calloc(1, sizeof *table);
    struct file file;
    struct csv_reader reader;
    struct csv_row row;
    bool more;
    ck_assert_int_eq(file_open_read(&file, path, FILES_TRUSTED).code, 0);
    ck_assert_int_eq(csv_open_file(&reader, &file, NULL).code, 0);
    while (!csv_next(&reader, &row, &more).code && more) {
        ck_assert_uint_lt(table->rows, ROWS_MAX);
        ck_assert_uint_le(row.count, CELLS);
        table->columns = row.count;
        for (size_t i = 0; i < row.count; i++)
            table->cells[table->rows][i] = strndup(row.cells[i].bytes, row.cells[i].length);
        table->rows++;
    }
    csv_close(&reader);
    ck_assert_int_eq(file_close(&file).code, 0);
    return table;
}

static void free_table(struct table *table)
{
    for (size_t i = 0; i < table->rows; i++)
        for (size_t k = 0; k < CELLS; k++) free(table->cells[i][k]);
    free(table);
}

static char **find_row(struct table *table, const char *name)
{
    for (size_t i = 1; i < table->rows; i++)
        if (!strcmp(table->cells[i][NAME], name)) return table->cells[i];
    return NULL;
}

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

static bool run_file_says(const struct workspace *w, const char *text)
{
    if (!count_matches(w, "out/accuracy_checking_run_*.json")) return false;
    char *record = read_file(only_match(w, "out/accuracy_checking_run_*.json"), NULL);
    bool says = strstr(record, text) != NULL;
    free(record);
    return says;
}

static struct outcome check(const struct workspace *w, const char *set, const char *kind,
                            const char *option, const char *value)
{
    char dump[512];
    snprintf(dump, sizeof dump, DATA "%s/%s/dump.json", set, kind);
    return run_program(w, "-f", "mindspore", "run_ut", "-api_info", dump, "-o", "out",
                       "--trust-files", option, value, NULL);
}

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

#define MS(dtype, shape)                                                      \
    "{\"type\":\"mindspore.Tensor\",\"dtype\":\"" dtype "\",\"shape\":" shape \
    ",\"Max\":1.0,\"Min\":-1.0,\"Mean\":0,\"Norm\":1}"

/* Entries made to harm, each beside a good call: a SKIP row with the reason, and the good one passes. */
static const struct {
    const char *name, *args, *kwargs, *says;
} hostile[] = {
    { "Mint.add.0", MS("UInt64", "[3]") "," MS("UInt64", "[3]"), "", "the dtype UInt64 is not" },
    { "Mint.add.0", MS("Complex512", "[3]") ",1", "", "the dtype Complex512 is not" },
    { "Mint.exp.0", MS("Float32", "[-1]"), "", "a negative extent" },
    { "Mint.exp.0", MS("Float32", "[4294967296,4294967296]"), "", "too many elements" },
    { "Mint.exp.0", MS("Float32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"), "", "16 dimensions" },
    { "Mint.exp.0", MS("Float32", "[1048576,1048576]"), "", "of memory, which is more" },
    { "Mint.exp.0", "{\"type\":\"mindspore.Tensor\",\"dtype\":\"Float32\"}", "",
      "without a shape" },
    { "Mint.exp.0", "", "", "argument 'input' is missing" },
    { "Mint.exp.0", MS("Float32", "[3]"), "\"no_such\":1", "no_such" },
    { "Mint.exp.0", "{\"type\":\"mindspore.Tensor\"}", "", "without" },
    { "Mint.nothing_of_this_name.0", MS("Float32", "[3]"), "", "no bench function" },
    { "MintFunctional.softmax.0", MS("Float32", "[3]") ",99", "", "out of range" },
    { "Functional.unsorted_segment_sum.0", MS("Float32", "[3]") "," MS("Int32", "[3]") ",-5", "",
      "num_segments must be positive" },
    { "Functional.gather_nd.0", MS("Float32", "[3]") "," MS("Int32", "[3,9]"), "", "indices" },
    { "Functional.one_hot.0", MS("Int32", "[3]") ",-1", "", "depth" },
    { "Functional.one_hot.0", MS("Int32", "[3]") ",1152921504606846976", "", "" },
    { "Functional.slice.0", MS("Float32", "[3,3]") ",[9,9],[9,9]", "", "the slice leaves" },
    { "Functional.scatter_nd.0", MS("Int32", "[3,1]") "," MS("Float32", "[3]") ",[-7]", "", "" },
    { "Functional.sequence_mask.0", MS("Int32", "[3]") ",-4", "", "" },
    { "Functional.conv2d.0", MS("Float32", "[1,1,4,4]") "," MS("Float32", "[1,1,9]"), "", "" },
    { "Functional.bias_add.0", MS("Float32", "[3]") "," MS("Float32", "[3]"), "",
      "the bias must be" },
    { "Functional.addn.0", "[]", "", "a list of tensors" },
};

START_TEST(hostile_entries_are_skipped)
{
    char text[4096];
    struct workspace w = workspace_make();
    snprintf(
        text, sizeof text,
        "{\"framework\":\"mindspore\",\"task\":\"statistics\",\"dump_data_dir\":null,\"data\":{"
        "\"%s.forward\":{\"input_args\":[%s],\"input_kwargs\":{%s},\"output\":[]},"
        "\"Mint.cos.7.forward\":{\"input_args\":[%s],\"input_kwargs\":{},\"output\":[]}}}",
        hostile[_i].name, hostile[_i].args, hostile[_i].kwargs, MS("Float32", "[4]"));
    write_text(in(&w, "dump.json"), text);
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "--profile", "strict",
                                   "--memory", "256M", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    char *result = read_file(only_match(&w, "out/accuracy_checking_result_*.csv"), NULL);
    char row[200];
    snprintf(row, sizeof row, "%s,SKIP,SKIP,", hostile[_i].name);
    const char *at = strstr(result, row);
    ck_assert_msg(at && strstr(at, hostile[_i].says), "%s", result);
    ck_assert_msg(strstr(result, "Mint.cos.7,pass"), "%s", result);
    free(result);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* A failing call's tensors, under the names that the dump gives them; the wrong output is what was
 * recorded. */
START_TEST(failing_tensors_are_saved_as_dumped)
{
    struct workspace w = workspace_make();
    char dump[512];
    snprintf(dump, sizeof dump, DATA "b/tensor/dump.json");
    struct outcome o = run_program(&w, "-api_info", dump, "-o", "out", "-save_error_data", "--only",
                                   "Mint.where.0", "--trust-files", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    static const char *const names[] = { "forward.input.0",  "forward.input.1",
                                         "forward.input.2",  "forward.output.0",
                                         "backward.input.0", "backward.output.0",
                                         "backward.output.1" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char saved[512], recorded[512];
        snprintf(saved, sizeof saved, "out/error_data/Mint.where.0.%s.npy", names[i]);
        snprintf(recorded, sizeof recorded, DATA "b/tensor/dump_tensor_data/Mint.where.0.%s.npy",
                 names[i]);
        ck_assert_msg(access(in(&w, saved), R_OK) == 0, "%s", saved);
        struct stat a, b;
        ck_assert_int_eq(stat(in(&w, saved), &a), 0);
        ck_assert_int_eq(stat(recorded, &b), 0);
        ck_assert_int_eq((int)a.st_size, (int)b.st_size);
    }
    ck_assert_uint_eq(count_matches(&w, "out/error_data/*"), 10); /* and three references */
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* The lists of a configuration take MindSpore's names. */
START_TEST(lists_take_the_names_of_mindspore)
{
    struct workspace w = workspace_make();
    char dump[512];
    snprintf(dump, sizeof dump, DATA "a/tensor/dump.json");
    write_text(in(&w, "config.json"), "{\"run_ut\": {\"white_list\": [\"rsqrt\", \"chunk\"]}}");
    struct outcome o = run_program(&w, "-api_info", dump, "-o", "out", "-config", "config.json",
                                   "--trust-files", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    struct table *got = read_table(only_match(&w, "out/accuracy_checking_result_*.csv"));
    for (size_t i = 1; i < got->rows; i++) {
        bool listed = strstr(got->cells[i][0], ".rsqrt.") || strstr(got->cells[i][0], ".chunk.");
        ck_assert_msg(listed != !strcmp(got->cells[i][1], "SKIP"), "%s", got->cells[i][0]);
    }
    free_table(got);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

#define TENSOR(type, dtype)                                                                     \
    "{\"type\":\"" type "\",\"dtype\":\"" dtype "\",\"shape\":[2000],\"Max\":1.0,\"Min\":-1.0," \
    "\"Mean\":0,\"Norm\":1}"
#define FORWARD(name, tensor) \
    "\"" name ".forward\":{\"input_args\":[" tensor "],\"input_kwargs\":{},\"output\":[]}"

/* A MindSpore run against a PyTorch run: rows meet under the names of the mapped APIs. */
START_TEST(three_way_with_a_run_of_pytorch)
{
    static const char mindspore[] =
        "{\"framework\":\"mindspore\",\"task\":\"statistics\",\"dump_data_dir\":null,\"data\":"
        "{" FORWARD("Mint.exp.0", TENSOR("mindspore.Tensor", "Float32")) "," FORWARD(
            "MintFunctional.gelu.0",
            TENSOR(
                "mindspore.Tensor",
                "BFloat16")) "," FORWARD("Functional.sin.1",
                                         TENSOR(
                                             "mindspore.Tensor",
                                             "Float16")) "," FORWARD("Tensor.cos.0",
                                                                     TENSOR(
                                                                         "mindspore.Tensor",
                                                                         "Float32")) "," FORWARD("M"
                                                                                                 "i"
                                                                                                 "n"
                                                                                                 "t"
                                                                                                 "."
                                                                                                 "s"
                                                                                                 "i"
                                                                                                 "n"
                                                                                                 "h"
                                                                                                 "."
                                                                                                 "0",
                                                                                                 TENSOR(
                                                                                                     "mindspore.Tensor",
                                                                                                     "Float32")) "}}";
    static const char pytorch[] =
        "{\"framework\":\"pytorch\",\"task\":\"statistics\",\"dump_data_dir\":null,\"data\":"
        "{" FORWARD("Torch.exp.0", TENSOR("torch.Tensor", "torch.float32")) "," FORWARD(
            "Functional.gelu.0",
            TENSOR(
                "torch.Tensor",
                "torch.bfloat16")) "," FORWARD("Torch.sin.1",
                                               TENSOR(
                                                   "torch.Tensor",
                                                   "torch.float16")) "," FORWARD("Tensor.cos."
                                                                                 "0",
                                                                                 TENSOR(
                                                                                     "torch."
                                                                                     "Tensor",
                                                                                     "torch."
                                                                                     "float3"
                                                                                     "2")) "," FORWARD("Torch.sinh.1",
                                                                                                       TENSOR(
                                                                                                           "torch.Tensor",
                                                                                                           "torch.float32")) "}}";
    static const struct {
        const char *name;
        bool meets;
    } rows[] = { { "Mint.exp.0", true },
                 { "MintFunctional.gelu.0", true },
                 { "Functional.sin.1", true },
                 { "Tensor.cos.0", true },
                 { "Mint.sinh.0", false } };
    struct workspace w = workspace_make();
    for (int side = 0; side < 2; side++) {
        const char *folder = side ? "gpu" : "npu", *dump = side ? "gpu.json" : "npu.json";
        write_text(in(&w, dump), side ? pytorch : mindspore);
        struct outcome o =
            run_program(&w, "-api_info", dump, "-o", folder, "--profile", "strict", NULL);
        ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
        outcome_free(&o);
    }
    char npu[512], gpu[512];
    snprintf(npu, sizeof npu, "%s", only_match(&w, "npu/accuracy_checking_details_*.csv"));
    snprintf(gpu, sizeof gpu, "%s", only_match(&w, "gpu/accuracy_checking_details_*.csv"));
    struct outcome o =
        run_program(&w, "api_precision_compare", "-npu", npu, "-gpu", gpu, "-o", "out", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    char *result = read_file(only_match(&w, "out/api_precision_compare_result_*.csv"), NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[100];
        snprintf(line, sizeof line, "\n%s,%s", rows[i].name, rows[i].meets ? "pass" : "SKIP");
        ck_assert_msg(strstr(result, line) != NULL, "%s in %s", rows[i].name, result);
    }
    free(result);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

static void write_matrix(const struct workspace *w, const char *name, const double *elements)
{
    struct arena arena = { 0 };
    struct tensor tensor;
    char path[200];
    snprintf(path, sizeof path, "dump_tensor_data/%s.npy", name);
    ck_assert_int_eq(tensor_create(&tensor, &arena, DT_F32, 3, (int64_t[]){ 1, 4, 4 }).code, 0);
    dtype_from_double(tensor.data, DT_F32, elements, 16);
    ck_assert_int_eq(npy_write(in(w, path), &tensor, &arena).code, 0);
    arena_release(&arena);
}

#define MATRIX(file)                                                                               \
    "{\"type\":\"mindspore.Tensor\",\"dtype\":\"Float32\",\"shape\":[1,4,4],\"Max\":1.0,\"Min\":-" \
    "1.0,"                                                                                         \
    "\"Mean\":0,\"Norm\":1,\"data_name\":\"" file ".npy\"}"

/* A kernel that read its second matrix transposed. The arguments are given by name in another order than
 * PyTorch's function has them, and it is the right one that is named. */
START_TEST(mistakes_are_recognised)
{
    static const char dump[] =
        "{\"framework\":\"mindspore\",\"task\":\"tensor\",\"dump_data_dir\":\"dump_tensor_data\","
        "\"data\":{"
        "\"Functional.bmm.0.forward\":{\"input_args\":[],\"input_kwargs\":{\"mat2\":" MATRIX(
            "b") ",\"input_x\":" MATRIX("a") "},\"output\":[" MATRIX("c") "]}}}";
    double a[16], b[16], c[16] = { 0 };
    for (int i = 0; i < 16; i++) {
        a[i] = (i * 5 % 16) / 4.0 - 1.75;
        b[i] = (i * 7 % 16) / 8.0 - 0.5;
    }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            for (int n = 0; n < 4; n++) c[i * 4 + n] += a[i * 4 + k] * b[n * 4 + k];
    struct workspace w = workspace_make();
    ck_assert_int_eq(mkdir(in(&w, "dump_tensor_data"), 0750), 0);
    write_matrix(&w, "a", a);
    write_matrix(&w, "b", b);
    write_matrix(&w, "c", c);
    write_text(in(&w, "dump.json"), dump);
    struct outcome o =
        run_program(&w, "-api_info", "dump.json", "-o", "out", "--profile", "strict", NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    char *evidence = read_file(only_match(&w, "out/accuracy_checking_evidence_*.jsonl"), NULL);
    const char *diagnosis = strstr(evidence, "\"diagnosis\":");
    ck_assert_msg(diagnosis && strstr(diagnosis, "transposed") && strstr(diagnosis, "mat2"), "%s",
                  evidence);
    free(evidence);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

#define ONE_CALL(head, name)                                                                      \
    "{" head "\"task\":\"statistics\",\"dump_data_dir\":null,\"data\":{\"" name                   \
    ".forward\":{\"input_args\":[{\"type\":\"mindspore.Tensor\",\"dtype\":\"Float32\",\"shape\":" \
    "[3],\"Max\":1.0,\"Min\":-1.0,\"Mean\":0,\"Norm\":1}],\"input_kwargs\":{},\"output\":[]}}}"

/* Who says which framework it is, and what they may not say together. */
static const struct {
    const char *dump, *option;
    int status;
    const char *says; /* the program, or the run file */
} choices[] = {
    { ONE_CALL("\"framework\":\"mindspore\",", "Mint.exp.0"), NULL, 0, "\"mindspore_doc\"" },
    { ONE_CALL("\"framework\":\"MindSpore\",", "Mint.exp.0"), "mindspore", 0, "\"mindspore_doc\"" },
    { ONE_CALL("", "Mint.exp.0"), NULL, 0, "\"mindspore_doc\"" },
    { ONE_CALL("", "Tensor.cos.0"), "mindspore", 0, "\"mindspore_doc\"" },
    { ONE_CALL("", "Tensor.cos.0"), NULL, 0, "\"doc\"" },
    { ONE_CALL("\"framework\":\"mindtorch\",", "Torch.exp.0"), NULL, 0, "\"mindspore_doc\"" },
    { ONE_CALL("\"framework\":\"mindtorch\",", "Torch.exp.0"), "mindspore", 0,
      "\"mindspore_doc\"" },
    { ONE_CALL("\"framework\":\"mindspore\",", "Mint.exp.0"), "pytorch", 2,
      "is a dump of mindspore" },
    { ONE_CALL("\"framework\":\"pytorch\",", "Torch.exp.0"), "mindspore", 2,
      "is a dump of pytorch" },
    { ONE_CALL("\"framework\":\"jax\",", "Torch.exp.0"), NULL, 3, "of the framework 'jax'" },
    { ONE_CALL("\"framework\":\"mindspore\",", "Functional.exp.0"), NULL, 3, "has no entry" },
    { ONE_CALL("\"framework\":\"mindspore\",", "Mint"), NULL, 3, "has no entry" },
};

START_TEST(frameworks_are_told)
{
    struct workspace w = workspace_make();
    write_text(in(&w, "dump.json"), choices[_i].dump);
    struct outcome o = choices[_i].option
                           ? run_program(&w, "-f", choices[_i].option, "run_ut", "-api_info",
                                         "dump.json", "-o", "out", NULL)
                           : run_program(&w, "run_ut", "-api_info", "dump.json", "-o", "out", NULL);
    ck_assert_msg(o.status == choices[_i].status &&
                      (strstr(o.err, choices[_i].says) || run_file_says(&w, choices[_i].says)),
                  "status %d: %s%s", o.status, o.out, o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mindspore");
    TCase *tests = tcase_create("mindspore");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, cells_of_the_reference, 0, 2);
    tcase_add_loop_test(tests, results_of_the_reference, 0, 2);
    tcase_add_loop_test(tests, statistics_run_on_the_cpu, 0, 2);
    tcase_add_test(tests, strict_checks_every_call);
    tcase_add_test(tests, communication_is_skipped);
    tcase_add_test(tests, profiles_have_their_threshold);
    tcase_add_test(tests, threads_and_cuts_change_nothing);
    tcase_add_loop_test(tests, hostile_entries_are_skipped, 0, sizeof hostile / sizeof *hostile);
    tcase_add_test(tests, failing_tensors_are_saved_as_dumped);
    tcase_add_test(tests, lists_take_the_names_of_mindspore);
    tcase_add_test(tests, three_way_with_a_run_of_pytorch);
    tcase_add_test(tests, mistakes_are_recognised);
    tcase_add_loop_test(tests, frameworks_are_told, 0, sizeof choices / sizeof *choices);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
