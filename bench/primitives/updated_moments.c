/* Welford's updates (Chan, Golub, LeVeque, Algorithms for computing the sample variance, 1983),
 *     m_k = m_(k-1) + (x_k - m_(k-1)) / k,    T_k = T_(k-1) + (x_k - m_(k-1)) (x_k - m_k),
 * with roundoff u, S_k = k m_k, d_k = x_k - m_n and q = sum d_k^2:
 *
 * The mean. A rounding of m_k reaches m_n with the weight k / n, as u |S_k| / n, which is what partial sums leave of a sum. The
 * difference and the quotient are roundings of (x_k - m_(k-1)) / k and leave 2 u |x_k - m_(k-1)| / n. With |x_k - m_(k-1)| <=
 * |d_k| + (sum_(j<k) |d_j|) / (k - 1) all of these are below 2 u (1 + H) (sum |d_k|) / n, H = 1 + 1/2 + ... + 1/(n - 1) <=
 * 1 + ln n. Kernels join such lanes by m_a + (m_b - m_a) n_b / n: three roundings of a difference of means for each of log2 n
 * levels, each below 3 u (sum |d_k|) / n. Together (7 + 5 log2 n) u (sum |d_k|) / n, and sum |d_k| <= sqrt(n q). In the root mean
 * square x_k - m_(k-1) is as large as a deviation, times sqrt(1 + 1/k), and roundings are independent: 3/4 u sqrt(q) / n. Where the
 * sum of the x_k is exact, S_k is not: u |S_k| / n is at most u (|m| + sqrt(q / n)) for each of n - 1; in the root mean square, of
 * elements in any order, S_k is k m and a bridge of variance (q / n) k (1 - k / n): together u (sqrt(n) / 3 |m| + sqrt(q / n) / 4).
 *
 * The sum. The roundings are those of a sum of n products. Besides, x_k - m_k is off by the error e_k of the mean so far, none of
 * which is above the bound on that of the last mean: 2 e sum |d_k| <= 2 e sqrt(n q), and 2 e sqrt(q) in the root mean square, where the
 * signs of d_k are independent of e_k. Two passes leave n e^2 instead, because their deviations share one mean and sum to 0.
 */
#include "bench/primitives/updated_moments.h"

#include <math.h>

#include "bench/primitives/alias.h"

/* y with its errors and further ones. */
static struct node *with_errors(struct tape *tape, struct node *y, struct node *errors)
{
    double whole = tape_is_typical(tape) ? 4 : 1; /* a rounding is a quarter of a unit there */
    return node_model_error(tape, y, errors, whole / tape->unit);
}

/* What updates add to the error of a mean, over the roundoff. */
static double update_error(const struct tape *tape, double n, double squares)
{
    if (!(squares > 0) || !isfinite(squares)) return 0;
    return tape_is_typical(tape) ? 0.75 * sqrt(squares) / n : (7 + 5 * log2(n)) * sqrt(squares / n);
}

/* The same where the sum is exact, of terms of few bits: the partial means are not. */
static double partial_error(const struct tape *tape, double n, double mean, double squares)
{
    if (!(squares > 0) || !isfinite(squares)) return 0;
    double deviation = sqrt(squares / n), growth = tape_sum_growth(tape, (size_t)n);
    return growth * fabs(mean) + (tape_is_typical(tape) ? 0.25 : growth) * deviation;
}

struct node *updated_mean(struct tape *tape, struct node *mean, struct node *total, double n)
{
    if (!tape_is_model(tape) || tape_failed(tape) || !mean->n) return mean;
    const double *value = node_values(tape, mean), *squares = node_values(tape, total);
    struct node *errors = node_new_real(tape, DT_NONE, mean->rank, mean->shape);
    for (size_t i = 0; i < mean->n && !tape_failed(tape); i++) {
        double error = update_error(tape, n, squares[i]);
        if (node_error(mean, i) <= tape->unit * fabs(value[i])) /* no more than the quotient's */
            error += partial_error(tape, n, value[i], squares[i]);
        errors->value[i] = error * tape->unit;
    }
    /* An update adds to an infinite mean the difference to it, which is no number. */
    mean = node_model_open_at_infinity(tape, mean);
    return with_errors(tape, mean, errors);
}

struct node *updated_total(struct tape *tape, struct node *total, struct node *mean, double n)
{
    if (!tape_is_model(tape) || tape_failed(tape)) return total;
    const double *squares = node_values(tape, total);
    struct node *errors = node_new_real(tape, DT_NONE, total->rank, total->shape);
    (void)node_values(tape, mean);
    for (size_t i = 0; i < total->n && !tape_failed(tape); i++) {
        double spread = sqrt(squares[i]) * (tape_is_typical(tape) ? 1 : sqrt(n));
        errors->value[i] = isfinite(spread) ? 2 * node_error(mean, i) * spread : 0;
    }
    return with_errors(tape, total, errors);
}
