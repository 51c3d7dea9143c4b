/* Norms of lines, in the order in which the elements lie. */
#include "bench/arithmetic/norms.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "core/vectorize.h"

/* Squares of lines of REAL; products of floats are exact in double. */
#define DEFINE_SQUARES(NAME, REAL)                                                                 \
    VECTORIZED static void NAME##_columns(double *restrict squares, const REAL *restrict x,        \
                                          size_t lines, size_t length, size_t step)                \
    {                                                                                              \
        for (size_t l = 0; l < length; l++)                                                        \
            for (size_t i = 0; i < lines; i++) {                                                   \
                double v = x[l * step + i];                                                        \
                squares[i] += v * v;                                                               \
            }                                                                                      \
    }                                                                                              \
                                                                                                   \
    VECTORIZED static void NAME##_rows(double *restrict squares, const REAL *restrict x,           \
                                       size_t lines, size_t length, size_t step)                   \
    {                                                                                              \
        for (size_t i = 0; i < lines; i++) {                                                       \
            double lane[8] = { 0 };                                                                \
            const REAL *row = x + i * step;                                                        \
            size_t l = 0;                                                                          \
            for (; l + 8 <= length; l += 8)                                                        \
                for (size_t j = 0; j < 8; j++) lane[j] += (double)row[l + j] * (double)row[l + j]; \
            for (; l < length; l++) lane[0] += (double)row[l] * (double)row[l];                    \
            for (size_t j = 0; j < 8; j++) squares[i] += lane[j];                                  \
        }                                                                                          \
    }

DEFINE_SQUARES(add_doubles, double)
DEFINE_SQUARES(add_floats, float)

void line_squares_add(double *squares, const double *x, size_t lines, size_t length, size_t step,
                      bool down)
{
    (down ? add_doubles_columns : add_doubles_rows)(squares, x, lines, length, step);
}

void line_squares_add_floats(double *squares, const float *x, size_t lines, size_t length,
                             size_t step, bool down)
{
    (down ? add_floats_columns : add_floats_rows)(squares, x, lines, length, step);
}

/* Rounded up: a square passes through `length` + 8 additions at most, in whatever parts they came, so the
 * computed sum errs by gamma_(length+9), the root by u; squares below 2^-1022 are lost, at most `length` of them. */
VECTORIZED void line_squares_to_norms(double *norm, size_t lines, size_t length)
{
    double grow = 1 + ((double)length + 9) * 2 * UNIT_ROUNDOFF;
    double lost = sqrt((double)length) * 0x1p-511;
    for (size_t i = 0; i < lines; i++) {
        double root = sqrt(norm[i]) * grow;
        norm[i] = root == 0 ? (norm[i] == 0 ? 0 : lost) : root + lost;
    }
}

double line_norm_of_tiny(const double *x, size_t length, size_t step)
{
    double most = 0;
    for (size_t l = 0; l < length; l++) most = fmax(most, fabs(x[l * step]));
    return most > 0 ? sqrt((double)length) * most * (1 + 4 * UNIT_ROUNDOFF) + 0x1p-1074 : 0;
}

void line_norms(double *norm, const double *x, size_t lines, size_t length, bool down)
{
    memset(norm, 0, lines * sizeof *norm);
    line_squares_add(norm, x, lines, length, down ? lines : length, down);
    line_squares_to_norms(norm, lines, length);
    for (size_t i = 0; i < lines; i++)
        if (norm[i] == 0)
            norm[i] = line_norm_of_tiny(down ? x + i : x + i * length, length, down ? lines : 1);
}

VECTORIZED bool all_finite(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * 0;
    return sum == 0;
}

VECTORIZED bool all_finite_floats(const float *x, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * 0;
    return sum == 0;
}
