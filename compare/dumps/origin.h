/* Where a difference arises: the first output that is off although all that it was computed from
 * agrees.
 */
#ifndef PROBE_COMPARE_DUMPS_ORIGIN_H
#define PROBE_COMPARE_DUMPS_ORIGIN_H

#include "compare/dumps/result.h"

/* Is a row a warning or an error? */
bool row_differs(const struct comparison *c, uint32_t row);

/* The first row that differs and is an output of an entry
 *   - all of whose inputs and parameters have partners and agree,
 *   - inside of which nothing differs (a module with a module below it that does),
 *   - whose forward call, if it is a backward one, does not differ: gradients are computed from what
 *     the forward call saw.
 * ROW_NONE when there is none: every difference came in through an input. */
struct status origin_find(uint32_t *row, const struct comparison *c);

#endif
