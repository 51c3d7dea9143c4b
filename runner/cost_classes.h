/* What the rows of the catalogue cost: a class for each family, and classes of their own for the rows
 * of a family that cost several times more or less than the others. */
#ifndef PROBE_RUNNER_COST_CLASSES_H
#define PROBE_RUNNER_COST_CLASSES_H

#include "bench/registry.h"

/* What there is to do besides walking over the elements of the arguments and results, and what it is
 * counted in. */
enum cost_work {
    WORK_NONE,
    WORK_INNER,       /* products of results and the last dimension of the first tensor */
    WORK_ADDED_INNER, /* the same, of the second: the first is added */
    WORK_CONTRACTION, /* products of a contraction, from the sizes of operands and result */
    WORK_TAPS,        /* products of results and the weights of one of them */
    WORK_SPREAD_TAPS, /* products of arguments and the weights that spread one of them */
    WORK_STEPS,       /* products of every step of a sequence and all weights */
    WORK_SCORES,      /* pairs of a query and a key */
    WORK_PAIRS,       /* elements of the first tensor and rows of the second */
    WORK_CUBE,        /* elements of a matrix and one of its dimensions */
    WORK_DROPS,       /* elements of a dropout that does drop */
    WORK_EXTREMES, /* square root of the elements, where the recorded range saturates exponentials */
};

/* Nanoseconds of a call that is checked in both directions. */
struct cost_class {
    const char *family; /* table of the catalogue */
    const char
        *names; /* of rows, separated by '|'; NULL: all that the classes before do not have */
    /* For each element of arguments and results, by the first floating dtype among them: of 32 bits and
     * more, and of fewer (of which more elements need a closer reference). */
    double wide_ns, narrow_ns;
    double
        narrow_root_ns; /* and for the square root of their number: references are refined within a budget */
    enum cost_work work;
    double work_ns; /* for each unit of that */
};

const struct cost_class *cost_class_of(const struct op *op);

#endif
