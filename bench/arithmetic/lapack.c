/* LAPACK stores columns: a row-major matrix is the transpose of what it sees, which exchanges left and right
 * singular vectors and makes the rows of results of its columns. */
#include "bench/arithmetic/lapack.h"

#include <stdbool.h>
#include <string.h>

#include "bench/arithmetic/blas.h"

/* gfortran passes the lengths of strings behind the other arguments. */

static struct status done(int info)
{
    if (!info) return status_ok();
    return status_error(STATUS_SKIP,
                        "the iteration for singular values or eigenvalues does not end");
}

struct status lapack_eigenvectors(double *values, double *vectors, const double *a, size_t n,
                                  struct arena *arena)
{
    int order = (int)n, query = -1, info = 0, integer_query = 0;
    double size = 0;
    memcpy(vectors, a, n * n * sizeof *a);
    blas()->dsyevd("V", "L", &order, vectors, &order, values, &size, &query, &integer_query, &query,
                   &info, 1, 1);
    if (info) return done(info);
    int length = (int)size, integer_length = integer_query;
    double *work = arena_allocate_array(arena, (size_t)length, sizeof *work);
    int *integers = arena_allocate_array(arena, (size_t)integer_length, sizeof *integers);
    if (!work || !integers) return status_no_memory((size_t)length * sizeof *work);
    blas()->dsyevd("V", "L", &order, vectors, &order, values, work, &length, integers,
                   &integer_length, &info, 1, 1);
    return done(info);
}

struct status lapack_singular_vectors(double *values, double *left, double *right, const double *a,
                                      size_t m, size_t n, bool full, struct arena *arena)
{
    size_t k = m < n ? m : n;
    int rows = (int)n, columns = (int)m, right_length = (int)n, left_rows = (int)(full ? m : k);
    int query = -1, info = 0;
    double size = 0;
    double *copy = arena_allocate_array(arena, m * n, sizeof *copy);
    double *other = arena_allocate_array(arena, (full ? m : k) * m, sizeof *other);
    int *integers = arena_allocate_array(arena, 8 * k, sizeof *integers);
    if (!copy || !other || !integers) return status_no_memory(m * n * sizeof *copy);
    memcpy(copy, a, m * n * sizeof *copy);
    const char *job = full ? "A" : "S";
    blas()->dgesdd(job, &rows, &columns, copy, &rows, values, right, &right_length, other,
                   &left_rows, &size, &query, integers, &info, 1);
    if (info) return done(info);
    int length = (int)size;
    double *work = arena_allocate_array(arena, (size_t)length, sizeof *work);
    if (!work) return status_no_memory((size_t)length * sizeof *work);
    blas()->dgesdd(job, &rows, &columns, copy, &rows, values, right, &right_length, other,
                   &left_rows, work, &length, integers, &info, 1);
    for (size_t i = 0; i < m; i++) /* `other` is row-major (m, left_rows): U itself */
        for (size_t j = 0; j < (size_t)left_rows; j++)
            left[j * m + i] = other[i * (size_t)left_rows + j];
    return done(info);
}

struct status lapack_qr(double *q, double *r, const double *a, size_t m, size_t n, size_t columns,
                        struct arena *arena)
{
    size_t k = m < n ? m : n, most = columns > n ? columns : n;
    int rows = (int)m, width = (int)n, wanted = (int)columns, reflections = (int)k, info = 0;
    int length = (int)(64 * most);
    double *turned = arena_allocate_array(arena, m * most, sizeof *turned);
    double *tau = arena_allocate_array(arena, k, sizeof *tau);
    double *work = arena_allocate_array(arena, (size_t)length, sizeof *work);
    if (!turned || !tau || !work) return status_no_memory(m * most * sizeof *turned);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) turned[j * m + i] = a[i * n + j];
    blas()->dgeqrf(&rows, &width, turned, &rows, tau, work, &length, &info);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < n; j++) r[i * n + j] = j < i ? 0 : turned[j * m + i];
    for (size_t j = n; j < columns; j++) memset(turned + j * m, 0, m * sizeof *turned);
    if (!info)
        blas()->dorgqr(&rows, &wanted, &reflections, turned, &rows, tau, work, &length, &info);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < columns; j++) q[i * columns + j] = turned[j * m + i];
    return done(info);
}

struct status lapack_general_eigenvectors(double _Complex *values, double _Complex *vectors,
                                          double _Complex *a, size_t n, struct arena *arena)
{
    int order = (int)n, query = -1, one = 1, info = 0;
    double _Complex size = 0, unused;
    double *real_work = arena_allocate_array(arena, 2 * n, sizeof *real_work);
    if (!real_work) return status_no_memory(2 * n * sizeof *real_work);
    blas()->zgeev("N", "V", &order, a, &order, values, &unused, &one, vectors, &order, &size,
                  &query, real_work, &info, 1, 1);
    if (info) return done(info);
    int length = (int)__real__ size;
    double _Complex *work = arena_allocate_array(arena, (size_t)length, sizeof *work);
    if (!work) return status_no_memory((size_t)length * sizeof *work);
    blas()->zgeev("N", "V", &order, a, &order, values, &unused, &one, vectors, &order, work,
                  &length, real_work, &info, 1, 1);
    return done(info);
}

static void exchange(double *x, int i, int k)
{
    double kept = x[i];
    x[i] = x[k];
    x[k] = kept;
}

struct status lapack_balance(double *scale, double _Complex *a, size_t n, struct arena *arena)
{
    int order = (int)n, low = 1, high = order, info = 0;
    double *found = arena_allocate_array(arena, n, sizeof *found);
    if (!found) return status_no_memory(n * sizeof *found);
    blas()->zgebal("B", &order, a, &order, &low, &high, found, &info, 1);
    if (info) return done(info);
    /* Beside the rows from `low` to `high` stand those that were exchanged, each with its partner in place of a factor: undone as by zgebak. */
    for (int i = 1; i <= order; i++) scale[i - 1] = i < low || i > high ? 1 : found[i - 1];
    for (int i = low - 1; i >= 1; i--) exchange(scale, i - 1, (int)found[i - 1] - 1);
    for (int i = high + 1; i <= order; i++) exchange(scale, i - 1, (int)found[i - 1] - 1);
    return status_ok();
}
