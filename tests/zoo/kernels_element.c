/* Elementwise kernels; operands have been broadcast to n elements except where said. */
#include "kernels.h"

float zoo_table_exp(float x);

/* What a unit without subnormal numbers makes of one: zero, and without its sign. */
static float flushed(float x) { return fabsf(x) < 0x1p-126f ? 0 : x; }

/* b has b_columns elements for each row of a (columns = b_columns) or b is full */
void zoo_add(int dtype, int64_t rows, int64_t columns, int64_t b_rows, const void *a, const void *b,
             float alpha, void *y)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            int64_t from = b_rows == 1 ? j : i * columns + j;
            if (faulty(ADD_BROADCAST) && b_rows == 1) from = (i + j) % columns;
            float sum = get(dtype, a, i * columns + j) + alpha * get(dtype, b, from);
            put(dtype, y, i * columns + j, faulty(ADD_FLUSHES) ? flushed(sum) : sum);
        }
}

void zoo_mul(int dtype, int64_t n, const void *a, const void *b, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        float x = get(dtype, a, i) * get(dtype, b, i);
        if (faulty(MUL_SATURATES)) x = fminf(fmaxf(x, -65504), 65504);
        if (faulty(MUL_TRUNCATES)) put_truncated(dtype, y, i, x);
        else put(dtype, y, i, x);
    }
}

void zoo_div(int dtype, int64_t n, const void *a, const void *b, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        float x = get(dtype, a, i), d = get(dtype, b, i);
        if (faulty(DIV_ZERO_SIGN_LOST)) d = flushed(d);
        put(dtype, y, i, faulty(DIV_RECIPROCAL) ? x * cut(1 / d, 12) : x / d);
    }
}

void zoo_maximum(int dtype, int64_t n, const void *a, const void *b, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        float x = get(dtype, a, i), z = get(dtype, b, i);
        float honest = x != x || z != z ? NAN : x > z ? x : z;
        put(dtype, y, i, faulty(MAXIMUM_NAN_SWALLOWED) ? fmaxf(x, z) : honest);
    }
}

void zoo_pow(int64_t n, const float *a, const float *b, float *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = faulty(POW_OF_LOG) ? expf(b[i] * logf(a[i])) : powf(a[i], b[i]);
}

/* --- of one argument: y = f(x) ------------------------------------------------------------------------ */

static float f_neg(float x) { return -x; }

static float f_relu(float x)
{
    if (faulty(RELU_NAN_SWALLOWED)) return x > 0 ? x : 0;
    return x < 0 ? 0 : x;
}

static float f_sigmoid(float x)
{
    if (faulty(SIGMOID_CLAMPED)) x = fminf(fmaxf(x, -8), 8);
    return 1 / (1 + expf(-x));
}

static float f_tanh(float x)
{
    if (!faulty(TANH_RATIONAL)) return tanhf(x);
    float s = x * x;
    return fminf(fmaxf(x * (27 + s) / (27 + 9 * s), -1), 1);
}

static float f_gelu(float x)
{
    if (faulty(GELU_TANH)) return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    return 0.5f * x * erfcf(-x * 0.70710678f);
}

static float f_silu(float x)
{
    float s = 1 / (1 + expf(-x));
    return x * (faulty(SILU_F16_SIGMOID) ? to_f16(s) : s);
}

static float f_exp(float x) { return faulty(EXP_10_BITS) ? zoo_table_exp(x) : expf(x); }

static float f_rsqrt(float x)
{
    if (!faulty(RSQRT_ONE_STEP)) return 1 / sqrtf(x);
    uint32_t bits;
    float y;
    memcpy(&bits, &x, sizeof bits);
    bits = 0x5f3759df - (bits >> 1);
    memcpy(&y, &bits, sizeof y);
    return y * (1.5f - 0.5f * x * y * y);
}

static float f_sqrt(float x) { return faulty(SQRT_12_BITS) ? cut(sqrtf(x), 12) : sqrtf(x); }
static float f_floor(float x) { return faulty(FLOOR_TRUNCATES) ? truncf(x) : floorf(x); }

static const struct {
    const char *name;
    float (*f)(float);
    /* clang-format off */
} functions[] = {
    { "neg", f_neg },   { "relu", f_relu }, { "sigmoid", f_sigmoid }, { "tanh", f_tanh },
    { "gelu", f_gelu }, { "silu", f_silu }, { "exp", f_exp },         { "rsqrt", f_rsqrt },
    { "sqrt", f_sqrt }, { "floor", f_floor },
};
/* clang-format on */

int zoo_unary(const char *name, int dtype, int64_t n, const void *x, void *y)
{
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        if (strcmp(functions[k].name, name)) continue;
        for (int64_t i = 0; i < n; i++) put(dtype, y, i, functions[k].f(get(dtype, x, i)));
        return 0;
    }
    return 1;
}

void zoo_leaky_relu(int dtype, int64_t n, const void *x, float slope, void *y)
{
    if (faulty(LEAKY_RELU_SLOPE)) slope = 0.1f;
    for (int64_t i = 0; i < n; i++) {
        float v = get(dtype, x, i);
        put(dtype, y, i, v < 0 ? slope * v : v);
    }
}

/* --- gradients --------------------------------------------------------------------------------------------- */

void zoo_relu_grad(int dtype, int64_t n, const void *x, const void *dy, void *dx)
{
    for (int64_t i = 0; i < n; i++) {
        float v = get(dtype, x, i), g = get(dtype, dy, i);
        int open = faulty(RELU_GRAD_OF_COTANGENT) ? g > 0 : v > 0;
        put(dtype, dx, i, open ? g : 0);
    }
}

/* d/dx x Phi(x) = Phi(x) + x phi(x) */
void zoo_gelu_grad(int dtype, int64_t n, const void *x, const void *dy, void *dx)
{
    for (int64_t i = 0; i < n; i++) {
        float v = get(dtype, x, i), g = get(dtype, dy, i);
        float distribution = 0.5f * erfcf(-v * 0.70710678f);
        float density = 0.39894228f * expf(-0.5f * v * v);
        if (faulty(GELU_GRAD_NO_DENSITY)) density = 0;
        put(dtype, dx, i, g * (distribution + v * density));
    }
}
