/* Reading one input: its CSV, with evidence and timings beside it, into the columns of the page.
 *
 * All files of a run have the order of the dump, so they are read side by side, each once, and
 * nothing of them is kept. A row whose evidence is not the next line has none; a line that no row
 * asks for stops the evidence there, and a note says so.
 */
#ifndef PROBE_REPORT_HTML_INPUT_ROWS_H
#define PROBE_REPORT_HTML_INPUT_ROWS_H

#include "core/stop.h"
#include "pages/columns.h"
#include "report/html/inputs.h"
#include "report/html/overview.h"

/* What the reader of the page should know about the files. */
enum input_note_kind {
    NOTE_TORN_ROWS,        /* the last row is cut off; `number` rows stand */
    NOTE_UNREADABLE,       /* the file is broken behind row `number`; `text` says how */
    NOTE_NO_EVIDENCE,      /* a run without an evidence file */
    NOTE_FAILING_EVIDENCE, /* of `number` rows that passed none was kept (--evidence failing) */
    NOTE_OTHER_EVIDENCE,   /* the evidence does not fit the rows from line `number` on */
    NOTE_TORN_EVIDENCE,    /* lines that are cut off, too long or no JSON: `number` */
    NOTE_OTHER_TIMINGS,    /* the timings do not fit the rows from line `number` on */
    NOTE_ROW_FORM,         /* rows with too few or too many cells: `number` */
    NOTE_KINDS
};

struct input_note {
    bool set;
    uint64_t number;
    char text[512];
};

struct input_notes {
    struct input_note items[NOTE_KINDS];
};

extern const char *const input_note_names[NOTE_KINDS];

/* Read all rows of an input behind those that `columns` has.
 *
 *   notes   zeroed by the caller
 *   stop    asked now and then
 *   errors  files that cannot be opened; STATUS_INTERRUPTED; STATUS_NO_MEMORY, STATUS_IO. Bad content is noted
 */
struct status input_rows_read(struct columns *columns, struct overview *overview,
                              struct input_notes *notes, const struct input *input,
                              struct file_policy policy, struct stop stop);

#endif
