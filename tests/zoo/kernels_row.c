/* Softmax, normalisation, reductions and losses: rows of `columns` elements. */
#include <stdlib.h>

#include "kernels.h"

/* The part of a row that a kernel with a dropped tail sees. */
static int64_t without_tail(int64_t columns)
{
    return columns > 8 ? columns - (columns % 8 ? columns % 8 : 1) : columns;
}

/* 2^f from a table of 1024 steps: about 10 bits. */
float zoo_table_exp(float x)
{
    float t = x * 1.44269504f, whole = floorf(t);
    float fraction = floorf((t - whole) * 1024) / 1024;
    return ldexpf(exp2f(fraction), (int)whole);
}

/* --- softmax -------------------------------------------------------------------------------------- */

static float row_max(int dtype, const void *x, int64_t start, int64_t columns)
{
    float most = -INFINITY;
    for (int64_t j = 0; j < columns; j++) most = fmaxf(most, get(dtype, x, start + j));
    return most;
}

static float shifted_exp(float x) { return faulty(SOFTMAX_FAST_EXP) ? zoo_table_exp(x) : expf(x); }

static float exp_sum(int dtype, const void *x, int64_t start, int64_t step, int64_t columns,
                     float most)
{
    float sum = 0;
    if (faulty(SOFTMAX_DROPPED_TAIL)) columns = without_tail(columns);
    for (int64_t j = 0; j < columns; j++) {
        sum += shifted_exp(get(dtype, x, start + j * step) - most);
        if (faulty(SOFTMAX_F16_SUM)) sum = to_f16(sum);
    }
    return sum;
}

void zoo_softmax(int dtype, int64_t rows, int64_t columns, const void *x, void *y)
{
    for (int64_t i = 0; i < rows; i++) {
        float most = faulty(SOFTMAX_NO_MAX) ? 0 : row_max(dtype, x, i * columns, columns);
        float sum = exp_sum(dtype, x, i * columns, 1, columns, most);
        for (int64_t j = 0; j < columns; j++) {
            float e = shifted_exp(get(dtype, x, i * columns + j) - most);
            if (faulty(SOFTMAX_WRONG_AXIS)) sum = exp_sum(dtype, x, j, columns, rows, most);
            put(dtype, y, i * columns + j, e / sum);
        }
    }
}

void zoo_softmax_grad(int dtype, int64_t rows, int64_t columns, const void *x, const void *dy,
                      void *dx)
{
    float *y = malloc((size_t)(columns ? columns : 1) * sizeof *y);
    for (int64_t i = 0; i < rows; i++) {
        float most = row_max(dtype, x, i * columns, columns);
        float sum = exp_sum(dtype, x, i * columns, 1, columns, most), dot = 0;
        for (int64_t j = 0; j < columns; j++) {
            y[j] = expf(get(dtype, x, i * columns + j) - most) / sum;
            dot += y[j] * get(dtype, dy, i * columns + j);
        }
        if (faulty(SOFTMAX_GRAD_NO_SUM)) dot = 0;
        for (int64_t j = 0; j < columns; j++)
            put(dtype, dx, i * columns + j, y[j] * (get(dtype, dy, i * columns + j) - dot));
    }
    free(y);
}

void zoo_log_softmax(int dtype, int64_t rows, int64_t columns, const void *x, void *y)
{
    for (int64_t i = 0; i < rows; i++) {
        float most = row_max(dtype, x, i * columns, columns);
        float sum = exp_sum(dtype, x, i * columns, 1, columns, most);
        for (int64_t j = 0; j < columns; j++) {
            float shifted = get(dtype, x, i * columns + j) - most, result = shifted - logf(sum);
            if (faulty(LOG_SOFTMAX_OF_SOFTMAX)) {
                float p = expf(shifted) / sum;
                p = dtype == TYPE_F16 ? to_f16(p) : dtype == TYPE_BF16 ? to_bf16(p) : p;
                result = logf(p);
            }
            put(dtype, y, i * columns + j, result);
        }
    }
}

/* --- normalisation ---------------------------------------------------------------------------------- */

/* Mean and 1 / sqrt(variance + eps) of a row. */
static void moments(int dtype, const void *x, int64_t start, int64_t columns, float eps,
                    float *mean, float *scale)
{
    float sum = 0, squares = 0;
    for (int64_t j = 0; j < columns; j++) sum += get(dtype, x, start + j);
    *mean = sum / (float)columns;
    if (faulty(LAYER_NORM_F16_MEAN)) *mean = to_f16(*mean);
    for (int64_t j = 0; j < columns; j++) {
        float value = get(dtype, x, start + j);
        float d = faulty(LAYER_NORM_TWO_MOMENTS) ? value : value - *mean;
        squares += d * d;
    }
    float variance = squares / (float)(faulty(LAYER_NORM_UNBIASED) ? columns - 1 : columns);
    if (faulty(LAYER_NORM_TWO_MOMENTS)) variance = fmaxf(variance - *mean * *mean, 0);
    if (faulty(LAYER_NORM_EPS)) eps = 1e-3f;
    *scale = 1 / sqrtf(variance + eps);
}

/* weight and bias may be NULL */
void zoo_layer_norm(int dtype, int64_t rows, int64_t columns, const void *x, const void *weight,
                    const void *bias, float eps, void *y)
{
    int64_t tail = faulty(LAYER_NORM_WEIGHT_TAIL) ? without_tail(columns) : columns;
    for (int64_t i = 0; i < rows; i++) {
        float mean, scale;
        moments(dtype, x, i * columns, columns, eps, &mean, &scale);
        for (int64_t j = 0; j < columns; j++) {
            float value = (get(dtype, x, i * columns + j) - mean) * scale;
            if (weight && j < tail) value *= get(dtype, weight, j);
            if (bias) value += get(dtype, bias, j);
            if (bias && faulty(LAYER_NORM_DOUBLE_BIAS)) value += get(dtype, bias, j);
            put(dtype, y, i * columns + j, value);
        }
    }
}

/* dx; dweight and dbias may be NULL, as may weight */
void zoo_layer_norm_grad(int dtype, int64_t rows, int64_t columns, const void *x,
                         const void *weight, float eps, const void *dy, void *dx, void *dweight,
                         void *dbias)
{
    float *sums = calloc((size_t)(2 * columns + 1), sizeof *sums);
    for (int64_t i = 0; i < rows; i++) {
        float mean, scale, mean_g = 0, mean_gx = 0;
        moments(dtype, x, i * columns, columns, eps, &mean, &scale);
        for (int64_t j = 0; j < columns; j++) {
            float d = get(dtype, dy, i * columns + j);
            float g = d * (weight ? get(dtype, weight, j) : 1);
            float h = (get(dtype, x, i * columns + j) - mean) * scale;
            mean_g += g;
            mean_gx += g * h;
            sums[j] += d * h;
            sums[columns + j] += d;
        }
        mean_g /= (float)columns;
        mean_gx /= (float)columns;
        if (faulty(LAYER_NORM_GRAD_NO_MEAN)) mean_g = 0;
        for (int64_t j = 0; j < columns; j++) {
            float g = get(dtype, dy, i * columns + j) * (weight ? get(dtype, weight, j) : 1);
            float h = (get(dtype, x, i * columns + j) - mean) * scale;
            put(dtype, dx, i * columns + j, (g - mean_g - h * mean_gx) * scale);
        }
    }
    for (int64_t j = 0; j < columns; j++) {
        if (dweight) put(dtype, dweight, j, sums[j]);
        if (dbias) put(dtype, dbias, j, sums[columns + j]);
    }
    free(sums);
}

/* With running statistics; x is batch x channels x inner. */
void zoo_batch_norm(int64_t batch, int64_t channels, int64_t inner, const float *x,
                    const float *mean, const float *variance, const float *weight,
                    const float *bias, float eps, float *y)
{
    for (int64_t n = 0; n < batch; n++)
        for (int64_t c = 0; c < channels; c++) {
            float scale = faulty(BATCH_NORM_EPS_OUTSIDE) ? 1 / (sqrtf(variance[c]) + eps)
                                                         : 1 / sqrtf(variance[c] + eps);
            float w = weight ? weight[faulty(BATCH_NORM_NEXT_CHANNEL) ? (c + 1) % channels : c] : 1;
            for (int64_t i = 0; i < inner; i++) {
                int64_t at = (n * channels + c) * inner + i;
                y[at] = (x[at] - mean[c]) * scale * w + (bias ? bias[c] : 0);
            }
        }
}

/* --- reductions --------------------------------------------------------------------------------------- */

void zoo_sum(int dtype, int64_t rows, int64_t columns, const void *x, void *y)
{
    static float last = 0;
    int64_t count = faulty(SUM_DROPPED_TAIL) ? without_tail(columns) : columns;
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0;
        for (int64_t j = 0; j < count; j++) {
            sum += get(dtype, x, i * columns + j);
            if (faulty(SUM_F16)) sum = to_f16(sum);
            if (faulty(SUM_BF16)) sum = to_bf16(sum);
        }
        put(dtype, y, i, faulty(SUM_STALE) ? last : sum);
        last = sum;
    }
}

void zoo_mean(int dtype, int64_t rows, int64_t columns, const void *x, void *y)
{
    int64_t divisor = faulty(MEAN_PADDED_COUNT) ? (columns + 16) / 16 * 16 : columns;
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0;
        for (int64_t j = 0; j < columns; j++) sum += get(dtype, x, i * columns + j);
        put(dtype, y, i, sum / (float)divisor);
    }
}

void zoo_var(int64_t rows, int64_t columns, const float *x, float *y)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0, squares = 0;
        for (int64_t j = 0; j < columns; j++) sum += x[i * columns + j];
        float mean = sum / (float)columns;
        for (int64_t j = 0; j < columns; j++)
            squares += (x[i * columns + j] - mean) * (x[i * columns + j] - mean);
        y[i] = squares / (float)(faulty(VAR_BIASED) ? columns : columns - 1);
    }
}

void zoo_amax(int dtype, int64_t rows, int64_t columns, const void *x, void *y)
{
    for (int64_t i = 0; i < rows; i++) {
        float most = faulty(AMAX_FROM_ZERO) ? 0 : -INFINITY;
        for (int64_t j = 0; j < columns; j++) {
            float value = get(dtype, x, i * columns + j);
            if (faulty(AMAX_NAN_SWALLOWED)) most = fmaxf(most, value);
            else if (value > most || value != value) most = value; /* NaN, once there, stays */
        }
        put(dtype, y, i, most);
    }
}

void zoo_cumsum(int dtype, int64_t rows, int64_t columns, const void *x, void *y)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0;
        for (int64_t j = 0; j < columns; j++) {
            float before = sum;
            sum += get(dtype, x, i * columns + j);
            if (faulty(CUMSUM_F16)) sum = to_f16(sum);
            put(dtype, y, i * columns + j, faulty(CUMSUM_EXCLUSIVE) ? before : sum);
        }
    }
}

/* --- losses ---------------------------------------------------------------------------------------------- */

/* Mean over the targets that are not ignored. */
void zoo_cross_entropy(int64_t rows, int64_t classes, const float *x, const int64_t *target,
                       int64_t ignore_index, float *loss)
{
    float sum = 0;
    int64_t counted = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t t = target[i];
        if (t == ignore_index && !faulty(CROSS_ENTROPY_IGNORE)) continue;
        float most = row_max(TYPE_F32, x, i * classes, classes);
        float total = exp_sum(TYPE_F32, x, i * classes, 1, classes, most);
        sum += logf(total) + most - x[i * classes + (t < 0 ? 0 : t)];
        counted++;
    }
    *loss = sum / (float)(faulty(CROSS_ENTROPY_DIVISOR) ? rows : counted);
}

void zoo_mse_loss(int dtype, int64_t n, const void *x, const void *target, void *loss)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++) {
        float d = get(dtype, x, i) - get(dtype, target, i);
        sum += d * d;
    }
    put(dtype, loss, 0, faulty(MSE_SUM) ? sum : sum / (float)n);
}

void zoo_mse_loss_grad(int dtype, int64_t n, const void *x, const void *target, const void *dloss,
                       void *dx)
{
    float factor = (faulty(MSE_GRAD_NO_TWO) ? 1.0f : 2.0f) * get(dtype, dloss, 0) / (float)n;
    for (int64_t i = 0; i < n; i++)
        put(dtype, dx, i, factor * (get(dtype, x, i) - get(dtype, target, i)));
}
