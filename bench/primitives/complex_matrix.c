/* All are functions of one real node that has the real parts of all matrices first and their imaginary parts behind, so that
 * a cotangent is the whole complex one; the result is arranged alike.
 *
 * The bound: with E = A - L U, rows exchanged, and F = L^-1 E U^-1, |F| below 1 in its row sums, the exact factors differ by at most |L|
 * tril(|F| (I - |F|)^-1, -1) and triu((I - |F|)^-1 |F|) |U| (Sun, Linear Algebra Appl. 1992; Higham, theorem 9.15); for blocks their triangles are those of
 * blocks. Elements that this leaves open are decided by balls.
 *
 * The model: elimination computes the factors of A + E, |E| <= 3 n u |L||U| (Higham, Accuracy and Stability, theorem 9.3 and lemma
 * 3.5: complex products and quotients are good to sqrt(2) to 4 roundings), one rounding of sums below (|L||U|)_ij in the root mean square.
 * With F = L^-1 E U^-1, rows exchanged, to first order dL = L tril(F, -1), dU = triu(F) U and d det = det trace(F). */
#include "bench/primitives/complex_matrix.h"

#include <acb_mat.h>
#include <complex.h>
#include <math.h>
#include <string.h>

#include "bench/arithmetic/complex_inverse.h"
#include "bench/arithmetic/rounding.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"

typedef double _Complex complex_number;

/* Both (batch, n). */
struct elimination {
    size_t *pivot;        /* the row exchanged with row k */
    unsigned char *steps; /* enum block_step */
};

/* ---- real and imaginary parts in one node ------------------------------------------------------------ */

static void put(struct node *node, size_t i, complex_number x)
{
    node->value[i] = creal(x);
    node->value[node->n / 2 + i] = cimag(x);
}

/* Matrix `batch` of the input of `node` in balls; false when it is too much. */
static bool enclose_input(struct enclosure *enclosure, acb_mat_t out, struct node *node,
                          size_t batch)
{
    struct node *a = node->inputs[0];
    size_t n = (size_t)a->shape[1], first = batch * n * n;
    enclosure->work += 4 * n * n * n;
    if (enclosure->work > enclosure->limit) return false;
    for (size_t i = 0; i < n * n; i++) {
        acb_ptr element = acb_mat_entry(out, (slong)(i / n), (slong)(i % n));
        enclosure_element(enclosure, acb_realref(element), a, first + i);
        enclosure_element(enclosure, acb_imagref(element), a, a->n / 2 + first + i);
    }
    return true;
}

/* Hand out part i of the result, remember the other part and, as k varies, the other elements. */
static void keep(struct enclosure *enclosure, arb_ptr ball, struct node *node, size_t i, size_t k,
                 const acb_t value)
{
    size_t half = node->n / 2;
    if (k == i) arb_set(ball, acb_realref(value));
    else enclosure_remember(enclosure, node, k, acb_realref(value));
    if (k + half == i) arb_set(ball, acb_imagref(value));
    else enclosure_remember(enclosure, node, k + half, acb_imagref(value));
}

/* ---- elimination ---------------------------------------------------------------------------------------- */

static double size_of(complex_number x) { return fabs(creal(x)) + fabs(cimag(x)); }

static void exchange(complex_number *a, size_t n, size_t i, size_t k)
{
    for (size_t j = 0; j < n && i != k; j++) {
        complex_number t = a[i * n + j];
        a[i * n + j] = a[k * n + j];
        a[k * n + j] = t;
    }
}

/* The factors of column i of rows below a block at k: a_i,k.. times the inverse of the block, whose order is 1 or 2. */
static void divide_by_block(complex_number *a, size_t n, size_t i, size_t k, size_t order)
{
    complex_number *row = a + i * n + k;
    const complex_number *block = a + k * n + k;
    if (order == 1) {
        row[0] /= block[0];
        return;
    }
    complex_number det = block[0] * block[n + 1] - block[1] * block[n];
    complex_number first = (row[0] * block[n + 1] - row[1] * block[n]) / det;
    row[1] = (row[1] * block[0] - row[0] * block[1]) / det;
    row[0] = first;
}

/* A column without a pivot: nothing is taken from the rows below. */
static void clear_column(complex_number *a, size_t n, size_t k)
{
    for (size_t i = k; i < n; i++) a[i * n + k] = 0;
}

/* Of the columns of an orthogonal matrix less the identity, whose pivots are minus the tau of reflections, 0 or of the order of 1. */
static const double no_pivot = 0x1p-32;

/* In place; pivot[k] is the row exchanged with row k where `exchanges`, that of `wanted` where its pivot is the largest within `slack` or stands
 * behind one of no more (matrix.c); steps[k] otherwise given, or found where `finds`. Returns the sign of the permutation. */
static double eliminate(complex_number *a, size_t n, size_t *pivot, unsigned char *steps,
                        bool exchanges, bool finds, const int64_t *wanted, double slack)
{
    double sign = 1;
    bool open = false;
    for (size_t k = 0, order; k < n; k += order) {
        size_t best = k;
        for (size_t i = k + 1; i < n && exchanges; i++)
            if (size_of(a[i * n + k]) > size_of(a[best * n + k])) best = i;
        size_t other = wanted ? (size_t)wanted[k] - 1 : best;
        if (other >= k && other < n &&
            (open || size_of(a[other * n + k]) >= size_of(a[best * n + k]) - slack))
            best = other;
        open = open || size_of(a[best * n + k]) <= slack;
        pivot[k] = best;
        if (best != k) sign = -sign;
        exchange(a, n, k, best);
        if (finds) steps[k] = cabs(a[k * n + k]) < no_pivot ? STEP_NONE : STEP_SINGLE;
        order = steps[k] == STEP_FIRST && k + 1 < n ? 2 : 1;
        if (order == 2) pivot[k + 1] = k + 1;
        if (steps[k] == STEP_NONE) clear_column(a, n, k);
        if (steps[k] == STEP_NONE || (order == 1 && size_of(a[k * n + k]) == 0)) continue;
        for (size_t i = k + order; i < n; i++) {
            divide_by_block(a, n, i, k, order);
            for (size_t b = k; b < k + order; b++)
                for (size_t j = k + order; j < n; j++) a[i * n + j] -= a[i * n + b] * a[b * n + j];
        }
    }
    return sign;
}

/* Matrix `batch` of stacked a. */
static void take(complex_number *out, const struct node *a, size_t batch)
{
    size_t n = (size_t)a->shape[1], first = batch * n * n, half = a->n / 2;
    for (size_t i = 0; i < n * n; i++)
        out[i] = a->value[first + i] + I * a->value[half + first + i];
}

/* ---- bounds ----------------------------------------------------------------------------------------------- */

/* One matrix whose factors are known; all (n, n). */
struct factored {
    struct tape *tape;
    size_t n;
    complex_number *lu, *room; /* room: three matrices */
    const unsigned char *steps;
    double *e, *lower, *upper; /* measures of E, of L^-1 and U^-1 */
    double *f, *scratch;
};

static double measure(const struct tape *tape, double x)
{
    return tape_is_typical(tape) ? x * x : x;
}

static double measured(const struct tape *tape, double x)
{
    return tape_is_typical(tape) ? sqrt(x) : x;
}

/* Is element (i, k) of the packed factors below the diagonal's blocks? */
static bool is_below(const struct factored *m, size_t i, size_t k)
{
    return i > k && !(m->steps[k] == STEP_FIRST && i == k + 1);
}

static complex_number lower_at(const struct factored *m, size_t i, size_t k)
{
    return i == k ? 1 : is_below(m, i, k) ? m->lu[i * m->n + k] : 0;
}

/* A column without a pivot has one of 1 here, so that U has an inverse. */
static complex_number upper_at(const struct factored *m, size_t i, size_t k)
{
    if (i == k && m->steps[k] == STEP_NONE) return 1;
    return is_below(m, i, k) ? 0 : m->lu[i * m->n + k];
}

static void multiply(double *out, const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n * n; i++) out[i] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) out[i * n + j] += a[i * n + k] * b[k * n + j];
}

/* x, all its elements 0 or more, as a bound on (I - G)^-1 x, given the row sums of |G|: those, and what the largest element of a column
 * makes of them. False where the largest row sum, `worst`, says nothing. */
static bool raise_by_inverse(double *x, const double *sums, double worst, size_t n)
{
    if (!(worst < 0.5)) return false;
    for (size_t j = 0; j < n; j++) {
        double most = 0;
        for (size_t i = 0; i < n; i++) most = fmax(most, x[i * n + j]);
        for (size_t i = 0; i < n; i++)
            x[i * n + j] = 1.01 * (x[i * n + j] + sums[i] * most / (1 - worst));
    }
    return true;
}

/* Row sums of |I - X A| with their rounding into `sums`; the largest. */
static double inverse_defect(double *sums, const complex_number *x, const complex_number *a,
                             size_t n)
{
    double worst = 0, gamma = gamma_of(2 * (double)n + 8);
    for (size_t i = 0; i < n; i++) {
        sums[i] = 0;
        for (size_t j = 0; j < n; j++) {
            complex_number g = i == j ? -1 : 0;
            double size = 1;
            for (size_t k = 0; k < n; k++) {
                complex_number term = x[i * n + k] * a[k * n + j];
                g += term;
                size += cabs(term);
            }
            sums[i] += 1.01 * (cabs(g) + gamma * size);
        }
        worst = sums[i] <= worst ? worst : sums[i];
    }
    return worst;
}

/* Of the inverses of both factors: measures in a model, bounds otherwise. False where one is singular or nearly so. */
static bool invert_factors(struct factored *m)
{
    size_t n = m->n;
    complex_number *x = m->room, *factor = x + n * n, *scratch = factor + n * n;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < n * n; i++)
            factor[i] = side ? upper_at(m, i / n, i % n) : lower_at(m, i / n, i % n);
        if (!complex_inverse(x, scratch, factor, n)) return false;
        double *out = side ? m->upper : m->lower;
        for (size_t i = 0; i < n * n; i++) out[i] = measure(m->tape, cabs(x[i]));
        if (tape_is_model(m->tape)) continue;
        double worst = inverse_defect(m->f, x, factor, n); /* a row of f is free */
        if (!raise_by_inverse(out, m->f, worst, n)) return false;
    }
    return true;
}

/* E of matrix `batch` of a, its rows exchanged: what a kernel's elimination is good to, or what is left of A - L U. */
static void measure_e(struct factored *m, const struct node *a, size_t batch, const size_t *pivot)
{
    size_t n = m->n, half = a->n / 2, first = batch * n * n;
    bool model = tape_is_model(m->tape);
    double roundings = (tape_is_typical(m->tape) ? 2 : 3 * (double)n) * m->tape->unit;
    double gamma = gamma_of(2 * (double)n + 8);
    complex_number *rows = m->room;
    take(rows, a, batch);
    for (size_t i = 0; i < n * n; i++)
        m->e[i] =
            measure(m->tape, hypot(node_error(a, first + i), node_error(a, half + first + i)));
    for (size_t k = 0; k < n; k++) {
        exchange(rows, n, k, pivot[k]);
        for (size_t j = 0; j < n && pivot[k] != k; j++) {
            double t = m->e[k * n + j];
            m->e[k * n + j] = m->e[pivot[k] * n + j];
            m->e[pivot[k] * n + j] = t;
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            complex_number rest = rows[i * n + j] + (i == j && m->steps[i] == STEP_NONE ? 1 : 0);
            double size = 0, own = cabs(rest);
            for (size_t k = 0; k < n; k++) {
                complex_number term = lower_at(m, i, k) * upper_at(m, k, j);
                rest -= term;
                size += cabs(term);
            }
            m->e[i * n + j] += model ? measure(m->tape, roundings * size)
                                     : 1.01 * (cabs(rest) + gamma * (size + own));
        }
}

/* F as `measure` has it in a model; otherwise a bound on |F|, raised to one on (I - |F|)^-1 |F|. False where A + E may be nearly
 * singular. */
static bool find_turn(struct factored *m, const struct node *a, size_t batch, const size_t *pivot)
{
    size_t n = m->n;
    double worst = 0;
    if (!invert_factors(m)) return false;
    measure_e(m, a, batch, pivot);
    multiply(m->scratch, m->lower, m->e, n);
    multiply(m->f, m->scratch, m->upper, n);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) sum += measured(m->tape, m->f[i * n + j]);
        worst = sum <= worst ? worst : sum;
        m->scratch[i] = 1.01 * sum;
    }
    return tape_is_model(m->tape) ? worst < 0.5 : raise_by_inverse(m->f, m->scratch, worst, n);
}

/* Room for the model and the factors of one matrix; false after a failure. */
static bool open_factored(struct factored *m, struct tape *tape, size_t n)
{
    *m = (struct factored){ .tape = tape, .n = n };
    m->lu = tape_allocate(tape, 4 * n * n, sizeof *m->lu);
    m->room = m->lu ? m->lu + n * n : NULL;
    double **arrays[] = { &m->e, &m->lower, &m->upper, &m->f, &m->scratch };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = tape_allocate(tape, n * n, sizeof(double));
    return !tape_failed(tape);
}

/* Errors of the packed factors. */
static void bound_factors(struct factored *m, double *error, bool known)
{
    size_t n = m->n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) {
                if (is_below(m, i, j) && is_below(m, k, j))
                    sum += measure(m->tape, cabs(lower_at(m, i, k))) * m->f[k * n + j];
                if (!is_below(m, i, j) && !is_below(m, i, k))
                    sum += m->f[i * n + k] * measure(m->tape, cabs(upper_at(m, k, j)));
            }
            error[i * n + j] = known ? tidy_bound(1.01 * measured(m->tape, sum), 0) : INFINITY;
        }
}

/* The error of the determinant, relative: det(I + F), and the roundings of the product. |det(I + F) - 1| is below the product of 1 + the row sums of
 * |F|, less 1. */
static double bound_determinant(const struct factored *m)
{
    double sum = 0, n = (double)m->n, product = 4 * n * m->tape->unit;
    if (!tape_is_model(m->tape)) {
        for (size_t i = 0; i < m->n * m->n; i++) sum += m->f[i];
        return 1.01 * (expm1(sum) + 2 * gamma_of(4 * n + 4));
    }
    for (size_t i = 0; i < m->n; i++) sum += m->f[i * m->n + i];
    return tape_join(m->tape, measured(m->tape, sum),
                     tape_is_typical(m->tape) ? sqrt(product * m->tape->unit) : product);
}

/* ---- LU ------------------------------------------------------------------------------------------------------ */

/* divide_by_block() in balls; scratch: 2. */
static void divide_balls(acb_mat_t a, slong i, slong k, slong order, acb_ptr scratch,
                         slong precision)
{
    acb_ptr row = acb_mat_entry(a, i, k), first = scratch, second = scratch + 1;
    acb_ptr top = acb_mat_entry(a, k, k), bottom;
    if (order == 1) {
        acb_div(row, row, top, precision);
        return;
    }
    bottom = acb_mat_entry(a, k + 1, k);
    acb_mul(first, row, bottom + 1, precision);
    acb_submul(first, row + 1, bottom, precision);
    acb_mul(second, row + 1, top, precision);
    acb_submul(second, row, top + 1, precision);
    acb_mul(row, top, bottom + 1, precision);
    acb_submul(row, top + 1, bottom, precision);
    acb_div(row + 1, second, row, precision);
    acb_div(row, first, row, precision);
}

static void eliminate_balls(acb_mat_t a, const size_t *pivot, const unsigned char *steps,
                            slong precision)
{
    slong n = acb_mat_nrows(a);
    acb_ptr scratch = _acb_vec_init(2);
    for (slong k = 0, order; k < n; k += order) {
        order = steps[k] == STEP_FIRST && k + 1 < n ? 2 : 1;
        if ((slong)pivot[k] != k) acb_mat_swap_rows(a, NULL, k, (slong)pivot[k]);
        for (slong i = k; i < n && steps[k] == STEP_NONE; i++) acb_zero(acb_mat_entry(a, i, k));
        for (slong i = k + order; i < n && steps[k] != STEP_NONE; i++) {
            divide_balls(a, i, k, order, scratch, precision);
            for (slong b = k; b < k + order; b++)
                for (slong j = k + order; j < n; j++)
                    acb_submul(acb_mat_entry(a, i, j), acb_mat_entry(a, i, b),
                               acb_mat_entry(a, b, j), precision);
        }
    }
    _acb_vec_clear(scratch, 2);
}

static void lu_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t index)
{
    const struct elimination *lu = node->parameters;
    size_t n = (size_t)node->shape[1], half = node->n / 2, batch = index % half / (n * n);
    slong order = (slong)n, precision = enclosure->precision;
    acb_mat_t a;
    acb_mat_init(a, order, order);
    arb_indeterminate(ball);
    if (enclose_input(enclosure, a, node, batch)) {
        eliminate_balls(a, lu->pivot + batch * n, lu->steps + batch * n, precision);
        for (size_t k = 0; k < n * n; k++)
            keep(enclosure, ball, node, index, batch * n * n + k,
                 acb_mat_entry(a, (slong)(k / n), (slong)(k % n)));
    }
    acb_mat_clear(a);
}

static struct node *adjoint(struct tape *tape, struct node *x)
{
    return node_conjugate(tape, node_transpose(tape, x, 1, 2));
}

/* gA = P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H */
static void lu_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct elimination *lu = node->parameters;
    struct node *both = node_of_stacked_parts(tape, node),
                *g = node_of_stacked_parts(tape, cotangent);
    if (tape_failed(tape)) return;
    int64_t n = node->shape[1];
    struct node *eye = node_constant(tape, DT_NONE, 0, 3, (int64_t[]){ 1, n, n });
    for (int64_t i = 0; i < n && !tape_failed(tape); i++) eye->value[i * n + i] = 1;
    struct node *lower = node_add(tape, node_triangle(tape, both, -1, -1), eye);
    struct node *upper = node_triangle(tape, both, 1, 0);
    struct node *left =
        node_matmul(tape, adjoint(tape, lower), false, node_triangle(tape, g, -1, -1), false);
    struct node *right =
        node_matmul(tape, node_triangle(tape, g, 1, 0), false, adjoint(tape, upper), false);
    struct node *inner =
        node_add(tape, node_triangle(tape, left, -1, -1), node_triangle(tape, right, 1, 0));
    struct node *flow =
        node_matmul(tape, adjoint(tape, node_inverse(tape, lower)), false, inner, false);
    flow = node_matmul(tape, flow, false, adjoint(tape, node_inverse(tape, upper)), false);
    tape_accumulate(tape, node->inputs[0],
                    node_stacked_parts(tape, node_exchanged_back(tape, flow, lu->pivot)));
}

static const struct primitive block_primitive = { "factors by blocks", NULL, lu_enclose, NULL };
static const struct primitive lu_primitive = { "a complex LU factorization", lu_backward,
                                               lu_enclose, NULL };

/* ---- determinant ------------------------------------------------------------------------------------------------ */

static void determinant_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                                size_t index)
{
    slong n = (slong)node->inputs[0]->shape[1];
    size_t batch = index % (node->n / 2);
    acb_mat_t a;
    acb_t value;
    acb_mat_init(a, n, n);
    acb_init(value);
    arb_indeterminate(ball);
    if (enclose_input(enclosure, a, node, batch)) {
        acb_mat_det(value, a, enclosure->precision);
        keep(enclosure, ball, node, index, batch, value);
    }
    acb_clear(value);
    acb_mat_clear(a);
}

/* c conj(det A) A^-H */
static void determinant_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *det = node_of_stacked_parts(tape, node),
                *g = node_of_stacked_parts(tape, cotangent);
    struct node *a = node_of_stacked_parts(tape, node->inputs[0]);
    if (tape_failed(tape)) return;
    struct node *factor = node_multiply(tape, node_conjugate(tape, det), g);
    factor = node_reshape(tape, factor, 3, (int64_t[]){ det->shape[0], 1, 1 });
    struct node *flow = node_multiply(tape, adjoint(tape, node_inverse(tape, a)), factor);
    tape_accumulate(tape, node->inputs[0], node_stacked_parts(tape, flow));
}

static const struct primitive determinant_primitive = { "a complex determinant",
                                                        determinant_backward, determinant_enclose,
                                                        NULL };

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

/* The stacked node of a function of stacked a, bounds unset; NULL after a failure. */
static struct node *open_node(struct tape *tape, const struct primitive *primitive, struct node **a,
                              int rank, struct elimination *parameters)
{
    if (!tape_failed(tape) && ((*a)->rank != 3 || (*a)->shape[1] != (*a)->shape[2]))
        tape_fail(tape, STATUS_SKIP, "a square matrix is needed");
    if (tape_failed(tape)) return NULL;
    *a = node_stacked_parts(tape, *a);
    (void)node_values(tape, *a);
    if (tape_failed(tape)) return NULL;
    struct node *node = node_new(tape, primitive, (*a)->dtype, rank, (*a)->shape, 1, a, parameters);
    return tape_failed(tape) ? NULL : node;
}

/* Elimination with exchanges of rows, or by blocks: `steps` given, or found. */
static struct node *packed_factors(struct tape *tape, struct node *a, bool exchanges,
                                   const unsigned char *steps, const int64_t *wanted,
                                   struct elimination *lu)
{
    struct factored m;
    struct node *node =
        lu ? open_node(tape, exchanges ? &lu_primitive : &block_primitive, &a, 3, lu) : NULL;
    if (!node) return tape_failure(tape);
    size_t n = (size_t)a->shape[1], batches = (size_t)a->shape[0] / 2, half = node->n / 2;
    lu->pivot = tape_allocate(tape, batches * n, sizeof *lu->pivot);
    lu->steps = tape_allocate(tape, batches * n, sizeof *lu->steps);
    if (!open_factored(&m, tape, n)) return tape_failure(tape);
    if (steps) memcpy(lu->steps, steps, batches * n);
    else memset(lu->steps, STEP_SINGLE, batches * n);
    bool bounded = node_need_errors(tape, node);
    for (size_t b = 0; b < batches; b++) {
        size_t *pivot = lu->pivot + b * n, first = b * n * n;
        m.steps = lu->steps + b * n;
        take(m.lu, a, b);
        (void)eliminate(m.lu, n, pivot, lu->steps + b * n, exchanges, !exchanges && !steps,
                        wanted ? wanted + b * n : NULL, 2 * pivot_slack(a, first));
        for (size_t i = 0; i < n * n; i++) put(node, first + i, m.lu[i]);
        if (!bounded) continue;
        bound_factors(&m, node->error + first, find_turn(&m, a, b, pivot));
        for (size_t i = first; i < first + n * n; i++) node->error[half + i] = node->error[i];
    }
    node_round(tape, node);
    return node_of_stacked_parts(tape, node);
}

struct node *node_complex_lu(struct tape *tape, struct node *a, struct node **pivots,
                             const int64_t *wanted)
{
    struct elimination *lu = tape_allocate(tape, 1, sizeof *lu);
    struct node *packed = packed_factors(tape, a, true, NULL, wanted, lu);
    *pivots = packed;
    if (tape_failed(tape)) return packed;
    *pivots = node_new_integer(tape, DT_I32, 2, a->shape);
    for (size_t i = 0; !tape_failed(tape) && i < (*pivots)->n; i++)
        (*pivots)->integer[i] = (int64_t)lu->pivot[i] + 1;
    return packed;
}

struct node *node_block_factors(struct tape *tape, struct node *a, const unsigned char *steps)
{
    struct elimination *lu = tape_allocate(tape, 1, sizeof *lu);
    if (a->imaginary) return packed_factors(tape, a, false, steps, NULL, lu);
    struct node *zero = node_constant(tape, a->dtype, 0, a->rank, a->shape);
    return node_real_part(
        tape, packed_factors(tape, node_complex(tape, a, zero), false, steps, NULL, lu));
}

struct node *node_complex_determinant(struct tape *tape, struct node *a)
{
    struct factored m;
    struct node *node = open_node(tape, &determinant_primitive, &a, 1, NULL);
    if (!node) return tape_failure(tape);
    size_t n = (size_t)a->shape[1], batches = (size_t)a->shape[0] / 2;
    size_t *pivot = tape_allocate(tape, n, sizeof *pivot);
    unsigned char *steps = tape_allocate(tape, n, sizeof *steps);
    bool bounded = node_need_errors(tape, node);
    if (!open_factored(&m, tape, n)) return tape_failure(tape);
    memset(steps, STEP_SINGLE, n);
    m.steps = steps;
    for (size_t b = 0; b < batches; b++) {
        take(m.lu, a, b);
        complex_number product = eliminate(m.lu, n, pivot, steps, true, false, NULL, 0);
        for (size_t i = 0; i < n; i++) product *= m.lu[i * n + i];
        put(node, b, product);
        if (!bounded) continue;
        double error = INFINITY;
        if (find_turn(&m, a, b, pivot))
            error = tidy_bound(cabs(product) * bound_determinant(&m), cabs(product));
        node->error[b] = isfinite(creal(product)) ? error : 0;
        node->error[batches + b] = isfinite(cimag(product)) ? error : 0;
    }
    node_round(tape, node);
    return node_of_stacked_parts(tape, node);
}
