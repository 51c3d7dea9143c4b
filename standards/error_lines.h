/* Errors in one row, column, slab, tile or lane of a tensor, which are diluted in statistics of the whole.
 *
 * z is an error in units of its expected root mean square. If the errors of a line of c elements are independent, normal
 * and as large as expected, the sum of z^2 is chi-squared, and with a probability of at most e^-x (Laurent and Massart,
 * Adaptive estimation of a quadratic functional, 2000, lemma 1)
 *     rms of z > g(c) = sqrt(1 + 2 sqrt(x / c) + 2 x / c),    |mean of z| > sqrt(2 x / c) = h(c).
 * x = ln(10^10 N), N lines in all: one false alarm in 10^10 tensors.
 *
 * Lines may share errors, of their mean or sum, and such a line is one draw. How much they do the other lines show:
 * r^2 the mean of their z^2, v that of the squares of their means, w the variance of their mean squares. Independent errors
 * have v = r^2 / c and w = 2 r^4 / c, shared ones v = r^2 or, where signs differ, w = 2 r^4; so the smaller of r^2 / v and
 * 2 r^4 / w takes the place of c. So does the number of different references in the line when it is smaller, as equal
 * elements err alike; and 8, as one line may share more than others do (the row of a softmax that has one term), or 64 where lines are alike.
 * The others show, too, how large errors of this kernel are: lines of a right kernel differ (other paths at edges, slopes that
 * the model bounds), by less than two. So a line is beyond what is explained when its rms is above max(1, 2 r) g, or
 * its mean above max(1, 2 r) h.
 */
#ifndef PROBE_STANDARDS_ERROR_LINES_H
#define PROBE_STANDARDS_ERROR_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "standards/line_sums.h"

struct line_findings {
    double
        quotient; /* of the worst line: its rms or mean over the larger of both; 0 when nothing can be said */
    double value, others; /* its rms or mean, and the rms of the others */
    size_t line;          /* its number among those of its form, and its elements */
    size_t elements;
    const char *form; /* "row", "index of dimension 1", ... */
    int dimension;    /* of slabs, else -1 */
};

struct status error_lines_find(struct line_findings *out, struct arena *arena,
                               const struct error_field *field);

/* The same from sums that were added up while the field was made; closes them. */
void error_lines_judge(struct line_findings *out, struct line_sums *sums);

#endif
