/* Going on with the files of another program (msprobe), and with files, memory and disks that fail. */
#include <time.h>

#include "results/made_runs.h"
#include "results/result_files.h"
#include "support/suite.h"
#include "support/workspace.h"

/* ---- files of msprobe ------------------------------------------------------------------- */

static void append_text(char *text, size_t bytes, const char *more)
{
    snprintf(text + strlen(text), bytes - strlen(text), "%s", more);
}

static void details_row(char *text, size_t bytes, const char *name)
{
    append_text(text, bytes, name);
    for (int i = 1; i < COLUMN_COUNT; i++) append_text(text, bytes, ", ");
    append_text(text, bytes, "\r\n");
}

static const char foreign_header[] =
    "\xef\xbb\xbf"
    "API name,Forward Test Success,Backward Test Success,Message\r\n";

static void foreign_details_header(char *text, size_t bytes)
{
    append_text(text, bytes,
                "\xef\xbb\xbf"
                "API Name");
    for (int i = 1; i < COLUMN_COUNT; i++) append_text(text, bytes, ",x");
    append_text(text, bytes, "\r\n");
}

/* Rows in any order, interleaved, one call without details rows in the middle, a torn last
 * line: what is trusted stays byte for byte, the rest is gone. */
START_TEST(foreign_files_keep_what_has_all_rows)
{
    struct fixture f = setup();
    char result[2048] = "", details[4096] = "", expected[4096] = "";
    const char *path = in(&f.w, "accuracy_checking_result_20240102030405.csv");
    const char *details_path = in(&f.w, "accuracy_checking_details_20240102030405.csv");

    append_text(result, sizeof result, foreign_header);
    append_text(result, sizeof result, "Torch.linalg.inv.3,pass,pass\r\n");
    append_text(result, sizeof result, "Torch.add.01,pass, \r\n"); /* its details are missing */
    append_text(result, sizeof result, "Functional.dropout.0,pass,pass\r\n"); /* has none */
    append_text(result, sizeof result, "Torch.add.0,Warning,error\r\n");
    append_text(result, sizeof result, "Functional.softmax.7,pass,pass\r\n"); /* the last one */
    append_text(result, sizeof result, "Tensor.max.1,pa");                    /* torn */
    foreign_details_header(details, sizeof details);
    details_row(details, sizeof details, "Torch.linalg.inv.3.forward.output.0");
    details_row(details, sizeof details, "Torch.add.0.forward.output.0");
    details_row(details, sizeof details, "Functional.softmax.7.forward.output.0");
    details_row(details, sizeof details, "Torch.linalg.inv.3.backward.output.0");
    details_row(details, sizeof details, "Tensor.max.1.forward.output.0");
    write_text(path, result);
    write_text(details_path, details);

    struct resume_notes notes;
    struct result_files files;
    bool done[N_CALLS] = { 0 };
    struct status status =
        result_files_resume(&files, &notes, done, path, &f.record, &f.order,
                            &(struct resume_options){ .layout = &layout_precheck });
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert(notes.no_run_file);
    static const bool kept[N_CALLS] = { true, false, true, false, false, true };
    for (size_t i = 0; i < N_CALLS; i++) ck_assert_msg(done[i] == kept[i], "%s", names[i]);
    ck_assert_int_eq(result_files_close(&files).code, 0);

    char *bytes = read_file(path, NULL);
    append_text(expected, sizeof expected, foreign_header);
    append_text(expected, sizeof expected,
                "Torch.linalg.inv.3,pass,pass\r\n"
                "Functional.dropout.0,pass,pass\r\nTorch.add.0,Warning,error\r\n");
    ck_assert_str_eq(bytes, expected);
    free(bytes);
    expected[0] = '\0';
    foreign_details_header(expected, sizeof expected);
    details_row(expected, sizeof expected, "Torch.linalg.inv.3.forward.output.0");
    details_row(expected, sizeof expected, "Torch.add.0.forward.output.0");
    details_row(expected, sizeof expected, "Torch.linalg.inv.3.backward.output.0");
    bytes = read_file(details_path, NULL);
    ck_assert_str_eq(bytes, expected);
    free(bytes);
    ck_assert_uint_eq(count_matches(&f.w, "*.part"), 0);
    teardown(&f);
}
END_TEST

START_TEST(foreign_files_of_another_dump_are_refused)
{
    struct fixture f = setup();
    char result[2048] = "", details[4096] = "";
    const char *path = in(&f.w, "accuracy_checking_result_20240102030405.csv");
    append_text(result, sizeof result, foreign_header);
    append_text(result, sizeof result, "Torch.sub.0,pass,pass\r\n");
    foreign_details_header(details, sizeof details);
    write_text(path, result);
    write_text(in(&f.w, "accuracy_checking_details_20240102030405.csv"), details);
    struct resume_notes notes;
    struct result_files files;
    bool done[N_CALLS] = { 0 };
    struct status status =
        result_files_resume(&files, &notes, done, path, &f.record, &f.order,
                            &(struct resume_options){ .layout = &layout_precheck });
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "Torch.sub.0"));

    write_text(path, "time,value\r\n1,2\r\n");
    status = result_files_resume(&files, &notes, done, path, &f.record, &f.order,
                                 &(struct resume_options){ .layout = &layout_precheck });
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "header"));
    teardown(&f);
}
END_TEST

/* ---- failing resources ------------------------------------------------------------------ */

static size_t calls_left;
static enum file_operation failing;

static int fail_file(enum file_operation operation, const char *path)
{
    (void)path;
    return operation == failing && calls_left-- == 0 ? EIO : 0;
}

static int fail_memory(size_t bytes)
{
    (void)bytes;
    return calls_left-- == 0;
}

/* Files as a run left them: ours with a cut tail, and those of another writer, of which rows in the middle go. */
static void leave_files(const struct whole *whole, bool foreign, const char *result,
                        const char *details)
{
    if (foreign) {
        (void)unlink(whole->run_path);
        (void)unlink(whole->evidence_path);
        write_text(whole->result_path, result);
        write_text(whole->details_path, details);
        return;
    }
    write_file(whole->run_path, whole->run, whole->run_bytes);
    write_file(whole->result_path, whole->result, whole->result_bytes - 5);
    write_file(whole->details_path, whole->details, whole->details_bytes);
    write_file(whole->evidence_path, whole->evidence, whole->evidence_bytes);
}

/* Each call has one result row, whoever wrote it. */
static void check_rows(const struct whole *whole)
{
    char *text = read_file(whole->result_path, NULL);
    ck_assert_uint_eq(count_lines(text), 1 + N_CALLS + 2); /* a message of ours has a line feed */
    for (size_t i = 0; i < N_CALLS; i++) {
        char start[100];
        snprintf(start, sizeof start, "\r\n%s,", names[i]);
        char *row = strstr(text, start);
        ck_assert_msg(row && !strstr(row + 1, start), "%s in %s", names[i], text);
    }
    free(text);
}

/* Every allocation and every file operation of going on fails once. That is reported, and going on after all
 * ends in the same bytes as if it had not happened. (With files of another writer the row that is the last
 * when it happens is not believed, and made again.) */
START_TEST(going_on_survives_failing_resources)
{
    bool foreign = _i == 1;
    struct fixture f = setup();
    struct whole whole = undisturbed(&f);
    struct resume_notes notes;
    struct result_files files;
    bool done[N_CALLS];
    char result[2048] = "", details[4096] = "";
    append_text(result, sizeof result, foreign_header);
    append_text(result, sizeof result, "Torch.linalg.inv.3,pass,pass\r\nTorch.add.01,pass, \r\n");
    append_text(result, sizeof result,
                "Torch.add.0,Warning,error\r\nFunctional.softmax.7,pass,pass\r\n");
    foreign_details_header(details, sizeof details);
    details_row(details, sizeof details, "Torch.linalg.inv.3.forward.output.0");
    details_row(details, sizeof details, "Functional.softmax.7.forward.output.0");
    details_row(details, sizeof details, "Torch.add.0.forward.output.0");

    /* What going on undisturbed makes of these files. */
    char *expected[3];
    size_t bytes[3];
    const char *const paths[3] = { whole.result_path, whole.details_path, whole.evidence_path };
    leave_files(&whole, foreign, result, details);
    ck_assert_int_eq(resume(&f, &whole, &notes, &files, done).code, 0);
    append_calls(&files, done);
    ck_assert_int_eq(result_files_close(&files).code, 0);
    for (int i = 0; i < 3; i++) expected[i] = read_file(paths[i], &bytes[i]);

    size_t failures = 0;
    for (int operation = -1; operation < FILE_OPERATIONS; operation++)
        for (size_t n = 0;; n++) {
            leave_files(&whole, foreign, result, details);
            calls_left = n;
            failing = (enum file_operation)operation;
            memory_fault = operation < 0 ? fail_memory : NULL;
            file_fault = operation < 0 ? NULL : fail_file;
            struct status status = resume(&f, &whole, &notes, &files, done);
            memory_fault = NULL;
            file_fault = NULL;
            if (status.code) {
                failures++;
                ck_assert_msg(status.code == (operation < 0 ? STATUS_NO_MEMORY : STATUS_IO),
                              "%d, %zu: %s", operation, n, status.text);
                status = resume(&f, &whole, &notes, &files, done);
                ck_assert_msg(!status.code, "%d, %zu: %s", operation, n, status.text);
            }
            append_calls(&files, done);
            ck_assert_int_eq(result_files_close(&files).code, 0);
            if (foreign) check_rows(&whole);
            for (int i = 0; i < 3 && !foreign; i++) {
                size_t length;
                char *text = read_file(paths[i], &length);
                ck_assert_msg(length == bytes[i] && !memcmp(text, expected[i], length),
                              "%d, %zu: %s differs", operation, n, paths[i]);
                free(text);
            }
            ck_assert_uint_eq(count_matches(&f.w, "*.part"), 0);
            if (calls_left < SIZE_MAX / 2) break; /* nothing was left to fail */
        }
    ck_assert_uint_gt(failures, 20);
    for (int i = 0; i < 3; i++) free(expected[i]);
    whole_free(&whole);
    teardown(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("going on");
    TCase *tests = tcase_create("result_files");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, foreign_files_keep_what_has_all_rows);
    tcase_add_test(tests, foreign_files_of_another_dump_are_refused);
    tcase_add_loop_test(tests, going_on_survives_failing_resources, 0, 2);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
