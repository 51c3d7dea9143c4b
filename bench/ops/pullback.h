/* Gradients as results: PyTorch's f_backward, an operator of its own, from the definition of f.
 *
 * An operator f_backward(grad_output, ...) takes the arguments of f and returns gradients. Its row names
 * the arguments as that of f does; f is run on them, and the tape is walked back within the call. A tape
 * can be walked back so once: cotangents stay at its nodes. */
#ifndef PROBE_BENCH_OPS_PULLBACK_H
#define PROBE_BENCH_OPS_PULLBACK_H

#include "bench/call/op.h"
#include "bench/primitives/stated_gradient.h"

/* The same values as a node whose gradient is wanted, whatever the caller of the API wants. */
struct node *node_tracked(struct tape *tape, struct node *x);

/* Zeros of this dtype and shape, tracked: the argument of a linear f, whose gradient does not depend on it. */
struct node *node_tracked_zero(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape);

/* The same of the shape that the list `name` of the call has and of the dtype of `like`. */
struct node *call_tracked_zero(struct call *call, const char *name, const struct node *like);

/* The gradients of the tracked nodes x[0 .. count), which take their places, for the cotangent of y: of
 * the shape and dtype of x[k], zero where y does not depend on it. A cotangent that lacks dimensions of y
 * is broadcast. */
void call_pull_back(struct call *call, struct node *y, struct node *cotangent, int count,
                    struct node **x);

/* The same for one. */
struct node *call_gradient(struct call *call, struct node *y, struct node *cotangent,
                           struct node *x);

/* Return the gradients of the arguments `inputs` (ended by NULL) of `forward`, which is run on the
 * arguments of this call: those named alike. The call's first argument is the cotangent of forward's
 * first result. None for an argument that is None, and where an `output_mask` of the call says False. */
void call_return_gradients(struct call *call, void (*forward)(struct call *call),
                           const char *const *inputs);

/* The complex y, with what `backward` passes on to the parts of complex x, its inputs 1 and 2, besides y's own gradient. */
struct node *node_with_more_gradient(struct tape *tape, struct node *y, struct node *x,
                                     gradient_function *backward, const void *parameters);

/* Item k of the bool list `output_mask`; true where the call has none. */
bool call_wants_output(struct call *call, size_t k);

#endif
