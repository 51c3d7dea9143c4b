/* Files of another writer: rows in any order, no run file, no evidence. Three passes: which calls
 * have a result row, which have details rows, what of both stays. */
#include <string.h>

#include "core/memory.h"
#include "core/text_table.h"
#include "results/result_row.h"
#include "results/resume.h"
#include "results/row_source.h"
#include "standards/judge.h"

static bool find_call(size_t *out, const struct text_table *names, const char *bytes, size_t length)
{
    uint32_t number = text_table_find(names, bytes, length);
    *out = number;
    return number != TEXT_NONE;
}

static struct status list_names(struct text_table *names, const struct call_order *order)
{
    uint32_t number;
    for (size_t i = 0; i < order->count; i++) {
        const char *name = call_order_name(order, i);
        TRY(text_table_add(&number, NULL, names, name, strlen(name)));
    }
    return status_ok();
}

/* The call that a details row belongs to: its name without ".{direction}.output.{i}". */
static bool find_owner(size_t *out, const struct text_table *names, struct csv_text cell)
{
    size_t length = cell.length;
    for (int dots = 0; dots < 3; dots++) {
        while (length && cell.bytes[length - 1] != '.') length--;
        if (!length) return false;
        length--;
    }
    return find_call(out, names, cell.bytes, length);
}

enum { HAS_RESULT = 1, HAS_DETAILS = 2, IS_SUSPECT = 4 };

static bool is_trusted(const struct resume_scan *scan, const unsigned char *marks, size_t i)
{
    bool dropout = strstr(call_order_name(scan->order, i), "dropout") != NULL;
    return marks[i] & HAS_RESULT && !(marks[i] & IS_SUSPECT) && (marks[i] & HAS_DETAILS || dropout);
}

static struct status mark_result_rows(unsigned char *marks, const struct text_table *names,
                                      struct row_source *result)
{
    size_t call, last = SIZE_MAX;
    for (; row_source_is_result(result);) {
        struct csv_text cell = result->row.cells[0];
        if (!find_call(&call, names, cell.bytes, cell.length))
            return status_error(STATUS_BAD_INPUT, "%s has a row of %.*s, which this run has not",
                                result->reader.name, (int)(cell.length < 200 ? cell.length : 200),
                                cell.bytes);
        marks[call] |= HAS_RESULT;
        last = call;
        TRY(row_source_next(result));
    }
    /* That writer puts the result row first, so the last one may lack details rows. */
    if (last != SIZE_MAX) marks[last] |= IS_SUSPECT;
    return status_ok();
}

static struct status mark_details_rows(unsigned char *marks, const struct text_table *names,
                                       struct row_source *details)
{
    size_t call;
    for (; details->more;) {
        if (!details->row.torn && find_owner(&call, names, details->row.cells[0]))
            marks[call] |= HAS_DETAILS;
        TRY(row_source_next(details));
    }
    return status_ok();
}

static struct status keep_result_rows(struct resume_scan *scan, const unsigned char *marks,
                                      const struct text_table *names, struct row_source *result)
{
    size_t call;
    TRY(kept_bytes_add(&scan->result, 0, result->row.end));
    for (;;) {
        TRY(row_source_next(result));
        if (!row_source_is_result(result)) return status_ok();
        const struct csv_text *cells = result->row.cells;
        if (!find_call(&call, names, cells[0].bytes, cells[0].length) ||
            !is_trusted(scan, marks, call) || scan->done[call])
            continue;
        scan->done[call] = true;
        scan->kept++;
        TRY(kept_bytes_add(&scan->result, result->row.begin, result->row.end));
    }
}

static struct status keep_details_rows(struct resume_scan *scan, const struct text_table *names,
                                       struct row_source *details)
{
    size_t call;
    TRY(kept_bytes_add(&scan->details, 0, details->row.end));
    for (;;) {
        TRY(row_source_next(details));
        if (!details->more) return status_ok();
        if (!details->row.torn && find_owner(&call, names, details->row.cells[0]) &&
            scan->done[call])
            TRY(kept_bytes_add(&scan->details, details->row.begin, details->row.end));
    }
}

/* One pass over a file from its start, behind its header. */
static struct status with_rows(const struct file *file, size_t columns, bool *usable,
                               struct status (*pass)(void *context, struct row_source *source),
                               void *context, bool skip_header)
{
    struct row_source source;
    TRY(row_source_open(&source, file, false));
    struct status status = row_source_header(usable, &source, columns);
    if (!status.code && *usable && skip_header) status = row_source_next(&source);
    if (!status.code && *usable) status = pass(context, &source);
    row_source_close(&source);
    return status;
}

struct named_scan {
    struct resume_scan *scan;
    struct text_table names; /* of the calls, numbered as in the order */
    unsigned char *marks;
};

static struct status pass_mark_result(void *context, struct row_source *source)
{
    struct named_scan *named = context;
    return mark_result_rows(named->marks, &named->names, source);
}

static struct status pass_mark_details(void *context, struct row_source *source)
{
    struct named_scan *named = context;
    return mark_details_rows(named->marks, &named->names, source);
}

static struct status pass_keep_result(void *context, struct row_source *source)
{
    struct named_scan *named = context;
    return keep_result_rows(named->scan, named->marks, &named->names, source);
}

static struct status pass_keep_details(void *context, struct row_source *source)
{
    struct named_scan *named = context;
    return keep_details_rows(named->scan, &named->names, source);
}

static struct status scan_named(struct named_scan *named, const struct file *result,
                                const struct file *details)
{
    const size_t columns = named->scan->layout->count;
    bool has_result, has_details;
    TRY(with_rows(result, RESULT_COLUMNS - 1, &has_result, pass_mark_result, named, true));
    TRY(with_rows(details, columns, &has_details, pass_mark_details, named, true));
    if (!has_result || !has_details) return status_ok();
    TRY(with_rows(result, RESULT_COLUMNS - 1, &has_result, pass_keep_result, named, false));
    return with_rows(details, columns, &has_details, pass_keep_details, named, false);
}

struct status resume_scan_named(struct resume_scan *scan, const struct file *result,
                                const struct file *details)
{
    struct named_scan named = { .scan = scan };
    TRY(text_table_create(&named.names));
    struct status status = list_names(&named.names, scan->order);
    if (!status.code) {
        named.marks = memory_allocate_zeroed(scan->order->count, 1);
        status = named.marks ? scan_named(&named, result, details)
                             : status_no_memory(scan->order->count);
    }
    memory_release(named.marks);
    text_table_release(&named.names);
    return status;
}
