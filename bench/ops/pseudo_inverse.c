/* Pseudo-inverses of matrices of full rank by products, of others by their singular vectors: bounds of those ask that the values that
 * are kept lie apart from those that are dropped. */
#include "bench/ops/pseudo_inverse.h"

#include <math.h>
#include <string.h>

#include "bench/ops/matrices.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/singular_vectors.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"

double default_rank_tolerance(const struct node *x)
{
    const int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1];
    return (double)(rows > columns ? rows : columns) * dtype_ulp(dtype_component(x->dtype), 1);
}

int64_t count_above(const double *values, size_t k, struct rank_tolerance tolerance, double margin)
{
    int64_t count = 0;
    for (size_t i = 0; i < k; i++) {
        double limit = fmax(values[0] * tolerance.relative, tolerance.absolute);
        count += values[i] > limit + margin * values[0];
    }
    return count;
}

/* A limit as a node, NULL where there is none. */
static struct node *limit_of(struct call *call, const char *name)
{
    if (call_is_none(call, name)) return NULL;
    if (call_value(call, name)->kind != VALUE_TENSOR)
        return node_scalar(call->tape, call_real(call, name));
    return node_detach(call->tape, node_to_real(call->tape, call_tensor(call, name)));
}

const struct rank_tolerance *call_rank_tolerances(struct call *call, struct node **x,
                                                  const char *relative, const char *absolute,
                                                  double usual)
{
    struct tape *tape = call->tape;
    struct node *limits[2] = { NULL };
    int64_t shape[TENSOR_MAX_RANK];
    if (!call_require(call, (*x)->rank >= 2, "a matrix is needed")) return NULL;
    if ((*x)->n) { /* of nothing PyTorch does not look at them */
        limits[0] = limit_of(call, relative);
        limits[1] = limit_of(call, absolute);
    }
    int rank = (*x)->rank - 2;
    memcpy(shape, (*x)->shape, sizeof shape);
    for (int i = 0; i < 2; i++) {
        struct node *limit = limits[i];
        if (limit &&
            !call_require(call,
                          shape_broadcast(&rank, shape, rank, shape, limit->rank, limit->shape) &&
                              rank <= TENSOR_MAX_RANK - 2,
                          "the limits do not broadcast with the batch"))
            return NULL;
    }
    memcpy(shape + rank, (*x)->shape + (*x)->rank - 2, 2 * sizeof *shape);
    *x = node_broadcast(tape, *x, rank + 2, shape);
    size_t batches = 1;
    for (int d = 0; d < rank; d++) batches *= (size_t)shape[d];
    const double *values[2] = { NULL };
    for (int i = 0; i < 2; i++)
        if (limits[i]) values[i] = node_values(tape, node_broadcast(tape, limits[i], rank, shape));
    struct rank_tolerance *out = tape_allocate(tape, batches, sizeof *out);
    for (size_t b = 0; b < batches && !tape_failed(tape); b++) {
        out[b].absolute = values[1] ? values[1][b] : 0;
        out[b].relative = values[0] ? values[0][b] : out[b].absolute > 0 ? 0 : usual;
    }
    return tape_failed(tape) ? NULL : out;
}

const struct rank_tolerance *rank_tolerances_all(struct tape *tape, int64_t batches,
                                                 struct rank_tolerance tolerance)
{
    struct rank_tolerance *out = tape_allocate(tape, (size_t)batches, sizeof *out);
    for (int64_t b = 0; b < batches && out; b++) out[b] = tolerance;
    return tape_failed(tape) ? NULL : out;
}

/* Ranks that kernels may find: from the limit raised to the limit lowered by the factor and by the errors of the values. */
struct rank_range {
    int64_t least, own, most;
};

static struct rank_range ranks_of(const double *values, size_t k, struct rank_tolerance tolerance,
                                  double factor, double margin)
{
    const struct rank_tolerance high = { tolerance.relative * factor, tolerance.absolute * factor },
                                low = { tolerance.relative / factor, tolerance.absolute / factor };
    if (!k || values[0] == 0) return (struct rank_range){ 0, 0, 0 };
    return (struct rank_range){ count_above(values, k, high, margin),
                                count_above(values, k, tolerance, 0),
                                count_above(values, k, low, -margin) };
}

/* The ranges of a batch; NULL after a failure, also where there are no tolerances. */
static struct rank_range *rank_ranges(struct tape *tape, struct node *a,
                                      const struct rank_tolerance *tolerances, double factor)
{
    const struct node *s = node_singular_values(tape, node_detach(tape, a));
    if (tape_failed(tape) || !tolerances) return NULL;
    size_t batches = (size_t)s->shape[0], k = (size_t)s->shape[1];
    struct rank_range *out = tape_allocate(tape, batches, sizeof *out);
    for (size_t b = 0; b < batches && out; b++)
        out[b] =
            ranks_of(s->value + b * k, k, tolerances[b], factor, default_rank_tolerance(a) / 2);
    return out;
}

const int64_t *call_ranks(struct call *call, struct node *a,
                          const struct rank_tolerance *tolerances)
{
    struct tape *tape = call->tape;
    const struct rank_range *ranges = rank_ranges(tape, a, tolerances, 1);
    int64_t *ranks = ranges ? tape_allocate(tape, (size_t)a->shape[0], sizeof *ranks) : NULL;
    for (int64_t b = 0; ranks && b < a->shape[0]; b++) {
        ranks[b] = ranges[b].own;
        if (!call_require(call, ranges[b].least == ranges[b].most,
                          "a singular value lies at the limit of those that count"))
            return NULL;
    }
    return ranks;
}

static bool is_in_range(void *context, size_t i, int64_t rank)
{
    const struct rank_range *ranges = context;
    return rank >= ranges[i].least && rank <= ranges[i].most;
}

const int64_t *call_settled_ranks(struct call *call, size_t output, struct node *a,
                                  const struct rank_tolerance *tolerances, double factor)
{
    struct rank_range *ranges = rank_ranges(call->tape, a, tolerances, factor);
    struct node *own = ranges ? node_new_integer(call->tape, DT_I64, 1, a->shape) : NULL;
    if (!own || tape_failed(call->tape)) return NULL;
    for (size_t b = 0; b < own->n; b++) own->integer[b] = ranges[b].own;
    return call_settled_indices(call, output, own, is_in_range, ranges)->integer;
}

static struct node *product(struct tape *tape, struct node *a, struct node *b)
{
    return node_matmul(tape, a, false, b, false);
}

struct shape_of_inverse {
    bool tall, complex_valued;
};

/* With P the inverse and G the adjoint of its cotangent, for a wide A: K = G P, -(P K)^H + K P^H - A P K P^H + P^H P (G - K A);
 * for a tall one K = P G, -(K P)^H + (G - A K) P P^H + P^H K - P^H K P A. */
static void inverse_gradient(struct tape *tape, struct node *node, struct node *cotangent,
                             const void *parameters)
{
    const struct shape_of_inverse *shape = parameters;
    struct node *p = node, *g = cotangent, *a = node->inputs[1], *flow;
    if (shape->complex_valued) {
        p = node_of_stacked_parts(tape, p);
        g = node_of_stacked_parts(tape, g);
        a = node_of_stacked_parts(tape, a);
    }
    g = adjoint_of(tape, g);
    struct node *ph = adjoint_of(tape, p);
    if (shape->tall) {
        struct node *k = product(tape, p, g), *phk = product(tape, ph, k);
        struct node *rest = node_subtract(tape, g, product(tape, a, k));
        flow = product(tape, product(tape, rest, p), ph);
        flow = node_subtract(tape, flow, adjoint_of(tape, product(tape, k, p)));
        flow = node_add(tape, flow, phk);
        flow = node_subtract(tape, flow, product(tape, product(tape, phk, p), a));
    } else {
        struct node *k = product(tape, g, p), *kph = product(tape, k, ph);
        struct node *rest = node_subtract(tape, g, product(tape, k, a));
        flow = product(tape, product(tape, ph, p), rest);
        flow = node_subtract(tape, flow, adjoint_of(tape, product(tape, p, k)));
        flow = node_add(tape, flow, kph);
        flow = node_subtract(tape, flow, product(tape, product(tape, a, p), kph));
    }
    tape_accumulate(tape, node->inputs[1], node_stacked_parts(tape, flow));
}

static struct node *of_full_rank(struct tape *tape, struct node *a)
{
    struct node *adjoint = adjoint_of(tape, a);
    if (tape_failed(tape)) return a;
    if (a->shape[1] == a->shape[2]) return node_inverse(tape, a);
    if (a->shape[1] > a->shape[2])
        return product(tape, node_inverse(tape, product(tape, adjoint, a)), adjoint);
    return product(tape, adjoint, node_inverse(tape, product(tape, a, adjoint)));
}

/* Of one matrix (1, m, n): the `rank` first values and their vectors. */
static struct node *of_rank(struct tape *tape, struct node *a, int64_t rank)
{
    struct singular_vectors vectors = { 0 };
    if (!rank) return node_scale(tape, adjoint_of(tape, a), 0);
    struct node *values = node_singular(tape, a, &vectors);
    if (tape_failed(tape)) return values;
    values = node_slice(tape, values, 1, 0, rank, 1);
    struct node *v = node_slice(tape, vectors.v, 2, 0, rank, 1),
                *u = node_slice(tape, vectors.u, 2, 0, rank, 1);
    v = node_divide(tape, v, node_reshape(tape, values, 3, (int64_t[]){ 1, 1, rank }));
    return product(tape, v, adjoint_of(tape, u));
}

/* The norms of the rows (dim 2) or columns (dim 1) of a batch of matrices, without their gradients; the dimension stays as 1. */
static struct node *norms_along(struct tape *tape, struct node *x, uint32_t dims)
{
    struct node *re = node_detach(tape, node_real_part(tape, x));
    struct node *squares = node_multiply(tape, re, re);
    if (x->imaginary) {
        struct node *im = node_detach(tape, node_imaginary_part(tape, x));
        squares = node_add(tape, squares, node_multiply(tape, im, im));
    }
    return node_apply(tape, "sqrt", node_sum(tape, squares, dims, true));
}

/* The norms of the rows or columns of 1 - p, p a product of an inverse and its matrix. */
static struct node *norms_outside(struct tape *tape, struct node *p, uint32_t dims)
{
    struct node *one = ones_on_diagonal(tape, p->shape[1], p->shape[2]);
    return norms_along(tape, node_subtract(tape, one, p), dims);
}

/* In a model: the inverse y of a as kernels form it from singular vectors, which are those of a + E with |E| <= p(n) u |a| in the
 * norm (Golub and Van Loan, Matrix Computations, section 5.4.8). To first order (Wedin, BIT 13, 1973) y is off by
 *     -y E y + y y^H E^H (1 - a y) + (1 - y a) E^H y^H y,
 * an element of each by |E| times the norm of a row of the left factor and of a column of the right one. The second and third are 0
 * where a has full row and column rank: alone they say what becomes of small elements of the inverse of a vector. y itself
 * otherwise. */
static struct node *by_singular_values(struct tape *tape, struct node *y, struct node *a)
{
    enum { COLUMNS = 1u << 1, ROWS = 1u << 2 };
    if (!tape_is_model(tape) || tape_failed(tape)) return y;
    double roundings = 8 * sqrt((double)(a->shape[1] + a->shape[2]));
    struct node *plain = node_detach(tape, y), *adjoint = adjoint_of(tape, plain);
    struct node *sides[3][2] = {
        { norms_along(tape, plain, ROWS), norms_along(tape, plain, COLUMNS) },
        { norms_along(tape, product(tape, plain, adjoint), ROWS),
          norms_outside(tape, product(tape, a, plain), COLUMNS) },
        { norms_outside(tape, product(tape, plain, a), ROWS),
          norms_along(tape, product(tape, adjoint, plain), COLUMNS) },
    };
    struct node *size = node_multiply(tape, sides[0][0], sides[0][1]);
    for (int i = 1; i < 3; i++)
        size = node_add(tape, size, node_multiply(tape, sides[i][0], sides[i][1]));
    size = node_multiply(tape, size, norms_along(tape, a, COLUMNS | ROWS));
    if (!y->imaginary) return node_model_error(tape, y, size, roundings);
    return node_complex(tape, node_model_error(tape, node_real_part(tape, y), size, roundings),
                        node_model_error(tape, node_imaginary_part(tape, y), size, roundings));
}

struct node *pseudo_inverse_of_rank(struct tape *tape, struct node *a, const int64_t *ranks,
                                    struct node *given)
{
    if (tape_failed(tape) || !ranks) return a;
    int64_t batch = a->shape[0], m = a->shape[1], n = a->shape[2], k = m < n ? m : n;
    bool whole = true;
    for (int64_t b = 0; b < batch; b++) whole = whole && ranks[b] == k;
    struct node *plain = node_detach(tape, a), *p;
    if (whole) {
        p = of_full_rank(tape, plain);
    } else {
        struct node **parts = tape_allocate(tape, (size_t)batch, sizeof *parts);
        for (int64_t b = 0; b < batch && parts; b++)
            parts[b] = of_rank(tape, node_slice(tape, plain, 0, b, 1, 1), ranks[b]);
        p = parts ? node_concatenate(tape, parts, (int)batch, 0) : a;
    }
    p = by_singular_values(tape, p, plain);
    struct shape_of_inverse *shape = tape_allocate(tape, 1, sizeof *shape);
    if (tape_failed(tape)) return tape_failure(tape);
    *shape = (struct shape_of_inverse){ m > n, a->imaginary != NULL };
    struct node *input = node_stacked_parts(tape, given);
    p = node_stated_gradient(tape, node_stacked_parts(tape, p), 1, &input, inverse_gradient, shape);
    return shape->complex_valued ? node_of_stacked_parts(tape, p) : p;
}
