/* Roundings and sums of kernels that compute in less than they should. Products and sums are float's
 * before they are rounded further: the registers of such kernels are. */
#include "bench/tape/deviation.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

struct rounding rounding_to(enum dtype dtype)
{
    const struct dtype_info *info = dtype_info(dtype);
    return (struct rounding){ info->significand_bits, info->exponent_min, info->largest, false };
}

/* 2^e for -1022 <= e <= 1023. */
static double power_of_two(int e)
{
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double rounding_apply(const struct rounding *rounding, double x)
{
    uint64_t bits;
    if (!rounding->bits || x == 0 || !isfinite(x)) return x;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (exponent < rounding->exponent_min) exponent = rounding->exponent_min;
    int place = exponent - rounding->bits + 1;
    if (place < -1022) return x;
    double unit = power_of_two(place), count = x / unit;
    double y = (rounding->toward_zero ? trunc(count) : rint(count)) * unit;
    if (!(fabs(y) > rounding->largest)) return y == 0 ? copysign(0, x) : y;
    return copysign(rounding->toward_zero ? rounding->largest : INFINITY, x);
}

void rounding_apply_all(const struct rounding *rounding, double *x, size_t n)
{
    for (size_t i = 0; rounding->bits && i < n; i++) x[i] = rounding_apply(rounding, x[i]);
}

static void end_block(struct accumulator *sum)
{
    const struct rounding *rounding = &sum->deviation->sums;
    sum->total =
        rounding_apply(rounding, (float)(sum->total + rounding_apply(rounding, sum->partial)));
    sum->partial = 0;
    sum->in_block = 0;
}

void accumulator_add(struct accumulator *sum, double term)
{
    const struct deviation *deviation = sum->deviation;
    const struct rounding exact = { 0, 0, 0, false };
    const struct rounding *within = deviation->wide_blocks ? &exact : &deviation->sums;
    if (!deviation->block) {
        sum->total = rounding_apply(&deviation->sums, (float)(sum->total + (float)term));
        return;
    }
    sum->partial = rounding_apply(within, (float)(sum->partial + (float)term));
    if (++sum->in_block == deviation->block) end_block(sum);
}

double accumulator_total(const struct accumulator *sum)
{
    struct accumulator ended = *sum;
    if (!sum->in_block) return sum->total;
    /* The last, incomplete block is added in the accumulator's registers. */
    if (sum->deviation->wide_blocks) return (float)(sum->total + sum->partial);
    end_block(&ended);
    return ended.total;
}
