/* What the evidence file of a run says of its rows, by name: the comparisons that were made. */
#ifndef PROBE_RESULTS_EVIDENCE_TABLE_H
#define PROBE_RESULTS_EVIDENCE_TABLE_H

#include "core/file.h"
#include "core/status.h"
#include "formats/csv.h"
#include "standards/three_way/three_way_row.h"

struct evidence_table;

/* Read a file. Lines that are no evidence, and a last one that is torn, are left out; of a name that is there twice
 * the first line counts.
 *
 *   out     to be released; untouched on failure
 *   errors  what reading reports; STATUS_NO_MEMORY
 */
struct status evidence_table_read(struct evidence_table **out, const char *path,
                                  struct file_policy policy);
void evidence_table_release(struct evidence_table *table);

/* Of the row of this name; NULL without a table or a line. Valid until the release. */
const struct row_evidence *evidence_table_find(const struct evidence_table *table,
                                               struct csv_text name);

/* Lines that could not be read. */
uint64_t evidence_table_unreadable(const struct evidence_table *table);

/* Has the error model made one of the comparisons? */
bool row_evidence_is_of_model(const struct row_evidence *evidence);

#endif
