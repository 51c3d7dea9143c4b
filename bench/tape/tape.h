/* Tapes of tensor primitives: how one definition of an API gives its value, its error bound,
 * its gradient and its refinement.
 *
 * An op (bench/ops/) is a composition of a few dozen primitives: pointwise functions, sums,
 * products, index maps, matrix products. Each primitive evaluates at once when its node is
 * made. The nodes stay, so that
 *   - the gradient is built by walking them backwards (tape_backward): every primitive knows
 *     its vector-Jacobian product as a composition of primitives again;
 *   - single elements can be recomputed to any precision in ball arithmetic (bench/tape/enclosure.h),
 *     forward or gradient alike.
 *
 * Two arithmetics share this code. BENCH_REFERENCE computes in double and carries a bound on
 * the error of every element (running error analysis; Higham, Accuracy and Stability, ch. 3):
 *     |value[i] - exact_i| <= node_error(node, i).
 * BENCH_NATIVE rounds every primitive's result to float (double when the call works in
 * float64), accumulates sums and products in that type, and carries no bounds.
 *
 * Failure is sticky: the first one is kept in tape->status, and from then on every function
 * returns a harmless node of the right tape, so compositions need no checks of their own.
 * Nodes are never NULL. Everything lives in the tape's arena.
 */
#ifndef PROBE_BENCH_TAPE_TAPE_H
#define PROBE_BENCH_TAPE_TAPE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/arithmetic/arithmetics.h"
#include "core/arena.h"
#include "core/dtype.h"
#include "core/parallel.h"
#include "core/status.h"
#include "core/tensor.h"

struct node;
struct primitive;
struct deviation;
struct kernel_modes;
struct known_values;

struct tape {
    struct arena *arena;
    enum bench_arithmetic arithmetic;
    bool wide;   /* not for the reference: double instead of float */
    double unit; /* roundoff that the error bounds are about: 2^-53, or a kernel's */
    double tiny; /* what an underflow loses at most */
    /* In a model of kernels that round between their steps: roundoff, underflow and largest number of the dtype that
     * they round to, set after tape_open; else 0. */
    double stage, stage_tiny, stage_largest;
    /* In a model of kernels in modes that a user allows (core/kernel_modes.h), or NULL; set after tape_open. */
    const struct kernel_modes *modes;
    /* Of a kernel with a mistake in its arithmetic (bench/tape/deviation.h), or NULL; with BENCH_NATIVE
     * and `wide`, set after tape_open. */
    const struct deviation *deviation;
    /* Gradients start from results that were stored rounded (bench/stored_outputs.h): formulas that take a result
     * from the arguments take it from there. */
    bool from_outputs;
    bool defers; /* large steps may be deferred (tape_defer) */
    /* Models of a kernel's errors are walked after it, and take what bounds follow from. */
    bool is_modelled;
    struct help
        *help; /* who helps with large steps (core/parallel.h), or NULL; set after tape_open */
    struct status status; /* the first failure */
    /* Another evaluation of the same call, or NULL; set after tape_open (bench/tape/known_values.h). Its costly steps, and
     * which of the twin's was found last. */
    const struct tape *twin;
    struct known_values *first_known, *last_known, *found;
    struct node *newest; /* chain of all nodes, newest first */
    size_t node_count;
    struct node *failed; /* what is returned after a failure */
};

/* How the elements of a deferred node are made: it has no arrays, and whoever reads it has it compute them again, a
 * block at a time in cache. A large step of a composition costs three passes over fresh memory otherwise. */
struct deferral {
    /* Elements start .. start + count - 1 and, where `error` is not NULL, their bounds: the values that the node
     * would have. */
    void (*elements)(const struct node *node, size_t start, size_t count, double *value,
                     double *error);
    const void *context; /* what `elements` needs */
    int cost;     /* in additions: of an element, with the deferred inputs that it comes from */
    bool bounded; /* by an array of bounds; else relative and absolute of the node hold */
    /* Where the elements are already and their bounds alone are made when they are read, by `elements` with this as
     * `value`; else NULL. */
    double *values;
    /* Bounds follow from values without making those again: in models they are made one after the other. */
    bool apart;
    /* All values of a model have been found to be within the range of the kernel's type: none overflows. */
    bool within;
};

/* A value: real (value, with error bounds) or integral (integer, exact; bool is 0 or 1). A
 * complex value is its real part with `imaginary` set to a real node of the same shape; both
 * have the complex dtype. Elements are dense row-major. */
struct node {
    const struct primitive *primitive; /* NULL: a leaf or constant */
    enum dtype dtype;                  /* PyTorch's dtype of this value */
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    size_t n; /* number of elements */

    double *value;             /* real nodes; read through node_values() */
    double *error;             /* per element, or NULL for the uniform form: */
    double relative, absolute; /* error = relative * |value| + absolute */
    /* In a model, where elements are beyond the largest number of the kernel and nothing is known of what is made of them: the
     * bounds of all elements if the node is a result of the call. NULL: those of `error`. */
    double *of_result;
    int64_t *integer; /* integral nodes */
    struct node *imaginary;

    struct node **inputs;
    int input_count;
    const void *parameters; /* of the primitive */
    void *state;            /* what the primitive adds to after the node is made, or NULL */
    size_t terms;           /* of a sum: elements of its input that one is made of; else 0 */

    /* Leaf, or what node_sharing_unread made of one: elements not yet converted when value is NULL. */
    const struct tensor *source;
    const float *single; /* elements as float, when a kernel asked for them */
    /* Where value is NULL: how elements are made. Until they are, a node that is `bounded` says that its bounds are
     * infinite. */
    const struct deferral *deferral;
    double *kept; /* all elements where a reference has them made and keeps them, or NULL */

    bool staged;    /* the bounds have a rounding to the dtype between steps in them, */
    bool is_step;   /* with a deviation: a step that rounds, which has ended */
    bool composite; /* and roundings within the step, a function that kernels compose of others */
    /* With a deviation: a step inside of a kernel, which may hold it in registers; and what a kernel returns. */
    bool inner, returned;

    size_t id;
    struct node *older;
    bool tracked;           /* a gradient flows through here */
    struct node *cotangent; /* accumulated by tape_backward; NULL = zero */
};

/* ---- nodes ------------------------------------------------------------------------------ */

void tape_open(struct tape *tape, struct arena *arena, enum bench_arithmetic arithmetic, bool wide);

/* Record the first failure. */
void tape_fail(struct tape *tape, enum status_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool tape_failed(const struct tape *tape);

/* What every function returns once the tape has failed: four dimensions of 1, an exact zero. */
struct node *tape_failure(struct tape *tape);

/* Memory from the tape's arena; on exhaustion NULL and a sticky failure. */
void *tape_allocate(struct tape *tape, size_t count, size_t size);
void *tape_allocate_zeroed(struct tape *tape, size_t count, size_t size);

/* Do work in parts, with the tape's helpers; scratch is the arena's. A failure is sticky. */
void tape_parallel(struct tape *tape, const struct parallel *work);
void tape_parallel_lines(struct tape *tape, const struct parallel_lines *work);

/* The node of an input tensor (real, integral or complex by its dtype). The tensor must stay
 * valid; strided ones are read as they are. `tracked`: gradients are wanted for it. */
struct node *node_leaf(struct tape *tape, const struct tensor *tensor, bool tracked);

/* Constants: every element the same real or integer. rank 0: shape may be NULL. */
struct node *node_constant(struct tape *tape, enum dtype dtype, double value, int rank,
                           const int64_t *shape);
struct node *node_integer_constant(struct tape *tape, enum dtype dtype, int64_t value, int rank,
                                   const int64_t *shape);

/* An exact real scalar of rank 0 for use in arithmetic; its dtype is DT_NONE, which never
 * takes part in promotion. */
struct node *node_scalar(struct tape *tape, double value);

/* Is it such a scalar, or made of such alone? Kernels are given it as a number: whoever calls them computes it, a compiler, say. */
bool node_is_number(const struct node *node);

/* Uninitialised nodes that the caller fills: integral (`integer`), or exact real (`value`). */
struct node *node_new_integer(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape);
struct node *node_new_real(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape);

/* The elements of a real node (integral nodes: converted once). Never NULL unless the tape
 * has failed and n > 0. */
const double *node_values(struct tape *tape, struct node *node);

/* Elements start .. start + count - 1 of a real node: in place, or, of a leaf that has not been
 * converted as a whole or a deferred node, put into `buffer`. */
const double *node_block(const struct node *node, size_t start, size_t count, double *buffer);

/* The same with their bounds: in place, or in `bounds`. */
const double *node_bounded_block(const double **error, const struct node *node, size_t start,
                                 size_t count, double *buffer, double *bounds);

/* All elements of a deferred node, and, where `error` is not NULL, their bounds; the tape's helpers make some. */
void node_make_elements(struct tape *tape, const struct node *node, double *value, double *error);

/* Elements start .. start + count - 1 of a deferred node, and, where `error` is not NULL, their bounds. */
void node_make_some(const struct node *node, size_t start, size_t count, double *value,
                    double *error);

/* Where the elements of a node are of which the functions above make the bounds alone; else NULL. */
double *node_stored_values(const struct node *node);

/* Do they make the elements anew, into the buffers, all of them? */
bool node_is_unread(const struct node *node);

/* Element i of a real node. */
double node_value_at(const struct node *node, size_t i);

/* Is the node real (as opposed to integral)? */
static inline bool node_is_real(const struct node *node) { return !node->integer; }

/* Are the elements of the node still to be made? */
static inline bool node_is_deferred(const struct node *node)
{
    return node->deferral && !node->value;
}

/* The bound on element i of a real node whose values have been read. Infinite and NaN values
 * are exact statements. */
static inline double node_error(const struct node *node, size_t i)
{
    if (node->integer) return 0;
    if (!isfinite(node->value[i])) return 0;
    return node->error ? node->error[i] : node->relative * fabs(node->value[i]) + node->absolute;
}

/* Are all bounds 0? */
static inline bool node_is_exact(const struct node *node)
{
    return node->integer || (!node->error && node->relative == 0 && node->absolute == 0);
}

/* ---- gradients ---------------------------------------------------------------------------- */

/* Walk from the newest node to the oldest, passing cotangents on. Set the cotangents of the
 * outputs (tape_accumulate of bench/primitives/cotangent.h) first. */
void tape_backward(struct tape *tape);

/* Which steps frameworks have in one kernel, for deviations that round between steps. `before`: the newest node then.
 * tape_one_kernel: what has been made since then is inside of the kernel that returns `result`. tape_own_kernels: each is one of its
 * own. What a primitive makes on the walk back is inside, but for what it passes on. */
void tape_one_kernel(struct tape *tape, const struct node *before, struct node *result);
void tape_own_kernels(struct tape *tape, const struct node *before);
/* A kernel returns the node, or what it was renamed or moved from. */
void tape_returned(struct tape *tape, struct node *node);
/* The step whose elements the node has, under its name or another and at their places or others; NULL for a leaf or NULL. */
struct node *tape_step_of(struct node *node);

/* ---- writing primitives ------------------------------------------------------------------- */

struct pair;
struct enclosure;

struct primitive {
    const char *name;
    /* Pass `cotangent` (same shape as node) on to the tracked inputs. NULL: no gradient. */
    void (*backward)(struct tape *tape, struct node *node, struct node *cotangent);
    /* Ball of element i; inputs through enclosure_element. */
    void (*enclose)(struct enclosure *enclosure, void *ball, struct node *node, size_t i);
    /* Element i as a pair; inputs through enclosure_pair. False: balls have to do. NULL: always false. */
    bool (*pair)(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i);
};

/* A node of `primitive` with value uninitialised and exact bounds, tracked when an input is. */
struct node *node_new(struct tape *tape, const struct primitive *primitive, enum dtype dtype,
                      int rank, const int64_t *shape, int input_count, struct node *const *inputs,
                      const void *parameters);

/* The same for a primitive that reads its inputs by blocks: deferred ones stay so. */
struct node *node_new_reader(struct tape *tape, const struct primitive *primitive, enum dtype dtype,
                             int rank, const int64_t *shape, int input_count,
                             struct node *const *inputs, const void *parameters);

/* From here on large steps may be deferred. For evaluations that read the elements of what they have computed
 * only by the functions above; what they hand to node_new is read as a whole. */
void tape_defer(struct tape *tape);
/* Elements of a step of a model that may be deferred; tests alone change it. */
extern size_t tape_least_modelled;

/* May a step of n elements and `cost` additions each, on these inputs, be deferred? Inputs that are read at other
 * places than the step's own, or that make it too costly, are computed now. */
bool tape_may_defer(struct tape *tape, size_t n, int cost, int input_count,
                    struct node *const *inputs);

/* A node of `primitive` without elements, for a primitive that reads its inputs by blocks; and its elements, now or,
 * where it `defers`, when they are read. The cost of `deferral` is that of the step alone. Bounds of the uniform form
 * are set in between. */
struct node *node_step(struct tape *tape, const struct primitive *primitive, enum dtype dtype,
                       int rank, const int64_t *shape, int input_count, struct node *const *inputs,
                       const void *parameters);
void node_evaluate(struct tape *tape, struct node *node, struct deferral deferral, bool defers);

/* A node of `primitive` with the elements, the bounds, the shape and the tracking of x, whose
 * values are read: no copy is made. Of an integral x it is a plain value. */
struct node *node_sharing(struct tape *tape, const struct primitive *primitive, struct node *x,
                          int input_count, struct node *const *inputs, const void *parameters);

/* The same with x as its only input and, where x is an input tensor whose values are not read or a deferred node,
 * without reading them: the node has the source of x. For primitives that keep the elements and their order. */
struct node *node_sharing_unread(struct tape *tape, const struct primitive *primitive,
                                 struct node *x);

/* Give the node an (uninitialised) error array, in BENCH_REFERENCE. False on failure. */
bool node_need_errors(struct tape *tape, struct node *node);

/* BENCH_NATIVE, not wide: every primitive rounds its results to float. */
static inline bool tape_is_single(const struct tape *tape)
{
    return tape->arithmetic == BENCH_NATIVE && !tape->wide;
}
/* Values in double with error bounds: the reference itself or a model of a kernel's errors. */
static inline bool tape_is_reference(const struct tape *tape)
{
    return tape->arithmetic != BENCH_NATIVE;
}

/* A model: the bounds are those of a plain kernel with roundoff `unit`, not of the double
 * evaluation, whose own errors are negligible beside them. */
static inline bool tape_is_model(const struct tape *tape)
{
    return tape->arithmetic >= BENCH_MODEL_WORST;
}

/* The model of the root mean square, as opposed to the worst case. */
static inline bool tape_is_typical(const struct tape *tape)
{
    return tape->arithmetic == BENCH_MODEL_TYPICAL;
}

/* Two errors of one value together: their sum at worst; in the root mean square, where they are
 * independent, the root of their squares. */
static inline double tape_join(const struct tape *tape, double a, double b)
{
    return tape->arithmetic == BENCH_MODEL_TYPICAL ? sqrt(a * a + b * b) : a + b;
}

/* How much of unit * sum|x_i| the rounding of a sum of n terms makes: n - 1 in the worst case and
 * order; in the root mean square, sqrt(n) / 3 (partial sums k/n sum|x| at most, roundings
 * independent and uniform). */
static inline double tape_sum_growth(const struct tape *tape, size_t n)
{
    if (n < 2) return 0;
    return tape->arithmetic == BENCH_MODEL_TYPICAL ? sqrt((double)n) / 3 : (double)(n - 1);
}

/* A result of a primitive as the tape's arithmetic rounds it. */
static inline double tape_round(const struct tape *tape, double x)
{
    return tape_is_single(tape) ? (float)x : x;
}

/* Round all values to float if the tape works in float, or as a deviation of its steps has it. */
void node_round(struct tape *tape, struct node *node);

#endif
