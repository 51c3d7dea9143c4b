/* Floats of four bits (OCP Microscaling Formats 1.0, section 5.3.3, and the format e1m2 of Ascend), two in a byte, the
 * element of the lower index in the lower half (PyTorch's float4_e2m1fn_x2), and integers of four bits in words. */
#ifndef PROBE_BENCH_OPS_FOUR_BITS_H
#define PROBE_BENCH_OPS_FOUR_BITS_H

#include "bench/call/op.h"

/* A sign and three bits; `values` of these in order. `exponent` is that of the largest value. */
struct four_bits {
    int64_t number; /* of its dtype in torch_npu */
    int exponent;
    double values[8];
};

/* The format that an argument names by its number in torch_npu (296 e2m1, 297 e1m2); NULL for any other. */
const struct four_bits *four_bits_named(struct call *call, const char *name);

/* e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6. */
const struct four_bits *four_bits_e2m1(void);

enum four_bits_rounding {
    FOUR_BITS_RINT,  /* the nearest, of two the one with an even code */
    FOUR_BITS_ROUND, /* the nearest, of two the larger magnitude */
    FOUR_BITS_FLOOR, /* the next one below */
    FOUR_BITS_UNKNOWN
};

/* "rint", "round" or "floor". */
enum four_bits_rounding four_bits_rounding_named(const char *name);

/* v rounded; what lies beyond the largest value becomes that. */
double four_bits_rounded(const struct four_bits *format, double v, enum four_bits_rounding how);

/* Numbers that a kernel knows up to its own roundings: each lies between `low` and `high`, `own` among them. */
struct between {
    const double *own, *low, *high;
};

/* Return the numbers of `like`'s shape in bytes, two in each, whose last dimension is half as long: the code of `own`,
 * or what the device has where both halves are the rounding of a number between low and high. Either zero is right. */
void call_return_four_bits(struct call *call, const struct node *like,
                           const struct between *numbers, const struct four_bits *format,
                           enum four_bits_rounding how);

/* The same for integers from -8 to 7, eight in each int32, the lowest first: the nearest, of two the even one. */
void call_return_int4(struct call *call, const struct node *like, const struct between *numbers);

/* Bytes as numbers: exact reals, the last dimension twice as long. */
struct node *four_bits_unpacked(struct call *call, const struct node *x,
                                const struct four_bits *format);

#endif
