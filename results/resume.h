/* What of a run's files can be trusted after it died.
 *
 * For our own files the rows stand in the order of the calls, so the trusted part is a prefix:
 * calls whose result row is whole and whose details rows are all there. How many details rows a
 * call has is known only by the call behind it, so the last group of the details file is never
 * trusted: at most one call is done once more. For the files of msprobe, whose processes write in
 * any order, the names decide: a call is trusted when it has a whole result row that is not the
 * last one and it has details rows, or is a dropout, which has none there.
 */
#ifndef PROBE_RESULTS_RESUME_H
#define PROBE_RESULTS_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "formats/csv.h"
#include "results/call_order.h"
#include "results/kept_bytes.h"

/* Told of each call that is kept: its index in the order and its two verdict cells. */
typedef void resume_visitor(void *context, size_t index, struct csv_text forward,
                            struct csv_text backward);

struct resume_scan {
    const struct call_order *order;
    bool retry_failed; /* stop at a call whose device failed (crashed, hung), to do it again */
    bool *done;
    size_t kept;
    struct kept_bytes result, details;
    uint64_t evidence_end; /* bytes of evidence that stay */
    resume_visitor *visit;
    void *context;
};

/* Scan our own files. A call is kept when it has a line of evidence for each details row, too.
 * Headers that are torn keep nothing. */
struct status resume_scan_ordered(struct resume_scan *scan, const struct file *result,
                                  const struct file *details, const struct file *evidence);

/* Scan files of another writer, who left no evidence. */
struct status resume_scan_named(struct resume_scan *scan, const struct file *result,
                                const struct file *details);

/* Is the first cell of a details row one of the call's rows? */
bool resume_row_belongs(struct csv_text cell, const char *name);

#endif
