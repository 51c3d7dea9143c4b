/* Records become rows: those of an offline check of the same tensors, the same bytes for any number of threads, in
 * the files of their rank, once each however often the process dies. */
#include <zlib.h>

#include "formats/dump_write.h"
#include "online/judging.h"
#include "support/suite.h"

/* ---- rows --------------------------------------------------------------------------------- */

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
    tcase_add_test(tests, progress_and_reports_tell_what_was_judged);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
