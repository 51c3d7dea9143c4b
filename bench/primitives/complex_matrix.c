/* Both are functions of one real node that has the real parts of all matrices first and their imaginary parts behind, so that
 * a cotangent is the whole complex one; the result is arranged alike.
 *
 * The model: elimination computes the factors of A + E, |E| <= 3 n u |L||U| (Higham, Accuracy and Stability, theorem 9.3 and lemma
 * 3.5: complex products and quotients are good to sqrt(2) to 4 roundings), one rounding of sums below (|L||U|)_ij in the root mean square.
 * With F = L^-1 E U^-1, rows exchanged, to first order dL = L tril(F, -1), dU = triu(F) U and d det = det trace(F). */
#include "bench/primitives/complex_matrix.h"

#include <acb_mat.h>
#include <complex.h>
#include <math.h>

#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"

typedef double _Complex complex_number;

struct elimination {
    size_t *pivot; /* (batch, n) */
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

/* In place; pivot[k] is the row exchanged with row k. Returns the sign of the permutation. */
static double eliminate(complex_number *a, size_t n, size_t *pivot)
{
    double sign = 1;
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (size_of(a[i * n + k]) > size_of(a[best * n + k])) best = i;
        pivot[k] = best;
        if (best != k) sign = -sign;
        exchange(a, n, k, best);
        if (size_of(a[k * n + k]) == 0) continue;
        for (size_t i = k + 1; i < n; i++) {
            complex_number l = a[i * n + k] /= a[k * n + k];
            for (size_t j = k + 1; j < n; j++) a[i * n + j] -= l * a[k * n + j];
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

/* ---- model ------------------------------------------------------------------------------------------------ */

/* One matrix whose factors are known; all (n, n). */
struct factored {
    struct tape *tape;
    size_t n;
    complex_number *lu;
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

static complex_number lower_at(const struct factored *m, size_t i, size_t k)
{
    return i == k ? 1 : i > k ? m->lu[i * m->n + k] : 0;
}

static complex_number upper_at(const struct factored *m, size_t i, size_t k)
{
    return i <= k ? m->lu[i * m->n + k] : 0;
}

static void multiply(double *out, const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n * n; i++) out[i] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) out[i * n + j] += a[i * n + k] * b[k * n + j];
}

/* Measures of the inverses of both factors; `x` is room for one. */
static void invert_factors(struct factored *m, complex_number *x)
{
    size_t n = m->n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            complex_number sum = i == j;
            for (size_t k = j; k < i; k++) sum -= lower_at(m, i, k) * x[k * n + j];
            x[i * n + j] = i < j ? 0 : sum;
            m->lower[i * n + j] = measure(m->tape, cabs(x[i * n + j]));
        }
    for (size_t j = 0; j < n; j++)
        for (size_t i = n; i-- > 0;) {
            complex_number sum = i == j;
            for (size_t k = i + 1; k <= j; k++) sum -= upper_at(m, i, k) * x[k * n + j];
            x[i * n + j] = i > j ? 0 : sum / upper_at(m, i, i);
            m->upper[i * n + j] = measure(m->tape, cabs(x[i * n + j]));
        }
}

/* F as `measure` has it, of factors of matrix `batch` of a. False where A + E may be nearly singular. */
static bool model_turn(struct factored *m, const struct node *a, size_t batch, const size_t *pivot)
{
    size_t n = m->n, half = a->n / 2, first = batch * n * n;
    double roundings = (tape_is_typical(m->tape) ? 2 : 3 * (double)n) * m->tape->unit;
    for (size_t i = 0; i < n * n; i++)
        m->e[i] =
            measure(m->tape, hypot(node_error(a, first + i), node_error(a, half + first + i)));
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n && pivot[k] != k; j++) {
            double t = m->e[k * n + j];
            m->e[k * n + j] = m->e[pivot[k] * n + j];
            m->e[pivot[k] * n + j] = t;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double size = 0;
            for (size_t k = 0; k <= i && k <= j; k++)
                size += cabs(lower_at(m, i, k)) * cabs(upper_at(m, k, j));
            m->e[i * n + j] += measure(m->tape, roundings * size);
        }
    multiply(m->scratch, m->lower, m->e, n);
    multiply(m->f, m->scratch, m->upper, n);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) sum += measured(m->tape, m->f[i * n + j]);
        if (!(sum < 0.5)) return false;
    }
    return true;
}

/* Room for the model and the factors of one matrix; false after a failure. */
static bool open_factored(struct factored *m, struct tape *tape, size_t n)
{
    *m = (struct factored){ .tape = tape, .n = n };
    m->lu = tape_allocate(tape, 2 * n * n, sizeof *m->lu);
    double **arrays[] = { &m->e, &m->lower, &m->upper, &m->f, &m->scratch };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = tape_allocate(tape, n * n, sizeof(double));
    return !tape_failed(tape);
}

/* Errors of the packed factors. */
static void model_factors(struct factored *m, double *error, bool known)
{
    size_t n = m->n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) {
                if (j < i && k > j)
                    sum += measure(m->tape, cabs(lower_at(m, i, k))) * m->f[k * n + j];
                if (j >= i && k >= i)
                    sum += m->f[i * n + k] * measure(m->tape, cabs(upper_at(m, k, j)));
            }
            error[i * n + j] = known ? tidy_bound(measured(m->tape, sum), 0) : INFINITY;
        }
}

/* The error of the determinant, relative. */
static double model_determinant(const struct factored *m)
{
    double sum = 0, product = 4 * (double)m->n * m->tape->unit;
    for (size_t i = 0; i < m->n; i++) sum += m->f[i * m->n + i];
    return tape_join(m->tape, measured(m->tape, sum),
                     tape_is_typical(m->tape) ? sqrt(product * m->tape->unit) : product);
}

/* ---- LU ------------------------------------------------------------------------------------------------------ */

static void lu_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t index)
{
    const struct elimination *lu = node->parameters;
    size_t n = (size_t)node->shape[1], half = node->n / 2, batch = index % half / (n * n);
    slong order = (slong)n, precision = enclosure->precision;
    acb_mat_t a;
    acb_mat_init(a, order, order);
    arb_indeterminate(ball);
    if (enclose_input(enclosure, a, node, batch)) {
        for (slong k = 0; k < order; k++) {
            slong best = (slong)lu->pivot[batch * n + (size_t)k];
            if (best != k) acb_mat_swap_rows(a, NULL, k, best);
            for (slong i = k + 1; i < order; i++) {
                acb_ptr l = acb_mat_entry(a, i, k);
                acb_div(l, l, acb_mat_entry(a, k, k), precision);
                for (slong j = k + 1; j < order; j++)
                    acb_submul(acb_mat_entry(a, i, j), l, acb_mat_entry(a, k, j), precision);
            }
        }
        for (size_t k = 0; k < n * n; k++)
            keep(enclosure, ball, node, index, batch * n * n + k,
                 acb_mat_entry(a, (slong)(k / n), (slong)(k % n)));
    }
    acb_mat_clear(a);
}

/* P^T X, X (batch, n, n): the rows exchanged back. */
static struct node *exchanged_back(struct tape *tape, struct node *x, const size_t *pivot)
{
    size_t n = (size_t)x->shape[1], batches = (size_t)x->shape[0];
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
        for (size_t i = 0; i < n * n; i++)
            map[b * n * n + i] = (int64_t)((b * n + (size_t)row[i / n]) * n + i % n);
    }
    return node_gather(tape, x, 3, x->shape, map, 0);
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
                    node_stacked_parts(tape, exchanged_back(tape, flow, lu->pivot)));
}

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

struct node *node_complex_lu(struct tape *tape, struct node *a, struct node **pivots)
{
    struct elimination *lu = tape_allocate(tape, 1, sizeof *lu);
    struct factored m;
    *pivots = a;
    struct node *node = lu ? open_node(tape, &lu_primitive, &a, 3, lu) : NULL;
    if (!node) return tape_failure(tape);
    size_t n = (size_t)a->shape[1], batches = (size_t)a->shape[0] / 2;
    int64_t shape[2] = { (int64_t)batches, (int64_t)n };
    *pivots = node_new_integer(tape, DT_I32, 2, shape);
    lu->pivot = tape_allocate(tape, batches * n, sizeof *lu->pivot);
    if (!open_factored(&m, tape, n)) return tape_failure(tape);
    bool bounded = node_need_errors(tape, node);
    for (size_t b = 0; b < batches; b++) {
        size_t *pivot = lu->pivot + b * n, first = b * n * n, half = node->n / 2;
        take(m.lu, a, b);
        (void)eliminate(m.lu, n, pivot);
        for (size_t i = 0; i < n * n; i++) put(node, first + i, m.lu[i]);
        if (!bounded || !tape_is_model(tape)) continue;
        invert_factors(&m, m.lu + n * n);
        model_factors(&m, node->error + first, model_turn(&m, a, b, pivot));
        for (size_t i = first; i < first + n * n; i++) node->error[half + i] = node->error[i];
    }
    for (size_t i = 0; bounded && !tape_is_model(tape) && i < node->n; i++)
        node->error[i] = isfinite(node->value[i]) ? INFINITY : 0; /* balls decide */
    for (size_t i = 0; i < batches * n; i++) (*pivots)->integer[i] = (int64_t)lu->pivot[i] + 1;
    node_round(tape, node);
    return node_of_stacked_parts(tape, node);
}

struct node *node_complex_determinant(struct tape *tape, struct node *a)
{
    struct factored m;
    struct node *node = open_node(tape, &determinant_primitive, &a, 1, NULL);
    if (!node) return tape_failure(tape);
    size_t n = (size_t)a->shape[1], batches = (size_t)a->shape[0] / 2;
    size_t *pivot = tape_allocate(tape, n, sizeof *pivot);
    bool bounded = node_need_errors(tape, node);
    if (!open_factored(&m, tape, n)) return tape_failure(tape);
    for (size_t b = 0; b < batches; b++) {
        take(m.lu, a, b);
        complex_number product = eliminate(m.lu, n, pivot);
        for (size_t i = 0; i < n; i++) product *= m.lu[i * n + i];
        put(node, b, product);
        if (!bounded) continue;
        double error = INFINITY;
        if (tape_is_model(tape)) {
            invert_factors(&m, m.lu + n * n);
            if (model_turn(&m, a, b, pivot))
                error = tidy_bound(cabs(product) * model_determinant(&m), cabs(product));
        }
        node->error[b] = isfinite(creal(product)) ? error : 0;
        node->error[batches + b] = isfinite(cimag(product)) ? error : 0;
    }
    node_round(tape, node);
    return node_of_stacked_parts(tape, node);
}
