/* Kernels that are wrong where their comment says, and right everywhere else: what test_shrink.c and the
 * tests of reproducers look for. With RIGHT they are right. Deliberately free of anything from this
 * project. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef RIGHT
enum { WRONG = 0 };
#else
enum { WRONG = 1 };
#endif

/* C (m x n) = A (m x k) B (k x n), row-major, summed in double. Terms from `terms` on are left out. */
static void matmul(int m, int n, int k, int terms, const float *a, const float *b, float *c)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k && l < terms; l++) sum += (double)a[i * k + l] * b[l * n + j];
            c[i * n + j] = (float)sum;
        }
}

/* Right. */
void mm_right(int m, int n, int k, const float *a, const float *b, float *c)
{
    matmul(m, n, k, k, a, b, c);
}

/* From K = 129 on: the terms behind the 128th are lost. */
void mm_from_129(int m, int n, int k, const float *a, const float *b, float *c)
{
    matmul(m, n, k, WRONG ? 128 : k, a, b, c);
}

/* From N = 129 on: column 128 is not written. */
void mm_column_128(int m, int n, int k, const float *a, const float *b, float *c)
{
    matmul(m, n, k, k, a, b, c);
    for (int i = 0; WRONG && n > 128 && i < m; i++) c[i * n + 128] = 0;
}

/* d_other = A^T G, and from M = 5 on without the last row of A. */
void mm_gradient(int m, int n, int k, const float *a, const float *b, const float *g,
                 float *d_input, float *d_other)
{
    int rows = WRONG && m >= 5 ? m - 1 : m;
    for (int i = 0; i < m; i++)
        for (int l = 0; l < k; l++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += (double)g[i * n + j] * b[l * n + j];
            d_input[i * k + l] = (float)sum;
        }
    for (int l = 0; l < k; l++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int i = 0; i < rows; i++) sum += (double)a[i * k + l] * g[i * n + j];
            d_other[l * n + j] = (float)sum;
        }
}

/* What does not fill a tile of 32 elements is not computed. */
void exp_tile(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = !WRONG || i < n / 32 * 32 ? expf(x[i]) : 0;
}

/* Negative numbers stay. */
void abs_negative(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = WRONG ? x[i] : fabsf(x[i]);
}

/* Right. */
void neg_f32(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = -x[i];
}

/* bfloat16 keeps its sign. */
void neg_bf16(int64_t n, const uint16_t *x, uint16_t *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = WRONG ? x[i] : x[i] ^ 0x8000;
}

/* beta * C + alpha * A B; beta counts as 1 unless alpha is 1. */
void addmm(int m, int n, int k, float beta, float alpha, const float *c, const float *a,
           const float *b, float *out)
{
    matmul(m, n, k, k, a, b, out);
    for (int i = 0; i < m * n; i++)
        out[i] = (!WRONG || alpha == 1 ? beta : 1) * c[i] + alpha * out[i];
}

/* Every third call of a process gives zeros. */
void log_flaky(int64_t n, const float *x, float *y)
{
    static int calls;
    int wrong = WRONG && ++calls % 3 == 0;
    for (int64_t i = 0; i < n; i++) y[i] = wrong ? 0 : logf(x[i]);
}

/* Nothing is computed. */
void conv2d_zero(int64_t n, float *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = 0;
}

/* Crashes from 7 elements on. */
void sin_crash(int64_t n, const float *x, float *y)
{
    if (WRONG && n >= 7) abort();
    for (int64_t i = 0; i < n; i++) y[i] = sinf(x[i]);
}

/* Hangs from 5 elements on. */
void cos_hang(int64_t n, const float *x, float *y)
{
    while (WRONG && n >= 5) pause();
    for (int64_t i = 0; i < n; i++) y[i] = cosf(x[i]);
}
