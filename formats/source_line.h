/* The line of the user's program that made a call, from the stack that was recorded with it. */
#ifndef PROBE_FORMATS_SOURCE_LINE_H
#define PROBE_FORMATS_SOURCE_LINE_H

#include <stdbool.h>

#include "formats/stacks.h"

enum { SOURCE_LINE_BYTES = 400 };

/* "models.py:72 in forward: pos = torch.arange(0, idx.size(1))", of the innermost frame that is neither
 * of the recorder nor of the framework or of Python's own library; where there is none, of the innermost
 * that is not of the recorder. One line without control characters, cut behind a character.
 *
 *   call     full name of the call, "Torch.matmul.3": its forward is looked up
 *   returns  false, and "" in `out`, when there is no such stack or frame
 *   threads  safe
 */
bool source_line_of_call(char out[SOURCE_LINE_BYTES], const struct stacks *stacks,
                         const char *call);

#endif
