/* Reading a run's files after it died, to say how much of each is whole. */
#include "results/resume.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/memory.h"
#include "results/evidence.h"
#include "results/result_columns.h"
#include "standards/judge.h"

/* ---- rows ------------------------------------------------------------------------------- */

/* A reader with its next row in hand. */
struct row_source {
    struct csv_reader reader;
    struct csv_row row;
    bool more;
};

static struct status source_next(struct row_source *source)
{
    return csv_next(&source->reader, &source->row, &source->more);
}

static struct status source_open(struct row_source *source, const struct file *file)
{
    struct status status = csv_open_file(&source->reader, file, NULL);
    if (status.code) return status;
    status = source_next(source);
    if (status.code) csv_close(&source->reader);
    return status;
}

/* Take the header off. *usable is false when it is torn or missing; a whole row that does not
 * start as a header does is another kind of file. */
static struct status take_header(bool *usable, struct row_source *source, size_t columns,
                                 const char *const *spellings)
{
    *usable = false;
    if (!source->more || source->row.torn) return status_ok();
    bool known = source->row.count >= columns;
    bool named = false;
    for (size_t i = 0; spellings[i]; i++)
        named |= csv_text_equal(source->row.cells[0], spellings[i]);
    if (!known || !named)
        return status_error(STATUS_BAD_INPUT, "%s does not start with the header of such a file",
                            source->reader.name);
    *usable = true;
    return status_ok();
}

/* Both generations of the peer write one of these. */
static const char *const name_spellings[] = { "API name", "API Name", NULL };

bool resume_row_belongs(struct csv_text cell, const char *name)
{
    static const char *const directions[] = { ".forward.output.", ".backward.output." };
    size_t length = strlen(name);
    if (cell.length <= length || memcmp(cell.bytes, name, length)) return false;
    for (size_t i = 0; i < 2; i++) {
        size_t direction = strlen(directions[i]);
        if (cell.length - length > direction &&
            !memcmp(cell.bytes + length, directions[i], direction))
            return true;
    }
    return false;
}

static bool is_result_row(const struct csv_row *row)
{
    return !row->torn && (row->count == RESULT_COLUMNS - 1 || row->count == RESULT_COLUMNS);
}

/* ---- our own files ---------------------------------------------------------------------- */

static bool same_text(struct csv_text a, struct csv_text b)
{
    return a.length == b.length && !memcmp(a.bytes, b.bytes, a.length);
}

/* The next line of evidence must be that of the details row. */
static struct status pass_evidence(bool *agrees, struct evidence_line *line,
                                   struct evidence_reader *evidence, struct csv_text row_name)
{
    TRY(evidence_next(evidence, agrees, line));
    if (*agrees) *agrees = same_text(line->name, row_name);
    return status_ok();
}

/* Where the rows of a call end. */
struct group_end {
    uint64_t details, evidence;
};

/* Move over the details rows of call `name`. *whole says whether all of them are there, with
 * their evidence, and none is to be done again. */
static struct status pass_group(bool *whole, struct group_end *end, struct row_source *details,
                                struct evidence_reader *evidence, const char *name,
                                bool retry_failed)
{
    size_t rows = 0, failed = 0;
    bool agrees = true;
    struct evidence_line line;
    while (details->more && !details->row.torn && details->row.count == COLUMN_COUNT &&
           resume_row_belongs(details->row.cells[0], name)) {
        end->details = details->row.end;
        rows++;
        if (agrees) TRY(pass_evidence(&agrees, &line, evidence, details->row.cells[0]));
        if (agrees) end->evidence = line.end;
        failed += agrees && retry_failed && line.cause == CAUSE_DEVICE_FAILED;
        TRY(source_next(details));
    }
    /* A torn row may be one more of this call, and so may what comes after the end. */
    *whole = rows && agrees && !failed && details->more && !details->row.torn;
    return status_ok();
}

static struct status scan_ordered(struct resume_scan *scan, struct row_source *result,
                                  struct row_source *details, struct evidence_reader *evidence)
{
    bool has_result, has_details;
    TRY(take_header(&has_result, result, RESULT_COLUMNS - 1, name_spellings));
    TRY(take_header(&has_details, details, COLUMN_COUNT, name_spellings));
    if (!has_result || !has_details) return status_ok();
    TRY(kept_bytes_add(&scan->result, 0, result->row.end));
    TRY(kept_bytes_add(&scan->details, 0, details->row.end));
    TRY(source_next(result));
    TRY(source_next(details));

    for (size_t i = 0; i < scan->order->count; i++) {
        const char *name = call_order_name(scan->order, i);
        struct group_end end = { 0, 0 };
        bool whole;
        if (!result->more || !is_result_row(&result->row) ||
            !csv_text_equal(result->row.cells[0], name))
            break;
        TRY(pass_group(&whole, &end, details, evidence, name, scan->retry_failed));
        if (!whole) break;
        scan->evidence_end = end.evidence;
        TRY(kept_bytes_add(&scan->details, scan->details.items[0].end, end.details));
        TRY(kept_bytes_add(&scan->result, scan->result.items[0].end, result->row.end));
        scan->done[i] = true;
        scan->kept++;
        if (scan->visit) scan->visit(scan->context, i, result->row.cells[1], result->row.cells[2]);
        TRY(source_next(result));
    }
    return status_ok();
}

/* ---- files of another writer ------------------------------------------------------------ */

/* Names of the calls, hashed: open addressing, linear probing, half full at most. The hash is keyed
 * at random, because the names come from a file of others. */
struct name_index {
    const struct call_order *order;
    uint64_t key[2];
    size_t *slots; /* index in the order + 1; 0 is free */
    size_t mask;
};

static size_t name_hash(const struct name_index *index, const char *bytes, size_t length)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t hash = index->key[0];
    for (size_t i = 0; i < length; i++) {
        wide product = (wide)(hash ^ (unsigned char)bytes[i]) * index->key[1];
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    return (size_t)(hash ^ hash >> 32);
}

static bool name_find(size_t *out, const struct name_index *index, const char *bytes, size_t length)
{
    for (size_t at = name_hash(index, bytes, length) & index->mask; index->slots[at];
         at = (at + 1) & index->mask) {
        const char *name = call_order_name(index->order, index->slots[at] - 1);
        if (strlen(name) == length && !memcmp(name, bytes, length)) {
            *out = index->slots[at] - 1;
            return true;
        }
    }
    return false;
}

static struct status name_index_build(struct name_index *index, const struct call_order *order)
{
    size_t size = 16;
    while (size < 2 * order->count + 1) size *= 2;
    index->order = order;
    if (getrandom(index->key, sizeof index->key, GRND_NONBLOCK) != (ssize_t)sizeof index->key)
        index->key[1] = UINT64_C(0x13198a2e03707345); /* still right, only open to crafted names */
    index->key[1] |= 1;
    index->mask = size - 1;
    index->slots = memory_allocate_zeroed(size, sizeof *index->slots);
    if (!index->slots) return status_no_memory(size * sizeof *index->slots);
    for (size_t i = 0; i < order->count; i++) {
        const char *name = call_order_name(order, i);
        size_t at = name_hash(index, name, strlen(name)) & index->mask;
        while (index->slots[at]) at = (at + 1) & index->mask;
        index->slots[at] = i + 1;
    }
    return status_ok();
}

/* The call that a details row belongs to: its name without ".{direction}.output.{i}". */
static bool find_owner(size_t *out, const struct name_index *index, struct csv_text cell)
{
    size_t length = cell.length;
    for (int dots = 0; dots < 3; dots++) {
        while (length && cell.bytes[length - 1] != '.') length--;
        if (!length) return false;
        length--;
    }
    return name_find(out, index, cell.bytes, length);
}

enum { HAS_RESULT = 1, HAS_DETAILS = 2, IS_SUSPECT = 4 };

static bool is_trusted(const struct resume_scan *scan, const unsigned char *marks, size_t i)
{
    bool dropout = strstr(call_order_name(scan->order, i), "dropout") != NULL;
    return marks[i] & HAS_RESULT && !(marks[i] & IS_SUSPECT) && (marks[i] & HAS_DETAILS || dropout);
}

static struct status mark_result_rows(unsigned char *marks, const struct name_index *index,
                                      struct row_source *result)
{
    size_t call, last = SIZE_MAX;
    for (; result->more && is_result_row(&result->row);) {
        struct csv_text cell = result->row.cells[0];
        if (!name_find(&call, index, cell.bytes, cell.length))
            return status_error(STATUS_BAD_INPUT, "%s has a row of %.*s, which this run has not",
                                result->reader.name, (int)(cell.length < 200 ? cell.length : 200),
                                cell.bytes);
        marks[call] |= HAS_RESULT;
        last = call;
        TRY(source_next(result));
    }
    /* That writer puts the result row first, so the last one may lack details rows. */
    if (last != SIZE_MAX) marks[last] |= IS_SUSPECT;
    return status_ok();
}

static struct status mark_details_rows(unsigned char *marks, const struct name_index *index,
                                       struct row_source *details)
{
    size_t call;
    for (; details->more;) {
        if (!details->row.torn && find_owner(&call, index, details->row.cells[0]))
            marks[call] |= HAS_DETAILS;
        TRY(source_next(details));
    }
    return status_ok();
}

static struct status keep_result_rows(struct resume_scan *scan, const unsigned char *marks,
                                      const struct name_index *index, struct row_source *result)
{
    size_t call;
    TRY(kept_bytes_add(&scan->result, 0, result->row.end));
    for (;;) {
        TRY(source_next(result));
        if (!result->more || !is_result_row(&result->row)) return status_ok();
        const struct csv_text *cells = result->row.cells;
        if (!name_find(&call, index, cells[0].bytes, cells[0].length) ||
            !is_trusted(scan, marks, call) || scan->done[call])
            continue;
        scan->done[call] = true;
        scan->kept++;
        if (scan->visit) scan->visit(scan->context, call, cells[1], cells[2]);
        TRY(kept_bytes_add(&scan->result, result->row.begin, result->row.end));
    }
}

static struct status keep_details_rows(struct resume_scan *scan, const struct name_index *index,
                                       struct row_source *details)
{
    size_t call;
    TRY(kept_bytes_add(&scan->details, 0, details->row.end));
    for (;;) {
        TRY(source_next(details));
        if (!details->more) return status_ok();
        if (!details->row.torn && find_owner(&call, index, details->row.cells[0]) &&
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
    TRY(source_open(&source, file));
    struct status status = take_header(usable, &source, columns, name_spellings);
    if (!status.code && *usable && skip_header) status = source_next(&source);
    if (!status.code && *usable) status = pass(context, &source);
    csv_close(&source.reader);
    return status;
}

struct named_scan {
    struct resume_scan *scan;
    struct name_index index;
    unsigned char *marks;
};

static struct status pass_mark_result(void *context, struct row_source *source)
{
    struct named_scan *named = context;
    return mark_result_rows(named->marks, &named->index, source);
}

static struct status pass_mark_details(void *context, struct row_source *source)
{
    struct named_scan *named = context;
    return mark_details_rows(named->marks, &named->index, source);
}

static struct status pass_keep_result(void *context, struct row_source *source)
{
    struct named_scan *named = context;
    return keep_result_rows(named->scan, named->marks, &named->index, source);
}

static struct status pass_keep_details(void *context, struct row_source *source)
{
    struct named_scan *named = context;
    return keep_details_rows(named->scan, &named->index, source);
}

static struct status scan_named(struct named_scan *named, const struct file *result,
                                const struct file *details)
{
    bool has_result, has_details;
    TRY(with_rows(result, RESULT_COLUMNS - 1, &has_result, pass_mark_result, named, true));
    TRY(with_rows(details, COLUMN_COUNT, &has_details, pass_mark_details, named, true));
    if (!has_result || !has_details) return status_ok();
    TRY(with_rows(result, RESULT_COLUMNS - 1, &has_result, pass_keep_result, named, false));
    return with_rows(details, COLUMN_COUNT, &has_details, pass_keep_details, named, false);
}

/* ---- entry points ----------------------------------------------------------------------- */

struct status resume_scan_ordered(struct resume_scan *scan, const struct file *result,
                                  const struct file *details, const struct file *evidence)
{
    struct row_source result_rows, details_rows;
    struct evidence_reader *lines = memory_allocate_zeroed(1, sizeof *lines);
    if (!lines) return status_no_memory(sizeof *lines);
    lines->file = evidence;
    struct status status = source_open(&result_rows, result);
    if (!status.code) {
        status = source_open(&details_rows, details);
        if (!status.code) {
            status = scan_ordered(scan, &result_rows, &details_rows, lines);
            csv_close(&details_rows.reader);
        }
        csv_close(&result_rows.reader);
    }
    memory_release(lines);
    return status;
}

struct status resume_scan_named(struct resume_scan *scan, const struct file *result,
                                const struct file *details)
{
    struct named_scan named = { .scan = scan };
    struct status status = name_index_build(&named.index, scan->order);
    if (!status.code) {
        named.marks = memory_allocate_zeroed(scan->order->count, 1);
        status = named.marks ? scan_named(&named, result, details)
                             : status_no_memory(scan->order->count);
    }
    memory_release(named.marks);
    memory_release(named.index.slots);
    return status;
}
