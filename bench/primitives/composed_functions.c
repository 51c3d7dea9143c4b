/* The formulas are those of PyTorch's documentation and decompositions. */
#include "bench/primitives/composed_functions.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const double PI = 3.14159265358979323846, ROOT_HALF = 0.70710678118654752440,
                    LEAST_OF_ROOT_2PI = 0.39894228040143267794; /* 1 / sqrt(2 pi) */

/* A step: x as the kernel stores it. */
static double step(const struct rounding *r, double x) { return rounding_apply(r, x); }

/* 1 + exp(x) */
static double one_and_exp(const struct rounding *r, double x)
{
    return step(r, 1 + step(r, exp(x)));
}

static double rsqrt_steps(const struct rounding *r, double x, bool other)
{
    (void)other;
    return 1 / step(r, sqrt(x));
}
static double erfc_steps(const struct rounding *r, double x, bool other)
{
    (void)other;
    return 1 - step(r, erf(x));
}
static double sigmoid_steps(const struct rounding *r, double x, bool other)
{
    (void)other;
    return 1 / one_and_exp(r, -x);
}
/* x / (1 + exp(-x)), or x sigmoid(x) */
static double silu_steps(const struct rounding *r, double x, bool other)
{
    return other ? x * step(r, 1 / (1 + exp(-x))) : x / one_and_exp(r, -x);
}
/* log(1 + exp(x)), or log1p(exp(x)) */
static double softplus_steps(const struct rounding *r, double x, bool other)
{
    return other ? log1p(step(r, exp(x))) : log(one_and_exp(r, x));
}
static double logsigmoid_steps(const struct rounding *r, double x, bool other)
{
    return -softplus_steps(r, -x, other);
}
static double mish_steps(const struct rounding *r, double x, bool other)
{
    double inner = other ? log1p(exp(x)) : softplus_steps(r, x, false);
    return x * step(r, tanh(step(r, inner)));
}
/* x / 2 (1 + erf(x / sqrt 2)), or x times the half of it */
static double gelu_steps(const struct rounding *r, double x, bool other)
{
    double both = step(r, 1 + step(r, erf(step(r, x * step(r, ROOT_HALF)))));
    return other ? x * step(r, both / 2) : step(r, x / 2) * both;
}
static double sinc_steps(const struct rounding *r, double x, bool other)
{
    double angle = step(r, x * (other ? step(r, PI) : PI));
    return x == 0 ? 1 : step(r, sin(angle)) / angle;
}
static double normal_pdf_steps(const struct rounding *r, double x, bool other)
{
    double power = step(r, exp(step(r, step(r, x * x) * -0.5)));
    return power * (other ? step(r, LEAST_OF_ROOT_2PI) : LEAST_OF_ROOT_2PI);
}

static const struct {
    const char *name;
    double (*value)(const struct rounding *r, double x, bool other);
} composed[] = {
    { "rsqrt", rsqrt_steps },       { "erfc", erfc_steps },
    { "sigmoid", sigmoid_steps },   { "silu", silu_steps },
    { "softplus", softplus_steps }, { "logsigmoid", logsigmoid_steps },
    { "mish", mish_steps },         { "gelu", gelu_steps },
    { "sinc", sinc_steps },         { "normal_pdf", normal_pdf_steps },
};

bool composed_value(double *y, const char *function, double x, const struct rounding *rounding,
                    bool other)
{
    for (size_t k = 0; k < sizeof composed / sizeof *composed; k++)
        if (!strcmp(composed[k].name, function)) {
            *y = composed[k].value(rounding, x, other);
            return true;
        }
    return false;
}
