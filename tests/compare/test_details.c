/* Details files compared in step and by the table of their names: two ways to the same bytes.
 *
 * The table makes no use of any order, so it says what the join in step has to come to; the table itself is held
 * against the reference tool's files in cli-three_way_command.
 */
#include <stdio.h>
#include <string.h>

#include "compare/details_join.h"
#include "core/file.h"
#include "core/memory.h"
#include "tests/support/suite.h"
#include "tests/support/workspace.h"

enum { TEXT_BYTES = 1 << 17 };

static const char header[] = "API Name,Bench Dtype,DEVICE Dtype,Shape,余弦相似度,最大绝对误差,"
                             "双百指标,双千指标,双万指标,二进制一致错误率,误差均衡性,"
                             "均方根误差,小值域错误占比,相对误差最大值,相对误差平均值,"
                             "inf/nan错误率,相对误差错误率,绝对误差错误率,ULP误差最大值,"
                             "ULP误差平均值,ULP误差大于阈值占比,Status,Message\n";

static struct workspace folder;
static struct three_way_rules *rules;

static void start(void)
{
    folder = workspace_make();
    ck_assert(!three_way_rules_load(&rules, "doc", NULL, NULL).code);
}

static void finish(void)
{
    three_way_rules_release(rules);
    workspace_remove(&folder);
}

/* A file of rows. `rows`: names with blanks between, API.NUMBER.DIRECTION.OUTPUT for the row
 * Torch.API.NUMBER.DIRECTION.output.OUTPUT, anything else as it is; behind a name may stand
 *
 *   ~  another shape     =  no numbers, SKIP     +  numbers that fail     #  a cell too many
 */
static const char *make_file(const char *name, const char *rows)
{
    static char text[TEXT_BYTES], list[TEXT_BYTES];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", header);
    snprintf(list, sizeof list, "%s", rows);
    for (char *rest, *row = strtok_r(list, " ", &rest); row; row = strtok_r(NULL, " ", &rest)) {
        char api[32], direction[16], full[256];
        unsigned number, output;
        size_t length = strlen(row);
        char mark = strchr("~=+#", row[length - 1]) ? row[length - 1] : ' ';
        if (mark != ' ') row[length - 1] = '\0';
        snprintf(full, sizeof full, "%s", row);
        if (sscanf(row, "%31[a-z].%u.%15[a-z].%u", api, &number, direction, &output) == 4)
            snprintf(full, sizeof full, "Torch.%s.%u.%s.output.%u", api, number, direction, output);
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            mark == '=' ? "%s,torch.float64,torch.float32,\"%s\", , , , , , , , , , , , , , , , , ,"
                          "SKIP,\"no\nreason%s\"%s\n"
                        : "%s,torch.float64,torch.float32,\"%s\",0.99,0.5, ,0.94,0.94, ,0.005,0.07,"
                          "0,0.3,%s0.005,0, , , , , ,pass,\"two\nlines\"%s\n",
            full, mark == '~' ? "(3,)" : "(2, 4)", mark == '+' ? "9" : "", mark == '#' ? ",1" : "");
        ck_assert_uint_lt(used, sizeof text);
    }
    const char *path = in(&folder, name);
    write_file(path, text, used);
    return path;
}

/* What a comparison wrote and told. */
struct comparison_run {
    struct compare_counts counts;
    char *details, *result;
    size_t details_bytes, result_bytes, told;
};

static struct status count_result(void *context, const struct compare_result *result)
{
    ck_assert(result->name && result->message);
    ++*(size_t *)context;
    return status_ok();
}

static void forget(void *context) { *(size_t *)context = 0; }

typedef struct status run_function(struct compare_counts *counts, const struct file *details,
                                   const struct file *result,
                                   const struct compare_request *request);

static struct status run_table(struct compare_counts *counts, const struct file *details,
                               const struct file *result, const struct compare_request *request)
{
    struct comparison_output out = { .request = request, .details = details, .result = result };
    struct framework_names *names;
    ck_assert(!framework_names_load(&names).code);
    ck_assert(!comparison_output_start(&out).code);
    ck_assert(!details_join_by_table(&out, names).code);
    ck_assert(!comparison_output_finish(&out).code);
    *counts = out.counts;
    framework_names_release(names);
    comparison_output_release(&out);
    return status_ok();
}

static void run(struct comparison_run *out, run_function *join, const char *npu, const char *gpu)
{
    const char *paths[] = { in(&folder, "details"), in(&folder, "result") };
    struct compare_request request = { .npu_path = npu,
                                       .gpu_path = gpu,
                                       .file_policy = FILES_TRUSTED,
                                       .rules = rules,
                                       .precision = 14,
                                       .tell_result = count_result,
                                       .start_over = forget,
                                       .context = &out->told };
    struct file files[2];
    out->told = 0;
    for (int i = 0; i < 2; i++) {
        (void)unlink(paths[i]);
        ck_assert(!file_create(&files[i], paths[i]).code);
    }
    struct status status = join(&out->counts, &files[0], &files[1], &request);
    ck_assert_msg(!status.code, "%s", status.text);
    for (int i = 0; i < 2; i++) ck_assert(!file_close(&files[i]).code);
    ck_assert(!file_read_text(&out->details, &out->details_bytes, paths[0], FILES_TRUSTED).code);
    ck_assert(!file_read_text(&out->result, &out->result_bytes, paths[1], FILES_TRUSTED).code);
}

static void release(struct comparison_run *out)
{
    memory_release(out->details);
    memory_release(out->result);
}

/* Are the files in step? */
static bool in_step(const char *npu, const char *gpu)
{
    const struct compare_request request = { .npu_path = npu,
                                             .gpu_path = gpu,
                                             .file_policy = FILES_TRUSTED,
                                             .rules = rules,
                                             .precision = 14 };
    const char *paths[] = { in(&folder, "details_in_step"), in(&folder, "result_in_step") };
    struct file files[2];
    struct framework_names *names;
    bool answer = false;
    for (int i = 0; i < 2; i++) {
        (void)unlink(paths[i]);
        ck_assert(!file_create(&files[i], paths[i]).code);
    }
    struct comparison_output out = { .request = &request,
                                     .details = &files[0],
                                     .result = &files[1] };
    ck_assert(!framework_names_load(&names).code);
    ck_assert(!comparison_output_start(&out).code);
    ck_assert(!details_join_in_step(&answer, &out, names).code);
    framework_names_release(names);
    comparison_output_release(&out);
    for (int i = 0; i < 2; i++) ck_assert(!file_close(&files[i]).code);
    return answer;
}

static void compare_joins(const char *npu, const char *gpu)
{
    struct comparison_run table, any;
    run(&table, run_table, npu, gpu);
    run(&any, compare_run, npu, gpu);
    ck_assert_str_eq(any.details, table.details);
    ck_assert_str_eq(any.result, table.result);
    ck_assert_uint_eq(any.details_bytes, table.details_bytes);
    ck_assert_uint_eq(any.result_bytes, table.result_bytes);
    ck_assert_mem_eq(&any.counts, &table.counts, sizeof any.counts);
    ck_assert_uint_eq(any.told, any.counts.apis);
    release(&table);
    release(&any);
}

static const struct {
    const char *npu, *gpu;
    bool in_step;
} cases[] = {
    { "", "", true },
    { "add.0.forward.0 add.0.backward.0 add.0.backward.1 mul.0.forward.0 add.1.forward.0+",
      "add.0.forward.0 add.0.backward.0 add.0.backward.1 mul.0.forward.0 add.1.forward.0", true },
    /* Rows that one side lacks: inside a call, whole calls, at either end. */
    { "add.0.forward.0 add.1.forward.0 add.1.backward.0 mul.3.forward.0",
      "add.1.backward.0 add.1.backward.1 mul.0.forward.0 mul.3.forward.0 sub.0.forward.0", true },
    { "add.0.forward.0 mul.0.forward.0", "", true },
    { "", "add.0.forward.0 mul.0.forward.0", true },
    { "sub.0.forward.0 add.0.forward.0 mul.7.forward.0", "mul.7.forward.0 mul.9.forward.0", true },
    { "add.0.forward.0= add.0.backward.0 mul.0.forward.0=",
      "add.0.forward.0 add.0.forward.1= mul.0.forward.0= mul.0.forward.1", true },
    /* Repeated rows, other shapes, cells too many. */
    { "add.0.forward.0 add.0.forward.0 add.0.forward.1 add.0.forward.1",
      "add.0.forward.0 add.0.forward.0 mul.0.forward.0 mul.0.forward.0", true },
    { "add.0.forward.0~ add.1.forward.0#", "add.0.forward.0 add.1.forward.0#", true },
    { "topk.0.forward.0+ topk.1.forward.0", "topk.0.forward.0 topk.1.forward.0+", true },
    /* Calls of different APIs may change places; what is ahead waits. */
    { "add.0.forward.0 mul.0.forward.0 sub.0.forward.0",
      "sub.0.forward.0 mul.0.forward.0 add.0.forward.0", true },
    /* Not in step: calls of an API in another order, torn apart, numbers that are none, names that are
     * none, rows that go by another name on the other side. */
    { "add.1.forward.0 add.0.forward.0", "add.0.forward.0 add.1.forward.0", false },
    { "add.0.forward.0 add.1.forward.0 add.0.backward.0",
      "add.0.forward.0 add.0.backward.0 add.1.forward.0", false },
    { "add.0.forward.0 add.1.forward.0", "add.1.forward.0 add.0.forward.0", false },
    { "add.0.forward.0 Torch.add.x.forward.output.0", "add.0.forward.0", false },
    { "add.0.forward.0 Torch.add.007.forward.output.0", "add.0.forward.0", false },
    { "add.0.forward.0 nonsense", "add.0.forward.0", false },
    { "add.0.forward.0", "add.0.forward.0 nonsense", false },
    { "Mint.add.0.forward.output.0 Functional.abs.0.forward.output.0",
      "add.0.forward.0 abs.0.forward.0", false },
};

START_TEST(both_joins_write_the_same)
{
    const char *npu = make_file("npu.csv", cases[_i].npu),
               *gpu = make_file("gpu.csv", cases[_i].gpu);
    ck_assert_int_eq(in_step(npu, gpu), cases[_i].in_step);
    compare_joins(npu, gpu);
}
END_TEST

/* Random files: each side leaves out, repeats and marks rows of the same calls; now and then two calls change
 * places. */
START_TEST(random_files)
{
    static char rows[2][TEXT_BYTES / 8];
    static const char *const apis[] = { "add", "mul", "sub", "div", "topk" };
    static const char marks[] = "~=+#";
    uint32_t state = (uint32_t)_i * 2654435761u + 1;
    for (int side = 0; side < 2; side++) {
        size_t used = 0, numbers[5] = { 0 };
        uint32_t calls = (uint32_t)_i + 1;
        rows[side][0] = '\0';
        for (int call = 0; call < 40; call++) {
            calls = calls * 1664525 + 1013904223; /* the same on both sides */
            size_t api = (calls >> 20) % 5, number = numbers[api]++;
            state = state * 1664525 + 1013904223;
            if (_i % 5 == 0 && state >> 28 == 0) number += 3;
            for (unsigned row = 0; row < 1 + (calls >> 10) % 4; row++) {
                state = state * 1664525 + 1013904223;
                if (state >> 28 == 1) continue;
                for (int times = state >> 28 == 2 ? 2 : 1; times; times--)
                    used += (size_t)snprintf(rows[side] + used, sizeof rows[side] - used,
                                             "%s.%zu.%s.%u%.*s ", apis[api], number,
                                             row % 2 ? "backward" : "forward", row / 2,
                                             state >> 30 == 3, &marks[state >> 16 & 3]);
            }
        }
    }
    const char *npu = make_file("npu.csv", rows[0]), *gpu = make_file("gpu.csv", rows[1]);
    if (_i % 5) ck_assert(in_step(npu, gpu));
    compare_joins(npu, gpu);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("details");
    TCase *tests = tcase_create("details");
    tcase_add_checked_fixture(tests, start, finish);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, both_joins_write_the_same, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tests, random_files, 0, 60);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
