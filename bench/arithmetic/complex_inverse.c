/* Gauss and Jordan's elimination. */
#include "bench/arithmetic/complex_inverse.h"

#include <complex.h>
#include <math.h>
#include <string.h>

static void exchange_rows(double _Complex *a, size_t n, size_t i, size_t k)
{
    for (size_t j = 0; j < n && i != k; j++) {
        double _Complex t = a[i * n + j];
        a[i * n + j] = a[k * n + j];
        a[k * n + j] = t;
    }
}

bool complex_inverse(double _Complex *x, double _Complex *scratch, const double _Complex *a,
                     size_t n)
{
    memcpy(scratch, a, n * n * sizeof *a);
    for (size_t i = 0; i < n * n; i++) x[i] = i / n == i % n;
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (cabs(scratch[i * n + k]) > cabs(scratch[best * n + k])) best = i;
        if (!(cabs(scratch[best * n + k]) > 0)) return false;
        exchange_rows(scratch, n, k, best);
        exchange_rows(x, n, k, best);
        double _Complex pivot = scratch[k * n + k];
        for (size_t j = 0; j < n; j++) {
            scratch[k * n + j] /= pivot;
            x[k * n + j] /= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            double _Complex l = scratch[i * n + k];
            for (size_t j = 0; j < n && i != k; j++) {
                scratch[i * n + j] -= l * scratch[k * n + j];
                x[i * n + j] -= l * x[k * n + j];
            }
        }
    }
    for (size_t i = 0; i < n * n; i++)
        if (!isfinite(cabs(x[i]))) return false;
    return true;
}
