/* Tapes of tensor primitives: how one definition of an API gives its value, its error bound,
 * its gradient and its refinement.
 *
 * An op (bench/ops_*.c) is a composition of a few dozen primitives: pointwise functions, sums,
 * products, index maps, matrix products. Each primitive evaluates at once when its node is
 * made. The nodes stay, so that
 *   - the gradient is built by walking them backwards (tape_backward): every primitive knows
 *     its vector-Jacobian product as a composition of primitives again;
 *   - single elements can be recomputed to any precision in ball arithmetic by pulling them
 *     through the tape (bench/tape/enclosure.h), forward or gradient alike.
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

#include "bench/bench.h"
#include "core/arena.h"
#include "core/dtype.h"
#include "core/status.h"
#include "core/tensor.h"

/* Unit roundoff of double, for errors of our own arithmetic; bounds use tape->unit. */
#define UNIT_ROUNDOFF 0x1p-53

struct node;
struct primitive;

struct tape {
    struct arena *arena;
    enum bench_arithmetic arithmetic;
    bool wide;            /* not for the reference: double instead of float */
    double unit;          /* roundoff that the error bounds are about: 2^-53, or a kernel's */
    double tiny;          /* what an underflow loses at most */
    struct status status; /* the first failure */
    struct node *newest;  /* chain of all nodes, newest first */
    size_t node_count;
    struct node *failed; /* what is returned after a failure */
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
    int64_t *integer;          /* integral nodes */
    struct node *imaginary;

    struct node **inputs;
    int input_count;
    const void *parameters; /* of the primitive */

    const struct tensor *source; /* leaf: elements not yet converted when value is NULL */
    float *single;               /* leaf: elements as float, when a kernel asked for them */

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

/* Memory from the tape's arena; on exhaustion NULL and a sticky failure. */
void *tape_allocate(struct tape *tape, size_t count, size_t size);

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

/* Uninitialised nodes that the caller fills: integral (`integer`), or exact real (`value`). */
struct node *node_new_integer(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape);
struct node *node_new_real(struct tape *tape, enum dtype dtype, int rank, const int64_t *shape);

/* An exact leaf holding the current values of `x`: gradients stop here. */
struct node *node_detach(struct tape *tape, struct node *x);

/* The elements of a real node (integral nodes: converted once). Never NULL unless the tape
 * has failed and n > 0. */
const double *node_values(struct tape *tape, struct node *node);

/* Elements start .. start + count - 1 of a real node: in place, or, of a leaf that has not been
 * converted as a whole, converted into `buffer`. */
const double *node_block(const struct node *node, size_t start, size_t count, double *buffer);

/* Is the node real (as opposed to integral)? */
static inline bool node_is_real(const struct node *node) { return !node->integer; }
static inline bool node_is_complex(const struct node *node) { return node->imaginary != NULL; }

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

/* The same value seen as another PyTorch dtype; no rounding (the reference of a cast is the
 * value itself). Real <-> integral conversion is explicit: node_to_real, node_to_integer. */
struct node *node_with_dtype(struct tape *tape, struct node *x, enum dtype dtype);

/* Integral -> real, exact (beyond 2^53: rounded with its bound). A real node is returned as is. */
struct node *node_to_real(struct tape *tape, struct node *x);

/* As PyTorch's x.to(dtype) to an integer dtype (toward zero, wrapping) or bool (x != 0). */
struct node *node_to_integer(struct tape *tape, struct node *x, enum dtype dtype);

/* x.to(dtype) for any pair of dtypes. Tracked for real -> real. */
struct node *node_cast(struct tape *tape, struct node *x, enum dtype dtype);

/* A complex value of two real nodes of one shape (broadcast first if need be), and its parts.
 * The imaginary part of a real node is a zero. */
struct node *node_complex(struct tape *tape, struct node *re, struct node *im);
struct node *node_real_part(struct tape *tape, struct node *x);
struct node *node_imaginary_part(struct tape *tape, struct node *x);

/* ---- pointwise (bench/primitives/unary.c, binary.c, selection.c; shapes: broadcast.c) ----------------- */

struct unary_function; /* rows of bench/primitives/functions.h */
struct binary_function;

/* y = f(x), real. Integral inputs are converted. */
struct node *node_unary(struct tape *tape, const struct unary_function *f, struct node *x);

/* y = f(a, b), real, broadcast. */
struct node *node_binary(struct tape *tape, const struct binary_function *f, struct node *a,
                         struct node *b);

/* mask ? a : b, all three broadcast; a and b real (complex allowed) or both integral. */
struct node *node_select(struct tape *tape, struct node *mask, struct node *a, struct node *b);

struct node *node_add(struct tape *tape, struct node *a, struct node *b);
struct node *node_subtract(struct tape *tape, struct node *a, struct node *b);
struct node *node_multiply(struct tape *tape, struct node *a, struct node *b);
struct node *node_divide(struct tape *tape, struct node *a, struct node *b);
struct node *node_scale(struct tape *tape, struct node *x, double factor);
struct node *node_offset(struct tape *tape, struct node *x, double term);
struct node *node_negate(struct tape *tape, struct node *x);

/* Integral result of comparing two real nodes by value (broadcast), dtype bool:
 * one of "lt" "le" "gt" "ge" "eq" "ne". Exact integers are compared exactly. */
enum comparison { COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE, COMPARE_EQ, COMPARE_NE };
struct node *node_compare(struct tape *tape, enum comparison comparison, struct node *a,
                          struct node *b);

/* Integer arithmetic on broadcast integral nodes: out[i] = f(a, b) wrapped to `dtype`. */
struct node *node_integer_binary(struct tape *tape, enum dtype dtype,
                                 int64_t (*f)(int64_t a, int64_t b), struct node *a,
                                 struct node *b);
struct node *node_integer_unary(struct tape *tape, enum dtype dtype, int64_t (*f)(int64_t a),
                                struct node *a);

/* Bool node: predicate of each real value (isnan and the like). */
struct node *node_predicate(struct tape *tape, bool (*f)(double x), struct node *x);

/* ---- shape and movement (bench/primitives/movement.c); complex and integral nodes alike ------------- */

/* Dense reinterpretation; the element counts must agree. One extent may be -1. */
struct node *node_reshape(struct tape *tape, struct node *x, int rank, const int64_t *shape);

/* Repeat along extents of 1 (and new leading dimensions). -1 keeps an extent. */
struct node *node_broadcast(struct tape *tape, struct node *x, int rank, const int64_t *shape);

/* Sum over what node_broadcast repeated: the vjp of broadcasting to x's shape. */
struct node *node_sum_to_shape(struct tape *tape, struct node *x, int rank, const int64_t *shape);

/* out[i0, i1, ...] = x_dense[offset + sum_d i_d * stride[d]], strides in elements of dense x.
 * Covers permute, slice, flip, expand, diagonal, unfold, as_strided. */
struct node *node_view(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                       const int64_t *stride, int64_t offset);

struct node *node_permute(struct tape *tape, struct node *x, const int *order);
struct node *node_transpose(struct tape *tape, struct node *x, int dim0, int dim1);
struct node *node_slice(struct tape *tape, struct node *x, int dim, int64_t start, int64_t length,
                        int64_t step);

/* The adjoint of a view, for one that no two elements share: a result of `shape`, `fill`
 * everywhere but at offset + sum_d i_d * stride[d] (in elements of the dense result), where
 * x[i0, i1, ...] lies. stride has x's rank. Covers constant padding and diag_embed. */
struct node *node_place(struct tape *tape, struct node *x, double fill, int rank,
                        const int64_t *shape, const int64_t *stride, int64_t offset);

/* out[i] = map[i] < 0 ? fill : x[map[i]]; map has the n of `shape`, in the tape's arena. */
struct node *node_gather(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                         const int64_t *map, double fill);

/* out[j] = sum of x[i] over map[i] == j (negative: dropped), added in order of i. */
struct node *node_scatter_add(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                              const int64_t *map);

/* The same for whole rows of `row` consecutive elements: the map has one entry, the number of a
 * row, for each row of the result (gather) or of x (scatter_add). */
struct node *node_gather_rows(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                              size_t row, const int64_t *map, double fill);
struct node *node_scatter_add_rows(struct tape *tape, struct node *x, int rank,
                                   const int64_t *shape, size_t row, const int64_t *map);

/* x with row map[i] replaced by row i of v (negative: dropped). Where several meet, `writer`
 * says which row of v each row of x holds in the end (-1: its own); NULL: the last one. As in
 * PyTorch, each row of v gets the cotangent of its target, replaced ones too. */
struct node *node_overwrite(struct tape *tape, struct node *x, struct node *v, size_t row,
                            const int64_t *map, const int64_t *writer);

/* The writers of `rows` rows when the last of `entries` wins. NULL after a failure. */
int64_t *overwrite_writers(struct tape *tape, size_t rows, const int64_t *map, size_t entries);

/* The elements of `value` with the gradient of `through` (same shape): a straight-through node. */
struct node *node_straight_through(struct tape *tape, struct node *value, struct node *through);

/* torch.index_select: positions `index` (integers, 0 <= index < extent) along dim. */
struct node *node_index_select(struct tape *tape, struct node *x, int dim, struct node *index);

struct node *node_concatenate(struct tape *tape, struct node **parts, int count, int dim);

/* Broadcast shape of two shapes; false when they do not fit. */
bool shape_broadcast(int *rank, int64_t *shape, int rank_a, const int64_t *a, int rank_b,
                     const int64_t *b);

/* Dense row-major strides of a shape. */
void shape_strides(int64_t *stride, int rank, const int64_t *shape);

/* ---- reductions (bench/primitives/reduce.c) --------------------------------------------------------- */

/* Sum over the dimensions whose bit is set in `dims` (all ones: every dimension). */
struct node *node_sum(struct tape *tape, struct node *x, uint32_t dims, bool keepdim);
struct node *node_mean(struct tape *tape, struct node *x, uint32_t dims, bool keepdim);
struct node *node_product(struct tape *tape, struct node *x, uint32_t dims, bool keepdim);
struct node *node_cumulative_sum(struct tape *tape, struct node *x, int dim, bool reverse);

/* Position (0-based along dim) of the first largest element, NaN counting as largest, as an
 * untracked int64 node; sign = -1 for the smallest. keepdim shape. */
struct node *node_arg_extremum(struct tape *tape, struct node *x, int dim, int sign);

/* Elements of x at positions `index` (int64, same rank) along dim: torch.gather, tracked. */
struct node *node_take_along(struct tape *tape, struct node *x, int dim, struct node *index);

/* max (sign 1) or min (-1) over dims, detached: a constant for shifts. keepdim shape. */
struct node *node_extremum_detached(struct tape *tape, struct node *x, uint32_t dims, int sign);

/* ---- products (bench/primitives/matmul.c, bench/primitives/convolution.c) -------------------------------------- */

/* C[b] = op(A[b]) op(B[b]) for 3-D nodes (batch, rows, columns); a batch of 1 is repeated. */
struct node *node_matmul(struct tape *tape, struct node *a, bool transpose_a, struct node *b,
                         bool transpose_b);

/* Cross-correlation over up to three spatial dimensions, and its two adjoints. */
enum convolution_role { CONVOLVE, CONVOLVE_INPUT_ADJOINT, CONVOLVE_WEIGHT_ADJOINT };
struct convolution_geometry {
    int64_t stride[3], padding[3], dilation[3]; /* spatial; unused leading ones 1, 0, 1 */
    int64_t groups;
    /* The full problem, all 5-D: x (n, c, d, h, w), w (k, c/groups, kd, kh, kw), y (n, k, ...) */
    int64_t x[5], w[5], y[5];
};
/* CONVOLVE: a = x, b = w -> y. INPUT_ADJOINT: a = y, b = w -> x. WEIGHT_ADJOINT: a = x, b = y -> w.
 * Shapes of the nodes are 5-D as in the geometry. */
struct node *node_convolution(struct tape *tape, enum convolution_role role, struct node *a,
                              struct node *b, const struct convolution_geometry *geometry);

/* ---- gradients ---------------------------------------------------------------------------- */

/* Add to the cotangent of `node`. Shapes must agree. */
void tape_accumulate(struct tape *tape, struct node *node, struct node *cotangent);

/* Walk from the newest node to the oldest, passing cotangents on. Set the cotangents of the
 * outputs with tape_accumulate first. */
void tape_backward(struct tape *tape);

/* ---- writing primitives ------------------------------------------------------------------- */

struct pair;
struct enclosure;

struct primitive {
    const char *name;
    /* Pass `cotangent` (same shape as node) on to the tracked inputs. NULL: no gradient. */
    void (*backward)(struct tape *tape, struct node *node, struct node *cotangent);
    /* Ball of element i; inputs through enclosure_element. */
    void (*enclosure)(struct enclosure *enclosure, void *ball, struct node *node, size_t i);
    /* Element i as a pair; inputs through enclosure_pair. False: balls have to do. NULL: always false. */
    bool (*pair)(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i);
};

/* A node of `primitive` with value uninitialised and exact bounds, tracked when an input is. */
struct node *node_new(struct tape *tape, const struct primitive *primitive, enum dtype dtype,
                      int rank, const int64_t *shape, int input_count, struct node *const *inputs,
                      const void *parameters);

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

/* In a model: y with `roundings` * unit * |x_i| more of error, for kernels whose usual formula
 * cancels where ours does not (1 + erf(x) beside erfc(-x), say). y itself otherwise. x has y's shape. */
struct node *node_model_error(struct tape *tape, struct node *y, struct node *x, double roundings);

/* How much of unit * sum|x_i| the rounding of a sum of n terms makes: n - 1 in the worst case and
 * order; in the root mean square, sqrt(n) / 3 (partial sums k/n sum|x| at most, roundings
 * independent and uniform). */
static inline double tape_sum_growth(const struct tape *tape, size_t n)
{
    if (n < 2) return 0;
    return tape->arithmetic == BENCH_MODEL_TYPICAL ? sqrt((double)n) / 3 : (double)(n - 1);
}

/* Round all values to float if the tape works in float. */
void node_round(struct tape *tape, struct node *node);

/* dtype promotion of PyTorch among dtypes (DT_NONE is neutral). */
enum dtype dtype_promote(enum dtype a, enum dtype b);

#endif
