/* Result files and resume, without any computation: rows are made up, a process that died is a
 * pair of files cut at any byte, and going on must give the bytes of the undisturbed run. */
#include <time.h>

#include "core/memory.h"
#include "results/result_files.h"
#include "standards/judge.h"
#include "support/suite.h"
#include "support/workspace.h"

/* Six calls; two names of which one starts with the other, a dropout. */
static const char *const names[] = { "Torch.add.0",          "Torch.add.01", "Functional.dropout.0",
                                     "Functional.softmax.7", "Tensor.max.1", "Torch.linalg.inv.3" };
enum { N_CALLS = 6 };

static const char dump_text[] =
    "{\"task\":\"statistics\",\"level\":\"L1\",\"dump_data_dir\":null,\"data\":{"
    "\"Torch.add.0.forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]},"
    "\"Torch.add.01.forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]},"
    "\"Functional.dropout.0.forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]},"
    "\"Functional.softmax.7.forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]},"
    "\"Tensor.max.1.forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]},"
    "\"Torch.linalg.inv.3.forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]}}}";

/* A workspace with an open dump and its order. */
struct fixture {
    struct workspace w;
    struct dump *dump;
    struct call_order order;
    struct run_record record;
};

static struct fixture setup(void)
{
    struct fixture f = { .w = workspace_make() };
    write_text(in(&f.w, "dump.json"), dump_text);
    struct status status = dump_open(&f.dump, in(&f.w, "dump.json"), FILES_CHECKED);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(dump_count(f.dump), N_CALLS);
    f.order.dump = f.dump;
    f.order.count = N_CALLS;
    f.order.positions = memory_allocate(N_CALLS * sizeof(size_t));
    for (size_t i = 0; i < N_CALLS; i++) f.order.positions[i] = i;
    ck_assert_int_eq(run_record_create(&f.record).code, 0);
    ck_assert_int_eq(run_record_add_number(&f.record, "seed", 1234).code, 0);
    ck_assert_int_eq(run_record_add_text(&f.record, "backend", "cpu").code, 0);
    return f;
}

static void teardown(struct fixture *f)
{
    memory_release(f->order.positions);
    run_record_release(&f->record);
    dump_close(f->dump);
    workspace_remove(&f->w);
}

/* The rows of call i: 1 + i % 3 forward rows and a backward row for even i; call 3 is skipped, with
 * line ends, commas and quotes in its message, call 4 is an error. */
static void rows_of(size_t i, struct csv_buffer *evidence, struct csv_buffer *details,
                    struct csv_buffer *result)
{
    const char *cells[COLUMN_COUNT];
    char name[128];
    char line[192];
    csv_buffer_clear(evidence);
    csv_buffer_clear(details);
    csv_buffer_clear(result);
    size_t forward = 1 + i % 3;
    for (size_t k = 0; k < forward + !(i % 2); k++) {
        for (int c = 0; c < COLUMN_COUNT; c++) cells[c] = " ";
        bool backward = k >= forward;
        snprintf(name, sizeof name, "%s.%s.output.%zu", names[i], backward ? "backward" : "forward",
                 backward ? (size_t)0 : k);
        cells[COLUMN_NAME] = name;
        cells[COLUMN_STATUS] = i == 3 ? "SKIP" : i == 4 && !k ? "error" : "pass";
        cells[COLUMN_MESSAGE] = i == 3 ? "a \"quoted\",\nsecond line\r\n" : "fine";
        ck_assert_int_eq(csv_append_row(details, cells, COLUMN_COUNT).code, 0);
        snprintf(line, sizeof line, "{\"name\":\"%s\",\"verdict\":\"pass\"}\n", name);
        ck_assert_int_eq(csv_append_bytes(evidence, line, strlen(line)).code, 0);
    }
    const char *row[4] = { names[i],
                           i == 3   ? "SKIP"
                           : i == 4 ? "error"
                                    : "pass",
                           i % 2 ? " " : "pass", "a \"quoted\",\nsecond line\r\n" };
    ck_assert_int_eq(csv_append_row(result, row, i == 3 ? 4 : 3).code, 0);
}

static void append_calls(struct result_files *files, const bool *done)
{
    struct csv_buffer evidence = { 0 }, details = { 0 }, result = { 0 };
    for (size_t i = 0; i < N_CALLS; i++) {
        if (done && done[i]) continue;
        rows_of(i, &evidence, &details, &result);
        ck_assert_int_eq(result_files_append(files, &evidence, &details, &result).code, 0);
    }
    csv_buffer_release(&evidence);
    csv_buffer_release(&details);
    csv_buffer_release(&result);
}

/* Paths and bytes of an undisturbed run. */
struct whole {
    char result_path[512], details_path[512], evidence_path[512], run_path[512];
    char *result, *details, *evidence, *run;
    size_t result_bytes, details_bytes, evidence_bytes, run_bytes;
};

static struct whole undisturbed(struct fixture *f)
{
    struct whole whole;
    struct result_files files;
    struct status status =
        result_files_create(&files, f->w.path, &f->record, &layout_precheck, HEADERS_MSPROBE);
    ck_assert_msg(!status.code, "%s", status.text);
    append_calls(&files, NULL);
    snprintf(whole.result_path, sizeof whole.result_path, "%s", files.result_path);
    snprintf(whole.details_path, sizeof whole.details_path, "%s", files.details_path);
    snprintf(whole.evidence_path, sizeof whole.evidence_path, "%s", files.evidence_path);
    snprintf(whole.run_path, sizeof whole.run_path, "%s", files.run_path);
    ck_assert_int_eq(result_files_close(&files).code, 0);
    whole.result = read_file(whole.result_path, &whole.result_bytes);
    whole.details = read_file(whole.details_path, &whole.details_bytes);
    whole.evidence = read_file(whole.evidence_path, &whole.evidence_bytes);
    whole.run = read_file(whole.run_path, &whole.run_bytes);
    return whole;
}

static void whole_free(struct whole *whole)
{
    free(whole->result);
    free(whole->details);
    free(whole->evidence);
    free(whole->run);
}

static struct status resume(struct fixture *f, const struct whole *whole,
                            struct resume_notes *notes, struct result_files *files, bool *done)
{
    memset(done, 0, N_CALLS * sizeof *done);
    return result_files_resume(files, notes, done, whole->result_path, &f->record, &f->order,
                               &(struct resume_options){ .layout = &layout_precheck });
}

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
    tcase_add_test(tests, foreign_files_keep_what_has_all_rows);
    tcase_add_test(tests, foreign_files_of_another_dump_are_refused);
    tcase_add_loop_test(tests, going_on_survives_failing_resources, 0, 2);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
