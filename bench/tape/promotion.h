/* PyTorch's promotion of dtypes. */
#ifndef PROBE_BENCH_TAPE_PROMOTION_H
#define PROBE_BENCH_TAPE_PROMOTION_H

#include "core/dtype.h"

/* The smallest dtype that holds values of both, by kind first (bool < integers < floats <
 * complex), then by width. DT_NONE, the dtype of Python numbers, is neutral. */
enum dtype dtype_promote(enum dtype a, enum dtype b);

#endif
