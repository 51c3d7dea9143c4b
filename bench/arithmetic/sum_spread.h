/* How far off a plain kernel's sum typically is, from its terms.
 *
 * Adding x_1 .. x_n one after the other rounds every partial sum S_k, each by u |S_k| / sqrt 3 in the root mean
 * square when the roundings are independent and uniform. So the error of a sum has the variance u^2 / 3 sum S_k^2,
 * which depends on the order. Taken is the largest over the forward and the reverse order, eight or four lanes, two of products
 * (OpenBLAS' sgemm on AVX2 adds those of even and of odd places apart), and the mean over all orders,
 * (n + 1) / 6 (Q - S^2 / n) + S^2 (n + 1)(2 n + 1) / (6 n) with Q = sum x^2 and S = sum x; kernels
 * that add in blocks round fewer and smaller partial sums. Terms that are products have been rounded once themselves: u^2 / 3 Q more.
 *
 * Roundings are not independent where terms repeat: every step errs the same way. So the sum is also formed in
 * float, in six orders, and the variance is at least the square of 0.7 times the largest error that these make, or that one of
 * the partial sums of the forward order has: kernels end their blocks anywhere, and what the rest of the terms takes back is luck.
 * Of products the errors count, too, that the sums have with the roundings before they are added: those of equal products are equal.
 */
#ifndef PROBE_BENCH_ARITHMETIC_SUM_SPREAD_H
#define PROBE_BENCH_ARITHMETIC_SUM_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

/* The expected square of the error of a sum, last rounding included, over u^2.
 *
 *   term      n values, finite
 *   products  they are products of two factors, rounded before they are added
 *   single    the kernel adds in float; otherwise in double
 *   returns   0 for less than two terms that are no products
 */
double sum_spread(const double *term, size_t n, bool products, bool single);

/* The same as its two parts: the larger one counts. */
struct sum_spread {
    double formula, imitated;
};

/* Which sums are formed as the kernel forms them: none, which leaves the formula alone, or those of a type. */
enum sum_imitation { SUM_NOT_IMITATED, SUM_IN_FLOAT, SUM_IN_DOUBLE };

static inline enum sum_imitation sum_imitation(bool single)
{
    return single ? SUM_IN_FLOAT : SUM_IN_DOUBLE;
}

/* As sum_spread for terms that have errors of their own: a kernel that adds terms that repeat adds others, which
 * repeat other roundings, all of them alike: N equal steps err N times as much as one, not sqrt N times. The terms are changed in their last bits, so `term` is for scratch. */
double sum_spread_of_inexact(double *term, size_t n, bool products, bool single);

/* The same of as many lines at once, each as if it were alone; term k of line w is term[k * SUM_SPREAD_LINES + w]. All lines
 * are `inexact`, or none: then the terms are not changed. */
enum { SUM_SPREAD_LINES = 16 };
void sum_spread_parts_of_lines(struct sum_spread *parts, const double *term, size_t n,
                               bool products, enum sum_imitation imitation);
void sum_spread_of_lines(double *spread, double *term, size_t n, bool inexact, bool products,
                         bool single);

/* Which lines, of more terms, have a few different ones and 0, each of them several times? The errors of such a line are like those of no other. */
void sum_spread_repeats(bool repeats[SUM_SPREAD_LINES], const double *term, size_t n);

/* Lines of factors, whose products are terms: factor k of line w of the first is x[w][k * step_x]. */
struct sum_spread_factors {
    const double *x[SUM_SPREAD_LINES], *y[SUM_SPREAD_LINES];
    size_t n, step_x, step_y;
};

/* Their terms, laid out as above, and the sums of the squares of the factors of each line. */
void sum_spread_multiply(double *term, double *squares_x, double *squares_y,
                         const struct sum_spread_factors *factors);

/* The mean over all orders of sum S_k^2, from the number of terms, their sum and their sum of squares. A random order is a
 * walk from 0 to S whose steps are drawn without replacement: E S_k^2 is k (n - k) / (n (n - 1)) (Q - S^2 / n) +
 * k^2 S^2 / n^2; summed over k = 1 .. n. */
static inline double sum_spread_of_any_order(double n, double sum, double squares)
{
    double scatter = squares - sum * sum / n;
    scatter = scatter > 0 ? scatter : 0;
    return (n + 1) / 6 * scatter + sum * sum * (n + 1) * (2 * n + 1) / (6 * n);
}

#endif
