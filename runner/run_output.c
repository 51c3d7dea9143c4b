/* Files are opened when everything else is ready, so that a run that cannot start leaves none. */
#include "runner/run_output.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "results/row_source.h"
#include "results/written_rows.h"
#include "runner/environment.h"
#include "runner/run_job.h"

/* ---- calls of earlier parts ------------------------------------------------------------- */

struct earlier_calls {
    struct summary *summary;
    size_t read; /* told of already, by their rows */
};

static void count_earlier(void *context, struct csv_text forward, struct csv_text backward)
{
    struct earlier_calls *calls = context;
    if (calls->read) calls->read--;
    else summary_add_earlier(calls->summary, forward, backward);
}

/* Until their rows end, or are not as they should be. */
static struct status read_earlier(struct earlier_calls *calls, struct written_rows *rows,
                                  size_t dump)
{
    struct case_outcome outcome = { 0 };
    struct status status = status_ok();
    const char *name = NULL;
    do {
        status = written_rows_next(rows, &name, &outcome);
        if (status.code || !name) break;
        status = summary_add_written(calls->summary, &outcome, name, dump);
        calls->read++;
    } while (!status.code);
    case_outcome_release(&outcome);
    return status;
}

/* What the rows say where they are our own and whole; of the others the verdicts are counted. */
static struct status add_earlier(struct summary *summary, size_t dump,
                                 const struct result_files *files, const struct run_options *o)
{
    struct earlier_calls calls = { .summary = summary };
    struct written_rows rows;
    char *const paths[RESULT_FILES] = { [RESULT_CALLS] = files->result_path,
                                        [RESULT_DETAILS] = files->details_path,
                                        [RESULT_EVIDENCE] = files->evidence_path,
                                        [RESULT_RUN] = files->run_path };
    struct status status =
        written_rows_open(&rows, paths, evidence_extent_from_name(o->evidence), o->file_policy);
    if (!status.code) status = read_earlier(&calls, &rows, dump);
    written_rows_close(&rows);
    if (status.code == STATUS_NO_MEMORY) return status;
    return resume_visit(&files->result, count_earlier, &calls);
}

/* ---- timings ---------------------------------------------------------------------------- */

static const char timings_header[] = "API name,inputs s,reference s,device s,comparison s\r\n";

static struct status create_timings(struct file *out, const char *path)
{
    TRY(file_create(out, path));
    return file_write_all(out, timings_header, sizeof timings_header - 1);
}

/* Where the rows of calls that are done end. Rows stand in the order of the calls; the first one that
 * is of no such call is of one that is checked again. */
static struct status find_timings_end(uint64_t *end, struct row_source *rows, const bool *done,
                                      const struct call_order *order)
{
    *end = rows->row.end;
    TRY(row_source_next(rows));
    for (size_t i = 0; rows->more && !rows->row.torn && i < order->count && done[i]; i++) {
        if (!csv_text_equal(rows->row.cells[0], call_order_name(order, i))) continue;
        *end = rows->row.end;
        TRY(row_source_next(rows));
    }
    return status_ok();
}

/* The file of an earlier part of the run is continued; any other stays as it is. */
static struct status resume_timings(struct file *out, const char *path, struct file_policy policy,
                                    const bool *done, const struct call_order *order)
{
    char start[sizeof timings_header];
    struct row_source rows;
    size_t got;
    uint64_t end = 0;
    if (!file_exists(path)) return create_timings(out, path);
    TRY(file_open_append(out, path, policy));
    TRY(file_read_at(&got, out, start, sizeof timings_header - 1, 0));
    /* After a power failure the end of a file may be zeros. */
    size_t whole = got;
    while (whole && !start[whole - 1]) whole--;
    if (memcmp(start, timings_header, whole) != 0)
        return status_error(STATUS_BAD_ARGUMENT, "'%s' exists and has no timings", path);
    if (whole < sizeof timings_header - 1) {
        TRY(file_truncate(out, 0));
        return file_write_all(out, timings_header, sizeof timings_header - 1);
    }
    TRY(row_source_open(&rows, out, true));
    struct status status = find_timings_end(&end, &rows, done, order);
    row_source_close(&rows);
    return status.code ? status : file_truncate(out, end);
}

static struct status append_timings(struct csv_buffer *out, const struct stage_times *times,
                                    const char *name)
{
    char numbers[128];
    (void)snprintf(numbers, sizeof numbers, "%.6f,%.6f,%.6f,%.6f\r\n", times->inputs_s,
                   times->reference_s, times->device_s, times->comparison_s);
    TRY(csv_append_cell(out, name, strlen(name)));
    return csv_append_bytes(out, numbers, strlen(numbers));
}

/* ---- all of it -------------------------------------------------------------------------- */

static struct status open_new(struct run_output *output, const struct run_options *o,
                              const struct run_inputs *inputs)
{
    if (o->timings) TRY(create_timings(&output->timings, o->timings));
    return result_files_create(&output->files, o->out_path, &inputs->record,
                               profile_rules(inputs->profile)->layout,
                               header_language_from_name(o->columns));
}

static struct status open_resumed(struct run_output *output, bool *done, const char *repeat,
                                  const struct run_options *o, struct run_inputs *inputs)
{
    const struct resume_options options = { .file_policy = o->file_policy,
                                            .layout = profile_rules(inputs->profile)->layout,
                                            .language = header_language_from_name(o->columns),
                                            .extent = evidence_extent_from_name(o->evidence),
                                            .retry_failed = o->retry_crashed,
                                            .repeat = repeat,
                                            .core = environment_blas_core };
    TRY(result_files_resume(&output->files, &output->resumed, done, o->result_csv_path,
                            &inputs->record, &inputs->order, &options));
    if (!o->timings) return status_ok();
    return resume_timings(&output->timings, o->timings, o->file_policy, done, &inputs->order);
}

struct status run_output_name_error_data(struct run_output *output, const char *base,
                                         const char *folder, const char *timestamp)
{
    if (!base) base = ".";
    size_t bytes = strlen(base) + strlen(folder) + sizeof "//ut_error_data" + TIMESTAMP_DIGITS;
    output->error_directory = memory_allocate(bytes);
    if (!output->error_directory) return status_no_memory(bytes);
    (void)snprintf(output->error_directory, bytes, "%s%s%s/ut_error_data%s", base,
                   *folder ? "/" : "", folder, timestamp);
    output->error_data = (struct error_data){ output->error_directory, &error_layout_numbered };
    return status_ok();
}

/* Beside the result files, or in the directory of the configuration: {base}/error_data. */
static struct status name_dumped_error_data(struct run_output *output, const char *base)
{
    const char *result = output->files.result_path, *slash = strrchr(result, '/');
    int length = base ? (int)strlen(base) : slash ? (int)(slash - result) : 1;
    if (!base) base = slash ? result : ".";
    size_t bytes = (size_t)length + sizeof "/error_data";
    output->error_directory = memory_allocate(bytes);
    if (!output->error_directory) return status_no_memory(bytes);
    (void)snprintf(output->error_directory, bytes, "%.*s/error_data", length, base);
    output->error_data = (struct error_data){ output->error_directory, &error_layout_of_dumps };
    return status_ok();
}

static struct status name_error_data(struct run_output *output, const struct run_inputs *inputs,
                                     const char *folder, const struct run_job *job)
{
    const char *base = inputs->lists.error_data_path, *timestamp = output->files.timestamp;
    if (job && !base) base = job->error_data;
    if (inputs->framework->saves_as_dumped) return name_dumped_error_data(output, base);
    return run_output_name_error_data(output, base, folder, job ? job->timestamp : timestamp);
}

static struct status list_pending(struct run_output *output, const bool *done,
                                  const struct call_order *order)
{
    output->pending = memory_allocate(order->count * sizeof *output->pending);
    if (!output->pending) return status_no_memory(order->count * sizeof *output->pending);
    for (size_t i = 0; i < order->count; i++)
        if (!done[i]) output->pending[output->n_pending++] = order->positions[i];
    return status_ok();
}

struct status run_output_open(struct run_output *out, struct summary *summary, size_t dump,
                              const char *repeat, const struct run_options *options,
                              struct run_inputs *inputs)
{
    size_t calls = inputs->order.count;
    bool *done = memory_allocate_zeroed(calls, sizeof *done);
    struct status status = done ? status_ok() : status_no_memory(calls);
    *out = RUN_OUTPUT_NONE;
    if (!status.code)
        status = options->result_csv_path ? open_resumed(out, done, repeat, options, inputs)
                                          : open_new(out, options, inputs);
    if (!status.code && options->result_csv_path)
        status = add_earlier(summary, dump, &out->files, options);
    if (!status.code) status = list_pending(out, done, &inputs->order);
    if (!status.code && options->save_error_data)
        status = name_error_data(out, inputs, options->folder ? options->folder : "", options->job);
    memory_release(done);
    return status;
}

void run_output_close(struct run_output *output)
{
    (void)file_close(&output->timings);
    (void)result_files_close(&output->files);
    csv_buffer_release(&output->rows.evidence);
    csv_buffer_release(&output->rows.details);
    csv_buffer_release(&output->rows.result);
    csv_buffer_release(&output->rows.timings);
    memory_release(output->error_directory);
    memory_release(output->pending);
}

static struct status append_all(struct csv_buffer *out, const struct csv_buffer *more)
{
    return csv_append_bytes(out, more->data, more->length);
}

struct status run_output_add(struct run_output *output, const struct case_outcome *outcome,
                             const char *name)
{
    struct output_rows *rows = &output->rows;
    TRY(append_all(&rows->evidence, &outcome->evidence));
    TRY(append_all(&rows->details, &outcome->details));
    TRY(append_all(&rows->result, &outcome->result));
    if (output->timings.fd < 0) return status_ok();
    return append_timings(&rows->timings, &outcome->times, name);
}

static struct status name_core(struct run_output *output, struct run_inputs *inputs)
{
    if (run_record_text(&inputs->record, RUN_RECORD_CORE) || !environment_blas_core_in_use())
        return status_ok();
    TRY(run_inputs_name_core(inputs));
    if (output->resumed.no_run_file) return status_ok();
    return result_files_describe(&output->files, &inputs->record);
}

struct status run_output_write(struct run_output *output, struct run_inputs *inputs)
{
    struct output_rows *rows = &output->rows;
    TRY(name_core(output, inputs));
    TRY(result_files_append(&output->files, &rows->evidence, &rows->details, &rows->result));
    if (rows->timings.length)
        TRY(file_write_all(&output->timings, rows->timings.data, rows->timings.length));
    csv_buffer_clear(&rows->evidence);
    csv_buffer_clear(&rows->details);
    csv_buffer_clear(&rows->result);
    csv_buffer_clear(&rows->timings);
    return status_ok();
}
