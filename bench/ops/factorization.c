/* Factorizations that are unique up to signs, or to the basis of a subspace: QR, eigenvectors, singular vectors. The device's
 * choice among the right answers is taken (bench/primitives/nearest_basis.h), so that every element has a value to be
 * compared with and gradients follow the vectors that the device went on with. Also what is made of such factors: least
 * squares, products of reflections. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/factors.h"
#include "bench/ops/matrices.h"
#include "bench/ops/pseudo_inverse.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/eigenvectors.h"
#include "bench/primitives/general_eigen.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/orthogonal_factors.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/singular_vectors.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/view.h"

struct node *call_device_batch(struct call *call, size_t k, const struct node *a, int64_t rows,
                               int64_t columns, bool adjoint)
{
    struct tape *tape = call->tape;
    if (tape_failed(tape)) return NULL;
    const struct tensor *given = call_device_output(call, k);
    if (!given || tensor_elements(given) != (size_t)(a->shape[0] * rows * columns)) return NULL;
    struct node *got = node_leaf(tape, given, false);
    if (got->integer || !got->n || got->rank < 2 || !got->imaginary != !a->imaginary ||
        got->shape[got->rank - 2] != (adjoint ? columns : rows) ||
        got->shape[got->rank - 1] != (adjoint ? rows : columns))
        return NULL;
    int64_t shape[3] = { a->shape[0], got->shape[got->rank - 2], got->shape[got->rank - 1] };
    got = node_reshape(tape, got, 3, shape);
    return adjoint ? adjoint_of(tape, got) : got;
}

/* The same as elements, of complex a embedded. */
static const double *device_matrices(struct call *call, size_t k, const struct node *a,
                                     int64_t rows, int64_t columns, bool adjoint)
{
    struct node *got = call_device_batch(call, k, a, rows, columns, adjoint);
    return got ? node_values(call->tape, node_embedding(call->tape, got)) : NULL;
}

const double *call_device_square(struct call *call, size_t output, const struct node *a,
                                 int64_t rows, int64_t columns, int64_t k, bool adjoint)
{
    struct tape *tape = call->tape;
    struct node *got = call_device_batch(call, output, a, rows, columns, adjoint);
    if (!got) return NULL;
    got = node_slice(tape, node_slice(tape, got, 1, 0, k, 1), 2, 0, k, 1);
    return node_values(tape, node_embedding(tape, got));
}

void call_return_batch(struct call *call, struct node *y, const struct node *like)
{
    call_return_typed(call, with_leading_of(call->tape, y, like), like->dtype);
}

void call_return_empty(struct call *call, enum dtype dtype)
{
    int64_t none = 0;
    call_return_typed(call, node_constant(call->tape, dtype, 0, 1, &none), dtype);
}

struct node *call_batch(struct call *call, const char *name)
{
    return call_matrices(call, call_tensor(call, name));
}

void call_return_real_batch(struct call *call, struct node *values, const struct node *like)
{
    call_return_typed(call, with_leading_of(call->tape, values, like),
                      dtype_component(like->dtype));
}

/* The first columns of the identity of order m for each matrix of a batch. */
static struct node *identities(struct tape *tape, const struct node *like, int64_t m,
                               int64_t columns)
{
    int64_t shape[3] = { like->shape[0], m, columns };
    return node_broadcast(tape, ones_on_diagonal(tape, m, columns), 3, shape);
}

/* ---- QR ------------------------------------------------------------------------------------------ */

/* Q and R of a batch; `complete`: a square Q. The device's Q and R are its flat outputs 0 and 1. Columns beyond
 * the number of rows follow from the square in front of them. */
static struct node *orthogonal_factors(struct call *call, struct node *a, bool complete,
                                       bool settles, struct node **r)
{
    struct tape *tape = call->tape;
    *r = a;
    if (tape_failed(tape)) return a;
    int64_t m = a->shape[1], n = a->shape[2], k = m < n ? m : n, columns = complete ? m : k;
    if (!k) { /* LAPACK's Q for a matrix without elements is the identity */
        *r = node_constant(tape, a->dtype, 0, 3, (int64_t[]){ a->shape[0], columns, n });
        return identities(tape, a, m, columns);
    }
    struct qr_aim aim = { 0 };
    if (settles) {
        aim.q = device_matrices(call, 0, a, m, columns, false);
        aim.r = call_device_square(call, 1, a, columns, n, k, false);
    }
    struct node *front = m < n ? node_slice(tape, a, 2, 0, m, 1) : a;
    struct node *q = node_qr(tape, front, (size_t)columns, &aim, r);
    if (m < n) {
        struct node *behind = node_slice(tape, a, 2, m, n - m, 1);
        behind = node_matmul(tape, adjoint_of(tape, q), false, behind, false);
        *r = node_concatenate(tape, (struct node *[]){ *r, behind }, 2, 2);
    }
    if (columns > n) {
        int64_t below[3] = { a->shape[0], columns - n, n };
        struct node *zero = node_constant(tape, DT_NONE, 0, 3, below);
        *r = node_concatenate(tape, (struct node *[]){ *r, zero }, 2, 1);
    }
    return q;
}

static void return_qr(struct call *call, const char *name, bool complete, bool only_r)
{
    struct node *x = call_tensor(call, name), *r;
    struct node *q = orthogonal_factors(call, call_batch(call, name), complete, true, &r);
    if (only_r) call_return_empty(call, x->dtype);
    else call_return_batch(call, q, x);
    call_return_batch(call, r, x);
}

static void qr(struct call *call) { return_qr(call, "input", !call_bool(call, "some"), false); }

static void linalg_qr(struct call *call)
{
    const char *mode = call_string(call, "mode");
    if (tape_failed(call->tape)) return;
    bool complete = !strcmp(mode, "complete"), only_r = !strcmp(mode, "r");
    if (!call_require(call, complete || only_r || !strcmp(mode, "reduced"), "mode %s", mode))
        return;
    return_qr(call, "A", complete, only_r);
}

/* ---- eigenvectors ---------------------------------------------------------------------------------- */

/* What a triangle says of a Hermitian matrix; PyTorch's gradient goes to the whole. */
static struct node *hermitian(struct call *call, struct node *a, bool upper)
{
    struct tape *tape = call->tape;
    if (tape_failed(tape)) return a;
    if (!call_require(call, a->shape[1] == a->shape[2], "a square matrix is needed")) return a;
    struct node *whole = hermitian_of_triangle(tape, a, upper);
    return node_straight_through(tape, node_detach(tape, whole), node_to_real(tape, a));
}

static void return_eigen(struct call *call, const char *name, bool upper, bool vectors)
{
    struct node *x = call_tensor(call, name), *v;
    struct node *a = hermitian(call, call_batch(call, name), upper);
    const double *aim = vectors ? device_matrices(call, 1, a, a->shape[1], a->shape[2], false)
                                : NULL;
    struct node *values = node_eigenvalues(call->tape, a, aim, vectors ? &v : NULL);
    call_return_real_batch(call, values, x);
    if (vectors) call_return_batch(call, v, x);
}

/* text: whether vectors are wanted too, by its name; NULL: detail says it. */
static void eigh(struct call *call)
{
    const char *side = call_string(call, "UPLO");
    bool vectors = call->op->text ? call_bool(call, call->op->text) : call->op->detail;
    if (tape_failed(call->tape)) return;
    return_eigen(call, "A", *side == 'U' || *side == 'u', vectors);
    if (!vectors && call->op->text) call_return_empty(call, call_tensor(call, "A")->dtype);
}

static void symeig(struct call *call)
{
    bool vectors = call_bool(call, "eigenvectors");
    struct node *x = call_tensor(call, "input");
    return_eigen(call, "input", call_bool(call, "upper"), vectors);
    if (vectors || tape_failed(call->tape)) return;
    if (x->n) call_return_empty(call, x->dtype);
    else call_return(call, node_constant(call->tape, x->dtype, 0, x->rank, x->shape));
}

/* Flat output k of the device as complex numbers of a batch of `rank` dimensions; NULL when it is none. */
static struct node *device_complex(struct call *call, size_t k, int rank, const int64_t *shape)
{
    if (tape_failed(call->tape)) return NULL;
    const struct tensor *given = call_device_output(call, k);
    size_t n = 1;
    for (int d = 0; d < rank; d++) n *= (size_t)shape[d];
    if (!given || !dtype_is_complex(given->dtype) || tensor_elements(given) != n || !n) return NULL;
    return node_reshape(call->tape, node_leaf(call->tape, given, false), rank, shape);
}

static enum dtype complex_dtype(const struct node *x)
{
    return x->dtype == DT_F64 || x->dtype == DT_C128 ? DT_C128 : DT_C64;
}

/* detail 1: with vectors. */
void call_general_eigen(struct call *call, bool wanted)
{
    struct node *x = call_tensor(call, "input"), *a = call_batch(call, "input"), *vectors;
    struct node *aim_values = device_complex(call, 0, 2, a->shape);
    struct node *aim_vectors = wanted ? device_complex(call, 1, 3, a->shape) : NULL;
    struct node *values =
        node_general_eigenvalues(call->tape, a, aim_values, aim_vectors, &vectors);
    if (tape_failed(call->tape)) return;
    call_return_typed(call, with_leading_of(call->tape, values, x), complex_dtype(x));
    if (wanted) call_return_typed(call, with_leading_of(call->tape, vectors, x), complex_dtype(x));
}

static void general_eigen(struct call *call) { call_general_eigen(call, call->op->detail); }

/* ---- singular vectors -------------------------------------------------------------------------------- */

/* U, S and V, or V^H; S first of all where values_first. */
static void return_singular(struct call *call, const char *name, bool full, bool adjoint,
                            bool values_first)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, name), *a = call_batch(call, name);
    if (tape_failed(tape)) return;
    int64_t m = a->shape[1], n = a->shape[2], k = m < n ? m : n;
    struct singular_vectors vectors = { .full = full };
    struct node *values;
    if (k) {
        vectors.aim_u = device_matrices(call, values_first, a, m, full ? m : k, false);
        vectors.aim_v = device_matrices(call, 2, a, n, full ? n : k, adjoint);
        values = node_singular(tape, a, &vectors);
    } else { /* of no elements: LAPACK's vectors are those of the identity */
        values =
            node_constant(tape, dtype_component(a->dtype), 0, 2, (int64_t[]){ a->shape[0], 0 });
        vectors.u = identities(tape, a, m, full ? m : 0);
        vectors.v = identities(tape, a, n, full ? n : 0);
    }
    if (values_first) call_return_real_batch(call, values, x);
    call_return_batch(call, vectors.u, x);
    if (!values_first) call_return_real_batch(call, values, x);
    call_return_batch(call, adjoint ? adjoint_of(tape, vectors.v) : vectors.v, x);
}

/* Values alone: what stands for U and V is `zero`, square matrices, or nothing. */
static void return_values_alone(struct call *call, const char *name, bool zero)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, name), *a = call_batch(call, name);
    if (tape_failed(tape)) return;
    for (int side = 0; side < 2; side++) {
        int64_t extent = a->shape[1 + side], shape[3] = { a->shape[0], extent, extent };
        if (zero) call_return_batch(call, node_constant(tape, x->dtype, 0, 3, shape), x);
        else call_return_empty(call, x->dtype);
        if (!side) call_return_real_batch(call, node_singular_values(tape, a), x);
    }
}

static void svd(struct call *call)
{
    if (call_bool(call, "compute_uv"))
        return_singular(call, "input", !call_bool(call, "some"), false, false);
    else return_values_alone(call, "input", true);
}

/* MindSpore's: S, U and V, or S alone. */
static void svd_values_first(struct call *call)
{
    struct node *a = call_batch(call, "input");
    if (call_bool(call, "compute_uv"))
        return_singular(call, "input", call_bool(call, "full_matrices"), false, true);
    else if (!tape_failed(call->tape))
        call_return_real_batch(call, node_singular_values(call->tape, a),
                               call_tensor(call, "input"));
}

/* detail 1: aten's, which may be asked for the values alone. */
static void linalg_svd(struct call *call)
{
    if (!call->op->detail || call_bool(call, "compute_uv"))
        return_singular(call, "A", call_bool(call, "full_matrices"), true, false);
    else return_values_alone(call, "A", false);
}

/* ---- what is made of factors -------------------------------------------------------------------------- */

/* The solution of least squares for A of full rank by its factors: R^-1 Q^H B, of a wide A the shortest, Q R^-H B. */
static struct node *least_squares(struct call *call, struct node *a, struct node *b)
{
    struct tape *tape = call->tape;
    if (tape_failed(tape)) return a;
    bool wide = a->shape[1] < a->shape[2];
    struct node *r, *q = orthogonal_factors(call, wide ? adjoint_of(tape, a) : a, false, false, &r);
    struct node *inverse = node_inverse(tape, r);
    struct node *left = wide ? q : inverse, *right = adjoint_of(tape, wide ? inverse : q);
    return node_matmul(tape, left, false, node_matmul(tape, right, false, b, false), false);
}

static bool is_driver(const char *driver, const char *one, const char *other)
{
    return !strcmp(driver, one) || !strcmp(driver, other);
}

static bool is_whole(const int64_t *ranks, const struct node *a)
{
    int64_t k = a->shape[1] < a->shape[2] ? a->shape[1] : a->shape[2];
    for (int64_t i = 0; ranks && i < a->shape[0]; i++)
        if (ranks[i] != k) return false;
    return true;
}

static struct node *model_either(struct tape *tape, struct node *y, struct node *other)
{
    if (!y->imaginary || !other->imaginary) return node_model_either(tape, y, other);
    return node_complex(
        tape, node_model_either(tape, node_real_part(tape, y), node_real_part(tape, other)),
        node_model_either(tape, node_imaginary_part(tape, y), node_imaginary_part(tape, other)));
}

/* The shortest solution for the nearest matrices of those ranks; NULL: of full rank. PyTorch's gradient is that of P B, P the
 * pseudo-inverse, and so is the error of a solution `by_values`, singular ones. */
static struct node *solution_of_ranks(struct call *call, struct node *a, struct node *b,
                                      const int64_t *ranks, bool by_values)
{
    struct tape *tape = call->tape;
    int64_t k = a->shape[1] < a->shape[2] ? a->shape[1] : a->shape[2];
    int64_t *full = tape_allocate(tape, (size_t)a->shape[0], sizeof *full);
    for (int64_t i = 0; full && i < a->shape[0]; i++) full[i] = k;
    struct node *inverse = pseudo_inverse_of_rank(tape, a, ranks ? ranks : full, a);
    struct node *product = node_matmul(tape, inverse, false, b, false);
    if (!is_whole(ranks, a)) return product;
    struct node *y = least_squares(call, a, b);
    if (by_values && tape_is_model(tape)) y = model_either(tape, y, product);
    return node_straight_through(tape, y, product);
}

/* Solution, squared residuals, rank, singular values; which of the latter there are depends on LAPACK's driver. */
void call_least_squares(struct call *call, const char *name)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *right = call_tensor(call, name);
    const char *driver = call_is_none(call, "driver") ? "gelsy" : call_string(call, "driver");
    struct node *a = call_batch(call, "input");
    if (tape_failed(tape)) return;
    const struct tensor *rank = call_device_output(call, 2);
    if (call_is_none(call, "driver") && rank && !tensor_elements(rank))
        driver = "gels"; /* CUDA's */
    bool vector = right->rank == x->rank - 1;
    int64_t column[TENSOR_MAX_RANK], k = a->shape[1] < a->shape[2] ? a->shape[1] : a->shape[2];
    memcpy(column, right->shape, sizeof column);
    if (vector) column[right->rank] = 1;
    struct node *b = vector ? node_reshape(tape, right, right->rank + 1, column) : right;
    if (!call_require(call,
                      b->rank == x->rank &&
                          !memcmp(b->shape, x->shape, (size_t)(x->rank - 1) * sizeof *b->shape),
                      "the batches of lstsq do not agree"))
        return;
    double least = default_rank_tolerance(x);
    double rcond = call_is_none(call, "rcond") ? least : call_real(call, "rcond");
    bool by_rank = strcmp(driver, "gels") != 0, estimated = !strcmp(driver, "gelsy");
    const int64_t *ranks = NULL;
    if (by_rank) {
        struct rank_tolerance limit = { rcond < 0 ? least : rcond, 0 };
        ranks = call_settled_ranks(call, 2, a, rank_tolerances_all(tape, a->shape[0], limit),
                                   estimated ? 4 * (double)(k + 1) : 1);
        if (!ranks) return;
    }
    bool whole = is_whole(ranks, a);
    bool by_values = is_driver(driver, "gelss", "gelsd");
    struct node *columns = call_matrices(call, b),
                *y = solution_of_ranks(call, a, columns, ranks, by_values);
    if (!whole && rcond > least) { /* PyTorch's gradient is that of the default limit */
        const struct rank_tolerance usual = { least, 0 };
        const int64_t *own = call_ranks(call, a, rank_tolerances_all(tape, a->shape[0], usual));
        y = node_straight_through(tape, y, solution_of_ranks(call, a, columns, own, by_values));
    }
    struct node *solution = with_leading_of(tape, y, x);
    if (vector) solution = node_squeeze(tape, solution, 1u << (solution->rank - 1));
    call_return_typed(call, solution, x->dtype);
    if (a->shape[1] > a->shape[2] && whole && !estimated) {
        struct node *off = node_subtract(tape, node_matmul(tape, a, false, y, false), columns);
        struct node *squares =
            node_real_part(tape, node_multiply(tape, off, node_conjugate(tape, off)));
        call_return_real_batch(call, node_sum(tape, squares, 2, false), x);
    } else {
        call_return_empty(call, dtype_component(x->dtype));
    }
    struct node *found = by_rank ? node_new_integer(tape, DT_I64, x->rank - 2, x->shape) : NULL;
    for (size_t i = 0; found && !tape_failed(tape) && i < found->n; i++)
        found->integer[i] = ranks[i];
    if (found) call_return(call, found);
    else call_return(call, node_integer_constant(tape, DT_I64, 0, 1, (int64_t[]){ 0 }));
    if (by_values) call_return_real_batch(call, node_singular_values(tape, a), x);
    else call_return_empty(call, dtype_component(x->dtype));
}

static void lstsq(struct call *call) { call_least_squares(call, "b"); }

enum { MOST_REFLECTIONS = 512 };

struct node *call_reflected(struct call *call, struct node *input, struct node *tau, struct node *c,
                            bool backwards)
{
    struct tape *tape = call->tape;
    if (!call_require(call, tau->rank >= 1, "tau has no dimension")) return c;
    int64_t m = input->shape[1], k = tau->shape[tau->rank - 1];
    if (!call_require(call, k <= input->shape[2] && k <= MOST_REFLECTIONS,
                      "%lld reflections of %lld columns", (long long)k, (long long)input->shape[2]))
        return c;
    struct node *v = node_add(tape, node_triangle(tape, input, -1, -1),
                              ones_on_diagonal(tape, m, input->shape[2]));
    struct node *scale = node_reshape(tape, tau, 3, (int64_t[]){ input->shape[0], 1, k });
    if (backwards) scale = node_conjugate(tape, scale);
    for (int64_t step = 0; step < k; step++) {
        int64_t j = backwards ? step : k - 1 - step;
        struct node *own = node_slice(tape, v, 2, j, 1, 1);
        struct node *scaled = node_multiply(tape, own, node_slice(tape, scale, 2, j, 1, 1));
        struct node *along = node_matmul(tape, adjoint_of(tape, own), false, c, false);
        c = node_subtract(tape, c, node_matmul(tape, scaled, false, along, false));
    }
    return c;
}

static void householder_product(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *a = call_batch(call, "input");
    if (!call_require(call, a->shape[1] >= a->shape[2], "more columns than rows")) return;
    struct node *eye = ones_on_diagonal(tape, a->shape[1], a->shape[2]);
    eye = node_broadcast(tape, eye, 3, a->shape);
    call_return_batch(call, call_reflected(call, a, call_tensor(call, "tau"), eye, false), x);
}

/* Q C, Q^H C, C Q or C Q^H for the whole Q; a product from the right is the adjoint of one from the left. */
static void ormqr(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *other = call_tensor(call, "other"), *a = call_batch(call, "input");
    struct node *c = call_batch(call, "other");
    bool left = call_bool(call, "left"), transpose = call_bool(call, "transpose");
    if (tape_failed(tape)) return;
    if (!left) c = adjoint_of(tape, c);
    if (!call_require(call, c->shape[1] == a->shape[1] && c->shape[0] == a->shape[0],
                      "the shapes of ormqr do not agree"))
        return;
    c = call_reflected(call, a, call_tensor(call, "tau"), c, transpose == left);
    call_return_batch(call, left ? c : adjoint_of(tape, c), other);
}

/* clang-format off */
const struct op ops_factorization[] = {
    { "qr", TORCH | TENSOR, "(Tensor input, bool some=True)", qr, 0, 0, NULL },
    { "linalg.qr", TORCH, "(Tensor A, str mode='reduced')", linalg_qr, 0, 0, NULL },
    { "linalg.eigh", TORCH, "(Tensor A, str UPLO='L')", eigh, 0, 1, NULL },
    { "linalg.eigvalsh", TORCH, "(Tensor A, str UPLO='L')", eigh, 0, 0, NULL },
    { "_linalg_eigh", TORCH, "(Tensor A, str UPLO='L', bool compute_v=True)", eigh, 0, 0, "compute_v" },
    { "linalg.eig", TORCH, "(Tensor input)", general_eigen, 0, 1, NULL },
    { "linalg.eigvals", TORCH, "(Tensor input)", general_eigen, 0, 0, NULL },
    { "symeig", TORCH | TENSOR, "(Tensor input, bool eigenvectors=False, bool upper=True)", symeig, 0, 0, NULL },
    { "svd", TORCH | TENSOR, "(Tensor input, bool some=True, bool compute_uv=True)", svd, 0, 0, NULL },
    { "svd", MINDSPORE, "(Tensor input, bool full_matrices, bool compute_uv)", svd_values_first, 0, 0, NULL },
    { "linalg.svd", TORCH, "(Tensor A, bool full_matrices=True, *, str? driver=None)", linalg_svd, 0, 0, NULL },
    { "_linalg_svd", TORCH, "(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None)", linalg_svd, 0, 1, NULL },
    { "linalg.lstsq", TORCH, "(Tensor input, Tensor b, float? rcond=None, *, str? driver=None)", lstsq, 0, 0, NULL },
    { "linalg.householder_product|orgqr", TORCH | TENSOR, "(Tensor input, Tensor tau)", householder_product, 0, 0, NULL },
    { "ormqr", TORCH | TENSOR, "(Tensor input, Tensor tau, Tensor other, bool left=True, bool transpose=False)", ormqr, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(factorization);
