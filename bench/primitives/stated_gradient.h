/* Values whose gradient is stated rather than derived.
 *
 * PyTorch fixes a derivative at kinks, ties and removable singularities where the composition
 * that gives the value would choose another (or lose accuracy). node_stated_gradient keeps the
 * value and replaces the gradient.
 */
#ifndef PROBE_BENCH_PRIMITIVES_STATED_GRADIENT_H
#define PROBE_BENCH_PRIMITIVES_STATED_GRADIENT_H

#include "bench/tape/tape.h"

/* Pass `cotangent` on to node->inputs[1 ..] (tape_accumulate; the shapes are the inputs' own:
 * sum what was broadcast). `parameters` are those given to node_stated_gradient. */
typedef void gradient_function(struct tape *tape, struct node *node, struct node *cotangent,
                               const void *parameters);

/* The real node `value`, differentiable with respect to `inputs` by `backward` only. */
struct node *node_stated_gradient(struct tape *tape, struct node *value, int count,
                                  struct node *const *inputs, gradient_function *backward,
                                  const void *parameters);

/* The same value with a zero gradient (not none) toward `inputs`. */
struct node *node_flat(struct tape *tape, struct node *value, int count,
                       struct node *const *inputs);

/* The elements of `value` with the gradient of `through` (same shape). */
struct node *node_straight_through(struct tape *tape, struct node *value, struct node *through);

#endif
