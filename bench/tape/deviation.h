/* How a kernel's arithmetic may deviate from what it should be: what a tape in BENCH_NATIVE follows when
 * it evaluates a call as a kernel with such a mistake would. Apart from the stated deviation everything
 * is computed in double, so that what differs from the reference is the deviation's doing.
 */
#ifndef PROBE_BENCH_TAPE_DEVIATION_H
#define PROBE_BENCH_TAPE_DEVIATION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/dtype.h"

/* Rounding to a binary format: significand bits with the hidden one (0: no rounding), the exponent of
 * the least normal number, the largest finite number. */
struct rounding {
    int bits;
    int exponent_min;
    double largest;
    bool toward_zero;
};

/* The rounding to a floating dtype. */
struct rounding rounding_to(enum dtype dtype);

/* x rounded; x itself where nothing is rounded. Overflow gives infinity, toward zero the largest number. */
double rounding_apply(const struct rounding *rounding, double x);
void rounding_apply_all(const struct rounding *rounding, double *x, size_t n);

/* Formulas in place of the usual ones (bench/primitives/other_forms.h). */
enum deviation_form { FORM_USUAL, FORM_ONE_PASS, FORM_NO_MAXIMUM, FORM_LOG_OF_SOFTMAX };

/* What becomes of the result of one step. */
enum step_change {
    STEP_KEPT,
    STEP_ZERO,        /* it is 0, */
    STEP_ONE,         /* 1, */
    STEP_FIRST_INPUT, /* or what went in: the step is left out */
    STEP_SECOND_INPUT,
    STEP_SCALED,  /* times `factor` */
    STEP_ROUNDED, /* by `rounding` */
};

struct deviation {
    /* Of the first and second factor of matrix products and convolutions. */
    struct rounding operands[2];
    /* Factors are sums of two numbers of the operands' formats, and the product of the two lower parts is
     * left out (bf16x2 and its like). */
    bool split;
    /* Of the result of every step, but of those with unrounded[id of the node], ids below `unrounded_ids`. */
    struct rounding steps;
    const bool *unrounded;
    size_t unrounded_ids;
    /* Of the call's numbers and constants where they meet a tensor; what is made of numbers alone is a number, too, and no step. */
    struct rounding numbers;
    /* Of accumulators, after every addition (block 0), or of sums of `block` terms, which are added up in
     * `sums` in turn; within a block sums are rounded, too, unless `wide_blocks`. */
    struct rounding sums;
    size_t block;
    bool wide_blocks;
    enum deviation_form form;
    /* Formulas that frameworks write in two ways in the less usual one: slopes that are products or quotients meet the
     * cotangent factor by factor, node_model_either is the other form. */
    bool other_formulas;
    bool
        composed_functions; /* functions are composed of others, their steps rounded as `steps` has it */
    struct {
        enum step_change change;
        size_t node; /* id of the step's node */
        double factor;
        struct rounding rounding;
    } step;
};

/* A sum as a deviating kernel accumulates it. All zeros but `deviation` is an empty one. */
struct accumulator {
    const struct deviation *deviation;
    double total, partial;
    size_t in_block;
};
void accumulator_add(struct accumulator *sum, double term);
double accumulator_total(const struct accumulator *sum);

/* Are sums accumulated as `deviation` (or NULL) says? */
static inline bool deviation_sums(const struct deviation *deviation)
{
    return deviation && deviation->sums.bits;
}

#endif
