/* Matrix products in panels of the inner dimension: w terms of every dot product at a time, from factors of any real
 * dtype, of which one panel at a time is converted to double. Long products are summed in groups of g panels.
 *
 * Bound. A panel's sum S of at most w exact terms x has, for any order of summation and any use of FMA,
 * |fl(S) - S| <= gamma_w sum|x| (Higham, Accuracy and Stability, 3.1). The g sums of a group are added one
 * after the other, the first to nothing, and so are the q groups: a term passes through w + g - 1 + q - 1 roundings at
 * most, so the whole is off by gamma_(w+g+q-2) |a| |b| with the norms of the lines (Cauchy and Schwarz). One gamma_k
 * over all terms is 12 times that at k = 1024, 20 times at 3072 and 55 times at 8192.
 *
 * A panel's sum is added to C by dgemm itself (beta = 1), which is what OpenBLAS does: its kernels accumulate a
 * block of at least 128 terms from zero, multiply by alpha, which is known no earlier, and add the product to C.
 * tests/bench/test_products.c holds every kernel that the processor has against it.
 */
#ifndef PROBE_BENCH_ARITHMETIC_PANELS_H
#define PROBE_BENCH_ARITHMETIC_PANELS_H

#include "bench/arithmetic/dot_lines.h"

enum { PANEL = 128 }; /* the most terms of one */

/* How many roundings a term of a product in panels passes through, or more. */
double panels_roundings(size_t k);

/* value = A B, a.lines x b.lines, whose rows lie `step` elements apart. */
struct panels {
    double *value;
    size_t step;
    struct factor a, b;
    size_t k; /* above 0 */
};

/* `scratch` has panels_scratch(p) elements. */
void panels_multiply(double *scratch, const struct panels *p);
size_t panels_scratch(const struct panels *p);

/* Upper bounds of the 2-norms of the lines, of k terms: not finite where a line has something that is not, or a square
 * that is not. */
void factor_norms(double *norm, const struct factor *f, size_t k);

#endif
