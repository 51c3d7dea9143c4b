/* What the elements of a tensor are drawn from: a recorded Max and Min turned into a range
 * of values that its dtype can hold, and the few values that are put in place by hand.
 *
 * The rules follow msprobe's generator (uniform between Min and Max, first element Min,
 * last element Max), with three differences that keep a test from becoming empty:
 *   - an infinity or NaN in the record is placed once; the rest is drawn from a finite
 *     range. Old dumps give that range (Max_except_inf_nan, Min_except_inf_nan). Else the
 *     finite bound is one end, and the other end lies max(1, 2 |bound|) from it; with no
 *     finite bound Norm gives the root mean square r and the range is mean +- sqrt(3) r;
 *     with nothing at all it is [-1, 1];
 *   - hi - lo is never formed, so a range of the whole dtype does not overflow;
 *   - bounds are moved inward to values of the dtype, so that no element, once rounded,
 *     lies outside the recorded range.
 */
#ifndef PROBE_GENERATORS_RANGE_H
#define PROBE_GENERATORS_RANGE_H

#include "core/value.h"

struct range {
    /* Floating types: finite values of the dtype. Complex types: limits on the magnitude
     * |x| that a real number of the component type can have. */
    double lo, hi;
    /* Integer types and bool. */
    int64_t integer_lo, integer_hi;

    /* The recorded tensor held one infinity or NaN only: so does the generated one. */
    bool constant;
    double constant_value;
    /* Put in place after the draw; the first and last element are lo and hi otherwise. */
    bool has_first, has_second, has_last;
    double first, second, last;

    /* The finite range is a guess (see above). */
    bool guessed;
};

/* The range of a tensor of `n` elements recorded as `record`, generated as `dtype` (which
 * may differ from the recorded one). STATUS_SKIP when the record lacks Max or Min. */
struct status range_of_record(struct range *out, const struct tensor_record *record,
                              enum dtype dtype, size_t n);

/* A range of reals / integers without placed values. Bounds are clamped to the dtype. */
struct range range_of_reals(enum dtype dtype, double lo, double hi);
struct range range_of_integers(enum dtype dtype, int64_t lo, int64_t hi);

#endif
