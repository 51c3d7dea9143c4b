/* What many op families need of their arguments: operands in their common dtype, numbers as a
 * kernel of that dtype sees them, masks.
 */
#ifndef PROBE_BENCH_OPS_OPERANDS_H
#define PROBE_BENCH_OPS_OPERANDS_H

#include "bench/call/dimensions.h"
#include "bench/call/op.h"

/* Two operands and the dtype of their result. Integral ones are already in that dtype. */
struct operands {
    struct node *a, *b;
    enum dtype dtype;
    bool integral; /* both are */
};

struct operands two_operands(struct call *call, const char *first, const char *second);

/* The same for functions that make floats of integers. */
struct operands two_float_operands(struct call *call, const char *first, const char *second);

/* In a model: real x with an element for each of a result to which it is broadcast with `other`. Kernels multiply a cotangent by
 * the slope first and add up what was broadcast then, where a composition may add first. x itself otherwise. */
struct node *operand_repeated(struct tape *tape, struct node *x, const struct node *other);

/* Return the larger (`most`) or smaller of the operands, element by element. NaN wins unless it is
 * to be ignored. */
void call_return_larger(struct call *call, struct operands *operands, bool most, bool ignores_nan);

/* x as a kernel of `dtype` holds it: integers and weak numbers rounded to it, tensors of another
 * float dtype untouched (their promotion is exact). For comparisons, which see the rounding. */
struct node *node_as_compared(struct tape *tape, struct node *x, enum dtype dtype);
double number_as_compared(double x, enum dtype dtype);

/* Element i of a node whose values have been read: a long double holds every double and every
 * int64. */
static inline long double node_element(const struct node *x, size_t i)
{
    return x->integer ? (long double)x->integer[i] : (long double)x->value[i];
}

/* pi as an exact constant of rank 0. */
struct node *node_pi(struct tape *tape);

/* max(x, 0); the cotangent passes at 0. */
struct node *node_positive_part(struct tape *tape, struct node *x);

/* The rows x columns mask of a band: column - row <= above and row - column <= below. */
struct node *node_band(struct tape *tape, int64_t rows, int64_t columns, int64_t above,
                       int64_t below);

/* Masks: bool nodes combined. */
struct node *node_and(struct tape *tape, struct node *a, struct node *b);
struct node *node_or(struct tape *tape, struct node *a, struct node *b);
struct node *node_not(struct tape *tape, struct node *a);
struct node *node_isnan(struct tape *tape, struct node *x);

#endif
