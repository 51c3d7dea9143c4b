/* Our own files: three of them read side by side, call by call, until one has nothing more to say. */
#include <string.h>

#include "core/memory.h"
#include "results/details_file.h"
#include "results/evidence.h"
#include "results/result_row.h"
#include "results/resume.h"
#include "results/row_source.h"
#include "standards/judge.h"

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

/* The three files, and how far the two that can be repaired agree with the details. */
struct sources {
    struct row_source result, details;
    struct evidence_reader *evidence;
    bool result_ended, evidence_ended;
};

/* One call's part of the files. */
struct group {
    bool whole;         /* all details rows are there */
    bool has_result;    /* and the result row, */
    bool has_evidence;  /* and a line of evidence for each that should have one, */
    bool device_failed; /* one of which says that the device failed */
    uint64_t result_end, details_end, evidence_end;
};

/* The next line of evidence must be that of the details row, if that has one. */
static struct status pass_evidence(struct group *group, struct sources *files,
                                   const struct resume_scan *scan)
{
    const struct csv_text *cells = files->details.row.cells, row_name = cells[0];
    const struct csv_text status = cells[layout_place(scan->layout, COLUMN_STATUS)];
    struct evidence_line line;
    bool whole;
    if (files->evidence_ended) return status_ok();
    if (!evidence_has_line(scan->extent, details_verdict(status))) return status_ok();
    TRY(evidence_next(files->evidence, &whole, &line));
    files->evidence_ended = !whole || line.name.length != row_name.length ||
                            memcmp(line.name.bytes, row_name.bytes, row_name.length) != 0;
    if (files->evidence_ended) return status_ok();
    group->evidence_end = line.end;
    group->device_failed |= line.cause == CAUSE_DEVICE_FAILED;
    return status_ok();
}

static struct status pass_result(struct group *group, struct sources *files, const char *name)
{
    if (files->result_ended) return status_ok();
    files->result_ended = !row_source_is_result(&files->result) ||
                          !csv_text_equal(files->result.row.cells[RESULT_NAME], name);
    if (files->result_ended) return status_ok();
    group->has_result = true;
    group->result_end = files->result.row.end;
    return row_source_next(&files->result);
}

/* Move all files over call `name`. */
static struct status pass_group(struct group *group, struct sources *files, const char *name,
                                const struct resume_scan *scan)
{
    struct row_source *details = &files->details;
    size_t rows = 0;
    *group = (struct group){ .whole = false };
    while (details->more && !details->row.torn && details->row.count == scan->layout->count &&
           resume_row_belongs(details->row.cells[0], name)) {
        group->details_end = details->row.end;
        rows++;
        TRY(pass_evidence(group, files, scan));
        TRY(row_source_next(details));
    }
    /* A torn row may be one more of this call, and so may what comes after the end. */
    group->whole = rows && details->more && !details->row.torn;
    group->has_evidence = !files->evidence_ended;
    return pass_result(group, files, name);
}

/* How far the files are good, seen from some call. */
struct mark {
    size_t calls, with_result, with_evidence;
    uint64_t result_end, details_end, evidence_end;
};

static void move_mark(struct mark *mark, const struct group *group)
{
    mark->calls++;
    mark->details_end = group->details_end;
    if (group->has_result) {
        mark->with_result = mark->calls;
        mark->result_end = group->result_end;
    }
    if (group->has_evidence) {
        mark->with_evidence = mark->calls;
        if (group->evidence_end) mark->evidence_end = group->evidence_end;
    }
}

/* Behind the headers. *proven is where the evidence ends. */
static struct status find_marks(struct mark *all, struct mark *proven, struct sources *files,
                                const struct resume_scan *scan)
{
    *proven = *all;
    while (all->calls < scan->order->count) {
        struct group group;
        TRY(pass_group(&group, files, call_order_name(scan->order, all->calls), scan));
        if (!group.whole || (!group.has_result && !group.has_evidence)) break;
        if (scan->retry_failed && group.has_evidence && group.device_failed) break;
        move_mark(all, &group);
        if (group.has_evidence) *proven = *all;
    }
    return status_ok();
}

static struct status keep_up_to(struct resume_scan *scan, const struct mark *mark)
{
    scan->kept = mark->calls;
    scan->with_result = mark->with_result;
    scan->with_evidence = mark->with_evidence;
    scan->evidence_end = mark->evidence_end;
    for (size_t i = 0; i < scan->kept; i++) scan->done[i] = true;
    if (mark->result_end) TRY(kept_bytes_add(&scan->result, 0, mark->result_end));
    return kept_bytes_add(&scan->details, 0, mark->details_end);
}

static struct status scan_files(struct resume_scan *scan, struct sources *files,
                                uint64_t evidence_bytes)
{
    bool has_result, has_details;
    TRY(row_source_header(&has_result, &files->result, RESULT_COLUMNS - 1));
    TRY(row_source_header(&has_details, &files->details, scan->layout->count));
    if (!has_details) return status_ok();
    files->result_ended = !has_result;
    struct mark proven, all = { .result_end = has_result ? files->result.row.end : 0,
                                .details_end = files->details.row.end };
    if (has_result) TRY(row_source_next(&files->result));
    TRY(row_source_next(&files->details));
    TRY(find_marks(&all, &proven, files, scan));
    bool redo = evidence_bytes && all.calls - proven.calls <= RESUME_REDONE;
    return keep_up_to(scan, redo ? &proven : &all);
}

struct status resume_scan_ordered(struct resume_scan *scan, const struct file *result,
                                  const struct file *details, const struct file *evidence)
{
    uint64_t evidence_bytes;
    struct sources files = { .evidence = NULL };
    TRY(file_size(&evidence_bytes, evidence));
    files.evidence = memory_allocate_zeroed(1, sizeof *files.evidence);
    if (!files.evidence) return status_no_memory(sizeof *files.evidence);
    files.evidence->file = evidence;
    struct status status = row_source_open(&files.result, result, true);
    if (!status.code) {
        status = row_source_open(&files.details, details, true);
        if (!status.code) {
            status = scan_files(scan, &files, evidence_bytes);
            row_source_close(&files.details);
        }
        row_source_close(&files.result);
    }
    memory_release(files.evidence);
    return status;
}

struct status resume_visit(const struct file *result, resume_visitor *visit, void *context)
{
    struct row_source source;
    bool usable;
    TRY(row_source_open(&source, result, false));
    struct status status = row_source_header(&usable, &source, RESULT_COLUMNS - 1);
    if (!status.code && usable) status = row_source_next(&source);
    while (!status.code && usable && row_source_is_result(&source)) {
        visit(context, source.row.cells[RESULT_FORWARD], source.row.cells[RESULT_BACKWARD]);
        status = row_source_next(&source);
    }
    row_source_close(&source);
    return status;
}

static bool is_failing(struct csv_text cell)
{
    enum verdict verdict = details_verdict(cell);
    return verdict == VERDICT_ERROR || verdict == VERDICT_WARNING;
}

static void count_call(void *context, struct csv_text forward, struct csv_text backward)
{
    struct result_counts *counts = context;
    counts->calls++;
    counts->failing += is_failing(forward) || is_failing(backward);
}

struct status result_counts_add(struct result_counts *counts, const struct file *result)
{
    return resume_visit(result, count_call, counts);
}
