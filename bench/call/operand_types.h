/* The dtype of a result, from those of the operands. */
#ifndef PROBE_BENCH_CALL_OPERAND_TYPES_H
#define PROBE_BENCH_CALL_OPERAND_TYPES_H

#include "bench/tape/tape.h"

struct call;

/* PyTorch's result type of the operands: dimensioned tensors, then 0-d tensors, then Python
 * numbers, a lower category counting only when its kind is higher. Python floats are float32
 * (the default dtype) when nothing else decides. */
enum dtype call_result_type(struct call *call, struct node *const *nodes, int count);

/* The same for functions that make floats of integers: integral results become float32. */
enum dtype call_float_type(struct call *call, struct node *const *nodes, int count);

#endif
