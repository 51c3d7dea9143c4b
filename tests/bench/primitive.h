/* Primitives of the tape on made-up operands, against definitions evaluated in balls.
 *
 * An operand is a node together with a point: the exact values that the node's values and bounds
 * stand for. Exact operands have their values as the point; inexact ones a point within the bounds,
 * at an end more often than not. The definition is evaluated at the point; the result node must
 * contain it.
 */
#ifndef PROBE_TESTS_BENCH_PRIMITIVE_H
#define PROBE_TESTS_BENCH_PRIMITIVE_H

#include <arb.h>

#include "bench/samples.h"
#include "bench/tape/tape.h"

struct laboratory {
    struct arena arena;
    struct tape tape;
    struct numbers numbers;
};

void laboratory_open(struct laboratory *lab, enum bench_arithmetic arithmetic, uint64_t seed);
void laboratory_close(struct laboratory *lab);

/* How the values of an operand are chosen. */
enum data {
    DATA_NORMAL, /* normal deviates in float32 */
    DATA_WIDE,   /* normal deviates in double */
    DATA_ONES,
    DATA_WHOLE,      /* -8 .. 8 */
    DATA_CANCELLING, /* consecutive x, -x, the second perturbed by 2^-20 or not at all */
    DATA_GRADED,     /* normal times 2^-20 .. 2^20 */
    DATA_HILBERT,    /* 1 / (1 + position within the last two dimensions) */
    DATA_EXTREME,    /* exponents -200 .. 200 */
    DATA_COUNT
};
extern const char *const data_names[DATA_COUNT];

struct operand {
    struct node *node;
    arb_ptr point; /* one per element */
    size_t n;
};

/* An operand of `dtype` double; inexact with probability 1/2 for each element when asked. */
struct operand operand_make(struct laboratory *lab, int rank, const int64_t *shape, enum data data,
                            bool inexact);
void operand_clear(struct operand *operand);

/* Verdicts over the elements of a result. */
struct findings {
    size_t elements, wrong;
    size_t unclaimed; /* with an infinite bound */
    size_t unseen;    /* bounds so wide that twice them would still be within */
    size_t nonzero;   /* elements with an error at all: E = 0 would be wrong */
    double widest;    /* largest bound / (unit roundoff * |value|), of bounded ones */
};

/* Element i of `node` against the exact value; `what` names the case in messages. A value moved
 * by 2.01 bounds must be found out. */
void judge_element(struct findings *findings, const struct node *node, size_t i, const arb_t exact,
                   const char *what);

/* The same for its pair (bench/tape/enclosure.h), which it must have. */
void judge_pair(struct findings *findings, struct node *node, size_t i, const arb_t exact,
                const char *what);

#endif
