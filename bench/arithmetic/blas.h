/* OpenBLAS, loaded when a function of it is first wanted and not by the dynamic linker: loading takes longer than
 * the whole of a small run that has no products, and its pool of threads starts while it is loaded, one a core, which
 * spin for some 26 ms each though the program, whose own threads call it side by side, never gives them work.
 * docs/dependencies.md has the figures. */
#ifndef PROBE_BENCH_ARITHMETIC_BLAS_H
#define PROBE_BENCH_ARITHMETIC_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include <cblas.h>

#include "core/status.h"

/* LAPACK, which has no header of its own in the package of OpenBLAS. */
void dsyevd_(const char *job, const char *triangle, const int *n, double *a, const int *lda,
             double *values, double *work, const int *work_length, int *integers,
             const int *integer_length, int *info, size_t, size_t);
void dgesdd_(const char *job, const int *m, const int *n, double *a, const int *lda, double *values,
             double *u, const int *ldu, double *vt, const int *ldvt, double *work,
             const int *work_length, int *integers, int *info, size_t);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *work_length, int *info);
void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau,
             double *work, const int *work_length, int *info);

void zgebal_(const char *job, const int *n, double _Complex *a, const int *lda, int *low, int *high,
             double *scale, int *info, size_t job_length);
void zgeev_(const char *left, const char *right, const int *n, double _Complex *a, const int *lda,
            double _Complex *values, double _Complex *left_vectors, const int *left_length,
            double _Complex *right_vectors, const int *right_length, double _Complex *work,
            const int *work_length, double *real_work, int *info, size_t, size_t);

/* What the program uses of it, under the names of its headers. */
struct blas {
    __typeof__(cblas_dgemm) *dgemm;
    __typeof__(cblas_sgemm) *sgemm;
    __typeof__(dsyevd_) *dsyevd;
    __typeof__(dgesdd_) *dgesdd;
    __typeof__(dgeqrf_) *dgeqrf;
    __typeof__(dorgqr_) *dorgqr;
    __typeof__(zgebal_) *zgebal;
    __typeof__(zgeev_) *zgeev;
};

/* Load it, held to one thread; again: nothing but the result of the first time. For those who can say that it
 * is not there. Safe on any thread. */
struct status blas_load(void);

/* The library, to compute with, loaded where it was not yet. One that is not there ends the process with a line and
 * status 4 (core/late_library.h). Safe on any thread. */
const struct blas *blas(void);

/* Has anything been computed with it? */
bool blas_is_used(void);

/* Name of the kernels in use ("SkylakeX", "Haswell"). */
const char *blas_core(void);

/* Is it the build whose threads are OpenMP's? */
bool blas_is_openmp(void);

#endif
