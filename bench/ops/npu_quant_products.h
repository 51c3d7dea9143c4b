/* Quantized products that rows of other families share. */
#ifndef PROBE_BENCH_OPS_NPU_QUANT_PRODUCTS_H
#define PROBE_BENCH_OPS_NPU_QUANT_PRODUCTS_H

#include "bench/call/op.h"

/* npu_grouped_matmul with `scale`: integers, 8-bit floats, HiFloat8 or floats of four bits, as x_dtype and weight_dtype say,
 * in groups of rows (group_type 0: scales of groups and columns, per_token_scale of rows) or of the inner dimension (2: scales
 * of groups), or with a byte for each block of 32 positions of the inner dimension (npu_microscaling.h). In `dtype`. */
void return_grouped_quantized(struct call *call, enum dtype dtype);

#endif
