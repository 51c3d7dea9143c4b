/* The elements of functions of two variables, a row of a walk at a time: values by loops that compilers make vectors of, bounds by the
 * formulas of the reference or of a modelled kernel. */
#ifndef PROBE_BENCH_PRIMITIVES_BINARY_ELEMENTS_H
#define PROBE_BENCH_PRIMITIVES_BINARY_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/primitives/binary_functions.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/tape.h"

enum { BINARY_BLOCK = 512 }; /* elements of an operand that are read together */

/* What the elements of one step follow from (binary_bounds.h opens it). */
struct binary_context {
    const struct binary_function *f;
    char operation;      /* + - * / or 0 for any other function */
    double kernel, tiny; /* relative and absolute rounding of a modelled kernel, else 0 */
    double exponent;     /* relative rounding of the terms of an exponent behind it, else 0 */
    double argument;     /* absolute rounding of an argument beside 1, where there is one */
    bool independent;    /* errors of the operands, in the mean: they add up in squares */
    bool single;         /* values are rounded to float */
    bool model;          /* bounds are those of a kernel */
    int scaled; /* 1, 2: bounds are those of this operand times `scale`, 2^k, and what underflows */
    double scale, scaled_tiny;
    /* More error, times the size of the second operand, which is of the shape of the step. */
    double lost;
    struct walk walk;
};

/* Elements start .. start + count - 1 of a step whose deferral has a context: values, and bounds where `error` is not NULL. */
void binary_elements(const struct node *node, size_t start, size_t count, double *value,
                     double *error);

#endif
