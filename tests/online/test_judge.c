/* Records become rows: those of an offline check of the same tensors, the same bytes for any number of threads, in
 * the files of their rank, once each however often the process dies. */
#include <pthread.h>
#include <zlib.h>

#include "formats/dump_write.h"
#include "online/captures.h"
#include "online/judge.h"
#include "online/judge_live.h"
#include "results/details_file.h"
#include "support/cases.h"
#include "support/suite.h"
#include "support/workspace.h"

/* ---- a judge for a test ------------------------------------------------------------------- */

struct told {
    pthread_mutex_t lock;
    size_t fates[3], verdicts[VERDICT_SKIP + 1], released;
    int64_t last_sequence[8]; /* by rank */
    bool out_of_order;
};

static void take_done(void *context, const struct record_done *done)
{
    struct told *told = context;
    pthread_mutex_lock(&told->lock);
    told->fates[done->fate]++;
    told->verdicts[done->verdict]++;
    if (done->rank < 8 && (int64_t)done->origin.sequence < told->last_sequence[done->rank])
        told->out_of_order = true;
    if (done->rank < 8) told->last_sequence[done->rank] = (int64_t)done->origin.sequence;
    pthread_mutex_unlock(&told->lock);
}

static void take_body(void *context, const struct judge_submission *record)
{
    struct told *told = context;
    memset(record->body, 0xdd, record->bytes); /* whoever still reads it sees nonsense */
    memory_release(record->body);
    pthread_mutex_lock(&told->lock);
    told->released++;
    pthread_mutex_unlock(&told->lock);
}

struct judging {
    struct run_options options;
    const char *second; /* backend, or NULL */
    struct told told;
    struct judge *judge;
};

static void open_judge(struct judging *j, const char *out_path, int64_t threads,
                       const int64_t *ranks, size_t n_ranks)
{
    struct run_options earlier = j->options;
    const char *second = j->second;
    const struct run_options defaults = RUN_OPTIONS_DEFAULTS;
    memset(j, 0, sizeof *j);
    j->options = defaults;
    j->second = second;
    j->options.result_csv_path = earlier.result_csv_path;
    j->options.config_path = earlier.config_path;
    j->options.profile = earlier.profile;
    j->options.report = earlier.report;
    j->options.junit = earlier.junit;
    j->options.out_path = out_path;
    j->options.threads = threads;
    j->options.memory_bytes = (uint64_t)1 << 30;
    j->options.no_diagnose = true;
    pthread_mutex_init(&j->told.lock, NULL);
    const struct judge_config config = {
        .options = &j->options,
        .second_backend = second,
        .ranks = ranks,
        .n_ranks = n_ranks,
        .listener = { .context = &j->told, .release = take_body, .done = take_done }
    };
    struct status status = judge_open(&j->judge, &config);
    ck_assert_msg(!status.code, "%s", status.text);
}

static void submit(struct judging *j, const struct judge_submission *submission)
{
    bool taken = false;
    while (!taken) {
        struct status status = judge_submit(&taken, j->judge, submission);
        ck_assert_msg(!status.code, "%s", status.text);
        if (!taken) usleep(1000);
    }
}

/* Submit the records of a session from number `first` on. */
static size_t submit_session(struct judging *j, const char *session, const char *id, size_t first)
{
    struct capture capture;
    const cJSON *expected;
    size_t number = 0;
    capture_open(&capture, session);
    cJSON_ArrayForEach(expected, cJSON_GetObjectItem(capture.expect, "records"))
    {
        struct captured_record record;
        if (number++ < first) continue;
        capture_record(&record, &capture, expected);
        const cJSON *rank = cJSON_GetObjectItem(expected, "header_rank");
        submit(j, &(struct judge_submission){
                      .origin = { .address = "10.0.0.7:4711",
                                  .sequence = number - 1,
                                  .rank = rank ? rank->valueint : 0,
                                  .session = id },
                      .decode = record_decode,
                      .body = record.body,
                      .bytes = record.bytes,
                  });
    }
    capture_close(&capture);
    return number;
}

static int finish(struct judging *j)
{
    int exit_status = -1;
    struct status status = judge_finish(&exit_status, j->judge);
    ck_assert_msg(!status.code, "%s", status.text);
    judge_close(j->judge);
    ck_assert(!j->told.out_of_order);
    return exit_status;
}

/* ---- rows --------------------------------------------------------------------------------- */

static char *rows_of(const struct workspace *w, const char *pattern, size_t *length)
{
    char *text = read_file(only_match(w, pattern), length);
    ck_assert_ptr_nonnull(text);
    return text;
}

static size_t count_rows(const struct workspace *w, const char *pattern)
{
    char *text = rows_of(w, pattern, NULL);
    size_t rows = count_lines(text) - 1;
    free(text);
    return rows;
}

START_TEST(every_record_has_a_row)
{
    struct workspace w = workspace_make();
    struct judging j = { 0 };
    const int64_t rank = 0;
    open_judge(&j, w.path, 2, &rank, 1);
    size_t count = submit_session(&j, "md5_variety", NULL, 0);
    ck_assert_int_eq(finish(&j), 0);
    ck_assert_uint_eq(j.told.released, count);
    ck_assert_uint_eq(j.told.fates[RECORD_JUDGED], count);
    ck_assert_uint_eq(j.told.verdicts[VERDICT_ERROR], 0);
    /* Two calls in place, Tensor.to. */
    ck_assert_uint_le(j.told.verdicts[VERDICT_SKIP], 6);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank0.csv"), count);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_records_*_rank0.jsonl"), count);
    char *evidence = rows_of(&w, "accuracy_checking_evidence_*_rank0.jsonl", NULL);
    ck_assert_ptr_nonnull(strstr(evidence, "\"step\":0,\"sequence\":3"));
    free(evidence);
    workspace_remove(&w);
}
END_TEST

/* ---- the offline check of the same tensors ------------------------------------------------- */

static struct dump_writer writer;
static cJSON *written; /* names: of a call that several steps have the first one is taken */

static void write_to_dump(const struct captured_record *captured)
{
    struct arena arena = { 0 }, scratch = { 0 };
    struct record record;
    ck_assert_int_eq(record_decode(&record, &arena, captured->body, captured->bytes, "").code, 0);
    const char *name = record.call.full_name;
    if (!record_writes_arguments(&record.call).code &&
        !cJSON_GetObjectItemCaseSensitive(written, name)) {
        ck_assert_ptr_nonnull(cJSON_AddTrueToObject(written, name));
        struct status status = dump_writer_add(&writer, &record.call, &scratch);
        ck_assert_msg(!status.code, "%s", status.text);
    }
    arena_release(&arena);
    arena_release(&scratch);
}

static void dump_session(const struct workspace *w, const char *session)
{
    struct capture capture;
    const cJSON *expected;
    ck_assert_int_eq(mkdir(in(w, "dump"), 0750), 0);
    static char directory[512];
    (void)snprintf(directory, sizeof directory, "%s", in(w, "dump"));
    const struct dump_writer_options options = { .with_tensors = true };
    struct status status = dump_writer_open(&writer, directory, options);
    written = cJSON_CreateObject();
    capture_open(&capture, session);
    cJSON_ArrayForEach(expected, cJSON_GetObjectItem(capture.expect, "records"))
    {
        struct captured_record record;
        const cJSON *rank = cJSON_GetObjectItem(expected, "header_rank");
        if (rank && rank->valueint != 0) continue; /* the judge has rank 0 */
        capture_record(&record, &capture, expected);
        write_to_dump(&record);
        memory_release(record.body);
    }
    capture_close(&capture);
    cJSON_Delete(written);
    status = dump_writer_end(&writer, status);
    ck_assert_msg(!status.code, "%s", status.text);
}

/* Does the text have this whole line? */
static bool has_line(const char *text, const char *line, size_t length)
{
    for (const char *at = text; (at = memmem(at, strlen(at), line, length)); at++)
        if ((at == text || at[-1] == '\n') && at[length] == '\n') return true;
    return false;
}

static const char *const sessions[] = { "md5_variety", "nfs", "crc_rank_none" };
static const char *const profiles[] = { "msprobe", "strict" };

/* Every row of the offline check stands among those of the online one. */
START_TEST(rows_are_those_of_an_offline_check)
{
    struct workspace w = workspace_make();
    const char *named = getenv("PROBE_SESSION"); /* of PROBE_CAPTURES */
    const char *session = named ? named : sessions[_i % 3];
    struct judging j = { .options.profile = _i < 3 ? NULL : profiles[1] };
    const int64_t rank = 0;
    char command[2048];
    size_t compared = 0;

    dump_session(&w, session);
    ck_assert_int_eq(mkdir(in(&w, "online"), 0750), 0);
    ck_assert_int_eq(mkdir(in(&w, "offline"), 0750), 0);
    open_judge(&j, in(&w, "online"), 2, &rank, 1);
    (void)submit_session(&j, session, NULL, 0);
    ck_assert_int_eq(finish(&j), 0);
    (void)snprintf(command, sizeof command,
                   "%s run_ut -api_info %s/dump/dump.json -o %s/offline --backend recorded "
                   "--no-diagnose %s %s >%s/log 2>&1",
                   PROBE_UT, w.path, w.path, _i < 3 ? "" : "--profile", _i < 3 ? "" : profiles[1],
                   w.path);
    ck_assert_msg(system(command) == 0, "%s", command);
    char *online = rows_of(&w, "online/accuracy_checking_details_*.csv", NULL);
    char *offline = rows_of(&w, "offline/accuracy_checking_details_*.csv", NULL);
    for (const char *at = offline; *at;) {
        size_t length = strcspn(at, "\n");
        ck_assert_msg(has_line(online, at, length), "%s: %.*s", session, (int)length, at);
        at += length + (at[length] == '\n');
        compared++;
    }
    ck_assert_uint_gt(compared, 7);
    free(online);
    free(offline);
    workspace_remove(&w);
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------- */

static void hash_files(uint64_t sums[4], const struct workspace *w)
{
    static const char *const kinds[] = { "result_*.csv", "details_*.csv", "evidence_*.jsonl",
                                         "records_*.jsonl" };
    for (int i = 0; i < 4; i++) {
        char pattern[64];
        size_t length;
        (void)snprintf(pattern, sizeof pattern, "accuracy_checking_%s", kinds[i]);
        char *text = rows_of(w, pattern, &length);
        sums[i] = crc32_z(crc32_z(0, NULL, 0), (unsigned char *)text, length) | (uint64_t)length
                                                                                    << 32;
        free(text);
    }
}

START_TEST(files_do_not_depend_on_threads)
{
    uint64_t first[4], sums[4];
    static const int threads[] = { 1, 2, 5, 16 };
    const int64_t rank = 0;
    for (int i = 0; i < 4; i++) {
        struct workspace w = workspace_make();
        struct judging j = { 0 };
        open_judge(&j, w.path, threads[i], &rank, 1);
        (void)submit_session(&j, "md5_variety", "a-session", 0);
        ck_assert_int_eq(finish(&j), 0);
        hash_files(i ? sums : first, &w);
        if (i) ck_assert_mem_eq(first, sums, sizeof sums);
        workspace_remove(&w);
    }
}
END_TEST

/* Closed with records waiting and in work: bodies are given back, what is written stays whole. */
START_TEST(a_judge_may_be_closed_at_any_time)
{
    const int64_t rank = 0;
    struct workspace w = workspace_make();
    struct judging j = { 0 };
    open_judge(&j, w.path, 2, &rank, 1);
    size_t count = 0;
    for (int k = 0; k < 3; k++) count += submit_session(&j, "md5_variety", NULL, 0);
    judge_close(j.judge);
    ck_assert_uint_eq(j.told.released, count);
    size_t rows = count_rows(&w, "accuracy_checking_result_*_rank0.csv");
    ck_assert_uint_eq(rows, count_rows(&w, "accuracy_checking_records_*_rank0.jsonl"));
    workspace_remove(&w);
}
END_TEST

/* ---- going on ------------------------------------------------------------------------------ */

static void cut_file(const char *path, long bytes)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(truncate(path, st.st_size > bytes ? st.st_size - bytes : 0), 0);
}

static void append_rubbish(const char *path)
{
    FILE *file = fopen(path, "a");
    ck_assert_ptr_nonnull(file);
    fputs("Torch.add.0,pa", file);
    fclose(file);
}

/* A run that is broken off, torn in each of its files, and resumed: the bytes of one that was not. */
START_TEST(a_run_that_is_resumed_ends_the_same)
{
    uint64_t whole[4], sums[4];
    static const char *const kinds[] = { "result_*", "details_*", "evidence_*", "records_*" };
    const int64_t rank = 0;
    struct workspace w = workspace_make();
    struct judging j = { 0 };
    open_judge(&j, w.path, 2, &rank, 1);
    size_t count = submit_session(&j, "md5_variety", "s1", 0);
    ck_assert_int_eq(finish(&j), 0);
    hash_files(whole, &w);
    workspace_remove(&w);

    for (int torn = 0; torn < 8; torn++) {
        char pattern[64];
        w = workspace_make();
        j = (struct judging){ 0 };
        open_judge(&j, w.path, 2, &rank, 1);
        (void)submit_session(&j, "md5_variety", "s1", 0);
        ck_assert_int_eq(finish(&j), 0);
        (void)snprintf(pattern, sizeof pattern, "accuracy_checking_%s", kinds[torn % 4]);
        if (torn < 4) cut_file(only_match(&w, pattern), 1 + 500 * torn);
        else append_rubbish(only_match(&w, pattern));
        char earlier[512];
        (void)snprintf(earlier, sizeof earlier, "%s", w.path);
        j = (struct judging){ .options.result_csv_path = earlier };
        open_judge(&j, w.path, 2, &rank, 1);
        uint64_t committed = judge_committed(j.judge, "s1");
        ck_assert_uint_le(committed, count);
        if (torn < 4) ck_assert_uint_lt(committed, count);
        ck_assert_uint_eq(judge_committed(j.judge, "s2"), 0);
        (void)submit_session(&j, "md5_variety", "s1", (size_t)committed);
        ck_assert_int_eq(finish(&j), 0);
        hash_files(sums, &w);
        ck_assert_mem_eq(whole, sums, sizeof sums);
        workspace_remove(&w);
    }
}
END_TEST

/* ---- ranks, lists, refusals ---------------------------------------------------------------- */

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
    double x[ROWS * WIDTH], w[COLUMNS * WIDTH], y[ROWS * COLUMNS] = { 0 };
    unsigned char rounded[2 * COLUMNS * WIDTH];

    (void)body, (void)bytes, (void)place;
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = 1 + 0.001 * i;
    for (int i = 0; i < COLUMNS * WIDTH; i++) w[i] = (i % 2 ? -1 : 1) * (1 + 0.003 * i);
    struct value args =
        list_value(arena, 2, tensor_value(arena, DT_F32, false, 2, x_shape, x, ROWS * WIDTH),
                   tensor_value(arena, DT_F32, false, 2, w_shape, w, COLUMNS * WIDTH));
    dtype_from_double(rounded, DT_BF16, x, ROWS * WIDTH);
    dtype_to_double(x, rounded, DT_BF16, ROWS * WIDTH);
    dtype_from_double(rounded, DT_BF16, w, COLUMNS * WIDTH);
    dtype_to_double(w, rounded, DT_BF16, COLUMNS * WIDTH);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        for (int k = 0; k < WIDTH; k++)
            y[i] += x[i / COLUMNS * WIDTH + k] * w[i % COLUMNS * WIDTH + k];
    *out = (struct record){ .call = make_case(arena, "Functional", "linear", args),
                            .inputs_before = true };
    out->call.outputs =
        list_value(arena, 1, tensor_value(arena, DT_BF16, false, 2, y_shape, y, ROWS * COLUMNS));
    return status_ok();
}

START_TEST(products_under_autocast_pass)
{
    struct workspace w = workspace_make();
    struct judging j = { .options.profile = "strict" };
    open_judge(&j, w.path, 1, NULL, 0);
    submit(&j, &(struct judge_submission){ .origin = { .address = "10.0.0.7:4711", .rank = 0 },
                                           .decode = decode_autocast_linear,
                                           .body = copy_body("", 0) });
    ck_assert_int_eq(finish(&j), 0);
    ck_assert_uint_eq(j.told.verdicts[VERDICT_PASS], 1);
    workspace_remove(&w);
}
END_TEST

START_TEST(other_ranks_have_no_rows)
{
    struct workspace w = workspace_make();
    struct judging j = { 0 };
    const int64_t ranks[] = { 3, 5 };
    open_judge(&j, w.path, 2, ranks, 2);
    size_t count = submit_session(&j, "crc_rank_none", NULL, 0); /* rank None: that of the frame */
    (void)finish(&j);
    ck_assert_uint_eq(j.told.fates[RECORD_FILTERED], count);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank3.csv"), 0);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank5.csv"), 0);
    ck_assert_uint_eq(count_matches(&w, "*_rank0*"), 0);
    workspace_remove(&w);
}
END_TEST

START_TEST(lists_leave_no_rows)
{
    struct workspace w = workspace_make();
    struct judging j = { .options.config_path = in(&w, "config.json") };
    const int64_t rank = 0;
    write_text(j.options.config_path,
               "{\"task\": \"run_ut\", \"run_ut\": {\"white_list\": [\"gelu\", \"linear\"], "
               "\"black_list\": [\"linear\"], \"is_online\": true, \"rank_list\": [0]}}");
    open_judge(&j, w.path, 2, &rank, 1);
    size_t count = submit_session(&j, "crc_rank_none", NULL, 0);
    ck_assert_int_eq(finish(&j), 0);
    ck_assert_uint_eq(j.told.fates[RECORD_FILTERED], count - 1);
    ck_assert_uint_eq(count_rows(&w, "accuracy_checking_result_*_rank0.csv"), 1);
    workspace_remove(&w);
}
END_TEST

START_TEST(bodies_that_are_no_records_stop_nothing)
{
    struct workspace w = workspace_make();
    struct judging j = { 0 };
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
    workspace_remove(&w);
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

static void submit_made(struct judging *j, const struct made *made, uint64_t sequence)
{
    submit(j, &(struct judge_submission){ .origin = { .sequence = sequence, .step = made->step },
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
    struct workspace w = workspace_make();
    struct judging j = { 0 };
    struct arena arena = { 0 };
    struct judge_totals totals;
    struct judge_cell *cells;
    size_t n_cells;
    struct made made = right;
    open_judge(&j, w.path, 2, NULL, 0);
    submit_made(&j, &made, 0);
    made.step = 2;
    made.output[2] = 7;
    submit_made(&j, &made, 1);
    made.step = 1;
    made.rank = 3; /* of the record, whatever the frame says */
    submit_made(&j, &made, 0);
    made.output[2] = 3;
    submit_made(&j, &made, 1);
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
    workspace_remove(&w);
}
END_TEST

/* Of a client that takes arguments before the call, calls in place are judged. */
START_TEST(calls_in_place_are_judged_where_their_inputs_are_known)
{
    struct workspace w = workspace_make();
    struct judging j = { 0 };
    struct made made = right;
    open_judge(&j, w.path, 1, NULL, 0);
    made.name = "Tensor.abs_.0";
    submit_made(&j, &made, 0);
    made.inputs_before = true;
    submit_made(&j, &made, 1);
    (void)finish(&j);
    ck_assert_uint_eq(j.told.verdicts[VERDICT_SKIP], 1);
    ck_assert_uint_eq(j.told.verdicts[VERDICT_PASS], 1);
    workspace_remove(&w);
}
END_TEST

/* A copy of a transposed tensor need not lie as the tensor did: how it lies is not judged. */
START_TEST(memory_layout_is_not_judged)
{
    struct workspace w = workspace_make();
    struct judging j = { 0 };
    struct made made = right;
    open_judge(&j, w.path, 1, NULL, 0);
    made.name = "Tensor.stride.0";
    made.returns_stride = made.transposed = true;
    submit_made(&j, &made, 0);
    (void)finish(&j);
    ck_assert_uint_eq(j.told.verdicts[VERDICT_SKIP], 1);
    workspace_remove(&w);
}
END_TEST

/* Whoever sends records says which rank they are of: files are not made for as many as he likes. */
START_TEST(ranks_that_nobody_named_are_limited)
{
    struct workspace w = workspace_make();
    struct judging j = { 0 };
    struct made made = right;
    open_judge(&j, w.path, 2, NULL, 0);
    for (int i = 0; i < 140; i++) {
        made.rank = (int64_t)1000 * i;
        submit_made(&j, &made, 0);
    }
    (void)finish(&j);
    ck_assert_uint_eq(j.told.fates[RECORD_JUDGED], 128);
    ck_assert_uint_eq(j.told.fates[RECORD_REFUSED], 12);
    ck_assert_uint_eq(count_matches(&w, "accuracy_checking_result_*"), 128);
    workspace_remove(&w);
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
    struct workspace w = workspace_make();
    struct judging j = { 0 };
    struct arena arena = { 0 };
    struct judge_totals totals;
    struct judge_cell *cells;
    size_t n_cells;
    struct made made = right;
    bool taken = true;
    writes_left = -1;
    file_fault = fault_writes;
    open_judge(&j, w.path, 2, NULL, 0);
    submit_made(&j, &made, 0);
    while (!judge_is_idle(j.judge)) usleep(1000);
    writes_left = _i;
    submit_made(&j, &made, 1);
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
    workspace_remove(&w);
}
END_TEST

/* ---- progress and reports ------------------------------------------------------------------ */

START_TEST(progress_and_reports_tell_what_was_judged)
{
    struct workspace w = workspace_make();
    struct judging j = { .options = { .report = in(&w, "page.html"),
                                      .junit = in(&w, "junit.xml") } };
    struct arena arena = { 0 };
    struct judge_totals totals;
    struct judge_cell *cells;
    size_t n_cells;
    const int64_t rank = 0;
    open_judge(&j, w.path, 2, &rank, 1);
    size_t count = submit_session(&j, "md5_variety", NULL, 0);
    while (!judge_is_idle(j.judge)) usleep(1000);
    ck_assert_int_eq(judge_progress(&totals, &cells, &n_cells, &arena, j.judge).code, 0);
    ck_assert_uint_eq(totals.submitted, count);
    ck_assert_uint_eq(totals.judged, count);
    ck_assert_uint_eq(totals.waiting, 0);
    ck_assert_uint_eq(judge_bytes_held(j.judge), 0);
    /* By the rules of the documents a right product of bfloat16 is a warning. */
    ck_assert(totals.first_bad.is_set && totals.worst.is_set);
    ck_assert_int_eq(totals.worst.verdict, VERDICT_WARNING);
    ck_assert_str_eq(totals.worst.name, "Torch.mul.0.forward.output.0");
    ck_assert_str_ne(totals.worst.sentence, "");
    ck_assert_double_gt(totals.rate, 0);
    ck_assert_uint_eq(n_cells, 1);
    ck_assert_uint_eq(cells[0].calls[VERDICT_PASS] + cells[0].calls[VERDICT_WARNING] +
                          cells[0].calls[VERDICT_SKIP],
                      count);
    const char *paths[4];
    ck_assert(judge_files(paths, &arena, j.judge, 0));
    ck_assert(!judge_files(paths, &arena, j.judge, 1));
    ck_assert_int_eq(judge_sync(j.judge).code, 0);
    ck_assert_int_eq(finish(&j), 0);
    ck_assert_uint_eq(count_matches(&w, "page.html"), 1);
    ck_assert_uint_eq(count_matches(&w, "junit.xml"), 1);
    arena_release(&arena);
    workspace_remove(&w);
}
END_TEST

/* ---- a second device ----------------------------------------------------------------------- */

static const char *const second_files[] = { "accuracy_checking_two_way_result_*",
                                            "accuracy_checking_two_way_details_*",
                                            "api_precision_compare_result_*",
                                            "api_precision_compare_details_*" };
enum { SECOND_FILES = sizeof second_files / sizeof *second_files };

static void judge_session(const struct workspace *w, struct judging *j, int64_t threads)
{
    const int64_t rank = 0;
    open_judge(j, w->path, threads, &rank, 1);
    (void)submit_session(j, "md5_variety", "s1", (size_t)judge_committed(j->judge, "s1"));
    ck_assert_int_eq(finish(j), 0);
}

static void check_same(const struct workspace *a, const struct workspace *b, const char *pattern)
{
    assert_same_files(only_match(a, pattern), only_match(b, pattern));
}

/* With a second device each record that is judged has one row more, in one of two files, and the rows of the run are
 * those without it. All are the same bytes for any number of threads, and when one of the files was torn and the run
 * resumed. */
START_TEST(a_second_device_has_rows_of_its_own)
{
    struct workspace plain = workspace_make(), w = workspace_make(), torn;
    struct judging j = { 0 };

    judge_session(&plain, &j, 2);
    size_t judged = j.told.verdicts[VERDICT_PASS] + j.told.verdicts[VERDICT_WARNING];
    j = (struct judging){ .second = "cpu" };
    judge_session(&w, &j, 4);
    check_same(&plain, &w, "accuracy_checking_result_*");
    check_same(&plain, &w, "accuracy_checking_details_*");
    ck_assert_uint_eq(count_matches(&plain, second_files[2]), 0);
    ck_assert_uint_eq(count_rows(&w, second_files[0]) + count_rows(&w, second_files[2]), judged);

    for (int i = 0; i < SECOND_FILES; i++) {
        char earlier[512];
        torn = workspace_make();
        (void)snprintf(earlier, sizeof earlier, "%s", torn.path);
        j = (struct judging){ .second = "cpu" };
        judge_session(&torn, &j, 1);
        if (i % 2) cut_file(only_match(&torn, second_files[i]), 200);
        else append_rubbish(only_match(&torn, second_files[i]));
        j = (struct judging){ .second = "cpu", .options.result_csv_path = earlier };
        judge_session(&torn, &j, 2);
        for (int k = 0; k < SECOND_FILES; k++) check_same(&w, &torn, second_files[k]);
        check_same(&w, &torn, "accuracy_checking_result_*");
        workspace_remove(&torn);
    }
    workspace_remove(&plain);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge");
    TCase *tests = tcase_create("judge");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, every_record_has_a_row);
    tcase_add_loop_test(tests, rows_are_those_of_an_offline_check, 0, 6);
    tcase_add_test(tests, files_do_not_depend_on_threads);
    tcase_add_test(tests, a_judge_may_be_closed_at_any_time);
    tcase_add_test(tests, a_run_that_is_resumed_ends_the_same);
    tcase_add_test(tests, a_second_device_has_rows_of_its_own);
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
    tcase_add_test(tests, progress_and_reports_tell_what_was_judged);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
