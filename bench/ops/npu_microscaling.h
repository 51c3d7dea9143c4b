/* Blocks of floats of 8 or 4 bits that share a power of two (OCP Microscaling Formats, MX). */
#ifndef PROBE_BENCH_OPS_NPU_MICROSCALING_H
#define PROBE_BENCH_OPS_NPU_MICROSCALING_H

#include "bench/ops/four_bits.h"

/* What blocks become. */
struct blocks {
    enum dtype dtype;             /* 8-bit floats; DT_NONE: of four bits */
    const struct four_bits *four; /* or NULL */
    enum four_bits_rounding rounding;
    int64_t algorithm; /* how a scale follows from the largest magnitude: scale_alg */
    double least;      /* what that counts as at least, with algorithm 1 */
};

/* From the arguments dst_type, scale_alg and round_mode; false, having failed, when they are not followed. */
bool blocks_read(struct call *call, struct blocks *how);

/* The numbers of x as a kernel may come to them: after `roundings` operations in float32 and, with `stored` of a half
 * precision, once rounded to that. Each loses at most a relative 2^-24, or the unit roundoff of `stored`, of `magnitude`,
 * x itself when NULL: where x is a sum, that of the magnitudes. 0 roundings: x is exact. */
bool between_roundings(struct call *call, struct between *numbers, struct node *x, double roundings,
                       enum dtype stored, struct node *magnitude);

/* Return x in blocks of 32 along dim, each by its power of two, and hand out the bytes of those (by_shared_scales):
 * of more than one that a kernel with numbers between `numbers` can come to, the one that is the device's output
 * `bytes_at`. Numbers of four bits are packed. */
struct node *return_in_blocks(struct call *call, struct node *x, int dim, const struct blocks *how,
                              const struct between *numbers, size_t bytes_at);

/* x by the powers of two that its blocks of 32 positions along `dim` share: exact reals of x's shape. The exponents lie in
 * `scales`, bytes of the format e8m0 (the value of byte u is 2^(u - 127)), which has one dimension more than x: block b is
 * element (b / 2, b % 2) of dimension `dim` and the last one. `first` (NULL: 0) says for each position along dim in which
 * block the block of position 0 of its group lies, in pairs, and where the group begins:
 * position i is in block 2 first[i] + (i - start[i]) / 32. */
struct node *by_shared_scales(struct call *call, struct node *x, struct node *scales, int dim,
                              const int64_t *first, const int64_t *start);

#endif
