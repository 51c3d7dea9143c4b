/* Quantization with scales that the numbers themselves give. */
#ifndef PROBE_BENCH_OPS_NPU_QUANTIZATION_H
#define PROBE_BENCH_OPS_NPU_QUANTIZATION_H

#include "bench/call/op.h"

/* The largest magnitude of x, 0 without (NULL): the `shift` of call_return_quantized. */
double largest_of(struct tape *tape, struct node *x);

/* Return x divided by its scale, the largest magnitude of each row over the top of the dtype, quantized after `roundings`
 * operations (struct quantizing). The scales are handed out, for the result that holds them. */
struct node *return_dynamic(struct call *call, struct node *x, enum dtype dtype, double roundings);

#endif
