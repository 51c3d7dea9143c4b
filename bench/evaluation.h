/* One call evaluated in one arithmetic: its tape, forward and backward. */
#ifndef PROBE_BENCH_EVALUATION_H
#define PROBE_BENCH_EVALUATION_H

#include "bench/bench.h"
#include "bench/call/call.h"
#include "bench/tape/tape.h"
#include "core/kernel_modes.h"

/* The call is bound (bench/binding.h) and points at the tape once it has run, so an evaluation stays
 * where it is. Its memory is the arena's. */
struct evaluation {
    struct arena *arena;
    enum bench_arithmetic arithmetic;
    enum dtype
        stage; /* of a model: the dtype that kernels round to between their steps, or DT_NONE */
    const struct kernel_modes *modes; /* of a model: what its kernels may do besides, or NULL */
    bool narrow;    /* of a model: a float32 kernel, though the results are float64 */
    bool in_double; /* of a native one: in double, whatever the dtypes (bench/what_if.h), */
    const struct deviation *deviation; /* and with these deviations, or NULL */
    const struct evaluation *twin; /* of a model: another of the same call, run before; or NULL */
    struct tape tape;
    struct call call;
};

/* A case evaluated, as bench.h promises it. */
struct bench {
    struct evaluation own;
    struct bench_output *outputs;
    struct evaluation *models[2]; /* of a kernel's errors, worst and typical; NULL without, */
    bool typical_walked;          /* and the gradients of the typical one */
    struct evaluation
        *staged[2];     /* the same for one that rounds between its steps, once asked for */
    bool staged_walked; /* and their gradients */
    struct evaluation
        *allowed[2]; /* and for one in modes that a user allows (bench/allowed_model.c), */
    struct kernel_modes allowed_modes; /* in these, */
    bool allowed_walked;               /* and their gradients */
    struct evaluation *narrow[2];      /* and in float32, of a call that widens its arguments */
    const struct value *cotangents;    /* after bench_backward */
    struct {
        char *next;
        size_t bytes;
    } room; /* of a native one: for the elements of its results, as long as there is some */
};

/* The list of tensor arguments of call.api_case, whose nodes the evaluation makes. */
struct status evaluation_open(struct evaluation *evaluation);

/* Run the row on a fresh tape. */
struct status evaluation_forward(struct evaluation *evaluation);

/* Seed the results with their cotangents (element k of the LIST for flat output k) and walk back. */
struct status evaluation_backward(struct evaluation *evaluation, const struct value *cotangents);

/* The gradient of tensor argument i after the walk, in the argument's shape; NULL when it has none. */
struct node *evaluation_gradient(struct evaluation *evaluation, size_t i);

/* The call that a bench has evaluated; tests look into its tape. */
struct call *bench_call(struct bench *bench);

#endif
