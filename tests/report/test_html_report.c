/* report/html: files found and put together, rows and evidence side by side, and files that are not
 * what they should be. What a page says is read from its own description. */
#include "report/html/html_report.h"

#include <cJSON.h>
#include <dirent.h>

#include "core/file.h"
#include "support/html_page.h"
#include "support/scratch.h"
#include "support/suite.h"

#define HEADER                                                                                                                    \
    "\xef\xbb\xbf"                                                                                                                \
    "API Name,Bench Dtype,DEVICE Dtype,Shape,余弦相似度,最大绝对误差,双百指标,双千指标,双万指标,"          \
    "二进制一致错误率,误差均衡性,均方根误差,小值域错误占比,相对误差最大值,相对误差平均值," \
    "inf/nan错误率,相对误差错误率,绝对误差错误率,ULP误差最大值,ULP误差平均值,"                         \
    "ULP误差大于阈值占比,Status,Message\r\n"
#define CELLS    ",torch.float64,torch.float32,\"(2,)\",1.0,0.5, , , , , , , ,0.25, , , , , , , ,"
#define STAMP    "20260102030405"
#define DETAILS  "accuracy_checking_details_" STAMP ".csv"
#define EVIDENCE "accuracy_checking_evidence_" STAMP ".jsonl"

static const char details[] = HEADER "Torch.a.0.forward.output.0" CELLS "pass,\r\n"
                                     "Torch.a.0.backward.output.0" CELLS "SKIP,no gradient\r\n"
                                     "Torch.b.0.forward.output.0" CELLS "error,\"bad, very\"\r\n"
                                     "Torch.b.1.forward.output.0" CELLS "warning,\r\n";

#define LINE(name, verdict, share)                                                           \
    "{\"name\":\"" name "\",\"verdict\":\"" verdict "\",\"evidence\":{\"standard\":\"ulp\"," \
    "\"limits\":[{\"metric\":\"rmse\",\"value\":" share ",\"limit\":1,\"holds\":false}],"    \
    "\"ulp histogram\":{\"<= 1\":2}}}\n"
static const char evidence[] = LINE("Torch.a.0.forward.output.0", "pass", "2")
    LINE("Torch.a.0.backward.output.0", "SKIP", "3")
        LINE("Torch.b.0.forward.output.0", "error", "4")
            LINE("Torch.b.1.forward.output.0", "warning", "5");

static struct scratch scratch;

static void setup(void) { scratch = scratch_make(); }
static void teardown(void) { scratch_remove(&scratch); }

/* A file in a directory below the scratch one. */
static const char *put(const char *directory, const char *name, const char *text)
{
    char path[200];
    if (*directory) (void)mkdir(scratch_path(&scratch, directory), 0750);
    snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", name);
    return scratch_text(&scratch, path, text);
}

static struct html_report_summary summary;

static struct status try_report(const char *const *paths, size_t count)
{
    struct html_report_request request = { .paths = paths,
                                           .count = count,
                                           .out_path = scratch_path(&scratch, "page.html"),
                                           .policy = FILES_CHECKED };
    return html_report_write(&summary, &request);
}

/* What the page of these paths says of itself; delete it. */
static cJSON *report_on(const char *const *paths, size_t count)
{
    size_t bytes;
    struct status status = try_report(paths, count);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    char *html = scratch_read(scratch_path(&scratch, "page.html"), NULL);
    char *meta = html_block(html, "meta", &bytes);
    cJSON *tree = cJSON_Parse(meta);
    ck_assert_msg(tree != NULL, "%.2000s", meta);
    free(meta);
    free(html);
    return tree;
}

static cJSON *report_on_scratch(void)
{
    const char *paths[] = { scratch.path };
    return report_on(paths, 1);
}

static const cJSON *input(const cJSON *meta, int at)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(meta, "inputs"), at);
}

static const char *label(const cJSON *meta, int at)
{
    return cJSON_GetObjectItem(input(meta, at), "label")->valuestring;
}

/* The text of a member of an input, as JSON; in a static buffer. */
static const char *member(const cJSON *meta, int at, const char *key)
{
    static char text[2000];
    const cJSON *item = cJSON_GetObjectItem(input(meta, at), key);
    ck_assert_msg(item != NULL, "no %s", key);
    ck_assert(cJSON_PrintPreallocated((cJSON *)item, text, sizeof text, 0));
    return text;
}

START_TEST(a_run)
{
    put("", DETAILS, details);
    put("", EVIDENCE, evidence);
    put("", "timings.csv",
        "API name,reference s,device s,comparison s\nTorch.a.0,1,2,3\nTorch.b.1,4,0,0\n");
    put("", "accuracy_checking_run_" STAMP ".json", "{\"dump_digest\":\"7\",\"backend\":\"cpu\"}");
    put("", "other.csv", "x,y\n1,2\n");
    put("", "notes.txt", "not ours");
    cJSON *meta = report_on_scratch();
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(meta, "inputs")), 1);
    ck_assert_str_eq(member(meta, 0, "kind"), "\"run\"");
    ck_assert_str_eq(member(meta, 0, "rows"), "4");
    ck_assert_str_eq(member(meta, 0, "calls"), "3");
    ck_assert_str_eq(member(meta, 0, "row_counts"), "[[0,1,1,1,0],[0,0,0,0,1]]");
    ck_assert_str_eq(member(meta, 0, "call_counts"), "[[0,1,1,1,0],[2,0,0,0,1]]");
    ck_assert_str_eq(member(meta, 0, "worst"), "[2,3]"); /* errors before warnings */
    ck_assert_str_eq(member(meta, 0, "first_failed"), "2");
    ck_assert_str_eq(member(meta, 0, "skipped"), "[[1,\"no gradient\"]]");
    ck_assert_str_eq(member(meta, 0, "run"), "{\"dump_digest\":\"7\",\"backend\":\"cpu\"}");
    ck_assert_str_eq(
        member(meta, 0, "time"),
        "{\"calls\":2,\"seconds\":[5,2,3],\"apis\":[[\"a\",1,[1,2,3]],[\"b\",1,[4,0,0]]],"
        "\"slowest\":[[\"Torch.a.0\",[1,2,3]],[\"Torch.b.1\",[4,0,0]]]}");
    ck_assert_str_eq(member(meta, 0, "notes"), "[]");
    ck_assert_str_eq(member(meta, 0, "apis"),
                     "[{\"name\":\"a\",\"rows\":2,\"counts\":[0,1,0,0,1],\"allowance\":3,\"worst\":"
                     "1,\"histogram\":[0,0,4]},"
                     "{\"name\":\"b\",\"rows\":2,\"counts\":[0,0,1,1,0],\"allowance\":5,\"worst\":"
                     "3,\"histogram\":[0,0,4]}]");
    cJSON_Delete(meta);
}
END_TEST

/* Labels are the last directories that tell inputs apart. */
START_TEST(several_inputs)
{
    put("step0", "x", "");
    put("step0/rank0", DETAILS, details);
    put("step0/rank10", DETAILS, details);
    put("step0/rank2", DETAILS, details);
    cJSON *meta = report_on_scratch();
    ck_assert_str_eq(label(meta, 0), "rank0");
    ck_assert_str_eq(label(meta, 1), "rank2");
    ck_assert_str_eq(label(meta, 2), "rank10");
    ck_assert_uint_eq(summary.rows, 12);
    ck_assert_int_eq(cJSON_GetObjectItem(input(meta, 2), "first")->valueint, 8);
    cJSON_Delete(meta);

    put("step1", "x", "");
    put("step1/rank0", DETAILS, details);
    put("step1/rank0", "accuracy_checking_details_20270102030405.csv", details);
    meta = report_on_scratch();
    ck_assert_str_eq(label(meta, 0), "step0/rank0");
    ck_assert_str_eq(label(meta, 3), "step1/rank0/" STAMP);
    ck_assert_str_eq(label(meta, 4), "step1/rank0/20270102030405");
    cJSON_Delete(meta);
}
END_TEST

/* Rows of calls where there are no details; the same file named twice counts once. */
START_TEST(verdicts_alone)
{
    const char *path = put("", "accuracy_checking_result_" STAMP ".csv",
                           "API name,Forward Test Success,Backward Test Success,Message\n"
                           "Torch.a.0,pass,error,why\nTorch.b.0,SKIP, ,reason\n");
    const char *paths[] = { path, path };
    cJSON *meta = report_on(paths, 2);
    ck_assert_str_eq(member(meta, 0, "kind"), "\"calls\"");
    ck_assert_str_eq(member(meta, 0, "row_counts"), "[[0,0,0,1,1],[0,0,0,0,0]]");
    ck_assert_str_eq(member(meta, 0, "skipped"), "[[1,\"reason\"]]");
    cJSON_Delete(meta);
}
END_TEST

START_TEST(comparisons)
{
    put("three", "api_precision_compare_details_" STAMP ".csv",
        "API Name,均方根误差比值,均方根误差判定结果,比对结果,比对算法,Message\n"
        "Torch.a.0.forward.output.0,7,error,error,标杆比对法,\nTorch.b.0.forward.output.0,1,pass,"
        "pass,标杆比对法,\n");
    put("two", "compare_result_" STAMP ".csv",
        "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor "
        "Shape,Cosine,MaxRelativeErr,"
        "Accuracy Reached or Not,Err_message\n"
        "Module.0.Conv2d.forward.0.input.0,n,f,f,s,s,0.5,12.5%,No,bad\n"
        "Torch.b.0.forward.output.0,n,f,f,s,s,1.0,0.0%,Yes,\n"
        "Torch.c.0.forward.output.0,n,f,f,s,s,unsupported,N/A,Unmatched,none there\n"
        "Module.0.Conv3d.parameters_grad.weight,n,f,f,s,s,1.0,0.0%,Yes,\n");
    cJSON *meta = report_on_scratch();
    ck_assert_str_eq(member(meta, 0, "kind"), "\"three-way\"");
    ck_assert_str_eq(member(meta, 0, "row_counts"), "[[0,1,0,1,0],[0,0,0,0,0]]");
    ck_assert_str_eq(member(meta, 1, "kind"), "\"dumps\"");
    ck_assert_str_eq(member(meta, 1, "row_counts"), "[[0,1,0,1,1],[0,1,0,0,0]]");
    const cJSON *columns = cJSON_GetObjectItem(meta, "columns");
    const cJSON *decided = cJSON_GetObjectItem(cJSON_GetObjectItem(columns, "decided_by"), "texts");
    ck_assert_str_eq(cJSON_GetArrayItem(decided, 1)->valuestring, "rmse_quotient");
    const cJSON *apis = cJSON_GetObjectItem(cJSON_GetObjectItem(columns, "api"), "texts");
    ck_assert_str_eq(cJSON_GetArrayItem(apis, 3)->valuestring, "Conv2d");
    ck_assert_str_eq(cJSON_GetArrayItem(apis, 5)->valuestring, "Conv3d");
    cJSON_Delete(meta);
}
END_TEST

/* Forward and backward calls stand apart in a dump; the output to look at first is one whose inputs agree. */
START_TEST(where_a_difference_arises)
{
    static const char header[] = "NPU Name,Bench Name,Max diff,MaxRelativeErr,Result,Err_message";
    static const struct {
        const char *rows, *origin;
    } cases[] = {
        { "Torch.a.0.forward.input.0,b,0,0.0%,,\nTorch.a.0.forward.output.0,b,9,900.0%,Warning,\n"
          "Torch.a.0.backward.input.0,b,0,0.0%,,\nTorch.a.0.backward.output.0,b,9,900.0%,Warning,"
          "\n",
          "1" },
        { "Torch.a.0.forward.input.0,b,9,900.0%,Warning,\nTorch.a.0.forward.output.0,b,9,9%,"
          "Warning,\n"
          "Torch.a.0.backward.input.0,b,0,0.0%,,\nTorch.a.0.backward.output.0,b,9,900.0%,Warning,"
          "\n",
          "null" },
        { "Torch.a.0.forward.input.0,N/A,N/A,N/A,N/A,\nTorch.a.0.forward.output.0,b,9,9%,Warning,\n"
          "Module.input.N.backward.0.input.0,b,0,0.0%,,\nModule.input.N.backward.0.output.0,b,1,9%,"
          "Warning,\n",
          "3" },
    };
    char text[1200];
    snprintf(text, sizeof text, "%s\n%s", header, cases[_i].rows);
    put("", "compare_result_" STAMP ".csv", text);
    cJSON *meta = report_on_scratch();
    ck_assert_str_eq(member(meta, 0, "origin"), cases[_i].origin);
    const cJSON *calls = cJSON_GetObjectItem(input(meta, 0), "call_counts");
    for (int direction = 0; direction < 2; direction++)
        ck_assert_int_eq(cJSON_GetArrayItem(cJSON_GetArrayItem(calls, direction), 0)->valueint, 0);
    cJSON_Delete(meta);
}
END_TEST

/* Our verdict stands beside msprobe's and decides, also where it is empty: nothing was judged. */
START_TEST(our_verdict_decides)
{
    put("", "compare_result_" STAMP ".csv",
        "NPU Name,Bench Name,Max diff,Result,Err_message,Verdict\n"
        "Torch.a.0.forward.input.0,b,N/A,,,\nTorch.a.0.forward.input.1,b,N/A,,,error\n"
        "Torch.a.0.forward.output.0,b,1,Warning,,pass\n");
    cJSON *meta = report_on_scratch();
    ck_assert_str_eq(member(meta, 0, "row_counts"), "[[0,1,0,1,1],[0,0,0,0,0]]");
    cJSON_Delete(meta);
}
END_TEST

static int is_page(const struct dirent *entry) { return strstr(entry->d_name, ".html") != NULL; }

static bool always(void *context)
{
    (void)context;
    return true;
}

START_TEST(an_interrupt_leaves_nothing)
{
    static char rows[1 << 16];
    size_t at = (size_t)snprintf(rows, sizeof rows, "NPU Name,Bench Name,Max diff,Result\n");
    for (int i = 0; i < 1000; i++)
        at +=
            (size_t)snprintf(rows + at, sizeof rows - at, "Torch.a.%d.forward.output.0,b,0,\n", i);
    put("", "compare_result_" STAMP ".csv", rows);
    const char *paths[] = { scratch.path };
    const struct html_report_request request = { .paths = paths,
                                                 .count = 1,
                                                 .out_path = scratch_path(&scratch, "page.html"),
                                                 .stop = { always, NULL } };
    ck_assert_int_eq(html_report_write(&summary, &request).code, STATUS_INTERRUPTED);
    struct dirent **entries;
    ck_assert_int_eq(scandir(scratch.path, &entries, is_page, NULL), 0);
    free(entries);
}
END_TEST

/* A run that is still going on, or was killed: what is whole is shown. */
START_TEST(torn_files)
{
    char torn[sizeof details];
    memcpy(torn, details, sizeof details);
    torn[strlen(details) - 60] = '\0';
    put("", DETAILS, torn);
    put("", EVIDENCE, evidence);
    cJSON *meta = report_on_scratch();
    ck_assert_str_eq(member(meta, 0, "rows"), "3");
    ck_assert_str_eq(member(meta, 0, "notes"),
                     "[[\"torn rows\",3,\"\"],[\"other evidence\",4,\"\"]]");
    ck_assert_uint_eq(summary.notes, 2);
    cJSON_Delete(meta);

    put("", DETAILS, details);
    char cut[sizeof evidence];
    memcpy(cut, evidence, sizeof evidence);
    cut[strlen(evidence) - 9] = '\0';
    put("", EVIDENCE, cut);
    meta = report_on_scratch();
    ck_assert_str_eq(member(meta, 0, "rows"), "4");
    ck_assert_str_eq(member(meta, 0, "notes"), "[[\"torn evidence\",1,\"\"]]");
    cJSON_Delete(meta);
}
END_TEST

/* Evidence and timings of another run do not spoil the rows, and a note says where they part. */
START_TEST(files_of_another_run)
{
    put("", DETAILS, details);
    put("", EVIDENCE,
        LINE("Torch.a.0.forward.output.0", "pass", "1")
            LINE("Torch.z.0.forward.output.0", "pass", "1"));
    put("", "timings.csv", "API name,reference s,device s,comparison s\nTorch.q.0,1,2,3\n");
    cJSON *meta = report_on_scratch();
    ck_assert_str_eq(member(meta, 0, "rows"), "4");
    ck_assert_str_eq(member(meta, 0, "notes"),
                     "[[\"other evidence\",2,\"\"],[\"other timings\",2,\"\"]]");
    cJSON_Delete(meta);
}
END_TEST

static void refuse(const char *path, const char *expected)
{
    const char *paths[] = { path };
    struct status status = try_report(paths, 1);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, expected) != NULL, "%s", status.text);
    ck_assert(!file_exists(scratch_path(&scratch, "page.html")));
    ck_assert(!file_exists(scratch_path(&scratch, "page.html.part")));
}

START_TEST(what_is_no_result_is_refused)
{
    refuse(scratch_path(&scratch, "none"), "there is no");
    refuse(scratch.path, "nothing to report");
    refuse(put("", "other.csv", "x,y\n1,2\n"), "is no result file");
    refuse(put("", "empty.csv", ""), "is no result file");
    refuse(put("", "nul.csv", "x"), "is no result file");
    refuse(put("", "text.txt", "x"), "is no result file");
    refuse(put("", "some.json", "{\"a\": 1}"), "is no result file");
    refuse(put("", "timings.csv", "API name,reference s,device s,comparison s\n"),
           "belongs to none of the runs");
    refuse(put("lonely", EVIDENCE, evidence), "belongs to none of the runs");
}
END_TEST

/* Rows of any form, one message of 20 MB, a NUL behind good rows: the rest of the page stands. */
START_TEST(rows_of_any_form)
{
    enum { GIANT = 20000000 };
    size_t length = strlen(details);
    char *text = malloc(length + GIANT + 400);
    memcpy(text, details, length);
    char *at = text + length;
    at += sprintf(at, "Torch.c.0.forward.output.0" CELLS "error,");
    memset(at, 'm', GIANT);
    at += GIANT;
    at += sprintf(at, "\r\nonly a name\r\n,,,,,,\r\n\"<script>alert(1)</script>\"" CELLS
                      "Pass,x,y,z\r\n");
    scratch_write(&scratch, DETAILS, text, (size_t)(at - text));
    cJSON *meta = report_on_scratch();
    ck_assert_str_eq(member(meta, 0, "rows"), "8");
    ck_assert_str_eq(member(meta, 0, "notes"), "[[\"no evidence\",0,\"\"],[\"row form\",3,\"\"]]");
    ck_assert_uint_lt(summary.bytes, 1000000);
    cJSON_Delete(meta);
    char *html = scratch_read(scratch_path(&scratch, "page.html"), NULL);
    ck_assert_ptr_eq(strstr(html, "alert(1)"), NULL);
    free(html);

    /* The CSV reader looks at a window at a time: what lies before the one with the NUL stays. */
    at += sprintf(at, "Torch.d.0%cforward", '\0');
    scratch_write(&scratch, DETAILS, text, (size_t)(at - text));
    meta = report_on_scratch();
    ck_assert_str_eq(member(meta, 0, "rows"), "4");
    ck_assert_ptr_nonnull(strstr(member(meta, 0, "notes"), "[\"unreadable\",4,"));
    cJSON_Delete(meta);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("html report");
    TCase *tests = tcase_create("report");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_run);
    tcase_add_test(tests, several_inputs);
    tcase_add_test(tests, verdicts_alone);
    tcase_add_test(tests, comparisons);
    tcase_add_loop_test(tests, where_a_difference_arises, 0, 3);
    tcase_add_test(tests, our_verdict_decides);
    tcase_add_test(tests, an_interrupt_leaves_nothing);
    tcase_add_test(tests, torn_files);
    tcase_add_test(tests, files_of_another_run);
    tcase_add_test(tests, what_is_no_result_is_refused);
    tcase_add_test(tests, rows_of_any_form);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
