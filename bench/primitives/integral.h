/* Integral results: comparisons, predicates and integer arithmetic, element by element. */
#ifndef PROBE_BENCH_PRIMITIVES_INTEGRAL_H
#define PROBE_BENCH_PRIMITIVES_INTEGRAL_H

#include "bench/tape/tape.h"

/* a < b and so on of two real or integral nodes by value (broadcast), dtype bool. Two integral
 * ones are compared as integers; what the bounds of real ones leave open is decided by balls. */
enum comparison { COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE, COMPARE_EQ, COMPARE_NE };
struct node *node_compare(struct tape *tape, enum comparison comparison, struct node *a,
                          struct node *b);

/* Integer arithmetic on broadcast integral nodes: out[i] = f(a, b) wrapped to `dtype`. */
struct node *node_integer_binary(struct tape *tape, enum dtype dtype,
                                 int64_t (*f)(int64_t a, int64_t b), struct node *a,
                                 struct node *b);
struct node *node_integer_unary(struct tape *tape, enum dtype dtype, int64_t (*f)(int64_t a),
                                struct node *a);

/* Bool node: predicate of each real value (isnan and the like). */
struct node *node_predicate(struct tape *tape, bool (*f)(double x), struct node *x);

#endif
