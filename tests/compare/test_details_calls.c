/* Calls of a details file as they come: all of them, those before a fault, and those that nobody took. */
#include <stdio.h>
#include <string.h>

#include "compare/details_calls.h"
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

static void check_call(const struct details_call *call, size_t number)
{
    char name[40];
    ck_assert_uint_eq(call->n_rows, ROWS_OF_CALL);
    for (size_t row = 0; row < ROWS_OF_CALL; row++) {
        snprintf(name, sizeof name, "Torch.add.%zu.forward.output.%zu", number, row);
        ck_assert(csv_text_equal(details_call_row_text(call, row), name));
        ck_assert_double_eq(call->rows[row].side.metric[METRIC_RMSE], (double)number);
    }
}

/* Every third call is copied, as those are that the other file comes to later. */
static void take_all(struct details_calls *calls, size_t count)
{
    struct details_call *kept = NULL, *copy;
    bool in_step = true;
    for (size_t i = 0; i < count; i++) {
        struct details_call *call;
        const struct details_call *next = details_calls_peek(calls);
        ck_assert(!details_calls_next(&call, &in_step, calls).code);
        ck_assert(in_step);
        ck_assert_ptr_nonnull(call);
        ck_assert_ptr_eq(call, next);
        check_call(call, i);
        if (i % 3) continue;
        ck_assert(!details_call_copy(&copy, call).code);
        copy->next = kept;
        kept = copy;
    }
    for (size_t i = (count - 1) / 3 * 3; kept; i -= 3) {
        check_call(kept, i);
        copy = kept;
        kept = kept->next;
        details_call_free(copy);
    }
}

START_TEST(all_calls_in_order)
{
    struct details_calls *calls;
    struct details_call *call;
    uint64_t rows;
    bool in_step = true, torn;
    make_file(CALLS, "");
    ck_assert(!details_calls_open(&calls, &request, SIDE_GPU).code);
    take_all(calls, CALLS);
    for (int again = 0; again < 2; again++) {
        ck_assert(!details_calls_next(&call, &in_step, calls).code);
        ck_assert(in_step);
        ck_assert_ptr_null(call);
    }
    details_calls_count(&rows, &torn, calls);
    ck_assert_uint_eq(rows, CALLS * ROWS_OF_CALL);
    ck_assert(!torn);
    details_calls_close(calls);
}
END_TEST

/* The call before a name that is none is given up with it: its rows may go on behind. */
START_TEST(a_name_that_is_none_ends_the_step)
{
    struct details_calls *calls;
    struct details_call *call;
    bool in_step = true;
    make_file(100, "nobody\n");
    ck_assert(!details_calls_open(&calls, &request, SIDE_GPU).code);
    take_all(calls, 99);
    ck_assert(!details_calls_next(&call, &in_step, calls).code);
    ck_assert_ptr_null(call);
    ck_assert(!in_step);
    details_calls_close(calls);
}
END_TEST

START_TEST(a_fault_comes_behind_the_calls_before_it)
{
    struct details_calls *calls;
    struct details_call *call;
    bool in_step = true;
    make_file(CALLS, "Torch.add.9999.forward.output.0,");
    FILE *file = fopen(request.gpu_path, "a");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("\0\n", 1, 2, file), 2);
    fclose(file);
    ck_assert(!details_calls_open(&calls, &request, SIDE_GPU).code);
    struct status status = status_ok();
    while (!status.code) {
        status = details_calls_next(&call, &in_step, calls);
        ck_assert(status.code || call);
    }
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "NUL"));
    details_calls_close(calls);
}
END_TEST

/* Repeated rows are marked in the first one, or are rows of their own; rows before what is none are then a call, too. */
START_TEST(repeated_rows)
{
    static const char rest[] =
        "Torch.linalg.inv.7.forward.output.0,torch.float64,torch.float32,\"(2, 2)\", , , ,0.5, ,"
        "0.25, ,1, , , , , , , , , ,pass,first\n"
        "Torch.linalg.inv.7.backward.output.12, , , , , , , , , , , , , , , , , , , , ,SKIP,why\n"
        "Torch.linalg.inv.7.forward.output.0,torch.float64,torch.float32,\"(2, 2)\", , , , , , ,"
        ",2, , , , , , , , , ,pass,second\n"
        "nobody\n";
    struct details_calls *calls;
    struct details_call *call;
    bool in_step = true;
    make_file(0, rest);
    ck_assert(!details_calls_open(&calls, &request, SIDE_GPU).code);
    ck_assert(!details_calls_next(&call, &in_step, calls).code);
    ck_assert(!call && !in_step);
    details_calls_close(calls);

    in_step = true;
    request.npu_path = request.gpu_path;
    ck_assert(!details_calls_open(&calls, &request, SIDE_NPU).code);
    ck_assert(!details_calls_next(&call, &in_step, calls).code);
    ck_assert_uint_eq(call->n_rows, 3);
    ck_assert(csv_text_equal(details_call_name(call), "Torch.linalg.inv.7"));
    ck_assert_uint_eq(call->number, 7);
    ck_assert_uint_eq(call->group_length, strlen("Torch.linalg.inv"));
    struct compared_row first = details_call_row(call, 0), third = details_call_row(call, 2);
    struct row_name second = details_call_row_name(call, 1);
    ck_assert(csv_text_equal(first.texts[ROW_SHAPE], "(2, 2)"));
    ck_assert(csv_text_equal(first.texts[ROW_MESSAGE], "first"));
    ck_assert(csv_text_equal(first.texts[ROW_BINARY], "0.25"));
    ck_assert(csv_text_equal(first.texts[ROW_THOUSANDTH], "0.5"));
    ck_assert_int_eq(first.dtype, THREE_WAY_F32);
    ck_assert_double_eq(third.side->metric[METRIC_RMSE], 2);
    ck_assert(csv_text_equal(second.api, "linalg.inv") && csv_text_equal(second.index, "12"));
    ck_assert(csv_text_equal(second.full_name, "Torch.linalg.inv.7") && second.backward);
    ck_assert_int_eq(details_call_row(call, 1).dtype, THREE_WAY_BLANK);
    ck_assert_uint_eq(details_call_find_row(call, first.texts[ROW_NAME]), 0);
    ck_assert_uint_eq(details_call_find_row(call, second.full_name), 3);
    ck_assert(!details_calls_next(&call, &in_step, calls).code);
    ck_assert(!call && !in_step);
    details_calls_close(calls);
}
END_TEST

/* What was read ahead goes with the reader. */
START_TEST(closing_in_the_middle)
{
    struct details_calls *calls;
    make_file(CALLS, "");
    ck_assert(!details_calls_open(&calls, &request, SIDE_GPU).code);
    take_all(calls, 70);
    details_calls_close(calls);
    ck_assert(!details_calls_open(&calls, &request, SIDE_GPU).code);
    details_calls_close(calls);
    details_calls_close(NULL);
}
END_TEST

START_TEST(no_file)
{
    struct details_calls *calls = NULL;
    ck_assert_int_ne(details_calls_open(&calls, &request, SIDE_GPU).code, STATUS_OK);
    details_calls_close(calls);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("details_calls");
    TCase *tests = tcase_create("details_calls");
    tcase_add_checked_fixture(tests, start, finish);
    tcase_add_test(tests, all_calls_in_order);
    tcase_add_test(tests, a_name_that_is_none_ends_the_step);
    tcase_add_test(tests, a_fault_comes_behind_the_calls_before_it);
    tcase_add_test(tests, repeated_rows);
    tcase_add_test(tests, closing_in_the_middle);
    tcase_add_test(tests, no_file);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
