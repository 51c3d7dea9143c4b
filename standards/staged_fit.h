/* Is a 16- or 8-bit result that of a kernel which rounds to its dtype between its steps?
 *
 * Being within what such a kernel may be off is not enough: most faults of some units are. But its roundings are no chance:
 * they follow from the data, so such kernels can be computed (`compute_staged` of core/reference.h), and where one is the
 * kernel that gave the result, the two agree to the last bit in all elements but those that float32 sums or functions move
 * across a rounding boundary on the way. Elements that equal the rounded reference say nothing, as a fault in other places
 * leaves them alone. So the fit is the share of the *other* elements that a computed kernel gives; the best of all that
 * are tried.
 *
 * Which steps round is a matter of the framework. Tried are the kernels that round at all steps (with and without
 * rounded numbers of the call, composed functions, other formulas, gradients from stored results, one kernel where frameworks have one), those that round at
 * the last steps alone, and from the best of them and from those that round at no step (composed or not, from stored results
 * or not) the others, a step at a time as long as the fit grows: more elements, or the same and nearer to the others. Where
 * none fits, the elements that vectors leave over may have a kernel of their own.
 */
#ifndef PROBE_STANDARDS_STAGED_FIT_H
#define PROBE_STANDARDS_STAGED_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/reference.h"

struct staged_fit {
    size_t differing;    /* elements that are not the rounded reference */
    size_t reproduced;   /* those of them that the best kernel gives, */
    size_t contradicted; /* and elements that are, where it gives another number */
    double share;        /* reproduced over differing and contradicted, 0 without any */
    /* At least the probability that errors which have nothing to do with the kernels, in as many elements anywhere and up or
     * down, agree so well with one of those tried: hypergeometric, for each element one of the numbers that are no further off, times the number of kernels. */
    double chance;
    /* It gives every element, and rounds at all steps or at no more than one: it was not fitted to the result. */
    bool whole;
    struct staged_choice choice;
};

/* The best kernel; the search ends at one whose share is `enough`.
 *
 *   can   false where no kernel can be computed
 *   got   dense, of `want`'s dtype and shape
 */
struct status staged_fit_find(struct staged_fit *out, bool *can, struct arena *arena,
                              struct reference *want, const struct tensor *got, double enough);

#endif
