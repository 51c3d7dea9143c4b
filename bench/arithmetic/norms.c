/* Norms of lines, in the order in which the elements lie. */
#include "bench/arithmetic/norms.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "core/vectorize.h"

VECTORIZED void line_norms(double *norm, const double *x, size_t lines, size_t length, bool down)
{
    memset(norm, 0, lines * sizeof *norm);
    if (down) {
        for (size_t l = 0; l < length; l++)
            for (size_t i = 0; i < lines; i++) norm[i] += x[l * lines + i] * x[l * lines + i];
    } else {
        for (size_t i = 0; i < lines; i++) {
            double lane[8] = { 0 };
            const double *row = x + i * length;
            size_t l = 0;
            for (; l + 8 <= length; l += 8)
                for (size_t j = 0; j < 8; j++) lane[j] += row[l + j] * row[l + j];
            for (; l < length; l++) lane[0] += row[l] * row[l];
            for (size_t j = 0; j < 8; j++) norm[i] += lane[j];
        }
    }
    /* Rounded up: the computed square sum errs by gamma_(k+1), the root by u; squares below
     * 2^-1022 are lost, at most `length` of them. */
    double grow = 1 + ((double)length + 8) * 2 * UNIT_ROUNDOFF;
    double lost = sqrt((double)length) * 0x1p-511;
    for (size_t i = 0; i < lines; i++) {
        double root = sqrt(norm[i]) * grow;
        norm[i] = root == 0 ? (norm[i] == 0 ? 0 : lost) : root + lost;
    }
}

VECTORIZED bool all_finite(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * 0;
    return sum == 0;
}
