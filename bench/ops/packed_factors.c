/* Factors as LAPACK packs them into the place of a matrix: reflections (geqrf) and L D L^H (sytrf, hetrf). Where a kernel may choose, the signs of
 * reflections and the pivots of L D L^H, the device's choice is followed.
 *
 * Reflections follow from Q: H_1 ... H_k = I - V T V^H, so the first columns of Q less the identity are V (-T V_1^H), V unit lower
 * trapezoidal and the other factor upper triangular with -tau on its diagonal: their LU factors without exchanges (Yamamoto; Ballard and
 * others, Reconstructing Householder Vectors from Tall-Skinny QR, 2014). */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/factors.h"
#include "bench/ops/matrices.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_matrix.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/general_eigen.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/orthogonal_factors.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"
#include "bench/tape/promotion.h"

typedef double _Complex complex_number;

/* Elements of a batch (batch, m, n) as complex numbers; NULL after a failure. */
static complex_number *numbers_of(struct tape *tape, struct node *a)
{
    complex_number *out = tape_allocate(tape, a->n, sizeof *out);
    const double *re = node_values(tape, a);
    const double *im = a->imaginary ? node_values(tape, a->imaginary) : NULL;
    if (tape_failed(tape)) return NULL;
    for (size_t i = 0; i < a->n; i++) out[i] = re[i] + (im ? I * im[i] : 0);
    return out;
}

/* ---- reflections ------------------------------------------------------------------------------------ */

/* Signs of R's diagonal as LAPACK chooses them, by its reflections of a (m, n), n <= m, in double: column x goes to beta e_1 with beta =
 * -sign(Re x_1) ||x||, or stays where there is nothing to reflect. The unitary I - v v^H / (v^H x) with v = x - beta e_1 does that. */
static void reflection_signs(double *sign, complex_number *a, size_t m, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        complex_number *x = a + j * n + j; /* a column, n apart */
        double squares = 0, alpha = creal(x[0]);
        for (size_t i = 0; i < m - j; i++)
            squares += creal(x[i * n]) * creal(x[i * n]) + cimag(x[i * n]) * cimag(x[i * n]);
        bool reflects = squares > alpha * alpha;
        double beta = reflects ? -copysign(sqrt(squares), alpha) : alpha;
        complex_number inner = squares - beta * x[0];
        sign[j] = beta < 0 ? -1 : 1;
        x[0] -= beta;
        for (size_t k = j + 1; k < n && reflects; k++) {
            complex_number along = 0;
            for (size_t i = 0; i < m - j; i++) along += conj(x[i * n]) * x[i * n + k - j];
            for (size_t i = 0; i < m - j; i++) x[i * n + k - j] -= along / inner * x[i * n];
        }
    }
}

/* What R's diagonal aims at, embedded, where complex a has no device's answer. */
static const double *own_signs(struct tape *tape, struct node *a)
{
    size_t m = (size_t)a->shape[1], n = (size_t)a->shape[2], batches = (size_t)a->shape[0];
    complex_number *numbers = numbers_of(tape, a);
    double *sign = tape_allocate(tape, n, sizeof *sign);
    double *aim = tape_allocate(tape, batches * 4 * n * n, sizeof *aim);
    if (tape_failed(tape)) return NULL;
    memset(aim, 0, batches * 4 * n * n * sizeof *aim);
    for (size_t b = 0; b < batches; b++) {
        reflection_signs(sign, numbers + b * m * n, m, n);
        for (size_t j = 0; j < 2 * n; j++) aim[(b * 2 * n + j) * 2 * n + j] = sign[j / 2];
    }
    return aim;
}

/* x (batch, rows, columns) with zeros around it, at the upper left of (batch, m, n). */
static struct node *padded(struct tape *tape, struct node *x, int64_t m, int64_t n)
{
    if (tape_failed(tape)) return tape_failure(tape);
    int64_t shape[3] = { x->shape[0], m, n }, stride[3] = { m * n, n, 1 };
    return node_place(tape, x, NULL, 3, shape, stride, 0);
}

/* The packed result (batch, m, n) of m >= n or m < n, and tau (batch, k). The device's is its flat output `output`, or the adjoint. */
static struct node *reflections(struct call *call, struct node *a, size_t output, bool adjoint,
                                struct node **tau)
{
    struct tape *tape = call->tape;
    *tau = a;
    if (tape_failed(tape)) return a;
    int64_t m = a->shape[1], n = a->shape[2], k = m < n ? m : n, batch = a->shape[0];
    if (!k) {
        *tau = node_constant(tape, a->dtype, 0, 2, (int64_t[]){ batch, 0 });
        return a;
    }
    struct node *front = m < n ? node_slice(tape, a, 2, 0, m, 1) : a, *r;
    struct qr_aim aim = { .r = call_device_square(call, output, a, m, n, k, adjoint) };
    if (!aim.r && a->imaginary) aim.r = own_signs(tape, front);
    struct node *q = node_qr(tape, front, (size_t)k, &aim, &r);
    if (m < n) {
        struct node *behind = node_slice(tape, a, 2, m, n - m, 1);
        behind = node_matmul(tape, adjoint_of(tape, q), false, behind, false);
        r = node_concatenate(tape, (struct node *[]){ r, behind }, 2, 2);
    }
    struct node *top = node_slice(tape, q, 1, 0, k, 1);
    struct node *packed =
        node_block_factors(tape, node_subtract(tape, top, ones_on_diagonal(tape, k, k)), NULL);
    if (tape_failed(tape)) return packed;
    int64_t column[3] = { batch, k, 1 }, diagonal[3] = { k * k, k + 1, 0 };
    struct node *pivots = node_view(tape, packed, 3, column, diagonal, 0);
    *tau = node_reshape(tape, node_negate(tape, pivots), 2, column);
    struct node *v = node_triangle(tape, packed, -1, -1);
    if (m >
        k) { /* the rows below, times the inverse of the upper triangle; none where there is no reflection */
        struct node *mask = node_new_real(tape, DT_NONE, 3, (int64_t[]){ batch, 1, k });
        for (int64_t i = 0; !tape_failed(tape) && i < batch * k; i++)
            mask->value[i] = pivots->value[i] != 0 ||
                             (pivots->imaginary && pivots->imaginary->value[i] != 0);
        struct node *eye = ones_on_diagonal(tape, k, k);
        struct node *upper =
            node_add(tape, node_triangle(tape, packed, 1, 0),
                     node_multiply(tape, eye, node_subtract(tape, node_scalar(tape, 1), mask)));
        struct node *below = node_matmul(tape, node_slice(tape, q, 1, k, m - k, 1), false,
                                         node_inverse(tape, upper), false);
        v = node_concatenate(tape, (struct node *[]){ v, node_multiply(tape, below, mask) }, 2, 1);
    }
    return node_add(tape, padded(tape, v, m, n), padded(tape, r, m, n));
}

static void geqrf(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *tau;
    struct node *packed = reflections(call, call_batch(call, "input"), 0, false, &tau);
    call_return_batch(call, packed, x);
    call_return_batch(call, tau, x);
}

/* ---- L D L^H -------------------------------------------------------------------------------------------- */

/* Exchanges of rows and columns and blocks of the diagonal, for each matrix of a batch. */
struct pivoting {
    size_t batches, n;
    int32_t *
        pivots; /* (batch, n) as LAPACK has them: k > 0 exchanged with a row of its own, twice -k of a block of two */
    unsigned char *steps; /* enum block_step */
};

static bool open_pivoting(struct tape *tape, struct pivoting *p, const struct node *a)
{
    p->batches = (size_t)a->shape[0];
    p->n = (size_t)a->shape[1];
    p->pivots = tape_allocate(tape, p->batches * p->n, sizeof *p->pivots);
    p->steps = tape_allocate(tape, p->batches * p->n, sizeof *p->steps);
    return !tape_failed(tape);
}

/* Rows exchanged at step k: `at` with the one returned. */
static size_t exchanged_row(const struct pivoting *p, size_t batch, size_t k, size_t *at)
{
    bool first = p->steps[batch * p->n + k] == STEP_FIRST;
    *at = first ? k + 1 : k;
    if (p->steps[batch * p->n + k] == STEP_SECOND) return k; /* done with the first */
    return (size_t)labs(p->pivots[batch * p->n + k]) - 1;
}

/* Are these numbers pivots? Sets the steps. */
static bool take_pivots(struct pivoting *p, const int64_t *given)
{
    for (size_t i = 0, k; i < p->batches * p->n; i++) {
        k = i % p->n;
        bool second = k && p->steps[i - 1] == STEP_FIRST;
        p->pivots[i] = (int32_t)given[i];
        p->steps[i] = second ? STEP_SECOND : given[i] < 0 ? STEP_FIRST : STEP_SINGLE;
        int64_t row = llabs(given[i]) - 1, least = (int64_t)k + (p->steps[i] == STEP_FIRST);
        if (second ? given[i] != given[i - 1] : row < least || row >= (int64_t)p->n) return false;
    }
    return true;
}

static double size_of(complex_number x) { return fabs(creal(x)) + fabs(cimag(x)); }

static void exchange(complex_number *a, size_t n, size_t i, size_t k)
{
    for (size_t j = 0; j < n && i != k; j++) {
        complex_number t = a[i * n + j];
        a[i * n + j] = a[k * n + j];
        a[k * n + j] = t;
    }
    for (size_t j = 0; j < n && i != k; j++) {
        complex_number t = a[j * n + i];
        a[j * n + i] = a[j * n + k];
        a[j * n + k] = t;
    }
}

/* Bunch and Kaufman's pivot of column k of what is left of a (Math. Comp. 31, 1977): the row, and is it of a block of two? */
static size_t choose_pivot(const complex_number *a, size_t n, size_t k, bool *two)
{
    const double alpha = (1 + sqrt(17)) / 8;
    size_t row = k;
    double own = size_of(a[k * n + k]), largest = 0, across = 0;
    *two = false;
    for (size_t i = k + 1; i < n; i++)
        if (size_of(a[i * n + k]) > largest) {
            largest = size_of(a[i * n + k]);
            row = i;
        }
    if (own >= alpha * largest) return k;
    for (size_t j = k; j < n; j++)
        if (j != row) across = fmax(across, size_of(a[row * n + j]));
    if (own * across >= alpha * largest * largest) return k;
    if (size_of(a[row * n + row]) >= alpha * across) return row;
    *two = true;
    return row;
}

/* Our own pivots of a whole symmetric or Hermitian matrix, which is lost. */
static void find_pivots(struct pivoting *p, size_t batch, complex_number *a)
{
    size_t n = p->n;
    for (size_t k = 0, order; k < n; k += order) {
        bool two;
        size_t row = choose_pivot(a, n, k, &two);
        order = two ? 2 : 1;
        int32_t pivot = (int32_t)row + 1;
        p->pivots[batch * n + k] = two ? -pivot : pivot;
        p->steps[batch * n + k] = two ? STEP_FIRST : STEP_SINGLE;
        if (two) {
            p->pivots[batch * n + k + 1] = -pivot;
            p->steps[batch * n + k + 1] = STEP_SECOND;
        }
        exchange(a, n, k + order - 1, row);
        complex_number *d = a + k * n + k, det = two ? d[0] * d[n + 1] - d[1] * d[n] : d[0];
        for (size_t i = k + order; i < n && size_of(det) > 0; i++) {
            complex_number x = a[i * n + k] / det, y = 0;
            if (two) {
                x = (a[i * n + k] * d[n + 1] - a[i * n + k + 1] * d[n]) / det;
                y = (a[i * n + k + 1] * d[0] - a[i * n + k] * d[1]) / det;
            }
            for (size_t j = k + order; j < n; j++)
                a[i * n + j] -= x * a[k * n + j] + (two ? y * a[(k + 1) * n + j] : 0);
        }
    }
}

/* The rows of P A P^T, by all exchanges: place i has row order[i]. */
static void row_order(const struct pivoting *p, size_t batch, int64_t *order)
{
    for (size_t i = 0; i < p->n; i++) order[i] = (int64_t)i;
    for (size_t k = 0; k < p->n; k++) {
        size_t at, other = exchanged_row(p, batch, k, &at);
        int64_t t = order[at];
        if (p->steps[batch * p->n + k] == STEP_SECOND) continue;
        order[at] = order[other];
        order[other] = t;
    }
}

/* P A P^T, or with `back` P^T A P. */
static struct node *permuted(struct tape *tape, struct node *a, const struct pivoting *p, bool back)
{
    size_t n = p->n;
    int64_t *map = tape_allocate(tape, a->n, sizeof *map);
    int64_t *order = tape_allocate(tape, n, sizeof *order);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t b = 0; b < p->batches; b++) {
        int64_t first = (int64_t)(b * n * n);
        row_order(p, b, order);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                int64_t there = first + order[i] * (int64_t)n + order[j];
                int64_t here = first + (int64_t)(i * n + j);
                map[back ? there : here] = back ? here : there;
            }
    }
    return node_gather(tape, a, 3, a->shape, map, 0);
}

/* Columns of L have the exchanges of later steps, or with `back` are without them, as LAPACK leaves them. */
static struct node *exchanged_columns(struct tape *tape, struct node *l, const struct pivoting *p,
                                      bool back)
{
    size_t n = p->n;
    int64_t *map = tape_allocate(tape, l->n, sizeof *map);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < l->n; i++) map[i] = (int64_t)i;
    for (size_t b = 0; b < p->batches; b++)
        for (size_t column = 0; column < n; column++) {
            const unsigned char *steps = p->steps + b * n;
            size_t from = column + (steps[column] == STEP_FIRST ? 2 : 1);
            int64_t *own = map + b * n * n + column;
            for (size_t step = from; step < n; step++) {
                size_t k = back ? n - 1 - (step - from) : step, at;
                size_t other = exchanged_row(p, b, k, &at);
                if (steps[k] == STEP_SECOND) continue;
                int64_t t = own[at * n];
                own[at * n] = own[other * n];
                own[other * n] = t;
            }
        }
    return node_gather(tape, l, 3, l->shape, map, 0);
}

/* What the lower triangle says of the whole. */
static struct node *whole_of(struct tape *tape, struct node *a, bool hermitian)
{
    if (hermitian) return hermitian_of_triangle(tape, a, false);
    struct node *below = node_triangle(tape, a, -1, -1);
    return node_add(tape, node_triangle(tape, a, -1, 0), node_transpose(tape, below, 1, 2));
}

static struct node *pivots_node(struct tape *tape, const struct pivoting *p,
                                const struct node *like)
{
    struct node *out = node_new_integer(tape, DT_I32, like->rank - 1, like->shape);
    for (size_t i = 0; !tape_failed(tape) && i < out->n; i++) out->integer[i] = p->pivots[i];
    return out;
}

/* LD and pivots; detail 1: and info. */
static void ldl_factor(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *a = call_batch(call, "input");
    bool hermitian = call_bool(call, "hermitian");
    struct pivoting p;
    if (!call_require(call, a->shape[1] == a->shape[2], "a square matrix is needed") ||
        !open_pivoting(tape, &p, a))
        return;
    a = whole_of(tape, a, hermitian);
    size_t n = p.n, given_count;
    const int64_t *given = call_device_integer_list(call, 1, &given_count);
    complex_number *numbers = numbers_of(tape, a);
    if (!numbers) return;
    if (!given || given_count != p.batches * n || !take_pivots(&p, given))
        for (size_t b = 0; b < p.batches; b++) find_pivots(&p, b, numbers + b * n * n);
    struct node *packed = node_block_factors(tape, permuted(tape, a, &p, false), p.steps);
    packed = node_triangle(tape, exchanged_columns(tape, packed, &p, true), -1, 0);
    call_return_batch(call, packed, x);
    call_return(call, pivots_node(tape, &p, x));
    if (call->op->detail) call_return_info(call, x, packed);
}

/* Masks (batch, n, n) of what of a packed factor is L below the blocks, and of the lower triangle of D. */
static struct node *below_blocks(struct tape *tape, const struct pivoting *p, bool blocks)
{
    int64_t n = (int64_t)p->n, shape[3] = { (int64_t)p->batches, n, n };
    struct node *mask = node_new_real(tape, DT_NONE, 3, shape);
    for (int64_t i = 0; !tape_failed(tape) && i < (int64_t)mask->n; i++) {
        int64_t row = i / n % n, column = i % n, batch = i / (n * n);
        bool in_block = row == column ||
                        (row == column + 1 && p->steps[batch * n + column] == STEP_FIRST);
        mask->value[i] = blocks ? in_block : row > column && !in_block;
    }
    return mask;
}

/* A^-1 B with A = P^T L D L^H P, its factors packed. */
static void ldl_solve(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "LD"), *b = call_tensor(call, "B");
    struct node *given = call_tensor(call, "pivots"), *packed = call_batch(call, "LD");
    bool hermitian = call_bool(call, "hermitian");
    struct pivoting p;
    if (!call_require(call, packed->shape[1] == packed->shape[2], "a square matrix is needed") ||
        !open_pivoting(tape, &p, packed) ||
        (hermitian && !call_require_real_diagonals(call, packed)))
        return;
    if (!call_require(
            call, given->integer && given->n == p.batches * p.n && take_pivots(&p, given->integer),
            "these are no pivots of a factorization L D L^H"))
        return;
    packed = exchanged_columns(tape, packed, &p, false);
    struct node *d =
        whole_of(tape, node_multiply(tape, packed, below_blocks(tape, &p, true)), hermitian);
    struct node *l = node_add(tape, node_multiply(tape, packed, below_blocks(tape, &p, false)),
                              ones_on_diagonal(tape, packed->shape[1], packed->shape[1]));
    struct node *turned = hermitian ? adjoint_of(tape, l) : node_transpose(tape, l, 1, 2);
    struct node *a = node_matmul(tape, node_matmul(tape, l, false, d, false), false, turned, false);
    struct node *inverse = node_inverse(tape, permuted(tape, a, &p, true));
    call_return_typed(call, compose_matmul(tape, with_leading_of(tape, inverse, x), b),
                      dtype_promote(x->dtype, b->dtype));
}

/* ---- what PyTorch had before torch.linalg, until 1.12 ------------------------------------------------------- */

static bool is_real(struct value *tensor, void *context)
{
    (void)context;
    return !tensor->tensor.record || !dtype_is_complex(tensor->tensor.record->dtype);
}

/* msprobe leaves `linalg` out of names, and since 1.13 PyTorch has no other function of these. It is the older one only where two
 * results were recorded, for eig real ones. */
static bool is_older(const struct call *call)
{
    const struct value *outputs = &call->api_case->outputs;
    if (outputs->list.count == 1 && value_is_sequence(&outputs->list.items[0]))
        outputs = &outputs->list.items[0];
    return outputs->list.count == 2;
}

static bool has_complex_results(const struct call *call)
{
    struct value outputs = call->api_case->outputs;
    return !value_each_tensor(&outputs, is_real, NULL);
}

/* A^-1 B and the LU factors of A. */
static void solve(struct call *call)
{
    struct tape *tape = call->tape;
    if (!is_older(call)) {
        call_return_solution(call, call_tensor(call, "input"), call_tensor(call, "A"));
        return;
    }
    struct node *b = call_tensor(call, "input"), *x = call_tensor(call, "A"), *pivots;
    struct node *a = call_batch(call, "A"), *inverse = node_inverse(tape, a);
    call_return_typed(call, compose_matmul(tape, with_leading_of(tape, inverse, x), b), b->dtype);
    struct node *lu = a->imaginary ? node_complex_lu(tape, a, &pivots, NULL)
                                   : node_lu(tape, a, &pivots, NULL);
    call_return_batch(call, lu, x);
}

/* Least squares by LAPACK's gels: below the solution of a tall A stands the rest of Q^H B, whose squares are those of the residuals; A
 * is left as its packed factors, a wide one as those of its adjoint. */
static void lstsq(struct call *call)
{
    struct tape *tape = call->tape;
    if (!is_older(call)) {
        call_least_squares(call, "A");
        return;
    }
    struct node *b = call_batch(call, "input"), *a = call_batch(call, "A"), *tau;
    bool wide = a->shape[1] < a->shape[2];
    int64_t columns = b->shape[2];
    if (!call_require(call, b->shape[1] == a->shape[1] && a->shape[0] == 1 && b->shape[0] == 1,
                      "lstsq takes two matrices with as many rows"))
        return;
    struct node *packed = reflections(call, wide ? adjoint_of(tape, a) : a, 1, wide, &tau), *x;
    if (tape_failed(tape)) return;
    int64_t m = packed->shape[1], n = packed->shape[2];
    struct node *r = node_triangle(tape, node_slice(tape, packed, 1, 0, n, 1), 1, 0);
    struct node *inverse = node_inverse(tape, r);
    if (wide) { /* Q [R^-H B; 0] */
        x = node_matmul(tape, adjoint_of(tape, inverse), false, b, false);
        x = call_reflected(call, packed, tau, padded(tape, x, m, columns), false);
    } else {
        x = call_reflected(call, packed, tau, b, true);
        struct node *top =
            node_matmul(tape, inverse, false, node_slice(tape, x, 1, 0, n, 1), false);
        x = node_concatenate(tape, (struct node *[]){ top, node_slice(tape, x, 1, n, m - n, 1) }, 2,
                             1);
    }
    call_return_batch(call, x, call_tensor(call, "A"));
    call_return_batch(call, wide ? adjoint_of(tape, packed) : packed, call_tensor(call, "A"));
}

/* Is value j of a real matrix real (0), or the first (1) or second (2) of a pair? The nearest to its conjugate says so. */
static int kind_of_value(const struct node *values, size_t j)
{
    const double *re = values->value, *im = values->imaginary->value;
    size_t best = j;
    double least = INFINITY;
    for (size_t k = 0; k < values->n; k++) {
        double distance = hypot(re[k] - re[j], im[k] + im[j]);
        if (distance < least || (k == j && distance == least)) {
            least = distance;
            best = k;
        }
    }
    return best == j ? 0 : im[j] > 0 ? 1 : 2;
}

/* Own eigenvalues (1, n) with pairs side by side, the one with the positive imaginary part first. */
static struct node *paired_values(struct tape *tape, struct node *a)
{
    struct node *own = node_detach(tape, node_general_eigenvalues(tape, a, NULL, NULL, NULL));
    struct node *re = node_new_real(tape, DT_NONE, 2, own->shape),
                *im = node_new_real(tape, DT_NONE, 2, own->shape);
    if (tape_failed(tape)) return NULL;
    size_t at = 0;
    for (size_t j = 0; j < own->n; j++) {
        int kind = kind_of_value(own, j);
        if (kind == 2 || at + (kind ? 2 : 1) > own->n) continue;
        for (int k = 0; k < (kind ? 2 : 1); k++, at++) {
            re->value[at] = own->value[j];
            im->value[at] = kind ? (k ? -1 : 1) * own->imaginary->value[j] : 0;
        }
    }
    for (; at < own->n; at++) re->value[at] = im->value[at] = 0;
    return node_complex(tape, re, im);
}

/* The device's values (n, 2), and its vectors as complex ones: those of a pair are u +- iv, u and v side by side. */
static struct node *device_pairs(struct call *call, const struct node *a, struct node **vectors)
{
    struct tape *tape = call->tape;
    size_t n = (size_t)a->shape[1];
    struct node *got = call_device_numbers(call, 0, 2 * n),
                *v = call_device_numbers(call, 1, n * n);
    *vectors = NULL;
    if (!got || got->integer) return NULL;
    int64_t list[2] = { 1, (int64_t)n }, square[3] = { 1, (int64_t)n, (int64_t)n };
    struct node *parts[4];
    for (int k = 0; k < 4; k++)
        parts[k] = node_new_real(tape, DT_NONE, k < 2 ? 2 : 3, k < 2 ? list : square);
    if (tape_failed(tape)) return NULL;
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < 2; k++) parts[k]->value[j] = got->value[2 * j + k];
    for (size_t i = 0; v && !v->integer && i < n * n; i++) {
        double im = got->value[2 * (i % n) + 1];
        bool first = im > 0 && i % n + 1 < n, second = im < 0 && i % n;
        parts[2]->value[i] = v->value[second ? i - 1 : i];
        parts[3]->value[i] = first ? v->value[i + 1] : second ? -v->value[i] : 0;
    }
    if (v && !v->integer) *vectors = node_complex(tape, parts[2], parts[3]);
    return node_complex(tape, parts[0], parts[1]);
}

/* Eigenvalues as rows of two numbers, eigenvectors as LAPACK's geev packs those of a real matrix. */
static void eig(struct call *call)
{
    struct tape *tape = call->tape;
    if (!is_older(call) || has_complex_results(call)) {
        call_general_eigen(call, true);
        return;
    }
    struct node *x = call_tensor(call, "input"), *a = call_batch(call, "input"), *aims, *vectors;
    if (!call_require(call, x->rank == 2 && !a->imaginary, "eig takes a real matrix") ||
        !call_require(call, a->shape[1] == a->shape[2], "a square matrix is needed"))
        return;
    int64_t n = a->shape[1];
    struct node *pairs = device_pairs(call, a, &aims);
    if (!pairs) pairs = paired_values(tape, a);
    struct node *values = node_general_eigenvalues(tape, a, pairs, aims, &vectors);
    if (tape_failed(tape)) return;
    struct node *paired = node_new_integer(tape, DT_BOOL, 2, (int64_t[]){ 1, n });
    struct node *second = node_new_integer(tape, DT_BOOL, 3, (int64_t[]){ 1, 1, n });
    for (int64_t j = 0; !tape_failed(tape) && j < n; j++) {
        int kind = kind_of_value(values, (size_t)j);
        paired->integer[j] = kind != 0;
        second->integer[j] = kind == 2;
    }
    struct node *im = node_imaginary_part(tape, values);
    struct node *parts[2] = { node_real_part(tape, values),
                              node_select(tape, paired, im, node_scalar(tape, 0)) };
    for (int k = 0; k < 2; k++) parts[k] = node_reshape(tape, parts[k], 2, (int64_t[]){ n, 1 });
    call_return_typed(call, node_concatenate(tape, parts, 2, 1), x->dtype);
    if (!call_bool(call, "eigenvectors")) {
        call_return_empty(call, x->dtype);
        return;
    }
    /* The first vector of a pair has the phase of both. */
    struct node *parts_before[2] = { node_constant(tape, DT_NONE, 0, 3, (int64_t[]){ 1, n, 1 }),
                                     node_slice(tape, node_imaginary_part(tape, vectors), 2, 0,
                                                n - 1, 1) };
    struct node *before = node_concatenate(tape, parts_before, 2, 2);
    call_return_batch(call, node_select(tape, second, before, node_real_part(tape, vectors)), x);
}

/* clang-format off */
const struct op ops_packed_factors[] = {
    { "solve", TORCH | TENSOR, "(Tensor input, Tensor A, *, bool left=True)", solve, 0, 0, NULL },
    { "lstsq", TORCH | TENSOR, "(Tensor input, Tensor A, float? rcond=None, *, str? driver=None)", lstsq, 0, 0, NULL },
    { "eig", TORCH | TENSOR, "(Tensor input, bool eigenvectors=False)", eig, 0, 0, NULL },
    { "geqrf", TORCH | TENSOR, "(Tensor input)", geqrf, OP_NO_GRADIENT, 0, NULL },
    { "linalg.ldl_factor", TORCH, "(Tensor input, *, bool hermitian=False)", ldl_factor, OP_NO_GRADIENT, 0, NULL },
    { "linalg.ldl_factor_ex", TORCH, "(Tensor input, *, bool hermitian=False, bool check_errors=False)", ldl_factor, OP_NO_GRADIENT, 1, NULL },
    { "linalg.ldl_solve", TORCH, "(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False)", ldl_solve, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(packed_factors);
