/* The reduction argument of losses. */
#ifndef PROBE_BENCH_OPS_LOSS_REDUCTION_H
#define PROBE_BENCH_OPS_LOSS_REDUCTION_H

#include "bench/ops/operands.h"

enum loss_reduction { LOSS_NONE, LOSS_MEAN, LOSS_SUM };

/* From `reduction`, a name or (torch._C functions) a number, unless the older size_average or
 * reduce are given, which then decide. */
enum loss_reduction loss_reduction(struct call *call);

/* The elements of a loss reduced so. */
struct node *loss_reduced(struct call *call, struct node *loss);

#endif
