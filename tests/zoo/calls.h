/* Random API calls as entries of a dump. */
#ifndef ZOO_CALLS_H
#define ZOO_CALLS_H

#include <stdint.h>
#include <stdio.h>

#include "faults.h"

/* A dump being written. */
struct dump {
    FILE *out;
    uint64_t state; /* of the random numbers */
    int first;
    int index; /* the calls are numbered through: Torch.matmul.17 */
};

/* Open, with a seed that decides everything that follows. */
void dump_begin(struct dump *dump, const char *path, uint64_t seed);
void dump_end(struct dump *dump);

/* A kind of call. The twins run all kinds; a fault runs the kind that shows it. */
struct call_kind {
    const char *name;
    int dtypes;
    void (*write)(struct dump *dump, int dtype);
};

extern const struct call_kind call_kinds[]; /* ended by a NULL name */

const struct call_kind *call_find(const char *name);

/* A random number in 0..limit-1. */
uint64_t dump_random(struct dump *dump, uint64_t limit);

#endif
