/* Pairs of whole calls, as the first generation of the reference made them for PyTorch: all rows of an entry
 * have partners or none. */
#ifndef PROBE_COMPARE_DUMPS_CALL_PAIRING_H
#define PROBE_COMPARE_DUMPS_CALL_PAIRING_H

#include "compare/dumps/pairing.h"

/* Two entries agree when the names of all their rows do, and the shapes and dtypes of all inputs and
 * outputs; float16 may meet float32 and bfloat16. Agreeing entries become partners in order, by the walk of
 * queue_match.h, and their rows in order.
 *
 *   fuzzy  names are taken without the counters of calls */
struct status pairing_by_call(struct pairing *out, const struct dump_pair *dumps, bool fuzzy);

#endif
