/* How far every element of an output may be off, and which are further: for whoever must point at an
 * element rather than judge a tensor.
 *
 * An element may be off by what the arithmetic of a legitimate kernel explains (core/reference.h,
 * kernel_bound), its last rounding and the reference's own bound. Verdicts also know limits of whole
 * tensors: where no element is beyond its own, or where the bench has no model of the kernel, the
 * limits are scaled so that the worst element of `got` is at twice its limit.
 */
#ifndef PROBE_STANDARDS_ELEMENT_LIMITS_H
#define PROBE_STANDARDS_ELEMENT_LIMITS_H

#include "core/arena.h"
#include "core/reference.h"
#include "core/status.h"
#include "core/tensor.h"

struct element_limits {
    size_t n;        /* components: elements, twice that when complex */
    double *allowed; /* |got - want| of each; 0 for integers. What is not finite must be the same */
    double *got;     /* as doubles */
    double scale;    /* of the limits: 1 where they are those of the model */
    size_t wrong;    /* components beyond their limit */
    size_t first;    /* the first of them */
    size_t worst;    /* the one that is furthest beyond, by |got - want| / allowed */
};

/* Measure `got` against `want`.
 *
 *   got     as many components as want->n
 *   arena   owns what `out` points to
 *   errors  STATUS_NO_MEMORY only
 */
struct status element_limits_measure(struct element_limits *out, struct arena *arena,
                                     const struct tensor *got, const struct reference *want);

/* Component i of a reference as a double. */
double element_wanted(const struct reference *want, size_t i);

#endif
