/* Integers beyond 2^53 are no doubles: what PyTorch computes in integers is computed in integers
 * here, and in unsigned ones where it wraps.
 */
#include "bench/ops/integers.h"

#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/integral.h"

/* clang-format off */
int64_t wrapping_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
int64_t wrapping_subtract(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
int64_t wrapping_multiply(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
int64_t wrapping_negate(int64_t a) { return (int64_t)(0 - (uint64_t)a); }
int64_t larger_integer(int64_t a, int64_t b) { return a > b ? a : b; }
int64_t smaller_integer(int64_t a, int64_t b) { return a < b ? a : b; }
/* clang-format on */

int64_t truncated_quotient(int64_t a, int64_t b)
{
    return b == -1 ? wrapping_negate(a) : b ? a / b : 0;
}

static bool are_integers(enum dtype dtype, const struct node *a, const struct node *b)
{
    return a->integer && b->integer && dtype != DT_NONE && dtype_is_integral(dtype);
}

struct node *node_add_as(struct tape *tape, enum dtype dtype, struct node *a, struct node *b)
{
    return are_integers(dtype, a, b) ? node_integer_binary(tape, dtype, wrapping_add, a, b)
                                     : node_add(tape, a, b);
}

struct node *node_subtract_as(struct tape *tape, enum dtype dtype, struct node *a, struct node *b)
{
    return are_integers(dtype, a, b) ? node_integer_binary(tape, dtype, wrapping_subtract, a, b)
                                     : node_subtract(tape, a, b);
}

struct node *node_multiply_as(struct tape *tape, enum dtype dtype, struct node *a, struct node *b)
{
    return are_integers(dtype, a, b) ? node_integer_binary(tape, dtype, wrapping_multiply, a, b)
                                     : node_multiply(tape, a, b);
}

struct node *node_negate_as(struct tape *tape, struct node *x)
{
    return are_integers(x->dtype, x, x) ? node_integer_unary(tape, x->dtype, wrapping_negate, x)
                                        : node_negate(tape, x);
}

struct node *clamp_integers(struct tape *tape, enum dtype dtype, struct node *x, struct node *low,
                            struct node *high)
{
    if (low)
        x = node_integer_binary(tape, dtype, larger_integer, x, node_to_integer(tape, low, dtype));
    if (high)
        x = node_integer_binary(tape, dtype, smaller_integer, x,
                                node_to_integer(tape, high, dtype));
    return x;
}
