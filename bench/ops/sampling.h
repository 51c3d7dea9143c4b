/* Draws whose law differs from element to element, and their test. */
#ifndef PROBE_BENCH_OPS_SAMPLING_H
#define PROBE_BENCH_OPS_SAMPLING_H

#include "bench/call/op.h"

struct draws {
    const char *name;
    size_t n;                     /* draws: elements of the result */
    const double *first, *second; /* parameters by element; multinomial: weights */
    size_t period;                /* 0, or after how many elements the parameters repeat */
    double (*cdf)(double k, double first, double second);
    bool continuous;         /* else whole numbers */
    size_t classes, samples; /* multinomial; randperm: classes = samples = n */
    bool replacement;
};

/* The property "legal values that follow this law". NULL when there is no memory. */
const struct bench_property *draws_property(struct call *call, struct draws draws);

/* Draws of classes, those of a row one after the other from what is left. The same call draws the same. */
struct node *draw_classes(struct call *call, const struct draws *draws, int rank,
                          const int64_t *shape, enum dtype dtype);

#endif
