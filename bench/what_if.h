/* What a kernel with a stated mistake would return: a call evaluated once more, with other inputs, another
 * argument or deviating arithmetic, in double but for the deviation.
 *
 * The values are those before the last rounding to the output's dtype, which is the caller's to do.
 */
#ifndef PROBE_BENCH_WHAT_IF_H
#define PROBE_BENCH_WHAT_IF_H

#include "bench/bench.h"
#include "bench/call/schema.h"
#include "bench/tape/deviation.h"

/* Which result of a call: flat output `index`, or with `backward` the gradient of tensor argument `index`
 * for the cotangents that bench_backward was given. */
struct what_result {
    bool backward;
    size_t index;
};

/* How the call is changed; all zeros and no parameter: not at all. */
struct what_if {
    /* Elements that take the place of those of tensor argument i (args, then kwargs, depth-first), in its
     * shape and dtype; NULL: as they are. The array has bench_tensor_count entries, or is NULL. */
    const struct tensor *const *inputs;
    /* The same for the cotangents, by tensor. */
    const struct tensor *const *cotangents;
    /* Arguments given in place of what is bound to them. */
    struct {
        int parameter; /* of bench_schema */
        struct value value;
    } arguments[2];
    int argument_count;
    const struct deviation *deviation; /* or NULL */
    bool
        from_outputs; /* gradients start from results, as the changed call has them (struct tape) */
    const char *api;  /* the same arguments handed to another API of the group; or NULL */
};

/* The schema that the call was bound to, what is bound to each of its parameters, and the tensor
 * arguments as inputs[] counts them. */
const char *bench_api(const struct bench *bench); /* the row's name, whatever the call's spelling */
const struct schema *bench_schema(const struct bench *bench);
const struct value *bench_bound(const struct bench *bench, int parameter);
size_t bench_tensor_count(const struct bench *bench);
const struct value *bench_tensor(const struct bench *bench, size_t i);
/* The cotangents that bench_backward was given; NULL before. */
const struct value *bench_cotangents(const struct bench *bench);

/* Steps of arithmetic that an evaluation of the call takes, about: elements of all nodes made so far,
 * and terms of all products. */
double bench_work(const struct bench *bench);

/* Does the composition multiply matrices, or sum? */
struct bench_steps {
    bool products, sums, several; /* several: more than one step that rounds */
};
struct bench_steps bench_steps(const struct bench *bench);

/* A step of a call's composition that rounds. */
struct what_step {
    size_t node;      /* for struct deviation */
    const char *name; /* "multiply", "sum" */
    size_t n, terms;  /* elements, and elements that went into each */
    int inputs;
    bool last;  /* it is the result */
    bool inner; /* of the gradient of one primitive, which a kernel may hold in registers */
};

/* The steps of the call as bench_what_if evaluates it with `change` (which has a deviation), up to `most`, newest first. */
struct status bench_what_steps(struct what_step *out, size_t *count, size_t most,
                               const struct bench *bench, struct what_result result,
                               const struct what_if *change, struct arena *arena);

/* The shape that a result has to have; one that is larger is cut to its first elements along each axis, as a kernel
 * computes them that was given the right shape and a wrong argument. */
struct shape_of_result {
    int rank;
    const int64_t *extent;
    bool is_complex;
};

/* The changed call's result in `arena` (complex elements as pairs, integers as doubles). STATUS_SKIP when the
 * change does not fit the call or the result not the shape. */
struct status bench_what_if(double **values, const struct shape_of_result *shape,
                            const struct bench *bench, struct what_result result,
                            const struct what_if *change, struct arena *arena);

#endif
