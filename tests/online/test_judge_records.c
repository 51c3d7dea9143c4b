/* Which records have rows, and what those say: ranks, lists, refusals, calls in place, a disk that is full. */
#include "online/judge_live.h"
#include "online/judging.h"
#include "support/suite.h"

static struct workspace w;
static struct judging j;

static void make_workspace(void)
{
    w = workspace_make();
    j = (struct judging){ .judge = NULL };
}

static void remove_workspace(void) { workspace_remove(&w); }

/* ---- autocast ------------------------------------------------------------------------------- */

static void *copy_body(const void *body, size_t bytes)
{
    void *copy = memory_allocate(bytes ? bytes : 1);
    memcpy(copy, body, bytes);
    return copy;
}

/* linear of float32 arguments with a result in bfloat16, as a client that does not see autocast records it. Sums cancel, so
 * that the rounding of the arguments is more than that of the result. */
static struct status decode_autocast_linear(struct record *out, struct arena *arena,
                                            const void *body, size_t bytes, const char *place)
{
    enum { ROWS = 4, WIDTH = 64, COLUMNS = 8 };
    const int64_t x_shape[] = { ROWS, WIDTH }, w_shape[] = { COLUMNS, WIDTH },
                  y_shape[] = { ROWS, COLUMNS };
    double x[ROWS * WIDTH], weights[COLUMNS * WIDTH], y[ROWS * COLUMNS] = { 0 };
    unsigned char rounded[2 * COLUMNS * WIDTH];

    (void)body, (void)bytes, (void)place;
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = 1 + 0.001 * i;
    for (int i = 0; i < COLUMNS * WIDTH; i++) weights[i] = (i % 2 ? -1 : 1) * (1 + 0.003 * i);
    struct value args =
        list_value(arena, 2, tensor_value(arena, DT_F32, false, 2, x_shape, x, ROWS * WIDTH),
                   tensor_value(arena, DT_F32, false, 2, w_shape, weights, COLUMNS * WIDTH));
    dtype_from_double(rounded, DT_BF16, x, ROWS * WIDTH);
    dtype_to_double(x, rounded, DT_BF16, ROWS * WIDTH);
    dtype_from_double(rounded, DT_BF16, weights, COLUMNS * WIDTH);
    dtype_to_double(weights, rounded, DT_BF16, COLUMNS * WIDTH);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        for (int k = 0; k < WIDTH; k++)
            y[i] += x[i / COLUMNS * WIDTH + k] * weights[i % COLUMNS * WIDTH + k];
    *out = (struct record){ .call = make_case(arena, "Functional", "linear", args),
                            .inputs_before = true };
    out->call.outputs =
        list_value(arena, 1, tensor_value(arena, DT_BF16, false, 2, y_shape, y, ROWS * COLUMNS));
    return status_ok();
}

START_TEST(products_under_autocast_pass)
{
    j.options.profile = "strict";
    open_judge(&j, w.path, 1, NULL, 0);
    submit(&j, &(struct judge_submission){ .origin = { .address = "10.0.0.7:4711", .rank = 0 },
                                           .decode = decode_autocast_linear,
                                           .body = copy_body("", 0) });
    ck_assert_int_eq(finish(&j), 0);
    ck_assert_uint_eq(j.told.verdicts[VERDICT_PASS], 1);
}
END_TEST

/* ---- ranks, lists, refusals ---------------------------------------------------------------- */

START_TEST(other_ranks_have_no_rows)
{
    const int64_t ranks[] = { 3, 5 };
    open_judge(&j, w.path, 2, ranks, 2);
    size_t count = submit_session(&j, "crc_rank_none", NULL, 0); /* rank None: that of the frame */
    (void)finish(&j);
    ck_assert_uint_eq(j.told.fates[RECORD_FILTERED], count);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank3.csv"), 0);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank5.csv"), 0);
    ck_assert_uint_eq(count_matches(&w, "*_rank0*"), 0);
}
END_TEST

START_TEST(lists_leave_no_rows)
{
    const int64_t rank = 0;
    j.options.config_path = in(&w, "config.json");
    write_text(j.options.config_path,
               "{\"task\": \"run_ut\", \"run_ut\": {\"white_list\": [\"gelu\", \"linear\"], "
               "\"black_list\": [\"linear\"], \"is_online\": true, \"rank_list\": [0]}}");
    open_judge(&j, w.path, 2, &rank, 1);
    size_t count = submit_session(&j, "crc_rank_none", NULL, 0);
    ck_assert_int_eq(finish(&j), 0);
    ck_assert_uint_eq(j.told.fates[RECORD_FILTERED], count - 1);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank0.csv"), 1);
}
END_TEST

START_TEST(bodies_that_are_no_records_stop_nothing)
{
    open_judge(&j, w.path, 2, NULL, 0);
    for (uint64_t i = 0; i < 3; i++)
        submit(&j, &(struct judge_submission){ .origin.sequence = 0,
                                               .decode = record_decode,
                                               .body = copy_body("cos\nsystem\n", 11),
                                               .bytes = 11 });
    (void)submit_session(&j, "crc_rank_none", NULL, 0);
    (void)finish(&j);
    ck_assert_uint_eq(j.told.fates[RECORD_REFUSED], 3);
    ck_assert_uint_gt(j.told.fates[RECORD_JUDGED], 5);
}
END_TEST

/* ---- made records --------------------------------------------------------------------------- */

/* The body of a made record: which call it is, and its tensors. */
struct made {
    const char *name;
    int64_t rank, step; /* rank < 0: None */
    bool inputs_before;
    float input[4], output[4];
    int shape[2];
    bool transposed;
    bool returns_stride;
};

static void make_tensor(struct value *out, struct arena *arena, const struct made *made,
                        const float *elements)
{
    struct tensor *tensor = arena_allocate_zeroed(arena, 1, sizeof *tensor);
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    const int64_t shape[2] = { made->shape[0], made->shape[1] };
    tensor_wrap(tensor, (void *)(uintptr_t)elements, DT_F32, 2, shape);
    if (made->transposed) {
        tensor->stride[0] = 1;
        tensor->stride[1] = shape[0];
    }
    *record = (struct tensor_record){ .dtype = DT_F32, .dtype_name = "torch.float32", .rank = 2 };
    memcpy(record->shape, shape, sizeof shape);
    *out = (struct value){ .kind = VALUE_TENSOR, .tensor = { record, tensor } };
}

static struct value *new_items(struct value *list, struct arena *arena, size_t count)
{
    *list = (struct value){ .kind = VALUE_LIST };
    list->list.items = arena_allocate_zeroed(arena, count, sizeof *list->list.items);
    list->list.count = count;
    return list->list.items;
}

static struct status decode_made(struct record *out, struct arena *arena, const void *body,
                                 size_t bytes, const char *place)
{
    const struct made *made = body;
    (void)bytes, (void)place;
    *out = (struct record){ .has_rank = made->rank >= 0,
                            .rank = made->rank,
                            .step = made->step,
                            .inputs_before = made->inputs_before };
    out->call.kwargs.kind = VALUE_DICT;
    TRY(record_set_name(&out->call, arena, made->name, strlen(made->name)));
    make_tensor(new_items(&out->call.args, arena, 1), arena, made, made->input);
    struct value *outputs = new_items(&out->call.outputs, arena, made->returns_stride ? 2 : 1);
    for (int i = 0; made->returns_stride && i < 2; i++)
        outputs[i] =
            (struct value){ .kind = VALUE_INT,
                            .integer = out->call.args.list.items[0].tensor.tensor->stride[i] };
    if (!made->returns_stride) make_tensor(outputs, arena, made, made->output);
    return status_ok();
}

static void submit_made(const struct made *made, uint64_t sequence)
{
    submit(&j, &(struct judge_submission){ .origin = { .sequence = sequence, .step = made->step },
                                           .decode = decode_made,
                                           .body = copy_body(made, sizeof *made),
                                           .bytes = sizeof *made });
}

static const struct made right = { .name = "Torch.abs.0",
                                   .rank = -1,
                                   .input = { -1, 2, -3, 4 },
                                   .output = { 1, 2, 3, 4 },
                                   .shape = { 2, 2 } };

START_TEST(wrong_results_are_found_and_told)
{
    struct arena arena = { 0 };
    struct judge_totals totals;
    struct judge_cell *cells;
    size_t n_cells;
    struct made made = right;
    open_judge(&j, w.path, 2, NULL, 0);
    submit_made(&made, 0);
    made.step = 2;
    made.output[2] = 7;
    submit_made(&made, 1);
    made.step = 1;
    made.rank = 3; /* of the record, whatever the frame says */
    submit_made(&made, 0);
    made.output[2] = 3;
    submit_made(&made, 1);
    while (!judge_is_idle(j.judge)) usleep(1000);
    ck_assert_int_eq(judge_progress(&totals, &cells, &n_cells, &arena, j.judge).code, 0);
    ck_assert_uint_eq(totals.calls[VERDICT_ERROR], 2);
    ck_assert_uint_eq(totals.calls[VERDICT_PASS], 2);
    ck_assert_uint_eq(n_cells, 3);
    ck_assert(cells[0].rank == 0 && cells[0].step == 0 && cells[0].calls[VERDICT_PASS] == 1);
    ck_assert(cells[1].rank == 0 && cells[1].step == 2 && cells[1].calls[VERDICT_ERROR] == 1);
    ck_assert(cells[2].rank == 3 && cells[2].step == 1 && cells[2].calls[VERDICT_ERROR] == 1);
    ck_assert(totals.first_bad.is_set && totals.first_bad.verdict == VERDICT_ERROR);
    (void)finish(&j);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank0.csv"), 2);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank3.csv"), 2);
    arena_release(&arena);
}
END_TEST

/* Of a client that takes arguments before the call, calls in place are judged. */
START_TEST(calls_in_place_are_judged_where_their_inputs_are_known)
{
    struct made made = right;
    open_judge(&j, w.path, 1, NULL, 0);
    made.name = "Tensor.abs_.0";
    submit_made(&made, 0);
    made.inputs_before = true;
    submit_made(&made, 1);
    (void)finish(&j);
    ck_assert_uint_eq(j.told.verdicts[VERDICT_SKIP], 1);
    ck_assert_uint_eq(j.told.verdicts[VERDICT_PASS], 1);
}
END_TEST

/* A copy of a transposed tensor need not lie as the tensor did: how it lies is not judged. */
START_TEST(memory_layout_is_not_judged)
{
    struct made made = right;
    open_judge(&j, w.path, 1, NULL, 0);
    made.name = "Tensor.stride.0";
    made.returns_stride = made.transposed = true;
    submit_made(&made, 0);
    (void)finish(&j);
    ck_assert_uint_eq(j.told.verdicts[VERDICT_SKIP], 1);
}
END_TEST

/* Whoever sends records says which rank they are of: files are not made for as many as he likes. */
START_TEST(ranks_that_nobody_named_are_limited)
{
    struct made made = right;
    open_judge(&j, w.path, 2, NULL, 0);
    for (int i = 0; i < 140; i++) {
        made.rank = (int64_t)1000 * i;
        submit_made(&made, 0);
    }
    (void)finish(&j);
    ck_assert_uint_eq(j.told.fates[RECORD_JUDGED], 128);
    ck_assert_uint_eq(j.told.fates[RECORD_REFUSED], 12);
    ck_assert_uint_eq(count_matches(&w, "accuracy_checking_result_*"), 128);
}
END_TEST

/* A client that counts steps as it likes does not fill the memory: totals have what cells have not. */
START_TEST(steps_are_limited)
{
    struct judge_live live = { .started_s = 0 };
    struct rank_entry entry = { .verdict = VERDICT_PASS };
    for (int64_t step = 20000; step-- > 0;) {
        entry.step = step;
        ck_assert_int_eq(judge_live_add_earlier(&live, 0, &entry).code, STATUS_OK);
    }
    ck_assert_uint_eq(live.n_cells, LIVE_CELLS_MOST);
    ck_assert_uint_eq(live.totals.calls[VERDICT_PASS], 20000);
    for (size_t i = 1; i < live.n_cells; i++)
        ck_assert_int_lt(live.cells[i - 1].step, live.cells[i].step);
    judge_live_release(&live);
}
END_TEST

/* ---- a full disk ----------------------------------------------------------------------------- */

static _Atomic int writes_left; /* that succeed; below 0: all do */

static int fault_writes(enum file_operation operation, const char *path)
{
    (void)path;
    if (operation != FILE_WRITE || writes_left < 0) return 0;
    if (writes_left > 0) {
        writes_left--;
        return 0;
    }
    return ENOSPC;
}

/* Rows wait while the disk is full, whichever of the writes of a group it is that fails, and nothing is lost, nor
 * written twice; submissions are refused meanwhile. */
START_TEST(a_full_disk_delays_rows)
{
    struct arena arena = { 0 };
    struct judge_totals totals;
    struct judge_cell *cells;
    size_t n_cells;
    struct made made = right;
    bool taken = true;
    writes_left = -1;
    file_fault = fault_writes;
    open_judge(&j, w.path, 2, NULL, 0);
    submit_made(&made, 0);
    while (!judge_is_idle(j.judge)) usleep(1000);
    writes_left = _i;
    submit_made(&made, 1);
    do {
        usleep(1000);
        ck_assert_int_eq(judge_progress(&totals, &cells, &n_cells, &arena, j.judge).code, 0);
    } while (!totals.waiting_for[0]);
    const struct judge_submission more = { .decode = decode_made, .body = &made, .bytes = 1 };
    ck_assert_int_eq(judge_submit(&taken, j.judge, &more).code, STATUS_OK);
    ck_assert(!taken);
    ck_assert_int_eq(judge_failure(j.judge).code, STATUS_OK);
    writes_left = -1;
    while (!judge_is_idle(j.judge)) usleep(1000);
    (void)finish(&j);
    file_fault = NULL;
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank0.csv"), 2);
    char *details = rows_of(&w, "accuracy_checking_details_*_rank0.csv", NULL);
    const char *second = strstr(strstr(details, "Torch.abs.0.") + 1, "Torch.abs.0.");
    ck_assert(second && !strstr(second + 1, "Torch.abs.0."));
    free(details);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_evidence_*_rank0.jsonl"), 1);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_records_*_rank0.jsonl"), 2);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge_records");
    TCase *tests = tcase_create("judge_records");
    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, make_workspace, remove_workspace);
    tcase_add_test(tests, products_under_autocast_pass);
    tcase_add_test(tests, other_ranks_have_no_rows);
    tcase_add_test(tests, lists_leave_no_rows);
    tcase_add_test(tests, bodies_that_are_no_records_stop_nothing);
    tcase_add_test(tests, wrong_results_are_found_and_told);
    tcase_add_test(tests, calls_in_place_are_judged_where_their_inputs_are_known);
    tcase_add_test(tests, memory_layout_is_not_judged);
    tcase_add_test(tests, ranks_that_nobody_named_are_limited);
    tcase_add_test(tests, steps_are_limited);
    tcase_add_loop_test(tests, a_full_disk_delays_rows, 0, 4);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
