/* The two calls of BLAS that the bench makes. */
#include "bench/arithmetic/gemm.h"

#include <cblas.h>

static CBLAS_TRANSPOSE operation(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

void gemm_double(double *z, const struct gemm *s, const double *a, const double *b)
{
    cblas_dgemm(CblasRowMajor, operation(s->transpose_a), operation(s->transpose_b), (int)s->m,
                (int)s->n, (int)s->k, 1, a, (int)(s->transpose_a ? s->m : s->k), b,
                (int)(s->transpose_b ? s->k : s->n), s->add, z, (int)s->n);
}

void gemm_float(float *z, const struct gemm *s, const float *a, const float *b)
{
    cblas_sgemm(CblasRowMajor, operation(s->transpose_a), operation(s->transpose_b), (int)s->m,
                (int)s->n, (int)s->k, 1, a, (int)(s->transpose_a ? s->m : s->k), b,
                (int)(s->transpose_b ? s->k : s->n), s->add, z, (int)s->n);
}
