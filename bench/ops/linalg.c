/* Linear algebra whose results are determined: inverses, solutions, Cholesky factors, powers and exponentials, singular values.
 * Determinants are those of bench/ops/determinant.c, LU factors those of bench/ops/lu.c, factorizations that are unique only
 * up to signs or a basis those of bench/ops/factorization.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/factors.h"
#include "bench/ops/integers.h"
#include "bench/ops/matrices.h"
#include "bench/ops/norms.h"
#include "bench/ops/pseudo_inverse.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_matrix.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/matrix_model.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/singular_vectors.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/promotion.h"

/* Is an element on a diagonal nothing, in float32, beside the largest of its matrix? */
static bool has_lost_pivot(struct tape *tape, struct node *factor)
{
    struct node *size = node_magnitude(tape, factor);
    const double *x = node_values(tape, size);
    if (tape_failed(tape) || size->rank < 2 || !size->n) return false;
    size_t rows = (size_t)size->shape[size->rank - 2],
           columns = (size_t)size->shape[size->rank - 1];
    for (size_t first = 0; first < size->n; first += rows * columns) {
        double largest = 0, least = INFINITY;
        for (size_t i = 0; i < rows * columns; i++) {
            largest = fmax(largest, x[first + i]);
            if (i / columns == i % columns) least = fmin(least, x[first + i]);
        }
        if (!(least > largest * 0x1p-18)) return true;
    }
    return false;
}

void call_return_info(struct call *call, const struct node *like, struct node *factor)
{
    if (has_lost_pivot(call->tape, factor)) call_return_none(call);
    else
        call_return(call,
                    node_integer_constant(call->tape, DT_I32, 0, like->rank - 2, like->shape));
}

/* detail 1: followed by info. */
static void inverse(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *pivots;
    call_return_typed(
        call, with_leading_of(call->tape, node_inverse(call->tape, call_matrices(call, x)), x),
        x->dtype);
    if (call->op->detail) call_return_info(call, x, call_factors_packed(call, x, &pivots, NULL));
}

/* PyTorch's gradient L^-H X L^-1 with P = L^H G, X half of its lower triangle and of the adjoint of what is below the diagonal. The
 * imaginary parts of P's diagonal, which would be 0 if L's diagonal were known to be real, are in it. */
static void cholesky_gradient(struct tape *tape, struct node *node, struct node *cotangent,
                              const void *parameters)
{
    (void)parameters;
    struct node *l = node_of_stacked_parts(tape, node), *inverse = node_inverse(tape, l);
    struct node *g = node_of_stacked_parts(tape, cotangent);
    struct node *p = node_matmul(tape, adjoint_of(tape, l), false, g, false);
    struct node *x = node_add(tape, node_triangle(tape, p, -1, 0),
                              adjoint_of(tape, node_triangle(tape, p, -1, -1)));
    x = node_matmul(tape, adjoint_of(tape, inverse), false, node_scale(tape, x, 0.5), false);
    tape_accumulate(tape, node->inputs[1],
                    node_stacked_parts(tape, node_matmul(tape, x, false, inverse, false)));
}

/* Imaginary parts of the diagonal are not read. */
static struct node *complex_cholesky(struct tape *tape, struct node *a, bool upper)
{
    struct node *whole = node_detach(tape, hermitian_of_triangle(tape, a, upper));
    struct node *l = node_stacked_parts(tape, node_cholesky(tape, whole));
    struct node *given = node_stacked_parts(tape, a);
    return node_of_stacked_parts(tape,
                                 node_stated_gradient(tape, l, 1, &given, cholesky_gradient, NULL));
}

/* Of one triangle, the upper one where the upper factor is asked for; the gradient has both. */
static void cholesky(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct node *a = call_matrices(call, x);
    if (tape_failed(tape)) return;
    bool upper = call_bool(call, "upper");
    if (!call->op->detail && !x->n) { /* which torch.cholesky returns of any shape */
        call_return(call, x);
        return;
    }
    if (!call_require(call, a->shape[1] == a->shape[2], "a square matrix is needed")) return;
    struct node *l = a->imaginary ? complex_cholesky(tape, a, upper)
                                  : node_cholesky(tape, upper ? node_transpose(tape, a, 1, 2) : a);
    if (upper) l = adjoint_of(tape, l);
    call_return_typed(call, with_leading_of(tape, l, x), x->dtype);
    if (call->op->detail) call_return_info(call, x, l);
}

/* Y = A^-1 B: A^-T G to B, and -(A^-T G) Y^T to A. */
static void solution_backward(struct tape *tape, struct node *node, struct node *cotangent,
                              const void *parameters)
{
    struct node *a = node->inputs[1], *b = node->inputs[2];
    struct node *inverse = ((struct node *const *)parameters)[0];
    struct node *g = node_solved(tape, a, inverse, cotangent, true);
    if (b->tracked) tape_accumulate(tape, b, g);
    if (a->tracked)
        tape_accumulate(tape, a, node_negate(tape, node_matmul(tape, g, false, node, true)));
}

/* In a model: A^-1 B as kernels solve it, where the matrices of both are real and as many; else NULL. In double the reference's own products with the inverse
 * are off as far as a kernel's that forms it. */
static struct node *modelled_solution(struct call *call, struct node *a, struct node *b)
{
    struct tape *tape = call->tape;
    if (!tape_is_model(tape) || tape->wide || a->imaginary || b->imaginary || a->integer ||
        b->integer || a->rank < 2 || a->rank != b->rank || !a->n || !b->n ||
        memcmp(a->shape, b->shape, (size_t)(a->rank - 1) * sizeof *a->shape))
        return NULL;
    struct node *matrices = call_matrices(call, a), *columns = call_matrices(call, b);
    struct node **inverse = tape_allocate(tape, 1, sizeof *inverse);
    if (tape_failed(tape)) return NULL;
    *inverse = node_inverse(tape, node_detach(tape, matrices));
    struct node *y = node_solved(tape, matrices, *inverse, columns, false);
    y = node_stated_gradient(tape, y, 2, (struct node *[]){ matrices, columns }, solution_backward,
                             inverse);
    return with_leading_of(tape, y, b);
}

/* A^-1 B by the inverse; a vector B is a column. */
static struct node *solution(struct call *call, struct node *a, struct node *b)
{
    struct tape *tape = call->tape;
    struct node *y = modelled_solution(call, a, b);
    if (y) return y;
    struct node *x = with_leading_of(tape, node_inverse(tape, call_matrices(call, a)), a);
    bool vector = b->rank == 1 || (b->rank == a->rank - 1 &&
                                   !memcmp(b->shape, a->shape, (size_t)b->rank * sizeof *b->shape));
    if (!vector) return compose_matmul(tape, x, b);
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, b->shape, sizeof shape);
    shape[b->rank] = 1;
    y = compose_matmul(tape, x, node_reshape(tape, b, b->rank + 1, shape));
    return node_reshape(tape, y, y->rank - 1, y->shape);
}

void call_return_solution(struct call *call, struct node *a, struct node *b)
{
    struct tape *tape = call->tape;
    struct node *x;
    if (call_bool(call, "left")) {
        x = solution(call, a, b);
    } else {
        x = compose_matmul(tape, b,
                           with_leading_of(tape, node_inverse(tape, call_matrices(call, a)), a));
    }
    call_return_typed(call, x, dtype_promote(a->dtype, b->dtype));
}

static void solve(struct call *call)
{
    struct node *a = call_tensor(call, "A");
    call_return_solution(call, a, call_tensor(call, "B"));
    struct node *pivots;
    if (call->op->detail) call_return_info(call, a, call_factors_packed(call, a, &pivots, NULL));
}

struct product_of_factor {
    bool upper, complex_valued;
};

/* PyTorch's gradient of A = L L^H: (G + G^H) L with L as it was given, both triangles. */
static void product_gradient(struct tape *tape, struct node *node, struct node *cotangent,
                             const void *parameters)
{
    const struct product_of_factor *product = parameters;
    struct node *l = node->inputs[1], *g = cotangent;
    if (product->complex_valued) {
        l = node_of_stacked_parts(tape, l);
        g = node_of_stacked_parts(tape, g);
    }
    struct node *both = node_add(tape, g, adjoint_of(tape, g));
    struct node *flow = product->upper ? node_matmul(tape, l, false, both, false)
                                       : node_matmul(tape, both, false, l, false);
    tape_accumulate(tape, node->inputs[1], node_stacked_parts(tape, flow));
}

/* The matrix whose triangular factor is given: L L^H, or U^H U. Only the triangle is read. */
static struct node *factored(struct tape *tape, struct node *factor, bool upper)
{
    struct product_of_factor *product = tape_allocate(tape, 1, sizeof *product);
    if (!product) return factor;
    *product = (struct product_of_factor){ upper, factor->imaginary != NULL };
    struct node *t = node_triangle(tape, factor, upper ? 1 : -1, 0), *turned = adjoint_of(tape, t);
    struct node *a = node_stacked_parts(tape, upper ? node_matmul(tape, turned, false, t, false)
                                                    : node_matmul(tape, t, false, turned, false));
    struct node *l = node_stacked_parts(tape, factor);
    a = node_stated_gradient(tape, a, 1, &l, product_gradient, product);
    return product->complex_valued ? node_of_stacked_parts(tape, a) : a;
}

/* (L L^H)^-1 B: cholesky_solve(B, L); detail 1: cholesky_inverse(L). text: L's name. */
static void cholesky_solve(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *factor = call_tensor(call, call->op->text);
    bool upper = call_bool(call, "upper");
    struct node *batch = call_matrices(call, factor);
    if (!call_require_real_diagonals(call, batch)) return;
    struct node *full = node_inverse(tape, factored(tape, batch, upper));
    full = with_leading_of(tape, full, factor);
    call_return_typed(
        call, call->op->detail ? full : compose_matmul(tape, full, call_tensor(call, "input")),
        factor->dtype);
}

/* The triangle of a batch of matrices that a solver reads, its diagonal ones if `unitriangular`. */
static struct node *triangle_read(struct call *call, struct node *batch)
{
    struct tape *tape = call->tape;
    int side = call_bool(call, "upper") ? 1 : -1;
    if (!call_bool(call, "unitriangular")) return node_triangle(tape, batch, side, 0);
    return node_add(tape, node_triangle(tape, batch, side, side),
                    ones_on_diagonal(tape, batch->shape[1], batch->shape[1]));
}

/* op(A) X = B for triangular A. Also returns A, as PyTorch's older function does. */
static void triangular_solve(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *b = call_tensor(call, "input"), *a = call_tensor(call, "A");
    struct node *t = triangle_read(call, call_matrices(call, a));
    if (call_bool(call, "transpose")) t = node_transpose(tape, t, 1, 2);
    struct node *x = compose_matmul(tape, with_leading_of(tape, node_inverse(tape, t), a), b);
    call_return_typed(call, x, b->dtype);
    if (tape_failed(tape) || x->rank < a->rank) return;
    int64_t shape[TENSOR_MAX_RANK]; /* A for each batch of X */
    memcpy(shape, x->shape, sizeof shape);
    for (int d = 1; d <= 2; d++) shape[x->rank - d] = a->shape[a->rank - d];
    call_return(call, node_scale(tape, node_broadcast(tape, a, x->rank, shape), 1));
}

/* A X = B or X A = B for triangular A. */
static void solve_triangular(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "A"), *b = call_tensor(call, "B");
    struct node *t = triangle_read(call, call_matrices(call, a));
    struct node *inverse = with_leading_of(tape, node_inverse(tape, t), a);
    call_return_typed(call,
                      call_bool(call, "left") ? compose_matmul(tape, inverse, b)
                                              : compose_matmul(tape, b, inverse),
                      dtype_promote(a->dtype, b->dtype));
}

static void solution_and_factors(struct call *call)
{
    struct node *a = call_tensor(call, "A");
    call_return_solution(call, a, call_tensor(call, "B"));
    call_return_info(call, a, call_return_factors_used(call, "A", 2));
}

static void matrix_power(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *base = call_matrices(call, x);
    int64_t n = call_int(call, "n");
    if (!call_require(call, base->shape[1] == base->shape[2], "a square matrix is needed")) return;
    if (n < 0) base = node_inverse(tape, base);
    struct node *result = NULL;
    for (uint64_t k = n < 0 ? -(uint64_t)n : (uint64_t)n; k; k >>= 1) {
        if (k & 1) result = result ? node_matmul(tape, result, false, base, false) : base;
        if (k > 1) base = node_matmul(tape, base, false, base, false);
    }
    if (!result) { /* the identity, of infinities and NaN, too */
        struct node *one = ones_on_diagonal(tape, base->shape[1], base->shape[1]);
        result = node_flat(tape, node_broadcast(tape, one, 3, base->shape), 1, &base);
    }
    call_return_typed(call, with_leading_of(tape, result, x), x->dtype);
}

/* Of numbers, 1 x 1, PyTorch takes the function of numbers, which knows infinities; their gradient is that of matrices. */
static void matrix_exponential(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *a = call_matrices(call, x);
    if (tape_failed(tape)) return;
    bool numbers = !a->imaginary && a->shape[1] == 1 && a->shape[2] == 1;
    struct node *y = numbers ? node_apply(tape, "exp", a) : node_matrix_exponential(tape, a);
    if (numbers && tape_is_model(tape))
        y = node_straight_through(tape, y, node_matrix_exponential(tape, a));
    call_return_typed(call, with_leading_of(tape, y, x), x->dtype);
}

/* rcond is rtol's older name. Without either limit, or with an atol of 0 alone, there is PyTorch's own: 1e-15 for pinverse, else the
 * larger extent times the spacing of numbers at 1. *x is broadcast with the limits. */
static const struct rank_tolerance *inverse_tolerances(struct call *call, struct node **x)
{
    const char *relative = call_is_none(call, "rtol") ? "rcond" : "rtol";
    if (!call_require(call, (*x)->rank >= 2, "a matrix is needed")) return NULL;
    double usual = call->op->detail ? 1e-15 : default_rank_tolerance(*x);
    return call_rank_tolerances(call, x, relative, "atol", usual);
}

static void pseudo_inverse(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    const struct rank_tolerance *tolerances = inverse_tolerances(call, &x);
    if (tape_failed(tape)) return;
    struct node *given = call_matrices(call, x), *a = given;
    if (call_bool(call, "hermitian")) { /* only the lower triangle is read */
        if (!call_require(call, a->shape[1] == a->shape[2], "a square matrix is needed")) return;
        a = node_detach(tape, hermitian_of_triangle(tape, a, false));
    }
    if (tape_failed(tape)) return;
    const int64_t *ranks = call_ranks(call, a, tolerances);
    struct node *y = pseudo_inverse_of_rank(tape, a, ranks, given);
    call_return_typed(call, with_leading_of(tape, y, x), x->dtype);
}

static struct node *singular_values(struct call *call, struct node *x)
{
    return with_leading_of(call->tape, node_singular_values(call->tape, call_matrices(call, x)), x);
}

static void svdvals(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    call_return_typed(call, singular_values(call, x), dtype_component(x->dtype));
}

static void nuclear_norm(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *s = singular_values(call, x);
    if (tape_failed(call->tape)) return;
    struct node *y = node_sum(call->tape, s, 1u << (s->rank - 1), false);
    if (call_bool(call, "keepdim")) {
        int64_t shape[TENSOR_MAX_RANK];
        memcpy(shape, x->shape, sizeof shape);
        shape[x->rank - 2] = shape[x->rank - 1] = 1;
        y = node_reshape(call->tape, y, x->rank, shape);
    }
    call_return_typed(call, y, dtype_component(x->dtype));
}

/* An older tol is absolute. *x is broadcast with the limits. */
static const struct rank_tolerance *rank_tolerances(struct call *call, struct node **x)
{
    if (!call_require(call, (*x)->rank >= 2, "a matrix is needed")) return NULL;
    if (!call_is_none(call, "tol")) return call_rank_tolerances(call, x, "rtol", "tol", 0);
    return call_rank_tolerances(call, x, "rtol", "atol", default_rank_tolerance(*x));
}

struct open_ranks {
    const struct node *values;
    const struct rank_tolerance *tolerances; /* of each matrix */
    double margin;
};

static bool is_open_rank(void *context, size_t i, int64_t rank)
{
    const struct open_ranks *open = context;
    const size_t k = (size_t)open->values->shape[open->values->rank - 1];
    const double *values = open->values->value + i * k;
    return rank >= count_above(values, k, open->tolerances[i], open->margin) &&
           rank <= count_above(values, k, open->tolerances[i], -open->margin);
}

/* Number of singular values above the tolerance. A kernel knows them to max(m, n) roundings of the largest (backward
 * stable; Golub and Van Loan, Matrix Computations, 8.6): those within that of the limit may count or not. */
static void matrix_rank(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    const struct rank_tolerance *tolerances = rank_tolerances(call, &x);
    if (tape_failed(tape)) return;
    struct node *a = call_matrices(call, x);
    if (call_bool(call, "hermitian")) a = hermitian_of_triangle(tape, a, false);
    struct node *s = with_leading_of(tape, node_singular_values(tape, a), x);
    if (tape_failed(tape)) return;
    struct open_ranks open = { s, tolerances, default_rank_tolerance(x) / 2 };
    const size_t k = (size_t)s->shape[s->rank - 1];
    struct node *rank = node_new_integer(tape, DT_I64, s->rank - 1, s->shape);
    for (size_t b = 0; !tape_failed(tape) && b < rank->n; b++)
        rank->integer[b] = k ? count_above(s->value + b * k, k, tolerances[b], 0) : 0;
    if (tape_failed(tape)) return;
    call_return(call, k ? call_settled_indices(call, 0, rank, is_open_rank, &open) : rank);
}

static bool is_spectral(const struct value *p)
{
    return p->kind == VALUE_NONE ||
           (p->kind == VALUE_INT && (p->integer == 2 || p->integer == -2)) ||
           (p->kind == VALUE_FLOAT && fabs(p->real) == 2);
}

/* Ratio of the largest singular value to the smallest (p None or 2), of the smallest to the largest (p = -2), else
 * ||A|| ||A^-1|| in the norm of order p. */
static void condition(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    const struct value *p = call_value(call, "p");
    if (!call_require(call, x->rank >= 2, "a matrix is needed")) return;
    if (!call_require(call,
                      p->kind == VALUE_NONE || p->kind == VALUE_STRING || p->kind == VALUE_INT ||
                          p->kind == VALUE_FLOAT,
                      "a norm has a name or a number"))
        return;
    if (!x->n) { /* PyTorch's condition of nothing is 0 */
        call_return_typed(call, node_constant(tape, DT_NONE, 0, x->rank - 2, x->shape),
                          dtype_component(x->dtype));
        return;
    }
    if (!is_spectral(p)) {
        struct node *inverse = with_leading_of(tape, node_inverse(tape, call_matrices(call, x)), x);
        if (tape_failed(tape)) return;
        int row = x->rank - 2, column = x->rank - 1;
        struct node *norms[2] = { matrix_norm_of(call, x, p, row, column, false),
                                  matrix_norm_of(call, inverse, p, row, column, false) };
        call_return_typed(call, node_multiply(tape, norms[0], norms[1]), dtype_component(x->dtype));
        return;
    }
    struct node *s = singular_values(call, x);
    if (tape_failed(tape)) return;
    int64_t k = s->shape[s->rank - 1];
    struct node *first = node_slice(tape, s, s->rank - 1, 0, 1, 1),
                *last = node_slice(tape, s, s->rank - 1, k - 1, 1, 1);
    bool inverted = p->kind != VALUE_NONE && call_real(call, "p") < 0;
    struct node *ratio = inverted ? node_divide(tape, last, first) : node_divide(tape, first, last);
    call_return_typed(call, node_reshape(tape, ratio, s->rank - 1, s->shape),
                      dtype_component(x->dtype));
}

/* Two tensors of one shape and the dimension of their vectors. */
struct crossed {
    enum dtype dtype;
    int dim;
};

/* a x b: the cyclic products of shifted copies. */
static struct node *cross_product(struct tape *tape, const struct crossed *how, struct node *a,
                                  struct node *b)
{
    struct node *turned[2][2]; /* [a, b] by one place, by two */
    struct node *operands[2] = { a, b };
    for (int k = 0; k < 2; k++)
        for (int by = 1; by <= 2; by++) {
            struct node *parts[2] = { node_slice(tape, operands[k], how->dim, by, 3 - by, 1),
                                      node_slice(tape, operands[k], how->dim, 0, by, 1) };
            turned[k][by - 1] = node_concatenate(tape, parts, 2, how->dim);
        }
    return node_subtract_as(tape, how->dtype,
                            node_multiply_as(tape, how->dtype, turned[0][0], turned[1][1]),
                            node_multiply_as(tape, how->dtype, turned[0][1], turned[1][0]));
}

/* As autograd has it, each in one kernel: b x c and c x a. */
static void cross_backward(struct tape *tape, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    struct node *a = node->inputs[1], *b = node->inputs[2];
    if (a->tracked)
        tape_accumulate(tape, a, cross_product(tape, parameters, node_detach(tape, b), cotangent));
    if (b->tracked)
        tape_accumulate(tape, b, cross_product(tape, parameters, cotangent, node_detach(tape, a)));
}

/* The product along dim, or the first dimension of extent 3. */
static void cross(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    int64_t shape[TENSOR_MAX_RANK];
    int rank, dim = -1;
    enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
    if (!call_require(call, shape_broadcast(&rank, shape, a->rank, a->shape, b->rank, b->shape),
                      "the shapes do not broadcast"))
        return;
    a = node_broadcast(tape, a, rank, shape);
    b = node_broadcast(tape, b, rank, shape);
    if (!call_is_none(call, "dim")) dim = call_dim(call, "dim", rank);
    for (int d = 0; d < rank && dim < 0; d++)
        if (shape[d] == 3) dim = d;
    if (!call_require(call, dim >= 0 && shape[dim] == 3, "cross needs a dimension of extent 3"))
        return;
    struct crossed *how = tape_allocate(tape, 1, sizeof *how);
    if (!how) return;
    *how = (struct crossed){ dtype, dim };
    struct node *y = cross_product(tape, how, a, b);
    if (composes(tape) && !y->imaginary && !y->integer)
        y = node_stated_gradient(tape, y, 2, (struct node *[]){ a, b }, cross_backward, how);
    call_return_typed(call, y, dtype);
}

/* The solution of a tensor equation: A as a square matrix over the trailing dimensions. */
static void tensor_solve(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "A"), *b = call_tensor(call, "B");
    if (tape_failed(tape)) return;
    int lead = b->rank;
    int64_t n = (int64_t)b->n, square[3] = { 1, n, n }, column[3] = { 1, n, 1 };
    int64_t dims[TENSOR_MAX_RANK];
    int order[TENSOR_MAX_RANK], moved = call_ints(call, "dims", dims, TENSOR_MAX_RANK), at = 0;
    uint32_t behind = 0; /* the dimensions that go to the end */
    if (!call_require(call, moved <= a->rank && lead <= a->rank,
                      "more dimensions than the tensor of coefficients has"))
        return;
    for (int i = 0; i < moved; i++) {
        int d = wrap_dim(call, dims[i], a->rank);
        if (!call_require(call, !(behind >> d & 1), "a dimension is moved twice")) return;
        behind |= 1u << d;
        order[a->rank - moved + i] = d;
    }
    if (tape_failed(tape)) return;
    for (int d = 0; d < a->rank; d++)
        if (!(behind >> d & 1)) order[at++] = d;
    if (moved) a = node_permute(tape, a, order);
    struct node *x = node_matmul(tape, node_inverse(tape, node_reshape(tape, a, 3, square)), false,
                                 node_reshape(tape, b, 3, column), false);
    call_return_typed(call, node_reshape(tape, x, a->rank - lead, a->shape + lead), a->dtype);
}

/* The inverse of a tensor as a linear map from its last dimensions to its first `ind`. */
static void tensor_inverse(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "A");
    int64_t ind = call_int(call, "ind"), rows = 1, shape[TENSOR_MAX_RANK];
    if (!call_require(call, ind > 0 && ind < a->rank, "ind %lld of %d dimensions", (long long)ind,
                      a->rank))
        return;
    int lead = (int)ind, behind = a->rank - lead;
    for (int d = 0; d < lead; d++) rows *= a->shape[d];
    if (!call_require(call, (size_t)(rows * rows) == a->n, "a square matrix is needed")) return;
    memcpy(shape, a->shape + lead, (size_t)behind * sizeof *shape);
    memcpy(shape + behind, a->shape, (size_t)lead * sizeof *shape);
    struct node *x = node_inverse(tape, node_reshape(tape, a, 3, (int64_t[]){ 1, rows, rows }));
    call_return_typed(call, node_reshape(tape, x, a->rank, shape), a->dtype);
}

/* Covariance of variables in rows (detail 1: correlation coefficients). */
static void covariance(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_float_type(call, &x, 1);
    if (!call_require(call, x->rank <= 2, "covariance takes at most two dimensions")) return;
    int rank = x->rank;
    int64_t rows[2] = { rank == 2 ? x->shape[0] : 1, rank ? x->shape[rank - 1] : 1 };
    struct node *m = node_reshape(tape, node_to_real(tape, x), 2, rows);
    struct node *weights = NULL, *aweights = NULL;
    if (!call->op->detail) {
        struct node *f = call_optional_tensor(call, "fweights"),
                    *w = call_optional_tensor(call, "aweights");
        if (f) weights = node_to_real(tape, f);
        if (w) aweights = node_to_real(tape, w);
        if (w) dtype = call_float_type(call, (struct node *[]){ x, w }, 2);
        if (aweights) weights = weights ? node_multiply(tape, weights, aweights) : aweights;
    }
    double correction = call->op->detail ? 1 : call_real(call, "correction");
    struct node *total = weights ? node_sum(tape, weights, 1, false)
                                 : node_scalar(tape, (double)rows[1]);
    struct node *mean = node_divide(
        tape, node_sum(tape, weights ? node_multiply(tape, m, weights) : m, 2, true), total);
    struct node *norm = node_offset(tape, total, -correction);
    if (aweights && correction != 0) {
        struct node *share = node_sum(tape, node_multiply(tape, weights, aweights), 1, false);
        norm = node_subtract(tape, total,
                             node_scale(tape, node_divide(tape, share, total), correction));
    }
    struct node *d = node_subtract(tape, m, mean);
    struct node *other = node_transpose(tape, weights ? node_multiply(tape, d, weights) : d, 0, 1);
    struct node *c = compose_matmul(tape, d, node_conjugate(tape, other));
    c = node_divide(tape, c, norm);
    if (call->op->detail) {
        int64_t n = rows[0], stride[1] = { n + 1 }, count[1] = { n }, column[2] = { n, 1 };
        struct node *own = node_real_part(tape, node_view(tape, c, 1, count, stride, 0));
        struct node *deviation = node_apply(tape, "sqrt", own);
        c = node_divide(tape, node_divide(tape, c, node_reshape(tape, deviation, 2, column)),
                        deviation);
    }
    if (rows[0] == 1) c = node_reshape(tape, c, 0, NULL); /* PyTorch squeezes */
    call_return_typed(call, c, dtype);
}

/* clang-format off */
const struct op ops_linalg[] = {
    { "inverse|linalg.inv|inv", TORCH | TENSOR, "(Tensor input)", inverse, 0, 0, NULL },
    { "linalg.inv_ex|inv_ex", TORCH, "(Tensor input, *, bool check_errors=False)", inverse, 0, 1, NULL },
    { "cholesky|linalg.cholesky", TORCH | TENSOR, "(Tensor input, bool upper=False)", cholesky, 0, 0, NULL },
    { "linalg.cholesky_ex|cholesky_ex", TORCH, "(Tensor input, *, bool upper=False, bool check_errors=False)", cholesky, 0, 1, NULL },
    { "cholesky_solve", TORCH | TENSOR, "(Tensor input, Tensor input2, bool upper=False)", cholesky_solve, 0, 0, "input2" },
    { "cholesky_inverse", TORCH | TENSOR, "(Tensor input, bool upper=False)", cholesky_solve, 0, 1, "input" },
    { "triangular_solve", TORCH | TENSOR, "(Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False)", triangular_solve, 0, 0, NULL },
    { "linalg.solve", TORCH, "(Tensor A, Tensor B, *, bool left=True)", solve, 0, 0, NULL },
    { "linalg.solve_ex|solve_ex", TORCH, "(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)", solve, 0, 1, NULL },
    { "linalg.solve_triangular|solve_triangular", TORCH, "(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)", solve_triangular, 0, 0, NULL },
    { "linalg.tensorsolve|tensorsolve", TORCH, "(Tensor A, Tensor B, int[]? dims=None)", tensor_solve, 0, 0, NULL },
    { "linalg.tensorinv|tensorinv", TORCH, "(Tensor A, int ind=2)", tensor_inverse, 0, 0, NULL },
    { "_linalg_solve_ex", TORCH, "(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)", solution_and_factors, 0, 0, NULL },
    { "_cholesky_solve_helper", TORCH, "(Tensor input, Tensor A, bool upper)", cholesky_solve, 0, 0, "A" },
    { "matrix_power|linalg.matrix_power", TORCH | TENSOR, "(Tensor input, int n)", matrix_power, 0, 0, NULL },
    { "matrix_exp|linalg.matrix_exp", TORCH | TENSOR, "(Tensor input)", matrix_exponential, 0, 0, NULL },
    { "linalg.pinv|pinv", TORCH | TENSOR, "(Tensor input, Any rcond=None, bool hermitian=False, *, Any rtol=None, Any atol=None)", pseudo_inverse, 0, 0, NULL },
    { "pinverse", TORCH | TENSOR, "(Tensor input, Any rcond=None, bool hermitian=False, *, Any rtol=None, Any atol=None)", pseudo_inverse, 0, 1, NULL },
    { "linalg.svdvals|svdvals", TORCH, "(Tensor input, *, str? driver=None)", svdvals, 0, 0, NULL },
    { "nuclear_norm", TORCH, "(Tensor input, bool keepdim=False)", nuclear_norm, 0, 0, NULL },
    { "linalg.matrix_rank|matrix_rank", TORCH, "(Tensor input, Any tol=None, bool hermitian=False, *, Any atol=None, Any rtol=None)", matrix_rank, OP_NO_GRADIENT, 0, NULL },
    { "linalg.cond|cond", TORCH, "(Tensor input, Any p=None)", condition, 0, 0, NULL },
    { "cross", TORCH | TENSOR, "(Tensor input, Tensor other, int? dim=None)", cross, 0, 0, NULL },
    { "linalg.cross", TORCH, "(Tensor input, Tensor other, *, int dim=-1)", cross, 0, 0, NULL },
    { "cov", TORCH | TENSOR, "(Tensor input, *, Scalar correction=1, Tensor? fweights=None, Tensor? aweights=None)", covariance, 0, 0, NULL },
    { "corrcoef", TORCH | TENSOR, "(Tensor input)", covariance, 0, 1, NULL },
};
/* clang-format on */
OP_TABLE_END(linalg);
