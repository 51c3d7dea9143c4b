/* One pass over the details rows that are kept, with the evidence beside them as far as it goes. */
#include "results/resume_repair.h"

#include <string.h>

#include "core/memory.h"
#include "results/details_file.h"
#include "results/evidence.h"
#include "results/result_row.h"
#include "results/row_source.h"

enum { WRITE_BYTES = 1 << 20 }; /* appended at a time */

struct repair {
    const struct file *result_file, *evidence_file;
    const struct resume_scan *scan;
    const char *repeat;
    struct row_source details;
    struct evidence_reader *reader;
    struct csv_buffer result, evidence; /* still to be written */
    size_t evidence_lost;               /* calls */
};

/* A call, from its rows. */
struct group {
    enum verdict verdicts[2];
    char *messages[2];   /* of the first row in each direction; owned */
    bool never_run;      /* its rows say that nothing was tried */
    bool lacks_evidence; /* of a row that should have some */
};

static struct status take_message(char **message, struct csv_text cell, bool joins)
{
    size_t before = *message ? strlen(*message) : 0;
    if (*message && !joins) return status_ok();
    char *longer = memory_resize(*message, before + cell.length + 1);
    if (!longer) return status_no_memory(before + cell.length + 1);
    memcpy(longer + before, cell.bytes, cell.length);
    longer[before + cell.length] = '\0';
    *message = longer;
    return status_ok();
}

/* The cell of a column in the row in hand. */
static struct csv_text cell_of(const struct repair *repair, enum details_column column)
{
    size_t place = layout_place(repair->scan->layout, column);
    const struct csv_row *row = &repair->details.row;
    return place < row->count ? row->cells[place] : (struct csv_text){ "", 0 };
}

static struct status add_lost_line(struct repair *repair, const char *call)
{
    return evidence_append_lost(&repair->evidence, cell_of(repair, COLUMN_NAME),
                                details_verdict(cell_of(repair, COLUMN_STATUS)),
                                cell_of(repair, COLUMN_MESSAGE), repair->repeat, call);
}

/* The row in hand: what it says about its call. */
static struct status take_row(struct group *group, struct repair *repair, const char *call,
                              bool has_evidence)
{
    struct row_name name;
    bool backward = row_name_split(&name, cell_of(repair, COLUMN_NAME)) && name.backward;
    enum verdict *verdict = &group->verdicts[backward];
    enum verdict row = details_verdict(cell_of(repair, COLUMN_STATUS));
    *verdict = result_row_verdict(*verdict, row);
    TRY(take_message(&group->messages[backward], cell_of(repair, COLUMN_MESSAGE),
                     repair->scan->layout->joins_messages));
    if (!evidence_has_line(repair->scan->extent, row)) return status_ok();
    group->lacks_evidence |= !has_evidence;
    if (!has_evidence) return add_lost_line(repair, call);
    struct evidence_line line;
    bool whole;
    TRY(evidence_next(repair->reader, &whole, &line));
    group->never_run |= whole && row_cause_before_device(line.cause);
    return status_ok();
}

static struct status take_call(struct group *group, struct repair *repair, size_t i)
{
    struct row_source *details = &repair->details;
    const char *name = call_order_name(repair->scan->order, i);
    while (details->more && resume_row_belongs(details->row.cells[0], name)) {
        TRY(take_row(group, repair, name, i < repair->scan->with_evidence));
        TRY(row_source_next(details));
    }
    if (i < repair->scan->with_result) return status_ok();
    /* A call that was not run has one row, forward; both directions are skipped, or those that there
     * are. */
    const struct call_order *order = repair->scan->order;
    bool both = !repair->scan->layout->joins_messages ||
                dump_has_backward(order->dump, order->positions[i]);
    if (group->never_run && group->verdicts[1] == VERDICT_BLANK && both)
        group->verdicts[1] = group->verdicts[0];
    const char *const messages[2] = { group->messages[0], group->messages[1] };
    return result_row_append(&repair->result, repair->scan->layout, name, group->verdicts,
                             messages);
}

/* Evidence before results, as always. */
static struct status write_out(struct repair *repair)
{
    TRY(file_write_all(repair->evidence_file, repair->evidence.data, repair->evidence.length));
    TRY(file_write_all(repair->result_file, repair->result.data, repair->result.length));
    csv_buffer_clear(&repair->evidence);
    csv_buffer_clear(&repair->result);
    return status_ok();
}

static struct status repair_calls(struct repair *repair)
{
    TRY(row_source_next(&repair->details)); /* the header */
    for (size_t i = 0; i < repair->scan->kept; i++) {
        struct group group = { .messages = { NULL, NULL } };
        struct status status = take_call(&group, repair, i);
        repair->evidence_lost += group.lacks_evidence;
        memory_release(group.messages[0]);
        memory_release(group.messages[1]);
        TRY(status);
        if (repair->evidence.length + repair->result.length > WRITE_BYTES) TRY(write_out(repair));
    }
    return write_out(repair);
}

struct status resume_repair(size_t *evidence_lost, const struct file *result,
                            const struct file *details, const struct file *evidence,
                            const struct resume_scan *scan, const char *repeat)
{
    struct repair repair = {
        .result_file = result, .evidence_file = evidence, .scan = scan, .repeat = repeat
    };
    *evidence_lost = 0;
    if (scan->with_result == scan->kept && scan->with_evidence == scan->kept) return status_ok();
    repair.reader = memory_allocate_zeroed(1, sizeof *repair.reader);
    if (!repair.reader) return status_no_memory(sizeof *repair.reader);
    repair.reader->file = evidence;
    struct status status = row_source_open(&repair.details, details, true);
    if (!status.code) {
        status = repair_calls(&repair);
        row_source_close(&repair.details);
    }
    *evidence_lost = repair.evidence_lost;
    csv_buffer_release(&repair.result);
    csv_buffer_release(&repair.evidence);
    memory_release(repair.reader);
    return status;
}
