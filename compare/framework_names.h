/* Details rows of a MindSpore run under the names that a PyTorch run has for the same APIs: Mint is Torch,
 * MintFunctional is Functional, the others stand in config/ms_to_pt_api.json. */
#ifndef PROBE_COMPARE_FRAMEWORK_NAMES_H
#define PROBE_COMPARE_FRAMEWORK_NAMES_H

#include "core/status.h"
#include "formats/csv.h"
#include "results/details_file.h"

struct framework_names; /* the table, read when it is first needed */

struct status framework_names_load(struct framework_names **out);
void framework_names_release(struct framework_names *names); /* NULL is fine */

/* The `choice`-th name (0, 1, ...) of a row of PyTorch that may be of the same output; its length, 0
 * when there is none, or it does not fit into `bytes`.
 *
 *   row   the row's own name, `parts` what row_name_split says of it
 */
size_t framework_names_map(char *text, size_t bytes, const struct framework_names *names,
                           struct csv_text row, const struct row_name *parts, int choice);

#endif
