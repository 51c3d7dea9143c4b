/* By Rump's enclosure of an eigenpair (Numer. Math. 1991; Arb has it), whose radius is about the square of the error of
 * the approximation that it is given: its midpoints are the next approximation. */
#include "bench/primitives/eigenpair_balls.h"

/* From double's 50 bits beyond 2,560. */
enum { MOST_ROUNDS = 7 };

/* Nearest doubles of the exact a would do for no more than 50 bits: the matrix itself, as complex balls. */
static void improve(acb_ptr value, acb_mat_t vector, const acb_mat_t a, slong precision)
{
    acb_t approximate;
    acb_mat_t near;
    acb_init(approximate);
    acb_mat_init(near, acb_mat_nrows(vector), 1);
    acb_get_mid(approximate, value);
    acb_mat_get_mid(near, vector);
    acb_mat_eig_enclosure_rump(value, NULL, vector, a, approximate, near, precision);
    acb_clear(approximate);
    acb_mat_clear(near);
}

void eigenpair_init(struct eigenpair *pair, size_t order)
{
    arb_mat_init(pair->matrix, (slong)order, (slong)order);
    arb_init(pair->value);
    pair->vector = _arb_vec_init((slong)order);
}

void eigenpair_clear(struct eigenpair *pair)
{
    _arb_vec_clear(pair->vector, arb_mat_nrows(pair->matrix));
    arb_clear(pair->value);
    arb_mat_clear(pair->matrix);
}

/* The real part of `complex_vector`, a simple eigenvalue's, at norm 1. */
static void normalize(arb_ptr vector, const acb_mat_t complex_vector, slong precision)
{
    slong n = acb_mat_nrows(complex_vector);
    arb_t norm;
    arb_init(norm);
    for (slong i = 0; i < n; i++) {
        arb_set(vector + i, acb_realref(acb_mat_entry(complex_vector, i, 0)));
        arb_addmul(norm, vector + i, vector + i, precision);
    }
    arb_rsqrt(norm, norm, precision);
    for (slong i = 0; i < n; i++) arb_mul(vector + i, vector + i, norm, precision);
    arb_clear(norm);
}

bool complex_eigenpair_enclose(acb_ptr value, acb_mat_t vector, const acb_mat_t a, slong precision)
{
    slong sharp = 0;
    bool found = true;
    for (int round = 0; found && round < MOST_ROUNDS; round++) {
        improve(value, vector, a, precision);
        slong bits = acb_rel_accuracy_bits(value);
        found = arb_is_finite(acb_realref(acb_mat_entry(vector, 0, 0)));
        if (round > 1 && bits <= sharp) break;
        sharp = bits;
    }
    return found;
}

bool eigenpair_enclose(struct eigenpair *pair, slong precision)
{
    slong n = arb_mat_nrows(pair->matrix);
    acb_mat_t matrix, vector;
    acb_t value;
    acb_init(value);
    acb_mat_init(matrix, n, n);
    acb_mat_init(vector, n, 1);
    acb_mat_set_arb_mat(matrix, pair->matrix);
    acb_set_arb(value, pair->value);
    for (slong i = 0; i < n; i++) acb_set_arb(acb_mat_entry(vector, i, 0), pair->vector + i);
    bool found = complex_eigenpair_enclose(value, vector, matrix, precision);
    if (found) normalize(pair->vector, vector, precision);
    arb_set(pair->value, acb_realref(value));
    acb_clear(value);
    acb_mat_clear(matrix);
    acb_mat_clear(vector);
    return found && arb_is_finite(pair->value);
}
