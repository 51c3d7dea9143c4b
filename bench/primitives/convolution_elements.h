/* The errors of a kernel's convolutions, element by element: in the root mean square, what the roundings of an element's own
 * terms make (bench/arithmetic/sum_spread.h).
 *
 * That holds of kernels that add these terms, directly or as a matrix product. Where windows overlap, kernels may also transform tiles
 * (Winograd; Lavin and Gray, Fast algorithms for convolutional neural networks, 2016) or whole images (Fourier): the error of an element
 * then has the size of all that is in the tile, large numbers next to it too, and follows from norms
 * (bench/primitives/convolution_model.h). These algorithms are for strides and dilations of 1: cuDNN's and oneDNN's know no others;
 * MIOpen's of stride 2 is F(2, 3), whose transforms add two numbers or halve them and err little more than the direct sum.
 */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_ELEMENTS_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_ELEMENTS_H

#include <stdbool.h>

#include "bench/primitives/convolution_sizes.h"
#include "bench/tape/tape.h"

/* In the model of typical errors: does a kernel add an element's own terms, and are all terms together few enough to look at? */
bool convolution_looks_at_all(const struct tape *tape, const struct convolution *c);

/* Set the errors of all elements of `node`, of exact operands whose values are there: two of X, W and Y, the third is NULL.
 *
 *   map    the pixel that each tap has at each point (bench/primitives/convolution_columns.h)
 */
void convolution_element_errors(struct tape *tape, struct node *node, const struct convolution *c,
                                const struct node *x, const struct node *w, const struct node *y,
                                const int64_t *map);

#endif
