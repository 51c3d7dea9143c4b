/* Inputs on which kernels go wrong: lines of a tensor (along its last dimension) get elements that cancel, tie, are
 * subnormal, differ widely in size, or lie at roots, poles and edges of functions. Internal to generators/.
 */
#ifndef PROBE_GENERATORS_HARD_H
#define PROBE_GENERATORS_HARD_H

#include "core/tensor.h"
#include "generators/range.h"

/* What becomes of a line. */
enum hard_line {
    HARD_KEPT, /* as drawn */
    HARD_CANCELLING, /* a large value, its negative, and what little is left; or an offset with little spread */
    HARD_TIES, /* odd multiples of half a step of a short format: sums and products land half way */
    HARD_TINY, /* around the smallest normal number, half of them below */
    HARD_WIDE, /* sizes over 2^24 and more: what is small is absorbed */
    HARD_SPECIAL, /* 0, -0, 1, integers, multiples of pi / 2, one unit beside them */
    HARD_EDGES,   /* where exp over- and underflows */
    HARD_LINES
};

/* What line number `line` of a tensor becomes. */
enum hard_line hard_line_of(uint64_t key, size_t line);

/* Change the drawn elements of a floating tensor. Elements stay within the range, that is within the domain
 * of the function that was recorded; where it has no such value, a line is kept. Element i is a pure function of
 * (range, key, i), as before. */
void hard_fill(struct tensor *out, const struct range *range, uint64_t key);

#endif
