/* Errors of a model that are a share of the norm of a line, as those of algorithms that mix all elements of one. */
#ifndef PROBE_BENCH_PRIMITIVES_LINE_ERRORS_H
#define PROBE_BENCH_PRIMITIVES_LINE_ERRORS_H

#include "bench/tape/tape.h"

/* In a model: y, lines of `length` along its last dimension, every element of which is off by at least `roundings` * unit * the root
 * mean square of its line, `partner` (y's shape; NULL: none) included: for algorithms whose error is bounded by the norm of the whole.
 * y itself otherwise. */
struct node *node_model_line_error(struct tape *tape, struct node *y, struct node *partner,
                                   int64_t length, double roundings);

/* In a model: x, real or complex, to which the cotangent comes back as from node_model_line_error, of complex x with its other part as the
 * partner. x itself otherwise. */
struct node *node_model_line_slope(struct tape *tape, struct node *x, int64_t length,
                                   double roundings);

#endif
