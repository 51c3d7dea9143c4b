/* The two calls of BLAS that the bench makes. */
#include "bench/arithmetic/gemm.h"

#include "bench/arithmetic/blas.h"

static CBLAS_TRANSPOSE operation(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

static int step_a(const struct gemm *s)
{
    return (int)(s->step_a ? s->step_a : s->transpose_a ? s->m : s->k);
}

static int step_b(const struct gemm *s)
{
    return (int)(s->step_b ? s->step_b : s->transpose_b ? s->k : s->n);
}

static int step_z(const struct gemm *s) { return (int)(s->step_z ? s->step_z : s->n); }

void gemm_double(double *z, const struct gemm *s, const double *a, const double *b)
{
    blas()->dgemm(CblasRowMajor, operation(s->transpose_a), operation(s->transpose_b), (int)s->m,
                  (int)s->n, (int)s->k, 1, a, step_a(s), b, step_b(s), s->add, z, step_z(s));
}

void gemm_float(float *z, const struct gemm *s, const float *a, const float *b)
{
    blas()->sgemm(CblasRowMajor, operation(s->transpose_a), operation(s->transpose_b), (int)s->m,
                  (int)s->n, (int)s->k, 1, a, step_a(s), b, step_b(s), s->add, z, step_z(s));
}
