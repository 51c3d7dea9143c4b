/* In step if the files are, by a table of their names otherwise. */
#include "compare/details.h"

#include "compare/details_join.h"

/* Only reading on tells whether the files are in step to their end, so one tries; what was told until then is
 * taken back. */
static struct status join(struct comparison_output *out, const struct framework_names *other_names)
{
    bool in_step = true;
    TRY(comparison_output_start(out));
    TRY(details_join_in_step(&in_step, out, other_names));
    if (in_step) return status_ok();
    if (out->request->start_over) out->request->start_over(out->request->context);
    TRY(comparison_output_start(out));
    return details_join_by_table(out, other_names);
}

struct status compare_run(struct compare_counts *counts, const struct file *details,
                          const struct file *result, const struct compare_request *request)
{
    struct comparison_output out = { .request = request, .details = details, .result = result };
    struct framework_names *other_names;

    TRY(framework_names_load(&other_names));
    struct status status = join(&out, other_names);
    if (!status.code) status = comparison_output_finish(&out);
    if (!status.code) *counts = out.counts;
    framework_names_release(other_names);
    comparison_output_release(&out);
    return status;
}

/* ---- one call --------------------------------------------------------------------------- */

static struct status append_behind(struct csv_buffer *out, const struct csv_buffer *text, size_t at)
{
    return text->length > at ? csv_append_bytes(out, text->data + at, text->length - at)
                             : status_ok();
}

struct status compare_call(struct csv_buffer *details, struct csv_buffer *results,
                           const struct compare_request *request)
{
    struct comparison_output out = { .request = request };
    struct status status = comparison_output_start(&out);
    size_t details_header = out.details_text.length, result_header = out.result_text.length;

    if (!status.code) status = details_join_by_table(&out, NULL);
    if (!status.code) status = append_behind(details, &out.details_text, details_header);
    if (!status.code) status = append_behind(results, &out.result_text, result_header);
    comparison_output_release(&out);
    return status;
}

struct status compare_headers(struct csv_buffer *details, struct csv_buffer *results,
                              enum header_language language)
{
    const struct compare_request request = { .language = language };
    struct comparison_output out = { .request = &request };
    struct status status = comparison_output_start(&out);

    if (!status.code) status = append_behind(details, &out.details_text, 0);
    if (!status.code) status = append_behind(results, &out.result_text, 0);
    comparison_output_release(&out);
    return status;
}
