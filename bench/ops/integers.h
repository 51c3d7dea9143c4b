/* Arithmetic of integers as PyTorch has it: exact, wrapping to 64 bits and then to the dtype. */
#ifndef PROBE_BENCH_OPS_INTEGERS_H
#define PROBE_BENCH_OPS_INTEGERS_H

#include "bench/call/op.h"

typedef int64_t binary_integers(int64_t a, int64_t b);

binary_integers wrapping_add, wrapping_subtract, wrapping_multiply, larger_integer, smaller_integer;
/* Of a divisor that is not 0; the one quotient that overflows wraps. */
binary_integers truncated_quotient;
int64_t wrapping_negate(int64_t a);

/* a + b, a - b and a b (broadcast) in the arithmetic of `dtype`: of two integral nodes with an
 * integral dtype the integers, wrapped; otherwise the exact reals. */
struct node *node_add_as(struct tape *tape, enum dtype dtype, struct node *a, struct node *b);
struct node *node_subtract_as(struct tape *tape, enum dtype dtype, struct node *a, struct node *b);
struct node *node_multiply_as(struct tape *tape, enum dtype dtype, struct node *a, struct node *b);

/* -x, of integers in their dtype. */
struct node *node_negate_as(struct tape *tape, struct node *x);

/* x no smaller than `low` and then no larger than `high`, in `dtype`. A limit may be NULL. */
struct node *clamp_integers(struct tape *tape, enum dtype dtype, struct node *x, struct node *low,
                            struct node *high);

#endif
