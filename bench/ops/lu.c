/* LU factors of matrices of any shape, and what is made of them. */
#include <stdlib.h>
#include <string.h>

#include "bench/call/device_answer.h"
#include "bench/call/op.h"
#include "bench/ops/factors.h"
#include "bench/ops/matrices.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/complex_matrix.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/view.h"
#include "bench/tape/promotion.h"

static struct node *square_factors(struct tape *tape, struct node *a, struct node **pivots,
                                   const int64_t *wanted)
{
    return a->imaginary ? node_complex_lu(tape, a, pivots, wanted)
                        : node_lu(tape, a, pivots, wanted);
}

/* a (batch, m, n) at the upper left of a square whose other diagonal elements are ones. */
static struct node *squared(struct tape *tape, struct node *a)
{
    bool wide = a->shape[1] < a->shape[2];
    int64_t rows = a->shape[1], columns = a->shape[2], more = llabs(rows - columns);
    int64_t shape[3] = { a->shape[0], wide ? more : rows, wide ? columns : more };
    struct node *rest = node_constant(tape, a->dtype, 0, 3, shape);
    for (int64_t i = 0; !tape_failed(tape) && i < shape[0] * more; i++) {
        int64_t row = wide ? i % more : columns + i % more, column = wide ? rows + row : i % more;
        rest->value[(i / more * shape[1] + row) * shape[2] + column] = 1;
    }
    return node_concatenate(tape, (struct node *[]){ a, rest }, 2, wide ? 1 : 2);
}

/* The rows of a exchanged as pivots (batch, n), counted from 1, say. */
static struct node *exchanged_rows(struct tape *tape, struct node *a, const struct node *pivots)
{
    int64_t m = a->shape[1], n = a->shape[2], swaps = pivots->shape[1];
    int64_t *map = tape_allocate(tape, a->n, sizeof *map);
    int64_t *row = tape_allocate(tape, (size_t)m, sizeof *row);
    if (tape_failed(tape)) return a;
    for (int64_t b = 0; b < a->shape[0]; b++) {
        for (int64_t i = 0; i < m; i++) row[i] = i;
        for (int64_t k = 0; k < swaps; k++) {
            int64_t other = pivots->integer[b * swaps + k] - 1, t = row[k];
            row[k] = row[other];
            row[other] = t;
        }
        for (int64_t i = 0; i < m * n; i++) map[b * m * n + i] = (b * m + row[i / n]) * n + i % n;
    }
    return node_gather(tape, a, 3, a->shape, map, 0);
}

/* Exchanges (batch, k) of a matrix as those of the square that it is part of; NULL stays NULL. */
static int64_t *padded_exchanges(struct tape *tape, const int64_t *wanted, int64_t batch, int64_t k,
                                 int64_t order)
{
    int64_t *out = wanted ? tape_allocate(tape, (size_t)(batch * order), sizeof *out) : NULL;
    for (int64_t i = 0; out && i < batch * order; i++)
        out[i] = i % order < k ? wanted[i / order * k + i % order] : i % order + 1;
    return out;
}

/* L and U packed as LAPACK does, and the exchanges of rows, (batch, min(m, n)); `wanted` as for node_lu. A matrix that is not square is part of
 * one that is: more rows of the identity below a wide one are never pivots. Beside a tall one more columns would be exchanged with its rows, so
 * the exchanges are made first, and none are left. */
struct node *call_factors_packed(struct call *call, struct node *x, struct node **pivots,
                                 const int64_t *wanted)
{
    struct tape *tape = call->tape;
    struct node *a = call_matrices(call, x), *none;
    *pivots = a;
    if (tape_failed(tape) || a->shape[1] == a->shape[2])
        return square_factors(tape, a, pivots, wanted);
    int64_t m = a->shape[1], n = a->shape[2], k = m < n ? m : n, order = m < n ? n : m;
    wanted = padded_exchanges(tape, wanted, a->shape[0], k, order);
    struct node *lu = square_factors(tape, squared(tape, a), pivots, wanted);
    if (tape_failed(tape)) return lu;
    *pivots = node_slice(tape, *pivots, 1, 0, k, 1);
    if (m > n) {
        const int64_t *stay = padded_exchanges(tape, (const int64_t[]){ 0 }, a->shape[0], 0, order);
        a = squared(tape, exchanged_rows(tape, a, *pivots));
        lu = square_factors(tape, a, &none, stay);
    }
    return node_slice(tape, node_slice(tape, lu, 1, 0, m, 1), 2, 0, n, 1);
}

/* The exchanges that the device returned as its flat output k for matrices x, or NULL. */
static const int64_t *device_exchanges(struct call *call, size_t k, const struct node *x)
{
    size_t n;
    const int64_t *given = call_device_integer_list(call, k, &n);
    if (x->rank < 2 || !given) return NULL;
    int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1];
    size_t least = (size_t)(rows < columns ? rows : columns),
           larger = (size_t)(rows + columns) - least;
    return n * larger == x->n ? given : NULL;
}

/* Returns the factors, whose pivots are the call's flat output `output`. */
static struct node *return_lu(struct call *call, struct node *x, size_t output)
{
    const int64_t *wanted = device_exchanges(call, output, x);
    struct node *pivots, *lu = call_factors_packed(call, x, &pivots, wanted);
    call_return_typed(call, with_leading_of(call->tape, lu, x), x->dtype);
    if (tape_failed(call->tape)) return lu;
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 2] = pivots->shape[1];
    call_return(call, node_reshape(call->tape, pivots, x->rank - 1, shape));
    return lu;
}

/* Is the first row of the factors of x (or of its transpose) in the device's flat output `output` what it is made of? That row is the one that
 * the first pivot names, which no kernel rounds. */
static bool has_first_row(struct call *call, struct node *x, size_t output, bool transposed)
{
    const int64_t *pivots = device_exchanges(call, output, x);
    const struct node *lu = call_device_numbers(call, output - 1, x->n);
    int64_t n = x->shape[x->rank - 1];
    const double *value = node_values(call->tape, x);
    if (!pivots || !lu || lu->integer || n < 1 || tape_failed(call->tape)) return false;
    for (int64_t k = 0, p = pivots[0] - 1; k < n; k++)
        if (p < 0 || p >= n || lu->value[k] != value[transposed ? k * n + p : p * n + k])
            return false;
    return true;
}

/* aten's _linalg_det, _linalg_slogdet and _linalg_solve_ex also return the factors that they use. LAPACK wants columns, so of a real matrix whose
 * rows lie in memory one after the other they are those of A^T. A dump may not have kept how it lay; the device's factors tell. */
struct node *call_return_factors_used(struct call *call, const char *name, size_t output)
{
    struct node *x = call_tensor(call, name);
    const struct value *value = call_value(call, name);
    bool by_rows = value->kind == VALUE_TENSOR && value->tensor.tensor && !x->imaginary &&
                   tensor_is_dense(value->tensor.tensor);
    if (!call_require(call, x->rank >= 2, "a matrix is needed")) return x;
    if (!x->imaginary && x->n && x->shape[x->rank - 1] == x->shape[x->rank - 2] &&
        !has_first_row(call, x, output, by_rows) && has_first_row(call, x, output, !by_rows))
        by_rows = !by_rows;
    return return_lu(call, by_rows ? node_transpose(call->tape, x, x->rank - 2, x->rank - 1) : x,
                     output);
}

static void lu_factor(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct node *lu = return_lu(call, x, 1);
    if (call->op->detail || (call->op->text && call_bool(call, call->op->text)))
        call_return_info(call, x, lu);
}

/* ---- P L U ------------------------------------------------------------------------------------ */

/* The row of A that comes to place i, for each matrix of a batch: what LAPACK's swaps of rows make. NULL
 * after a failure. */
static int64_t *row_order(struct call *call, const struct node *pivots, int64_t batch, int64_t rows)
{
    int64_t *order = tape_allocate(call->tape, (size_t)(batch * rows), sizeof *order);
    if (!call_require(call,
                      pivots->integer && pivots->rank >= 1 &&
                          (int64_t)pivots->n == batch * pivots->shape[pivots->rank - 1],
                      "pivots are integers for each matrix"))
        return NULL;
    int64_t swaps = pivots->shape[pivots->rank - 1];
    if (!call_require(call, swaps <= rows, "more pivots than rows")) return NULL;
    for (int64_t b = 0; b < batch; b++) {
        int64_t *own = order + b * rows;
        for (int64_t i = 0; i < rows; i++) own[i] = i;
        for (int64_t i = 0; i < swaps; i++) {
            int64_t other = pivots->integer[b * swaps + i] - 1, kept = own[i];
            if (!call_require(call, other >= 0 && other < rows, "pivot %lld of %lld rows",
                              (long long)other + 1, (long long)rows))
                return NULL;
            own[i] = own[other];
            own[other] = kept;
        }
    }
    return order;
}

static struct node *permutation(struct call *call, const int64_t *order, int64_t batch,
                                int64_t rows, enum dtype dtype)
{
    struct node *p = node_constant(call->tape, dtype, 0, 3, (int64_t[]){ batch, rows, rows });
    for (int64_t i = 0; !tape_failed(call->tape) && i < batch * rows; i++)
        p->value[(i / rows * rows + order[i]) * rows + i % rows] = 1;
    return p;
}

struct factors {
    struct node *lower, *upper; /* (batch, m, k) with ones on the diagonal, (batch, k, n) */
};

static struct factors factors_of(struct tape *tape, struct node *lu)
{
    int64_t m = lu->shape[1], n = lu->shape[2], k = m < n ? m : n;
    struct node *left = node_slice(tape, lu, 2, 0, k, 1), *top = node_slice(tape, lu, 1, 0, k, 1);
    return (struct factors){ node_add(tape, node_triangle(tape, left, -1, -1),
                                      ones_on_diagonal(tape, m, k)),
                             node_triangle(tape, top, 1, 0) };
}

static void return_part(struct call *call, struct node *part, const struct node *like, bool wanted)
{
    int64_t none = 0;
    if (wanted) call_return_typed(call, with_leading_of(call->tape, part, like), like->dtype);
    else call_return_typed(call, node_constant(call->tape, like->dtype, 0, 1, &none), like->dtype);
}

/* P, L and U of packed factors. */
static void lu_unpack(struct call *call)
{
    struct node *x = call_tensor(call, "LU_data"), *pivots = call_tensor(call, "LU_pivots");
    bool data = call_bool(call, "unpack_data"), swaps = call_bool(call, "unpack_pivots");
    struct node *lu = call_matrices(call, x), *p = lu;
    if (tape_failed(call->tape)) return;
    if (swaps) {
        const int64_t *order = row_order(call, pivots, lu->shape[0], lu->shape[1]);
        if (!order) return;
        p = permutation(call, order, lu->shape[0], lu->shape[1], x->dtype);
    }
    struct factors factors = factors_of(call->tape, lu);
    return_part(call, p, x, swaps);
    return_part(call, factors.lower, x, data);
    return_part(call, factors.upper, x, data);
}

/* The exchanges behind the permutations P (batch, rows, rows) that the device returned for x; NULL where there are none. */
static const int64_t *device_permutation(struct call *call, struct node *x)
{
    struct tape *tape = call->tape;
    struct node *a = call_matrices(call, x);
    if (tape_failed(tape)) return NULL;
    int64_t m = a->shape[1], k = m < a->shape[2] ? m : a->shape[2], batch = a->shape[0];
    struct node *p = call_device_numbers(call, 0, (size_t)(batch * m * m));
    int64_t *out = tape_allocate(tape, (size_t)(batch * k) + 1, sizeof *out);
    int64_t *row = tape_allocate(tape, (size_t)m + 1, sizeof *row);
    if (!p || !out || !row || p->integer) return NULL;
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t i = 0; i < m; i++) row[i] = i;
        for (int64_t i = 0; i < k; i++) { /* row j of A came to place i: P has a 1 at (j, i) */
            int64_t at = i;
            while (at < m && p->value[(b * m + row[at]) * m + i] != 1) at++;
            if (at == m) return NULL;
            out[b * k + i] = at + 1;
            int64_t kept = row[i];
            row[i] = row[at];
            row[at] = kept;
        }
    }
    return out;
}

/* A = P L U. */
static void lu(struct call *call)
{
    struct node *x = call_tensor(call, "A"), *pivots;
    if (!call_require(call, call_bool(call, "pivot"),
                      "factors without pivots are not in the catalogue"))
        return;
    const int64_t *wanted = device_permutation(call, x);
    struct node *lu = call_factors_packed(call, x, &pivots, wanted);
    if (tape_failed(call->tape)) return;
    const int64_t *order = row_order(call, pivots, lu->shape[0], lu->shape[1]);
    if (!order) return;
    struct factors factors = factors_of(call->tape, lu);
    return_part(call, permutation(call, order, lu->shape[0], lu->shape[1], x->dtype), x, true);
    return_part(call, factors.lower, x, true);
    return_part(call, factors.upper, x, true);
}

struct lu_solution {
    bool left, adjoint, complex_valued;
    struct node *permutation, *inverse; /* P, A^-1 */
};

static struct node *product(struct tape *tape, struct node *a, struct node *b)
{
    return node_matmul(tape, a, false, b, false);
}

/* PyTorch's gradient toward the factors of A = P L U, X and its cotangent G given. With F = -U^-H G X^H, L has (L^-H F U^H) below its
 * diagonal and U the rest of F, where A X = B or A^H X^H = B^H is solved; with F = -P^T X G^H P L^-H, L has what of F is below the diagonal
 * and U the rest of L^H F U^-H, where A^H X = B or A X^H = B^H is. */
static struct node *gradient_of_factors(struct tape *tape, const struct lu_solution *s,
                                        struct node *lu, struct node *x, struct node *g)
{
    struct factors factors = factors_of(tape, lu);
    struct node *lh = adjoint_of(tape, factors.lower), *uh = adjoint_of(tape, factors.upper);
    struct node *to_lower = node_inverse(tape, lh), *to_upper = node_inverse(tape, uh), *flow;
    if (!s->left) {
        x = adjoint_of(tape, x);
        g = adjoint_of(tape, g);
    }
    if (s->left != s->adjoint) {
        flow = product(tape, to_upper, product(tape, g, adjoint_of(tape, x)));
        struct node *below = product(tape, to_lower, product(tape, flow, uh));
        flow = node_add(tape, node_triangle(tape, below, -1, -1), node_triangle(tape, flow, 1, 0));
    } else {
        flow =
            node_matmul(tape, s->permutation, true, product(tape, x, adjoint_of(tape, g)), false);
        flow = product(tape, product(tape, flow, s->permutation), to_lower);
        struct node *above = product(tape, product(tape, lh, flow), to_upper);
        flow = node_add(tape, node_triangle(tape, flow, -1, -1), node_triangle(tape, above, 1, 0));
    }
    return node_negate(tape, flow);
}

static void lu_solve_gradient(struct tape *tape, struct node *node, struct node *cotangent,
                              const void *parameters)
{
    const struct lu_solution *s = parameters;
    struct node *lu = node->inputs[1], *x = node, *g = cotangent;
    if (s->complex_valued) {
        lu = node_of_stacked_parts(tape, lu);
        x = node_of_stacked_parts(tape, x);
        g = node_of_stacked_parts(tape, g);
    }
    struct node *back = s->adjoint ? s->inverse : adjoint_of(tape, s->inverse);
    struct node *to_b = s->left ? product(tape, back, g) : product(tape, g, back);
    tape_accumulate(tape, node->inputs[1],
                    node_stacked_parts(tape, gradient_of_factors(tape, s, lu, x, g)));
    tape_accumulate(tape, node->inputs[2], node_stacked_parts(tape, to_b));
}

static bool have_one_batch(const struct node *x, const struct node *b)
{
    return x->rank == b->rank &&
           !memcmp(x->shape, b->shape, (size_t)(x->rank - 2) * sizeof *x->shape);
}

/* X of A X = B, X A = B or A^H X = B, A by its factors: its inverse is U^-1 L^-1 P^T. text: the factors'
 * name. */
static void lu_solve(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, call->op->text), *b = call_tensor(call, "B");
    struct node *pivots = call_tensor(call, "pivots");
    struct node *lu = call_matrices(call, x);
    enum dtype dtype = dtype_promote(x->dtype, b->dtype);
    bool left = call_bool(call, "left"), adjoint = call_bool(call, "adjoint");
    if (tape_failed(tape)) return;
    const int64_t *order = row_order(call, pivots, lu->shape[0], lu->shape[1]);
    if (!order) return;
    struct factors factors = factors_of(tape, lu);
    struct node *p = permutation(call, order, lu->shape[0], lu->shape[1], DT_NONE);
    struct node *inverse =
        product(tape, node_inverse(tape, factors.upper), node_inverse(tape, factors.lower));
    inverse = node_matmul(tape, inverse, false, p, true);
    struct node *turned = adjoint ? adjoint_of(tape, inverse) : inverse;
    if (tape_failed(tape)) return;
    if (!have_one_batch(x, b) || dtype_is_complex(x->dtype) != dtype_is_complex(b->dtype)) {
        turned = with_leading_of(tape, turned, x);
        call_return_typed(
            call, left ? compose_matmul(tape, turned, b) : compose_matmul(tape, b, turned), dtype);
        return;
    }
    struct lu_solution *s = tape_allocate(tape, 1, sizeof *s);
    struct node *right = call_matrices(call, b);
    struct node *y = left ? product(tape, turned, right) : product(tape, right, turned);
    if (tape_failed(tape)) return;
    *s = (struct lu_solution){ left, adjoint, dtype_is_complex(x->dtype), p, inverse };
    struct node *inputs[2] = { node_stacked_parts(tape, lu), node_stacked_parts(tape, right) };
    y = node_stated_gradient(tape, node_stacked_parts(tape, y), 2, inputs, lu_solve_gradient, s);
    if (s->complex_valued) y = node_of_stacked_parts(tape, y);
    call_return_typed(call, with_leading_of(tape, y, x), dtype);
}

/* clang-format off */
const struct op ops_lu[] = {
    { "linalg.lu_factor|lu_factor", TORCH, "(Tensor input, *, bool pivot=True)", lu_factor, 0, 0, NULL },
    { "linalg.lu_factor_ex|lu_factor_ex", TORCH, "(Tensor input, *, bool pivot=True, bool check_errors=False)", lu_factor, 0, 1, NULL },
    { "lu", TENSOR | TORCH, "(Tensor input, bool pivot=True, bool get_infos=False)", lu_factor, 0, 0, "get_infos" },
    { "linalg.lu", TORCH, "(Tensor A, *, bool pivot=True)", lu, 0, 0, NULL },
    { "lu_unpack", TORCH, "(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)", lu_unpack, 0, 0, NULL },
    { "linalg.lu_solve", TORCH, "(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)", lu_solve, 0, 0, "LU" },
    { "lu_solve", TENSOR | TORCH, "(Tensor B, Tensor LU_data, Tensor pivots, *, bool left=True, bool adjoint=False)", lu_solve, 0, 0, "LU_data" },
};
/* clang-format on */
OP_TABLE_END(lu);
