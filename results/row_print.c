/* A row is its line of evidence and its cells in the details file; both are shown, the cells that have
 * something to say under their headers. */
#include "results/row_print.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "formats/json_tree.h"
#include "standards/row_layout.h"

/* Texts of the dump or of a device; control characters in them could rule the terminal. */
static void print_bytes(FILE *out, const char *text, size_t length)
{
    for (const char *at = text; at < text + length; at++)
        fputc((unsigned char)*at < ' ' || *at == 127 ? ' ' : *at, out);
}

static void print_text(FILE *out, const char *text) { print_bytes(out, text, strlen(text)); }

static void print_value(FILE *out, const cJSON *item)
{
    if (cJSON_IsString(item)) print_text(out, item->valuestring);
    else if (cJSON_IsBool(item)) fprintf(out, "%s", cJSON_IsTrue(item) ? "yes" : "no");
    else if (cJSON_IsNumber(item)) fprintf(out, "%.9g", item->valuedouble);
}

/* Bars of up to 40 characters. */
static void print_histogram(FILE *out, const cJSON *histogram)
{
    double most = 1;
    const cJSON *bin;
    cJSON_ArrayForEach(bin, histogram) if (bin->valuedouble > most) most = bin->valuedouble;
    fprintf(out, "  error in ulp\n");
    cJSON_ArrayForEach(bin, histogram)
    {
        int bar = (int)(40 * bin->valuedouble / most + 0.5);
        fprintf(out, "    %-12s %10.0f  ", bin->string, bin->valuedouble);
        for (int i = 0; i < (bar ? bar : 1); i++) fputc('#', out);
        fputc('\n', out);
    }
}

static void print_limits(FILE *out, const cJSON *limits)
{
    const cJSON *limit;
    cJSON_ArrayForEach(limit, limits)
    {
        const cJSON *metric = cJSON_GetObjectItem(limit, "metric");
        fprintf(out, "  %-28s ", cJSON_IsString(metric) ? metric->valuestring : "");
        print_value(out, cJSON_GetObjectItem(limit, "value"));
        fprintf(out, ", limit ");
        print_value(out, cJSON_GetObjectItem(limit, "limit"));
        fprintf(out, "%s\n",
                cJSON_IsTrue(cJSON_GetObjectItem(limit, "holds")) ? "" : "   <- broken");
    }
}

static void print_evidence(FILE *out, const cJSON *evidence)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, evidence)
    {
        if (!strcmp(item->string, "limits")) {
            print_limits(out, item);
        } else if (!strcmp(item->string, "ulp histogram")) {
            print_histogram(out, item);
        } else if (cJSON_IsObject(item)) {
            const cJSON *part;
            fprintf(out, "  %-28s ", item->string);
            cJSON_ArrayForEach(part, item)
            {
                fprintf(out, "%s%s ", part == item->child ? "" : ", ", part->string);
                print_value(out, part);
            }
            fputc('\n', out);
        } else {
            fprintf(out, "  %-28s ", item->string);
            print_value(out, item);
            fputc('\n', out);
        }
    }
}

/* The lines of a message, blank ones left out. */
static void print_lines(FILE *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (strspn(text, " ") < length) {
            fputs("  ", out);
            print_bytes(out, text, length);
            fputc('\n', out);
        }
        text += length + (text[length] == '\n');
    }
}

/* The cells that are not blank, but for what the line of evidence says itself. */
static void print_cells(FILE *out, const struct csv_row *cells)
{
    const struct row_layout *layout = row_layout_of(cells->count);
    const char *headers[COLUMN_COUNT];
    layout_headers(headers, layout);
    for (size_t i = 0; i < cells->count && i < layout->count; i++) {
        enum details_column column = layout->columns[i].column;
        struct csv_text cell = cells->cells[i];
        bool said = column == COLUMN_NAME || column == COLUMN_STATUS || column == COLUMN_MESSAGE;
        if (said || !cell.length || (cell.length == 1 && *cell.bytes == ' ')) continue;
        fprintf(out, "  %s: ", headers[i]);
        print_bytes(out, cell.bytes, cell.length);
        fputc('\n', out);
    }
}

/* A text of its own line, when the member is one. */
static void print_member(FILE *out, const cJSON *text, const char *before)
{
    if (!cJSON_IsString(text)) return;
    fputs(before, out);
    print_text(out, text->valuestring);
    fputc('\n', out);
}

static void print_line(FILE *out, const cJSON *line, const struct csv_row *cells)
{
    const cJSON *message = cJSON_GetObjectItem(line, "message"), *note;
    const cJSON *rounding = cJSON_GetObjectItem(line, "error over what rounding explains");
    print_value(out, cJSON_GetObjectItem(line, "name"));
    fputs(": ", out);
    print_value(out, cJSON_GetObjectItem(line, "verdict"));
    fputc('\n', out);
    print_member(out, cJSON_GetObjectItem(line, "sentence"), "  ");
    print_member(out, cJSON_GetObjectItem(line, "called from"), "  called from ");
    if (cJSON_IsString(message)) print_lines(out, message->valuestring);
    if (cells) print_cells(out, cells);
    print_evidence(out, cJSON_GetObjectItem(line, "evidence"));
    if (rounding) {
        fprintf(out, "  %-28s ", "error / explained by rounding");
        print_value(out, rounding);
        fputc('\n', out);
    }
    cJSON_ArrayForEach(note, cJSON_GetObjectItem(line, "diagnosis"))
        print_member(out, cJSON_GetObjectItem(note, "text"), "  ");
    cJSON_ArrayForEach(note, cJSON_GetObjectItem(line, "inputs"))
        print_member(out, note, "  input: ");
}

struct status row_print(FILE *out, const char *line, size_t length, const struct csv_row *cells)
{
    cJSON *json;
    TRY(json_tree_parse(&json, NULL, line, length));
    print_line(out, json, cells);
    cJSON_Delete(json);
    return status_ok();
}

/* The line of evidence that begins at `at`; *length is without its end. */
static const char *end_of_line(size_t *length, const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *length = (size_t)((stop ? stop : end) - at);
    return stop ? stop + 1 : end;
}

static struct status print_pairs(FILE *out, struct csv_reader *details, const char *at,
                                 const char *end)
{
    while (at < end) {
        struct csv_row cells;
        size_t length;
        bool more;
        const char *next = end_of_line(&length, at, end);
        TRY(csv_next(details, &cells, &more));
        TRY(row_print(out, at, length, more ? &cells : NULL));
        at = next;
    }
    return status_ok();
}

struct status rows_print(FILE *out, const struct csv_buffer *evidence,
                         const struct csv_buffer *details)
{
    struct csv_reader reader;
    if (!evidence->length) return status_ok();
    TRY(csv_open_text(&reader, "details", details->data, details->length, NULL));
    struct status status =
        print_pairs(out, &reader, evidence->data, evidence->data + evidence->length);
    csv_close(&reader);
    return status;
}
