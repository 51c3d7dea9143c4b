/* The cells and the message of a row while it is being judged. */
#include "standards/judge_row.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "standards/number_text.h"

void row_open(struct row *row, struct judged *out, struct arena *arena,
              const struct judge_request *request)
{
    *row = (struct row){ .out = out, .arena = arena, .request = request };
    *out = (struct judged){ .standard = "", .deciding_metric = "" };
    for (int column = 0; column < COLUMN_COUNT; column++) out->cells[column] = " ";
    char *name = arena_format(arena, "%s.%s.output.%zu", request->c->full_name,
                              request->backward ? "backward" : "forward", request->index);
    if (name) out->cells[COLUMN_NAME] = name;
    else row->no_memory = true;
}

struct status row_close(struct row *row, enum verdict verdict)
{
    row->out->verdict = verdict;
    row->out->cells[COLUMN_STATUS] = verdict_name(verdict);
    row->out->cells[COLUMN_MESSAGE] = row->message ? row->message : "";
    return row->no_memory ? status_no_memory(0) : status_ok();
}

struct status row_close_with(struct row *row, enum verdict verdict, const char *message)
{
    row_say(row, "%s", message);
    return row_close(row, verdict);
}

const char *row_dtype_name(const struct row *row, enum dtype dtype)
{
    const struct framework *framework = case_as_recorded(row->request->c)->framework;
    return (framework ? framework : &framework_pytorch)->dtype_names[dtype];
}

double row_limit(const struct row *row, enum limit limit)
{
    return profile_limit(row->request->profile, limit, row->request->c->api, row->device);
}

void row_note(struct row *row, const char *metric, double value, double limit, bool holds)
{
    struct judged *out = row->out;
    assert(out->limit_count < JUDGED_LIMITS);
    out->limits[out->limit_count++] = (struct judged_limit){ metric, value, limit, holds };
    if (holds) return;
    out->deciding_metric = metric;
    out->deciding_value = value;
    out->deciding_limit = limit;
}

void row_put(struct row *row, enum details_column column, const char *text)
{
    char *copy = arena_copy_string(row->arena, text);
    if (copy) row->out->cells[column] = copy;
    else row->no_memory = true;
}

void row_put_fixed(struct row *row, enum details_column column, double x)
{
    char text[NUMBER_TEXT_BYTES];
    number_text_fixed(text, x, row->request->precision);
    row_put(row, column, text);
}

void row_put_typed(struct row *row, enum details_column column, double x, enum dtype work)
{
    char text[NUMBER_TEXT_BYTES];
    if (work == DT_F64) {
        row_put_fixed(row, column, x);
        return;
    }
    number_text_shortest(text, x, work);
    row_put(row, column, text);
}

void row_put_double(struct row *row, enum details_column column, double x)
{
    char text[NUMBER_TEXT_BYTES];
    number_text_shortest(text, x, DT_F64);
    row_put(row, column, text);
}

void row_put_ratio(struct row *row, enum details_column column, double x, uint64_t count)
{
    if (count) row_put_fixed(row, column, x);
    else row_put(row, column, "0");
}

void row_say(struct row *row, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *before = row->message ? row->message : "";
    char *message = arena_format(row->arena, "%s%s", before, text);
    if (message) row->message = message;
    else row->no_memory = true;
}
