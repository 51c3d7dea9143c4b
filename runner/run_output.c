/* Files are opened when everything else is ready, so that a run that cannot start leaves none. */
#include "runner/run_output.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"

static void count_earlier(void *context, size_t index, struct csv_text forward,
                          struct csv_text backward)
{
    (void)index;
    summary_add_earlier(context, forward, backward);
}

static struct status resume_files(struct run_output *output, bool *done, struct summary *summary,
                                  const struct run_options *o, const struct run_inputs *inputs)
{
    const struct resume_options options = { .file_policy = o->file_policy,
                                            .retry_failed = o->retry_crashed,
                                            .visit = count_earlier,
                                            .context = summary };
    return result_files_resume(&output->files, &output->resumed, done, o->result_csv_path,
                               &inputs->record, &inputs->order, &options);
}

static struct status open_files(struct run_output *output, bool *done, struct summary *summary,
                                const struct run_options *o, const struct run_inputs *inputs)
{
    if (o->result_csv_path) return resume_files(output, done, summary, o, inputs);
    return result_files_create(&output->files, o->out_path, &inputs->record);
}

static struct status open_timings(struct file *out, const char *path)
{
    static const char header[] = "API name,inputs s,reference s,device s,comparison s\r\n";
    TRY(file_create(out, path));
    return file_write_all(out, header, sizeof header - 1);
}

static struct status name_error_directory(struct run_output *output, const char *base)
{
    if (!base) base = ".";
    size_t bytes = strlen(base) + sizeof "/ut_error_data" + TIMESTAMP_DIGITS;
    output->error_directory = memory_allocate(bytes);
    if (!output->error_directory) return status_no_memory(bytes);
    (void)snprintf(output->error_directory, bytes, "%s/ut_error_data%s", base,
                   output->files.timestamp);
    output->error_data.directory = output->error_directory;
    return status_ok();
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

struct status run_output_open(struct run_output *out, struct summary *summary,
                              const struct run_options *options, const struct run_inputs *inputs)
{
    size_t calls = inputs->order.count;
    bool *done = memory_allocate_zeroed(calls, sizeof *done);
    struct status status = done ? status_ok() : status_no_memory(calls);
    *out = RUN_OUTPUT_NONE;
    if (!status.code && options->timings) status = open_timings(&out->timings, options->timings);
    if (!status.code) status = open_files(out, done, summary, options, inputs);
    if (!status.code) status = list_pending(out, done, &inputs->order);
    if (!status.code && options->save_error_data)
        status = name_error_directory(out, inputs->lists.error_data_path);
    memory_release(done);
    return status;
}

void run_output_close(struct run_output *output)
{
    (void)file_close(&output->timings);
    (void)result_files_close(&output->files);
    memory_release(output->error_directory);
    memory_release(output->pending);
}

static struct status write_timings(const struct file *file, const struct stage_times *times,
                                   const char *name)
{
    char numbers[128];
    struct csv_buffer row = { 0 };
    struct status status = csv_append_cell(&row, name, strlen(name));
    (void)snprintf(numbers, sizeof numbers, "%.6f,%.6f,%.6f,%.6f\r\n", times->inputs_s,
                   times->reference_s, times->device_s, times->comparison_s);
    if (!status.code) status = csv_append_bytes(&row, numbers, strlen(numbers));
    if (!status.code) status = file_write_all(file, row.data, row.length);
    csv_buffer_release(&row);
    return status;
}

struct status run_output_add(struct run_output *output, const struct case_outcome *outcome,
                             const char *name)
{
    TRY(result_files_append(&output->files, &outcome->evidence, &outcome->details,
                            &outcome->result));
    if (output->timings.fd < 0) return status_ok();
    return write_timings(&output->timings, &outcome->times, name);
}
