/* HiFloat8 (Luo et al., "Ascend HiFloat8 Format for Deep Learning", arXiv 2409.16626, tables 1 to 4): floats of eight bits
 * whose precision falls with the distance of their exponent from 0. PyTorch has no dtype for them: torch_npu keeps their
 * codes in bytes and says by a number among the arguments what the bytes are.
 *
 * Behind the sign a prefix code says how many bits of exponent follow; they are a sign and what stands behind the leading
 * one of the magnitude, and the rest is the fraction:
 *
 *     prefix   exponents       fraction
 *     0001     0               3 bits
 *     001      1               3
 *     01       2 .. 3          3
 *     10       4 .. 7          2
 *     11       8 .. 15         1
 *     0000     2^(M - 23) for the last three bits M = 1 .. 7; 0 is the number 0, with the sign bit NaN
 *
 * The largest code of the last exponent, 0x6f, is infinity, so the largest number is 2^15. */
#ifndef PROBE_BENCH_OPS_HIFLOAT8_H
#define PROBE_BENCH_OPS_HIFLOAT8_H

#include "bench/call/op.h"

/* The largest finite number. */
#define HIFLOAT8_LARGEST 0x1p15

/* Does an argument name the format, by its number in torch_npu (290)? */
bool hifloat8_named(struct call *call, const char *name);

/* The number of a code, 0 .. 255. */
double hifloat8_value(unsigned code);

/* v rounded to the nearest number, of two to the larger magnitude (the paper's TA); what lies from 1.25 2^15 on becomes
 * infinity. There is one zero. */
double hifloat8_rounded(double v);

/* The code of a number of the format. */
unsigned hifloat8_code(double rounded);

/* May a kernel that rounds a number between low and high return `code`? Whether numbers beyond the largest become that one
 * and NaN 0, or infinity and NaN, is a setting of the processor: either is right. */
bool hifloat8_may_be(unsigned code, double low, double high);

/* Bytes as numbers: exact reals of x's shape. */
struct node *hifloat8_unpacked(struct call *call, const struct node *x);

#endif
