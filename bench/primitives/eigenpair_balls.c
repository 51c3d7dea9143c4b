/* By Rump's enclosure of an eigenpair (Numer. Math. 1991; Arb has it), whose radius is about the square of the error of
 * the approximation that it is given: its midpoints are the next approximation. */
#include "bench/primitives/eigenpair_balls.h"

#include <acb_mat.h>

/* From double's 50 bits beyond 2,560. */
enum { MOST_ROUNDS = 7 };

/* Nearest doubles of the exact a would do for no more than 50 bits: the matrix itself, as complex balls. */
static bool improve(acb_t value, acb_mat_t vector, const acb_mat_t a, slong precision)
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
    return acb_is_finite(value);
}

bool enclose_eigenpair(arb_t value, arb_ptr vector, const arb_mat_t a, double near_value,
                       const double *near_vector, slong precision)
{
    slong n = arb_mat_nrows(a), sharp = 0;
    acb_mat_t whole, pair;
    acb_t root;
    arb_t norm;
    acb_init(root);
    acb_mat_init(whole, n, n);
    acb_mat_init(pair, n, 1);
    arb_init(norm);
    acb_mat_set_arb_mat(whole, a);
    acb_set_d(root, near_value);
    for (slong i = 0; i < n; i++) acb_set_d(acb_mat_entry(pair, i, 0), near_vector[i]);
    bool found = true;
    for (int round = 0; found && round < MOST_ROUNDS; round++) {
        found = improve(root, pair, whole, precision);
        slong bits = acb_rel_accuracy_bits(root);
        if (round > 1 && bits <= sharp) break;
        sharp = bits;
    }
    for (slong i = 0; found && i < n; i++) { /* a simple eigenvalue's vector is real */
        arb_set(vector + i, acb_realref(acb_mat_entry(pair, i, 0)));
        arb_addmul(norm, vector + i, vector + i, precision);
    }
    arb_rsqrt(norm, norm, precision);
    for (slong i = 0; found && i < n; i++) arb_mul(vector + i, vector + i, norm, precision);
    arb_set(value, acb_realref(root));
    acb_clear(root);
    acb_mat_clear(whole);
    acb_mat_clear(pair);
    arb_clear(norm);
    return found && arb_is_finite(value);
}
