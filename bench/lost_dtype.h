/* A dtype among the arguments that the dumper could not record: it writes {} for it by position (its first versions null) and under
 * any keyword but `dtype`. The call's result has it. */
#ifndef PROBE_BENCH_LOST_DTYPE_H
#define PROBE_BENCH_LOST_DTYPE_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

/* Put the dtype of the first recorded output where the API takes that of its result and none was recorded:
 * x.to({}) is x.to(torch.float16) when it returned that, and x.to({}, {}) is x.to(None, torch.float16).
 *
 *   c       its args and kwargs are replaced by copies when there is such a place; a call of PyTorch
 *   arena   owns the copy
 *   errors  STATUS_NO_MEMORY
 */
struct status lost_dtype_restore(struct api_case *c, struct arena *arena);

#endif
