/* Do the errors of a 16- or 8-bit result look like those of a kernel that rounds to its dtype between its steps?
 *
 * Being within what such a kernel may be off is not enough: many faults are. Rounding is fair, so the elements of its result
 * that are not the rounded reference are as often too large as too small, unless they share a step. What they share follows from
 * the data, so such a kernel can be computed (`allow` of core/reference.h with KERNEL_STAGED). r is by how many units the
 * result differs from the rounded reference, d by how many that kernel's value does before its last rounding; rho =
 * <r, d> / |r||d|. <r, d> is <d, d> in the mean, and |r|^2 about the sum of |d| while d is below a unit: a kernel with
 * errors of a third of a unit has a rho of 0.6, one that rounds at half of the steps 0.4.
 */
#ifndef PROBE_STANDARDS_STAGED_FIT_H
#define PROBE_STANDARDS_STAGED_FIT_H

#include <stddef.h>

#include "core/reference.h"

struct staged_fit {
    size_t differing;   /* elements that are not the rounded reference */
    double correlation; /* rho */
    double
        one_sided; /* share of these that are too large less those too small, or too far from 0; 0 to 1 */
};

/* got: dense, of `want`'s dtype and shape; staged: n values. Elements that are not finite are left out. */
struct staged_fit staged_fit_measure(const struct reference *want, const double *staged,
                                     const struct tensor *got);

#endif
