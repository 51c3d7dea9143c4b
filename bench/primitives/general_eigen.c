/* By LAPACK in double; the bounds are those of the residuals, open elements by Rump's enclosure of an eigenpair.
 *
 * With columns of V, values l_j, R = A V - V diag(l), X near V^-1, G = I - X V, g its largest row sum:
 *   - V^-1 A V = diag(l) + F, F = (I - G)^-1 X R, so |F|_ij <= S_ij + g_i max_k S_kj / (1 - g), S = |X| |R|, g_i a row sum of |G|.
 *   - Gershgorin: the eigenvalues lie in discs around l_i of radius sum_k |F_ik|, as many in discs that hang together as there are
 *     discs. In a disc j by itself lies one, and its eigenvector e_j + y of diag(l) + F has its largest element at j. Its other rows
 *     say |y_k| <= (|F_kj| + f_k Y) / gap_k with f_k = sum of |F_kl| over l other than j and k's own term, Y = max |y_k| <= max(|F_kj| / gap_k) /
 *     (1 - max(f_k / gap_k)), its row j |e - l_j| <= |F_jj| + sum |F_jl| |y_l|. The eigenvector of A is v_j + V y.
 *   - Where discs hang together, each value is off by the sum of their diameters at most.
 *
 * The model: A + E as for eigenvectors of symmetric matrices (bench/primitives/vector_groups.h), and to first order, x_i a row of V^-1,
 * d l_j = x_j E v_j and d v_j = sum over k of v_k (x_k E v_j) / (l_j - l_k), its part along v_j taken out by the norm. LAPACK balances A
 * before: then it is D^-1 A D that has such an E, and |x_k D| |E| |D^-1 v_j| counts where it is larger, as it is of badly scaled matrices whose
 * small elements matter (Watkins, A case where balancing is harmful, 2006). */
#include "bench/primitives/general_eigen.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "bench/arithmetic/complex_inverse.h"
#include "bench/arithmetic/lapack.h"
#include "bench/arithmetic/rounding.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/eigenpair_balls.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/vector_groups.h"
#include "bench/primitives/view.h"
#include "bench/tape/enclosure.h"

typedef double _Complex complex_number;

struct eigen {
    struct node *values, *vectors; /* parts stacked */
    bool is_complex;               /* the matrix is */
    bool *alone;                   /* (batch, n): a disc by itself */
    complex_number *phase;         /* (batch, n, n): row j the vector whose phase vector j has */
};

/* One matrix being decomposed. Rows of `v` are vectors. */
struct spectrum {
    struct tape *tape;
    size_t n;
    complex_number *a, *values, *v, *x; /* (n, n), (n), (n, n), V^-1 */
    double *input;                      /* errors of the elements of a */
    double *f, *rest;                   /* (n, n): |F|; |R|, then |S| */
    double *radius, *y, *moved;         /* (n) each */
    double *scale;                      /* (n): D of the balanced matrix */
    double model, balanced;             /* ||E||, or an element of it; of the balanced matrix */
};

/* ---- gradients ------------------------------------------------------------------------------------- */

static struct node *adjoint(struct tape *tape, struct node *x)
{
    return node_conjugate(tape, node_transpose(tape, x, 1, 2));
}

/* V^-H X V^H, of a real matrix its real part. */
static void pass_inner(struct tape *tape, struct node *node, struct node *inner)
{
    const struct eigen *eigen = node->parameters;
    struct node *v = node_of_stacked_parts(tape, eigen->vectors), *turned = adjoint(tape, v);
    struct node *left = node_matmul(tape, node_inverse(tape, turned), false, inner, false);
    struct node *flow = node_matmul(tape, left, false, turned, false);
    tape_accumulate(tape, node->inputs[0],
                    eigen->is_complex ? node_stacked_parts(tape, flow)
                                      : node_real_part(tape, flow));
}

static struct node *identity(struct tape *tape, int64_t n)
{
    struct node *eye = node_constant(tape, DT_NONE, 0, 3, (int64_t[]){ 1, n, n });
    for (int64_t i = 0; i < n && !tape_failed(tape); i++) eye->value[i * n + i] = 1;
    return eye;
}

/* X = diag(g) */
static void values_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    int64_t n = node->shape[1];
    struct node *g = node_of_stacked_parts(tape, cotangent);
    g = node_reshape(tape, g, 3, (int64_t[]){ node->shape[0] / 2, n, 1 });
    pass_inner(tape, node, node_multiply(tape, g, identity(tape, n)));
}

/* X_ij = (V^H G - V^H V diag(Re(V^H G)))_ij / conj(l_j - l_i), nothing on the diagonal. */
static void vectors_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct eigen *eigen = node->parameters;
    int64_t n = node->shape[1], batch = node->shape[0] / 2;
    int64_t row[3] = { batch, 1, n }, column[3] = { batch, n, 1 };
    struct node *v = node_of_stacked_parts(tape, node), *turned = adjoint(tape, v);
    struct node *values = node_conjugate(tape, node_of_stacked_parts(tape, eigen->values));
    struct node *g = node_of_stacked_parts(tape, cotangent), *eye = identity(tape, n);
    struct node *product = node_matmul(tape, turned, false, g, false);
    struct node *along = node_multiply(tape, node_real_part(tape, product), eye);
    struct node *normal =
        node_matmul(tape, node_matmul(tape, turned, false, v, false), false, along, false);
    struct node *gaps = node_subtract(tape, node_reshape(tape, values, 3, row),
                                      node_reshape(tape, values, 3, column));
    struct node *inner =
        node_divide(tape, node_subtract(tape, product, normal), node_add(tape, gaps, eye));
    struct node *off = node_subtract(tape, node_scalar(tape, 1), eye);
    pass_inner(tape, node, node_multiply(tape, inner, off));
}

/* ---- balls -------------------------------------------------------------------------------------------- */

/* Vector j of the matrix, of any norm, at norm 1 and with its phase. */
static void normalize(acb_mat_t vector, const complex_number *phase, slong precision)
{
    slong n = acb_mat_nrows(vector);
    acb_t along, term;
    arb_t norm, size;
    acb_init(along);
    acb_init(term);
    arb_init(norm);
    arb_init(size);
    for (slong i = 0; i < n; i++) {
        acb_ptr element = acb_mat_entry(vector, i, 0);
        arb_addmul(norm, acb_realref(element), acb_realref(element), precision);
        arb_addmul(norm, acb_imagref(element), acb_imagref(element), precision);
        arb_set_d(acb_realref(term), creal(phase[i]));
        arb_set_d(acb_imagref(term), -cimag(phase[i]));
        acb_submul(along, term, element, precision); /* -(y^H v) */
    }
    arb_mul(size, acb_realref(along), acb_realref(along), precision);
    arb_addmul(size, acb_imagref(along), acb_imagref(along), precision);
    arb_mul(norm, norm, size, precision);
    arb_rsqrt(norm, norm, precision);
    acb_neg(along, along);
    acb_conj(along, along); /* v^H y */
    for (slong i = 0; i < n; i++) {
        acb_ptr element = acb_mat_entry(vector, i, 0);
        acb_mul(element, element, along, precision);
        arb_mul(acb_realref(element), acb_realref(element), norm, precision);
        arb_mul(acb_imagref(element), acb_imagref(element), norm, precision);
    }
    acb_clear(along);
    acb_clear(term);
    arb_clear(norm);
    arb_clear(size);
}

/* Hand out element i of `node` and remember the other. */
static void keep(struct enclosure *enclosure, arb_ptr ball, const struct node *node, size_t i,
                 struct node *owner, size_t at, const acb_t value)
{
    size_t half = owner->n / 2;
    const struct node *own = owner;
    if (own == node && at == i) arb_set(ball, acb_realref(value));
    else enclosure_remember(enclosure, owner, at, acb_realref(value));
    if (own == node && at + half == i) arb_set(ball, acb_imagref(value));
    else enclosure_remember(enclosure, owner, at + half, acb_imagref(value));
}

static void enclose_input(struct enclosure *enclosure, acb_mat_t out, struct node *node,
                          size_t batch)
{
    const struct eigen *eigen = node->parameters;
    struct node *a = node->inputs[0];
    size_t n = (size_t)a->shape[1], first = batch * n * n;
    for (size_t i = 0; i < n * n; i++) {
        acb_ptr element = acb_mat_entry(out, (slong)(i / n), (slong)(i % n));
        enclosure_element(enclosure, acb_realref(element), a, first + i);
        if (eigen->is_complex)
            enclosure_element(enclosure, acb_imagref(element), a, a->n / 2 + first + i);
    }
}

/* The pair that element i belongs to, where its eigenvalue is by itself. */
static void pair_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct eigen *eigen = node->parameters;
    size_t n = (size_t)eigen->values->shape[1], half = node->n / 2, at = i % half, j = at % n;
    size_t batch = node == eigen->values ? at / n : at / (n * n);
    enclosure->work += 8 * n * n * n;
    arb_indeterminate(ball); /* otherwise the bounds of the residuals stay */
    if (enclosure->work > enclosure->limit || !eigen->alone[batch * n + j]) return;
    acb_mat_t a, vector;
    acb_t value;
    acb_mat_init(a, (slong)n, (slong)n);
    acb_mat_init(vector, (slong)n, 1);
    acb_init(value);
    enclose_input(enclosure, a, node, batch);
    const struct node *values = eigen->values, *vectors = eigen->vectors;
    arb_set_d(acb_realref(value), values->value[batch * n + j]);
    arb_set_d(acb_imagref(value), values->value[values->n / 2 + batch * n + j]);
    for (size_t k = 0; k < n; k++) {
        acb_ptr element = acb_mat_entry(vector, (slong)k, 0);
        arb_set_d(acb_realref(element), vectors->value[(batch * n + k) * n + j]);
        arb_set_d(acb_imagref(element), vectors->value[vectors->n / 2 + (batch * n + k) * n + j]);
    }
    if (complex_eigenpair_enclose(value, vector, a, enclosure->precision)) {
        normalize(vector, eigen->phase + (batch * n + j) * n, enclosure->precision);
        keep(enclosure, ball, node, i, eigen->values, batch * n + j, value);
        for (size_t k = 0; k < n; k++)
            keep(enclosure, ball, node, i, eigen->vectors, (batch * n + k) * n + j,
                 acb_mat_entry(vector, (slong)k, 0));
    }
    acb_clear(value);
    acb_mat_clear(vector);
    acb_mat_clear(a);
}

static const struct primitive values_primitive = { "eigenvalues", values_backward, pair_enclose,
                                                   NULL };
static const struct primitive vectors_primitive = { "eigenvectors", vectors_backward, pair_enclose,
                                                    NULL };

/* ---- bounds -------------------------------------------------------------------------------------------- */

/* Bounds |R|: element (i, j) of A V - V diag(l). Complex products are good to sqrt(2) more roundings (Higham, lemma 3.5). */
static void bound_residual(struct spectrum *s)
{
    size_t n = s->n;
    double gamma = gamma_of(2 * (double)n + 8);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            complex_number r = -s->v[j * n + i] * s->values[j];
            double size = cabs(r), input = 0;
            for (size_t k = 0; k < n; k++) {
                complex_number term = s->a[i * n + k] * s->v[j * n + k];
                r += term;
                size += cabs(term);
                input += s->input[i * n + k] * cabs(s->v[j * n + k]);
            }
            s->rest[i * n + j] = 1.01 * (cabs(r) + gamma * size + input);
        }
}

/* |F|; infinite where X is no inverse. */
static void bound_f(struct spectrum *s)
{
    size_t n = s->n;
    double gamma = gamma_of(2 * (double)n + 8), worst = 0;
    for (size_t i = 0; i < n; i++) { /* row sums of |G| into y */
        s->y[i] = 0;
        for (size_t j = 0; j < n; j++) {
            complex_number g = i == j ? -1 : 0;
            double size = 1;
            for (size_t k = 0; k < n; k++) {
                complex_number term = s->x[i * n + k] * s->v[j * n + k];
                g += term;
                size += cabs(term);
            }
            s->y[i] += 1.01 * (cabs(g) + gamma * size);
        }
        worst = fmax(worst, s->y[i]);
    }
    for (size_t j = 0; j < n; j++) {
        double most = 0;
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) sum += cabs(s->x[i * n + k]) * s->rest[k * n + j];
            s->f[i * n + j] = 1.01 * sum;
            most = fmax(most, 1.01 * sum);
        }
        for (size_t i = 0; i < n; i++)
            s->f[i * n + j] = worst < 0.5 ? s->f[i * n + j] + 1.01 * s->y[i] * most / (1 - worst)
                                          : INFINITY;
    }
    for (size_t i = 0; i < n; i++) {
        s->radius[i] = 0;
        for (size_t j = 0; j < n; j++) s->radius[i] += 1.01 * s->f[i * n + j];
    }
}

static bool discs_meet(const struct spectrum *s, size_t i, size_t j)
{
    return !(cabs(s->values[i] - s->values[j]) * 0.999 > s->radius[i] + s->radius[j]);
}

/* The bound of value j, and in y those of its vector's elements along the others; false, and y unset, where its disc is not
 * by itself. */
static bool bound_pair(struct spectrum *s, size_t j, double *error)
{
    size_t n = s->n;
    double first = 0, again = 0;
    *error = 0;
    for (size_t k = 0; k < n; k++)
        if (k != j && discs_meet(s, j, k)) return false;
    for (size_t k = 0; k < n; k++) {
        if (k == j) continue;
        double gap = cabs(s->values[k] - s->values[j]) * 0.999 - s->radius[j];
        first = fmax(first, s->f[k * n + j] / gap);
        again = fmax(again, (s->radius[k] - s->f[k * n + j]) / gap);
    }
    if (!(again < 0.9)) return false;
    double most = first / (1 - again) * 1.01;
    for (size_t k = 0; k < n; k++) {
        double gap = cabs(s->values[k] - s->values[j]) * 0.999 - s->radius[j];
        s->y[k] = k == j ? 0 : 1.01 * (s->f[k * n + j] + s->radius[k] * most) / gap;
        *error += 1.01 * s->f[j * n + k] * (k == j ? 1 : s->y[k]);
    }
    return true;
}

/* Of discs that hang together with that of j. `seen` is room for n. */
static double bound_cluster(const struct spectrum *s, size_t j, bool *seen)
{
    double sum = 0;
    bool grown = true;
    memset(seen, 0, s->n * sizeof *seen);
    seen[j] = true;
    while (grown) {
        grown = false;
        for (size_t i = 0; i < s->n; i++)
            for (size_t k = 0; k < s->n && !seen[i]; k++)
                if (seen[k] && discs_meet(s, i, k)) seen[i] = grown = true;
    }
    for (size_t i = 0; i < s->n; i++) sum += seen[i] ? 2.02 * s->radius[i] : 0;
    return sum;
}

/* The norm of x, its elements multiplied by those of `scale` to a power of 1, 0 or -1. */
static double norm_of(const complex_number *x, const double *scale, int power, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double size = cabs(x[i]) * (power > 0 ? scale[i] : power < 0 ? 1 / scale[i] : 1);
        sum += size * size;
    }
    return sqrt(sum);
}

/* In a model: the error of value j, and of its vector's elements into `moved`. */
static double model_pair(struct spectrum *s, size_t j)
{
    const struct tape *tape = s->tape;
    size_t n = s->n;
    double own = 0, sum = 0, turned = norm_of(s->v + j * n, s->scale, -1, n) * s->balanced;
    for (size_t i = 0; i < n; i++) s->moved[i] = 0;
    for (size_t k = 0; k < n; k++) {
        double size = fmax(norm_of(s->x + k * n, s->scale, 0, n) * s->model,
                           norm_of(s->x + k * n, s->scale, 1, n) * turned);
        if (k == j) {
            own = size;
            continue;
        }
        double weight = size / cabs(s->values[k] - s->values[j]);
        if (!(weight < INFINITY)) weight = INFINITY;
        sum += weight;
        for (size_t i = 0; i < n; i++) {
            double term = cabs(s->v[k * n + i]) * weight;
            s->moved[i] = term > 0 ? tape_join(tape, s->moved[i], term) : s->moved[i];
        }
    }
    for (size_t i = 0; i < n; i++) /* beyond first order nothing is known */
        s->moved[i] = sum < 0.25 ? tape_join(tape, s->moved[i],
                                             group_forward_error(tape, n, 1, cabs(s->v[j * n + i])))
                                 : INFINITY;
    return own;
}

/* ---- order and phases ----------------------------------------------------------------------------------- */

static complex_number part_of(const struct node *x, size_t i)
{
    return x->value[i] + I * x->imaginary->value[i];
}

/* order[i]: our value for the device's i-th. */
static void match(size_t *order, const struct spectrum *s, const struct node *aim, size_t batch,
                  bool *taken)
{
    size_t n = s->n;
    memset(taken, 0, n * sizeof *taken);
    for (size_t i = 0; i < n; i++) {
        size_t best = n;
        complex_number wanted = aim ? part_of(aim, batch * n + i) : s->values[i];
        double least = INFINITY;
        for (size_t j = 0; j < n; j++) {
            double distance = aim ? cabs(s->values[j] - wanted) : i == j ? 0 : INFINITY;
            if (taken[j] || (best < n && !(distance < least))) continue;
            best = j;
            least = distance;
        }
        order[i] = best;
        taken[best] = true;
    }
}

/* Vector j at norm 1 and with the phase that is nearest to `target` (n), which becomes the vector itself where that is far from it;
 * bounds of its elements in `error` from those along the others, y. */
static void settle_vector(struct spectrum *s, size_t j, complex_number *target, double *error)
{
    size_t n = s->n;
    complex_number *v = s->v + j * n, along = 0;
    double norm = 0, size = 0, turn = 0;
    for (size_t i = 0; i < n; i++) {
        norm += creal(v[i]) * creal(v[i]) + cimag(v[i]) * cimag(v[i]);
        size += creal(target[i]) * creal(target[i]) + cimag(target[i]) * cimag(target[i]);
        along += conj(v[i]) * target[i];
    }
    norm = sqrt(norm);
    size = sqrt(size);
    bool near = isfinite(size) && cabs(along) > 0.5 * norm * size;
    complex_number phase = near ? along / cabs(along) : 1;
    for (size_t i = 0; i < n; i++) v[i] *= phase / norm;
    if (!near) memcpy(target, v, n * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        error[i] = 0;
        for (size_t k = 0; k < n; k++)
            if (s->y[k] > 0) error[i] += 1.01 * cabs(s->v[k * n + i]) * s->y[k];
        turn += error[i] * error[i];
    }
    turn = sqrt(turn) * 1.01;
    double rounding = gamma_of(2 * (double)n + 16);
    for (size_t i = 0; i < n; i++)
        error[i] = turn < 0.25 ? 1.5 * (error[i] + cabs(v[i]) * 6 * turn) + rounding * cabs(v[i]) +
                                     0x1p-1000
                               : INFINITY;
}

/* ---- one matrix --------------------------------------------------------------------------------------------- */

static void put(struct node *node, size_t i, complex_number x, double error)
{
    size_t half = node->n / 2;
    node->value[i] = creal(x);
    node->value[half + i] = cimag(x);
    if (node->error) node->error[i] = node->error[half + i] = error;
}

static struct status measure(struct spectrum *s, const struct eigen *eigen, const struct node *a,
                             size_t batch)
{
    size_t n = s->n, first = batch * n * n, half = eigen->is_complex ? a->n / 2 : 0;
    double squares = 0, input = 0;
    for (size_t i = 0; i < n * n; i++) {
        s->a[i] = a->value[first + i] + (half ? I * a->value[half + first + i] : 0);
        double other = half ? node_error(a, half + first + i) : 0;
        s->input[i] = node_error(a, first + i) + other;
        squares += cabs(s->a[i]) * cabs(s->a[i]);
        input += s->input[i] * s->input[i];
        if (!isfinite(cabs(s->a[i])))
            return status_error(STATUS_SKIP, "eigenvalues of a matrix that is not finite");
    }
    double frobenius = sqrt(squares) * 1.01 + 0x1p-500;
    s->model = tape_join(s->tape, group_backward_error(s->tape, n, frobenius, frobenius),
                         sqrt(input) * 1.01);
    return status_ok();
}

/* The D that LAPACK balances a with, and the error that it makes of the balanced one. */
static struct status balance(struct spectrum *s)
{
    size_t n = s->n;
    double squares = 0;
    for (size_t i = 0; i < n * n; i++) s->x[i] = s->a[i % n * n + i / n];
    TRY(lapack_balance(s->scale, s->x, n, s->tape->arena));
    for (size_t i = 0; i < n * n; i++) squares += cabs(s->x[i]) * cabs(s->x[i]);
    double frobenius = sqrt(squares) * 1.01 + 0x1p-500;
    s->balanced = group_backward_error(s->tape, n, frobenius, frobenius);
    return status_ok();
}

static struct status decompose(struct spectrum *s, const struct eigen *eigen, const struct node *a,
                               size_t batch, const struct node *aim_values,
                               const struct node *aim_vectors, complex_number *room, size_t *order,
                               bool *seen)
{
    size_t n = s->n;
    bool model = tape_is_model(s->tape);
    TRY(measure(s, eigen, a, batch));
    if (model) TRY(balance(s));
    for (size_t i = 0; i < n * n; i++) s->x[i] = s->a[i % n * n + i / n];
    TRY(lapack_general_eigenvectors(s->values, s->v, s->x, n, s->tape->arena));
    for (size_t i = 0; i < n * n; i++) room[i] = s->v[i % n * n + i / n]; /* V */
    bool regular = complex_inverse(s->x, room + n * n, room, n);
    bound_residual(s);
    bound_f(s);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n && !regular; k++) s->f[i * n + k] = s->radius[i] = INFINITY;
    match(order, s, aim_values, batch, seen);
    for (size_t i = 0; i < n; i++) {
        size_t j = order[i];
        complex_number *target = eigen->phase + (batch * n + i) * n;
        double value_error = INFINITY, *error = s->rest; /* its first row is free now */
        bool alone = regular && bound_pair(s, j, &value_error);
        for (size_t k = 0; k < n; k++)
            target[k] = aim_vectors ? part_of(aim_vectors, (batch * n + k) * n + i)
                                    : s->v[j * n + k];
        if (!alone) value_error = bound_cluster(s, j, seen);
        for (size_t k = 0; k < n && !alone; k++) s->y[k] = INFINITY;
        settle_vector(s, j, target, error);
        if (model) value_error = regular ? model_pair(s, j) : INFINITY;
        eigen->alone[batch * n + i] = alone;
        put(eigen->values, batch * n + i, s->values[j], value_error);
        for (size_t k = 0; k < n; k++)
            put(eigen->vectors, (batch * n + k) * n + i, s->v[j * n + k],
                model ? (regular ? s->moved[k] : INFINITY) : error[k]);
    }
    return status_ok();
}

static bool open_spectrum(struct spectrum *s, struct tape *tape, size_t n)
{
    *s = (struct spectrum){ .tape = tape, .n = n };
    s->a = tape_allocate(tape, 3 * n * n + n, sizeof *s->a);
    s->input = tape_allocate(tape, 3 * n * n + 4 * n, sizeof *s->input);
    if (tape_failed(tape)) return false;
    s->v = s->a + n * n;
    s->x = s->v + n * n;
    s->values = s->x + n * n;
    s->f = s->input + n * n;
    s->rest = s->f + n * n;
    s->radius = s->rest + n * n;
    s->y = s->radius + n;
    s->moved = s->y + n;
    s->scale = s->moved + n;
    return true;
}

static void read_aim(struct tape *tape, struct node *aim)
{
    if (!aim) return;
    (void)node_values(tape, aim);
    (void)node_values(tape, aim->imaginary);
}

struct node *node_general_eigenvalues(struct tape *tape, struct node *a, struct node *aim_values,
                                      struct node *aim_vectors, struct node **vectors)
{
    struct eigen *eigen = tape_allocate(tape, 1, sizeof *eigen);
    struct spectrum s;
    if (!tape_failed(tape) && (a->rank != 3 || a->shape[1] != a->shape[2]))
        tape_fail(tape, STATUS_SKIP, "a square matrix is needed");
    if (vectors) *vectors = a;
    if (tape_failed(tape)) return tape_failure(tape);
    int64_t n = a->shape[1], batch = a->shape[0], list[2] = { 2 * batch, n },
            square[3] = { 2 * batch, n, n };
    eigen->is_complex = a->imaginary;
    a = a->imaginary ? node_stacked_parts(tape, a) : node_to_real(tape, a);
    (void)node_values(tape, a);
    read_aim(tape, aim_values);
    read_aim(tape, aim_vectors);
    eigen->values = node_new(tape, &values_primitive, a->dtype, 2, list, 1, &a, eigen);
    eigen->vectors = node_new(tape, &vectors_primitive, a->dtype, 3, square, 1, &a, eigen);
    eigen->alone = tape_allocate(tape, (size_t)(batch * n), sizeof *eigen->alone);
    eigen->phase = tape_allocate(tape, (size_t)(batch * n * n), sizeof *eigen->phase);
    complex_number *room = tape_allocate(tape, (size_t)(2 * n * n), sizeof *room);
    size_t *order = tape_allocate(tape, (size_t)n, sizeof *order);
    bool *seen = tape_allocate(tape, (size_t)n, sizeof *seen);
    (void)node_need_errors(tape, eigen->values);
    (void)node_need_errors(tape, eigen->vectors);
    if (!open_spectrum(&s, tape, (size_t)n)) return tape_failure(tape);
    for (size_t b = 0; b < (size_t)batch && n && !tape_failed(tape); b++) {
        struct status st = decompose(&s, eigen, a, b, aim_values, aim_vectors, room, order, seen);
        if (st.code) tape_fail(tape, st.code, "%s", st.text);
    }
    if (tape_failed(tape)) return tape_failure(tape);
    node_round(tape, eigen->values);
    node_round(tape, eigen->vectors);
    if (vectors) *vectors = node_of_stacked_parts(tape, eigen->vectors);
    return node_of_stacked_parts(tape, eigen->values);
}
