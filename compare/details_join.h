/* The two ways to find the rows of one name in both files.
 *
 * In step: runs write their calls in the order of the dump, so both files are read side by side, and what
 * is in memory does not grow with them. A call is a name and a number that grows from call to call
 * ("Torch.add.7"), so that a number beyond all earlier ones tells that a call is new, and one beyond the
 * one wanted that it will not come, without a table of names.
 *
 * By a table of all names: for files in any other order.
 */
#ifndef PROBE_COMPARE_DETAILS_JOIN_H
#define PROBE_COMPARE_DETAILS_JOIN_H

#include "compare/details_output.h"
#include "compare/framework_names.h"

/* Compare the files, from the start of `out` on.
 *
 *   in_step  false: the files are not in step, and what was written and told does not count
 */
struct status details_join_in_step(bool *in_step, struct comparison_output *out,
                                   const struct framework_names *other_names);
struct status details_join_by_table(struct comparison_output *out,
                                    const struct framework_names *other_names);

#endif
