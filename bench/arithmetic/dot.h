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
#include <stdint.h>

#include "bench/arithmetic/certificate.h"
#include "core/dtype.h"

/* What dot products of one length have in common. */
struct dot {
    size_t k;
    bool exact_products; /* every product is exact in double: at most 53 bits, no underflow */
    double start;        /* sigma over the largest product: 4 k, rounded up to a power of two */
    double bound, lost;  /* bounds: bound * sigma + lost */
};
struct dot dot_of_length(size_t k, bool exact_products);

/* sum a[l] b[l] of finite terms, each |a[l] b[l]| at most `scale`, a power of two or 0.
 *
 *   hi, lo    the sum as an unevaluated pair, not normalized
 *   returns   a bound on |hi + lo - sum|: with t terms, t = k or, with inexact products, 2 k,
 *             gamma_t t u sigma (u = 2^-53); INFINITY when sigma is out of range
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

/* The lines of a factor, elements of a real dtype: element l of line i is the (i * line + l * term)-th of x.
 * One of `line` and `term` is 1. */
struct factor {
    const void *x;
    enum dtype dtype;
    size_t lines, line, term;
};

/* `count` of the lines, from line `first` on. */
struct factor factor_lines(const struct factor *f, size_t first, size_t count);

/* The product C of two factors, lines of `k` terms each: the a.lines x b.lines matrix `value`, rows `step` elements
 * apart, with its bounds, rows `error_step` apart, tested in `dtype`. Products that are exact are those of factors that floats can hold. */
struct dot_matrix {
    double *value, *error;
    size_t step, error_step;
    struct factor a, b;
    size_t k;
    enum dtype dtype;
    bool exact_products;
    bool quick; /* open is what the quick form of the certificate does not pass */
    /* A bit for each element that is open, 64 columns a word, rows `open_step` words apart; NULL: they are looked for. */
    const uint64_t *open;
    size_t open_step;
};

/* Is some bound more than 2^-10 ulp of the dtype? Never for float64, whose elements no double
 * certifies. */
bool dots_open(const struct dot_matrix *c);

/* The lines of a factor one after the other, floats where products are exact, else doubles, and a power of two that no
 * element of each exceeds. */
struct dot_lines {
    const void *x;
    const double *scale;
};

/* `scratch` has dot_lines_scratch elements, and is needed as long as the lines. The factor is exact and finite; `norms`
 * has upper bounds of the lines' 2-norms, which save a look at all elements, or is NULL. */
struct dot_lines dot_lines_prepare(double *scratch, const struct factor *f, size_t k,
                                   bool exact_products, const double *norms);
size_t dot_lines_scratch(const struct factor *f, size_t k, bool exact_products);

/* Which of n elements, at most 64, the quick form of the certificate does not pass, as bits. */
uint64_t dot_open_bits(const double *value, const double *error, size_t n,
                       const struct certificate *certificate);

/* Recompute the elements that are open. The bounds are replaced where they become smaller.
 *
 *   a, b  the lines of c->a and c->b
 *   wide  room for 2 k
 */
void dots_recompute(const struct dot_matrix *c, const struct dot_lines *a,
                    const struct dot_lines *b, double *wide);

#endif
