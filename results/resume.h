/* What of a run's files can be trusted after it died, or after somebody cut or lost one of them.
 *
 * For our own files the rows stand in the order of the calls, so what is trusted is a prefix:
 *
 *   - the details rows of a call must all be there. How many there are is known only by the call
 *     behind it, so the last group of the file is never trusted: at most one call is done once more.
 *   - a result row that is missing is made up from the details rows, when there is evidence of them.
 *   - evidence that is missing costs no row. A few calls at the end without it are what a power
 *     failure leaves, and are done again; more than that, or a file that is gone, was lost in another
 *     way, and their lines say so (results/resume_repair.h).
 *
 * For the files of msprobe, whose processes write in any order, the names decide: a call is trusted
 * when it has a whole result row that is not the last one and it has details rows, or is a dropout,
 * which has none there.
 */
#ifndef PROBE_RESULTS_RESUME_H
#define PROBE_RESULTS_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "formats/csv.h"
#include "results/call_order.h"
#include "results/evidence.h"
#include "results/kept_bytes.h"
#include "standards/row_layout.h"

enum { RESUME_REDONE = 256 }; /* most calls that are done again for the sake of their evidence */

struct resume_scan {
    const struct call_order *order;
    const struct row_layout *layout;
    enum evidence_extent extent; /* which rows have evidence */
    bool retry_failed; /* stop at a call whose device failed (crashed, hung), to do it again */
    bool *done;        /* order->count flags, set for the calls that are kept */
    size_t kept;       /* calls that stay as they are */
    struct kept_bytes result, details;
    uint64_t evidence_end; /* bytes of evidence that stay */
    /* Of our own files: how many of the calls that are kept have a result row, and evidence where they
     * should. The others need theirs made. */
    size_t with_result, with_evidence;
};

/* Scan our own files. Headers that are torn keep nothing. */
struct status resume_scan_ordered(struct resume_scan *scan, const struct file *result,
                                  const struct file *details, const struct file *evidence);

/* Scan files of another writer, who left no evidence. */
struct status resume_scan_named(struct resume_scan *scan, const struct file *result,
                                const struct file *details);

/* Told of the two verdict cells of each row of a result file. */
typedef void resume_visitor(void *context, struct csv_text forward, struct csv_text backward);
struct status resume_visit(const struct file *result, resume_visitor *visit, void *context);

/* Calls of a result file, and how many of them have an error or a warning. */
struct result_counts {
    size_t calls, failing;
};

/* Add those of a file. */
struct status result_counts_add(struct result_counts *counts, const struct file *result);

/* Is the first cell of a details row one of the call's rows? */
bool resume_row_belongs(struct csv_text cell, const char *name);

#endif
