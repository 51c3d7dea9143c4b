/* Blocks of 8-bit floats that share a power of two (OCP Microscaling Formats, MX). */
#ifndef PROBE_BENCH_OPS_NPU_MICROSCALING_H
#define PROBE_BENCH_OPS_NPU_MICROSCALING_H

#include "bench/call/op.h"

/* The dtype of 8-bit floats that an argument names, as a dtype or as its number in torch (23, 24) or torch_npu (291, 292);
 * DT_NONE for any other. */
enum dtype float8_named(struct call *call, const char *name);

/* x by the powers of two that its blocks of 32 positions along `dim` share: exact reals of x's shape. The exponents lie in
 * `scales`, bytes of the format e8m0 (the value of byte u is 2^(u - 127)), which has one dimension more than x: block b is
 * element (b / 2, b % 2) of dimension `dim` and the last one. `first` (NULL: 0) says for each position along dim in which
 * block the block of position 0 of its group lies, in pairs, and where the group begins:
 * position i is in block 2 first[i] + (i - start[i]) / 32. */
struct node *by_shared_scales(struct call *call, struct node *x, struct node *scales, int dim,
                              const int64_t *first, const int64_t *start);

#endif
