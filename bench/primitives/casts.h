/* Casts between real, integral and complex values. */
#ifndef PROBE_BENCH_PRIMITIVES_CASTS_H
#define PROBE_BENCH_PRIMITIVES_CASTS_H

#include "bench/tape/tape.h"

/* Integral -> real. Beyond 2^53 the doubles are rounded and have bounds; pairs and balls of the
 * elements are the integers all the same. A real node is returned as is. */
struct node *node_to_real(struct tape *tape, struct node *x);

/* As PyTorch's x.to(dtype) to an integer dtype (toward zero, wrapping) or bool (x != 0). */
struct node *node_to_integer(struct tape *tape, struct node *x, enum dtype dtype);

/* x.to(dtype) for any pair of dtypes. Tracked for real -> real. */
struct node *node_cast(struct tape *tape, struct node *x, enum dtype dtype);

/* x, which a kernel that rounds between its steps casts to the short `dtype` of its result first: of a wider float or an integer, a step. x itself
 * otherwise. */
struct node *node_staged_operand(struct tape *tape, struct node *x, enum dtype dtype);

/* The same for what a call computes with: "the input tensor is casted to dtype before the operation is performed", which for a
 * narrower float rounds it, exactly. The gradient is rounded to that dtype on its way back. x that is not exact stays as it is. */
struct node *node_cast_operand(struct tape *tape, struct node *x, enum dtype dtype);

/* y, made of a tensor in `own`, whose gradient begins with a cast of the cotangent to `own` where that is shorter, a step of kernels that round
 * between theirs. y itself for other tapes. */
struct node *node_staged_cotangent(struct tape *tape, struct node *y, enum dtype own);

/* In a model: x, the result of a step that a kernel takes in the narrower `own` before its result in `wide`: rounded to `own`, and so is the
 * gradient that comes back. x itself otherwise, and where `own` is not narrower. */
struct node *node_model_narrow_step(struct tape *tape, struct node *x, enum dtype own,
                                    enum dtype wide);

#endif
