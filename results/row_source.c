/* What both ways of resuming and the repair of files read with. */
#include "results/row_source.h"

#include "results/result_row.h"

struct status row_source_next(struct row_source *source)
{
    struct status status = csv_next(&source->reader, &source->row, &source->more);
    if (!source->forgiving || status.code != STATUS_BAD_INPUT) return status;
    source->more = false;
    return status_ok();
}

struct status row_source_open(struct row_source *out, const struct file *file, bool forgiving)
{
    const struct csv_limits limits = { .ends_at_nul = forgiving };
    *out = (struct row_source){ .forgiving = forgiving };
    TRY(csv_open_file(&out->reader, file, &limits));
    struct status status = row_source_next(out);
    if (status.code) csv_close(&out->reader);
    return status;
}

void row_source_close(struct row_source *source) { csv_close(&source->reader); }

struct status row_source_header(bool *usable, const struct row_source *source, size_t columns)
{
    /* Both generations of the peer write one of these. */
    static const char *const spellings[] = { "API name", "API Name" };
    *usable = false;
    if (!source->more || source->row.torn) return status_ok();
    struct csv_text first = source->row.cells[0];
    *usable = source->row.count >= columns &&
              (csv_text_equal(first, spellings[0]) || csv_text_equal(first, spellings[1]));
    if (*usable) return status_ok();
    return status_error(STATUS_BAD_INPUT, "%s does not start with the header of such a file",
                        source->reader.name);
}

bool row_source_is_result(const struct row_source *source)
{
    return source->more && !source->row.torn &&
           (source->row.count == RESULT_COLUMNS - 1 || source->row.count == RESULT_COLUMNS);
}
