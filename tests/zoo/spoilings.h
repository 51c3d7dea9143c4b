/* Faults that are put into the results of correct kernels, for judge_faults.c. */
#ifndef PROBE_TESTS_ZOO_SPOILINGS_H
#define PROBE_TESTS_ZOO_SPOILINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"

struct output {
    double *x; /* device values, changed in place */
    size_t n;
    size_t row;       /* extent of the last dimension */
    enum dtype dtype; /* of components */
    double unit_roundoff;
    double usual;     /* rms error of the worst correct kernel */
    double magnitude; /* of the fault, in such errors */
};

enum { SPOILINGS = 25 };

/* `put` returns false when the fault does not apply. */
struct spoiling {
    const char *name;
    bool (*put)(struct output *o);
};
extern const struct spoiling spoilings[SPOILINGS];

/* The random numbers of a call, by its number: 64 bits, and a number from 0 to 1. */
void random_restart(uint64_t call);
uint64_t next_random(void);
double uniform(void);

#endif
