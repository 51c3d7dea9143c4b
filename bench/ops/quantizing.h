/* Rounding to the integers of a quantized dtype, where more than one of them can be right. */
#ifndef PROBE_BENCH_OPS_QUANTIZING_H
#define PROBE_BENCH_OPS_QUANTIZING_H

#include "bench/call/op.h"

/* The dtype of 8-bit floats that an argument names, as a dtype or as its number in torch (23, 24) or torch_npu (291, 292);
 * DT_NONE for any other. */
enum dtype float8_named(struct call *call, const char *name);

/* How a kernel may come to what it rounds: after `roundings` operations in float32 and, with `stored` of a half
 * precision, once rounded to that. */
struct quantizing {
    double roundings;
    enum dtype stored;
    const struct node
        *scale; /* what was divided by, computed, each of as many neighbouring elements; or NULL */
};

/* Return y in `dtype`: of integers the nearest, no smaller than `low` and no larger than `high`; of 8-bit floats y itself
 * within their range.
 *
 * A kernel rounds not y but its own z with |z - y| <= s, s = (roundings 2^-24 + u) (|y| + |shift|) with u the roundoff of
 * `stored` (0 without): each operation loses at most a relative 2^-24 of what it gives, and `shift`, the zero point that
 * y has in it, bounds what an addition can cancel. Beside small numbers an operation loses 2^-149, which after the division by
 * a scale is roundings 2^-149 (|y| + |shift| + 1) / scale more. So every integer within 1/2 + s of y is right, and the device's is
 * taken where it is one. */
void call_return_quantized(struct call *call, struct node *y, enum dtype dtype, double low,
                           double high, const struct quantizing *how, double shift);

/* The same for the whole range of `dtype`, int8 when it is DT_NONE. */
void call_return_quantized_as(struct call *call, struct node *y, enum dtype dtype,
                              const struct quantizing *how, double shift);

/* The codes of y's roundings to HiFloat8, in bytes; the device's where a kernel that is off by as much has those. */
void call_return_hifloat8(struct call *call, struct node *y, const struct quantizing *how,
                          double shift);

/* Return y as the argument `name` says: a dtype, by itself or by its number in torch or torch_npu, or HiFloat8. */
void call_return_quantized_named(struct call *call, struct node *y, const char *name,
                                 const struct quantizing *how, double shift);

/* Eight numbers of four bits in each int32, the lowest first, as integers: the last dimension is eight times as long. */
struct node *int4_unpacked(struct call *call, struct node *x);

#endif
