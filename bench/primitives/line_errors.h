/* Errors of a model that are a share of the norm of a line, as those of transforms, which mix all elements of one. */
#ifndef PROBE_BENCH_PRIMITIVES_LINE_ERRORS_H
#define PROBE_BENCH_PRIMITIVES_LINE_ERRORS_H

#include "bench/tape/tape.h"

/* Fourier transforms of lines: every element is off by at least `roundings` * unit * the root mean square of its line, for algorithms whose error
 * is bounded by the norm of the whole. */
struct transformed_lines {
    int64_t length;
    double roundings;
    struct node *re,
        *im; /* what is transformed, each line after the other; im NULL: real numbers */
};

/* In a model: y, the transforms of `lines` along its last dimension, each with its error; `partner` holds the other parts of complex numbers (y's
 * shape; NULL: none). y itself otherwise.
 *
 * The transform of n numbers that repeat, s times over, is 0 but at multiples of s. Kernels do the same with the same numbers, to equal errors, of
 * which s add up there where independent ones make the root of s: in a typical model such an element has the root of s times the error of its line,
 * and of what the numbers come with. */
struct node *node_model_line_error(struct tape *tape, struct node *y, struct node *partner,
                                   const struct transformed_lines *lines);

/* In a model: x, real or complex, to which the cotangent comes back as from node_model_line_error, of complex x with its other part as the
 * partner. x itself otherwise. *slope is for node_model_line_cotangent, or NULL. */
struct line_slope;
struct node *node_model_line_slope(struct tape *tape, struct node *x,
                                   const struct transformed_lines *lines,
                                   struct line_slope **slope);

/* y, real (part 0) or imaginary parts (1) of the transforms, whose cotangents are what is transformed on the way back. */
struct node *node_model_line_cotangent(struct tape *tape, struct node *y, struct line_slope *slope,
                                       int part);

#endif
