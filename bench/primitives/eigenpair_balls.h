/* Eigenpairs in balls. */
#ifndef PROBE_BENCH_PRIMITIVES_EIGENPAIR_BALLS_H
#define PROBE_BENCH_PRIMITIVES_EIGENPAIR_BALLS_H

#include <acb_mat.h>
#include <arb_mat.h>
#include <stdbool.h>

/* A symmetric matrix with an eigenvalue and as many elements of its eigenvector: approximations first, enclosures
 * after eigenpair_enclose(). Owned from eigenpair_init() to eigenpair_clear(). */
struct eigenpair {
    arb_mat_t matrix;
    arb_t value;
    arb_ptr vector;
};

/* Zeros of a matrix of that order. */
void eigenpair_init(struct eigenpair *pair, size_t order);
void eigenpair_clear(struct eigenpair *pair);

/* Enclose the simple eigenvalue next to the midpoint of `value` and its eigenvector of norm 1 with the sign of the
 * approximation. False where a ball at this precision cannot tell the eigenvalue from others: both mean
 * nothing then. */
bool eigenpair_enclose(struct eigenpair *pair, slong precision);

/* The same for any square matrix: approximations of a simple eigenvalue and of its eigenvector (n, 1), which become enclosures; the
 * vector's norm and phase are left as they come. */
bool complex_eigenpair_enclose(acb_ptr value, acb_mat_t vector, const acb_mat_t a, slong precision);

#endif
