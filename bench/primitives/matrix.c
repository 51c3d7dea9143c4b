/* Functions of square matrices: plain algorithms in double, and the same functions of balls (arb_mat) for
 * what they leave open, a whole matrix at a time. */
#include "bench/primitives/matrix.h"

#include <arb_mat.h>
#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix_function.h"
#include "bench/primitives/matrix_model.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"

static struct node *transposed(struct tape *tape, struct node *x)
{
    return node_transpose(tape, x, 1, 2);
}

static struct node *times(struct tape *tape, struct node *a, struct node *b)
{
    return node_matmul(tape, a, false, b, false);
}

/* ---- what is not finite --------------------------------------------------------------------------- */

/* In a model: does matrix b of a hold what is not finite? Then the n elements of the node that start at `first` may be anything: elimination
 * makes infinities, zeros or NaN of them, as its order has it. */
static bool model_opens(struct tape *tape, struct node *node, const struct node *a, size_t b,
                        size_t first, size_t n)
{
    size_t size = (size_t)(a->shape[1] * a->shape[2]);
    bool finite = true;
    for (size_t i = 0; i < size; i++) finite = finite && isfinite(a->value[b * size + i]);
    for (size_t i = first; i < first + n && !finite && tape_is_model(tape); i++) {
        node->value[i] = 0;
        node->error[i] = INFINITY;
    }
    return !finite && tape_is_model(tape);
}

/* ---- LU ------------------------------------------------------------------------------------------- */

double pivot_slack(const struct node *a, size_t first)
{
    if (a->dtype == DT_NONE) return 0;
    size_t n = (size_t)a->shape[1];
    double largest = 0;
    for (size_t i = 0; i < n * n; i++) largest = fmax(largest, fabs(a->value[first + i]));
    return 8 * (double)n * dtype_ulp(dtype_component(a->dtype), 1) * largest;
}

/* In place with partial pivoting; pivot[k] is the row exchanged with row k: wanted[k] where it is as good, and any behind a pivot of no more than
 * roundings, for by that kernels divide noise by noise. Returns the sign of the permutation, 0 for an exactly singular matrix (elimination goes on). */
static double factor(double *a, size_t n, size_t *pivot, const int64_t *wanted, double slack)
{
    double sign = 1;
    bool singular = false, open = false;
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        size_t other = wanted ? (size_t)wanted[k] - 1 : best;
        if (other >= k && other < n &&
            (open || fabs(a[other * n + k]) >= fabs(a[best * n + k]) - slack))
            best = other;
        open = open || fabs(a[best * n + k]) <= slack;
        pivot[k] = best;
        if (best != k) {
            sign = -sign;
            for (size_t j = 0; j < n; j++) {
                double t = a[k * n + j];
                a[k * n + j] = a[best * n + j];
                a[best * n + j] = t;
            }
        }
        if (a[k * n + k] == 0) {
            singular = true;
            continue;
        }
        for (size_t i = k + 1; i < n; i++) {
            double l = a[i * n + k] /= a[k * n + k];
            for (size_t j = k + 1; j < n; j++) a[i * n + j] -= l * a[k * n + j];
        }
    }
    return singular ? 0 : sign;
}

struct lu {
    size_t *pivot; /* (batch, n) */
};

static void lu_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t index)
{
    const struct lu *lu = node->parameters;
    slong n = (slong)node->shape[1];
    size_t batch = index / (size_t)(n * n);
    arb_mat_t a;
    enclosure->work += (size_t)(n * n * n);
    if (enclosure->work > enclosure->limit) {
        arb_indeterminate(ball);
        return;
    }
    arb_mat_init(a, n, n);
    matrix_enclose_all(enclosure, a, node->inputs[0], batch);
    for (slong k = 0; k < n; k++) {
        slong best = (slong)lu->pivot[batch * (size_t)n + (size_t)k];
        if (best != k) arb_mat_swap_rows(a, NULL, k, best);
        for (slong i = k + 1; i < n; i++) {
            arb_div(arb_mat_entry(a, i, k), arb_mat_entry(a, i, k), arb_mat_entry(a, k, k),
                    enclosure->precision);
            for (slong j = k + 1; j < n; j++)
                arb_submul(arb_mat_entry(a, i, j), arb_mat_entry(a, i, k), arb_mat_entry(a, k, j),
                           enclosure->precision);
        }
    }
    matrix_keep_all(enclosure, ball, node, index, a);
    arb_mat_clear(a);
}

/* Identity (1, n, n). */
static struct node *identity(struct tape *tape, int64_t n)
{
    int64_t shape[3] = { 1, n, n };
    struct node *eye = node_constant(tape, DT_NONE, 0, 3, shape);
    for (int64_t i = 0; i < n && !tape_failed(tape); i++) eye->value[i * n + i] = 1;
    return eye;
}

struct node *node_exchanged_back(struct tape *tape, struct node *x, const size_t *pivot)
{
    size_t n = (size_t)x->shape[1], m = (size_t)x->shape[2], batches = (size_t)x->shape[0];
    int64_t *map = tape_allocate(tape, x->n, sizeof *map),
            *row = tape_allocate(tape, n, sizeof *row);
    if (!map || !row) return x;
    for (size_t b = 0; b < batches; b++) {
        for (size_t i = 0; i < n; i++) row[i] = (int64_t)i;
        for (size_t k = n; k-- > 0;) {
            int64_t t = row[k];
            row[k] = row[pivot[b * n + k]];
            row[pivot[b * n + k]] = t;
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < m; j++)
                map[(b * n + i) * m + j] = (int64_t)((b * n + (size_t)row[i]) * m + j);
    }
    return node_gather(tape, x, 3, x->shape, map, 0);
}

/* gA = P L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T */
static void lu_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct lu *lu = node->parameters;
    int64_t n = node->shape[1];
    struct node *lower = node_add(tape, node_triangle(tape, node, -1, -1), identity(tape, n));
    struct node *upper = node_triangle(tape, node, 1, 0);
    struct node *dl = node_triangle(tape, cotangent, -1, -1),
                *du = node_triangle(tape, cotangent, 1, 0);
    struct node *inner =
        node_add(tape, node_triangle(tape, node_matmul(tape, lower, true, dl, false), -1, -1),
                 node_triangle(tape, node_matmul(tape, du, false, upper, true), 1, 0));
    struct node *left = node_matmul(tape, node_inverse(tape, lower), true, inner, false);
    struct node *flow = node_matmul(tape, left, false, node_inverse(tape, upper), true);
    tape_accumulate(tape, node->inputs[0], node_exchanged_back(tape, flow, lu->pivot));
}

static const struct primitive lu_primitive = { "an LU factorization", lu_backward, lu_enclose,
                                               NULL };

struct node *node_lu(struct tape *tape, struct node *a, struct node **pivots, const int64_t *wanted)
{
    struct lu *lu = tape_allocate(tape, 1, sizeof *lu);
    struct node *node = lu ? matrix_function_node(tape, &lu_primitive, a, 3, a->shape, lu) : NULL;
    *pivots = a;
    if (!node) return a;
    size_t n = (size_t)a->shape[1], batches = (size_t)a->shape[0];
    *pivots = node_new_integer(tape, DT_I32, 2, a->shape);
    lu->pivot = tape_allocate(tape, batches * n, sizeof *lu->pivot);
    if (tape_failed(tape)) return tape_failure(tape);
    memcpy(node->value, a->value, node->n * sizeof *node->value);
    for (size_t b = 0; b < batches; b++)
        (void)factor(node->value + b * n * n, n, lu->pivot + b * n, wanted ? wanted + b * n : NULL,
                     pivot_slack(a, b * n * n));
    for (size_t i = 0; i < batches * n; i++) (*pivots)->integer[i] = (int64_t)lu->pivot[i] + 1;
    matrix_function_unbounded(tape, node);
    for (size_t b = 0; b < batches && tape_is_model(tape) && !tape_failed(tape); b++)
        if (!model_opens(tape, node, a, b, b * n * n, n * n))
            matrix_model_lu(tape, node->error + b * n * n, a, b * n * n, n, lu->pivot + b * n);
    node_round(tape, node);
    return node;
}

/* ---- inverse ----------------------------------------------------------------------------------------- */

static void inverse_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    matrix_function_enclose(enclosure, ball, node, i, arb_mat_inv);
}

/* -A^-T G A^-T */
static void inverse_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *left = node_matmul(tape, node, true, cotangent, false);
    tape_accumulate(tape, node->inputs[0],
                    node_negate(tape, node_matmul(tape, left, false, node, true)));
}

static const struct primitive inverse_primitive = { "a matrix inverse", inverse_backward,
                                                    inverse_enclose, NULL };

/* X from the factors of A. */
static void invert(double *x, double *lu, const double *a, size_t n, size_t *pivot)
{
    memcpy(lu, a, n * n * sizeof *lu);
    double sign = factor(lu, n, pivot, NULL, 0);
    for (size_t i = 0; i < n * n; i++) x[i] = sign == 0 ? INFINITY : 0;
    if (sign == 0) return;
    for (size_t i = 0; i < n; i++) x[i * n + i] = 1;
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n && pivot[k] != k; j++) {
            double t = x[k * n + j];
            x[k * n + j] = x[pivot[k] * n + j];
            x[pivot[k] * n + j] = t;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            for (size_t j = 0; j < n; j++) x[i * n + j] -= lu[i * n + k] * x[k * n + j];
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            for (size_t j = 0; j < n; j++) x[i * n + j] -= lu[i * n + k] * x[k * n + j];
        for (size_t j = 0; j < n; j++) x[i * n + j] /= lu[i * n + i];
    }
}

/* Factors of the transpose of the matrix that starts at element `first` of a; none after a failure. */
static struct lu_factors eliminate_transpose(struct tape *tape, const struct node *a, size_t first,
                                             size_t n)
{
    double *lu = tape_allocate(tape, n * n, sizeof *lu);
    size_t *pivot = tape_allocate(tape, n, sizeof *pivot);
    if (tape_failed(tape)) return (struct lu_factors){ 0 };
    for (size_t i = 0; i < n * n; i++) lu[i] = a->value[first + i % n * n + i / n];
    (void)factor(lu, n, pivot, NULL, 0);
    return (struct lu_factors){ lu, pivot };
}

/* The errors of a kernel's inverse of matrix b. Of one that is singular, or has an element that overflows in float, nothing is known, zeros
 * included: infinity times 0 is NaN. */
static void model_inverse(struct tape *tape, struct node *node, const struct node *a, size_t b,
                          const double *lu, const size_t *pivot)
{
    size_t n = (size_t)node->shape[1], first = b * n * n;
    const struct lu_factors turned = eliminate_transpose(tape, a, first, n);
    const struct factored m = { a, first, n, { lu, pivot }, turned, node->value + first };
    double most = tape->wide ? dtype_info(DT_F64)->largest : dtype_info(DT_F32)->largest;
    bool finite = true, known = true;
    for (size_t i = 0; i < n * n; i++) {
        finite = finite && isfinite(node->value[first + i]);
        known = known && fabs(node->value[first + i]) <= most;
    }
    if (known) matrix_model_inverse(tape, node->error + first, &m);
    for (size_t i = 0; i < n * n && !known; i++) {
        if (!finite) node->value[first + i] = 0; /* any number, off by any other */
        node->error[first + i] = INFINITY;
    }
}

/* Largest row sum of |I - A X|, with the rounding of its own evaluation and the bounds of A. */
static double residual_norm(const struct tape *tape, const struct node *a, const double *x,
                            size_t first, size_t n)
{
    double worst = 0, gamma = ((double)n + 3) * (tape_is_model(tape) ? tape->unit : UNIT_ROUNDOFF);
    for (size_t i = 0; i < n; i++) {
        double row = 0;
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? -1 : 0, slack = i == j;
            for (size_t k = 0; k < n; k++) {
                double v = a->value[first + i * n + k];
                sum += v * x[k * n + j];
                slack += fabs(v * x[k * n + j]);
                row += node_error(a, first + i * n + k) * fabs(x[k * n + j]);
            }
            row += fabs(sum) + gamma * slack * 1.01;
        }
        if (!(row <= worst))
            worst = row < INFINITY ? row : INFINITY; /* inf * 0 of an unknown element */
    }
    return worst * 1.01;
}

struct node *node_inverse(struct tape *tape, struct node *a)
{
    if (a->imaginary) return node_by_embedding(tape, a, node_inverse);
    a = node_to_real(tape, a);
    struct node *node = matrix_function_node(tape, &inverse_primitive, a, 3, a->shape, NULL);
    if (!node) return a;
    size_t n = (size_t)a->shape[1], batches = (size_t)a->shape[0];
    double *lu = tape_allocate(tape, n * n, sizeof *lu);
    size_t *pivot = tape_allocate(tape, n, sizeof *pivot);
    bool certify = node_need_errors(tape, node);
    for (size_t b = 0; b < batches && !tape_failed(tape); b++) {
        double *x = node->value + b * n * n;
        invert(x, lu, a->value + b * n * n, n, pivot);
        if (!certify) continue;
        if (tape_is_model(tape)) {
            if (!model_opens(tape, node, a, b, b * n * n, n * n))
                model_inverse(tape, node, a, b, lu, pivot);
            continue;
        }
        double r = residual_norm(tape, a, x, b * n * n, n);
        for (size_t i = 0; i < n; i++) {
            double row = 0;
            for (size_t j = 0; j < n; j++) row += fabs(x[i * n + j]);
            for (size_t j = 0; j < n; j++) {
                double bound = r < 1 ? row * r / (1 - r) * 1.01 : INFINITY;
                node->error[(b * n + i) * n + j] = isfinite(x[i * n + j]) ? bound : 0;
            }
        }
    }
    node_round(tape, node);
    return node;
}

/* ---- determinant ----------------------------------------------------------------------------------------- */

static void determinant_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                                size_t i)
{
    struct node *a = node->inputs[0];
    slong n = (slong)a->shape[1];
    arb_mat_t m;
    enclosure->work += (size_t)(n * n * n);
    if (enclosure->work > enclosure->limit) {
        arb_indeterminate(ball);
        return;
    }
    arb_mat_init(m, n, n);
    matrix_enclose_all(enclosure, m, a, i);
    arb_mat_det(ball, m, enclosure->precision);
    arb_mat_clear(m);
}

/* c det(A) A^-T */
static void determinant_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    int64_t lone[3] = { node->shape[0], 1, 1 };
    struct node *factor_node = node_reshape(tape, node_multiply(tape, node, cotangent), 3, lone);
    struct node *inverse = transposed(tape, node_inverse(tape, node->inputs[0]));
    tape_accumulate(tape, node->inputs[0], node_multiply(tape, inverse, factor_node));
}

static const struct primitive determinant_primitive = { "a determinant", determinant_backward,
                                                        determinant_enclose, NULL };

struct node *node_determinant(struct tape *tape, struct node *a)
{
    a = node_to_real(tape, a);
    struct node *node = matrix_function_node(tape, &determinant_primitive, a, 1, a->shape, NULL);
    if (!node) return a;
    size_t n = (size_t)a->shape[1], batches = (size_t)a->shape[0];
    double *lu = tape_allocate(tape, 2 * n * n, sizeof *lu), *x = lu + n * n;
    size_t *pivot = tape_allocate(tape, n, sizeof *pivot);
    for (size_t b = 0; b < batches && !tape_failed(tape); b++) {
        memcpy(lu, a->value + b * n * n, n * n * sizeof *lu);
        double product = factor(lu, n, pivot, NULL, 0);
        for (size_t i = 0; i < n; i++) product *= lu[i * n + i];
        node->value[b] = product;
    }
    matrix_function_unbounded(tape, node);
    for (size_t b = 0; b < batches && tape_is_model(tape) && !tape_failed(tape); b++) {
        double size = fabs(node->value[b]);
        if (model_opens(tape, node, a, b, b, 1) || !isfinite(size)) continue;
        invert(x, lu, a->value + b * n * n, n, pivot);
        const struct lu_factors turned = eliminate_transpose(tape, a, b * n * n, n);
        const struct factored m = { a, b * n * n, n, { lu, pivot }, turned, x };
        node->error[b] = tidy_bound(matrix_model_determinant(tape, &m, size), size);
        /* A kernel's is hardly ever 0, and what divides by it is open, not infinite. */
        if (size == 0) node->value[b] = node->error[b] * 0x1p-20;
    }
    node_round(tape, node);
    return node;
}

/* ---- solutions -------------------------------------------------------------------------------------------- */

struct node *node_solved(struct tape *tape, struct node *a, struct node *inverse, struct node *b,
                         bool turned)
{
    struct node *exact = node_detach(tape, inverse),
                *y = node_matmul(tape, exact, turned, b, false);
    struct node *off = node_constant(tape, DT_NONE, 0, 3, y->shape);
    const double *x = node_values(tape, y), *inverted = node_values(tape, exact),
                 *given = node_values(tape, a);
    if (tape_failed(tape)) return y;
    size_t n = (size_t)a->shape[1], columns = (size_t)y->shape[2];
    double *lu = tape_allocate(tape, n * n, sizeof *lu),
           *own = tape_allocate(tape, n * n, sizeof *own);
    size_t *pivot = tape_allocate(tape, n, sizeof *pivot);
    for (size_t k = 0; k < (size_t)a->shape[0] && !tape_failed(tape); k++) {
        size_t first = k * n * n;
        bool known = true;
        for (size_t i = first; i < first + n * n; i++)
            known = known && isfinite(node_error(inverse, i));
        invert(own, lu, given + first, n, pivot);
        const struct lu_factors other = eliminate_transpose(tape, a, first, n);
        const struct factored m = { a, first, n, { lu, pivot }, other, inverted + first };
        const struct solved solved = { x + k * n * columns, columns, turned };
        double *error = off->value + k * n * columns;
        if (known && !tape_failed(tape)) matrix_model_solution(tape, error, &m, &solved);
        for (size_t i = 0; i < n * columns && !known; i++) error[i] = INFINITY;
    }
    return node_model_error(tape, y, off, (tape_is_typical(tape) ? 4 : 1) / tape->unit);
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------- */

static void cholesky_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    matrix_function_enclose(enclosure, ball, node, i, arb_mat_cho);
}

/* In a model: y with what comes of the errors of L and of solves with it. */
static struct node *with_cholesky_errors(struct tape *tape, struct node *y, struct node *l,
                                         struct node *inverse, struct node *phi, struct node *s)
{
    struct node *off = node_constant(tape, DT_NONE, 0, 3, y->shape);
    const double *x = node_values(tape, inverse), *slope = node_values(tape, phi),
                 *gradient = node_values(tape, s);
    size_t n = (size_t)l->shape[1];
    for (size_t first = 0; first < l->n && !tape_failed(tape); first += n * n) {
        const struct factored m = { l->inputs[0], first,    n, { l->value + first, NULL },
                                    { 0 },        x + first };
        matrix_model_cholesky_gradient(tape, off->value + first, &m, slope + first,
                                       gradient + first);
    }
    return node_model_error(tape, y, off, (tape_is_typical(tape) ? 4 : 1) / tape->unit);
}

/* S = L^-T phi(L^T G) L^-1 with phi the lower triangle, its diagonal halved; (S + S^T) / 2. */
static void cholesky_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    bool model = tape_is_model(tape);
    struct node *l = model ? node_detach(tape, node) : node;
    struct node *product = node_matmul(tape, l, true, cotangent, false);
    struct node *phi = node_scale(
        tape,
        node_add(tape, node_triangle(tape, product, -1, 0), node_triangle(tape, product, -1, -1)),
        0.5);
    struct node *inverse = node_inverse(tape, l);
    if (model) inverse = node_detach(tape, inverse);
    struct node *s = times(tape, node_matmul(tape, inverse, true, phi, false), inverse);
    struct node *y = node_scale(tape, node_add(tape, s, transposed(tape, s)), 0.5);
    tape_accumulate(tape, node->inputs[0],
                    model ? with_cholesky_errors(tape, y, node, inverse, phi, s) : y);
}

static const struct primitive cholesky_primitive = { "a Cholesky factor", cholesky_backward,
                                                     cholesky_enclose, NULL };

static void model_cholesky(struct tape *tape, struct node *node, const struct node *a, size_t b)
{
    size_t n = (size_t)node->shape[1], first = b * n * n;
    double *x = tape_allocate(tape, 2 * n * n, sizeof *x);
    size_t *pivot = tape_allocate(tape, n, sizeof *pivot);
    if (tape_failed(tape)) return;
    invert(x, x + n * n, node->value + first, n, pivot);
    const struct factored m = { a, first, n, { node->value + first, NULL }, { 0 }, x };
    matrix_model_cholesky(tape, node->error + first, &m);
}

struct node *node_cholesky(struct tape *tape, struct node *a)
{
    if (a->imaginary) return node_by_embedding(tape, a, node_cholesky);
    a = node_to_real(tape, a);
    struct node *node = matrix_function_node(tape, &cholesky_primitive, a, 3, a->shape, NULL);
    if (!node) return a;
    size_t n = (size_t)a->shape[1], batches = (size_t)a->shape[0];
    memset(node->value, 0, node->n * sizeof *node->value);
    for (size_t b = 0; b < batches; b++) {
        const double *in = a->value + b * n * n;
        double *l = node->value + b * n * n;
        for (size_t j = 0; j < n; j++)
            for (size_t i = j; i < n; i++) { /* the lower triangle of A is read */
                double sum = in[i * n + j];
                for (size_t k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
                if (i == j && !(sum > 0)) {
                    tape_fail(tape, STATUS_SKIP, "the matrix is not positive definite");
                    return tape_failure(tape);
                }
                l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
            }
    }
    matrix_function_unbounded(tape, node);
    for (size_t i = 0; node->error && i < node->n; i++)
        if (i % n > i / n % n) node->error[i] = 0;
    for (size_t b = 0; b < batches && tape_is_model(tape); b++) model_cholesky(tape, node, a, b);
    node_round(tape, node);
    return node;
}

/* ---- triangles ------------------------------------------------------------------------------------------------------ */

struct node *node_triangle(struct tape *tape, struct node *a, int sign, int64_t offset)
{
    if (tape_failed(tape)) return tape_failure(tape);
    int64_t n = a->shape[a->rank - 2], m = a->shape[a->rank - 1], shape[2] = { n, m };
    struct node *mask = node_new_integer(tape, DT_BOOL, 2, shape);
    for (int64_t i = 0; i < n && !tape_failed(tape); i++)
        for (int64_t j = 0; j < m; j++)
            mask->integer[i * m + j] = sign < 0 ? j - i <= offset : j - i >= offset;
    return node_select(tape, mask, a, node_scalar(tape, 0));
}
