/* Finds the columns of names and verdicts, and visits the rows. */
#include "results/verdict_file.h"

#include <stdint.h>

#include "core/file.h"
#include "results/details_file.h"
#include "standards/three_way/three_way.h"

struct places {
    size_t name, verdict, message, columns;
};

/* Where the columns stand. A comparison's own verdict comes before a Status. */
static struct status find_places(struct places *out, const struct csv_row *header, const char *path)
{
    out->columns = header->count;
    out->name = details_find_column(header, details_headers[COLUMN_NAME]);
    out->message = details_find_column(header, details_headers[COLUMN_MESSAGE]);
    out->verdict = details_find_column(header, three_way_headers[THREE_WAY_STATUS]);
    if (out->verdict == SIZE_MAX)
        out->verdict = details_find_column(header, details_headers[COLUMN_STATUS]);
    if (out->name == SIZE_MAX || out->verdict == SIZE_MAX)
        return status_error(STATUS_BAD_INPUT,
                            "%s is no details file: it lacks the column 'API Name' or a column "
                            "'Status' or '比对结果'",
                            path);
    return status_ok();
}

static struct csv_text cell_at(const struct csv_row *row, size_t place)
{
    return place < row->count ? row->cells[place] : (struct csv_text){ "", 0 };
}

static struct status read_header(struct places *places, struct csv_reader *reader)
{
    struct csv_row row;
    bool more;
    TRY(csv_next(reader, &row, &more));
    if (!more) return status_error(STATUS_BAD_INPUT, "%s is empty", reader->name);
    return find_places(places, &row, reader->name);
}

/* With no visitor only the header is looked at. */
static struct status read_rows(struct csv_reader *reader, verdict_visitor *visit, void *context)
{
    struct csv_row row;
    struct places places = { 0 };
    bool more;

    TRY(read_header(&places, reader));
    if (!visit) return status_ok();
    for (;;) {
        TRY(csv_next(reader, &row, &more));
        if (!more || (row.torn && row.count < places.columns)) return status_ok();
        struct verdict_row verdict = { .name = cell_at(&row, places.name),
                                       .message = cell_at(&row, places.message),
                                       .verdict = details_verdict(cell_at(&row, places.verdict)) };
        TRY(visit(context, &verdict));
    }
}

struct status verdict_file_read(const char *path, struct file_policy policy, verdict_visitor *visit,
                                void *context)
{
    struct file file;
    struct csv_reader reader;

    policy.any_size = true;
    TRY(file_open_read(&file, path, policy));
    struct status status = csv_open_file(&reader, &file, NULL);
    if (!status.code) {
        status = read_rows(&reader, visit, context);
        csv_close(&reader);
    }
    (void)file_close(&file); /* nothing was written */
    return status;
}

struct status verdict_file_check(const char *path, struct file_policy policy)
{
    return verdict_file_read(path, policy, NULL, NULL);
}
