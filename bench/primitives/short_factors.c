/* Formats: TF32 has 10 fraction bits and float32's exponents (NVIDIA A100 white paper); it comes from float32 by
 * cvt.rna.tf32.f32, to nearest, or by leaving out the low 13 bits. HF32 has 11; Ascend C's SetHF32TransMode
 * chooses between to nearest and toward zero. bf16x2 is oneMKL's float_to_bf16x2: two parts, three products. */
#include "bench/primitives/short_factors.h"

#include <math.h>

#include "bench/primitives/alias.h"
#include "bench/tape/bounds.h"

static const struct {
    enum kernel_mode mode; /* KERNEL_MODE_COUNT: none */
    struct rounding rounding;
    bool split; /* into two such numbers */
} formats[] = {
    [SHORT_TF32] = { KERNEL_TF32, { 11, -126, 0x1.ffcp127, false }, false },
    [SHORT_HF32] = { KERNEL_HF32, { 12, -126, 0x1.ffep127, false }, false },
    [SHORT_BF16] = { KERNEL_MODE_COUNT, { 8, -126, 0x1.fep127, false }, false },
    [SHORT_F16] = { KERNEL_MODE_COUNT, { 11, -14, 65504, false }, false },
    [SHORT_BF16X2] = { KERNEL_BF16X2, { 8, -126, 0x1.fep127, false }, true },
};
enum { FORMATS = sizeof formats / sizeof *formats };

static int format_of(const struct kernel_modes *modes)
{
    int k = 0;
    while (k < FORMATS &&
           !(modes && formats[k].mode < KERNEL_MODE_COUNT && modes->allowed[formats[k].mode]))
        k++;
    return k;
}

struct deviation short_factors_in(enum short_format format)
{
    struct rounding rounding = formats[format].rounding;
    return (struct deviation){ .operands = { rounding, rounding }, .split = formats[format].split };
}

bool short_factors_of(struct deviation *out, const struct kernel_modes *modes, bool cut_off)
{
    int k = format_of(modes);
    if (k == FORMATS) return false;
    struct rounding rounding = formats[k].rounding;
    rounding.toward_zero = cut_off;
    *out = (struct deviation){ .operands = { rounding, rounding }, .split = formats[k].split };
    return true;
}

/* One step of the format at x. */
static double step_at(double x, int bits)
{
    return x == 0 || !isfinite(x) ? 0 : ldexp(1, ilogb(x) + 1 - bits);
}

/* Half way between two numbers of the format: ties go to even or away from 0. */
static bool is_tie(double x, double step)
{
    double parts = fabs(x) / step;
    return parts - floor(parts) == 0.5;
}

/* What is open about a factor that is exact: where it goes from half way. Of a split one also the lower part, whose
 * sign is open where the upper one is at half way; its product with the other's, which is left out, changes with it. */
static double open_ties(double x, double step, int k)
{
    bool tie = is_tie(x, step);
    if (!formats[k].split) return tie ? step : 0;
    double lower = x - rounding_apply(&formats[k].rounding, x);
    double lower_step = step_at(lower, formats[k].rounding.bits);
    double left_out = tie ? fabs(lower) * 0x1p-8 : 0;
    return left_out + (lower_step > 0 && is_tie(lower, lower_step) ? lower_step : 0);
}

/* What is open about factor x with an error of up to (or, typically, of) e: a step where e decides on which side of
 * a boundary it comes to lie, which typically happens to 2e / step of the factors. */
static double open_error(const struct tape *tape, double x, double e, int k)
{
    double step = step_at(x, formats[k].rounding.bits);
    if (step == 0) return e;
    if (e == 0) return open_ties(x, step, k);
    if (formats[k].split) step = step_at(x, 2 * formats[k].rounding.bits);
    if (!tape_is_typical(tape)) return e + step;
    return sqrt(e * e + fmin(2 * e / step, 1) * step * step);
}

struct node *node_factor(struct tape *tape, struct node *x)
{
    int k = format_of(tape->modes);
    if (k == FORMATS || !tape_is_model(tape) || tape->wide || x->integer || tape_failed(tape))
        return x;
    const double *value = node_values(tape, x);
    struct node *node = node_alias(tape, x, x->dtype);
    double *error = tape_allocate(tape, x->n, sizeof *error);
    if (tape_failed(tape)) return x;
    for (size_t i = 0; i < x->n; i++)
        error[i] = tidy_bound(open_error(tape, value[i], node_error(x, i), k), value[i]);
    node->error = error;
    return node;
}
