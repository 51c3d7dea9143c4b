/* Matrix products, convolution, pooling, indices and movement: the zoo's honest kernels and their
 * faults. */
#include <stdlib.h>

#include "kernels.h"

enum fault zoo_fault(void)
{
    static int known = -1;
    if (known < 0) {
        const char *text = getenv("ZOO_FAULT");
        known = text ? atoi(text) : 0;
    }
    return (enum fault)known;
}

/* --- matrix products ---------------------------------------------------------------------------- */

/* One element: sum over k of a[i, k] b[k, j], strides in elements. */
static float inner_product(int dtype, int64_t k, const void *a, int64_t a_start, int64_t a_step,
                           const void *b, int64_t b_start, int64_t b_step, float start)
{
    float sum = start, partial = 0;
    if (faulty(MATMUL_DROPPED_TAIL) && k > 8) k -= k % 8 ? k % 8 : 1;
    for (int64_t l = 0; l < k; l++) {
        float x = get(dtype, a, a_start + l * a_step), y = get(dtype, b, b_start + l * b_step);
        if (faulty(MATMUL_TF32)) x = cut(x, 10), y = cut(y, 10);
        if (faulty(MATMUL_BF16_INPUTS)) x = to_bf16(x), y = to_bf16(y);
        sum += x * y;
        if (faulty(MATMUL_F16_SUM)) sum = to_f16(sum);
        if (faulty(MATMUL_BF16_SUM)) sum = to_bf16(sum);
        if (faulty(MATMUL_SPLIT_K_F16) && l % 16 == 15) {
            partial = to_f16(partial + to_f16(sum));
            sum = 0;
        }
    }
    return faulty(MATMUL_SPLIT_K_F16) ? partial + sum : sum;
}

/* c (m x n) = a (m x k) b (k x n), all with free strides. */
static void product(int dtype, int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row,
                    int64_t a_column, const void *b, int64_t b_row, int64_t b_column, void *c,
                    float scale)
{
    for (int64_t i = 0; i < m; i++) {
        float carried = 0;
        for (int64_t j = 0; j < n; j++) {
            int64_t a_start = i * a_row, width = n - n % 4;
            if (faulty(MATMUL_UNWRITTEN_TAIL) && j >= (n % 4 ? width : n - 1)) continue;
            if (faulty(MATMUL_OFF_BY_ONE) && i == m - 1 && i > 0) a_start -= a_column;
            float x = inner_product(dtype, k, a, a_start, a_column, b, j * b_column, b_row, 0);
            if (faulty(MATMUL_STALE_SUM) && j > 0 && j % 8 == 0) x += carried;
            carried = x;
            x *= scale;
            if (faulty(MATMUL_TRUNCATES)) put_truncated(dtype, c, i * n + j, x);
            else put(dtype, c, i * n + j, x);
        }
    }
    for (int i = 0; faulty(MATMUL_TRANSPOSED_BLOCK) && m >= 4 && n >= 4 && i < 4; i++)
        for (int j = 0; j < i; j++) {
            float x = get(dtype, c, i * n + j), y = get(dtype, c, j * n + i);
            put(dtype, c, i * n + j, y);
            put(dtype, c, j * n + i, x);
        }
}

void zoo_matmul(int dtype, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c)
{
    product(dtype, m, n, k, a, k, 1, b, n, 1, c, 1);
}

/* da = dc b^T, db = a^T dc */
void zoo_matmul_grad(int dtype, int64_t m, int64_t n, int64_t k, const void *a, const void *b,
                     const void *dc, void *da, void *db)
{
    int plain = faulty(MATMUL_GRAD_NO_TRANSPOSE) && k == n;
    product(dtype, m, k, n, dc, n, 1, b, plain ? n : 1, plain ? 1 : n, da, 1);
    product(dtype, k, n, m, a, 1, k, dc, n, 1, db, faulty(MATMUL_GRAD_SCALE) ? 2 : 1);
}

void zoo_bmm(int dtype, int64_t batches, int64_t m, int64_t n, int64_t k, const char *a,
             const char *b, char *c)
{
    int64_t bytes = dtype == TYPE_F32 ? 4 : 2;
    for (int64_t i = 0; i < batches; i++) {
        int64_t from = i, second;
        if (faulty(BMM_SWAPPED_BATCH) && batches > 1 && i >= batches - 2)
            from = i == batches - 1 ? batches - 2 : batches - 1;
        second = faulty(BMM_FIRST_BATCH) ? 0 : from;
        product(dtype, m, n, k, a + from * m * k * bytes, k, 1, b + second * k * n * bytes, n, 1,
                c + i * m * n * bytes, 1);
    }
}

/* y (m x n) = x (m x k) w^T + bias, with w n x k; bias may be NULL */
void zoo_linear(int dtype, int64_t m, int64_t n, int64_t k, const void *x, const void *w,
                const void *bias, void *y)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = inner_product(dtype, k, x, i * k, 1, w, j * k, 1, 0);
            float b = bias ? get(dtype, bias, j) : 0;
            if (bias && faulty(LINEAR_DOUBLE_BIAS)) b *= 2;
            if (bias && faulty(LINEAR_BIAS_SHIFTED)) b = get(dtype, bias, j + 1 < n ? j + 1 : 0);
            if (faulty(LINEAR_BIAS_TAIL) && j >= n - (n % 4 ? n % 4 : 1)) b = 0;
            put(dtype, y, i * n + j, sum + b);
        }
}

/* dx = dy w, dw = dy^T x, db = column sums of dy; db may be NULL */
void zoo_linear_grad(int dtype, int64_t m, int64_t n, int64_t k, const void *x, const void *w,
                     const void *dy, void *dx, void *dw, void *db)
{
    product(dtype, m, k, n, dy, n, 1, w, k, 1, dx, 1);
    product(dtype, n, k, m, dy, 1, n, x, k, 1, dw, 1);
    for (int64_t j = 0; db && j < n; j++) {
        float sum = 0;
        for (int64_t i = 0; i < (faulty(LINEAR_GRAD_BIAS_ROW) ? 1 : m); i++)
            sum += get(dtype, dy, i * n + j);
        put(dtype, db, j, sum);
    }
}

/* y = beta input + alpha a b; input has been broadcast to m x n */
void zoo_addmm(int dtype, int64_t m, int64_t n, int64_t k, const void *input, const void *a,
               const void *b, float beta, float alpha, void *y)
{
    if (faulty(ADDMM_BETA_IGNORED)) beta = 1;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = inner_product(dtype, k, a, i * k, 1, b, j, n, 0);
            put(dtype, y, i * n + j, beta * get(dtype, input, i * n + j) + alpha * sum);
        }
}

/* --- convolution and pooling --------------------------------------------------------------------- */

struct window {
    int64_t size[2], stride[2], padding[2], dilation[2];
};

/* Where tap k of output position o reads; a value outside 0..extent-1 is padding. */
static int64_t tap(const struct window *w, int axis, int64_t o, int64_t k)
{
    int64_t dilation = axis == 1 && faulty(CONV_DILATION_IGNORED) ? 1 : w->dilation[axis];
    return o * w->stride[axis] - w->padding[axis] + k * dilation;
}

static int64_t clamp(int64_t i, int64_t extent) { return i < 0 ? 0 : i >= extent ? extent - 1 : i; }

static float conv_point(int dtype, const int64_t *xs, const void *x, const int64_t *ws,
                        const void *w, const struct window *window, int64_t n, int64_t o,
                        int64_t row, int64_t column, int64_t groups)
{
    int64_t per_group = ws[0] / groups, first = o / per_group * ws[1];
    float sum = 0;
    if (faulty(CONV_WRONG_GROUP)) first = 0;
    for (int64_t c = 0; c < ws[1]; c++) {
        for (int64_t i = 0; i < ws[2]; i++)
            for (int64_t j = 0; j < ws[3]; j++) {
                int64_t r = tap(window, 0, row, i), q = tap(window, 1, column, j);
                if (r < 0 || r >= xs[2] || q < 0 || q >= xs[3]) {
                    if (!faulty(CONV_EDGE_PADDING)) continue;
                    r = clamp(r, xs[2]);
                    q = clamp(q, xs[3]);
                }
                sum += get(dtype, x, ((n * xs[1] + first + c) * xs[2] + r) * xs[3] + q) *
                       get(dtype, w, ((o * ws[1] + c) * ws[2] + i) * ws[3] + j);
            }
        if (faulty(CONV_BF16_SUM)) sum = to_bf16(sum);
    }
    return sum;
}

void zoo_conv2d(int dtype, const int64_t *xs, const void *x, const int64_t *ws, const void *w,
                const void *bias, const int64_t *ys, void *y, const int64_t *stride,
                const int64_t *padding, const int64_t *dilation, int64_t groups)
{
    struct window window = { { ws[2], ws[3] },
                             { stride[0], stride[1] },
                             { padding[0], padding[1] },
                             { dilation[0], dilation[1] } };
    for (int64_t n = 0; n < ys[0]; n++)
        for (int64_t o = 0; o < ys[1]; o++)
            for (int64_t r = 0; r < ys[2]; r++)
                for (int64_t q = 0; q < ys[3]; q++) {
                    int64_t column = q;
                    if (faulty(CONV_LAST_COLUMN) && q == ys[3] - 1 && q > 0) column--;
                    float sum = conv_point(dtype, xs, x, ws, w, &window, n, o, r, column, groups);
                    if (bias) sum += get(dtype, bias, o);
                    put(dtype, y, ((n * ys[1] + o) * ys[2] + r) * ys[3] + q, sum);
                }
}

static float pool_point(int dtype, const void *x, int64_t plane, const int64_t *xs,
                        const struct window *w, int64_t row, int64_t column, int average)
{
    float best = -INFINITY, sum = 0;
    int64_t inside = 0;
    for (int64_t i = 0; i < w->size[0]; i++)
        for (int64_t j = 0; j < w->size[1]; j++) {
            int64_t r = row * w->stride[0] - w->padding[0] + i;
            int64_t q = column * w->stride[1] - w->padding[1] + j;
            if (r < 0 || r >= xs[2] || q < 0 || q >= xs[3]) {
                if (faulty(MAX_POOL_ZERO_PADDING)) best = fmaxf(best, 0);
                continue;
            }
            float value = get(dtype, x, (plane * xs[2] + r) * xs[3] + q);
            best = value > best || value != value ? value : best;
            sum += value;
            inside++;
        }
    int64_t divisor = faulty(AVG_POOL_DIVISOR) ? inside : w->size[0] * w->size[1];
    return average ? sum / (float)divisor : best;
}

void zoo_pool2d(int dtype, const int64_t *xs, const void *x, const int64_t *ys, void *y,
                const int64_t *size, const int64_t *stride, const int64_t *padding, int average)
{
    struct window w = {
        { size[0], size[1] }, { stride[0], stride[1] }, { padding[0], padding[1] }, { 1, 1 }
    };
    for (int64_t plane = 0; plane < ys[0] * ys[1]; plane++)
        for (int64_t r = 0; r < ys[2]; r++)
            for (int64_t q = 0; q < ys[3]; q++)
                put(dtype, y, (plane * ys[2] + r) * ys[3] + q,
                    pool_point(dtype, x, plane, xs, &w, r, q, average));
}

/* --- movement and indices ------------------------------------------------------------------------- */

void zoo_transpose(int dtype, int64_t m, int64_t n, const void *x, void *y)
{
    int64_t tile_m = m - 8, tile_n = n - 8;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            int in_tile = m >= 8 && n >= 8 && i >= tile_m && j >= tile_n;
            int64_t from = i * n + j;
            if (faulty(TRANSPOSE_BLOCK) && in_tile)
                from = (tile_m + (j - tile_n)) * n + tile_n + (i - tile_m);
            put(dtype, y, j * m + i, get(dtype, x, from));
        }
}

void zoo_cat(int dtype, int64_t first, int64_t second, const void *a, const void *b, void *y)
{
    int64_t place = faulty(CAT_OFF_BY_ONE) && first > 0 ? first - 1 : first;
    for (int64_t i = 0; i < first; i++) put(dtype, y, i, get(dtype, a, i));
    for (int64_t i = 0; i < second; i++) put(dtype, y, place + i, get(dtype, b, i));
    if (place < first) put(dtype, y, first + second - 1, get(dtype, b, second - 1));
}

void zoo_where(int dtype, int64_t n, const uint8_t *condition, const void *a, const void *b,
               void *y)
{
    for (int64_t i = 0; i < n; i++) {
        int take = condition[i] != 0;
        if (faulty(WHERE_TAIL) && i >= n - (n % 16 ? n % 16 : 1)) take = !take;
        put(dtype, y, i, get(dtype, take ? a : b, i));
    }
}

/* mask has the shape of a row of x (broadcast over rows) */
void zoo_masked_fill(int dtype, int64_t rows, int64_t columns, const void *x, const uint8_t *mask,
                     float value, void *y)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            int64_t at = faulty(MASKED_FILL_STRIDE) ? (i * columns + j * rows) % columns : j;
            put(dtype, y, i * columns + j, mask[at] ? value : get(dtype, x, i * columns + j));
        }
}

void zoo_embedding(int dtype, int64_t n, int64_t rows, int64_t width, const int64_t *indices,
                   const void *weight, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t row = indices[i];
        if (faulty(EMBEDDING_NEXT_ROW) && i == n - 1) row = (row + 1) % rows;
        for (int64_t j = 0; j < width; j++)
            put(dtype, y, i * width + j, get(dtype, weight, row * width + j));
    }
}

/* dw[row] = sum of dy[i] over all i with indices[i] == row */
void zoo_embedding_grad(int dtype, int64_t n, int64_t rows, int64_t width, const int64_t *indices,
                        const void *dy, void *dw)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < width; j++) {
            float sum = 0;
            for (int64_t i = 0; i < n; i++) {
                if (indices[i] != r) continue;
                float g = get(dtype, dy, i * width + j);
                sum = faulty(EMBEDDING_GRAD_OVERWRITES) ? g : sum + g;
            }
            put(dtype, dw, r * width + j, sum);
        }
}
