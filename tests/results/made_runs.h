/* Runs of made-up rows over a dump of six calls, which end at once, with whatever files they leave. */
#ifndef PROBE_TESTS_RESULTS_MADE_RUNS_H
#define PROBE_TESTS_RESULTS_MADE_RUNS_H

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

__attribute__((unused)) static struct fixture setup(void)
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

__attribute__((unused)) static void teardown(struct fixture *f)
{
    memory_release(f->order.positions);
    run_record_release(&f->record);
    dump_close(f->dump);
    workspace_remove(&f->w);
}

/* The rows of call i: 1 + i % 3 forward rows and a backward row for even i; call 3 is skipped, with
 * line ends, commas and quotes in its message, call 4 is an error. */
__attribute__((unused)) static void rows_of(size_t i, struct csv_buffer *evidence,
                                            struct csv_buffer *details, struct csv_buffer *result)
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

__attribute__((unused)) static void append_calls(struct result_files *files, const bool *done)
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

__attribute__((unused)) static struct whole undisturbed(struct fixture *f)
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

__attribute__((unused)) static void whole_free(struct whole *whole)
{
    free(whole->result);
    free(whole->details);
    free(whole->evidence);
    free(whole->run);
}

__attribute__((unused)) static struct status resume(struct fixture *f, const struct whole *whole,
                                                    struct resume_notes *notes,
                                                    struct result_files *files, bool *done)
{
    memset(done, 0, N_CALLS * sizeof *done);
    return result_files_resume(files, notes, done, whole->result_path, &f->record, &f->order,
                               &(struct resume_options){ .layout = &layout_precheck });
}

#endif
