/* The values of --arg as Python writes them: -1, 0.5, True, None, 'mean', [2, 3], torch.float16. */
#ifndef PROBE_CLI_TRY_VALUE_H
#define PROBE_CLI_TRY_VALUE_H

#include "core/arena.h"
#include "core/status.h"
#include "core/value.h"

/* Read a value; what is nothing else is a string. STATUS_BAD_ARGUMENT for a list that does not end or
 * is nested more than eight times. */
struct status try_value_read(struct value *out, struct arena *arena, const char *text);

#endif
