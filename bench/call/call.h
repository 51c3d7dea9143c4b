/* A call in progress, as the bench runs it; ops see it through bench/call/op.h. */
#ifndef PROBE_BENCH_CALL_CALL_H
#define PROBE_BENCH_CALL_CALL_H

#include "bench/call/op.h"
#include "bench/call/schema.h"

/* A tensor argument and its node. Leaves are in the order of the gradients: args, then kwargs,
 * depth-first. */
struct leaf {
    const struct value *value;
    struct node *node; /* made on first use */
};

struct result {
    enum bench_output_kind kind;
    struct node *node; /* TENSOR; RANDOM in BENCH_NATIVE */
    struct value value;
    enum dtype dtype;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    const struct bench_property *property;
};

#endif
