/* A call in progress, as bench/bench.c runs it; ops see it through bench/call/op.h. */
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

/* The row for an API: its own, or the base row of an in-place, dunder or reflected name. NULL
 * when the catalogue has none. `groups` are those of the case's type. Rows that share a name
 * follow one another: call with the previous row to get the next, NULL to start. */
struct op_match {
    const struct op *op;
    bool in_place, reflected;
};
bool op_find(struct op_match *match, const char *type, const char *api, const struct op *after);

/* The family table that a row stands in: "shape", "matmul", ... */
const char *op_family(const struct op *op);

/* Group bit of a type of the dump; 0 when nothing of that type can be run. */
unsigned op_group(const char *type);

/* The call that a bench has evaluated; tests look into its tape. */
struct call *bench_call(struct bench *bench);

#endif
