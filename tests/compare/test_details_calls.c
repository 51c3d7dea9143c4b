/* Calls of a details file as they come: all of them, those before a fault, and those that nobody took. */
#include <stdio.h>
#include <string.h>

#include "compare/gpu_calls.h"
#include "support/suite.h"
#include "support/workspace.h"

/* More than all batches together hold, so that the reader has to wait. */
enum { CALLS = 3000, ROWS_OF_CALL = 3, ROW_BYTES = 160 };

static const char header[] = "API Name,Bench Dtype,DEVICE Dtype,Shape,余弦相似度,最大绝对误差,"
                             "双百指标,双千指标,双万指标,二进制一致错误率,误差均衡性,"
                             "均方根误差,小值域错误占比,相对误差最大值,相对误差平均值,"
                             "inf/nan错误率,相对误差错误率,绝对误差错误率,ULP误差最大值,"
                             "ULP误差平均值,ULP误差大于阈值占比,Status,Message\n";

static struct workspace folder;
static struct three_way_rules *rules;
static struct compare_request request;

static void start(void)
{
    folder = workspace_make();
    ck_assert(!three_way_rules_load(&rules, "doc", NULL, NULL).code);
    request = (struct compare_request){ .gpu_path = in(&folder, "gpu.csv"),
                                        .file_policy = FILES_TRUSTED,
                                        .rules = rules };
}

static void finish(void)
{
    three_way_rules_release(rules);
    workspace_remove(&folder);
}

/* `calls` calls of three rows each, whose root mean square error is the number of the call, and `rest` behind them. */
static void make_file(size_t calls, const char *rest)
{
    size_t room = sizeof header + calls * ROWS_OF_CALL * ROW_BYTES + strlen(rest) + 1;
    char *text = malloc(room);
    ck_assert_ptr_nonnull(text);
    size_t used = (size_t)snprintf(text, room, "%s", header);
    for (size_t call = 0; call < calls; call++)
        for (size_t row = 0; row < ROWS_OF_CALL; row++)
            used += (size_t)snprintf(text + used, room - used,
                                     "Torch.add.%zu.forward.output.%zu,torch.float64,torch.float32,"
                                     "\"(2, %zu)\", , , , , , , ,"
                                     "%zu, , , , , , , , , ,pass,\n",
                                     call, row, row, call);
    used += (size_t)snprintf(text + used, room - used, "%s", rest);
    write_file(request.gpu_path, text, used);
    free(text);
}

static void check_call(const struct gpu_call *call, size_t number)
{
    char name[40];
    ck_assert_uint_eq(call->n_rows, ROWS_OF_CALL);
    for (size_t row = 0; row < ROWS_OF_CALL; row++) {
        snprintf(name, sizeof name, "Torch.add.%zu.forward.output.%zu", number, row);
        ck_assert(csv_text_equal(kept_text_at(&call->text, call->rows[row].name), name));
        ck_assert_double_eq(call->rows[row].side.metric[METRIC_RMSE], (double)number);
    }
}

/* Every third call is kept, as those are that the other file comes to later. */
static void take_all(struct gpu_calls *calls, size_t count)
{
    struct gpu_call *kept = NULL;
    bool in_step = true;
    for (size_t i = 0; i < count; i++) {
        struct gpu_call *call;
        ck_assert(!gpu_calls_next(&call, &in_step, calls).code);
        ck_assert(in_step);
        ck_assert_ptr_nonnull(call);
        check_call(call, i);
        if (i % 3) {
            gpu_calls_give_back(calls, call);
        } else {
            call->next = kept;
            kept = call;
        }
    }
    if (kept) check_call(kept, (count - 1) / 3 * 3);
    gpu_calls_drop(kept);
}

START_TEST(all_calls_in_order)
{
    struct gpu_calls *calls;
    struct gpu_call *call;
    uint64_t rows;
    bool in_step = true, torn;
    make_file(CALLS, "");
    ck_assert(!gpu_calls_open(&calls, &request).code);
    take_all(calls, CALLS);
    for (int again = 0; again < 2; again++) {
        ck_assert(!gpu_calls_next(&call, &in_step, calls).code);
        ck_assert(in_step);
        ck_assert_ptr_null(call);
    }
    gpu_calls_count(&rows, &torn, calls);
    ck_assert_uint_eq(rows, CALLS * ROWS_OF_CALL);
    ck_assert(!torn);
    gpu_calls_close(calls);
}
END_TEST

/* The call before a name that is none is given up with it: its rows may go on behind. */
START_TEST(a_name_that_is_none_ends_the_step)
{
    struct gpu_calls *calls;
    struct gpu_call *call;
    bool in_step = true;
    make_file(100, "nobody\n");
    ck_assert(!gpu_calls_open(&calls, &request).code);
    take_all(calls, 99);
    ck_assert(!gpu_calls_next(&call, &in_step, calls).code);
    ck_assert_ptr_null(call);
    ck_assert(!in_step);
    gpu_calls_close(calls);
}
END_TEST

START_TEST(a_fault_comes_behind_the_calls_before_it)
{
    struct gpu_calls *calls;
    struct gpu_call *call;
    bool in_step = true;
    make_file(CALLS, "Torch.add.9999.forward.output.0,");
    FILE *file = fopen(request.gpu_path, "a");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("\0\n", 1, 2, file), 2);
    fclose(file);
    ck_assert(!gpu_calls_open(&calls, &request).code);
    struct status status = status_ok();
    while (!status.code) {
        status = gpu_calls_next(&call, &in_step, calls);
        if (call) gpu_calls_give_back(calls, call);
        ck_assert(status.code || call);
    }
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "NUL"));
    gpu_calls_close(calls);
}
END_TEST

/* What was read ahead goes with the reader. */
START_TEST(closing_in_the_middle)
{
    struct gpu_calls *calls;
    make_file(CALLS, "");
    ck_assert(!gpu_calls_open(&calls, &request).code);
    take_all(calls, 70);
    gpu_calls_close(calls);
    ck_assert(!gpu_calls_open(&calls, &request).code);
    gpu_calls_close(calls);
    gpu_calls_close(NULL);
}
END_TEST

START_TEST(no_file)
{
    struct gpu_calls *calls = NULL;
    ck_assert_int_ne(gpu_calls_open(&calls, &request).code, STATUS_OK);
    gpu_calls_close(calls);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpu_calls");
    TCase *tests = tcase_create("gpu_calls");
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_test(tests, all_calls_in_order);
    tcase_add_test(tests, a_name_that_is_none_ends_the_step);
    tcase_add_test(tests, a_fault_comes_behind_the_calls_before_it);
    tcase_add_test(tests, closing_in_the_middle);
    tcase_add_test(tests, no_file);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
