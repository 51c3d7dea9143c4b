/* Calls that are compared one by one, from rows in memory, have the rows that msprobe has written for their files. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "compare/details.h"
#include "support/suite.h"
#include "support/workspace.h"

#define INPUTS   PROBE_TEST_DATA "/three_way/inputs/"
#define EXPECTED PROBE_TEST_DATA "/three_way/expected/m1_dev_a__m1_dev_b/"

/* Behind the next row: messages have line ends too, but no carriage returns. */
static const char *next_row(const char *at)
{
    const char *end = strstr(at, "\r\n");
    ck_assert_ptr_nonnull(end);
    return end + 2;
}

/* The rows of a call are those that begin with its name and a dot. Returns the text behind them. */
static const char *call_end(const char *at, char *name, size_t bytes)
{
    const char *direction = strstr(at, ".forward."), *backward = strstr(at, ".backward.");
    if (!direction || (backward && backward < direction)) direction = backward;
    ck_assert_ptr_nonnull(direction);
    size_t length = (size_t)(direction - at) + 1;
    ck_assert_uint_lt(length, bytes);
    memcpy(name, at, length);
    name[length] = '\0';
    while (!strncmp(at, name, length)) at = next_row(at);
    return at;
}

/* Header and rows of a call, to be freed. */
static char *rows_of_call(const char *file, const char *name)
{
    size_t header = (size_t)(next_row(file) - file);
    const char *begin = file + header, *end;
    char *rows = calloc(1, strlen(file) + 1);

    memcpy(rows, file, header);
    while (*begin && strncmp(begin, name, strlen(name)) != 0) begin = next_row(begin);
    for (end = begin; !strncmp(end, name, strlen(name)) && *end; end = next_row(end)) continue;
    memcpy(rows + header, begin, (size_t)(end - begin));
    return rows;
}

static void add_call(struct csv_buffer *details, struct csv_buffer *results, const char *npu,
                     const char *gpu, const char *name, const struct compare_request *request)
{
    char *npu_rows = rows_of_call(npu, name), *gpu_rows = rows_of_call(gpu, name);
    struct compare_request of_call = *request;
    of_call.npu_text = (struct csv_text){ npu_rows, strlen(npu_rows) };
    of_call.gpu_text = (struct csv_text){ gpu_rows, strlen(gpu_rows) };
    struct status status = compare_call(details, results, &of_call);
    ck_assert_msg(!status.code, "%s", status.text);
    free(npu_rows);
    free(gpu_rows);
}

static void check_same(const char *path, const struct csv_buffer *text)
{
    size_t bytes;
    char *file = read_file(path, &bytes);
    ck_assert_uint_eq(bytes, text->length);
    ck_assert_mem_eq(file, text->data, bytes);
    free(file);
}

START_TEST(calls_have_the_rows_of_their_files)
{
    char *npu = read_file(INPUTS "m1_dev_a.csv", NULL),
         *gpu = read_file(INPUTS "m1_dev_b.csv", NULL);
    char name[256];
    struct compare_request request = { .npu_path = "npu", .gpu_path = "gpu", .precision = 14 };
    struct csv_buffer details = { 0 }, results = { 0 };
    struct three_way_rules *rules;
    size_t calls = 0;

    ck_assert_int_eq(three_way_rules_load(&rules, "v2", NULL, NULL).code, 0);
    request.rules = rules;
    ck_assert_int_eq(compare_headers(&details, &results, HEADERS_MSPROBE).code, 0);
    for (const char *at = next_row(npu); *at; calls++) {
        at = call_end(at, name, sizeof name);
        add_call(&details, &results, npu, gpu, name, &request);
    }
    ck_assert_uint_gt(calls, 5);
    check_same(EXPECTED "details.csv", &details);
    check_same(EXPECTED "result.csv", &results);
    csv_buffer_release(&details);
    csv_buffer_release(&results);
    three_way_rules_release(rules);
    free(npu);
    free(gpu);
}
END_TEST

/* An output that the second device lacks has its row, with the reason. */
START_TEST(an_output_without_a_partner_is_told)
{
    static const char header[] =
        "API Name,Bench Dtype,DEVICE Dtype,Shape,余弦相似度,最大绝对误差,"
        "双百指标,双千指标,双万指标,二进制一致错误率,误差均衡性,均方根误差,"
        "小值域错误占比,相对误差最大值,相对误差平均值,inf/nan错误率,"
        "相对误差错误率,绝对误差错误率,ULP误差最大值,ULP误差平均值,"
        "ULP误差大于阈值占比,Status,Message\r\n";
    struct csv_buffer details = { 0 }, results = { 0 };
    struct compare_request request = { .npu_path = "npu", .gpu_path = "gpu", .precision = 14 };
    struct three_way_rules *rules;
    char npu[2048];

    (void)snprintf(npu, sizeof npu,
                   "%sTorch.abs.0.forward.output.0,torch.float32,torch.float32,\"(2,)\""
                   ",1, , , , , , , , , , , , , , , , ,pass,\r\n",
                   header);
    request.npu_text = (struct csv_text){ npu, strlen(npu) };
    request.gpu_text = (struct csv_text){ header, sizeof header - 1 };
    ck_assert_int_eq(three_way_rules_load(&rules, three_way_profiles()[0], NULL, NULL).code, 0);
    request.rules = rules;
    ck_assert_int_eq(compare_call(&details, &results, &request).code, 0);
    ck_assert_ptr_nonnull(memmem(results.data, results.length, "Torch.abs.0,SKIP", 16));
    ck_assert_ptr_nonnull(memmem(results.data, results.length, "no row of this name", 19));
    csv_buffer_release(&details);
    csv_buffer_release(&results);
    three_way_rules_release(rules);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare call");
    TCase *cases = tcase_create("all");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, calls_have_the_rows_of_their_files);
    tcase_add_test(cases, an_output_without_a_partner_is_told);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
