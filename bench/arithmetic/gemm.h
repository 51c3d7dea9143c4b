/* Dense row-major matrix products by BLAS, which the program holds to one thread. */
#ifndef PROBE_BENCH_ARITHMETIC_GEMM_H
#define PROBE_BENCH_ARITHMETIC_GEMM_H

#include <stdbool.h>
#include <stddef.h>

/* z (m, n) = op(a) (m, k) times op(b) (k, n), plus z itself with `add`; op transposes what is
 * stored as (k, m) and (n, k). Stored rows lie `step_a`, `step_b` and `step_z` elements apart; 0: one after the other. */
struct gemm {
    bool transpose_a, transpose_b, add;
    size_t m, n, k, step_a, step_b, step_z;
};
void gemm_double(double *z, const struct gemm *shape, const double *a, const double *b);
void gemm_float(float *z, const struct gemm *shape, const float *a, const float *b);

#endif
