/* What an output of a call is: a tensor, a plain value, nothing, or a random draw. */
#ifndef PROBE_BENCH_CALL_OUTPUT_H
#define PROBE_BENCH_CALL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct tensor;

enum bench_output_kind {
    BENCH_OUTPUT_NONE,   /* the API returns None here */
    BENCH_OUTPUT_TENSOR, /* `reference` */
    BENCH_OUTPUT_VALUE,  /* `value`: a bool, int, float or string */
    BENCH_OUTPUT_RANDOM  /* `property` decides; `reference` has dtype and shape only */
};

/* What must hold of a random output. */
struct bench_property {
    const char *test; /* the test in words, with its error probability */
    bool (*holds)(const struct bench_property *property, const struct tensor *got, char *reason,
                  size_t reason_bytes);
    const void *context;
};

#endif
