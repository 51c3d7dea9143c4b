/* A dtype among the positional arguments that the dumper could not record: it writes {} for it, its first versions null.
 * The call's result has it. */
#ifndef PROBE_BENCH_LOST_DTYPE_H
#define PROBE_BENCH_LOST_DTYPE_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

/* Put the dtype of the first recorded output where the API takes a dtype by position and none was recorded:
 * x.to({}) is x.to(torch.float16) when it returned that, and x.to({}, {}) is x.to(None, torch.float16).
 *
 *   c       its args are replaced by a copy when there is such a place; a call of PyTorch
 *   arena   owns the copy
 *   errors  STATUS_NO_MEMORY
 */
struct status lost_dtype_restore(struct api_case *c, struct arena *arena);

#endif
