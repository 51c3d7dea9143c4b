/* Functions and their gradients as kernels for tensors of a short dtype compose them: step after step, each rounded to the
 * dtype. They are asked for where such kernels are meant, and nowhere else: by the model of staged kernels, for what the steps
 * make of an error, and by deviating arithmetic that has `composed_functions`, for the values.
 *
 * Sources: PyTorch's kernels for scalar_t (aten/src/ATen/native/cpu), derivatives.yaml and FunctionsManual.cpp, and the
 * decompositions of torch/_refs.
 */
#ifndef PROBE_BENCH_PRIMITIVES_COMPOSED_FUNCTIONS_H
#define PROBE_BENCH_PRIMITIVES_COMPOSED_FUNCTIONS_H

#include <stdbool.h>

#include "bench/tape/tape.h"

/* Are compositions asked for on this tape; and are they to take the place of the functions? */
bool composes(const struct tape *tape);
bool composes_values(const struct tape *tape);

/* f(x) and f(a, b); `other` takes the less usual formula where there are two. NULL for functions of one step. */
struct node *composed_function(struct tape *tape, const char *function, struct node *x, bool other);
struct node *composed_function2(struct tape *tape, const char *function, struct node *a,
                                struct node *b);

/* What y = f(x) passes on to x of a cotangent c. NULL where it is a product of c and the slope, or no kernel is known. */
struct node *composed_gradient(struct tape *tape, const char *function, struct node *x,
                               struct node *y, struct node *c);

/* The same of y = f(a, b), to operand `which`, before it is summed to its shape. */
struct node *composed_gradient2(struct tape *tape, const char *function, int which,
                                struct node *const operands[2], struct node *y, struct node *c);

/* y, which is the same by `steps`, the composition of `name` (NULL: y itself). In the model of staged kernels y with the larger
 * error of the two; on a tape that wants values those of the steps. Gradients go through y. */
struct node *node_as_steps(struct tape *tape, struct node *y, struct node *steps, const char *name);

#endif
