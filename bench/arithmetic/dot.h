/* Dot products in more than double precision, for the elements that a plain matrix product does
 * not certify.
 *
 * Extraction (Rump, Ogita and Oishi, Accurate floating-point summation, SIAM J. Sci. Comput. 31,
 * 2008): a term x is added to a sum s that was started at a power of two sigma >= 4 k max|x|,
 *     t = fl(s + x),  q = t - s,  rest = x - q,  s = t.
 * q and rest are exact, the q are multiples of 2^-53 sigma whose sums are below sigma, so all of
 * them add up without error, in any order; |rest| <= 2^-53 sigma. That is four operations and no
 * branch, less than TwoSum takes, and lanes need no care.
 */
#ifndef PROBE_BENCH_ARITHMETIC_DOT_H
#define PROBE_BENCH_ARITHMETIC_DOT_H

#include <stdbool.h>
#include <stddef.h>

/* The smallest power of two that is at least |x|; 0 for 0. */
double dot_power_above(double x);

/* What dot products of one length have in common. */
struct dot {
    size_t k;
    bool exact_products; /* every product is exact in double: at most 53 bits, no underflow */
    double start;        /* sigma over the largest product: 4 k, rounded up to a power of two */
    /* Bounds, over sigma: what the sums of the rests are off by, in lanes and one after the other; and what is lost. */
    double bound, deep_bound, lost;
};
struct dot dot_of_length(size_t k, bool exact_products);

/* sum a[l] b[l] of finite terms, each |a[l] b[l]| at most `scale`, a power of two or 0.
 *
 *   hi, lo    the sum as an unevaluated pair, not normalized
 *   returns   a bound on |hi + lo - sum|: with t terms, t = k or, with inexact products, 2 k,
 *             gamma_(k/8+16) t u sigma (u = 2^-53); INFINITY when sigma is out of range
 */
double dot_extracted(double *hi, double *lo, const struct dot *dot, const double *a,
                     const double *b, double scale);

/* The same with the rests extracted twice more: the bound is some 2^-80 of the above, and 0 when
 * nothing is left over, which proves zeros. Several times slower. */
double dot_extracted_deeply(double *hi, double *lo, const struct dot *dot, const double *a,
                            const double *b, double scale);

/* The same of float lines, whose products are exact. */
double dot_extracted_single(double *hi, double *lo, const struct dot *dot, const float *a,
                            const float *b, double scale);

/* The sums of two lines, a and other, with one, bit for bit those of dot_extracted_single, in little more than half the time.
 *
 *   sigma  dot->start * scale of each line with b, where that is in range
 */
void dot_extracted_pair(double *hi, double *lo, const struct dot *dot, const float *a,
                        const float *other, const float *b, const double *sigma);

/* DOT_GROUP such sums, of as many lines with one, in half the time and less, added to hi and lo: of long lines piece by piece, each
 * but the last of 8 terms and more. All of it from the same sigma is what dot_extracted gives, within the same bound: sums of the q of any pieces
 * are exact.
 *
 *   a      DOT_GROUP lines of k terms, `step` elements apart
 *   sigma  dot->start * scale of each line with b, where that is in range
 */
enum { DOT_GROUP = 4 };
void dot_extract_group(double *hi, double *lo, const double *a, size_t step, const double *b,
                       size_t k, const double *sigma);

/* What dot_extracted returns. `sums`: is it a bound of sums that are to be made? Where not, hi = lo = 0 have it. */
double dot_extraction_bound(bool *sums, const struct dot *dot, double scale);

#endif
