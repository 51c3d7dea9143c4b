/* Is a difference what legitimate arithmetic explains? The measure behind the profile `strict`.
 *
 * A legitimate kernel holds, before its last rounding, a value v with |v - exact| <= kernel_bound, and
 * returns v rounded to the output's dtype (core/reference.h). So the results that it can return
 * are exactly the numbers of the dtype between the roundings of exact - kernel_bound and of
 * exact + kernel_bound: that is the test of an element, infinities and the binade edges included.
 *
 * What an element's worst case allows, a tensor as a whole need not have: rounding errors are
 * many and mostly cancel. z_i measures an error in units of its expected root mean square s_i:
 *
 *   outputs in the type that the kernel computes in   z = (got - want) / sqrt(s^2 + ulp^2 / 12),
 *                                                     the second term being the last rounding's variance
 *   narrower ones                                     the part of got - want that the last rounding does not
 *                                                     explain, over s: 0 when `got` is a rounding of `want`
 *
 * standards/error_statistics.h sums them up. The limits stand in config/profile_strict.json; docs/standards.md
 * derives them.
 */
#ifndef PROBE_STANDARDS_ERROR_MODEL_H
#define PROBE_STANDARDS_ERROR_MODEL_H

#include "core/arena.h"
#include "core/reference.h"
#include "core/status.h"
#include "core/tensor.h"
#include "standards/error_lines.h"
#include "standards/error_outlier.h"
#include "standards/error_statistics.h"
#include "standards/short_results.h"
#include "standards/unequal_results.h"

/* An element that no legitimate kernel returns. */
struct model_outlier {
    size_t index; /* SIZE_MAX: none */
    double want, got;
    double quotient; /* |got - want| over what is allowed; infinite for a wrong kind of value */
};

struct model_findings {
    size_t n;
    uint64_t beyond; /* elements outside their interval, mismatched kinds of values included */
    uint64_t kinds;  /* of those: NaN or infinity on one side only, or of the wrong sign */
    struct model_outlier worst; /* by quotient; of all elements, beyond or not */

    /* Of the elements with a model that is not exact. */
    struct error_summary statistics;
    double common;  /* what the errors may have in common, 0: nothing is known (struct reference) */
    size_t draws;   /* fewest errors that the elements may share; SIZE_MAX where nothing is known */
    double largest; /* of |z| */
    size_t largest_index;
    double second; /* the next largest; 0 where the output is narrower than the arithmetic */
    struct error_outlier
        outlier; /* the largest one, where it is beyond what is expected and twice the next */
    struct line_findings lines;
    struct unequal_results unequal;
    int missing_bits; /* of all results, though not of the exact ones */

    /* Outputs narrower than the arithmetic: elements that are not the rounded reference, and
     * how many the model's rms expects. */
    uint64_t flips;
    double expected_flips;
};

/* How the model of an output without `kernel_bound` is made up: a bound of
 * `ulp` units of the compute dtype at the reference plus `scale` units at the tensor's largest
 * value, a quarter of it as rms. */
struct model_fallback {
    double ulp, scale;
};

/* Compare.
 *
 *   got       dense, of a floating or complex dtype, n components
 *   want      hi set; elements whose bound decides are refined, if it can be done
 *   fallback  used when want->kernel_bound is NULL
 *   errors    STATUS_NO_MEMORY, or what refine gave
 */
struct status error_model_measure(struct model_findings *out, struct arena *arena,
                                  const struct tensor *got, struct reference *want,
                                  const struct model_fallback *fallback);

/* The error of component i that a legitimate kernel, the last rounding and the bound of the reference
 * explain. `want` has `kernel_bound` and `hi`. */
double error_model_allowed(const struct reference *want, size_t i);

/* The largest error of an element over what a legitimate kernel, the last rounding and the bound of the
 * reference explain. Elements whose error is not finite do not count.
 *
 *   got      of the dtype and shape that `want` has
 *   want     with `kernel_bound` and `hi`
 */
struct status error_model_over_rounding(double *out, struct arena *arena, const struct tensor *got,
                                        const struct reference *want);

#endif
