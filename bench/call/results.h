/* What a call returns: its outputs in PyTorch's order, nested ones flattened. */
#ifndef PROBE_BENCH_CALL_RESULTS_H
#define PROBE_BENCH_CALL_RESULTS_H

#include "bench/call/output.h"
#include "bench/tape/tape.h"
#include "core/value.h"

enum { CALL_MOST_OUTPUTS = 4096 };

struct call;

struct result {
    enum bench_output_kind kind;
    struct node *node; /* TENSOR; RANDOM in BENCH_NATIVE */
    struct value value;
    enum dtype dtype;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    const struct bench_property *property;
};

struct results {
    struct result *items;
    size_t count, capacity;
    /* A random op's gradient by property, when its values are not determined: the property of a
     * leaf's gradient for this cotangent of output 0, NULL where none is known. Set by the op, with what it needs. */
    const struct bench_property *(*gradient_property)(struct call *call, struct node *cotangent,
                                                      size_t leaf);
    const void *gradient_context;
};

/* Append an output. The node's dtype is the result's; a recorded float dtype of the dump takes
 * precedence over another float dtype. */
void call_return(struct call *call, struct node *node);
void call_return_typed(struct call *call, struct node *node, enum dtype dtype);
void call_return_none(struct call *call);
void call_return_value(struct call *call, struct value value);

/* The dtype that the dump recorded for the next output, where both are floats; else `dtype`. */
enum dtype call_recorded_dtype(const struct call *call, enum dtype dtype);

/* A random result: dtype and shape, and what must hold of it. */
void call_return_random(struct call *call, struct node *native, enum dtype dtype, int rank,
                        const int64_t *shape, const struct bench_property *property);

#endif
