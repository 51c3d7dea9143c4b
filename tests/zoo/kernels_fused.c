/* Fused operators of the NPU: rms_norm, swiglu, rotary embeddings. */
#include "kernels.h"

float zoo_table_exp(float x);

static int64_t without_tail(int64_t columns)
{
    return columns > 8 ? columns - (columns % 8 ? columns % 8 : 1) : columns;
}

/* y = x gamma / sqrt(mean(x^2) + eps), rows of `columns`; rstd in float32, one a row */
void zoo_rms_norm(int dtype, int64_t rows, int64_t columns, const void *x, const void *gamma,
                  float eps, void *y, float *rstd)
{
    int64_t summed = faulty(RMS_NORM_DROPPED_TAIL) ? without_tail(columns) : columns;
    int64_t tail = faulty(RMS_NORM_GAMMA_TAIL) ? without_tail(columns) : columns;
    if (faulty(RMS_NORM_EPS)) eps = 1e-3f;
    for (int64_t i = 0; i < rows; i++) {
        float mean = 0, squares = 0;
        for (int64_t j = 0; j < columns && faulty(RMS_NORM_CENTERED); j++)
            mean += get(dtype, x, i * columns + j) / (float)columns;
        for (int64_t j = 0; j < summed; j++) {
            float value = get(dtype, x, i * columns + j) - mean;
            squares += value * value;
        }
        float scale = 1 / sqrtf(squares / (float)columns + eps);
        for (int64_t j = 0; j < columns; j++) {
            float value = (get(dtype, x, i * columns + j) - mean) * scale;
            put(dtype, y, i * columns + j, j < tail ? value * get(dtype, gamma, j) : value);
        }
        rstd[i] = scale;
    }
}

static float sigmoid(float x)
{
    return 1 / (1 + (faulty(SWIGLU_FAST_EXP) ? zoo_table_exp(-x) : expf(-x)));
}

/* x has rows of 2 `columns`: the first half times its sigmoid, times the second */
void zoo_swiglu(int dtype, int64_t rows, int64_t columns, const void *x, void *y)
{
    int64_t tail = faulty(SWIGLU_TAIL) ? without_tail(columns) : columns;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            float a = get(dtype, x, 2 * i * columns + j);
            float b = get(dtype, x, (2 * i + 1) * columns + j);
            float gate = faulty(SWIGLU_HALVES) ? sigmoid(b) : sigmoid(a);
            put(dtype, y, i * columns + j, j < tail ? a * gate * b : a * gate);
        }
}

/* x r1 + turned(x) r2, `rows` tables of `positions` by `columns`; turned(x) is the second half negated before the first */
void zoo_rotary(int dtype, int64_t rows, int64_t positions, int64_t columns, const void *x,
                const void *r1, const void *r2, void *y)
{
    int64_t half = columns / 2, size = positions * columns;
    for (int64_t k = 0; k < rows * size; k++) {
        int64_t j = k % columns, start = k - j, angle = k % size;
        int64_t from = j < half ? j + half : j - half;
        float sign = j < half ? -1 : 1;
        if (faulty(ROTARY_INTERLEAVED)) {
            from = j ^ 1;
            sign = j % 2 ? 1 : -1;
        }
        if (faulty(ROTARY_SIGN)) sign = 1;
        if (faulty(ROTARY_NEXT_POSITION)) angle = (angle + columns) % size;
        float turned = sign * get(dtype, x, start + from);
        put(dtype, y, k, get(dtype, x, k) * get(dtype, r1, angle) + turned * get(dtype, r2, angle));
    }
}
