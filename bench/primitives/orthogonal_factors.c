/* By LAPACK in double, the bounds from the residual; open elements by balls of the Cholesky factor of A^T A.
 *
 * Let Q, R be what was computed, D = A R^-1 - Q, H = (Q + D)^T (Q + D) - I with ||H|| <= h < 1/2 (Frobenius norms). The exact
 * R is (I + K) times the computed one, where I + K is the Cholesky factor of I + H: K + K^T + K^T K = H, and for triangular K
 * ||K|| <= ||K + K^T|| / sqrt(2) <= (h + ||K||^2) / sqrt(2), so ||K|| <= sqrt(2) h. Hence
 *
 *   |R_exact - R|_ij <= sqrt(2) h ||R_i:j,j||,   |Q_exact - Q|_ij <= |D|_ij + ||(Q + D)_i|| sqrt(2) h / (1 - sqrt(2) h)
 *
 * D is bounded by |A - Q R| |Y| / (1 - ||I - R Y||) for an approximate inverse Y of R.
 *
 * The model: Householder's reflections give the factors of A + E with columns |E_j| <= 8 n u |A_j| (Higham, Accuracy and
 * Stability, theorem 19.4, where the constant is of the order of m n), 3 sqrt(n / m) u |A_j| an element in the root mean square. With W
 * = Q^T E R^-1 and L its part below the diagonal, to first order dQ = Q (L - L^T) + (I - Q Q^T) E R^-1 and dR = (W - L + L^T) R. */
#include "bench/primitives/orthogonal_factors.h"

#include <arb_mat.h>
#include <math.h>
#include <string.h>

#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/lapack.h"
#include "bench/arithmetic/rounding.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/nearest_basis.h"
#include "bench/primitives/vector_groups.h"
#include "bench/primitives/view.h"
#include "bench/tape/enclosure.h"

struct factors {
    struct node *q, *r, *rest; /* rest: the columns that complete Q, or NULL */
};

/* One matrix being factorized. */
struct factorization {
    struct tape *tape;
    size_t m, n, columns;
    bool embedded;                     /* a complex matrix */
    double *q, *r, *y;                 /* (m, columns), (n, n), inverse of r */
    double *d, *product, *square;      /* (m, n), (m, n), larger of n * n and columns * columns */
    double *error_q, *error_r, *moved; /* (m, n), (n, n), a model's w (n) */
    double *basis, *aimed, *completed; /* the rest as rows */
    double rest;                       /* error of the rest */
};

/* ---- gradients ------------------------------------------------------------------------------------ */

/* X + X^T with X's upper triangle, the diagonal once. */
static struct node *both_triangles(struct tape *tape, struct node *x)
{
    return node_add(tape, node_triangle(tape, x, 1, 0),
                    node_transpose(tape, node_triangle(tape, x, 1, 1), 1, 2));
}

static void pass_through_r(struct tape *tape, struct node *node, struct node *flow)
{
    const struct factors *f = node->parameters;
    tape_accumulate(tape, node->inputs[0],
                    node_matmul(tape, flow, false, node_inverse(tape, f->r), true));
}

/* (G - Q sym(triu(Q^T G))) R^-T */
static void q_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *inner = both_triangles(tape, node_matmul(tape, node, true, cotangent, false));
    struct node *turned = node_matmul(tape, node, false, inner, false);
    pass_through_r(tape, node, node_subtract(tape, cotangent, turned));
}

/* Q sym(triu(G R^T)) R^-T */
static void r_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct factors *f = node->parameters;
    struct node *inner = both_triangles(tape, node_matmul(tape, cotangent, false, node, true));
    pass_through_r(tape, node, node_matmul(tape, f->q, false, inner, false));
}

static void rest_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    (void)node, (void)cotangent;
    tape_fail(tape, STATUS_SKIP, "columns that complete a basis have no gradient");
}

/* ---- balls ------------------------------------------------------------------------------------------ */

/* R^T of matrix `batch` by the Cholesky factor of A^T A, and A itself; false when it is too much or not sharp. */
static bool enclose_factors(struct enclosure *enclosure, arb_mat_t a, arb_mat_t lower,
                            struct node *node, size_t batch)
{
    struct node *input = node->inputs[0];
    size_t m = (size_t)input->shape[1], n = (size_t)input->shape[2];
    slong precision = enclosure->precision;
    enclosure->work += 2 * m * n * n;
    if (enclosure->work > enclosure->limit) return false;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            enclosure_element(enclosure, arb_mat_entry(a, (slong)i, (slong)j), input,
                              (batch * m + i) * n + j);
    arb_mat_t turned, square;
    arb_mat_init(turned, (slong)n, (slong)m);
    arb_mat_init(square, (slong)n, (slong)n);
    arb_mat_transpose(turned, a);
    arb_mat_mul(square, turned, a, precision);
    int sharp = arb_mat_cho(lower, square, precision);
    arb_mat_clear(turned);
    arb_mat_clear(square);
    const double *r = ((const struct factors *)node->parameters)->r->value + batch * n * n;
    for (size_t j = 0; j < n; j++) /* the signs that were chosen */
        for (size_t i = j; i < n && r[j * n + j] < 0; i++)
            arb_neg(arb_mat_entry(lower, (slong)i, (slong)j),
                    arb_mat_entry(lower, (slong)i, (slong)j));
    return sharp;
}

/* Element i of R (transposed as `lower` is) or, solved for, of Q. */
static void factor_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    bool is_q = node == ((const struct factors *)node->parameters)->q;
    slong m = (slong)node->inputs[0]->shape[1], n = (slong)node->inputs[0]->shape[2];
    size_t size = (size_t)((is_q ? m : n) * n), batch = i / size;
    arb_mat_t a, lower, inverse;
    arb_mat_init(a, m, n);
    arb_mat_init(lower, n, n);
    arb_mat_init(inverse, n, n);
    bool sharp = enclose_factors(enclosure, a, lower, node, batch) &&
                 (!is_q || arb_mat_inv(inverse, lower, enclosure->precision));
    arb_mat_transpose(is_q ? inverse : lower, is_q ? inverse : lower);
    if (is_q && sharp) arb_mat_mul(a, a, inverse, enclosure->precision);
    for (size_t k = 0; k < size && sharp; k++) {
        arb_ptr element = arb_mat_entry(is_q ? a : lower, (slong)k / n, (slong)k % n);
        if (batch * size + k == i) arb_set(ball, element);
        else enclosure_remember(enclosure, node, batch * size + k, element);
    }
    if (!sharp) arb_indeterminate(ball);
    arb_mat_clear(a);
    arb_mat_clear(lower);
    arb_mat_clear(inverse);
}

static void enclose_nothing(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    (void)enclosure, (void)node, (void)i;
    arb_indeterminate(ball);
}

static const struct primitive q_primitive = { "an orthogonal factor", q_backward, factor_enclose,
                                              NULL };
static const struct primitive r_primitive = { "a triangular factor", r_backward, factor_enclose,
                                              NULL };
static const struct primitive rest_primitive = { "a completed basis", rest_backward,
                                                 enclose_nothing, NULL };

/* ---- one matrix -------------------------------------------------------------------------------------- */

/* The device's signs, of an embedded matrix those that make R's diagonal positive; the aims may be NULL. */
static void choose_signs(struct factorization *f, const double *q, const double *r)
{
    for (size_t j = 0; j < f->n; j++) {
        double agreement = 0;
        if (f->embedded) agreement = f->r[j * f->n + j];
        for (size_t i = 0; q && !f->embedded && i < f->m; i++)
            agreement += f->q[i * f->columns + j] * q[i * f->columns + j];
        for (size_t i = 0; !q && r && !f->embedded && i < f->n; i++)
            agreement += f->r[j * f->n + i] * r[j * f->n + i];
        if (!(agreement < 0)) continue;
        for (size_t i = 0; i < f->m; i++) f->q[i * f->columns + j] = -f->q[i * f->columns + j];
        for (size_t i = 0; i < f->n; i++) f->r[j * f->n + i] = -f->r[j * f->n + i];
    }
}

/* y = r^-1; false when r is singular. */
static bool invert_triangle(double *y, const double *r, size_t n)
{
    memset(y, 0, n * n * sizeof *y);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j + 1; i-- > 0;) {
            double sum = i == j;
            for (size_t k = i + 1; k <= j; k++) sum -= r[i * n + k] * y[k * n + j];
            y[i * n + j] = sum / r[i * n + i];
            if (!isfinite(y[i * n + j])) return false;
        }
    return true;
}

/* Bound on the Frobenius norm of I - R Y. */
static double inverse_defect(struct factorization *f)
{
    size_t n = f->n;
    double sum = 0, gamma = gamma_of((double)n + 4);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) {
            double e = i == j ? 1 : 0, size = 1;
            for (size_t k = i; k <= j; k++) {
                double term = f->r[i * n + k] * f->y[k * n + j];
                e -= term;
                size += fabs(term);
            }
            e = fabs(e) + gamma * size;
            sum += e * e;
        }
    return 1.01 * sqrt(sum);
}

/* |A - Q R| with its rounding and A's own errors, times |Y| and over 1 - defect: bounds |D|. */
static void bound_d(struct factorization *f, const struct node *a, size_t first)
{
    size_t m = f->m, n = f->n;
    double gamma = 1.01 * gamma_of((double)n + 4), defect = inverse_defect(f);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double value = a->value[first + i * n + j], e = value, size = fabs(value);
            for (size_t k = 0; k <= j; k++) {
                double term = f->q[i * f->columns + k] * f->r[k * n + j];
                e -= term;
                size += fabs(term);
            }
            f->product[i * n + j] = fabs(e) + gamma * size + node_error(a, first + i * n + j);
        }
    for (size_t i = 0; i < n * n; i++) f->square[i] = fabs(f->y[i]);
    gemm_double(f->d, &(struct gemm){ .m = m, .n = n, .k = n }, f->product, f->square);
    for (size_t i = 0; i < m * n; i++)
        f->d[i] = defect < 0.5 ? 1.01 * f->d[i] / (1 - defect) : INFINITY;
}

static double norm(const double *x, size_t n, size_t step)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i * step] * x[i * step];
    return 1.01 * sqrt(sum);
}

static void bound_factors(struct factorization *f, const struct node *a, size_t first)
{
    size_t m = f->m, n = f->n;
    bound_d(f, a, first);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++) f->product[j * m + i] = f->q[i * f->columns + j];
    double defect = basis_defect(f->product, n, m, f->square), d = norm(f->d, m * n, 1);
    double h = defect + 2 * (1 + defect) * d + d * d, k = 1.4143 * h;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            f->error_r[i * n + j] = j < i      ? 0
                                    : h < 0.25 ? k * norm(f->r + i * n + j, j - i + 1, n)
                                               : INFINITY;
    for (size_t i = 0; i < m; i++) {
        double row = norm(f->q + i * f->columns, n, 1) + norm(f->d + i * n, n, 1);
        for (size_t j = 0; j < n; j++)
            f->error_q[i * n + j] = h < 0.25 ? f->d[i * n + j] + 1.01 * row * k / (1 - k)
                                             : INFINITY;
    }
}

/* The columns behind the n-th: the nearest basis of what is orthogonal to the others. */
static struct status complete(struct factorization *f, const double *aim)
{
    size_t m = f->m, n = f->n, count = f->columns - n;
    bool near;
    if (!count) return status_ok();
    for (size_t j = 0; j < f->columns; j++)
        for (size_t i = 0; i < m; i++) f->basis[j * m + i] = f->q[i * f->columns + j];
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < m; i++)
            f->aimed[j * m + i] = aim ? aim[i * f->columns + n + j] : f->basis[(n + j) * m + i];
    double defect = basis_defect(f->basis, f->columns, m, f->square);
    double turn = defect + 1.01 * norm(f->error_q, m * n, 1) * (1 + defect);
    const struct basis_aim basis = {
        f->basis + n * m, aim || !f->embedded ? f->aimed : NULL, m, count, count, turn, f->embedded
    };
    return nearest_basis(f->completed, &f->rest, &near, &basis, f->tape->arena);
}

/* w_j: an element of Q^T E R^-1 in column j. */
static void move_columns(struct factorization *f, const struct node *a, size_t first)
{
    const struct tape *tape = f->tape;
    bool typical = tape_is_typical(tape);
    size_t m = f->m, n = f->n;
    double growth = typical ? 3 * sqrt((double)n / (double)m) : 8 * (double)n;
    for (size_t j = 0; j < n; j++) {
        double own = 0;
        for (size_t i = 0; i < m; i++) {
            double e = node_error(a, first + i * n + j);
            own += e * e;
        }
        own = sqrt(typical ? own / (double)m : own);
        f->d[j] = tape_join(tape, growth * tape->unit * norm(a->value + first + j, m, n), own);
    }
    for (size_t j = 0; j < n; j++) {
        f->moved[j] = 0;
        for (size_t k = 0; k <= j; k++)
            f->moved[j] = tape_join(tape, f->moved[j], f->d[k] * fabs(f->y[k * n + j]));
    }
}

/* Where a column may depend on those before it within rounding, nothing is known of what it and the ones behind it make of
 * the factors. */
static void forget_dependent(struct factorization *f)
{
    size_t first = 0, m = f->m, n = f->n;
    while (first < n && f->moved[first] < 0.25) first++;
    for (size_t r = 0; r < m; r++)
        for (size_t j = first; j < n; j++) f->error_q[r * n + j] = INFINITY;
    for (size_t i = first; i < n; i++)
        for (size_t j = i; j < n; j++) f->error_r[i * n + j] = INFINITY;
    if (first < n) f->rest = INFINITY;
}

static void model_factors(struct factorization *f)
{
    const struct tape *tape = f->tape;
    size_t m = f->m, n = f->n;
    const double *w = f->moved;
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < n; j++) {
            double value = f->q[r * f->columns + j], error = m > n ? w[j] : 0;
            error = tape_join(tape, error, group_forward_error(tape, m, 1, value));
            for (size_t i = 0; i < n; i++)
                if (i != j)
                    error =
                        tape_join(tape, error, fabs(f->q[r * f->columns + i]) * w[i > j ? j : i]);
            f->error_q[r * n + j] = error;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double error = 0;
            for (size_t l = i; l <= j; l++)
                error = tape_join(tape, error,
                                  (l == i ? w[i] : tape_join(tape, w[l], w[i])) *
                                      fabs(f->r[l * n + j]));
            f->error_r[i * n + j] = error;
        }
    f->rest = 0;
    for (size_t i = 0; i < n; i++) f->rest = tape_join(tape, f->rest, w[i]);
    f->rest = tape_join(tape, f->rest, group_forward_error(tape, m, 1, 1));
    forget_dependent(f);
}

/* The columns that complete Q, from rows, with one bound for all. */
static void put_rest(struct node *node, const struct factorization *f, size_t batch)
{
    size_t count = f->columns - f->n, first = batch * f->m * count;
    for (size_t i = 0; i < f->m; i++)
        for (size_t j = 0; j < count; j++) {
            node->value[first + i * count + j] = f->completed[j * f->m + i];
            if (node->error) node->error[first + i * count + j] = f->rest;
        }
}

static struct status factorize(struct factorization *f, const struct factors *out,
                               const struct node *a, size_t batch, const double *q, const double *r)
{
    size_t m = f->m, n = f->n, first = batch * m * n;
    for (size_t i = 0; i < m * n; i++)
        if (!isfinite(a->value[first + i]))
            return status_error(STATUS_SKIP, "the factors of a matrix that is not finite");
    TRY(lapack_qr(f->q, f->r, a->value + first, m, n, f->columns, f->tape->arena));
    choose_signs(f, q, r);
    if (!invert_triangle(f->y, f->r, n))
        return status_error(STATUS_SKIP,
                            "a column depends on those before it: the factors are not determined");
    bound_factors(f, a, first);
    TRY(complete(f, q));
    if (tape_is_model(f->tape)) {
        move_columns(f, a, first);
        model_factors(f);
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) out->q->value[first + i * n + j] = f->q[i * f->columns + j];
    memcpy(out->r->value + batch * n * n, f->r, n * n * sizeof *f->r);
    if (out->q->error) memcpy(out->q->error + first, f->error_q, m * n * sizeof *f->error_q);
    if (out->r->error)
        memcpy(out->r->error + batch * n * n, f->error_r, n * n * sizeof *f->error_r);
    if (out->rest) put_rest(out->rest, f, batch);
    return status_ok();
}

static bool open_factorization(struct factorization *f, struct tape *tape, size_t m, size_t n,
                               size_t columns, bool embedded)
{
    size_t square = columns > n ? columns * columns : n * n;
    *f = (struct factorization){
        .tape = tape, .m = m, .n = n, .columns = columns, .embedded = embedded
    };
    double **arrays[] = {
        &f->q,       &f->r,       &f->y,     &f->d,     &f->product, &f->square,
        &f->error_q, &f->error_r, &f->moved, &f->basis, &f->aimed,   &f->completed
    };
    size_t rest = columns > n ? m * columns : 1;
    const size_t sizes[] = { m * columns, n * n, n * n, m * n, m * n, square,
                             m * n,       n * n, n,     rest,  rest,  rest };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *arrays[i] = tape_allocate(tape, sizes[i], sizeof(double));
    return !tape_failed(tape);
}

static struct node *real_qr(struct tape *tape, struct node *a, bool embedded, size_t columns,
                            const struct qr_aim *aim, struct node **r)
{
    *r = a;
    struct factors *out = tape_allocate(tape, 1, sizeof *out);
    struct factorization f;
    (void)node_values(tape, a);
    if (tape_failed(tape)) return tape_failure(tape);
    int64_t batch = a->shape[0], m = a->shape[1], n = a->shape[2];
    int64_t rest = (int64_t)columns - n, square[3] = { batch, n, n },
            behind[3] = { batch, m, rest };
    if (!open_factorization(&f, tape, (size_t)m, (size_t)n, columns, embedded))
        return tape_failure(tape);
    *out = (struct factors){ node_new(tape, &q_primitive, a->dtype, 3, a->shape, 1, &a, out),
                             node_new(tape, &r_primitive, a->dtype, 3, square, 1, &a, out), NULL };
    if (rest) out->rest = node_new(tape, &rest_primitive, a->dtype, 3, behind, 1, &a, out);
    struct node *nodes[3] = { out->q, out->r, out->rest };
    for (int k = 0; k < 2 + (rest > 0); k++) (void)node_need_errors(tape, nodes[k]);
    for (size_t b = 0; b < (size_t)batch && !tape_failed(tape); b++) {
        struct status st = factorize(&f, out, a, b, aim->q ? aim->q + b * f.m * columns : NULL,
                                     aim->r ? aim->r + b * f.n * f.n : NULL);
        if (st.code) tape_fail(tape, st.code, "%s", st.text);
    }
    if (tape_failed(tape)) return tape_failure(tape);
    for (int k = 0; k < 2 + (rest > 0); k++) node_round(tape, nodes[k]);
    *r = out->r;
    return rest ? node_concatenate(tape, (struct node *[]){ out->q, out->rest }, 2, 2) : out->q;
}

/* Phases (batch, 1, n) that turn the columns of Q to the device's: conjugates of those of its R's diagonal. */
static struct node *phases_of(struct tape *tape, const double *r, int64_t batch, int64_t n)
{
    int64_t shape[3] = { batch, 1, n };
    struct node *re = node_new_real(tape, DT_NONE, 3, shape),
                *im = node_new_real(tape, DT_NONE, 3, shape);
    for (int64_t i = 0; !tape_failed(tape) && i < batch * n; i++) {
        const double *block = r + (i / n * 2 * n + i % n * 2) * 2 * n + i % n * 2;
        bool is_phase = isfinite(block[0]) && isfinite(block[1]) &&
                        (block[0] != 0 || block[1] != 0);
        re->value[i] = is_phase ? block[0] : 1;
        im->value[i] = is_phase ? block[1] : 0; /* -y of x + iy */
    }
    struct node *diagonal = node_complex(tape, re, im);
    return node_divide(tape, diagonal, node_magnitude(tape, diagonal));
}

static struct node *complex_qr(struct tape *tape, struct node *a, size_t columns,
                               const struct qr_aim *aim, struct node **r)
{
    int64_t batch = a->shape[0], m = a->shape[1], n = a->shape[2];
    struct node *q =
        node_of_embedding(tape, real_qr(tape, node_embedding(tape, a), true, 2 * columns, aim, r));
    *r = node_of_embedding(tape, *r);
    if (tape_failed(tape) || !aim->r) return q;
    struct node *phases = phases_of(tape, aim->r, batch, n);
    struct node *down =
        node_reshape(tape, node_conjugate(tape, phases), 3, (int64_t[]){ batch, n, 1 });
    *r = node_multiply(tape, *r, down);
    struct node *turned = node_multiply(tape, node_slice(tape, q, 2, 0, n, 1), phases);
    if ((int64_t)columns == n) return turned;
    struct node *parts[2] = { turned, node_slice(tape, q, 2, n, m - n, 1) };
    return node_concatenate(tape, parts, 2, 2);
}

struct node *node_qr(struct tape *tape, struct node *a, size_t columns, const struct qr_aim *aim,
                     struct node **r)
{
    if (a->imaginary) return complex_qr(tape, a, columns, aim, r);
    return real_qr(tape, node_to_real(tape, a), false, columns, aim, r);
}
