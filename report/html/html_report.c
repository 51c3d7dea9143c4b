/* The sequence of a report: inputs found, rows read, page written. */
#include "report/html/html_report.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "formats/json_tree.h"
#include "pages/columns.h"
#include "pages/json_out.h"
#include "report/html/input_rows.h"
#include "report/html/inputs.h"
#include "report/html/overview.h"

/* The run file, as it is when it is JSON. */
static struct status describe_run(struct text_out *meta, const char *path,
                                  struct file_policy policy)
{
    cJSON *tree;
    char *text = NULL;
    size_t bytes;
    TRY(file_read_text(&text, &bytes, path, policy));
    struct status status = json_tree_parse(&tree, NULL, text, bytes);
    memory_release(text);
    if (status.code) return status.code == STATUS_BAD_INPUT ? status_ok() : status;
    char *compact = cJSON_PrintUnformatted(tree);
    cJSON_Delete(tree);
    if (!compact) return status_no_memory(0);
    text_out_string(meta, "\"run\":");
    text_out_string(meta, compact);
    text_out_string(meta, ",");
    cJSON_free(compact);
    return meta->status;
}

static size_t describe_notes(struct text_out *meta, const struct input_notes *notes)
{
    size_t count = 0;
    const char *comma = "";
    text_out_string(meta, "\"notes\":[");
    for (int kind = 0; kind < NOTE_KINDS; kind++) {
        const struct input_note *note = &notes->items[kind];
        if (!note->set) continue;
        json_out_format(meta, "%s[\"%s\",%llu,", comma, input_note_names[kind],
                        (unsigned long long)note->number);
        json_out_string(meta, note->text, strlen(note->text));
        json_out_format(meta, "]");
        comma = ",";
        count += kind != NOTE_NO_EVIDENCE && kind != NOTE_FAILING_EVIDENCE;
    }
    text_out_string(meta, "],");
    return count;
}

static void describe_files(struct text_out *meta, const struct input *input)
{
    bool first = true;
    text_out_string(meta, "\"files\":[");
    for (int part = 0; part < INPUT_PARTS; part++) {
        if (!input->paths[part]) continue;
        json_out_format(meta, first ? "" : ",");
        json_out_string(meta, input->paths[part], strlen(input->paths[part]));
        first = false;
    }
    text_out_string(meta, "],");
}

static void describe_sides(struct text_out *meta, const struct input *input,
                           const struct html_report_request *request)
{
    const char *rows = input->paths[PART_ROWS];
    for (size_t i = 0; request->sides && rows && i < request->count; i++) {
        if (strcmp(request->paths[i], rows)) continue;
        const struct html_report_sides *sides = &request->sides[i];
        text_out_string(meta, "\"npu\":");
        json_out_string(meta, sides->npu, strlen(sides->npu));
        text_out_string(meta, ",\"bench\":");
        json_out_string(meta, sides->bench, strlen(sides->bench));
        text_out_string(meta, ",");
        return;
    }
}

static struct status add_input(struct html_report_summary *summary, struct text_out *meta,
                               struct columns *columns, const struct input *input,
                               const struct html_report_request *request)
{
    struct file_policy policy = request->policy;
    struct overview overview;
    struct input_notes notes = { .items[0].set = false };
    uint64_t first = columns->rows;
    struct status status = overview_create(&overview, input->layout->directions_apart);
    if (!status.code)
        status = input_rows_read(columns, &overview, &notes, input, policy, request->stop);
    if (!status.code) {
        text_out_string(meta, summary->inputs ? ",{\"label\":" : "{\"label\":");
        json_out_string(meta, input->label, strlen(input->label));
        json_out_format(meta, ",\"kind\":\"%s\",\"first\":%llu,", input->layout->name,
                        (unsigned long long)first);
        describe_files(meta, input);
        describe_sides(meta, input, request);
        summary->notes += describe_notes(meta, &notes);
        if (input->paths[PART_RUN]) status = describe_run(meta, input->paths[PART_RUN], policy);
    }
    if (!status.code) status = overview_finish(&overview, meta);
    text_out_string(meta, "}");
    overview_release(&overview);
    summary->inputs++;
    return status.code ? status : meta->status;
}

static struct status write_into(struct html_report_summary *summary, struct page *page,
                                const struct inputs *inputs,
                                const struct html_report_request *request)
{
    struct text_out meta = { .status.code = STATUS_OK };
    struct columns columns;
    struct status status = columns_create(&columns, page, page_forms, PAGE_COLUMNS);
    json_out_format(&meta, "{\"format\":1,\"program\":\"probe-ut %s\",\"inputs\":[", PROBE_VERSION);
    for (size_t i = 0; !status.code && i < inputs->count; i++)
        status = add_input(summary, &meta, &columns, &inputs->items[i], request);
    summary->rows = columns.rows;
    json_out_format(&meta, "],\"rows\":%llu,", (unsigned long long)columns.rows);
    if (!status.code) status = columns_finish(&columns, &meta);
    json_out_format(&meta, "}");
    if (!status.code) status = meta.status;
    if (!status.code) status = page_finish(page, meta.text.data, meta.text.length);
    columns_release(&columns);
    csv_buffer_release(&meta.text);
    return status;
}

struct status html_report_write(struct html_report_summary *out,
                                const struct html_report_request *request)
{
    *out = (struct html_report_summary){ .inputs = 0 };
    struct inputs inputs;
    const struct embedded_file *template = page_template("report.html");
    if (!template) return status_error(STATUS_INTERNAL, "the page is not part of this program");
    out->has_charts = page_has_charts(template);
    TRY(inputs_find(&inputs, request->paths, request->count, request->policy));
    struct page *page = memory_allocate(sizeof *page);
    struct status status = page ? page_open(page, request->out_path, template)
                                : status_no_memory(sizeof *page);
    if (!status.code) status = write_into(out, page, &inputs, request);
    if (page && !status.code) out->bytes = page->written;
    if (page) page_discard(page);
    memory_release(page);
    inputs_release(&inputs);
    return status;
}

struct status html_report_make(const struct html_report_request *request, FILE *out)
{
    struct html_report_summary summary;
    TRY(html_report_write(&summary, request));
    fprintf(out, "report: %s (%llu rows", request->out_path, (unsigned long long)summary.rows);
    if (summary.inputs > 1) fprintf(out, " of %zu results", summary.inputs);
    fprintf(out, ", %.1f MB)\n", (double)summary.bytes / 1e6);
    if (summary.notes)
        fprintf(stderr,
                "warning: something is the matter with the files (%zu %s); the page says what\n",
                summary.notes, summary.notes == 1 ? "note" : "notes");
    if (!summary.has_charts)
        fprintf(stderr,
                "note: the page has no charts, because libjs-chart.js was missing when this "
                "program was built\n");
    return status_ok();
}
