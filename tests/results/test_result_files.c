/* Result files and resume, without any computation: rows are made up, a process that died is a
 * pair of files cut at any byte, and going on must give the bytes of the undisturbed run. */
#include <time.h>

#include "core/memory.h"
#include "results/made_runs.h"
#include "results/result_files.h"
#include "support/suite.h"
#include "support/workspace.h"

/* Cut the files to these lengths, go on, and expect the whole bytes. */
static size_t resume_after_cuts(struct fixture *f, const struct whole *whole, size_t result_bytes,
                                size_t details_bytes, size_t evidence_bytes)
{
    struct resume_notes notes;
    struct result_files files;
    bool done[N_CALLS];
    write_file(whole->result_path, whole->result, result_bytes);
    write_file(whole->details_path, whole->details, details_bytes);
    write_file(whole->evidence_path, whole->evidence, evidence_bytes);
    struct status status = resume(f, whole, &notes, &files, done);
    ck_assert_msg(!status.code, "cut to %zu and %zu: %s", result_bytes, details_bytes, status.text);
    append_calls(&files, done);
    ck_assert_int_eq(result_files_close(&files).code, 0);

    size_t length;
    char *bytes = read_file(whole->result_path, &length);
    ck_assert_msg(length == whole->result_bytes && !memcmp(bytes, whole->result, length),
                  "cut to %zu and %zu: result differs", result_bytes, details_bytes);
    free(bytes);
    bytes = read_file(whole->details_path, &length);
    ck_assert_msg(length == whole->details_bytes && !memcmp(bytes, whole->details, length),
                  "cut to %zu and %zu: details differ", result_bytes, details_bytes);
    free(bytes);
    bytes = read_file(whole->evidence_path, &length);
    ck_assert_msg(length == whole->evidence_bytes && !memcmp(bytes, whole->evidence, length),
                  "cut to %zu, %zu and %zu: evidence differs", result_bytes, details_bytes,
                  evidence_bytes);
    free(bytes);
    return notes.kept;
}

static size_t resume_after_cut(struct fixture *f, const struct whole *whole, size_t result_bytes,
                               size_t details_bytes)
{
    return resume_after_cuts(f, whole, result_bytes, details_bytes, whole->evidence_bytes);
}

/* Either file cut at every byte, the other whole; and both cut, on a grid. */
START_TEST(every_cut_ends_in_the_same_bytes)
{
    struct fixture f = setup();
    struct whole whole = undisturbed(&f);
    for (size_t cut = 0; cut <= whole.details_bytes; cut++)
        resume_after_cut(&f, &whole, whole.result_bytes, cut);
    for (size_t cut = 0; cut <= whole.result_bytes; cut++)
        resume_after_cut(&f, &whole, cut, whole.details_bytes);
    for (size_t a = 0; a <= whole.result_bytes; a += 7)
        for (size_t b = 0; b <= whole.details_bytes; b += 23) resume_after_cut(&f, &whole, a, b);
    for (size_t cut = 1; cut <= whole.evidence_bytes; cut++)
        resume_after_cuts(&f, &whole, whole.result_bytes, whole.details_bytes, cut);
    whole_free(&whole);
    teardown(&f);
}
END_TEST

/* What is whole is kept: all but the last call, whose details group nothing follows. */
START_TEST(whole_groups_are_kept)
{
    struct fixture f = setup();
    struct whole whole = undisturbed(&f);
    ck_assert_uint_eq(resume_after_cut(&f, &whole, whole.result_bytes, whole.details_bytes),
                      N_CALLS - 1);
    ck_assert_uint_eq(resume_after_cut(&f, &whole, whole.result_bytes - 1, whole.details_bytes),
                      N_CALLS - 1);
    /* Result rows follow from the others. */
    ck_assert_uint_eq(resume_after_cut(&f, &whole, 0, whole.details_bytes), N_CALLS - 1);
    whole_free(&whole);
    teardown(&f);
}
END_TEST

START_TEST(missing_files_are_made_again)
{
    struct fixture f = setup();
    struct whole whole = undisturbed(&f);
    struct resume_notes notes;
    struct result_files files;
    bool done[N_CALLS];
    ck_assert_int_eq(unlink(whole.details_path), 0);
    ck_assert_int_eq(resume(&f, &whole, &notes, &files, done).code, 0);
    ck_assert(notes.details_were_missing);
    append_calls(&files, done);
    ck_assert_int_eq(result_files_close(&files).code, 0);
    size_t length;
    char *bytes = read_file(whole.details_path, &length);
    ck_assert_uint_eq(length, whole.details_bytes);
    ck_assert_mem_eq(bytes, whole.details, length);
    free(bytes);

    /* Killed before the run file was written: both files empty. */
    ck_assert_int_eq(unlink(whole.run_path), 0);
    resume_after_cut(&f, &whole, 0, 0);
    bytes = read_file(whole.run_path, &length);
    ck_assert_uint_eq(length, whole.run_bytes);
    ck_assert_mem_eq(bytes, whole.run, length);
    free(bytes);
    /* Nor are rows that have evidence anybody else's. */
    ck_assert_int_eq(unlink(whole.run_path), 0);
    ck_assert_uint_eq(resume_after_cut(&f, &whole, 0, whole.details_bytes), N_CALLS - 1);
    bytes = read_file(whole.run_path, &length);
    ck_assert_uint_eq(length, whole.run_bytes);
    free(bytes);
    ck_assert_uint_eq(resume_after_cut(&f, &whole, whole.result_bytes, 0), 0);
    ck_assert_uint_eq(resume_after_cut(&f, &whole, whole.result_bytes, 20), 0);
    whole_free(&whole);
    teardown(&f);
}
END_TEST

START_TEST(other_run_is_refused_by_name)
{
    struct fixture f = setup();
    struct whole whole = undisturbed(&f);
    struct resume_notes notes;
    struct result_files files;
    bool done[N_CALLS];
    run_record_release(&f.record);
    ck_assert_int_eq(run_record_create(&f.record).code, 0);
    ck_assert_int_eq(run_record_add_number(&f.record, "seed", 99).code, 0);
    ck_assert_int_eq(run_record_add_text(&f.record, "backend", "cpu").code, 0);
    struct status status = resume(&f, &whole, &notes, &files, done);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, "seed was 1234, is 99") != NULL, "%s", status.text);
    ck_assert_ptr_null(strstr(status.text, "backend"));
    /* Nothing was touched. */
    size_t length;
    char *bytes = read_file(whole.result_path, &length);
    ck_assert_uint_eq(length, whole.result_bytes);
    free(bytes);

    whole_free(&whole);
    teardown(&f);
}
END_TEST

/* With retry_failed the run goes back to the first call on which the device failed, which the cause in
 * the evidence says, and nothing else: no text of a message does, nor do outputs that are missing. */
START_TEST(crashed_calls_are_repeated_on_demand)
{
    static const struct {
        const char *cause;
        bool repeated;
    } rows[] = {
        { "\"cause\":\"device failed\",", true },
        { "\"cause\":\"device failed again\",", false },
        { "\"cause\":\"output missing\",", false },
        { "\"cause\":\"device declined\",", false },
        { "\"note\":\"\",\"cause\":\"device failed\",", false },
        { "\"message\":\"the kernel died of signal 11\",", false },
        { "", false },
    };
    static const char name[] = "\"Torch.add.01.forward.output.1\",";
    struct fixture f = setup();
    struct whole whole = undisturbed(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int asked = 0; asked < 2; asked++) {
            struct resume_notes notes;
            struct result_files files;
            bool done[N_CALLS] = { false };
            const struct resume_options options = { .layout = &layout_precheck,
                                                    .retry_failed = asked };
            const char *at = strstr(whole.evidence, name) + sizeof name - 1;
            struct csv_buffer text = { 0 };
            ck_assert_int_eq(
                csv_append_bytes(&text, whole.evidence, (size_t)(at - whole.evidence)).code, 0);
            ck_assert_int_eq(csv_append_bytes(&text, rows[i].cause, strlen(rows[i].cause)).code, 0);
            ck_assert_int_eq(csv_append_bytes(&text, at, strlen(at)).code, 0);
            write_file(whole.result_path, whole.result, whole.result_bytes);
            write_file(whole.details_path, whole.details, whole.details_bytes);
            write_file(whole.evidence_path, text.data, text.length);
            csv_buffer_release(&text);
            struct status status = result_files_resume(&files, &notes, done, whole.result_path,
                                                       &f.record, &f.order, &options);
            ck_assert_msg(!status.code, "%s", status.text);
            ck_assert_msg(notes.kept == (asked && rows[i].repeated ? 1 : N_CALLS - 1),
                          "row %zu: %zu kept", i, notes.kept);
            ck_assert_int_eq(result_files_close(&files).code, 0);
        }
    whole_free(&whole);
    teardown(&f);
}
END_TEST

/* Evidence whose lines are of other rows, or no evidence at all, makes the calls from there on be done again. */
START_TEST(evidence_must_name_the_rows)
{
    static const struct {
        const char *was, *is;
        size_t kept;
        /* clang-format off */
    } rows[] = {
        { "Torch.add.01.forward.output.1\"", "Torch.add.01.forward.output.2\"", 1 },
        { "Torch.add.01.forward.output.1\"", "Torch.add.01.forward.output.12", 1 },
        { "{\"name\":\"Torch.add.0.", "{\"nome\":\"Torch.add.0.", 0 },
        { "Tensor.max.1.forward.output.0\",\"verdict\"", "Tensor.max.1.forward.output.0 , verdict ", 4 },
    };
    /* clang-format on */
    struct fixture f = setup();
    struct whole whole = undisturbed(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct resume_notes notes;
        struct result_files files;
        bool done[N_CALLS];
        char *evidence = memory_copy_string(whole.evidence), *place = strstr(evidence, rows[i].was);
        ck_assert_uint_eq(strlen(rows[i].was), strlen(rows[i].is));
        memcpy(place, rows[i].is, strlen(rows[i].is));
        write_file(whole.result_path, whole.result, whole.result_bytes);
        write_file(whole.details_path, whole.details, whole.details_bytes);
        write_file(whole.evidence_path, evidence, whole.evidence_bytes);
        memory_release(evidence);
        ck_assert_int_eq(resume(&f, &whole, &notes, &files, done).code, 0);
        ck_assert_msg(notes.kept == rows[i].kept, "row %zu: %zu kept", i, notes.kept);
        append_calls(&files, done);
        ck_assert_int_eq(result_files_close(&files).code, 0);
        size_t length;
        char *bytes = read_file(whole.evidence_path, &length);
        ck_assert_uint_eq(length, whole.evidence_bytes);
        ck_assert_mem_eq(bytes, whole.evidence, length);
        free(bytes);
    }
    whole_free(&whole);
    teardown(&f);
}
END_TEST

/* A second process is kept away while the files are open. */
START_TEST(lock_keeps_others_away)
{
    struct fixture f = setup();
    struct whole whole = undisturbed(&f);
    struct resume_notes notes;
    struct result_files files, second;
    bool done[N_CALLS];
    ck_assert_int_eq(resume(&f, &whole, &notes, &files, done).code, 0);
    struct status status = resume(&f, &whole, &notes, &second, done);
    ck_assert(file_is_locked(status));
    ck_assert_int_eq(result_files_close(&files).code, 0);
    ck_assert_int_eq(resume(&f, &whole, &notes, &second, done).code, 0);
    ck_assert_int_eq(result_files_close(&second).code, 0);
    whole_free(&whole);
    teardown(&f);
}
END_TEST

START_TEST(names_and_modes)
{
    struct fixture f = setup();
    struct whole whole = undisturbed(&f);
    struct resume_notes notes;
    struct result_files files;
    bool done[N_CALLS];
    struct stat st;
    ck_assert_int_eq(stat(whole.result_path, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777 & ~0640u, 0);

    /* A second run in the same second takes the next one. */
    ck_assert_int_eq(
        result_files_create(&files, f.w.path, &f.record, &layout_precheck, HEADERS_MSPROBE).code,
        0);
    ck_assert_str_ne(files.result_path, whole.result_path);
    ck_assert_int_eq(result_files_close(&files).code, 0);

    static const char *const bad[] = { "result.csv", "accuracy_checking_result_2024.csv",
                                       "accuracy_checking_result_2024010203040x.csv",
                                       "accuracy_checking_details_20240102030405.csv",
                                       "accuracy_checking_result_20240102030405.csv.bak" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memset(done, 0, sizeof done);
        struct status status =
            result_files_resume(&files, &notes, done, in(&f.w, bad[i]), &f.record, &f.order,
                                &(struct resume_options){ .layout = &layout_precheck });
        ck_assert_msg(status.code == STATUS_BAD_ARGUMENT, "%s: %s", bad[i], status.text);
    }
    struct status status = result_files_resume(
        &files, &notes, done, in(&f.w, "accuracy_checking_result_20240102030405.csv"), &f.record,
        &f.order, &(struct resume_options){ .layout = &layout_precheck });
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    /* A file in the root directory keeps its slash. */
    status = result_files_resume(&files, &notes, done,
                                 "/accuracy_checking_result_10000101000000.csv", &f.record,
                                 &f.order, &(struct resume_options){ .layout = &layout_precheck });
    ck_assert_str_eq(status.text, "'/accuracy_checking_result_10000101000000.csv' does not exist");
    whole_free(&whole);
    teardown(&f);
}
END_TEST

/* A timestamp of which only the details, run or evidence file exists is taken too, and left alone. */
START_TEST(foreign_files_are_not_touched)
{
    struct fixture f = setup();
    struct result_files files;
    char timestamp[16], name[64];
    time_t now = time(NULL);
    for (int i = 0; i < 6; i++) {
        time_t second = now + i;
        struct tm local;
        localtime_r(&second, &local);
        strftime(timestamp, sizeof timestamp, "%Y%m%d%H%M%S", &local);
        static const char *const kinds[][2] = { { "run", "json" },
                                                { "details", "csv" },
                                                { "evidence", "jsonl" } };
        snprintf(name, sizeof name, "accuracy_checking_%s_%s.%s", kinds[i % 3][0], timestamp,
                 kinds[i % 3][1]);
        write_text(in(&f.w, name), "mine");
    }
    ck_assert_int_eq(
        result_files_create(&files, f.w.path, &f.record, &layout_precheck, HEADERS_MSPROBE).code,
        0);
    ck_assert_int_gt(strcmp(files.timestamp, timestamp), 0);
    ck_assert_int_eq(result_files_close(&files).code, 0);
    size_t length;
    char *bytes = read_file(in(&f.w, name), &length);
    ck_assert_str_eq(bytes, "mine");
    free(bytes);
    ck_assert_uint_eq(count_matches(&f.w, "accuracy_checking_result_*"), 1);
    teardown(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("result_files");
    TCase *tests = tcase_create("result_files");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, every_cut_ends_in_the_same_bytes);
    tcase_add_test(tests, whole_groups_are_kept);
    tcase_add_test(tests, missing_files_are_made_again);
    tcase_add_test(tests, other_run_is_refused_by_name);
    tcase_add_test(tests, crashed_calls_are_repeated_on_demand);
    tcase_add_test(tests, evidence_must_name_the_rows);
    tcase_add_test(tests, lock_keeps_others_away);
    tcase_add_test(tests, names_and_modes);
    tcase_add_test(tests, foreign_files_are_not_touched);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
