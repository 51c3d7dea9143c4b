/* What a communication should have left, element by element, from what the ranks gave to it.
 *
 * A copy is exact. A reduction may add in any order and round as often as it adds, in the dtype of the
 * tensors: rings and trees do, and which one ran is not recorded. For k ranks whose elements are x_i
 *
 *     |got - sum x_i| <= k u sum |x_i|,   u = 2^-significand
 *
 * holds for every order (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 4.2: k - 1
 * additions; one rounding more covers sums that are kept in a wider format and rounded at the end). An
 * average has a product or quotient and a rounded factor 1/k more. The sum itself is compensated
 * (Ogita, Rump and Oishi, Accurate Sum and Dot Product, 2005), so that its own error, below
 * (k 2^-53)^2 sum |x_i|, is of no account.
 */
#ifndef PROBE_COMPARE_COLLECTIVES_REDUCTION_H
#define PROBE_COMPARE_COLLECTIVES_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/dtype.h"

enum reduction {
    REDUCTION_COPY, /* of one rank */
    REDUCTION_SUM,
    REDUCTION_AVERAGE,
    REDUCTION_PRODUCT,
    REDUCTION_MINIMUM,
    REDUCTION_MAXIMUM,
    REDUCTION_AND,
    REDUCTION_OR,
    REDUCTION_XOR,
    REDUCTIONS
};

/* "sum", ...; "copy". */
const char *reduction_name(enum reduction reduction);

/* Is it defined for the dtype? NULL, or why it is not checked. */
const char *reduction_obstacle(enum reduction reduction, enum dtype dtype);

/* `elements` dense elements of what a rank gave or got. */
struct piece {
    const unsigned char *data;
    size_t elements;
};

/* How a rank's elements enter a sum: all once, unless something went wrong. */
struct reduction_weights {
    const double *factors; /* one for each rank; NULL: 1 each */
    double scale;          /* of the sum: 1, or 1/k of an average */
    double roundoff;       /* u of the formula above */
};

struct reduction_error {
    size_t wrong;    /* elements beyond what is allowed */
    size_t unjudged; /* in which some order overflows, so that every result is legitimate */
    size_t worst;    /* element with the largest error over what is allowed */
    double got, want;
    double error, allowed,
        quotient; /* of that element; quotient INFINITY where nothing is allowed */
};

/* Judge elements begin..end of what a rank got.
 *
 *   given    what each of the `ranks` ranks gave; of a copy one
 *   weights  of sums and averages; NULL: as the reduction says
 *   out      added to: zeroed by the caller before the first range
 */
void reduction_judge(struct reduction_error *out, enum reduction reduction, enum dtype dtype,
                     const struct piece *given, size_t ranks, const struct piece *got,
                     const struct reduction_weights *weights, size_t begin, size_t end);

/* As reduction_judge has them where weights are NULL. */
struct reduction_weights reduction_usual_weights(enum reduction reduction, enum dtype dtype,
                                                 size_t ranks);

#endif
