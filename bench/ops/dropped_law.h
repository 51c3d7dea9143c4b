/* The law of sums whose terms are kept or dropped.
 *
 * An element is sum_e c_e m_e/q with coefficients c_e that are known and choices m_e that are not: independent, 1 with probability
 * q = 1 - p, else 0. It has the mean sum c_e, which is the value without dropout, the variance s^2 = p/q sum c_e^2, and lies
 * within t of the mean but with probability 2 exp(-L), for each of
 *     t = b L/3 + sqrt((b L/3)^2 + 2 L s^2), b = max(1, p/q) max |c_e|      (Bernstein)
 *     t = s sqrt(2 K L), K = (q - p) / (2 p q log(q/p)), 1 for p = 1/2       (Kearns and Saul 1998)
 * and beside that is nowhere further off than max(1, p/q) sum |c_e|. A device's own roundings come on top. It is 0 only where
 * all of its coefficients are dropped, with probability p to the power of their number.
 *
 * Rows of a result may depend on choices of their own. What a row projects to along a direction, over its standard deviation, is
 * then, from row to row, independent of mean 0 and variance 1: a mask that is the same for all rows, a scale that is left out, a
 * wrong probability or no dropout at all show there (independence.h). The sum of n squares is above K (n + 2 sqrt(n L) + 2 L), as
 * that of squares of normal numbers of variance K is, or above what Bernstein says of squares no larger than 2 K L', and below
 * n - sqrt(2 L sum of fourth moments) (Maurer's inequality for nonnegative terms), with probability exp(-L) each. Rows that a
 * 16-bit device rounds too coarsely to tell are left out. */
#ifndef PROBE_BENCH_OPS_DROPPED_LAW_H
#define PROBE_BENCH_OPS_DROPPED_LAW_H

#include "bench/call/op.h"

/* For each element the sum of its coefficients, of their squares and magnitudes, the largest magnitude, and how many are not 0
 * (NULL: not counted). What is added to a sum and not dropped is part of `mean` and, for its rounding, of `size`. */
struct dropped_law {
    const double *mean, *squares, *size, *largest, *terms; /* largest: no less than that */
    double p, relative; /* a device's roundings, by the sum of magnitudes */
    size_t n;
    enum dtype dtype;
    const struct dropped_rows *rows; /* NULL: none are told apart */
};

/* What the rows of a result, `width` neighbouring elements each, project to along `direction`, and of its coefficients the sums of
 * squares and fourth powers. What belongs to a row is repeated for each of its elements, so that it can be laid out as those are. */
struct dropped_rows {
    const double *direction, *squares, *fourths;
    size_t width;
};

/* The property "follows the law", whose arrays must stay; NULL when there is no memory. */
const struct bench_property *dropped_law_property(struct tape *tape, const struct dropped_law *law);

#endif
